"""From a picture to the features of its regions: proposals, the paper's choice among them, one vector a region.

Two ways to a region's vector: `roi` runs the backbone once over the whole picture and reads the regions off its map;
`crop`, the paper's, cuts each region out and runs the backbone on it. Their features differ: train and search with
the same one.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.errors import UsageError
from deepbinaries.vision.backbones import TWICE, Backbone, WeightsCard, make_backbone
from deepbinaries.vision.pixels import Picture, as_image, check_rgb, size_of
from deepbinaries.vision.proposers import AUTO, make_proposer
from deepbinaries.vision.regions import WHOLE_PICTURE, Proposals, Regions, check_keep, choose_regions, positions
from deepbinaries.vision.roi_align import roi_features
from deepbinaries.vision.stretching import stretched
from deepbinaries.vision.transfers import fetched, sent

FORMAT = 1  # of the features; it rises when the same pictures and settings give others
MODES = ("roi", "crop")
MULTIPLE = 32  # the stride of the default backbone
MAX_SIDE = 2048
AT_ONCE = 128  # pictures; their maps at 448 pixels take 64 MB on a GPU
CROPS_AT_ONCE = 32


@dataclass(frozen=True)
class VisionSettings:
    """How pictures become features."""

    backbone: str = "efficientnet-lite0"
    mode: str = "roi"  # or "crop", the paper's
    proposer: str = "auto"  # rpn where a head for the backbone is at hand, else grid
    keep: int = 20  # K, regions beside the whole picture; 0: it alone
    side: int = 448  # pixels; pictures are stretched to a square of it for the map
    l2_normalise: bool = False  # features of a region to length 1; the paper leaves them as they are

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UsageError(f"mode={self.mode!r} is neither roi nor crop", next_step="roi is the faster one")
        if self.side % MULTIPLE or not MULTIPLE <= self.side <= MAX_SIDE:
            raise UsageError(
                f"side={self.side} is no multiple of {MULTIPLE} up to {MAX_SIDE}", next_step="448 is a good start"
            )
        check_keep(self.keep)


class RegionEncoder:
    """A backbone and a proposer, ready for pictures. Several threads may use one."""

    def __init__(
        self,
        settings: VisionSettings,
        *,
        backbone_weights: str | Path | None = None,
        proposer_path: str | Path | None = None,
        device: str = "cpu",
    ):
        self._backbone = make_backbone(settings.backbone, weights=backbone_weights, device=device)
        if settings.proposer == AUTO and not settings.keep:
            settings = replace(settings, proposer="grid")  # nobody asks it
        self._proposer = make_proposer(settings.proposer, proposer_path, self._backbone)
        # What is kept and compared says which proposer it was, not that it was chosen by itself.
        self.settings = replace(settings, proposer=self._proposer.name) if settings.proposer == AUTO else settings
        if settings.mode == "roi" and not self._backbone.stride:
            raise UsageError(f"{self._backbone.name} has no maps, only vectors", next_step="use mode=crop")

    @property
    def backbone(self) -> Backbone:
        """The network that sees."""
        return self._backbone

    @property
    def width(self) -> int:
        """d: features of a region, its position not counted."""
        return self._backbone.width

    @property
    def card(self) -> WeightsCard:
        """Which weights the backbone runs, and under which terms."""
        return self._backbone.card

    @property
    def at_least(self) -> int | None:
        """The pixels that a picture's sides should have; a larger JPEG may be decoded to fewer. None: all it has."""
        times = getattr(self._backbone, "decoded", TWICE)
        if self.settings.mode == "roi":
            return times * self.settings.side
        # Regions that are cut out of a picture want all its pixels; the whole of it becomes a square of one side.
        return None if self.settings.keep else times * self._backbone.crop_side

    @property
    def square(self) -> int | None:
        """The side of the square that pictures are stretched to where nothing else of them is looked at."""
        if self.settings.keep or getattr(self._backbone, "on_gpu", False):  # a GPU stretches them by itself
            return None
        return self.settings.side if self.settings.mode == "roi" else self._backbone.crop_side

    @property
    def at_once(self) -> int:
        """How many batches are best given at a time: a GPU is busy with one while regions of another are chosen."""
        return 3 if getattr(self._backbone, "on_gpu", False) else 1

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Everything that decides about the features, as JSON can hold it. The device is no part of it."""
        return {
            "format": FORMAT,
            **asdict(self.settings),
            "backbone": self._backbone.name,  # without the folder of a file
            "weights_sha256": self.card.sha256,
            "preprocessing": self.card.preprocessing,
            "proposer_digest": self._proposer.digest,
        }

    def encode(self, pictures: Sequence[Picture], ids: Sequence[str] = ()) -> NDArray[np.float16]:
        """Region features of RGB pictures: (n, keep + 1, width + 4), the most attractive first, the whole one last.

        Pictures are Pillow's, or their pixels, (height, width, 3). A row is the region's features, then the height,
        width and centre of its box in shares of the picture. `ids` are for a proposer that knows pictures by name.
        A feature that float16 cannot hold comes as infinity.
        """
        if ids and len(ids) != len(pictures):
            raise UsageError(f"{len(ids)} ids do not go with {len(pictures)} pictures", next_step="give one a picture")
        for picture in pictures:
            check_rgb(picture)
        encoded = np.empty((len(pictures), self.settings.keep + 1, self.width + 4), dtype=np.float16)
        with ThreadPoolExecutor() as threads, np.errstate(over="ignore"):
            for start in range(0, len(pictures), AT_ONCE):
                some = slice(start, start + AT_ONCE)
                boxes, features = self._look(pictures[some], ids[some], threads)
                encoded[some, :, : self.width] = self._scaled(features)
                encoded[some, :, self.width :] = positions(boxes.reshape(-1, 4)).reshape(boxes.shape)
        return encoded

    def regions(self, picture: Picture, id: str = "") -> Regions:  # noqa: A002
        """Where a picture is looked at."""
        with ThreadPoolExecutor(1) as threads:
            maps = self._maps([picture], threads) if self._backbone.stride else None
            return self._choose([picture], [id], maps, threads)[0]

    def _look(
        self, pictures: Sequence[Picture], ids: Sequence[str], threads: ThreadPoolExecutor
    ) -> tuple[NDArray[np.float32], NDArray[np.floating]]:
        """Boxes of some pictures, (n, keep + 1, 4), and their features, (n, keep + 1, width)."""
        needed = self.settings.keep or self.settings.mode == "roi"  # to choose regions by, or to take them from
        maps = self._maps(pictures, threads) if self._backbone.stride and needed else None
        proposer: Any = self._proposer
        if not self.settings.keep:
            boxes = np.tile(WHOLE_PICTURE, (len(pictures), 1, 1))
        elif hasattr(proposer, "choose_all"):
            energies = None if maps is None else energy_of(maps)
            boxes = proposer.choose_all(energies, [size_of(picture) for picture in pictures], self.settings.keep)
        else:
            chosen = self._choose(pictures, ids or [""] * len(pictures), maps, threads)
            boxes = np.stack([regions.boxes for regions in chosen])
        if self.settings.mode == "crop":
            return boxes, self._of_crops(pictures, boxes, threads)
        return boxes, _of_maps(maps, boxes)

    def _choose(
        self, pictures: Sequence[Picture], ids: Sequence[str], maps: Any, threads: ThreadPoolExecutor
    ) -> list[Regions]:
        """The regions of each picture, proposed on its map by a proposer that reads maps, else in the picture."""
        proposer: Any = self._proposer

        def choose(proposals: Proposals, picture: Picture) -> Regions:
            return choose_regions(proposals, size_of(picture), keep=self.settings.keep, proposer=proposer.name)

        def look(picture: Picture, energy: NDArray[np.float32] | None, id: str) -> Regions:  # noqa: A002
            return choose(proposer.propose(as_image(picture), energy, id=id), picture)

        if hasattr(proposer, "propose_on"):
            return list(map(choose, proposer.propose_on(maps), pictures))
        energies = [None] * len(pictures) if maps is None else energy_of(maps)
        return list(threads.map(look, pictures, energies, ids))

    def _maps(self, pictures: Sequence[Picture], threads: ThreadPoolExecutor) -> Any:
        """Maps as an array, or as a tensor from a backbone that can leave them where they are."""
        side = self.settings.side
        backbone: Any = self._backbone
        if getattr(backbone, "on_gpu", False):
            return backbone.maps_of_pictures(pictures, side)
        make = getattr(backbone, "tensor_maps", backbone.maps)
        return make(np.stack(list(threads.map(partial(stretched, side=side), pictures))))

    def _scaled(self, features: NDArray[np.floating]) -> NDArray[np.floating]:
        if not self.settings.l2_normalise:
            return features
        long: NDArray[np.float32] = features.astype(np.float32)
        scaled: NDArray[np.float32] = long / np.maximum(np.linalg.norm(long, axis=2, keepdims=True), 1e-12)
        return scaled

    def _of_crops(
        self, pictures: Sequence[Picture], boxes: NDArray[np.float32], threads: ThreadPoolExecutor
    ) -> NDArray[np.float32]:
        """One vector a region, (n, keep + 1, width)."""
        vectors, (n, of_picture, _) = [], boxes.shape
        at_once = max(1, CROPS_AT_ONCE // of_picture)
        for start in range(0, n, at_once):
            several = [as_image(picture) for picture in pictures[start : start + at_once] for _ in range(of_picture)]
            regions = boxes[start : start + at_once].reshape(-1, 4)
            crops = threads.map(partial(crop, side=self._backbone.crop_side), several, regions)
            vectors.append(self._backbone.vectors(np.stack(list(crops))))
        return np.concatenate(vectors).reshape(n, of_picture, -1)


def crop(picture: Image.Image, box: NDArray[np.floating], side: int) -> NDArray[np.uint8]:
    """The pixels of a box given in shares, warped to a square: (side, side, 3)."""
    x0, y0, x1, y1 = np.multiply(box, picture.size * 2).tolist()
    # Outwards to whole pixels, so that none is left without any. Cut first: resizing alone looks beyond the box.
    region = picture.crop((math.floor(x0), math.floor(y0), math.ceil(x1), math.ceil(y1)))
    return stretched(region, side)


def energy_of(maps: Any) -> NDArray[np.float32]:
    """How strongly each cell of maps (n, d, h, w) answers, (n, h, w): the mean square of its features."""
    if isinstance(maps, np.ndarray):
        return np.asarray(np.square(maps).mean(axis=1))
    energy: NDArray[np.float32] = fetched(maps.float().square().mean(1))
    return energy


def _of_maps(maps: Any, boxes: NDArray[np.float32]) -> NDArray[np.floating]:
    """Features of boxes (n, k, 4) on maps (n, d, h, w): (n, k, d). The last box is the picture: the mean of its map."""
    if isinstance(maps, np.ndarray):
        features = roi_features(maps, boxes)
        features[:, -1] = maps.mean(axis=(2, 3))
        return features
    pooled = roi_features(maps, sent(boxes, maps.device))
    pooled[:, -1] = maps.mean((2, 3))
    return fetched(pooled)  # in the precision of the maps, which is half on a GPU
