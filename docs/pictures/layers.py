"""The layers of the networks, read off the modules themselves: nothing is computed, tensors have shapes alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from deepbinaries.features.inputs import POSITION
from deepbinaries.hashers.deep import Inputs
from deepbinaries.hashers.tvdb import TVDB
from deepbinaries.language import TokenSettings
from deepbinaries.vision.backbones import alexnet, efficientnet_lite0
from deepbinaries.vision.encoder import VisionSettings

BITS = 64
WORDS = 10_000  # of a vocabulary; how many there are is a matter of the data
UNSEEN = (nn.Dropout, nn.Identity)  # what changes nothing when a trained network is used
BACKBONES: dict[str, Any] = {"alexnet": alexnet, "efficientnet-lite0": efficientnet_lite0}
REGIONS = VisionSettings().keep + 1  # and the whole picture
TOKENS = TokenSettings().length or 0


@dataclass(frozen=True)
class Layer:
    """A module of a network: its name in it, what it is, and the shapes that go in and out, without the batch."""

    name: str
    kind: str
    takes: tuple[int, ...]
    gives: tuple[int, ...]
    weights: int


@dataclass(frozen=True)
class System:
    """A preset of TVDB with everything in front of it."""

    preset: str
    backbone: str
    width: int  # features of a region
    cnn: Sequence[Layer]
    image: Sequence[Layer]
    text: Sequence[Layer]


def system(preset: str) -> System:
    """The layers of a preset: its backbone for one region, f for one picture, g for one sentence."""
    name = TVDB.vision(preset).get("backbone", VisionSettings().backbone)
    module = BACKBONES[name]
    with torch.device("meta"):
        towers = TVDB.preset(preset, bits=BITS, device="cpu").build(Inputs(module.WIDTH, WORDS)).eval()
        regions = torch.zeros(1, REGIONS, module.WIDTH + POSITION)
        tokens = torch.zeros(1, TOKENS, dtype=torch.int64)
        cnn = layers_of(module.AlexNet(), torch.zeros(1, 3, 224, 224)) if module is alexnet else []
        image, text = layers_of(towers.image, regions), layers_of(towers.text, tokens)
    return System(preset, name, module.WIDTH, cnn, image, text)


def layers_of(network: nn.Module, batch: torch.Tensor) -> list[Layer]:
    """The layers that a batch of one goes through, in their order."""
    found: list[Layer] = []

    def note(name: str, module: nn.Module, given: tuple[torch.Tensor, ...], result: Any) -> None:
        out = result[0] if isinstance(result, tuple) else result
        weights = sum(parameter.numel() for parameter in module.parameters())
        found.append(Layer(name, kind(module), tuple(given[0].shape[1:]), tuple(out.shape[1:]), weights))

    leaves = [(name, module) for name, module in network.named_modules() if not [*module.children()]]
    hooks = [module.register_forward_hook(partial(note, name)) for name, module in leaves if type(module) not in UNSEEN]
    network.eval()(batch)
    for hook in hooks:
        hook.remove()
    return found


def kind(module: nn.Module) -> str:
    """What a module is, in words.

    >>> kind(nn.Conv1d(8, 8, 3)), kind(nn.Linear(8, 2))
    ('convolution over 3 words', 'fully connected')
    """
    match module:
        case nn.LSTM():
            return f"LSTM of {module.num_layers} levels"
        case nn.Linear():
            return "fully connected"
        case nn.Embedding():
            return "word embedding"
        case nn.Conv1d():
            return f"convolution over {module.kernel_size[0]} word{'s' if module.kernel_size[0] > 1 else ''}"
        case nn.Conv2d():
            return f"convolution {module.kernel_size[0]} × {module.kernel_size[1]}, stride {module.stride[0]}"
        case nn.MaxPool2d():
            return f"maximum over {module.kernel_size} × {module.kernel_size}, stride {module.stride}"
        case nn.AdaptiveAvgPool2d():
            return "mean over cells"
    return type(module).__name__


def shape(sizes: Sequence[int]) -> str:
    """
    >>> shape((21, 1024))
    '21 × 1024'
    """
    return " × ".join(map(str, sizes))
