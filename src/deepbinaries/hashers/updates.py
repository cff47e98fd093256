"""The updates: new target codes from labels and network outputs, each with its equation, in the paper's letters.

Items are rows. B (codes of images), H (codes of sentences), F = f(X) and G = g(Y) (network outputs, detached) are
(n, M), M being the bits; S is (n, n), 1 where image p and sentence q share a label. An update takes S as a matrix
or as `SetSimilarity`, so that the same lines serve a batch and a whole training set.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from deepbinaries.errors import UsageError
from deepbinaries.hashers.rotations import rotation
from deepbinaries.hashers.similarity import Centring, SetSimilarity, by_row


def sign(x: Tensor) -> Tensor:
    """Map reals to -1 and +1. Zero counts as +1, so that no bit is left undefined.

    >>> sign(torch.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.,  1.,  1.])
    """
    return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)


def sign_or_keep(x: Tensor, old: Tensor) -> Tensor:
    """The sign of x, and the old bit where x is exactly zero: sums of an even number of bits often are.

    >>> sign_or_keep(torch.tensor([-2.0, 0.0, 0.0]), torch.tensor([1.0, 1.0, -1.0]))
    tensor([-1.,  1., -1.])
    """
    return torch.where(x > 0, 1.0, torch.where(x < 0, -1.0, old))


@dataclass(frozen=True, eq=False)
class CodeBatch:
    """What an update is given: the codes of some items, the outputs for them, who is similar, and eta."""

    B: Tensor
    H: Tensor
    F: Tensor
    G: Tensor
    S: Tensor | SetSimilarity
    eta: float
    P: Tensor | None = None  # all that `spectral` and `relaxed` read of S, where it was found beforehand


# The new B and H, what the networks shall learn; it never changes what it is given.
Update = Callable[[CodeBatch], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Printed:
    """The paper's update; on overlapping labels it ends in one code for all items.

    B <- sign(2 eta F + S H)
    H <- sign(2 eta G + S' B)

    The paper prints the product in B as S H', whose shapes do not fit; with items as rows both lines agree.
    """

    def __call__(self, batch: CodeBatch) -> tuple[Tensor, Tensor]:
        S, eta = batch.S, batch.eta
        B = sign_or_keep(2 * eta * batch.F + S @ batch.H, batch.B)
        H = sign_or_keep(2 * eta * batch.G + S.T @ B, batch.H)
        return B, H


@dataclass(frozen=True)
class Centred:
    """The paper's update with S - mean(S), for which a constant bit is worth nothing.

    B <- sign(2 eta F + (S - s) H),    s = mean(S)
    H <- sign(2 eta G + (S - s)' B)
    """

    def __call__(self, batch: CodeBatch) -> tuple[Tensor, Tensor]:
        S, s, eta = batch.S, batch.S.mean(), batch.eta
        B = sign_or_keep(2 * eta * batch.F + S @ batch.H - s * batch.H.sum(0), batch.B)
        H = sign_or_keep(2 * eta * batch.G + S.T @ B - s * B.sum(0), batch.H)
        return B, H


@dataclass(frozen=True)
class Gram:
    """Bits that share the work: inner products of codes follow the standardised similarity T.

    T = r (S - s) / sqrt(s (1 - s)),    s = mean(S)
    J = ||B H' - M T||^2 - 2 eta trace(B'F) - 2 eta trace(H'G)

    With Q = M T H + eta F and C = H'H, and then with Q = M T'B + eta G and C = B'B for H, every bit in turn takes
    its exact minimiser, so J never rises:

    b_m <- sign(Q_m - sum over l != m of C_ml b_l)

    A batch whose pairs are all similar, or all dissimilar, leaves the codes as they are. Bits cannot be updated at
    once (that oscillates into two codes), so a GPU has 2 M short steps to go through.
    """

    r: float | None = None  # standard deviation of the wished inner products over M; None: `target_deviation`

    def __post_init__(self) -> None:
        if self.r is not None and not 0 < self.r <= 1:
            raise UsageError(f"r={self.r} is outside 0..1", next_step="leave it out: it follows from the bits")

    def __call__(self, batch: CodeBatch) -> tuple[Tensor, Tensor]:
        B, H, S, eta = batch.B, batch.H, batch.S, batch.eta
        M, s = B.shape[1], S.mean()
        variance = s * (1 - s)
        usable = variance > 0  # asked of the codes at the end, not here: a GPU's answer would have to be waited for
        scale = M * (self.r or target_deviation(M)) / torch.where(usable, variance, 1.0).sqrt()
        B = torch.where(usable, sweep(B, H, scale * (S @ H - s * H.sum(0)) + eta * batch.F), B)
        H = torch.where(usable, sweep(H, B, scale * (S.T @ B - s * B.sum(0)) + eta * batch.G), H)
        return B, H


def target_deviation(bits: int) -> float:
    """r = max(0.3, 1.5 / sqrt(M)): random codes have 1 / sqrt(M), and below it the penalty of J wins over T.

    >>> target_deviation(16), target_deviation(64)
    (0.375, 0.3)
    """
    return max(0.3, 1.5 / math.sqrt(bits))


def sweep(B: Tensor, H: Tensor, Q: Tensor) -> Tensor:
    """B after one pass over its bits, each set to the exact minimiser of J while the others stand still.

    Bits are 0 and 1 on the way, so that one operation takes the sign and keeps a tie: with b = 2 x - 1,
    Q_m - sum of C_ml b_l is Q_m + sum of C_ml - 2 sum of C_ml x_l.
    """
    C = (H.T @ H).fill_diagonal_(0)
    Q = (Q + C.sum(1)).T.contiguous()
    bits = (B.T > 0).to(B.dtype).contiguous()  # (M, n): the values of one bit lie together
    for bit, Q_m, C_m in zip(*(torch.split(rows, 1) for rows in (bits, Q, C)), strict=True):
        torch.heaviside(torch.addmm(Q_m, C_m, bits, alpha=-2), bit, out=bit)
    return (2 * bits - 1).T.contiguous()


@dataclass(frozen=True)
class Projection:
    """Fixed targets: a random projection of the centred labels, cut at the median of every bit.

    B = H = sign(x - median(x)),    x = (L - mean(L)) W,    W normal, L the labels

    `start_all` sets them; a batch leaves them as they are.
    """

    def __call__(self, batch: CodeBatch) -> tuple[Tensor, Tensor]:
        return batch.B, batch.H


@dataclass(frozen=True)
class Spectral:
    """The relaxed problem "trace with decorrelated bits" solved exactly, turned towards the networks and rounded.

    P = U diag(sqrt(max(w, 0))), the M largest eigenpairs (w, U) of the double-centred S; ||P|| = sqrt(n M)
    R = argmin over orthogonal R of ||P R - (F + G) / 2|| = U V',    U diag V' = svd of P'(F + G) / 2
    Z = P R
    B <- sign(Z + eta F)
    H <- sign(Z + eta G)

    The old codes are read where a value is exactly zero only: the alternation runs through F and G. P follows from
    the labels alone, so it may be found beforehand (see `ahead`). A batch whose pairs are all similar, or all
    dissimilar, leaves the codes as they are.
    """

    centring: ClassVar[Centring] = "double"
    power: ClassVar[float] = 0.5  # of the eigenvalues

    def __call__(self, batch: CodeBatch) -> tuple[Tensor, Tensor]:
        F, G, eta = batch.F, batch.G, batch.eta
        P = embedding(batch, self.centring, self.power)
        if not P.shape[1]:
            return batch.B, batch.H
        Z = P @ rotation(P, (F + G) / 2)
        return sign_or_keep(Z + eta * F, batch.B), sign_or_keep(Z + eta * G, batch.H)


@dataclass(frozen=True)
class Relaxed:
    """The networks learn real values, turned so that taking their signs loses least; the signs are the codes.

    P = U diag(w^p), the M largest eigenpairs (w, U) of S - mean(S), w > 0, p = 3/8; ||P|| = sqrt(n M)
    R = argmin over orthogonal R of ||P R - sign(F + G)|| = U V',    U diag V' = svd of P' sign(F + G)
    B = H <- P R

    A network that learns signs of labels' embeddings learns E[sign]; what ranks well is sign(E), so rounding waits
    until the codes are used. S keeps its row means, which the double centring of `spectral` loses: a picture with many
    labels is relevant to more queries. This is iterative quantisation (Gong and Lazebnik, 2011) of the labels, with
    the networks in the loop. p was chosen on validation parts: the root suits labels of like frequency, lower powers
    those where one label is everywhere. A batch whose pairs are all similar leaves the targets as they are.
    """

    power: float = 0.375

    centring: ClassVar[Centring] = "mean"

    def __post_init__(self) -> None:
        if not 0 <= self.power <= 1:
            raise UsageError(f"power={self.power} is outside 0..1", next_step="0.375 is a good start")

    def __call__(self, batch: CodeBatch) -> tuple[Tensor, Tensor]:
        F, G = batch.F, batch.G
        P = embedding(batch, self.centring, self.power)
        if not P.shape[1]:
            return batch.B, batch.H
        Z = P @ rotation(P, sign(F + G))
        return Z, Z.clone()


def embedding(batch: CodeBatch, centring: Centring, power: float) -> Tensor:
    """P of a batch, found now unless it was found beforehand."""
    if batch.P is not None:
        return batch.P
    sets = batch.S if isinstance(batch.S, SetSimilarity) else by_row(batch.S)
    return sets.centred(centring).embedding(batch.F.shape[1], power).to(batch.F)
