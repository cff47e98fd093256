"""S, who shares a label with whom: a matrix for a batch, the distinct label sets of a collection for all of it.

    S[p, q] = 1 when image p and sentence q share at least one label, else 0

Items with equal label sets have equal rows in S. A collection has far fewer label sets than items, so everything the
updates ask of S (a product, its mean, its eigenvectors) is computed between label sets, and N x N is never held.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from deepbinaries.errors import DataError

Centring = Literal["double", "mean"]

LinAlgError = torch.linalg.LinAlgError  # type: ignore[attr-defined]  # public, but not marked so

CPU_SIDE = 1024  # a decomposition up to this size is faster on the CPU: a GPU spends it on starting small kernels
MOST_WORKERS = 12  # decompositions at once; one of a batch of 512 takes 10 to 40 ms, a step on a GPU 3 to 12


def similarity(labels_a: Tensor, labels_b: Tensor) -> Tensor:
    """S between two lots of items, (n_a, n_b) of 0 and 1, on the device of the labels.

    Labels are an (n, L) matrix of booleans, or (n, words) integers whose bits are the labels, as in `Labels.masks().T`.

    >>> similarity(torch.tensor([[True, True, False]]), torch.tensor([[False, True, False], [False, False, True]]))
    tensor([[1., 0.]])
    >>> similarity(torch.tensor([[0b011]]), torch.tensor([[0b010], [0b100]]))
    tensor([[1., 0.]])
    """
    return (label_matrix(labels_a) @ label_matrix(labels_b).T > 0).float()


def label_matrix(labels: Tensor) -> Tensor:
    """Labels as an (n, L) matrix of 0 and 1 in float32; L is a multiple of the word for bit masks.

    >>> label_matrix(torch.tensor([[5]], dtype=torch.uint8))
    tensor([[1., 0., 1., 0., 0., 0., 0., 0.]])
    """
    if labels.ndim != 2 or labels.is_floating_point() or labels.is_complex():
        raise DataError(
            f"labels are rows of booleans or of integer masks, these are {labels.dtype} of shape {tuple(labels.shape)}",
            next_step="give Labels.matrix(), or Labels.masks() transposed",
        )
    if labels.dtype == torch.bool:
        return labels.float()
    width = torch.iinfo(labels.dtype).bits
    words = labels.view(torch.int64) if labels.dtype == torch.uint64 else labels.long()
    places = torch.arange(width, device=labels.device)
    return (words[:, :, None] >> places & 1).flatten(1).float()


@dataclass(frozen=True, eq=False)
class SetSimilarity:
    """S of n items through their distinct label sets: S[p, q] = between[of[p], of[q]].

    It stands where the matrix S does in an update: `S @ H`, `S.T @ B` and `S.mean()` mean the same.

    >>> S = by_label_set(torch.tensor([[True, False], [True, True], [True, False]]))
    >>> len(S.between), (S @ torch.tensor([[1.0], [1.0], [-1.0]])).tolist()
    (2, [[1.0], [1.0], [1.0]])
    """

    between: Tensor  # (sets, sets), symmetric
    of: Tensor  # (n,), the set that every item carries
    centring: Centring = "double"  # before eigenvectors are taken

    def __matmul__(self, X: Tensor) -> Tensor:
        """S X, (n, columns): the sums of X over every label set, then a product between sets."""
        sums = X.new_zeros(len(self.between), X.shape[1]).index_add_(0, self.of, X)
        return (self.between.to(X.dtype) @ sums)[self.of]

    @property
    def T(self) -> "SetSimilarity":  # noqa: N802  # as a matrix calls it
        return SetSimilarity(self.between.T, self.of, self.centring)

    def mean(self) -> Tensor:
        """The density: the mean of S over all pairs of items."""
        similar_to = self.between @ self.counts  # whole numbers of items; their products need more digits
        return (self.counts.double() @ similar_to.double() / len(self.of) ** 2).to(self.between.dtype)

    @cached_property
    def counts(self) -> Tensor:
        """How many items carry each set, (sets,)."""
        return torch.bincount(self.of, minlength=len(self.between)).to(self.between.dtype)

    @cached_property
    def spectrum(self) -> tuple[Tensor, Tensor]:
        """The positive eigenvalues of the centred S, largest first, and the eigenvectors, one row a set.

        `double` takes the means of rows and columns away: an item that is similar to many is then as far from all as
        the others. `mean` takes away the mean of S alone, and such items stay near to everything, as they are.
        With E (n, sets) saying who carries what and D = E'E the counts, E D^-1/2 has orthonormal columns, so
        S = E K E' has the eigenvalues of D^1/2 K D^1/2, and for its eigenvectors W those of S are E D^-1/2 W.
        """
        share = self.counts / len(self.of)
        means = self.between @ share
        K = self.between - share @ means
        if self.centring == "double":
            K = self.between - means[:, None] - means[None, :] + share @ means
        root = self.counts.sqrt()
        w, W = decompose(torch.linalg.eigh, root[:, None] * K * root[None, :])
        # Rounding makes eigenvalues of this size out of the zeros that equal rows of S have.
        noise = 10 * len(self.of) * torch.finfo(w.dtype).eps
        kept = int((w > noise).sum())
        return w.flip(0)[:kept], (W / root[:, None]).flip(1)[:, :kept]

    def embedding(self, bits: int, power: float = 0.5) -> Tensor:
        """P, (n, k): items as the k <= bits first eigenvectors, weighted by a power of their eigenvalues.

        With the root, P P' is the best such picture of S; lower powers give more room to what few labels tell apart.

        Its Frobenius norm is sqrt(n bits), as that of codes. The columns of zeros that would fill P up to
        `bits` are left out, since no rotation of them reaches a code. Where all are equally similar, k is 0.
        """
        w, vectors = (part[..., :bits] for part in self.spectrum)
        weights = w**power
        scale = (len(self.of) * bits / weights.square().sum()).sqrt()
        return (vectors * weights * scale)[self.of]

    def select(self, rows: Tensor) -> "SetSimilarity":
        """S between some of the items."""
        sets, of = torch.unique(self.of[rows], return_inverse=True)
        return SetSimilarity(self.between[sets[:, None], sets], of, self.centring)

    def centred(self, centring: Centring) -> "SetSimilarity":
        """The same under another centring."""
        return self if centring == self.centring else SetSimilarity(self.between, self.of, centring)


class LabelSimilarity:
    """S of items of which only some are ever asked for at once, as batches are: none of it is held.

    >>> S = LabelSimilarity(torch.tensor([[True, False], [True, True], [False, True]]))
    >>> S.select(torch.tensor([2, 0])).between.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, labels: Tensor, centring: Centring = "double"):
        self.sets, self.of = distinct(labels)  # once for all, so that little is left to do for a batch
        self.centring = centring

    def __len__(self) -> int:
        return len(self.of)

    def select(self, rows: Tensor) -> SetSimilarity:
        """S between some of the items."""
        kept, of = torch.unique(self.of[rows], return_inverse=True)
        return SetSimilarity(similarity(self.sets[kept], self.sets[kept]), of, self.centring)


