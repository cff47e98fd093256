"""Weights from a file, checked against the network they are for."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import safetensors
import safetensors.torch
import torch

from deepbinaries.errors import DataError, UsageError
from deepbinaries.files import read_bytes
from deepbinaries.vision.backbones.conversion import MAX_BYTES, converted


@dataclass(frozen=True)
class Weights:
    """Tensors by name, the digest of the file they come from, and what to call it."""

    tensors: Mapping[str, torch.Tensor]
    sha256: str
    source: str


def read_weights(file: str | Path) -> Weights:
    """The weights in `FILE.safetensors`, or in `FILE.pth#sha256=DIGEST`, which is opened only if it has that digest."""
    path, _, sha256 = str(file).partition("#sha256=")
    name = Path(path).name
    if path.endswith(".safetensors") and not sha256:
        content = read_bytes(Path(path), limit=MAX_BYTES)
        return Weights(parse(content, path), hashlib.sha256(content).hexdigest(), name)
    if not path.endswith((".pth", ".pt")):
        raise UsageError(f"{file} is no file of weights", next_step="give FILE.safetensors or FILE.pth#sha256=DIGEST")
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise UsageError(
            f"{path} is a pickle, which is opened only if its SHA-256 is known",
            next_step=f"write {path}#sha256= and the 64 digits its publisher states",
        )
    return Weights(parse(converted(lambda: Path(path), sha256), path), sha256, name)


def parse(content: bytes, source: str) -> dict[str, torch.Tensor]:
    """The tensors in the bytes of a safetensors file."""
    try:
        tensors: dict[str, torch.Tensor] = safetensors.torch.load(content)
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise DataError(f"{source} is no whole safetensors file ({error})", next_step="copy it again") from error
    return tensors


def load_into(network: torch.nn.Module, weights: Weights, *, leave_out: str = "") -> None:
    """Put weights into a network, by name; those whose name begins with `leave_out` are not needed."""
    wanted = network.state_dict()
    given = {name: value for name, value in weights.tensors.items() if not leave_out or not name.startswith(leave_out)}
    if missing := sorted(wanted.keys() - given.keys()):
        raise _does_not_fit(weights, f"{missing[0]} is missing")
    if extra := sorted(given.keys() - wanted.keys()):
        raise _does_not_fit(weights, f"{extra[0]} has no place")
    for name, tensor in wanted.items():
        if given[name].shape != tensor.shape:
            raise _does_not_fit(weights, f"{name} is {tuple(given[name].shape)}, not {tuple(tensor.shape)}")
        if not torch.isfinite(given[name]).all():
            raise _does_not_fit(weights, f"{name} is not finite")
    network.load_state_dict(given)


def _does_not_fit(weights: Weights, reason: str) -> DataError:
    return DataError(
        f"{weights.source} does not fit the network ({reason})", next_step="give weights made for this backbone"
    )
