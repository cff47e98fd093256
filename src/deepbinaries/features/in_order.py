"""Work done by threads whose results come in the order of the items."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Condition
from typing import TypeVar

from PIL import Image

Item = TypeVar("Item")
Result = TypeVar("Result")

ENOUGH = 2**26  # pixels of pictures that are ready, 0.2 GB: then further ones wait until these are taken


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], *, workers: int, ahead: int
) -> Generator[Result, None, None]:
    """What `work` makes of each item, in their order, done by threads; no more than `ahead` lie in memory.

    Of results that are large pictures fewer do, however many may.

    >>> list(in_order(abs, [-1, 2, -3], workers=2, ahead=2))
    [1, 2, 3]
    """
    waiting: deque[Future[Result]] = deque()
    pool, ready = ThreadPoolExecutor(workers), _Ready()

    def do(place: int, item: Item) -> Result:
        ready.wait_for_room(place)
        result = work(item)
        ready.add(result)
        return result

    def take() -> Result:
        result = waiting.popleft().result()
        ready.take(result)
        return result

    try:
        for place, item in enumerate(items):
            waiting.append(pool.submit(do, place, item))
            if len(waiting) >= ahead:
                yield take()
        while waiting:
            yield take()
    finally:
        ready.end()
        pool.shutdown(cancel_futures=True)


class _Ready:
    """The pictures among results that nobody has taken yet."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._n_taken = self._n_pixels = 0
        self._over = False

    def wait_for_room(self, place: int) -> None:
        """Return when work on the item at this place may begin; on the one that is taken next it always may."""
        with self._changed:
            self._changed.wait_for(lambda: self._over or place <= self._n_taken or self._n_pixels < ENOUGH)

    def add(self, result: object) -> None:
        with self._changed:
            self._n_pixels += _pixels_of(result)

    def take(self, result: object) -> None:
        with self._changed:
            self._n_taken += 1
            self._n_pixels -= _pixels_of(result)
            self._changed.notify_all()

    def end(self) -> None:
        """Let nobody wait any more."""
        with self._changed:
            self._over = True
            self._changed.notify_all()


def _pixels_of(result: object) -> int:
    return result.width * result.height if isinstance(result, Image.Image) else 0
