"""What backgrounds are made of and nobody mentions: skies, clouds, hills, stones, grass, specks."""

from deepbinaries.datasets.scenes.canvas import SIDE
from deepbinaries.datasets.scenes.colours import CHALK, Colour, blend, darker, varied
from deepbinaries.datasets.scenes.dice import Dice
from deepbinaries.datasets.scenes.pen import Pen

SKIES: list[tuple[Colour, Colour]] = [  # at the top and at the horizon
    ((96, 164, 224), (206, 230, 244)),
    ((70, 136, 214), (176, 212, 240)),
    ((164, 178, 194), (222, 226, 230)),
    ((104, 110, 176), (250, 196, 150)),
]
CLOUD: Colour = (240, 243, 247)


def gradient(pen: Pen, above: Colour, below: Colour, top: int, bottom: int) -> None:
    for y in range(top, bottom, 4):
        pen.block(blend(above, below, 100 * (y - top) // (bottom - top)), 0, y, SIDE, min(y + 4, bottom))


def sky(pen: Pen, dice: Dice, horizon: int) -> None:
    gradient(pen, *dice.pick(SKIES), 0, horizon)
    if dice.chance(40):
        pen.disc((255, 236, 170), dice.between(20, 204), dice.between(16, 50), dice.between(9, 15))
    for _ in range(dice.between(0, 3)):
        cloud(pen, dice.between(0, SIDE), dice.between(14, horizon - 30), dice.between(6, 13))


def cloud(pen: Pen, x: int, y: int, size: int) -> None:
    for dx, dy, r in ((-size, 2, size * 3 // 4), (0, -2, size), (size, 1, size * 4 // 5), (2 * size, 3, size // 2)):
        pen.disc(CLOUD, x + dx, y + dy, r)
    pen.block(CLOUD, x - size, y, x + 2 * size, y + size * 3 // 4)


def hills(pen: Pen, dice: Dice, colour: Colour, base: int, height: int) -> None:
    for _ in range(dice.between(2, 4)):
        x, width = dice.between(0, SIDE), dice.between(50, 110)
        pen.dome(varied(colour, dice, 10), x, base, width, dice.between(height // 2, height))


def stones(pen: Pen, dice: Dice, colour: Colour, n: int, top: int) -> None:
    """Lying about, larger the nearer they are."""
    for _ in range(n):
        x, y = dice.between(0, SIDE), dice.between(top, SIDE)
        r = 2 + 5 * (y - top) // (SIDE - top) + dice.below(3)
        tone = varied(colour, dice, 18)
        pen.blob(darker(tone), (x - r, y - r), (x + r, y - r), (x + r + 2, y + r), (x - r - 2, y + r))
        pen.blob(tone, (x - r, y - r), (x + r - 1, y - r), (x + r, y + r // 2), (x - r - 1, y + r // 2))


def grass(pen: Pen, dice: Dice, colour: Colour, n: int, top: int) -> None:
    """Blades in bunches of three, larger the nearer they are."""
    for _ in range(n):
        x, y = dice.between(0, SIDE), dice.between(top, SIDE)
        h = 4 + (y - top) // 12
        tips = [(x - 4, y - h), (x - 1, y - h // 2), (x, y - h - 3), (x + 1, y - h // 2), (x + 4, y - h)]
        pen.polygon(varied(colour, dice, 16), (x - 3, y), *tips, (x + 3, y))


def specks(pen: Pen, dice: Dice, colour: Colour, n: int, top: int, bottom: int) -> None:
    for _ in range(n):
        x, y, size = dice.between(0, SIDE), dice.between(top, bottom), dice.between(1, 2)
        pen.block(varied(colour, dice, 16), x, y, x + size, y + size)


def ripples(pen: Pen, dice: Dice, colour: Colour, n: int, top: int, bottom: int) -> None:
    for _ in range(n):
        x, y = dice.between(-10, SIDE), dice.between(top, bottom)
        pen.block(colour, x, y, x + dice.between(8, 34), y + 1)


def bank(pen: Pen, dice: Dice, colour: Colour, rim: Colour, top: int) -> None:
    """Land in front of water, with a rim of foam or earth."""
    edge = [(x, top + dice.between(-4, 4)) for x in range(-20, SIDE + 40, 30)]
    pen.polygon(rim, (-20, SIDE), *[(x, y - 3) for x, y in edge], (SIDE + 20, SIDE))
    pen.polygon(colour, (-20, SIDE), *edge, (SIDE + 20, SIDE))


def shells(pen: Pen, dice: Dice, n: int, top: int) -> None:
    for _ in range(n):
        x, y = dice.between(0, SIDE), dice.between(top, SIDE)
        pen.dome((246, 226, 214), x, y, 5, 6)
        pen.line((206, 160, 150), 1, (x, y - 5), (x, y))


def snowflakes(pen: Pen, dice: Dice, n: int) -> None:
    for _ in range(n):
        pen.disc(CHALK, dice.between(0, SIDE), dice.between(0, SIDE), dice.between(1, 2))
