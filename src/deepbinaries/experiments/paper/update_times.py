"""The seconds that one update of the codes takes; outputs of networks are drawn, labels are real."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deepbinaries.hashers.code_learning import by_label_set, make_update, similarity, start_all, update_all
from deepbinaries.hashers.training import choose_device
from deepbinaries.hashers.updates import CodeBatch


def measure(
    update: str, eta: float, labels: NDArray[np.bool_], *, bits: int, batch: int, repeats: int, device: str
) -> dict[str, Any]:
    """`seconds` of a batch, of the whole set (the first time, and from then on), and of codes by labels alone.

    Labels are (items, labels). Of what is done repeatedly the median counts.
    """
    there = choose_device(device)
    rule, rng = make_update(update), np.random.default_rng(0)
    L = torch.from_numpy(labels).to(there)
    F, G = (torch.from_numpy(rng.standard_normal((len(L), bits)).astype(np.float32)).to(there) for _ in range(2))
    B, H = F.sign(), G.sign()

    def of_batch() -> Any:
        S = similarity(L[:batch], L[:batch])
        return rule(CodeBatch(B=B[:batch], H=H[:batch], F=F[:batch], G=G[:batch], S=S, eta=eta))

    of_batch()  # the first one of a process pays for much that no later one does
    found = {"batch": statistics.median(_seconds(of_batch, there) for _ in range(repeats))}
    # A training finds out once who is similar to whom, and keeps it.
    sets, preparing = _timed(lambda: by_label_set(L).centred(getattr(rule, "centring", "double")), there)

    def of_all() -> tuple[Tensor, Tensor]:
        return update_all(rule, sets, B, H, F, G, eta)

    found["first"] = preparing + _seconds(of_all, there)
    found["again"] = statistics.median(_seconds(of_all, there) for _ in range(repeats))
    found["start"] = _seconds(lambda: start_all(rule, L, bits, rng), there)
    return {"seconds": {name: float(f"{value:.4g}") for name, value in found.items()}, "label_sets": len(sets.between)}


def _seconds(work: Callable[[], Any], device: torch.device) -> float:
    return _timed(work, device)[1]


def _timed(work: Callable[[], Any], device: torch.device) -> tuple[Any, float]:
    """What the work gives, and the seconds until a GPU is done with it."""
    began = time.perf_counter()
    found = work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return found, time.perf_counter() - began
