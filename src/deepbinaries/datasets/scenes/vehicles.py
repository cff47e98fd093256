"""How vehicles are drawn, all on their way to the left."""

from deepbinaries.datasets.scenes.colours import CHALK, GLASS, INK, METAL, RED, STRAW, WOOD, Look, darker
from deepbinaries.datasets.scenes.pen import Pen, in_field


def wheel(pen: Pen, x: int, y: int, r: int) -> None:
    pen.disc(INK, x, y, r)
    pen.disc(METAL, x, y, r // 2)


@in_field(100, 49)
def car(pen: Pen, look: Look) -> None:
    pen.blob(look.main, (18, 26), (30, 1), (76, 0), (92, 28), (60, 32))  # roof
    pen.polygon(GLASS, (28, 19), (35, 5), (51, 5), (51, 19))
    pen.polygon(GLASS, (55, 19), (55, 5), (70, 5), (80, 19))
    pen.blob(look.main, (0, 24), (22, 18), (60, 18), (100, 16), (100, 42), (60, 42), (0, 42))
    pen.block(look.dark, 6, 33, 96, 38)
    pen.block(look.dark, 52, 20, 54, 36)  # door
    pen.block(INK, 57, 23, 63, 25)
    if look.dice.chance(40):
        pen.block(look.second, 12, 28, 92, 31)
    pen.oval(STRAW, 4, 27, 3, 4)  # lights
    pen.block(RED, 96, 23, 100, 29)
    for x in (24, 77):
        wheel(pen, x, 38, 11)


@in_field(100, 56)
def bus(pen: Pen, look: Look) -> None:
    pen.block(look.main, 0, 4, 100, 48)
    pen.block(look.light, 2, 0, 98, 5)
    for x in range(20, 92, 15):
        pen.block(GLASS, x, 10, x + 12, 24)
    pen.block(GLASS, 0, 9, 6, 30)  # windscreen
    pen.block(darker(GLASS), 8, 10, 17, 46)  # door
    pen.block(INK, 12, 10, 13, 46)
    pen.block(look.second, 19, 30, 100, 36)
    pen.disc(STRAW, 3, 40, 3)
    for x in (29, 80):
        wheel(pen, x, 47, 9)


@in_field(100, 59)
def truck(pen: Pen, look: Look) -> None:
    pen.block(INK, 4, 44, 98, 50)
    pen.block(look.main, 32, 0, 100, 44)  # load
    for x in range(44, 98, 11):
        pen.block(look.dark, x, 3, x + 2, 41)
    pen.polygon(look.dark, (0, 32), (8, 12), (30, 12), (30, 48), (0, 48))  # cabin
    pen.block(look.second, 0, 34, 30, 37)
    pen.polygon(GLASS, (5, 29), (11, 16), (22, 16), (22, 29))
    pen.block(STRAW, 0, 39, 4, 44)
    for x in (16, 72, 90):
        wheel(pen, x, 50, 9)


@in_field(100, 62)
def bicycle(pen: Pen, look: Look) -> None:
    for x in (20, 80):
        for dx, dy in ((18, 0), (0, 18), (13, 13), (13, -13)):
            pen.line(METAL, 1, (x - dx, 42 - dy), (x + dx, 42 + dy))  # spokes
        pen.ring(INK, x, 42, 20, 4)
    for joint in ((80, 42), (62, 14), (34, 18)):
        pen.line(look.main, 4, (52, 44), joint)  # frame
    pen.line(look.main, 4, (80, 42), (63, 18), (34, 18))
    pen.line(look.main, 4, (20, 42), (36, 4))  # fork
    pen.line(INK, 4, (64, 18), (62, 6))
    pen.blob(INK, (52, 2), (74, 1), (74, 10), (62, 8))  # saddle
    pen.curve(INK, 4, (38, 4), (30, 0), (22, 6))  # handlebar
    pen.ring(INK, 52, 44, 6, 3)


@in_field(90, 100)
def boat(pen: Pen, look: Look) -> None:
    pen.line(WOOD, 3, (46, 0), (46, 76))  # mast
    if look.dice.chance(70):
        pen.polygon(look.second, (42, 8), (42, 68), (4, 68))  # foresail
    pen.polygon(CHALK, (50, 2), (88, 68), (50, 68))
    pen.polygon(look.second, (50, 2), (60, 20), (50, 20))
    pen.polygon(look.main, (0, 74), (90, 74), (76, 100), (16, 100))  # hull
    pen.polygon(look.dark, (0, 74), (90, 74), (87, 80), (4, 80))


@in_field(100, 54)
def airplane(pen: Pen, look: Look) -> None:
    pen.polygon(look.second, (76, 26), (90, 0), (100, 0), (95, 28))  # fin
    pen.polygon(look.dark, (40, 24), (62, 4), (70, 4), (60, 26))  # far wing
    pen.blob(look.main, (-4, 30), (10, 18), (50, 18), (102, 22), (100, 32), (50, 40), (8, 42))
    pen.blob(GLASS, (6, 22), (16, 20), (18, 27), (4, 28))  # cockpit
    for x in range(26, 80, 7):
        pen.block(INK, x, 25, x + 3, 29)
    pen.polygon(look.dark, (38, 33), (58, 33), (76, 54), (66, 54))  # near wing
    pen.blob(METAL, (44, 41), (58, 41), (58, 50), (44, 50))  # engine
    pen.polygon(look.dark, (82, 29), (94, 29), (100, 37), (94, 37))


@in_field(100, 66)
def train(pen: Pen, look: Look) -> None:
    pen.polygon(RED, (0, 62), (14, 46), (14, 62))  # cowcatcher
    pen.block(INK, 10, 48, 98, 54)
    pen.polygon(INK, (18, 4), (34, 4), (30, 24), (22, 24))  # chimney
    pen.dome(STRAW, 48, 22, 7, 10)
    pen.block(look.main, 14, 20, 66, 48)  # boiler
    pen.oval(look.dark, 14, 34, 5, 14)
    for x in (32, 46, 60):
        pen.block(look.second, x, 20, x + 3, 48)
    pen.block(look.main, 64, 6, 96, 48)  # cabin
    pen.block(look.dark, 60, 0, 100, 7)
    pen.block(GLASS, 70, 12, 90, 26)
    for x, r in ((24, 9), (43, 9), (80, 13)):
        pen.disc(INK, x, 66 - r, r)
        pen.disc(RED, x, 66 - r, r - 3)
        pen.disc(INK, x, 66 - r, 2)
    pen.line(METAL, 3, (24, 57), (80, 55))  # rod
