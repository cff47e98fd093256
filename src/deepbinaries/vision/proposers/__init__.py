"""Proposers say where in a picture things may be; `vision.regions` chooses among their boxes, by one set of rules.

Most look at a picture: `Proposer`. One that reads the maps that a backbone has made anyway is a `MapProposer`.
"""

import inspect
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.errors import UsageError
from deepbinaries.registry import PROPOSERS
from deepbinaries.vision.backbones import Backbone
from deepbinaries.vision.regions import Proposals

__all__ = ["AUTO", "MapProposer", "Proposer", "make_proposer"]

AUTO = "auto"  # rpn where a head for the backbone is at hand, else grid


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


@runtime_checkable
class MapProposer(Protocol):
    """A way to find regions on the maps of a backbone. Each may be called from several threads at once."""

    @property
    def name(self) -> str:
        """What results call it."""

    @property
    def digest(self) -> str:
        """SHA-256 of the file it works by."""

    def propose_on(self, maps: Any) -> list[Proposals]:
        """Boxes with confidences for each picture of maps (n, d, h, w), an array or a tensor on any device."""


def make_proposer(
    name: str, path: str | Path | None = None, backbone: Backbone | None = None
) -> Proposer | MapProposer:
    """The proposer of a name (`deepbinaries list proposers`); `path` is the file that it works by, if it has one.

    One that reads maps is made for a `backbone`, and refuses those that it was not taught with.

    >>> make_proposer("grid").name
    'grid'
    """
    if name == AUTO:
        name = _by_itself(path, backbone)
    make = PROPOSERS.load(name)
    parameters = inspect.signature(make).parameters
    given: dict[str, Any] = {}
    if path is not None:
        if "path" not in parameters:
            raise UsageError(f"the proposer {name!r} works without a file", next_step="leave the path out")
        given["path"] = Path(path)
    elif "path" in parameters and parameters["path"].default is inspect.Parameter.empty:
        what = PROPOSERS.find(name).summary
        raise UsageError(f"the proposer {name!r} ({what}) was given no file", next_step="give the path of its file")
    if "backbone" in parameters:
        if backbone is None:
            raise UsageError(f"the proposer {name!r} reads maps, and no backbone was given", next_step="give one")
        given["backbone"] = backbone
    return cast("Proposer | MapProposer", make(**given))


def _by_itself(path: str | Path | None, backbone: Backbone | None) -> str:
    """What to use when nobody names a proposer: a file that comes without a name is a head."""
    from deepbinaries.vision.proposers.rpn import find_shipped

    return "rpn" if path is not None or (backbone is not None and find_shipped(backbone)) else "grid"
