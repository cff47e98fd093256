"""An index of codes that somebody else has made."""

from pathlib import Path

from deepbinaries.codes import load
from deepbinaries.errors import DataError
from deepbinaries.files import read_lines
from deepbinaries.index import open_index
from deepbinaries.progress import track

PORTION = 100_000  # codes that are committed together
MOST_IDS = 2**32  # bytes of a file of ids


def import_codes(codes: str | Path, ids: str | Path, index: str | Path) -> int:
    """Put codes (.npy) under ids, one a line, into an index; how many there are. Run again, it changes nothing."""
    packed = load(codes)
    lines = read_lines(Path(ids), limit=MOST_IDS)
    if len(lines) != len(packed):
        raise DataError(
            f"{ids} has {len(lines):,} lines, {codes} has {len(packed):,} codes", next_step="give one id for each code"
        )
    with open_index(index, bits=packed.bits, writable=True) as opened:
        for start in track(range(0, len(lines), PORTION), "importing codes"):
            opened.replace(lines[start : start + PORTION], packed[start : start + PORTION])
    return len(lines)
