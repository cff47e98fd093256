"""Keeping an index current beside the server: a thread looks at the folder again and again, or when it is asked to."""

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from deepbinaries.errors import Error
from deepbinaries.search import Report

Run = Callable[[Report], object]  # fills the report as it goes


class Indexing:
    """Runs of `index_folder`, one after the other, in a thread of their own."""

    def __init__(self, run: Run, *, every: float, tell: Callable[[str], None]):
        self._run, self._every, self._tell = run, every, tell
        self._changed = threading.Condition()
        self._wanted, self._begun, self._done = 1, 0, 0  # numbers of runs
        self._report, self._began, self._problem = Report(), time.monotonic(), ""
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="indexing", daemon=True)

    def start(self) -> None:
        """Begin with the first run."""
        self._thread.start()

    def stop(self) -> None:
        """Begin no other run. One that goes on is left to itself: whatever ends it, the next goes on from there."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    @property
    def running(self) -> bool:
        """Whether a run goes on now."""
        return self._begun > self._done

    def run_now(self, seconds: float) -> str:
        """Wait for a run that begins from now on; what went wrong with it, nothing if it went well."""
        with self._changed:
            wanted = self._begun + 1
            self._wanted = max(self._wanted, wanted)
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: self._done >= wanted or self._stopped, seconds):
                return "indexing goes on"
            return self._problem

    def state(self) -> dict[str, Any]:
        """How far the run has come: pictures done and in all, how many a second, seconds left, and what is wrong."""
        report, seconds = self._report, time.monotonic() - self._began
        rate = (report.recognised + report.encoded) / seconds if self.running and seconds > 0 else 0.0
        return {
            "running": self.running,
            "done": report.done,
            "total": report.files,
            "rate": round(rate, 2),
            "seconds_left": round((report.files - report.done) / rate) if rate else None,
            "problem": self._problem,
        }

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._wanted > self._begun, self._every)
                if self._stopped:
                    return
                self._begun += 1
                self._wanted = max(self._wanted, self._begun)
                self._report, self._began = Report(), time.monotonic()
            problem = self._ran()
            with self._changed:
                self._problem, self._done = problem, self._begun
                self._changed.notify_all()

    def _ran(self) -> str:
        try:
            self._run(self._report)
        except Error as error:  # a disk that is away, another process that indexes: told, and tried again later
            if str(error) != self._problem:
                self._tell(f"indexing: {error}")
            return str(error)
        except Exception as error:  # a mistake of ours must not end the thread: the next run may not meet it
            problem = f"a mistake in deepbinaries ({type(error).__name__}: {error})"
            if problem != self._problem:
                self._tell(f"indexing: {problem}\n{traceback.format_exc()}")
            return problem
        return ""
