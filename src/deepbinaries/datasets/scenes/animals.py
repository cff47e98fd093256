"""How animals are drawn, all looking to the left."""

from deepbinaries.datasets.scenes.colours import CHALK, INK, ORANGE, PINK, STRAW, Look, darker
from deepbinaries.datasets.scenes.pen import Pen, in_field


@in_field(100, 84)
def dog(pen: Pen, look: Look) -> None:
    pen.curve(look.main, 7, (86, 36), (98, 34), (96, 4))  # tail
    for x in (40, 76):
        pen.line(look.dark, 9, (x, 54), (x, 84))  # far legs
    pen.blob(look.main, (24, 28), (60, 32), (96, 26), (98, 58), (66, 62), (26, 68))
    if look.dice.chance(40):
        pen.blob(look.dark, (62, 30), (86, 29), (88, 44), (66, 48))  # patch
    for x in (30, 89):
        pen.line(look.main, 10, (x, 48), (x, 84))  # near legs
    pen.polygon(look.main, (18, 18), (38, 14), (48, 36), (26, 50))  # neck
    if look.dice.chance(60):
        pen.line(look.second, 6, (23, 40), (44, 29))  # collar
    pen.blob(look.main, (0, 14), (14, 12), (20, 0), (40, 0), (40, 30), (24, 36), (0, 34))  # head
    pen.blob(look.dark, (28, 2), (42, 0), (48, 22), (42, 40), (30, 30))  # ear
    pen.disc(INK, 4, 18, 4)
    pen.disc(INK, 19, 13, 3)


