"""The one place that reads a `.pth` file. It is turned into safetensors once and kept in the user's cache.

A `.pth` is a pickle. Only files whose SHA-256 is known beforehand are opened, and only for tensors.
"""

import hashlib
import io
import pickle
from collections.abc import Callable
from pathlib import Path

import safetensors.torch
import torch

from deepbinaries.errors import DataError, Error
from deepbinaries.files import cache_folder, read_bytes, written_whole

MAX_BYTES = 2 * 2**30  # of weights; AlexNet's 61 million take 0.25 of it


def converted(find: Callable[[], Path], sha256: str) -> bytes:
    """The weights of a `.pth` in safetensors form. `find` gives its path and is called the first time only."""
    kept = sorted(cache_folder().glob(f"{sha256}-*.safetensors"))
    return _read_kept(kept[0]) if kept else _convert(find(), sha256)


def _read_kept(path: Path) -> bytes:
    """The content of a kept file, whose name ends with its own digest."""
    content = read_bytes(path, limit=MAX_BYTES)
    if hashlib.sha256(content).hexdigest() != path.stem.rpartition("-")[2]:
        raise DataError(f"{path} is damaged", next_step="delete it; it is made again")
    return content


def read_known(source: Path, sha256: str) -> bytes:
    """The bytes of a file that has this digest; any other is refused unopened."""
    content = read_bytes(source, limit=MAX_BYTES)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise DataError(
            f"{source} has the SHA-256 {found}, not {sha256}", next_step="copy it again from a source you trust"
        )
    return content


def _convert(source: Path, sha256: str) -> bytes:
    # Hashed and unpickled from the same bytes, so that the file cannot change in between.
    kept = safetensors.torch.save(_tensors(read_known(source, sha256), source))
    name = f"{sha256}-{hashlib.sha256(kept).hexdigest()}.safetensors"
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with written_whole(cache_folder() / name) as file:
            file.write(kept)
    except (OSError, Error) as error:
        raise Error(
            f"the converted weights cannot be kept ({error})",
            next_step="set DEEPBINARIES_CACHE to a folder that can be written",
        ) from error
    return kept


def _tensors(content: bytes, source: Path) -> dict[str, torch.Tensor]:
    try:
        state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise DataError(f"{source} holds no plain weights", next_step="save its state_dict alone") from error
    if not isinstance(state, dict) or not all(isinstance(tensor, torch.Tensor) for tensor in state.values()):
        raise DataError(f"{source} is no plain state dict", next_step="save its state_dict alone")
    return {str(name): tensor.contiguous() for name, tensor in state.items()}
