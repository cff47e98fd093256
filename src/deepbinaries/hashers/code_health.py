"""The health of the codes of a batch while they are learned: cheap figures, and a warning when they collapse."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from deepbinaries.hashers.similarity import decompose, row_keys

CONSTANT = 0.98  # a bit whose mean is beyond this tells nothing apart
ENOUGH = 10  # items; bits of fewer agree by chance, so nothing is said about them
SAMPLE = 4096  # items whose codes are looked at


@dataclass(frozen=True)
class CodeHealth:
    """Whether the bits of some codes are used and differ."""

    constant_share: float  # share of bits with |mean| > 0.98
    distinct_codes: int
    effective_rank: float  # exp(entropy of the covariance's normalised eigenvalues); 0 when no bit varies
    items: int

    @classmethod
    def of(cls, codes: Tensor) -> "CodeHealth":
        """The health of (n, bits) codes of -1 and +1.

        >>> CodeHealth.of(torch.tensor([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0]]))
        CodeHealth(constant_share=0.5, distinct_codes=2, effective_rank=1.0, items=4)
        """
        means = codes.mean(0)
        return cls(
            constant_share=float((means.abs() > CONSTANT).float().mean()),
            distinct_codes=len(torch.unique(row_keys(codes))),
            effective_rank=_effective_rank(codes - means),
            items=len(codes),
        )

    def collapse_warning(self, name: str = "codes") -> str | None:
        """What makes these codes useless, as a sentence that calls them so; None while they are well."""
        if self.items < ENOUGH:
            return None
        if self.constant_share > 0.5:
            return f"{self.constant_share:.0%} of the bits are the same for every item of a batch: the {name} collapse"
        if self.effective_rank < 2:
            return f"the effective rank of the {name} fell to {self.effective_rank:.2f}: all bits say the same"
        return None


def health_figures(codes: Tensor, outputs: Mapping[str, Tensor] = MappingProxyType({})) -> dict[str, Any]:
    """The health of the first of some codes as figures for a log, with a warning when they collapse.

    `outputs` are the codes that networks give, by what they are of: of all that collapse, the worst is warned of.

    >>> health_figures(torch.ones(20, 4))["warning"]
    '100% of the bits are the same for every item of a batch: the codes collapse'
    """
    health = {"codes": CodeHealth.of(codes[:SAMPLE])}
    health |= {f"codes of {of}": CodeHealth.of(signs[:SAMPLE]) for of, signs in outputs.items()}
    figures = {f"codes_{name}": value for name, value in asdict(health["codes"]).items()}
    worst_first = sorted(health.items(), key=lambda item: item[1].effective_rank)
    warnings = [text for name, found in worst_first if (text := found.collapse_warning(name))]
    return figures | ({"warning": warnings[0]} if warnings else {})


def _effective_rank(centred: Tensor) -> float:
    w, _ = decompose(torch.linalg.eigh, centred.T @ centred)
    w = w.clamp(min=0).double()
    if float(w.sum()) < 1e-6 * len(centred):
        return 0.0
    return float(torch.exp(torch.special.entr(w / w.sum()).sum()))
