"""The seconds that one update of the codes takes; outputs of networks are drawn, labels are real."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deepbinaries.hashers.code_learning import (
    SetSimilarity,
    by_label_set,
    make_update,
    similarity,
    start_all,
    update_all,
)
from deepbinaries.hashers.training import choose_device
from deepbinaries.hashers.updates import CodeBatch


def measure(
    update: str,
    eta: float,
    labels: NDArray[np.bool_],
    *,
    bits: int,
    batch: int,
    repeats: int,
    lasting: float,
    device: str,
) -> dict[str, Any]:
    """`seconds` of a batch, of the whole set (the first time, and from then on), and of codes by labels alone.

    Labels are (items, labels). Each is done so many times, or more until they have lasted so many seconds, and the
    least counts: what else a machine does can only add to a time, and the first one of a process pays for much that no
    later one does.
    """
    there = choose_device(device)
    rule, rng = make_update(update), np.random.default_rng(0)
    L = torch.from_numpy(labels).to(there)
    F, G = (torch.from_numpy(rng.standard_normal((len(L), bits)).astype(np.float32)).to(there) for _ in range(2))
    B, H = F.sign(), G.sign()

    def of_batch() -> Any:
        S = similarity(L[:batch], L[:batch])
        return rule(CodeBatch(B=B[:batch], H=H[:batch], F=F[:batch], G=G[:batch], S=S, eta=eta))

    def similar() -> SetSimilarity:
        return by_label_set(L).centred(getattr(rule, "centring", "double"))

    known = similar()  # a training finds out once who is similar to whom, and keeps it

    def of_all(sets: SetSimilarity) -> tuple[Tensor, Tensor]:
        return update_all(rule, sets, B, H, F, G, eta)

    timed: dict[str, Callable[[], Any]] = {
        "batch": of_batch,
        "first": lambda: of_all(similar()),
        "again": lambda: of_all(known),
        "start": lambda: start_all(rule, L, bits, np.random.default_rng(0)),
    }
    seconds = {what: float(f"{least(work, there, repeats, lasting):.4g}") for what, work in timed.items()}
    return {"seconds": seconds, "label_sets": len(known.between)}


def least(work: Callable[[], Any], device: torch.device, repeats: int, lasting: float) -> float:
    """The least seconds of so many repeats, and of more until they have lasted."""
    found: list[float] = []
    while len(found) < repeats or sum(found) < lasting:
        found.append(_seconds(work, device))
    return min(found)


def _seconds(work: Callable[[], Any], device: torch.device) -> float:
    """The seconds until a GPU is done with it."""
    began = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - began
