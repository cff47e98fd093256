"""From a scene to its picture."""

import hashlib

import numpy as np
from PIL import Image

from deepbinaries.datasets.scenes.canvas import DOTS, FINE, SIDE, Outline, paint
from deepbinaries.datasets.scenes.colours import NAMED, Look, varied
from deepbinaries.datasets.scenes.composition import Scene, Thing
from deepbinaries.datasets.scenes.dice import Dice
from deepbinaries.datasets.scenes.pen import Box, Pen

GRAIN = 7  # the noise of the camera: a pixel is at most so much lighter or darker
WHOLE: tuple[Box, tuple[int, int]] = ((0, 0, SIDE, SIDE), (SIDE, SIDE))


def draw(scene: Scene) -> Image.Image:
    """The picture of a scene, SIDE x SIDE pixels in RGB."""
    sheet = backdrop(scene)
    for place, thing in enumerate(scene.things):
        sheet += shadow(scene, thing) + figure(scene, place)
    dots = Image.frombytes("RGBX", (DOTS, DOTS), paint(sheet).tobytes())
    return _photographed(dots.reduce(FINE), Dice("scenes", scene.seed, scene.row, "camera"))


def backdrop(scene: Scene) -> list[Outline]:
    """The outlines of the background and its clutter."""
    dice = Dice("scenes", scene.seed, scene.row, "background")
    sheet: list[Outline] = []
    scene.background.draw(Pen(sheet, *WHOLE, mirrored=dice.chance(50)), dice)
    return sheet


def shadow(scene: Scene, thing: Thing) -> list[Outline]:
    """What a thing throws on the ground, or stirs up in the water; nothing, when it flies."""
    sheet: list[Outline] = []
    if not thing.flies:
        left, _, right, bottom = thing.box
        colour = (150, 196, 212) if thing.zone == "water" else scene.background.shadow
        half = (right - left) * 54 // 100
        Pen(sheet, *WHOLE).oval(colour, (left + right) // 2, bottom - 1, half, max(3, half // 10))
    return sheet


def figure(scene: Scene, place: int) -> list[Outline]:
    """The outlines of one thing."""
    thing = scene.things[place]
    dice = Dice("scenes", scene.seed, scene.row, "thing", place)
    look = Look(varied(NAMED[thing.colour], dice), varied(NAMED[thing.second], dice), dice)
    sheet: list[Outline] = []
    thing.category.drawing.put(sheet, thing.box, look, mirrored=thing.mirrored)
    return sheet


def _photographed(picture: Image.Image, dice: Dice) -> Image.Image:
    """The picture in another light, and with grain."""
    light = np.array([dice.between(123, 132) for _ in "RGB"], dtype=np.uint16)
    pixels = (np.asarray(picture.convert("RGB"), dtype=np.uint16) * light) >> 7
    noise = hashlib.shake_256(str(dice.below(1 << 32)).encode()).digest(SIDE * SIDE)
    grain = np.frombuffer(noise, dtype=np.uint8).astype(np.int16).reshape(SIDE, SIDE, 1) % (2 * GRAIN + 1) - GRAIN
    return Image.fromarray(np.clip(pixels.astype(np.int16) + grain, 0, 255).astype(np.uint8))
