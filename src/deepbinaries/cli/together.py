"""`torchrun ... -m deepbinaries train`: several processes train together, and one of them speaks and writes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deepbinaries.hashers.world import World


def is_together() -> bool:
    """Whether torchrun has started this process, and others with it."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def leads() -> bool:
    """Whether this is the process that speaks and writes: one alone does."""
    world = _world()
    return world is None or world.leads


@contextmanager
def in_turn() -> Iterator[None]:
    """What one process does first, alone; the others do it after it, and find it done."""
    world = _world()
    if world and not world.leads:
        world.wait()
    yield
    if world and world.leads:
        world.wait()


def _world() -> "World | None":
    if not is_together():
        return None  # without a look at torch, which many methods do not need
    from deepbinaries.hashers.world import join_world

    return join_world()
