"""Index photographs as a program of its own, and write down after each portion how many pictures are acknowledged."""

import sys
from pathlib import Path

from photo_library import PlainFolder, ReadersInThread

from deepbinaries.search import index_folder, indexing, taking_up


def main(photographs, place, acknowledged):
    taking_up.Readers, taking_up.CHUNK, indexing.PORTION = ReadersInThread, 1, 1
    commit, n = indexing._Run._commit, 0

    def committed(run, portion):
        nonlocal n
        known, n = commit(run, portion), n + len(portion)
        with acknowledged.open("ab", buffering=0) as file:
            file.write(b"%d\n" % n)
        return known

    indexing._Run._commit = committed
    index_folder(photographs, PlainFolder(), workers=1, progress=False, index=place)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
