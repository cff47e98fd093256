"""Threads that work ahead, in the order of the items, and no further than there is room."""

import threading
import time

import pytest
from PIL import Image

from deepbinaries.features import gathering, in_order
from deepbinaries.features.gathering import gathered

SIDE = 100


@pytest.fixture
def room_for_three(monkeypatch):
    """As many pixels may lie ready as three pictures have."""
    monkeypatch.setattr(in_order, "ENOUGH", 3 * SIDE * SIDE)
    monkeypatch.setattr(gathering, "ENOUGH", 3 * SIDE * SIDE)


class Decoder:
    """Makes pictures of 100 x 100 pixels, and counts them."""

    def __init__(self):
        self.made = 0
        self._lock = threading.Lock()

    def __call__(self, place):
        with self._lock:
            self.made += 1
        return Image.new("L", (SIDE, SIDE), place)

    def rest(self):
        """Wait until it has made what it may make."""
        before = -1
        while before != self.made:
            before = self.made
            time.sleep(0.05)


def values_of(pictures):
    return [picture.getpixel((0, 0)) for picture in pictures]


@pytest.mark.usefixtures("room_for_three")
def test_large_pictures_do_not_pile_up_while_nobody_takes_them():
    decode, workers = Decoder(), 2
    taken = in_order.in_order(decode, range(40), workers=workers, ahead=30)
    for n_taken in range(1, 4):
        next(taken)
        decode.rest()
        assert decode.made <= n_taken + 3 + workers
    assert values_of(taken) == list(range(3, 40))


def test_small_pictures_are_ready_as_far_ahead_as_asked_for():
    decode = Decoder()
    taken = in_order.in_order(decode, range(40), workers=2, ahead=30)
    next(taken)
    deadline = time.monotonic() + 10
    while decode.made < 30 and time.monotonic() < deadline:
        time.sleep(0.01)
    decode.rest()
    assert decode.made == 30
    taken.close()


@pytest.mark.usefixtures("room_for_three")
def test_a_slow_large_picture_keeps_its_place():
    first_may_end = threading.Event()

    def decode(place):
        if not place:
            first_may_end.wait(10)
        return Image.new("L", (SIDE, 10 * SIDE), place)

    taken = in_order.in_order(decode, range(20), workers=4, ahead=10)
    threading.Timer(0.2, first_may_end.set).start()
    assert values_of(taken) == list(range(20))


@pytest.mark.usefixtures("room_for_three")
def test_whoever_stops_taking_is_not_waited_for():
    decode = Decoder()
    taken = in_order.in_order(decode, range(40), workers=2, ahead=30)
    next(taken)
    taken.close()
    assert decode.made < 20


@pytest.mark.usefixtures("room_for_three")
def test_batches_are_smaller_where_pictures_are_large():
    def sizes(side):
        return [len(some) for some in gathered([Image.new("L", (side, side))] * 8, 5)]

    assert (sizes(SIDE // 2), sizes(SIDE), sizes(10 * SIDE)) == ([5, 3], [3, 3, 2], [1] * 8)
