"""How fast is learnt, from the first step to the last."""

import math

WARM_UP = 0.3  # share of the steps in which the learning rate rises
START = 0.04  # share of the peak at which it starts


def share_of_peak(done: float) -> float:
    """The learning rate over its peak when a share of the steps is done: one cycle, up and then down to nothing.

    >>> [round(share_of_peak(done), 3) for done in (0.0, 0.15, 0.3, 0.65, 1.0)]
    [0.04, 0.52, 1.0, 0.5, 0.0]
    """
    if done < WARM_UP:
        return START + (1 - START) * _rise(done / WARM_UP)
    return 1 - _rise((done - WARM_UP) / (1 - WARM_UP))


def _rise(share: float) -> float:
    """From 0 to 1, slowly at both ends."""
    return (1 - math.cos(math.pi * share)) / 2
