"""How people, plants and buildings are drawn."""

from deepbinaries.datasets.scenes import colours
from deepbinaries.datasets.scenes.colours import CHALK, INK, LEAF, STRAW, WOOD, Look, blend, darker, lighter
from deepbinaries.datasets.scenes.pen import Pen, in_field, on_circle

HAIR = [(60, 40, 28), (30, 26, 26), (150, 100, 50), (214, 178, 104), (150, 60, 30)]


@in_field(48, 100)
def person(pen: Pen, look: Look) -> None:
    skin = blend(colours.SKIN, (96, 62, 42), look.dice.pick([0, 20, 60, 90]))
    hair = look.dice.pick(HAIR)
    if look.dice.chance(40):
        pen.blob(hair, (12, -1), (36, -1), (40, 32), (8, 32))  # long hair
    for x in (18, 30):
        pen.line(look.second, 9, (x, 56), (x, 95))  # trousers
        pen.blob(INK, (x - 9, 93), (x + 6, 91), (x + 6, 101), (x - 9, 101))
    for shoulder, hand in ((11, 4), (37, 44)):
        pen.line(look.dark, 7, (shoulder, 31), (hand, 54))
        pen.disc(skin, hand, 56, 4)
    pen.block(skin, 20, 20, 28, 30)  # neck
    pen.blob(look.main, (6, 26), (24, 27), (42, 26), (38, 64), (10, 64))  # pullover
    pen.oval(skin, 24, 13, 10, 12)
    pen.dome(hair, 24, 11, 12, 11)
    for x in (19, 27):
        pen.disc(INK, x, 14, 1)


@in_field(68, 100)
def snowman(pen: Pen, look: Look) -> None:
    for shoulder, hand in ((20, 0), (48, 68)):
        pen.line(WOOD, 3, (shoulder, 52), (hand, 38))
    for y, r in ((78, 23), (48, 17), (25, 13)):
        pen.disc(darker(look.main, 18), 34, y, r)
        pen.disc(look.main, 33, y - 1, r - 2)
    pen.block(INK, 24, 0, 44, 12)  # hat
    pen.block(INK, 18, 11, 50, 15)
    pen.line(look.second, 5, (23, 36), (45, 36))  # scarf
    pen.line(look.second, 5, (42, 36), (46, 50))
    pen.polygon(colours.ORANGE, (32, 23), (32, 28), (16, 27))  # carrot
    for x, y in ((29, 20), (38, 20), (34, 46), (34, 54), (34, 68)):
        pen.disc(INK, x, y, 2)


@in_field(84, 100)
def tree(pen: Pen, look: Look) -> None:
    if look.dice.chance(40):
        pen.block(WOOD, 36, 80, 48, 100)
        for top, bottom, half in ((46, 86, 42), (22, 62, 34), (0, 38, 25)):
            pen.polygon(look.dark, (42, top), (42 + half, bottom), (42 - half, bottom))
            pen.polygon(look.main, (42, top), (34 + half, bottom - 3), (42 - half, bottom - 3))
    else:
        pen.polygon(WOOD, (37, 44), (47, 44), (52, 100), (32, 100))
        pen.line(WOOD, 5, (42, 66), (60, 48))
        crown = [(22, 42, 22), (62, 44, 22), (42, 21, 21), (24, 24, 17), (62, 25, 17), (42, 50, 18)]
        for x, y, r in crown:
            pen.disc(look.dark, x, y, r)
        for x, y, r in crown:
            pen.disc(look.main, x - 1, y - 2, r - 3)
        for x, y, r in crown[:4]:
            pen.disc(look.light, x - 4, y - 7, r // 3)


@in_field(56, 100)
def flower(pen: Pen, look: Look) -> None:
    pen.curve(LEAF, 4, (28, 26), (24, 66), (28, 100))
    pen.blob(LEAF, (27, 86), (10, 78), (0, 58), (20, 66))
    pen.blob(darker(LEAF), (28, 78), (44, 72), (56, 50), (38, 58))
    petals = look.dice.pick([range(0, 32, 4), range(0, 32, 6)])
    for step in petals:
        pen.disc(look.dark, *on_circle(28, 28, 17, step), 11)
    for step in petals:
        pen.disc(look.main, *on_circle(28, 27, 17, step), 9)
    pen.disc(STRAW, 28, 28, 10)
    pen.disc(darker(STRAW), 28, 28, 5)


@in_field(96, 100)
def mushroom(pen: Pen, look: Look) -> None:
    stem = (238, 226, 202)
    pen.blob(stem, (34, 36), (62, 36), (60, 70), (72, 101), (24, 101), (36, 70))
    pen.polygon(darker(stem, 15), (52, 40), (60, 40), (62, 96), (54, 96))
    pen.dome(look.main, 48, 50, 48, 50)  # cap
    pen.oval(darker(stem), 48, 50, 48, 7)
    for x, y, r in ((48, 14, 7), (24, 28, 6), (70, 26, 8), (44, 36, 6), (12, 40, 4), (86, 41, 4)):
        pen.oval(CHALK, x, y, r, r - 1)


@in_field(64, 100)
def cactus(pen: Pen, look: Look) -> None:
    pen.curve(look.dark, 13, (32, 66), (5, 70), (7, 30))  # arms
    pen.curve(look.dark, 13, (32, 54), (59, 58), (57, 18))
    for x, y in ((7, 31), (57, 19)):
        pen.disc(look.dark, x, y, 6)
    pen.block(look.main, 22, 10, 42, 100)
    pen.disc(look.main, 32, 10, 10)
    for x in (27, 32, 37):
        pen.line(look.dark, 1, (x, 8), (x, 98))
    for x, y in ((26, 24), (38, 34), (27, 46), (36, 62), (28, 76), (38, 88), (6, 44), (56, 34)):
        pen.line(CHALK, 1, (x - 3, y - 2), (x + 3, y + 2))  # thorns
        pen.line(CHALK, 1, (x - 3, y + 2), (x + 3, y - 2))
    if look.dice.chance(50):
        pen.disc(look.second, 32, 5, 5)  # blossom


@in_field(100, 96)
def house(pen: Pen, look: Look) -> None:
    roof = look.second
    if look.dice.chance(70):
        pen.block(darker(roof), 70, 4, 82, 34)  # chimney
    pen.block(look.main, 10, 42, 90, 96)
    pen.polygon(roof, (50, 0), (100, 46), (0, 46))
    pen.polygon(darker(roof), (0, 46), (100, 46), (92, 39), (8, 39))
    pen.block(WOOD, 42, 62, 60, 96)  # door
    pen.disc(STRAW, 56, 80, 2)
    for x in (18, 68):
        pen.block(CHALK, x - 2, 54, x + 16, 74)
        pen.block(blend(colours.GLASS, INK, 25), x, 56, x + 14, 72)
        pen.block(CHALK, x + 6, 54, x + 8, 74)
        pen.block(CHALK, x, 63, x + 14, 65)
    pen.disc(lighter(roof), 50, 28, 6)


@in_field(100, 72)
def tent(pen: Pen, look: Look) -> None:
    for x in (30, 38):
        pen.line(WOOD, 2, (68 - x, 0), (x, 10))  # poles
    pen.polygon(look.dark, (34, 5), (80, 8), (100, 72), (68, 72))
    pen.polygon(look.main, (34, 5), (70, 72), (0, 72))
    pen.polygon(INK, (34, 16), (52, 72), (18, 72))  # entrance
    pen.polygon(look.light, (34, 16), (27, 72), (12, 72))
    pen.polygon(look.light, (34, 16), (41, 72), (56, 72))
