"""How a network is run on a GPU beside threads that decode and resize: by one thread, and as a recording.

Both are about waiting. A GPU's library finds out anew in every thread how each convolution is done best, which takes
seconds: so one thread speaks with it. And a network is a hundred kernels; to launch them one by one is to wait a
hundred times for the interpreter's lock, which those other threads hold. So what the network does is recorded once
for each size of batch, and played back as a whole.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from deepbinaries.recordings import Recording, record

Network = Callable[[Tensor], Tensor]


class OnGpu:
    """A network on a GPU; `half` computes in float16. Threads may share one. Weights must not change any more."""

    def __init__(self, network: Network, *, half: bool):
        self._network = network
        self._half = half
        self._thread = ThreadPoolExecutor(1)
        self._recordings: dict[torch.Size, Recording] = {}
        self._pool: Any = None  # memory that all recordings use in turn: no two are ever played at once

    def __call__(self, pixels: Tensor) -> Tensor:
        return self._thread.submit(self._run, pixels).result()

    @torch.inference_mode()
    def _run(self, pixels: Tensor) -> Tensor:
        filled = filled_up(pixels)
        if filled.shape not in self._recordings:
            self._pool = self._pool or torch.cuda.graph_pool_handle()
            self._recordings[filled.shape] = record(self._compute, filled, pool=self._pool)
        return self._recordings[filled.shape](filled)[: len(pixels)]

    def _compute(self, pixels: Tensor) -> Tensor:
        # Without its cache, which would keep weights in memory that belongs to a recording.
        with torch.autocast("cuda", dtype=torch.float16, enabled=self._half, cache_enabled=False):
            return self._network(pixels)


def filled_up(pixels: Tensor) -> Tensor:
    """Pictures filled up to a power of two with black ones: few sizes of batches are met, and each is slow once.

    >>> len(filled_up(torch.ones(5, 3, 2, 2)))
    8
    """
    missing = (1 << max(len(pixels) - 1, 0).bit_length()) - len(pixels)
    return torch.cat([pixels, pixels.new_zeros(missing, *pixels.shape[1:])]) if missing > 0 else pixels
