"""Colours that have a name, and their shades."""

from dataclasses import dataclass

from deepbinaries.datasets.scenes.dice import Dice

Colour = tuple[int, int, int]  # red, green, blue, each 0 to 255

NAMED: dict[str, Colour] = {
    "red": (204, 44, 48),
    "orange": (238, 132, 38),
    "yellow": (243, 207, 66),
    "green": (72, 152, 74),
    "turquoise": (62, 184, 176),
    "blue": (48, 100, 200),
    "purple": (130, 74, 164),
    "pink": (242, 150, 182),
    "brown": (134, 86, 50),
    "white": (238, 236, 230),
    "grey": (142, 144, 150),
    "black": (62, 60, 68),
}

RED, ORANGE, PINK = NAMED["red"], NAMED["orange"], NAMED["pink"]
CHALK: Colour = (250, 248, 244)
GLASS: Colour = (190, 222, 236)
INK: Colour = (34, 30, 34)
LEAF: Colour = (64, 136, 62)
METAL: Colour = (176, 182, 190)
SKIN: Colour = (232, 182, 146)
STRAW: Colour = (244, 190, 60)
WOOD: Colour = (150, 102, 60)


def blend(a: Colour, b: Colour, percent: int) -> Colour:
    """The colour that lies `percent` of the way from a to b.

    >>> blend((0, 0, 0), (200, 100, 50), 50)
    (100, 50, 25)
    """
    red, green, blue = (p + (q - p) * percent // 100 for p, q in zip(a, b, strict=True))
    return red, green, blue


def darker(colour: Colour, percent: int = 28) -> Colour:
    """The colour in the shade."""
    return blend(colour, (10, 8, 20), percent)


def lighter(colour: Colour, percent: int = 40) -> Colour:
    """The colour in the light."""
    return blend(colour, (255, 255, 250), percent)


def varied(colour: Colour, dice: Dice, by: int = 14) -> Colour:
    """The colour as another painter would have mixed it: lighter or darker, and of nearly the same hue."""
    light, hue = dice.between(-by, by), by // 3
    red, green, blue = (min(255, max(0, part + light + dice.between(-hue, hue))) for part in colour)
    return red, green, blue


@dataclass(frozen=True)
class Look:
    """What the drawing of a thing leaves open: two colours, and dice for the small differences."""

    main: Colour
    second: Colour
    dice: Dice

    @property
    def dark(self) -> Colour:
        return darker(self.main)

    @property
    def light(self) -> Colour:
        return lighter(self.main)
