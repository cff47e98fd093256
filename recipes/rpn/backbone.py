"""The backbone whose maps a head reads: EfficientNet-Lite0 with the published weights, or with those in a file."""

from dataclasses import replace

from deepbinaries.vision.backbones.efficientnet_lite0 import find_weights, with_weights
from deepbinaries.vision.backbones.torch_backbone import TorchBackbone

IN_CHECKPOINT = "pictures.backbone."  # where recipes/photo keeps it, beside the networks that follow it


def open_backbone(file: str | None, device: str) -> TorchBackbone:
    """The backbone of a safetensors file, known by the digest of the whole file, or the published one."""
    found = find_weights(file)
    inner = {
        name.removeprefix(IN_CHECKPOINT): tensor
        for name, tensor in found.tensors.items()
        if name.startswith(IN_CHECKPOINT)
    }
    return with_weights(replace(found, tensors=inner) if inner else found, device=device)
