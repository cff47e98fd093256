"""The nearest rotation: which orthonormal matrix brings one set of rows nearest to another, on a CPU and on a GPU."""

import threading
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from deepbinaries.hashers.similarity import decompose
from deepbinaries.recordings import Recording, record


def rotation(P: Tensor, towards: Tensor) -> Tensor:
    """R, (k, M) with orthonormal rows, that brings P R, P being (n, k), nearest to values of (n, M)."""
    A = P.T @ towards
    if A.is_cuda:
        return _played(A)  # a GPU's svd is slower, may fail to converge, and makes the CPU wait for it
    U, _, V = decompose(lambda matrix: torch.linalg.svd(matrix, full_matrices=False), A)
    return U @ V


def polar_factor(A: Tensor) -> Tensor:
    """U V' of the svd U diag V' of A, (k, M), by products alone: odd polynomials that drive singular values to 1.

    The first steep ones lift what is above 1e-7 of the norm to between 0.7 and 1.21; the last ones converge.

    >>> polar_factor(torch.tensor([[0.0, 300.0], [-0.01, 0.0]])).round(decimals=5).tolist()
    [[0.0, 1.0], [-1.0, 0.0]]
    """
    X: Tensor = A / A.norm().clamp(min=torch.finfo(A.dtype).tiny)
    for a, b, c in [(3.4, -4.6, 1.95)] * 13 + [(1.875, -1.25, 0.375)] * 4:
        G = X @ X.T
        X = torch.addmm(X, torch.addmm(G, G, G, beta=b, alpha=c), X, beta=a)  # a X + b X X'X + c X X'X X'X
    return X


def filled_up(A: Tensor) -> Tensor:
    """A, (k, M), with rows of zeros up to (M, M): they stay zeros in the polar factor and change nothing in the others.

    >>> polar_factor(filled_up(torch.tensor([[0.0, 300.0]]))).round(decimals=5).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return functional.pad(A, (0, 0, 0, A.shape[1] - A.shape[0]))


def _played(A: Tensor) -> Tensor:
    """The polar factor of A, (k, M) with k <= M, on a GPU: fifty small products, launched as one.

    Batches differ in k; filled up, all of them have the shape of one recording. Threads have recordings of their own.
    """
    square = filled_up(A)
    recordings: dict[Any, Recording] = _of_thread.__dict__
    key = str((square.shape, square.dtype, square.device))
    if key not in recordings:
        recordings[key] = record(polar_factor, square)
    return recordings[key](square)[: len(A)]


_of_thread = threading.local()
