"""What a piece of work takes: seconds, and memory beyond what the process held before."""

import contextlib
import ctypes
import gc
import sys
import time
from collections.abc import Iterator
from pathlib import Path

STATUS, REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # what the kernel wants to be written


@contextlib.contextmanager
def measured() -> Iterator[dict[str, float]]:
    """A dictionary that holds, once the work is done, `seconds`, and `peak_megabytes` where the system tells it.

    The peak is that of the memory in use less what was in use when the work began; on Linux alone. Where a GPU is in
    use, `peak_gpu_megabytes` is the most that tensors took of it.

    >>> with measured() as taken:
    ...     work = bytes(1000)
    >>> taken["seconds"] >= 0
    True
    """
    taken: dict[str, float] = {}
    torch = sys.modules.get("torch")  # where nobody has imported it, nobody uses a GPU
    on_gpu = torch is not None and torch.cuda.is_available()
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()  # type: ignore[union-attr]
    before, began = _reset_peak(), time.monotonic()
    yield taken
    taken["seconds"] = round(time.monotonic() - began, 3)
    if before is not None:
        taken["peak_megabytes"] = max(0, round(_kilobytes("VmHWM") / 1024 - before))
    if on_gpu:
        taken["peak_gpu_megabytes"] = round(torch.cuda.max_memory_allocated() / 2**20)  # type: ignore[union-attr]


def _reset_peak() -> float | None:
    """Megabytes in use, from which the peak is counted anew; None where the system does not count it."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):  # only where the C library is glibc
        # What earlier work has freed and the library still holds would be used again without being counted.
        ctypes.CDLL(None).malloc_trim(0)
    try:
        REFS.write_text(RESET_PEAK)
        return _kilobytes("VmRSS") / 1024
    except (OSError, StopIteration):
        return None


def _kilobytes(name: str) -> int:
    lines = STATUS.read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])
