"""The two trained networks as one safetensors file, without the table of words."""

import json
from pathlib import Path
from typing import Any

import safetensors
from safetensors.torch import load_file, save_file
from torch import Tensor

from recipes.photo.networks import PictureNetwork, SentenceNetwork


def save_networks(pictures: PictureNetwork, sentences: SentenceNetwork, path: Path, facts: dict[str, Any]) -> None:
    """Write the weights, and what is to be known of them."""
    sides = {"pictures": pictures.state_dict(), "sentences": sentences.state_dict()}
    tensors = {
        f"{side}.{name}": tensor.detach().cpu().contiguous()
        for side, weights in sides.items()
        for name, tensor in weights.items()
    }
    save_file(tensors, path, {"facts": json.dumps(facts)})


def read_networks(path: Path, table: Tensor) -> tuple[PictureNetwork, SentenceNetwork]:
    """The networks, ready to encode; `table` holds the vectors of the words."""
    weights = load_file(path)
    pictures, sentences = PictureNetwork(), SentenceNetwork(table)
    pictures.load_state_dict(_of_side("pictures.", weights))
    sentences.load_state_dict(_of_side("sentences.", weights))
    return pictures.eval(), sentences.eval()


def read_facts(path: Path) -> dict[str, Any]:
    """What was written beside the weights: settings and figures on the validation parts."""
    with safetensors.safe_open(path, "np") as file:
        facts: dict[str, Any] = json.loads(file.metadata()["facts"])
    return facts


def _of_side(prefix: str, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}
