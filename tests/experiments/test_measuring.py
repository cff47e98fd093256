import mmap
from pathlib import Path
from types import SimpleNamespace

from deepbinaries.experiments import measuring


def test_time_is_that_of_the_work_alone(monkeypatch):
    clock = iter([5.0, 7.5])
    monkeypatch.setattr(measuring, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with measuring.measured() as taken:
        pass
    assert taken["seconds"] == 2.5


def test_the_peak_of_each_work_is_its_own():
    peaks = []
    for megabytes in (120, 40):
        with measuring.measured() as taken, mmap.mmap(-1, megabytes * 2**20) as fresh:
            fresh[:: mmap.PAGESIZE] = bytes(megabytes * 2**20 // mmap.PAGESIZE)  # an array may lie where others were
        peaks.append(taken["peak_megabytes"])
    assert 120 <= peaks[0] < 140
    assert 40 <= peaks[1] < 60


def test_where_memory_is_not_counted_only_time_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(measuring, "REFS", Path(tmp_path / "nowhere/clear_refs"))
    with measuring.measured() as taken:
        pass
    assert list(taken) == ["seconds"]