def ahead(
    S: SetSimilarity | LabelSimilarity,
    batches: Iterable[Tensor],
    device: torch.device | str,
    *,
    bits: int,
    power: float = 0.5,
    workers: int | None = None,
) -> Iterator[tuple[SetSimilarity, Tensor]]:
    """S of every batch of rows in turn, and its P on the device, found by other threads while a GPU is busy.

    S lies and stays on the CPU, where an eigen-decomposition of this size is fastest. The small steps from there to P
    are taken by these threads too: each of them would keep those waiting who tell the GPU what to do. Two cores are
    left to these, unless the number of `workers` is given.
    """
    on_gpu = torch.device(device).type == "cuda"

    def found(rows: Tensor) -> tuple[SetSimilarity, Tensor]:
        of_batch = S.select(rows)
        P = of_batch.embedding(bits, power)
        return of_batch, P.pin_memory() if on_gpu else P  # pinned, a GPU takes it while the CPU goes on

    def there(of_batch: SetSimilarity, P: Tensor) -> tuple[SetSimilarity, Tensor]:
        return of_batch, P.to(device, non_blocking=on_gpu)

    workers = workers or max(1, min(MOST_WORKERS, (os.cpu_count() or 1) - 2))
    waiting: deque[Future[tuple[SetSimilarity, Tensor]]] = deque()
    # One core a worker: threads of torch that wait for each other in a loop would hold up everybody.
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    try:
        for rows in batches:
            waiting.append(pool.submit(found, rows))
            if len(waiting) > 2 * workers:  # nobody idles, and few wait in memory
                yield there(*waiting.popleft().result())
        while waiting:
            yield there(*waiting.popleft().result())
    finally:
        pool.shutdown(cancel_futures=True)


def by_label_set(labels: Tensor) -> SetSimilarity:
    """S of all items with themselves, through their distinct label sets; labels as in `similarity`."""
    sets, of = distinct(labels)
    return SetSimilarity(similarity(sets, sets), of)


def distinct(labels: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct label sets, as rows like those of the labels, and which one every item carries, (n,)."""
    sets, of = torch.unique(labels, dim=0, return_inverse=True)
    return sets, of


def by_row(S: Tensor) -> SetSimilarity:
    """The same S through its distinct rows, which are at most as many as there are label sets.

    >>> S = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    >>> len(by_row(S).between)
    2
    """
    _, of = torch.unique(row_keys(S), return_inverse=True)
    one_of_each = torch.empty(int(of.max()) + 1, dtype=of.dtype, device=of.device)
    one_of_each[of] = torch.arange(len(of), device=of.device)  # whichever item wins: their rows are equal
    return SetSimilarity(S[one_of_each[:, None], one_of_each], of)


def row_keys(rows: Tensor) -> Tensor:
    """One number a row, (n,), equal for equal rows of small integers and different for different ones.

    Random whole numbers are summed, small enough for float64 to be exact whatever the order of summation; two
    different rows of 512 numbers share a key with probability 2^-43.
    """
    rng = torch.Generator().manual_seed(0)
    numbers = torch.randint(2**52 // max(1, rows.shape[1]), (rows.shape[1],), generator=rng)
    return rows.double() @ numbers.double().to(rows.device)


def decompose(function: Callable[[Tensor], Any], matrix: Tensor) -> tuple[Tensor, ...]:
    """`eigh` or `svd` of a matrix, which comes back even where the first try does not converge."""
    home = matrix.cpu() if max(matrix.shape) <= CPU_SIDE else matrix
    try:
        found = function(home)
    except LinAlgError:
        exact = matrix.double().cpu()
        if not bool(exact.isfinite().all()):
            raise DataError(
                "the outputs of the networks are not finite", next_step="lower the learning rate, or look at the data"
            ) from None
        try:
            found = function(exact)
        except LinAlgError:
            noise = torch.randn(exact.shape, generator=torch.Generator().manual_seed(0), dtype=exact.dtype)
            found = function(exact + 1e-10 * exact.abs().max() * noise)
    return tuple(part.to(matrix) for part in found)
