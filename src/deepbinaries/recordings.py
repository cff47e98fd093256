"""What a GPU is told to do, recorded once and played back as a whole.

To launch a hundred small kernels one by one takes longer than to run them, and waits for the interpreter's lock each
time. A recording is launched at once. It belongs to tensors of one shape, and may be played by one thread at a time.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Recording(NamedTuple):
    """A computation on the GPU: playing it turns what is in `given` into what is in `made`."""

    given: Tensor
    made: Tensor
    play: Callable[[], None]

    def __call__(self, tensor: Tensor) -> Tensor:
        """What the computation makes of another tensor of the same shape."""
        self.given.copy_(tensor)
        self.play()
        return self.made.clone()  # the next one is written over it


@torch.no_grad()
def record(compute: Callable[[Tensor], Tensor], example: Tensor, *, pool: Any = None) -> Recording:
    """The recording of a computation; those that share a `pool` of memory may never be played at once."""
    given = example.clone(memory_format=torch.preserve_format)
    compute(given)  # what is found out and kept on the way is no part of a recording
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # What other threads ask of the GPU in the meantime is theirs, and no reason to give up.
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        made = compute(given)
    return Recording(given, made, graph.replay)
