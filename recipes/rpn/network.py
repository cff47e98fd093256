"""The head as it is trained: two convolutions with normalisation, then what is said of each anchor."""

import json
from typing import Any

import numpy as np
import safetensors.numpy
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from deepbinaries.vision.proposers.rpn import FARTHEST, FORMAT, VERSION

RARELY = -4.0  # the logit that anchors start from: few of them hold a thing


class RpnNetwork(nn.Module):
    """Answers (n, h, w, a, 5) to maps (n, d, h, w), and the boxes that they stand for."""

    anchors: Tensor  # (a, 2): width and height in shares

    def __init__(self, anchors: NDArray[np.float32], *, width: int, hidden: int):
        super().__init__()
        self.narrow = nn.Conv2d(width, hidden, 1, bias=False)
        self.narrow_norm = nn.BatchNorm2d(hidden)
        self.around = nn.Conv2d(hidden, hidden, 3, padding=1, bias=False)
        self.around_norm = nn.BatchNorm2d(hidden)
        self.answer = nn.Conv2d(hidden, 5 * len(anchors), 1)
        self.register_buffer("anchors", torch.from_numpy(anchors))
        nn.init.normal_(self.answer.weight, std=0.01)
        nn.init.zeros_(self.answer.bias)  # type: ignore[arg-type]
        with torch.no_grad():
            self.answer.bias[::5] = RARELY  # type: ignore[index]

    def forward(self, maps: Tensor) -> Tensor:
        x = torch.relu(self.narrow_norm(self.narrow(maps)))
        x = torch.relu(self.around_norm(self.around(x)))
        n, _, h, w = maps.shape
        answers: Tensor = self.answer(x).float()
        return answers.view(n, len(self.anchors), 5, h, w).permute(0, 3, 4, 1, 2)

    def places(self, h: int, w: int) -> Tensor:
        """The anchors of a map as boxes in shares, (h, w, a, 4)."""
        return self.boxes(self.anchors.new_zeros(1, h, w, len(self.anchors), 5))[0]

    def boxes(self, answers: Tensor) -> Tensor:
        """The boxes of answers, in shares, (n, h, w, a, 4), as `deepbinaries.vision.proposers.rpn.decode` has them."""
        h, w = answers.shape[1:3]
        rows, columns = torch.meshgrid(
            torch.arange(h, device=answers.device), torch.arange(w, device=answers.device), indexing="ij"
        )
        middles = torch.stack([(columns + 0.5) / w, (rows + 0.5) / h], dim=2)[:, :, None]
        centres = middles + answers[..., 1:3] * self.anchors
        sides = answers[..., 3:5].clamp(max=FARTHEST).exp() * self.anchors
        return torch.cat([centres - sides / 2, centres + sides / 2], dim=-1).clamp(0, 1)


def to_file(network: RpnNetwork, facts: dict[str, Any], *, scale: float = 1.0, shift: float = 0.0) -> bytes:
    """The head as a file of the proposer `rpn`, in half precision; logits become scale * logit + shift."""
    network = network.eval()
    narrow = fuse_conv_bn_eval(network.narrow, network.narrow_norm)
    around = fuse_conv_bn_eval(network.around, network.around_norm)
    answer, answer_bias = (_array(tensor).copy() for tensor in (network.answer.weight, network.answer.bias))
    answer[::5] *= scale
    answer_bias[::5] = answer_bias[::5] * scale + shift
    arrays = {
        "narrow": _array(narrow.weight)[:, :, 0, 0],
        "narrow_bias": _array(narrow.bias)[:, None],
        "around": _array(around.weight).transpose(2, 3, 0, 1),
        "around_bias": _array(around.bias)[:, None],
        "answer": answer[:, :, 0, 0],
        "answer_bias": answer_bias[:, None],
        "anchors": _array(network.anchors),
    }
    stated = json.dumps({"format": FORMAT, "version": VERSION, **facts})
    half = {name: np.ascontiguousarray(array, dtype=np.float16) for name, array in arrays.items()}
    return bytes(safetensors.numpy.save(half, metadata={"rpn": stated}))


def _array(tensor: Any) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.detach().float().cpu().numpy()
    return array
