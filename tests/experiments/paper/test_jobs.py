"""Trainings shared by processes: nothing is lost, whoever fails."""

import pytest
from small_pieces import keep, opened, piece

from deepbinaries.errors import UsageError
from deepbinaries.experiments.alone import alone_in
from deepbinaries.experiments.cells import read_cells
from deepbinaries.experiments.paper.jobs import gather, share
from deepbinaries.experiments.paper.kept import Kept
from deepbinaries.experiments.paper.running import Progress


def found(folder):
    """The rows and lengths of a folder, by cells, by scores and by epochs."""
    cells = {(cell["method"], cell["bits"]) for cell in read_cells(folder / "cells.jsonl")}
    scores = {tuple(path.stem.split("-")) for path in (folder / "scores").glob("*.npy")}
    epochs = {(line["row"], line["bits"]) for line in Kept(folder / "epochs.jsonl").lines}
    assert cells == epochs == {(name, int(bits)) for name, bits in scores}
    return cells


def test_where_one_is_refused_and_one_is_killed_the_others_go_on(tmp_path):
    keep(tmp_path, "earlier", 8)
    told, good = [], [piece("good", bits) for bits in (8, 16, 32)]
    bad = [piece("refused"), piece("killed")]
    progress = Progress("table1", 6, told.append, there=1)
    failed = share([good[0], *bad, *good[1:]], opened, jobs=2, folder=tmp_path, progress=progress)
    assert {one.row.name for one in failed} == {"refused", "killed"}
    assert found(tmp_path) == {("earlier", 8), ("good", 8), ("good", 16), ("good", 32)}
    assert not (tmp_path / ".jobs").exists()
    assert "table1: refused, 8 bits, seed 0 failed: there is no data; give some" in told
    (line,) = [line for line in told if line.startswith("table1: killed, 8 bits")]
    assert "its process ended with -9" in line
    counts = [line.split(": ")[2].split(" done")[0] for line in told if " done" in line]
    assert counts == ["2 of 6", "3 of 6", "4 of 6"]


def test_what_a_killed_run_has_left_is_taken_over_once(tmp_path):
    keep(tmp_path, "there", 8)
    keep(tmp_path / ".jobs" / "0", "left", 8)
    keep(tmp_path / ".jobs" / "3", "left", 16)
    keep(tmp_path / ".jobs" / "3", "there", 8)  # killed between taking over and removing it
    gather(tmp_path)
    assert found(tmp_path) == {("there", 8), ("left", 8), ("left", 16)}
    assert len(Kept(tmp_path / "epochs.jsonl").lines) == 3
    assert not (tmp_path / ".jobs").exists()


def test_what_a_user_keeps_is_left_where_it_is(tmp_path):
    theirs = [tmp_path / name for name in ("jobs/mine.txt", ".jobs/note", ".jobs/old/cells.jsonl", ".jobs/1/note")]
    keep(tmp_path / ".jobs" / "0", "left", 8)
    keep(tmp_path / ".jobs" / "1", "left", 16)
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("theirs")
    gather(tmp_path)
    gather(tmp_path)
    assert found(tmp_path) == {("left", 8), ("left", 16)}
    assert [path.read_text() for path in theirs] == ["theirs"] * 4
    assert not (tmp_path / ".jobs" / "0").exists()
    assert [path.name for path in (tmp_path / ".jobs" / "1").iterdir()] == ["note"]


def test_what_was_half_written_is_no_reason_to_keep_a_folder(tmp_path):
    left = tmp_path / ".jobs" / "0"
    (left / "scores").mkdir(parents=True)
    for name in ("scores/a.npy", "scores/.b.npy.7.part", ".cells.jsonl.7.part"):
        (left / name).write_text("")
    gather(tmp_path)
    assert not (tmp_path / ".jobs").exists()


def test_a_process_that_goes_on_without_us_is_waited_for(tmp_path):
    keep(tmp_path / ".jobs" / "0", "left", 8)
    with alone_in(tmp_path / ".jobs" / "0"), pytest.raises(UsageError, match="another command is writing"):
        gather(tmp_path)
    assert (tmp_path / ".jobs" / "0" / "cells.jsonl").exists()
