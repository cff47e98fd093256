"""Colours that have a name, and their shades."""

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
    "black": (50, 48, 54),
}

INK: Colour = (34, 30, 34)
CHALK: Colour = (250, 248, 244)
METAL: Colour = (176, 182, 190)
GLASS: Colour = (190, 222, 236)
WOOD: Colour = (150, 102, 60)
LEAF: Colour = (64, 136, 62)
STRAW: Colour = (244, 190, 60)
SKIN: Colour = (232, 182, 146)
TYRE: Colour = (44, 44, 48)


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
    """The colour as another painter would have mixed it."""
    red, green, blue = (min(255, max(0, part + dice.between(-by, by))) for part in colour)
    return red, green, blue
