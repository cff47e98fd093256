"""Code learning: the target codes of a batch, or of the whole training set, in turn with the networks.

Paper: Shen, Liu, Shao, Song, "Deep Binaries: Encoding Semantic-Rich Cues for Efficient Textual-Visual Cross
Retrieval", ICCV 2017: "Updating B", "Updating H" and Algorithm 1. With items as rows,

    min over B, H, f, g:  -trace(B' S H) + eta (||B - F||^2 + ||H - G||^2),    B, H in {-1, +1}

| update       | what it does                                          | on labels that overlap             |
| ------------ | ----------------------------------------------------- | ---------------------------------- |
| `printed`    | the paper's two lines                                 | collapses: one code for everything |
| `centred`    | the same with S - mean(S)                             | all bits seek the same row         |
| `gram`       | bits coupled by ||B H' - M T||^2, one after another   | works                              |
| `projection` | fixed targets from the labels alone                   | works; a control                   |
| `spectral`   | eigenvectors of S rotated onto the outputs, rounded   | works                              |
| `relaxed`    | eigenvectors of S rotated towards signs, not rounded  | works; the default                 |

Differs from the paper in: an exact zero keeps the previous bit (the paper leaves the sign of zero open), and every
update but `printed` is ours. The equations are in `updates`, who is similar to whom in `similarity`, when codes are
updated in `routines`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepbinaries.errors import unknown_name
from deepbinaries.hashers.code_health import CodeHealth
from deepbinaries.hashers.routines import ROUTINES, Routine
from deepbinaries.hashers.similarity import SetSimilarity, by_label_set, distinct, label_matrix, similarity
from deepbinaries.hashers.updates import (
    Centred,
    CodeBatch,
    Gram,
    Printed,
    Projection,
    Relaxed,
    Spectral,
    Update,
    sign,
    sign_or_keep,
)
from deepbinaries.registry import check_settings

MOST_PASSES = 20  # over the whole set, to set the codes of routine N

UPDATES: Mapping[str, type[Printed | Centred | Gram | Projection | Spectral | Relaxed]] = {
    "printed": Printed,
    "centred": Centred,
    "gram": Gram,
    "projection": Projection,
    "spectral": Spectral,
    "relaxed": Relaxed,
}


def make_update(name: str, **settings: Any) -> Update:
    """The update of a name.

    >>> make_update("gram", r=0.4)
    Gram(r=0.4)
    """
    if name not in UPDATES:
        raise unknown_name("update", name, UPDATES)
    check_settings(UPDATES[name], settings, of=f"the update {name!r}")
    return UPDATES[name](**settings)


def update_all(
    update: Update, labels: Tensor | SetSimilarity, B: Tensor, H: Tensor, F: Tensor, G: Tensor, eta: float
) -> tuple[Tensor, Tensor]:
    """The new codes of a whole training set (routines E1 and E2), over its distinct label sets.

    Whoever calls it again and again gives `by_label_set(labels)`, which keeps what it has computed.
    """
    S = labels if isinstance(labels, SetSimilarity) else by_label_set(labels)
    return update(CodeBatch(B=B, H=H, F=F, G=G, S=S, eta=eta))


def start_all(update: Update, labels: Tensor, bits: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """The codes of a whole training set by its labels alone: those of routine N, and the targets of `projection`.

    >>> labels = torch.tensor([[True, False], [False, True], [True, False]])
    >>> B, H = start_all(make_update("projection"), labels, 4, np.random.default_rng(0))
    >>> bool((B == H).all()), bool((B[0] == B[2]).all()), bool((B[0] == -B[1]).all())
    (True, True, True)
    """
    match update:
        case Projection():
            codes = _projected(labels, bits, rng)
            return codes, codes.clone()
        case Spectral() if (P := by_label_set(labels).embedding(bits)).shape[1]:
            codes = sign(P @ _random_rotation(P.shape[1], bits, rng).to(P))
            return codes, codes.clone()
        case Relaxed(power) if (P := by_label_set(labels).centred("mean").embedding(bits, power)).shape[1]:
            values = P @ _random_rotation(P.shape[1], bits, rng).to(P)
            return values, values.clone()
        case _:
            return _repeated(update, labels, bits, rng)


def _random_rotation(rows: int, bits: int, rng: np.random.Generator) -> Tensor:
    R, _ = np.linalg.qr(rng.standard_normal((bits, bits)))
    return torch.from_numpy(R[:rows])


def _repeated(update: Update, labels: Tensor, bits: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Codes from random ones by one pass after another, without networks, until nothing changes.

    A bit changes only where that improves the objective, so codes at rest are an objective at rest.
    """
    drawn = rng.choice([-1.0, 1.0], (2, len(labels), bits)).astype(np.float32)
    B, H = torch.from_numpy(drawn).to(labels.device)
    batch = CodeBatch(B=B, H=H, F=torch.zeros_like(B), G=torch.zeros_like(H), S=by_label_set(labels), eta=0.0)
    for _ in range(MOST_PASSES):
        B, H = update(batch)
        if torch.equal(B, batch.B) and torch.equal(H, batch.H):
            break
        batch = replace(batch, B=B, H=H)
    return B, H


def _projected(labels: Tensor, bits: int, rng: np.random.Generator) -> Tensor:
    sets, of = distinct(labels)
    L = label_matrix(sets)
    W = torch.from_numpy(rng.standard_normal((L.shape[1], bits))).to(L)
    x = ((L - L[of].mean(0)) @ W)[of]  # projected by set: equal labels are equal to the last digit
    median = x.sort(dim=0).values[(len(x) - 1) // 2]
    # Many items sit on the median, having the same labels; they go where the bit becomes more even.
    above, at_least = x > median, x >= median
    uneven = [(2 * side.float().mean(0) - 1).abs() for side in (above, at_least)]
    return torch.where(torch.where(uneven[0] < uneven[1], above, at_least), 1.0, -1.0)


__all__ = [
    "ROUTINES",
    "UPDATES",
    "CodeBatch",
    "CodeHealth",
    "Routine",
    "SetSimilarity",
    "Update",
    "by_label_set",
    "make_update",
    "sign",
    "sign_or_keep",
    "similarity",
    "start_all",
    "update_all",
]
