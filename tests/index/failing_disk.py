"""Lives the life of an index on a disk that fails from its n-th call on, and mends it, for n in steps until it is over.

It opens the index again once, and goes on with the one that it has open once.

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


def goes_on_after(folder: Path, n: int, error_number: int) -> bool:
    """Whether the n-th call of a change was reached, after which the same object takes another."""
    with EmbeddedIndex(folder, bits=workload.BITS, writable=True) as index:
        workload.take(index, "add", {"a": 1, "b": 2})
        disk.disk_fail(ctypes.c_long(n), error_number)
        try:
            workload.take(index, "replace", {"b": 3, "c": 4})
            failed = False
        except CorruptIndexError:
            raise
        except Error:
            failed = True
        finally:
            disk.disk_fail(ctypes.c_long(0), 0)
        index.replace(["afterwards"], workload.codes([1]))
        before, after = {"a": 1, "b": 2, "afterwards": 1}, {"a": 1, "b": 3, "c": 4, "afterwards": 1}
        items = workload.items_of(index)
        if items not in ([before, after] if failed else [after]):
            raise SystemExit(f"call {n} of a change: {items}")
        with EmbeddedIndex(folder) as reader:
            if workload.items_of(reader) != items or not reader.verify().sound:
                raise SystemExit(f"call {n} of a change: {reader.verify().problems}")
    return failed


if __name__ == "__main__":
    root, error_number, step = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    n = n_of_change = 1
    while fails_at(root / f"index-{n}", n, error_number):
        n += step
    while goes_on_after(root / f"open-{n_of_change}", n_of_change, error_number):
        n_of_change += 1
    print(n, n_of_change)  # noqa: T201
