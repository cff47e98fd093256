"""What is in a scene and where: decided first, drawn and told afterwards."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from deepbinaries.datasets.scenes.backgrounds import BACKGROUNDS, Background
from deepbinaries.datasets.scenes.canvas import SIDE
from deepbinaries.datasets.scenes.categories import CATEGORIES, SIZES, Category
from deepbinaries.datasets.scenes.colours import NAMED
from deepbinaries.datasets.scenes.dice import Dice
from deepbinaries.datasets.scenes.pen import Box

HIDDEN = 30  # per cent of a thing's box that the boxes of nearer things may cover
SMALLEST = 48  # pixels of the longer side, where there is room for no more
REPEAT = 20  # per cent of the things after the first are one more of a kind
ALIKE = 60  # per cent of those have the colours of the first of their kind

AT_HOME = {
    background.name: [c for c in CATEGORIES if not background.zones.keys().isdisjoint(c.zones.split())]
    for background in BACKGROUNDS
}


@dataclass(frozen=True)
class Thing:
    """One object of a scene."""

    category: Category
    colour: str  # the name of its main colour
    second: str  # and of the other one
    zone: str
    box: Box
    mirrored: bool

    @property
    def flies(self) -> bool:
        return self.zone in ("air", "sky")


@dataclass(frozen=True)
class Scene:
    """A background and two to four things, the farthest first."""

    seed: int
    row: int
    background: Background
    things: tuple[Thing, ...]


def contents(seed: int, row: int) -> tuple[Background, list[Category]]:
    """The background of a scene, and the category of each of its things."""
    dice = Dice("scenes", seed, row, "contents")
    background = dice.pick(BACKGROUNDS)
    options = AT_HOME[background.name]
    weights = [category.weight for category in options]
    categories = [dice.weighted(options, weights)]
    for _ in range(dice.weighted((1, 2, 3), (3, 4, 3))):
        categories.append(dice.pick(categories) if dice.chance(REPEAT) else dice.weighted(options, weights))
    return background, categories


def compose(seed: int, row: int) -> Scene:
    """The whole scene; it depends on nothing but the seed and the row."""
    background, categories = contents(seed, row)
    dice = Dice("scenes", seed, row, "layout")
    zones = [dice.pick([zone for zone in c.zones.split() if zone in background.zones]) for c in categories]
    boxes = next(layout for layout in _layouts(dice, background, categories, zones) if not _crowded(layout))
    things: list[Thing] = []
    for category, zone, box in zip(categories, zones, boxes, strict=True):
        twins = [(thing.colour, thing.second) for thing in things if thing.category is category]
        colour, second = twins[0] if twins and dice.chance(ALIKE) else _colours(dice, background, category)
        things.append(Thing(category, colour, second, zone, box, mirrored=dice.chance(50)))
    return Scene(seed, row, background, tuple(sorted(things, key=lambda thing: thing.box[3])))


def _colours(dice: Dice, background: Background, category: Category) -> tuple[str, str]:
    """The main colour, one that stands out where there is one, and another."""
    possible = category.colours.split()
    seen = [name for name in possible if name not in background.hides.split()]
    main = dice.pick(seen or possible)
    return main, dice.pick([name for name in NAMED if name != main])


def _layouts(
    dice: Dice, background: Background, categories: Sequence[Category], zones: Sequence[str]
) -> Iterator[list[Box]]:
    """Boxes for all things, again and again, each time a little smaller."""
    for attempt in count():
        boxes = []
        for category, zone in zip(categories, zones, strict=True):
            low, high = SIZES[category.size]
            high = max(SMALLEST, high - attempt)
            size = dice.between(min(low, high), high)
            width, height = (side * size // max(category.drawing.field) for side in category.drawing.field)
            width = width * dice.between(92, 108) // 100
            left = dice.between(2, SIDE - 2 - width)
            bottom = max(dice.between(*background.zones[zone]), height + 2)
            boxes.append((left, bottom - height, left + width, bottom))
        yield boxes


def _crowded(boxes: Sequence[Box]) -> bool:
    """True when a thing would be hidden too much by those whose lower edges are nearer."""
    ordered = sorted(boxes, key=lambda box: box[3])
    for place, (left, top, right, bottom) in enumerate(ordered):
        covered = 0
        for x0, y0, x1, y1 in ordered[place + 1 :]:
            covered += max(0, min(right, x1) - max(left, x0)) * max(0, min(bottom, y1) - max(top, y0))
        if covered * 100 > HIDDEN * (right - left) * (bottom - top):
            return True
    return False
