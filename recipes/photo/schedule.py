"""How long is learnt, at which size of crops, and how fast."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

WARM_UP = 0.1  # share of the steps in which the learning rate rises


@dataclass(frozen=True)
class Schedule:
    """So many epochs, an equal share of them at each side, the small and quick ones first."""

    epochs: int
    sides: tuple[int, ...]

    def side(self, epoch: int) -> int:
        """The side of the crops in an epoch.

        >>> [Schedule(4, (160, 256)).side(epoch) for epoch in range(4)]
        [160, 160, 256, 256]
        """
        return self.sides[epoch * len(self.sides) // self.epochs]


def planned(seconds: float, seconds_of_epoch: Mapping[int, float]) -> Schedule:
    """As many epochs as fit into the time, given how long one lasts at each side.

    >>> planned(100, {160: 2.0, 256: 8.0})
    Schedule(epochs=20, sides=(160, 256))
    """
    mean = sum(seconds_of_epoch.values()) / len(seconds_of_epoch)
    return Schedule(max(len(seconds_of_epoch), int(seconds / mean)), tuple(seconds_of_epoch))


def share_of_peak(done: float) -> float:
    """The learning rate over its peak when a share of the steps is done: a short rise, then a cosine to nothing.

    >>> [round(share_of_peak(done), 3) for done in (0.05, 0.1, 0.55, 1.0)]
    [0.5, 1.0, 0.5, 0.0]
    """
    if done < WARM_UP:
        return done / WARM_UP
    return (1 + math.cos(math.pi * (done - WARM_UP) / (1 - WARM_UP))) / 2
