"""Networks of the shapes of CLIP ViT-B/32 with random weights, as ONNX files: what `encoding.py` measures beside ours.

Shapes after A. Radford and others, "Learning Transferable Visual Models From Natural Language Supervision", 2021.
"""

from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn

from deepbinaries.onnx_tracing import quiet, traced

IMAGE_SIDE, PATCH = 224, 32
TOKENS, PIECES = 77, 49_408
LAYERS, EMBEDDING = 12, 512


class Layer(nn.Module):
    """Self-attention and a hidden layer, each added to what went in."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        n, length, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(2, 3) * (width // self.heads) ** -0.5
        weights = (scores if mask is None else scores + mask).softmax(3)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(n, length, width))
        hidden = self.wide(self.after(x))
        changed: Tensor = x + self.narrow(hidden * torch.sigmoid(1.702 * hidden))
        return changed


class PictureTower(nn.Module):
    """Pixels (n, 3, 224, 224) to (n, 512)."""

    def __init__(self, width: int = 768, layers: int = LAYERS):
        super().__init__()
        self.patches = nn.Conv2d(3, width, PATCH, stride=PATCH, bias=False)
        self.first = nn.Parameter(torch.randn(width) * 0.02)
        self.places = nn.Parameter(torch.randn((IMAGE_SIDE // PATCH) ** 2 + 1, width) * 0.02)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, width // 64) for _ in range(layers))
        self.projection = nn.Linear(width, EMBEDDING, bias=False)

    def forward(self, pixels: Tensor) -> Tensor:
        patches = self.patches(pixels).flatten(2).transpose(1, 2)
        first = self.first.expand(patches.shape[0], 1, -1)
        x = self.before(torch.cat([first, patches], dim=1) + self.places)
        for layer in self.layers:
            x = layer(x, None)
        vectors: Tensor = self.projection(self.after(x[:, 0]))
        return vectors


class SentenceTower(nn.Module):
    """Token ids (n, 77) to (n, 512), read at the place of the largest id, which ends a sentence."""

    def __init__(self, width: int = 512, layers: int = LAYERS):
        super().__init__()
        self.pieces = nn.Embedding(PIECES, width)
        self.places = nn.Parameter(torch.randn(TOKENS, width) * 0.01)
        self.layers = nn.ModuleList(Layer(width, width // 64) for _ in range(layers))
        self.after = nn.LayerNorm(width)
        self.projection = nn.Linear(width, EMBEDDING, bias=False)
        self.register_buffer("mask", torch.full((TOKENS, TOKENS), -1e9).triu(1))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.pieces(tokens) + self.places
        for layer in self.layers:
            x = layer(x, self.mask)
        ends = tokens.argmax(1).view(-1, 1, 1).expand(-1, 1, x.shape[2])
        vectors: Tensor = self.projection(self.after(x.gather(1, ends)[:, 0]))
        return vectors


def write_towers(folder: Path, layers: int = LAYERS) -> dict[str, Path]:
    """Both towers in fp32 and, dynamically quantised, in int8; `layers` other than 12 are for trying out."""
    torch.manual_seed(0)
    examples = {
        "picture": (PictureTower(layers=layers), torch.zeros(2, 3, IMAGE_SIDE, IMAGE_SIDE)),
        "sentence": (SentenceTower(layers=layers), torch.zeros(2, TOKENS, dtype=torch.int64)),
    }
    files: dict[str, Path] = {}
    for name, (tower, example) in examples.items():
        whole, small = (folder / f"{name}-{precision}.onnx" for precision in ("fp32", "int8"))
        whole.write_bytes(traced(tower, example, open_axes={0: "n"}, precision="fp32"))
        with quiet():
            # Of the convolution that cuts patches int8 makes less than a hundredth, and it would be slower.
            quantize_dynamic(whole, small, op_types_to_quantize=["MatMul", "Gemm"], weight_type=QuantType.QInt8)
        files |= {f"{name} fp32": whole, f"{name} int8": small}
    return files


def n_parameters(tower: nn.Module) -> int:
    """The numbers that a network learns."""
    return sum(parameter.numel() for parameter in tower.parameters())