@in_field(80, 100)
def cat(pen: Pen, look: Look) -> None:
    pen.curve(look.main, 9, (54, 92), (76, 98), (75, 62), (62, 54))  # tail
    pen.blob(look.main, (20, 42), (52, 42), (73, 76), (64, 100), (8, 100), (-3, 76))
    for x in (8, 64):
        pen.polygon(look.main, (x, 0), (36, 14), (x, 34))  # ears
        pen.polygon(PINK, ((3 * x + 36) // 4, 7), ((x + 36) // 2, 15), ((5 * x + 36) // 6, 22))
    pen.oval(look.main, 36, 30, 30, 21)
    for x in (30, 42):
        pen.line(look.dark, 2, (x, 70), (x, 99))  # forelegs
    if look.dice.chance(50):
        for x in (28, 36, 44):
            pen.line(look.dark, 3, (x, 10), (x, 18))  # stripes
        for y in (62, 72, 82):
            pen.line(look.dark, 3, (6, y), (18, y + 3))
            pen.line(look.dark, 3, (54, y + 3), (66, y))
    for x in (25, 47):
        pen.oval(STRAW, x, 28, 6, 5)
        pen.oval(INK, x, 28, 2, 5)
    pen.polygon(PINK, (32, 35), (40, 35), (36, 40))
    for y in (36, 43):
        pen.line(INK, 1, (26, 38), (0, y))  # whiskers
        pen.line(INK, 1, (46, 38), (72, y))


@in_field(100, 78)
def bird(pen: Pen, look: Look) -> None:
    pen.blob(look.dark, (60, 50), (34, 42), (16, 8), (16, -2), (36, 4), (66, 24))  # far wing
    pen.polygon(look.dark, (72, 50), (100, 46), (94, 54), (100, 62), (70, 62))  # tail
    pen.blob(look.main, (6, 44), (16, 34), (30, 40), (60, 42), (90, 52), (66, 74), (34, 80), (14, 70), (4, 54))
    pen.blob(look.light, (16, 60), (40, 66), (62, 64), (40, 78), (22, 74))  # breast
    pen.polygon(STRAW, (0, 52), (12, 46), (12, 57))
    feathers = [(92, 2), (88, 8), (90, 16), (83, 20), (84, 28), (76, 31), (76, 40), (64, 46)]
    pen.polygon(darker(look.dark, 15), (36, 56), (44, 36), (64, 12), *feathers, (54, 62))  # near wing
    pen.disc(INK, 20, 48, 3)


@in_field(100, 86)
def duck(pen: Pen, look: Look) -> None:
    pen.blob(look.main, (20, 54), (56, 48), (103, 36), (96, 76), (70, 86), (34, 86), (14, 72))
    pen.blob(look.main, (20, 14), (42, 14), (50, 66), (22, 68))  # neck
    pen.blob(ORANGE, (-2, 22), (18, 12), (20, 30), (2, 32))  # beak
    pen.disc(look.main, 31, 18, 18)
    if look.dice.chance(50):
        pen.line(look.second, 6, (24, 38), (43, 37))
    pen.blob(look.dark, (44, 60), (70, 54), (94, 52), (76, 78), (52, 76))  # wing
    pen.disc(INK, 26, 14, 3)


@in_field(100, 62)
def fish(pen: Pen, look: Look) -> None:
    pen.polygon(look.dark, (70, 31), (100, 6), (93, 31), (100, 58))  # tail
    pen.polygon(look.second, (28, 14), (44, 0), (64, 16))  # fins
    pen.polygon(look.second, (38, 50), (58, 62), (60, 48))
    pen.oval(look.main, 41, 32, 41, 24)
    if look.dice.chance(50):
        for x in (44, 60):
            pen.blob(look.second, (x, 10), (x + 8, 12), (x + 14, 32), (x + 8, 52), (x, 54), (x + 5, 32))
    pen.curve(look.dark, 2, (30, 16), (40, 32), (30, 48))  # gill
    pen.disc(CHALK, 18, 27, 6)
    pen.disc(INK, 17, 27, 3)
    pen.line(look.dark, 2, (2, 38), (13, 40))  # mouth


@in_field(100, 100)
def horse(pen: Pen, look: Look) -> None:
    pen.blob(look.dark, (86, 38), (100, 38), (102, 88), (92, 86), (92, 58))  # tail
    for x in (40, 78):
        pen.polygon(look.dark, (x - 5, 60), (x + 6, 60), (x + 3, 100), (x - 3, 100))  # far legs
    pen.blob(look.main, (22, 36), (60, 48), (94, 34), (98, 70), (60, 66), (32, 76), (24, 62))
    for x in (31, 89):
        pen.polygon(look.main, (x - 6, 56), (x + 7, 56), (x + 4, 94), (x - 3, 94))  # near legs
        pen.block(INK, x - 4, 94, x + 4, 100)
    if look.dice.chance(40):
        pen.block(look.second, 54, 41, 76, 58)  # saddle
    pen.polygon(look.main, (20, 20), (38, 6), (56, 46), (40, 62), (27, 54))  # neck
    pen.polygon(look.main, (26, 8), (33, 0), (35, 10))  # ear
    pen.blob(look.main, (-1, 30), (12, 20), (22, 4), (40, 4), (34, 24), (16, 38), (-1, 44))  # head
    pen.blob(look.dark, (28, 2), (40, 4), (62, 44), (48, 48), (36, 22))  # mane
    pen.disc(INK, 19, 18, 3)
    pen.disc(INK, 4, 34, 2)


@in_field(100, 76)
def cow(pen: Pen, look: Look) -> None:
    pen.curve(look.dark, 3, (93, 22), (101, 26), (98, 60))  # tail
    for x in (38, 80):
        pen.block(look.dark, x, 46, x + 8, 76)  # far legs
    pen.dome(PINK, 74, 52, 9, -9)  # udder
    pen.blob(look.main, (18, 14), (40, 14), (60, 14), (98, 12), (98, 56), (60, 56), (40, 58), (22, 56))
    for x in (28, 86):
        pen.block(look.main, x, 46, x + 9, 76)  # near legs
    pen.blob(look.second, (42, 15), (62, 15), (64, 34), (50, 40), (38, 30))  # patches
    pen.blob(look.second, (74, 30), (92, 28), (94, 48), (78, 50))
    for x in (4, 22):
        pen.curve(CHALK, 4, (13, 12), (x, 10), (x, 0))  # horns
    pen.oval(look.dark, 27, 15, 7, 4)  # ear
    pen.blob(look.main, (2, 8), (24, 8), (26, 30), (20, 48), (4, 48), (-2, 28))  # head
    pen.oval(PINK, 11, 40, 10, 8)
    for x in (8, 15):
        pen.disc(INK, x, 40, 2)
        pen.disc(INK, x - 1, 22, 2)


@in_field(100, 80)
def sheep(pen: Pen, look: Look) -> None:
    for x in (36, 48, 72, 84):
        pen.line(INK, 6, (x, 56), (x, 80))
    wool = [(34, 40, 18), (48, 22, 18), (68, 19, 19), (84, 34, 16), (84, 48, 16), (66, 54, 16), (46, 54, 16)]
    for x, y, r in wool:
        pen.disc(look.dark, x, y + 2, r)
    pen.oval(look.main, 60, 38, 30, 20)
    for x, y, r in wool:
        pen.disc(look.main, x, y - 1, r - 1)
    pen.oval(INK, 30, 22, 9, 4)  # ear
    pen.blob(INK, (6, 10), (28, 10), (28, 30), (10, 50), (-4, 42))  # face
    pen.disc(look.main, 18, 13, 8)
    pen.disc(CHALK, 13, 26, 3)


@in_field(100, 84)
def elephant(pen: Pen, look: Look) -> None:
    pen.curve(look.dark, 3, (94, 30), (100, 36), (98, 56))  # tail
    for x in (46, 78):
        pen.block(look.dark, x, 50, x + 12, 84)  # far legs
    pen.blob(look.main, (30, 4), (64, -1), (98, 6), (100, 64), (64, 66), (32, 62))
    for x in (34, 84):
        pen.block(look.main, x, 48, x + 13, 84)  # near legs
        pen.block(look.light, x + 1, 80, x + 12, 84)
    pen.curve(look.main, 11, (20, 22), (6, 36), (9, 70), (4, 77))  # trunk
    pen.polygon(CHALK, (14, 40), (22, 42), (6, 54))  # tusk
    pen.blob(look.main, (6, 10), (20, 2), (44, 4), (46, 44), (24, 52), (8, 40))  # head
    pen.blob(look.dark, (28, 8), (50, 6), (58, 34), (44, 56), (28, 40))  # ear
    pen.disc(INK, 19, 22, 3)


@in_field(64, 100)
def rabbit(pen: Pen, look: Look) -> None:
    for x in (21, 43):
        pen.oval(look.main, x, 22, 9, 22)  # ears
        pen.oval(PINK, x, 23, 4, 16)
    pen.disc(look.light, 56, 84, 8)  # tail
    pen.blob(look.main, (16, 54), (48, 54), (66, 88), (56, 101), (8, 101), (-2, 88))
    pen.blob(look.light, (20, 68), (44, 68), (50, 98), (14, 98))  # belly
    pen.oval(look.main, 32, 50, 24, 18)
    for x in (22, 42):
        pen.disc(INK, x, 46, 3)
        pen.oval(look.dark, x, 96, 11, 4)  # feet
    pen.polygon(PINK, (28, 52), (36, 52), (32, 57))
    pen.block(CHALK, 30, 58, 34, 64)  # teeth


@in_field(100, 78)
def butterfly(pen: Pen, look: Look) -> None:
    for left in (True, False):
        body, tip, far, near = (50, -1, 20, 38) if left else (50, 101, 80, 62)
        pen.curve(INK, 2, (body, 20), ((body + near) // 2, 8), (near, 1))  # feelers
        pen.blob(look.dark, (body, 38), ((far + tip) // 2, 34), (tip, 56), (far, 82), (near, 70))  # lower wings
        pen.blob(look.main, (body, 44), ((far + near) // 2, 3), (tip, -2), (tip, 34), (far, 50))  # upper wings
        pen.disc(look.second, (far + tip + near) // 3, 20, 9)
        pen.disc(look.light, far + (body - far) // 8, 56, 6)
    pen.oval(INK, 50, 42, 4, 26)


@in_field(64, 100)
def penguin(pen: Pen, look: Look) -> None:
    for x in (20, 44):
        pen.oval(ORANGE, x, 96, 11, 4)  # feet
    pen.blob(look.dark, (12, 38), (4, 46), (-2, 76), (10, 72))  # flippers
    pen.blob(look.dark, (52, 38), (60, 46), (66, 76), (54, 72))
    pen.blob(look.main, (14, 0), (50, 0), (56, 40), (64, 96), (32, 98), (0, 96), (8, 40))
    pen.blob(CHALK, (18, 36), (46, 36), (56, 92), (32, 96), (8, 92))  # belly
    for x in (24, 40):
        pen.oval(CHALK, x, 21, 7, 8)
        pen.disc(INK, x, 21, 3)
    pen.polygon(STRAW, (26, 27), (38, 27), (32, 37))
