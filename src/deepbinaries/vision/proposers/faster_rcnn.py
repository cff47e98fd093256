"""The region proposal network of Faster R-CNN (Ren and others, 2015), as torchvision builds it: the paper's proposer.

Weights are those of torchvision's `fasterrcnn_resnet50_fpn`, under its names, in a safetensors file.
"""

import importlib
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.errors import DataError, Error
from deepbinaries.files import read_bytes
from deepbinaries.vision.regions import MOST_PROPOSALS, Proposals

MAX_FILE_BYTES = 2**30


class FasterRCNN:
    """What the first stage of Faster R-CNN takes for things, with their objectness."""

    name = "faster-rcnn"

    def __init__(self, path: Path):
        detection = _torchvision("models.detection")
        content = read_bytes(path, limit=MAX_FILE_BYTES)
        self.digest = sha256(content).hexdigest()
        self._model = detection.fasterrcnn_resnet50_fpn(
            weights=None, weights_backbone=None, rpn_post_nms_top_n_test=MOST_PROPOSALS
        ).eval()
        _load_weights(self._model, content, path)

    def propose(
        self,
        picture: Image.Image,
        energy: NDArray[np.floating] | None = None,  # noqa: ARG002
        id: str = "",  # noqa: A002, ARG002
    ) -> Proposals:
        import torch

        image = torch.from_numpy(np.array(picture)).permute(2, 0, 1) / 255
        with torch.inference_mode():
            boxes, objectness, (height, width) = first_stage(self._model, image)
        return in_shares(boxes.numpy(), objectness.numpy(), (width, height))


def first_stage(model: Any, image: Any) -> tuple[Any, Any, tuple[int, int]]:
    """Boxes in pixels, their objectness, and the height and width in which the network saw the picture.

    The steps are those of torchvision's `RegionProposalNetwork.forward`, which keeps the boxes and drops the rest.
    """
    concatenate = _torchvision("models.detection.rpn").concat_box_prediction_layers
    images, _ = model.transform([image])
    maps = list(model.backbone(images.tensors).values())
    objectness, deltas = model.rpn.head(maps)
    anchors = model.rpn.anchor_generator(images, maps)
    n_by_level = [level[0].numel() for level in objectness]
    objectness, deltas = concatenate(objectness, deltas)
    boxes = model.rpn.box_coder.decode(deltas, anchors).view(1, -1, 4)
    boxes, objectness = model.rpn.filter_proposals(boxes, objectness, images.image_sizes, n_by_level)
    return boxes[0], objectness[0], images.image_sizes[0]


def in_shares(boxes: NDArray[np.float32], objectness: NDArray[np.float32], size: tuple[int, int]) -> Proposals:
    """Boxes in pixels of a picture of `size` (width, height) as proposals.

    >>> in_shares(np.array([[0, 50, 200, 100]], np.float32), np.array([0.5], np.float32), (400, 100)).boxes.tolist()
    [[0.0, 0.5, 0.5, 1.0]]
    """
    shares = boxes / np.array(size * 2, dtype=np.float32)
    return Proposals(shares.clip(0, 1).astype(np.float32), objectness.clip(0, 1).astype(np.float32))


def _load_weights(model: Any, content: bytes, path: Path) -> None:
    import safetensors
    import safetensors.torch

    try:
        model.load_state_dict(safetensors.torch.load(content))
    except safetensors.SafetensorError as error:
        raise DataError(
            f"{path} is no whole safetensors file ({error})",
            next_step="save torchvision's weights with safetensors.torch.save_file",
        ) from error
    except RuntimeError as error:  # names or shapes that differ
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"{path} does not fit Faster R-CNN ({reason})",
            next_step="give the weights of torchvision's fasterrcnn_resnet50_fpn",
        ) from error


def _torchvision(module: str) -> Any:
    try:
        return importlib.import_module(f"torchvision.{module}")
    except (ImportError, RuntimeError) as error:  # one that was built for another torch is a RuntimeError
        raise Error(
            f"the proposer 'faster-rcnn' needs torchvision, which cannot be imported ({error})",
            next_step="install the torchvision that belongs to your torch, or use the proposer grid or yolox",
        ) from error
