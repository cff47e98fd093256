"""Checkpoints: networks, optimiser and objective after a whole epoch, in one file that is whole or absent."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from deepbinaries.errors import DataError
from deepbinaries.features.inputs import Pairs
from deepbinaries.features.region_array import RegionArray
from deepbinaries.files import written_whole

NAME = "checkpoint.safetensors"
BLOCK = 1024  # rows looked at together


@dataclass
class Run:
    """How far a training has come."""

    epoch: int = 0  # whole epochs done
    best: float = float("-inf")  # the best validation so far
    since: int = 0  # epochs since then
    best_towers: dict[str, Tensor] = field(default_factory=dict)  # as they were then

    def note(self, score: float, towers: nn.Module) -> None:
        """Remember a validation score, and the networks where it is the best."""
        self.since += 1
        if score > self.best:
            self.best, self.since = score, 0
            self.best_towers = {name: tensor.detach().clone() for name, tensor in towers.state_dict().items()}


def make_basis(settings: Any, *parts: Pairs | None) -> dict[str, Any]:
    """What a training rests on, so that a checkpoint is taken up by this one alone: settings, and pairs by digest."""
    basis = {"settings": dataclasses.asdict(settings), "pairs": [_facts_of(part) for part in parts if part is not None]}
    plain: dict[str, Any] = json.loads(json.dumps(basis))  # as it is read back
    return plain


def _facts_of(pairs: Pairs) -> dict[str, Any]:
    """Which pairs these are. Pictures on disk count by the checksums of their shards: reading them takes minutes."""
    texts, labels, regions = pairs.texts, pairs.labels, pairs.images.regions
    facts: dict[str, Any] = {"n_items": len(pairs), "regions": regions.shape}
    if texts.features is not None:
        facts["text_features"] = _digest(texts.features)
    facts |= {"texts": _digest(texts.tokens), "labels": _digest(labels.offsets, labels.columns)}
    known = regions.identity if isinstance(regions, RegionArray) else None
    return facts | {"pictures": known or _digest(regions)}


def _digest(*arrays: NDArray[Any] | RegionArray) -> str:
    """SHA-256 over the numbers, their type and shape; looked at in blocks, since they may be on disk."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        for start in range(0, len(array), BLOCK):
            digest.update(np.ascontiguousarray(array[start : start + BLOCK]).data)
    return digest.hexdigest()


def save_checkpoint(
    folder: Path | None,
    towers: nn.Module,
    optimiser: torch.optim.Optimizer,
    objective: Any,
    basis: dict[str, Any],
    run: Run,
) -> None:
    """Write the state after a whole epoch."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    tensors = _prefixed("towers", towers.state_dict()) | _prefixed("objective", objective.state())
    tensors |= _prefixed("best", run.best_towers)
    for place, of_parameter in optimiser.state_dict()["state"].items():
        tensors |= _prefixed(f"optimiser.{place}", of_parameter)
    facts = {"epoch": run.epoch, "best": run.best, "since": run.since} | basis
    with written_whole(folder / NAME) as file:
        file.write(save(tensors, metadata={"facts": json.dumps(facts)}))


def drop_checkpoint(folder: Path | None) -> None:
    """Remove what a training that ran away has kept: taken up again, it would only run away again."""
    if folder is not None:
        (folder / NAME).unlink(missing_ok=True)


def load_checkpoint(
    folder: Path | None, towers: nn.Module, optimiser: torch.optim.Optimizer, objective: Any, basis: dict[str, Any]
) -> Run:
    """Restore the last whole epoch, where there is one."""
    if folder is None or not (folder / NAME).exists():
        return Run()
    path = folder / NAME
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {}).get("facts", "{}"))
            # Copies: the file's own tensors lie in it, and would keep its disk space after the next checkpoint.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 - it is no dict
    except (SafetensorError, ValueError, OSError) as error:
        raise DataError(
            f"{path} is not a whole checkpoint ({error})", next_step="remove it to train from the start"
        ) from error
    for what, value in basis.items():
        if facts.get(what) != value:
            raise DataError(
                f"{path} was made with other {what}", next_step=f"remove it, or train with the {what} it was made with"
            )
    try:
        _restore(tensors, towers, optimiser, objective)
        return Run(int(facts["epoch"]), float(facts["best"]), int(facts["since"]), _without("best", tensors))
    except (KeyError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(
            f"{path} does not fit these networks ({reason})", next_step="remove it to train from the start"
        ) from error


def _restore(tensors: dict[str, Tensor], towers: nn.Module, optimiser: torch.optim.Optimizer, objective: Any) -> None:
    """Put everything back where `save_checkpoint` took it from."""
    towers.load_state_dict(_without("towers", tensors))
    objective.restore(_without("objective", tensors))
    state = optimiser.state_dict()
    places = {name.split(".")[1] for name in tensors if name.startswith("optimiser.")}
    state["state"] = {int(place): _without(f"optimiser.{place}", tensors) for place in places}
    optimiser.load_state_dict(state)


def _prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}.{name}": tensor.detach().contiguous() for name, tensor in tensors.items()}


def _without(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(f"{prefix}."): tensor for name, tensor in tensors.items() if name.startswith(f"{prefix}.")
    }
