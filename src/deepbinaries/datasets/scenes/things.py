"""How food, toys and the things of a household are drawn."""

from deepbinaries.datasets.scenes.colours import CHALK, INK, LEAF, METAL, STRAW, WOOD, Look, blend, darker, lighter
from deepbinaries.datasets.scenes.pen import Pen, in_field, on_circle


@in_field(90, 100)
def apple(pen: Pen, look: Look) -> None:
    flesh = [(6, 20), (28, 14), (45, 28), (62, 14), (84, 20), (93, 56), (74, 102), (45, 96), (16, 102), (-3, 56)]
    pen.blob(look.dark, *flesh)
    pen.blob(look.main, *[(x * 88 // 100, 3 + y * 93 // 100) for x, y in flesh])
    pen.blob(look.light, (12, 36), (26, 28), (22, 50), (12, 60))
    pen.curve(WOOD, 6, (45, 28), (44, 12), (54, 0))
    pen.blob(LEAF, (48, 20), (60, 2), (86, 2), (72, 20))


@in_field(100, 68)
def banana(pen: Pen, look: Look) -> None:
    inner = [(-2, 52), (8, 46), (40, 50), (72, 38), (84, 20)]
    pen.blob(look.main, (88, 4), (100, 10), (102, 40), (80, 64), (40, 70), (8, 64), *inner)
    pen.curve(look.dark, 3, (92, 10), (92, 44), (50, 66), (6, 54))
    pen.polygon(WOOD, (86, 0), (94, 0), (98, 14), (86, 16))
    pen.disc(INK, 3, 54, 4)


@in_field(100, 84)
def cup(pen: Pen, look: Look) -> None:
    pen.ring(look.dark, 76, 42, 24, 9)  # handle
    pen.polygon(look.main, (0, 8), (76, 8), (70, 78), (58, 84), (18, 84), (6, 78))
    pen.polygon(look.dark, (62, 10), (76, 10), (70, 78), (58, 84), (50, 84))
    pen.oval(look.light, 38, 8, 38, 8)
    pen.oval((86, 52, 34), 38, 9, 33, 5)  # coffee
    if look.dice.chance(50):
        pen.block(look.second, 4, 38, 72, 50)
    else:
        for x in (16, 37, 58):
            pen.disc(look.second, x, 46, 7)


@in_field(40, 100)
def bottle(pen: Pen, look: Look) -> None:
    pen.block(WOOD, 15, 0, 25, 8)  # cork
    pen.polygon(
        look.main, (14, 6), (26, 6), (26, 26), (40, 44), (40, 98), (36, 100), (4, 100), (0, 98), (0, 44), (14, 26)
    )
    pen.polygon(look.light, (16, 10), (19, 10), (19, 30), (8, 46), (8, 92), (4, 92), (4, 44), (16, 28))
    if look.dice.chance(70):
        pen.block(CHALK, 0, 56, 40, 82)  # label
        pen.block(look.second, 0, 60, 40, 66)
        pen.block(METAL, 10, 72, 30, 75)


@in_field(64, 100)
def chair(pen: Pen, look: Look) -> None:
    for x in (12, 46):
        pen.block(look.dark, x, 54, x + 6, 88)  # far legs
    if look.dice.chance(60):
        for y in (4, 20, 36):
            pen.block(look.main, 8, y, 56, y + 8)  # slats
    else:
        pen.block(look.light, 8, 6, 56, 44)
    for x in (4, 52):
        pen.block(look.main, x, 0, x + 8, 60)
    pen.polygon(look.light, (10, 52), (54, 52), (64, 64), (0, 64))  # seat
    pen.block(look.dark, 0, 64, 64, 69)
    for x in (2, 55):
        pen.block(look.main, x, 69, x + 7, 100)  # near legs


@in_field(100, 62)
def table(pen: Pen, look: Look) -> None:
    for x in (18, 76):
        pen.block(darker(look.dark), x, 16, x + 6, 48)  # far legs
    pen.polygon(look.light, (14, 0), (86, 0), (100, 16), (0, 16))
    pen.block(look.main, 0, 16, 100, 23)
    pen.block(look.dark, 10, 23, 90, 27)
    for x in (3, 90):
        pen.block(look.main, x, 23, x + 7, 62)  # near legs
    if look.dice.chance(30):
        pen.polygon(look.second, (30, 0), (70, 0), (74, 16), (74, 30), (26, 30), (26, 16))  # cloth


@in_field(64, 100)
def lamp(pen: Pen, look: Look) -> None:
    pen.line(METAL, 5, (32, 40), (32, 92))
    pen.dome(look.second, 32, 100, 20, 16)  # foot
    pen.disc(look.second, 32, 66, 7)
    pen.polygon(look.main, (18, 0), (46, 0), (64, 46), (0, 46))  # shade
    pen.polygon(look.light, (22, 4), (30, 4), (26, 42), (10, 42))
    pen.dome(STRAW, 32, 46, 10, -6)  # bulb
    pen.line(INK, 1, (50, 46), (50, 62))


@in_field(90, 100)
def clock(pen: Pen, look: Look) -> None:
    for bell, x, foot in ((18, 22, 12), (72, 68, 78)):
        pen.line(INK, 7, (x, 84), (foot, 99))
        pen.disc(look.dark, bell, 14, 13)
    pen.block(INK, 41, 1, 49, 16)
    pen.disc(look.main, 45, 54, 45)
    pen.disc(CHALK, 45, 54, 36)
    for quarter in range(0, 32, 8):
        pen.line(INK, 3, on_circle(45, 54, 27, quarter), on_circle(45, 54, 33, quarter))
    for width, length in ((5, 18), (3, 27)):
        pen.line(INK, width, (45, 54), on_circle(45, 54, length, look.dice.below(32)))  # hands
    pen.disc(look.main, 45, 54, 3)


@in_field(100, 100)
def umbrella(pen: Pen, look: Look) -> None:
    pen.line(METAL, 3, (50, 0), (50, 84))
    pen.curve(WOOD, 5, (50, 76), (50, 98), (35, 100), (35, 84))  # handle
    pen.dome(look.main, 50, 52, 50, 48)
    pen.blob(look.light, (50, 4), (62, 16), (68, 54), (50, 56), (32, 54), (38, 16))
    for x in (17, 50, 84):
        pen.dome(look.dark, x, 53, 16, 6)


@in_field(100, 100)
def ball(pen: Pen, look: Look) -> None:
    pen.disc(look.main, 50, 50, 50)
    pen.oval(CHALK, 46, 50, 38, 49)
    pen.oval(look.main, 42, 50, 22, 48)
    pen.oval(CHALK, 38, 50, 7, 46)
    for y in (8, 92):
        pen.disc(look.dark, 42, y, 8)


@in_field(68, 100)
def kite(pen: Pen, look: Look) -> None:
    pen.curve(INK, 2, (34, 58), (20, 74), (48, 84), (32, 100))  # tail
    pen.polygon(look.main, (34, 0), (68, 28), (34, 66), (0, 28))
    pen.polygon(look.light, (34, 0), (68, 28), (34, 28))
    pen.polygon(look.dark, (34, 66), (0, 28), (34, 28))
    pen.line(INK, 1, (34, 0), (34, 66))
    pen.line(INK, 1, (0, 28), (68, 28))
    for x, y in ((33, 77), (37, 90)):
        pen.polygon(look.second, (x - 9, y - 5), (x + 9, y + 5), (x + 9, y - 5), (x - 9, y + 5))  # bows


@in_field(52, 100)
def balloon(pen: Pen, look: Look) -> None:
    pen.curve(INK, 1, (26, 64), (20, 76), (32, 88), (26, 100))  # string
    pen.blob(look.main, (6, 1), (26, -1), (46, 1), (56, 30), (28, 70), (24, 70), (-4, 30))
    pen.polygon(look.dark, (26, 58), (32, 66), (20, 66))
    pen.blob(look.light, (12, 12), (20, 8), (18, 28), (10, 30))


@in_field(100, 72)
def book(pen: Pen, look: Look) -> None:
    pen.polygon(look.main, (0, 6), (46, 14), (54, 14), (100, 6), (100, 64), (54, 72), (46, 72), (0, 64))  # cover
    for left in (True, False):
        edge, bend, inner = (6, 26, 44) if left else (94, 74, 56)
        pen.polygon(darker(CHALK, 15), (50, 12), (bend, 4), (edge, 5), (edge, 58), (bend, 57), (50, 66))
        pen.polygon(CHALK, (50, 10), (bend, 1), (edge, 0), (edge, 54), (bend, 53), (50, 62))
        for y in range(12, 50, 8):
            pen.line(blend(INK, CHALK, 40), 2, (inner, y + 4), (bend, y), ((bend + 3 * edge) // 4, y - 1))
    pen.line(look.dark, 2, (50, 10), (50, 70))


@in_field(40, 100)
def guitar(pen: Pen, look: Look) -> None:
    pen.polygon(INK, (14, 0), (26, 0), (24, 13), (16, 13))  # head
    pen.blob(look.main, (8, 44), (32, 44), (36, 64), (42, 80), (36, 101), (4, 101), (-2, 80), (4, 64))
    pen.disc(INK, 20, 68, 7)
    pen.block(darker(WOOD), 17, 8, 23, 62)  # neck
    pen.block(INK, 12, 86, 28, 89)
    for x in (18, 20, 22):
        pen.line(lighter(METAL), 1, (x, 4), (x, 87))


@in_field(100, 56)
def hat(pen: Pen, look: Look) -> None:
    pen.oval(look.dark, 50, 46, 50, 10)  # brim
    pen.blob(look.main, (22, 46), (24, 6), (40, -2), (50, 8), (60, -2), (76, 6), (78, 46), (50, 54))
    pen.blob(look.second, (23, 32), (50, 38), (77, 32), (78, 44), (50, 50), (22, 44))  # ribbon
