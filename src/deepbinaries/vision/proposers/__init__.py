"""Proposers say where in a picture things may be. One contract for all; `vision.regions` chooses among their boxes."""

import inspect
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.errors import UsageError
from deepbinaries.registry import PROPOSERS
from deepbinaries.vision.regions import Proposals

__all__ = ["Proposer", "make_proposer"]


@runtime_checkable
class Proposer(Protocol):
    """A way to find regions. Each may be called from several threads at once.

    One that need not see pictures may also have `choose_all`, as `Grid` has: it is then asked once a batch.
    """

    @property
    def name(self) -> str:
        """What results call it."""

    @property
    def digest(self) -> str:
        """SHA-256 of the file it works by; empty when there is none."""

    def propose(
        self,
        picture: Image.Image,
        energy: NDArray[np.floating] | None = None,
        id: str = "",  # noqa: A002
    ) -> Proposals:
        """Boxes with confidences for one RGB picture.

        `energy` is the mean square of a backbone's features, (height, width) of their map, over this picture.
        `id` is the picture's id in its dataset. A proposer uses what it needs of the three.
        """


def make_proposer(name: str, path: str | Path | None = None) -> Proposer:
    """The proposer of a name (`deepbinaries list proposers`); `path` is the file that it works by, if it has one.

    >>> make_proposer("grid").name
    'grid'
    """
    if name == "rpn":
        raise UsageError(
            "the proposer 'rpn' is a name kept for one that comes with a model",
            next_step="use grid, which needs no file, or yolox or faster-rcnn with their weights",
        )
    make = PROPOSERS.load(name)
    works_by_a_file = "path" in inspect.signature(make).parameters
    if works_by_a_file and path is None:
        what = PROPOSERS.find(name).summary
        raise UsageError(f"the proposer {name!r} ({what}) was given no file", next_step="give the path of its file")
    if path is not None and not works_by_a_file:
        raise UsageError(f"the proposer {name!r} works without a file", next_step="leave the path out")
    return cast("Proposer", make(Path(path)) if path is not None else make())
