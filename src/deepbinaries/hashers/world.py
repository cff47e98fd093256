"""The processes that train together, as `torchrun` starts them; or this one alone, for which everything here is idle.

Each works on its part of every batch and holds everything else whole: networks, optimiser, target codes. The outputs of
all parts are gathered, so that every process has the loss of the whole batch. Its gradients go back through its own
part alone; summed over all processes they are those of one process with the same batch.
"""

import atexit
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

PATIENCE = timedelta(days=7)  # while one prepares features; the others are ended by torchrun when it fails


@dataclass(frozen=True)
class World:
    """Which of how many processes this is."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that speaks, writes files and solves for codes."""
        return self.rank == 0

    def part(self, rows: Tensor) -> Tensor:
        """The rows that this process works on. All have equally many; the first come again to fill up the last part.

        >>> [World(rank, 2).part(torch.tensor([7, 8, 9])).tolist() for rank in (0, 1)]
        [[7, 8], [9, 7]]
        """
        if self.size == 1:
            return rows
        n_each = -(-len(rows) // self.size)
        return rows[torch.arange(self.rank * n_each, (self.rank + 1) * n_each) % len(rows)]

    def gather(self, part: Tensor, n: int) -> Tensor:
        """The first n rows of all parts below each other; a gradient goes through the part of this process alone."""
        if self.size == 1:
            return part
        parts = [torch.empty_like(part) for _ in range(self.size)]
        dist.all_gather(parts, part.detach().contiguous())
        parts[self.rank] = part
        return torch.cat(parts)[:n]

    def add_up(self, gradients: Sequence[Tensor]) -> None:
        """Replace tensors, in place, by their sums over all processes; they travel as one."""
        if self.size == 1 or not gradients:
            return
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        sums = flat.split([gradient.numel() for gradient in gradients])  # type: ignore[no-untyped-call]
        for gradient, total in zip(gradients, sums, strict=True):
            gradient.copy_(total.view_as(gradient))

    def share(self, values: Tensor) -> Tensor:
        """The values that the leading process has, in place and on all of them."""
        if self.size > 1:
            whole = values.detach().contiguous()
            dist.broadcast(whole, src=0)
            with torch.no_grad():
                values.copy_(whole)
        return values

    def wait(self) -> None:
        """Go on when all processes have come here."""
        if self.size > 1:
            dist.all_reduce(torch.zeros(1))  # on the CPU, where there may be more processes than GPUs

    @contextmanager
    def own_draws(self, *seeds: int) -> Iterator[None]:
        """Draws of this process's own, as dropout needs them; afterwards all go on with those that they share."""
        if self.size == 1:
            yield
            return
        with torch.random.fork_rng([torch.cuda.current_device()] if torch.cuda.is_available() else []):
            torch.manual_seed(int(np.random.SeedSequence([*seeds, self.rank]).generate_state(1)[0]))
            yield


def join_world() -> World:
    """The processes that torchrun has started together with this one, once they have met; World() where there is none.

    >>> join_world()
    World(rank=0, size=1)
    """
    if not dist.is_available():
        return World()
    if not dist.is_initialized():
        if not dist.is_torchelastic_launched():
            return World()
        on_gpu, local = torch.cuda.is_available(), int(os.environ["LOCAL_RANK"])
        if on_gpu and local < torch.cuda.device_count():
            torch.cuda.set_device(local)
        dist.init_process_group("cpu:gloo,cuda:nccl" if on_gpu else "gloo", timeout=PATIENCE)
        atexit.register(dist.destroy_process_group)
    return World(dist.get_rank(), dist.get_world_size())
