"""Where a scene takes place: ten backgrounds, the zones in which things may be, and how people speak of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from deepbinaries.datasets.scenes import buildings, landscapes
from deepbinaries.datasets.scenes.colours import Colour
from deepbinaries.datasets.scenes.dice import Dice
from deepbinaries.datasets.scenes.pen import Pen

Zones = Mapping[str, tuple[int, int]]  # how low the lower edge of a thing may be, in pixels from the top


@dataclass(frozen=True)
class Background:
    """A place. Alternative phrases have bars between them."""

    name: str
    draw: Callable[[Pen, Dice], None]
    zones: Zones
    shadow: Colour  # what things throw on the ground
    hides: str  # colours that would hardly be seen in front of it
    here: str  # said of whatever is in it
    below: str  # said of what stands on the ground
    above: str  # said of what flies


def outdoors(ground: tuple[int, int], **more: tuple[int, int]) -> Zones:
    """The zones of a place under the sky: `air` and `ground` are everywhere, `sky` and `land` only there."""
    return {"air": (56, 130), "sky": (56, 122), "ground": ground, "land": ground, **more}


INDOORS: Zones = {"air": (64, 134), "ground": (174, 219), "indoors": (174, 219)}

BACKGROUNDS = (
    Background(
        name="beach",
        draw=landscapes.beach,
        zones=outdoors((166, 219), water=(112, 142)),
        shadow=(190, 164, 116),
        hides="",
        here="at the beach|by the sea|at the seaside",
        below="on the beach|on the sand",
        above="above the sea|over the beach|in the sky",
    ),
    Background(
        name="meadow",
        draw=landscapes.meadow,
        zones=outdoors((150, 219)),
        shadow=(70, 114, 52),
        hides="green",
        here="in a meadow|in the countryside",
        below="on the grass|in a green field",
        above="over a meadow|above the grass|in the sky",
    ),
    Background(
        name="snow",
        draw=landscapes.snow,
        zones=outdoors((152, 219), snow=(152, 219)),
        shadow=(196, 206, 224),
        hides="white",
        here="in winter|on a snowy day",
        below="in the snow|on the snow",
        above="over the snow|in the winter sky",
    ),
    Background(
        name="desert",
        draw=landscapes.desert,
        zones=outdoors((150, 219), sand=(150, 219)),
        shadow=(176, 130, 80),
        hides="yellow orange",
        here="in the desert|in the sandy desert",
        below="on the hot sand|between the dunes",
        above="over the desert|above the dunes|in the sky",
    ),
    Background(
        name="lake",
        draw=landscapes.lake,
        zones=outdoors((182, 219), water=(116, 164)),
        shadow=(82, 112, 56),
        hides="green",
        here="at the lake|by the water",
        below="on the shore|by the lake",
        above="over the lake|above the water|in the sky",
    ),
    Background(
        name="mountains",
        draw=landscapes.mountains,
        zones=outdoors((156, 219)),
        shadow=(96, 100, 78),
        hides="grey",
        here="in the mountains|in the hills",
        below="in front of the mountains|on stony ground",
        above="over the mountains|above the peaks|in the sky",
    ),
    Background(
        name="street",
        draw=buildings.street,
        zones=outdoors((164, 219)),
        shadow=(62, 64, 70),
        hides="grey",
        here="in the street|in town|in the city",
        below="on the road|on a street",
        above="above the street|over the town|in the sky",
    ),
    Background(
        name="night",
        draw=buildings.night,
        zones=outdoors((168, 219)),
        shadow=(36, 38, 58),
        hides="black",
        here="at night|in the city at night",
        below="on a dark street|under the stars",
        above="in the night sky|over the city at night",
    ),
    Background(
        name="room",
        draw=buildings.room,
        zones=INDOORS,
        shadow=(112, 80, 58),
        hides="",
        here="in a room|in the living room|at home",
        below="on the floor|on the wooden floor",
        above="in a room|in the living room",
    ),
    Background(
        name="kitchen",
        draw=buildings.kitchen,
        zones=INDOORS,
        shadow=(116, 100, 84),
        hides="",
        here="in the kitchen|in a kitchen",
        below="on the kitchen floor|on the tiles",
        above="in the kitchen|in the air",
    ),
)
