"""Generated pictures with sentences and labels: no files are needed, and any number of items can be had.

A scene is a background with clutter and two to four things. Its labels are the categories of all its
things; its sentences speak of some of them, as people do. What an item holds depends on the seed and
its row alone, and comes out the same, pixel by pixel, on every machine.

The way of an item: `composition` decides what is where; `drawing` puts the outlines of `backgrounds`
and `categories` on the canvas; `grammar` speaks about it.
"""

import io
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from deepbinaries.datasets.labels import Labels
from deepbinaries.datasets.scenes.categories import CATEGORIES
from deepbinaries.datasets.scenes.composition import Scene, compose, contents
from deepbinaries.datasets.scenes.drawing import draw
from deepbinaries.datasets.scenes.grammar import Statement, statements
from deepbinaries.datasets.scenes.pen import Box
from deepbinaries.errors import UsageError

MAX_ITEMS = 10_000_000


def load(root: Path | None = None, *, items: int = 1000, seed: int = 0) -> "Scenes":  # noqa: ARG001
    """So many generated scenes; another seed gives other ones. There is nothing to read, so `root` is not used.

    >>> scenes = load(items=3)
    >>> scenes.ids
    ('scene-00000', 'scene-00001', 'scene-00002')
    >>> scenes.background(2), scenes.labels.of(2)
    ('meadow', ('chair', 'sheep', 'butterfly'))
    >>> scenes.sentences(2)[0]
    'there is a small white lamb; a large blue seat stands close to it'
    """
    return Scenes(items, seed)


class Scenes:
    """A dataset that is drawn while it is looked at; row i is the same item however many items there are."""

    name = "scenes"

    def __init__(self, items: int, seed: int = 0):
        if not isinstance(items, int) or not 1 <= items <= MAX_ITEMS:
            raise UsageError(f"items={items} scenes cannot be drawn", next_step=f"ask for 1 to {MAX_ITEMS:,}")
        if not isinstance(seed, int):
            raise UsageError(f"seed={seed!r} is no whole number", next_step="give one, 0 for example")
        self.seed = seed
        self.ids = tuple(f"scene-{row:05d}" for row in range(items))

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def labels(self) -> Labels:
        """The categories of the things in each scene."""
        rows = [{category.name for category in contents(self.seed, row)[1]} for row in range(len(self))]
        return Labels.from_names(rows, [category.name for category in CATEGORIES])

    def scene(self, row: int) -> Scene:
        """What is where in a scene."""
        return compose(self.seed, range(len(self))[row])

    def background(self, row: int) -> str:
        """The name of the place."""
        return self.scene(row).background.name

    def boxes(self, row: int) -> list[tuple[str, Box]]:
        """The category and the box (left, top, right, bottom, in pixels) of each thing, the farthest first."""
        return [(thing.category.name, thing.box) for thing in self.scene(row).things]

    def statements(self, row: int) -> Sequence[Statement]:
        """The sentences of a scene, each with the things it speaks of."""
        return statements(self.scene(row))

    def sentences(self, row: int) -> Sequence[str]:
        """One to five sentences about a scene."""
        return [statement.text for statement in self.statements(row)]

    def picture(self, row: int) -> bytes:
        """The picture as a PNG file of 224 x 224 pixels."""
        file = io.BytesIO()
        draw(self.scene(row)).save(file, "PNG", compress_level=1)
        return file.getvalue()
