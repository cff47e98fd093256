"""How the backgrounds in the open country are drawn; the field is the whole picture, in pixels."""

from deepbinaries.datasets.scenes.canvas import SIDE
from deepbinaries.datasets.scenes.clutter import (
    bank,
    gradient,
    grass,
    hills,
    ripples,
    shells,
    sky,
    snowflakes,
    specks,
    stones,
)
from deepbinaries.datasets.scenes.colours import CHALK, PINK, STRAW, darker, lighter, varied
from deepbinaries.datasets.scenes.dice import Dice
from deepbinaries.datasets.scenes.pen import Pen


def beach(pen: Pen, dice: Dice) -> None:
    horizon = dice.between(86, 98)
    sky(pen, dice, horizon)
    gradient(pen, (40, 112, 160), (110, 190, 200), horizon, 148)
    ripples(pen, dice, (170, 216, 224), 9, horizon + 5, 138)
    sand = varied((230, 206, 156), dice)
    bank(pen, dice, sand, CHALK, 142)
    specks(pen, dice, darker(sand), 50, 150, SIDE)
    stones(pen, dice, (178, 168, 160), dice.between(2, 7), 152)
    shells(pen, dice, dice.between(0, 4), 160)


def meadow(pen: Pen, dice: Dice) -> None:
    horizon = dice.between(104, 122)
    sky(pen, dice, horizon)
    hills(pen, dice, (112, 168, 108), horizon, 40)
    gradient(pen, varied((138, 186, 96), dice), varied((92, 150, 66), dice), horizon, SIDE)
    grass(pen, dice, (70, 126, 52), 26, horizon + 12)
    specks(pen, dice, dice.pick([CHALK, STRAW, PINK]), 24, horizon + 20, SIDE)
    stones(pen, dice, (150, 150, 144), dice.between(0, 5), horizon + 24)


def snow(pen: Pen, dice: Dice) -> None:
    gradient(pen, varied((150, 174, 204), dice), (222, 230, 240), 0, 120)
    hills(pen, dice, (204, 216, 232), 124, 50)
    gradient(pen, (222, 230, 240), (246, 248, 252), 120, SIDE)
    for _ in range(dice.between(2, 5)):
        drift = varied((232, 238, 246), dice, 6)
        pen.dome(drift, dice.between(0, SIDE), dice.between(140, SIDE), dice.between(24, 60), dice.between(5, 10))
    stones(pen, dice, (150, 160, 174), dice.between(1, 5), 140)
    for _ in range(dice.between(0, 12)):
        pen.oval((206, 216, 232), dice.between(0, SIDE), dice.between(150, SIDE), 4, 2)  # footprints
    snowflakes(pen, dice, dice.pick([0, 40, 80]))


def desert(pen: Pen, dice: Dice) -> None:
    day, evening = ((110, 178, 224), (250, 226, 184)), ((232, 150, 104), (252, 220, 160))
    gradient(pen, *dice.pick([day, evening]), 0, 124)
    pen.disc((255, 240, 190), dice.between(20, 204), dice.between(18, 60), dice.between(12, 20))
    hills(pen, dice, (214, 162, 104), 126, 44)
    sand = varied((228, 182, 118), dice)
    gradient(pen, sand, lighter(sand, 25), 122, SIDE)
    for _ in range(4):
        x, y = dice.between(-40, 200), dice.between(132, 214)
        pen.blob(darker(sand, 8), (x, y), (x + 50, y - 10), (x + 110, y), (x + 60, y + 3))  # dunes
    stones(pen, dice, (170, 122, 84), dice.between(3, 9), 134)
    grass(pen, dice, (166, 146, 82), dice.between(1, 6), 140)


def lake(pen: Pen, dice: Dice) -> None:
    sky(pen, dice, 92)
    hills(pen, dice, (110, 148, 130), 92, 44)
    gradient(pen, (104, 158, 190), (58, 116, 160), 90, 176)
    ripples(pen, dice, (150, 194, 214), 16, 96, 166)
    shore = varied((122, 158, 84), dice)
    bank(pen, dice, shore, darker(shore), 170)
    grass(pen, dice, (76, 116, 56), 20, 176)
    stones(pen, dice, (150, 146, 138), dice.between(2, 6), 174)


def mountains(pen: Pen, dice: Dice) -> None:
    sky(pen, dice, 140)
    for _ in range(dice.between(3, 5)):
        x, y, half = dice.between(0, SIDE), dice.between(26, 76), dice.between(50, 90)
        rock = varied((126, 132, 148), dice)
        pen.polygon(rock, (x, y), (x + half, 136), (x - half, 136))
        pen.polygon(darker(rock, 14), (x, y), (x + half, 136), (x + 8, 136))
        rim, w = y + (136 - y) // 4, half // 4
        pen.polygon(CHALK, (x, y), (x + w, rim), (x + w // 3, rim - 5), (x - 3, rim + 4), (x - w, rim))  # snow
    ground = varied((140, 146, 112), dice)
    gradient(pen, darker(ground, 10), lighter(ground, 15), 134, SIDE)
    stones(pen, dice, (148, 146, 146), dice.between(8, 16), 142)
    grass(pen, dice, (104, 120, 72), 12, 146)
