"""What a method has learnt, as files: arrays in safetensors, settings in JSON with the digest of the arrays."""

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from deepbinaries.errors import DataError, UsageError
from deepbinaries.files import read_bytes, read_json, write_json, written_whole

VERSION = 1
MAX_BYTES = 2**30

Settings = TypeVar("Settings")


def save_learnt(folder: str | Path, method: str, settings: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write `hasher.safetensors`, and `hasher.json` with the settings and the digest of the former."""
    if not arrays:
        raise nothing_learnt(method)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    content = save_arrays({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    with written_whole(folder / "hasher.safetensors") as file:
        file.write(content)
    facts = {"format": f"deepbinaries-{method}", "version": VERSION, "settings": dataclasses.asdict(settings)}
    write_json(facts | {"sha256": hashlib.sha256(content).hexdigest()}, folder / "hasher.json", indent=1)


def load_learnt(
    folder: str | Path, method: str, settings: type[Settings], shapes: Mapping[str, tuple[Any, ...]]
) -> tuple[Settings, dict[str, NDArray[Any]]]:
    """The settings and the arrays that `save_learnt` wrote; anything else is refused.

    `shapes` names every array with its dimensions: a number, a setting's name, or any other word, which stands for the
    same number wherever it occurs: {"mean": ("d",), "W": ("d", "bits")}.
    """
    folder = Path(folder)
    facts = read_json(folder / "hasher.json")
    content = read_bytes(folder / "hasher.safetensors", limit=MAX_BYTES)
    try:
        wanted = (f"deepbinaries-{method}", VERSION)
        if (facts["format"], facts["version"]) != wanted:
            raise ValueError(f"{facts['format']} version {facts['version']} is not {wanted[0]} version {VERSION}")
        if facts["sha256"] != hashlib.sha256(content).hexdigest():
            raise ValueError("the digest of hasher.safetensors is another one")
        found, arrays = settings(**facts["settings"]), load_arrays(content)
        _check_shapes(arrays, shapes, dict(facts["settings"]))
    except (KeyError, TypeError, ValueError, UsageError, SafetensorError) as error:
        raise DataError(
            f"{folder} holds no whole {method.upper()} ({error})", next_step="copy or train it again"
        ) from error
    return found, {name: arrays[name] for name in shapes}


def nothing_learnt(method: str) -> UsageError:
    """The error of a hasher that is asked before it was trained."""
    return UsageError(f"this {method.upper()} has learnt nothing yet", next_step="call fit, or load a trained one")


def _check_shapes(
    arrays: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[Any, ...]], sizes: dict[Any, Any]
) -> None:
    for name, dimensions in shapes.items():
        array = arrays[name]
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            raise ValueError(f"{name} is not made of finite real numbers")
        fits = array.ndim == len(dimensions)
        for size, dimension in zip(array.shape, dimensions, strict=False):
            known = dimension if isinstance(dimension, int) else sizes.setdefault(dimension, size)
            fits = fits and size == known
        if not fits:
            raise ValueError(f"{name} has the shape {array.shape}")
