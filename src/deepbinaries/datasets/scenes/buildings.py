"""How the backgrounds between and inside buildings are drawn; the field is the whole picture, in pixels."""

from deepbinaries.datasets.scenes.canvas import SIDE
from deepbinaries.datasets.scenes.clutter import gradient, sky, specks
from deepbinaries.datasets.scenes.colours import CHALK, GLASS, INK, METAL, NAMED, WOOD, blend, darker, lighter, varied
from deepbinaries.datasets.scenes.dice import Dice
from deepbinaries.datasets.scenes.pen import Pen


def street(pen: Pen, dice: Dice) -> None:
    sky(pen, dice, 130)
    x = -dice.between(0, 30)
    while x < SIDE:
        width, top = dice.between(36, 64), dice.between(20, 74)
        wall = varied(dice.pick([(190, 150, 126), (170, 172, 178), (206, 190, 160), (150, 118, 108)]), dice)
        pen.block(wall, x, top, x + width, 140)
        pen.block(darker(wall), x, top, x + width, top + 4)
        for left in range(x + 6, x + width - 9, 14):
            for y in range(top + 10, 124, 18):
                pen.block(varied((108, 128, 146), dice), left, y, left + 8, y + 11)
        x += width
    pen.block((186, 182, 176), 0, 136, SIDE, 158)  # pavement
    for x in range(dice.below(20), SIDE, 24):
        pen.line((166, 162, 156), 1, (x, 136), (x - 8, 158))
    pen.block((206, 202, 196), 0, 157, SIDE, 161)
    gradient(pen, (112, 114, 120), (88, 90, 96), 161, SIDE)
    for x in range(dice.below(40) - 40, SIDE, 52):
        pen.polygon((226, 222, 206), (x, 190), (x + 28, 190), (x + 26, 195), (x - 3, 195))
    specks(pen, dice, (70, 72, 78), 40, 164, SIDE)
    for _ in range(dice.between(0, 2)):
        pen.oval(varied((136, 150, 168), dice), dice.between(0, SIDE), dice.between(170, 216), dice.between(12, 26), 4)


def night(pen: Pen, dice: Dice) -> None:
    gradient(pen, (16, 20, 48), (62, 58, 108), 0, 150)
    specks(pen, dice, (220, 224, 240), 50, 2, 110)
    if dice.chance(60):
        x, y = dice.between(20, 204), dice.between(18, 50)
        pen.disc((240, 236, 208), x, y, 14)
        pen.disc((28, 30, 62), x + 6, y - 3, 12)
    x = -dice.between(0, 20)
    while x < SIDE:
        width, top = dice.between(22, 44), dice.between(60, 116)
        pen.block(varied((34, 36, 60), dice, 8), x, top, x + width, 152)
        for left in range(x + 4, x + width - 5, 8):
            for y in range(top + 6, 140, 12):
                if dice.chance(45):
                    pen.block(varied((240, 206, 120), dice), left, y, left + 4, y + 6)
        x += width
    gradient(pen, (58, 60, 84), (76, 78, 100), 148, SIDE)
    for _ in range(5):
        pen.oval(varied((104, 100, 110), dice), dice.between(0, SIDE), dice.between(158, 220), dice.between(10, 30), 3)
    specks(pen, dice, (110, 112, 136), 30, 156, SIDE)


def room(pen: Pen, dice: Dice) -> None:
    wall = varied(dice.pick([(222, 208, 184), (188, 204, 196), (196, 200, 218), (226, 196, 188)]), dice)
    pen.block(wall, 0, 0, SIDE, 156)
    if dice.chance(50):
        for x in range(dice.below(20), SIDE, 20):
            pen.block(darker(wall, 7), x, 0, x + 9, 156)
    for x in (12, 84, 156):
        hang = dice.pick([window, picture_frame, picture_frame, None])
        if hang:
            hang(pen, dice, x + dice.between(-6, 6), dice.between(14, 56))
    boards = varied(dice.pick([(178, 128, 84), (150, 106, 74), (196, 168, 132)]), dice)
    gradient(pen, darker(boards, 12), boards, 156, SIDE)
    for y, step in ((164, 40), (176, 48), (192, 58), (210, 70)):
        pen.block(darker(boards), 0, y, SIDE, y + 1)
        for x in range(dice.below(step), SIDE, step):
            pen.block(darker(boards), x, y, x + 1, y + (y - 152) // 2)
    pen.block(CHALK, 0, 150, SIDE, 157)
    if dice.chance(60):
        rug = varied(NAMED[dice.pick(["red", "blue", "green", "grey", "purple"])], dice)
        x, y = dice.between(50, 174), dice.between(188, 206)
        pen.oval(darker(rug, 10), x, y, 74, 17)
        pen.oval(lighter(rug, 30), x, y, 64, 13)
        pen.oval(darker(rug, 10), x, y, 56, 10)


def window(pen: Pen, dice: Dice, x: int, y: int) -> None:
    pen.block(CHALK, x - 4, y - 4, x + 54, y + 64)
    for left in (x, x + 27):
        pen.block(varied(GLASS, dice), left, y, left + 23, y + 60)
    pen.block(CHALK, x, y + 27, x + 50, y + 31)


def picture_frame(pen: Pen, dice: Dice, x: int, y: int) -> None:
    right, bottom = x + dice.between(22, 42), y + dice.between(22, 42)
    pen.block(dice.pick([WOOD, INK, (198, 166, 92)]), x, y, right, bottom)
    pen.block(CHALK, x + 3, y + 3, right - 3, bottom - 3)
    pen.block(varied((150, 176, 190), dice, 40), x + 6, y + 6, right - 6, bottom - 6)
    peak = ((x + right) // 2, (y + bottom) // 2)
    pen.polygon(varied((128, 140, 110), dice, 40), (x + 6, bottom - 6), peak, (right - 6, bottom - 6))


def kitchen(pen: Pen, dice: Dice) -> None:
    tile = varied(dice.pick([(214, 224, 226), (226, 220, 204), (200, 216, 200)]), dice)
    pen.block(darker(tile, 16), 0, 0, SIDE, 150)
    for y in range(56, 150, 16):
        for x in range(0, SIDE, 16):
            pen.block(varied(tile, dice, 4), x, y, x + 15, y + 15)
    cupboard = varied(dice.pick([(234, 228, 214), (112, 146, 150), (176, 132, 90), (156, 166, 120)]), dice)
    for x in range(-dice.below(40), SIDE, 56):
        pen.block(cupboard, x, 0, x + 54, 54)
        pen.block(darker(cupboard, 12), x + 6, 6, x + 48, 48)
        pen.block(cupboard, x + 8, 8, x + 46, 46)
        pen.block(METAL, x + 42, 28, x + 44, 42)
    for _ in range(dice.between(1, 3)):
        x, towel = dice.between(10, 200), varied(NAMED[dice.pick(["red", "blue", "green", "yellow"])], dice)
        pen.block(towel, x, 76, x + 18, 112)
        pen.block(CHALK, x, 100, x + 18, 104)
    pale = varied((214, 200, 180), dice)
    dark = blend(pale, varied(dice.pick([(120, 90, 76), (90, 104, 112), (126, 130, 100)]), dice), 60)
    pen.block(pale, 0, 150, SIDE, SIDE)
    for line, (top, bottom) in enumerate(((150, 158), (158, 168), (168, 181), (181, 198), (198, SIDE))):
        for x in range(-40 * (line % 2), SIDE, 80):
            pen.block(dark, x, top, x + 40, bottom)
    pen.block(darker(pale), 0, 146, SIDE, 151)
    specks(pen, dice, darker(pale), 30, 156, SIDE)
