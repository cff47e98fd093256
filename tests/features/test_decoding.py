"""Pictures decoded ahead: in threads and in processes the same, in order, and no more of them than allowed."""

import io
import time
from contextlib import closing

import numpy as np
import pytest
from mean_colours import WithFaults

from deepbinaries.datasets import load
from deepbinaries.features.decoding import CHUNK, decode_in_processes, decode_in_threads
from deepbinaries.vision import read_picture

HOW = {"at_least": None, "workers": 2, "ready": 3}


class Counted:
    """Thirty-two chunks of one picture; remembers which rows were asked for."""

    ids = tuple(map(str, range(32 * CHUNK)))

    def __init__(self, picture):
        self._picture, self.asked = picture, []

    def picture(self, row):
        self.asked.append(row)
        return self._picture


def settled(asked) -> int:
    """How many pictures were asked for when no more are."""
    known = -1
    while known < len(asked):
        known = len(asked)
        time.sleep(0.3)
    return known


def same(one, other) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    return np.array_equal(one, other)


def test_processes_give_what_threads_give_in_order(scenes):
    avif = io.BytesIO()
    read_picture(scenes.picture(3)).save(avif, "AVIF")
    faulty = WithFaults(scenes, {1: b"", 3: avif.getvalue(), 6: scenes.picture(6)[:200], 13: "gone"})
    rows = [13, *range(14)]
    threads, processes = (list(decode(faulty, rows, **HOW)) for decode in (decode_in_threads, decode_in_processes))
    assert len(processes) == 15
    assert all(map(same, processes, threads))


def test_processes_give_the_photographs_that_threads_give(real_data):
    photographs = load("coco18", root=real_data / "coco18")
    rows = range(0, 24_000, 1_000)
    how = HOW | {"at_least": 200}
    threads, processes = (list(decode(photographs, rows, **how)) for decode in (decode_in_threads, decode_in_processes))
    assert len(processes) == 24
    assert all(map(same, processes, threads))


@pytest.mark.parametrize(
    ("decode", "most"),
    [(decode_in_threads, 3 + 2), (decode_in_processes, (1 + 2) * CHUNK)],
    ids=["threads", "processes"],
)
def test_no_more_pictures_than_allowed_are_decoded_ahead(scenes, decode, most):
    counted = Counted(scenes.picture(0))
    with closing(decode(counted, range(len(counted.ids)), **HOW)) as decoded:
        next(decoded)
        assert settled(counted.asked) == most


@pytest.mark.parametrize("decode", [decode_in_threads, decode_in_processes])
def test_who_stops_early_is_not_kept_waiting(scenes, decode):
    counted = Counted(scenes.picture(0))
    with closing(decode(counted, range(len(counted.ids)), **HOW)) as decoded:
        next(decoded)
    assert len(counted.asked) < len(counted.ids) / 2
