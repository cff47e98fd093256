"""A nested model of colours like those that come with the package, small enough to be made for every test run."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from PIL import Image
from torch import nn

from deepbinaries.hashers.onnx_towers import OnnxTowers, TowerFacts
from deepbinaries.language import TokenSettings, Vocabulary
from deepbinaries.model import Model
from deepbinaries.onnx_tracing import traced
from deepbinaries.vision.backbones.onnx_encoder import Preparation, write_encoder
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings

BITS, SHORT = 32, 16
SIDE = 32
COLOURS = {"red": (250, 10, 10), "green": (10, 250, 10), "blue": (10, 10, 250)}


class Seen(nn.Module):
    """Pixels (n, h, w, 3) to maps of one cell: the mean colour, from -1 to 1."""

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return (pixels.float() / 127.5 - 1).mean((1, 2))[:, :, None, None]


class OfRegions(nn.Module):
    """Colours of the whole picture to values."""

    def __init__(self, mix: torch.Tensor):
        super().__init__()
        self.mix = nn.Parameter(mix)

    def forward(self, regions: torch.Tensor) -> torch.Tensor:
        return regions[:, -1, :3] @ self.mix


class OfWords(nn.Module):
    """Token ids to values: the mean of the words' colours."""

    def __init__(self, mix: torch.Tensor):
        super().__init__()
        colours = torch.tensor([(0, 0, 0)] * 3 + list(COLOURS.values())) / 127.5 - 1
        colours[:3] = 0
        self.words, self.mix = nn.Parameter(colours), nn.Parameter(mix)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.words[tokens.long()].sum(1) @ self.mix


def write_colour_model(folder: Path) -> Model:
    """Write the model to a folder and give it back; its first 16 bits are a code by themselves."""
    mix = torch.randn(3, BITS, generator=torch.Generator().manual_seed(0))
    with TemporaryDirectory() as place:
        path = Path(place) / "backbone.onnx"
        seen = traced(
            Seen(),
            torch.zeros(2, SIDE, SIDE, 3, dtype=torch.uint8),
            open_axes={0: "n", 1: "h", 2: "w"},
            precision="fp32",
        )
        write_encoder(seen, Preparation(SIDE, "NHWC", None, None, "none"), path)
        vocabulary = Vocabulary(list(COLOURS), TokenSettings(append_eos=False, length=4))
        towers = OnnxTowers(
            TowerFacts(BITS, 3, len(vocabulary)),
            traced(OfRegions(mix), torch.zeros(2, 1, 7), open_axes={0: "n"}, precision="fp32"),
            traced(OfWords(mix), torch.zeros(2, 4, dtype=torch.int32), open_axes={0: "n"}, precision="fp32"),
        )
        model = Model(
            RegionEncoder(VisionSettings(backbone=f"onnx:{path}", keep=0, side=SIDE)),
            vocabulary,
            towers,
            method="colours",
            exported={"hasher": "towers", "image": "colours", "text": "colours", "head": "none", "pictures": 0},
        )
        model.exported["nested"] = [SHORT]
        model.save_pretrained(folder)
    return Model.from_pretrained(folder)


def draw_colours(folder: Path) -> Path:
    """A folder with a picture of each colour."""
    folder.mkdir(parents=True)
    for name, colour in COLOURS.items():
        Image.new("RGB", (48, 40), colour).save(folder / f"{name}.png")
    return folder
