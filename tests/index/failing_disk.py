"""Lives the life of an index on a disk that fails from its n-th call on, and mends it, for n in steps until it is over.

    python failing_disk.py ROOT ERRNO STEP

runs under preload.c and prints how many moments there were; whatever is not as it should be ends it.
"""

import ctypes
import sys
from pathlib import Path

import workload

from deepbinaries.errors import CorruptIndexError, Error
from deepbinaries.index import EmbeddedIndex

disk = ctypes.CDLL(None)


def fails_at(folder: Path, n: int, error_number: int) -> bool:
    """Whether the n-th call was reached."""
    acknowledged = [-1]
    disk.disk_fail(ctypes.c_long(n), error_number)
    try:
        workload.live(folder, acknowledged.append)
        failed = False
    except CorruptIndexError:
        raise
    except Error:
        failed = True
    finally:
        disk.disk_fail(ctypes.c_long(0), 0)
    step = acknowledged[-1]
    with EmbeddedIndex(folder, bits=workload.BITS if step < 0 else None, writable=True) as index:
        items = workload.items_of(index)
        if items not in workload.models()[max(step, 0) : step + 2]:
            raise SystemExit(f"call {n}: {items} after step {step}")
        index.replace(["afterwards"], workload.codes([1]))
        if not index.verify().sound:
            raise SystemExit(f"call {n}: {index.verify().problems}")
    return failed


if __name__ == "__main__":
    n = 1
    while fails_at(Path(sys.argv[1]) / f"index-{n}", n, int(sys.argv[2])):
        n += int(sys.argv[3])
    print(n)  # noqa: T201
