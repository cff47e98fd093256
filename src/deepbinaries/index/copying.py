"""Backups: a copy of one version of an index, taken while others read and write. A backup is an index itself."""

from contextlib import closing
from pathlib import Path

from deepbinaries.errors import Error
from deepbinaries.index.catalogue import Catalogue
from deepbinaries.index.durable import corrupt, own_errors, sync_folder, write_durably
from deepbinaries.index.folders import create, make_folders
from deepbinaries.index.segments import FOLDER, segment_path
from deepbinaries.index.snapshot import Snapshot, open_snapshot
from deepbinaries.index.verifying import verify
from deepbinaries.progress import track


def copy(snapshot: Snapshot, target: Path) -> None:
    """Write a snapshot to a new folder, which takes its name when all of it is on the disk."""
    unfinished = target.with_name(f"{target.name}.unfinished")
    for place in (target, unfinished):
        if place.exists():
            raise Error(f"{place} is there already", next_step="move it away, or give the name of a new folder")
    with own_errors(target):
        make_folders(unfinished)
        pairs = list(zip(snapshot.state.segments, snapshot.segments, strict=True))
        for record, segment in track(pairs, "copying the index", total=len(pairs)):
            segment.prove()
            write_durably(segment_path(unfinished, record.number), [memoryview(segment.content)])
        sync_folder(unfinished / FOLDER)
        with closing(Catalogue(unfinished, writable=True)) as catalogue:
            create(unfinished, catalogue, snapshot.state)
        sync_folder(unfinished)
        unfinished.rename(target)
        sync_folder(target.absolute().parent)


def restore(backup: str | Path, target: str | Path) -> None:
    """Write the index of a backup to a new folder, after reading and proving all of it."""
    backup = Path(backup)
    findings = verify(backup)
    if not findings.sound:
        raise corrupt(backup, findings.problems[0])
    with own_errors(backup), closing(Catalogue(backup, writable=False)) as catalogue:
        state = catalogue.read()
        if state is None:
            raise corrupt(backup, "its catalogue is empty")
        snapshot = open_snapshot(backup, state)
    copy(snapshot, Path(target))
