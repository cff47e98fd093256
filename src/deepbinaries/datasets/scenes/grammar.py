"""What people would say of a scene: each sentence speaks of some of the things, and what it says is true."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepbinaries.datasets.scenes.categories import SIZES
from deepbinaries.datasets.scenes.composition import Scene, Thing
from deepbinaries.datasets.scenes.dice import Dice
from deepbinaries.datasets.scenes.relations import RELATIONS

Group = tuple[Thing, ...]  # all the things of one category

ALONE = (
    "{a} {place}",
    "{a} {verb} {place}",
    "there {is_a} {a} {place}",
    "{view} of {a} {place}",
    "{place} there {is_a} {a}",
    "one can see {a} {place}",
)
RELATED = (
    "{a} {relation} {b}",
    "{a} {is_a} {relation} {b}",
    "{a} {verb} {relation} {b}",
    "{a} {relation} {b} {place}",
    "there {is_a} {a} {relation} {b}",
    "{view} of {a} {relation} {b}",
    "{place}, {a} {verb} {relation} {b}",
    "{b} {place}, and {a} {relation} {it}",
    "there {is_b} {b}; {a} {verb} {relation} {it}",
)
TOGETHER = (
    "{all}",
    "{all} {place}",
    "there {is_a} {all} {place}",
    "{view} of {all}",
    "{view} of {all} {place}",
    "{place} there {is_a} {all}",
    "one can see {all} {place}",
)

VIEWS = "a photo|a picture|a photograph|a view|a snapshot"
NUMBERS = {2: "two|two|two|a couple of", 3: "three", 4: "four"}
SIZE_WORDS = {"small": "small|little", "big": "big|large"}
COLOUR_WORDS = {"purple": "purple|violet", "grey": "grey|gray", "turquoise": "turquoise|teal"}
RELATION_WORDS = {
    "left of": "to the left of|on the left of|left of",
    "right of": "to the right of|on the right of|right of",
    "above": "above|over|high above",
    "below": "below|under|underneath",
    "next to": "next to|beside|near|close to",
}


@dataclass(frozen=True)
class Statement:
    """A sentence, the groups it speaks of, and how the first of them lies to the second, where it says so."""

    text: str
    groups: tuple[Group, ...]
    relation: str = ""


def statements(scene: Scene) -> list[Statement]:
    """One to five different statements about a scene, of 4 to 20 words each."""
    dice = Dice("scenes", scene.seed, scene.row, "words")
    groups = grouped(scene.things)
    facts = [
        (a, name, b)
        for a in groups
        for b in groups
        for name, holds in RELATIONS.items()
        if a is not b and all(holds(x, y) for x in a for y in b)
    ]
    wanted = dice.between(1, 5)
    found: dict[str, Statement] = {}
    while len(found) < wanted:
        if facts and dice.chance(50):
            subject, relation, other = dice.pick(facts)
            statement = _statement(dice, scene, RELATED, [subject, other], relation)
        elif len(groups) > 1 and dice.chance(65):
            statement = _statement(dice, scene, TOGETHER, dice.sample(groups, dice.between(2, min(3, len(groups)))))
        else:
            statement = _statement(dice, scene, ALONE, [dice.pick(groups)])
        if 4 <= len(statement.text.split()) <= 20:
            found.setdefault(statement.text, statement)
    return list(found.values())


def grouped(things: Sequence[Thing]) -> list[Group]:
    """The things by category, in the order in which they are met."""
    names = dict.fromkeys(thing.category.name for thing in things)
    return [tuple(thing for thing in things if thing.category.name == name) for name in names]


def _statement(
    dice: Dice, scene: Scene, templates: Sequence[str], groups: Sequence[Group], relation: str = ""
) -> Statement:
    names = [_naming(dice, group) for group in groups]
    text = dice.pick(templates).format(
        a=names[0],
        b=names[-1],
        all=f"{', '.join(names[:-1])} and {names[-1]}",
        is_a=_conjugated("be", len(groups[0])),
        is_b=_conjugated("be", len(groups[-1])),
        it="it" if len(groups[-1]) == 1 else "them",
        verb=_conjugated(_one_of(dice, groups[0][0].category.verbs), len(groups[0])),
        relation=_one_of(dice, RELATION_WORDS.get(relation, relation)),
        place=_place(dice, scene, groups),
        view=_one_of(dice, VIEWS),
    )
    return Statement(text, tuple(groups), relation)


def _naming(dice: Dice, group: Group) -> str:
    """A group in words: how many, perhaps their size and colour, and a noun; a person is not red, but in red."""
    noun, _, plural = _one_of(dice, group[0].category.nouns).partition("/")
    colours = [_one_of(dice, COLOUR_WORDS.get(thing.colour, thing.colour)) for thing in group]
    sizes = {_size(thing) for thing in group}
    alike = len({thing.colour for thing in group}) == 1
    wears = group[0].category.name == "person"
    if len(group) == 2 and not alike and not wears and dice.chance(40):
        return " and ".join(map(_with_article, colours)) + f" {noun}"
    words = [noun if len(group) == 1 else plural or noun + "s"]
    if alike and dice.chance(60):
        words = [*words, "in", colours[0]] if wears else [colours[0], *words]
    if len(sizes) == 1 and dice.chance(40):
        words = [_one_of(dice, SIZE_WORDS.get(sizes.pop(), "")), *words]
    phrase = " ".join(words).strip()
    return _with_article(phrase) if len(group) == 1 else f"{_one_of(dice, NUMBERS[len(group)])} {phrase}"


def _size(thing: Thing) -> str:
    """`small` or `big` among its kind, or neither."""
    left, top, right, bottom = thing.box
    low, high = SIZES[thing.category.size]
    longer, quarter = max(right - left, bottom - top), (high - low) // 4
    return "small" if longer < low + quarter else "big" if longer > high - quarter else ""


def _place(dice: Dice, scene: Scene, groups: Sequence[Group]) -> str:
    things = [thing for group in groups for thing in group]
    if all(thing.flies for thing in things):
        return _one_of(dice, scene.background.above)
    if any(thing.flies or thing.zone == "water" for thing in things) or dice.chance(50):
        return _one_of(dice, scene.background.here)
    return _one_of(dice, scene.background.below)


def _conjugated(verb: str, n: int) -> str:
    """The verb as one or several do it.

    >>> _conjugated("fly", 1), _conjugated("be parked", 2)
    ('flies', 'are parked')
    """
    first, *rest = verb.split()
    one, several = {"be": ("is", "are"), "fly": ("flies", "fly")}.get(first, (first + "s", first))
    return " ".join([one if n == 1 else several, *rest])


def _with_article(phrase: str) -> str:
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def _one_of(dice: Dice, phrases: str) -> str:
    return dice.pick(phrases.split("|"))
