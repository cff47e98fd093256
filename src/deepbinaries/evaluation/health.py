"""The health of codes: are the bits used, balanced, independent, and do codes tell items apart?"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes, rowwise_distances
from deepbinaries.errors import UsageError

ENOUGH = 10  # items; bits of fewer agree by chance, so nothing is said about them
BLOCK = 2**16  # items at once; sums of so many zeros and ones are exact in float32

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Health:
    """What the codes of one side look like."""

    items: int
    bits: int
    constant_bits: int  # bits with one value on all items
    mean_imbalance: float  # mean over bits of |2p - 1|, p being the share of ones
    worst_imbalance: float
    mean_correlation: float  # absolute, between different bits that vary; NaN when fewer than two do
    max_correlation: float
    effective_rank: float  # exp(entropy of the covariance's normalised eigenvalues); 0 when no bit varies
    distinct_codes: int
    unique_share: float  # share of items whose code no other item has
    collision: float  # probability that two items, drawn with replacement, have one code

    def warnings(self) -> list[str]:
        """What makes a score of these codes meaningless, as sentences."""
        found: list[str] = []
        if self.items < ENOUGH:
            return found
        if self.constant_bits > self.bits / 2:
            found.append(f"{self.constant_bits} of {self.bits} bits are the same for every item: the codes collapsed")
        if self.effective_rank < 2:
            found.append(
                f"the effective rank is {self.effective_rank:.2f}: {self.bits} bits say no more than one or two would"
            )
        return found

    def notes(self) -> list[str]:
        """What a reader should know, as sentences."""
        found: list[str] = []
        if self.items < ENOUGH:
            return found
        if 0 < self.constant_bits <= self.bits / 2:
            found.append(f"{self.constant_bits} of {self.bits} bits are the same for every item")
        if self.worst_imbalance > 0.9:
            found.append(f"the least balanced bit is one-sided by {self.worst_imbalance:.2f} (0 is even, 1 constant)")
        if self.max_correlation > 0.95:
            found.append(f"two bits repeat each other (correlation {self.max_correlation:.2f})")
        if self.unique_share < 0.1:
            found.append(f"only {self.unique_share:.1%} of the items have a code of their own")
        # As many different codes as there are items still collide with themselves: 1 / items is the floor.
        if self.collision > 10 * max(2.0**-self.effective_rank, 1 / self.items):
            found.append(f"two random items have the same code with probability {self.collision:.2g}")
        return found

    def to_json(self) -> dict[str, Any]:
        """Every quantity by its name; None where it is undefined."""
        return {name: None if math.isnan(value) else value for name, value in asdict(self).items()}


def health(codes: Codes) -> Health:
    """The health of codes.

    >>> report = health(Codes.from_bits([[0, 0], [0, 1], [0, 0], [0, 1]]))
    >>> report.constant_bits, report.distinct_codes, report.unique_share, report.collision
    (1, 2, 0.0, 0.5)
    """
    if not len(codes):
        raise UsageError("there are no codes to look at", next_step="encode at least one item")
    ones, both = _ones_and_pairs(codes)
    n = len(codes)
    p = ones / n
    covariance = both / n - np.outer(p, p)
    imbalance = abs(2 * p - 1)
    constant = (ones == 0) | (ones == n)
    correlations = _correlations(covariance[np.ix_(~constant, ~constant)])
    counts = np.unique(np.ascontiguousarray(codes.packed).view(f"V{codes.packed.shape[1]}"), return_counts=True)[1]
    return Health(
        items=n,
        bits=codes.bits,
        constant_bits=int(constant.sum()),
        mean_imbalance=float(imbalance.mean()),
        worst_imbalance=float(imbalance.max()),
        mean_correlation=float(correlations.mean()) if correlations.size else float("nan"),
        max_correlation=float(correlations.max()) if correlations.size else float("nan"),
        effective_rank=_effective_rank(covariance),
        distinct_codes=len(counts),
        unique_share=float(np.count_nonzero(counts == 1) / n),
        collision=float(((counts / n) ** 2).sum()),
    )


def agreement(images: Codes, texts: Codes) -> float:
    """How many bits nearer true pairs are than other pairs, as a negative number of bits; row i belongs to row i.

    The mean distance of all pairs of different items follows from the share of ones of every bit.

    >>> images = texts = Codes.from_bits([[0, 0], [1, 1]])
    >>> agreement(images, texts)
    -2.0
    """
    of_pairs = rowwise_distances(images, texts)
    n = len(of_pairs)
    if n < 2:
        return float("nan")
    ones, ones_of_texts = images.to_bits().sum(axis=0, dtype=np.int64), texts.to_bits().sum(axis=0, dtype=np.int64)
    all_pairs = int((ones * (n - ones_of_texts) + (n - ones) * ones_of_texts).sum())
    true_pairs = int(of_pairs.sum())
    return true_pairs / n - (all_pairs - true_pairs) / (n * (n - 1))


def _ones_and_pairs(codes: Codes) -> tuple[Floats, Floats]:
    """How many items have each bit set, (bits,), and each pair of bits, (bits, bits)."""
    ones, both = np.zeros(codes.bits), np.zeros((codes.bits, codes.bits))
    for start in range(0, len(codes), BLOCK):
        bits = codes[start : start + BLOCK].to_bits().astype(np.float32)
        ones += bits.sum(axis=0)
        both += bits.T @ bits
    return ones, both


def _correlations(covariance: Floats) -> Floats:
    """The absolute correlations of different bits, each pair once."""
    deviations = np.sqrt(np.diag(covariance))
    above = np.triu_indices(len(covariance), k=1)
    correlations: Floats = covariance / np.outer(deviations, deviations)
    return abs(correlations[above])


def _effective_rank(covariance: Floats) -> float:
    eigenvalues = np.maximum(np.linalg.eigvalsh(covariance), 0)
    total = eigenvalues.sum()
    if total <= 1e-12:
        return 0.0
    share = eigenvalues[eigenvalues > 0] / total
    return float(np.exp(-(share * np.log(share)).sum()))
