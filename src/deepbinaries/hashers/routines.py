"""When codes are learned: the five training routines of the paper, as data.

| name   | batches                       | codes                                                      |
| ------ | ----------------------------- | ---------------------------------------------------------- |
| `tvdb` | new ones in every epoch       | updated in every batch                                     |
| `s`    | the same ones in every epoch  | updated in every batch                                     |
| `n`    | new ones in every epoch       | set once over the whole training set, never updated        |
| `e1`   | new ones in every epoch       | updated over the whole training set after every epoch      |
| `e2`   | new ones in every epoch       | updated over the whole training set after every fifth one  |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Routine:
    """How batches are formed and when codes are updated."""

    random_batches: bool  # False: the batches of the first epoch, again and again
    update_batches: bool  # codes of a batch are updated when it arrives
    whole_set_every: int | None = None  # epochs between updates over the whole training set
    start: Literal["random", "whole set"] = "random"  # the first codes: drawn, or `start_all`


ROUTINES: Mapping[str, Routine] = {
    "tvdb": Routine(random_batches=True, update_batches=True),
    "s": Routine(random_batches=False, update_batches=True),
    "n": Routine(random_batches=True, update_batches=False, start="whole set"),
    "e1": Routine(random_batches=True, update_batches=False, whole_set_every=1),
    "e2": Routine(random_batches=True, update_batches=False, whole_set_every=5),
}
