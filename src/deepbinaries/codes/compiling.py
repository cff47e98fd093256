"""How the loops of search are compiled: for this processor, kept for later runs, and never in silence.

numba is imported here and in the modules of those loops alone, so that nothing pays for it before a search needs it.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import config, njit
from numba.core import event

from deepbinaries.files import cache_folder

SETTINGS: Any = config  # of the whole process, where others may use numba too


def compiled(loop: Callable[..., Any]) -> Any:
    """The loop as machine code that runs without Python's lock, made when it is first called."""
    with _own_cache():
        try:
            return njit(nogil=True, cache=True)(loop)
        except RuntimeError:  # no folder can be written: each process compiles for itself
            return njit(nogil=True)(loop)


@contextmanager
def _own_cache() -> Iterator[None]:
    """Compiled loops are kept where `NUMBA_CACHE_DIR` says, or else in this package's cache folder."""
    before = SETTINGS.CACHE_DIR
    SETTINGS.CACHE_DIR = before or str(cache_folder() / "numba")
    try:
        yield
    finally:
        SETTINGS.CACHE_DIR = before


class _Announcement(event.Listener):
    """Says once why the first search takes seconds; loops that come from the cache are not announced."""

    said = False

    def on_start(self, event: event.Event) -> None:
        loop = getattr(event.data.get("dispatcher"), "py_func", None)
        if not self.said and getattr(loop, "__module__", "").startswith(f"{__package__}."):
            self.said = True
            line = "compiling the search for this processor; this takes some seconds, and later runs reuse it"
            print(line, file=sys.stderr, flush=True)  # noqa: T201

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]
