"""The things a scene may hold: how each is drawn, where it is found, and what people call it."""

from dataclasses import dataclass

from deepbinaries.datasets.scenes import animals, outdoors, things, vehicles
from deepbinaries.datasets.scenes.colours import NAMED
from deepbinaries.datasets.scenes.pen import Drawing

SIZES = {"small": (48, 96), "medium": (56, 120), "large": (72, 144)}  # the longer side, in pixels

ANY = " ".join(NAMED)
BRIGHT = "red orange yellow green turquoise blue purple pink"
FRUIT = "red orange yellow green pink"
FUR = "orange brown white grey black"
LEAVES = "red orange yellow green brown pink"
PETALS = "red orange yellow blue purple pink white"


@dataclass(frozen=True)
class Category:
    """One kind of thing. Alternatives share a text: words with blanks, phrases with bars between them."""

    name: str
    weight: int  # how often it is met, compared with the others of its zone
    drawing: Drawing
    size: str  # a name in SIZES
    zones: str  # where it may be, see backgrounds.py
    colours: str  # what its main colour may be
    nouns: str  # with the plural where it is irregular: person/people
    verbs: str  # as many of them do: "stand", "be parked"


# The weights fall slowly: two scenes drawn at random share a label in about three cases of ten.
CATEGORIES = (
    Category(
        "person", 56, outdoors.person, "large", "ground", ANY, "person/people|person/people|figure", "stand|wait|pose"
    ),
    Category("dog", 31, animals.dog, "medium", "ground", FUR, "dog|puppy/puppies|hound", "stand|wait"),
    Category("car", 26, vehicles.car, "large", "land", ANY, "car|automobile", "be parked|stand|wait"),
    Category("cat", 24, animals.cat, "medium", "ground", FUR, "cat|kitten|kitty/kitties", "sit|rest|wait"),
    Category("tree", 20, outdoors.tree, "large", "land", LEAVES, "tree", "grow|stand"),
    Category("bird", 15, animals.bird, "small", "air", ANY, "bird|songbird", "fly|glide"),
    Category("house", 14, outdoors.house, "large", "land", ANY, "house|cottage", "stand|be seen"),
    Category("chair", 9, things.chair, "medium", "ground", ANY, "chair|seat", "stand"),
    Category("flower", 9, outdoors.flower, "small", "ground", PETALS, "flower|blossom", "grow|bloom"),
    Category("bicycle", 8, vehicles.bicycle, "medium", "ground", ANY, "bicycle|bike|cycle", "stand|lean"),
    Category("balloon", 8, things.balloon, "small", "air", ANY, "balloon", "float|hover"),
    Category("cup", 8, things.cup, "small", "ground", ANY, "cup|mug|coffee cup", "stand"),
    Category("horse", 7, animals.horse, "large", "land", FUR, "horse|pony/ponies", "stand|wait"),
    Category("airplane", 7, vehicles.airplane, "medium", "sky", ANY, "airplane|plane|jet", "fly"),
    Category("bus", 6, vehicles.bus, "large", "land", ANY, "bus/buses|coach/coaches", "be parked|stop|wait"),
    Category("ball", 6, things.ball, "small", "ground", BRIGHT, "ball|beach ball|toy ball", "lie|rest"),
    Category("table", 6, things.table, "large", "ground", ANY, "table|desk", "stand"),
    Category("bottle", 6, things.bottle, "small", "ground", ANY, "bottle|flask", "stand"),
    Category("cow", 6, animals.cow, "large", "land", FUR, "cow|ox/oxen", "stand|graze"),
    Category("lamp", 5, things.lamp, "medium", "ground", BRIGHT, "lamp|table lamp", "stand"),
    Category("truck", 5, vehicles.truck, "large", "land", ANY, "truck|lorry/lorries", "be parked|wait"),
    Category("sheep", 5, animals.sheep, "medium", "land", "white brown grey black", "sheep/sheep|lamb", "stand|graze"),
    Category("book", 5, things.book, "small", "ground", ANY, "book|open book", "lie"),
    Category("umbrella", 5, things.umbrella, "medium", "ground", ANY, "umbrella|parasol", "stand|be seen"),
    Category("kite", 5, things.kite, "medium", "sky", ANY, "kite|paper kite", "fly|float"),
    Category("apple", 4, things.apple, "small", "ground", FRUIT, "apple", "lie|be seen"),
    Category("clock", 4, things.clock, "small", "ground", ANY, "clock|alarm clock", "stand"),
    Category("butterfly", 4, animals.butterfly, "small", "air", ANY, "butterfly/butterflies", "fly|flutter"),
    Category("train", 3, vehicles.train, "large", "land", ANY, "train|locomotive|steam engine", "stop|wait"),
    Category("hat", 3, things.hat, "small", "ground", ANY, "hat", "lie|be seen"),
    Category("guitar", 3, things.guitar, "medium", "ground", ANY, "guitar|acoustic guitar", "stand|lean"),
    Category("banana", 3, things.banana, "small", "ground", "yellow green orange brown red", "banana", "lie"),
    Category("rabbit", 3, animals.rabbit, "small", "ground", FUR, "rabbit|bunny/bunnies|hare", "sit"),
    Category("mushroom", 3, outdoors.mushroom, "small", "land", ANY, "mushroom|toadstool", "grow|stand"),
    Category("elephant", 3, animals.elephant, "large", "land", "grey brown white black pink", "elephant", "stand"),
    Category("tent", 3, outdoors.tent, "large", "land", ANY, "tent|camping tent", "stand"),
    Category("boat", 18, vehicles.boat, "medium", "water", ANY, "boat|sailboat|sailing boat", "sail|float"),
    Category("duck", 12, animals.duck, "small", "water", ANY, "duck", "swim|float"),
    Category("fish", 8, animals.fish, "medium", "water indoors", ANY, "fish/fish", "be seen"),
    Category("cactus", 24, outdoors.cactus, "medium", "sand", "green turquoise brown", "cactus/cacti", "grow|stand"),
    Category("snowman", 24, outdoors.snowman, "medium", "snow", "white", "snowman/snowmen", "stand|wait"),
    Category("penguin", 14, animals.penguin, "medium", "snow", "black grey blue purple", "penguin", "stand|wait"),
)
