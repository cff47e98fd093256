"""The generated scenes: what they hold, that what is said of them is true, and that they never change."""

import hashlib
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbinaries.datasets import Dataset, check_dataset, digest, load
from deepbinaries.datasets.scenes import Scenes
from deepbinaries.datasets.scenes.backgrounds import BACKGROUNDS
from deepbinaries.datasets.scenes.canvas import FINE, STEPS, Outline, paint
from deepbinaries.datasets.scenes.categories import CATEGORIES, Category
from deepbinaries.datasets.scenes.colours import NAMED, Look, darker, lighter
from deepbinaries.datasets.scenes.composition import Thing
from deepbinaries.datasets.scenes.dice import Dice
from deepbinaries.datasets.scenes.drawing import backdrop, figure
from deepbinaries.datasets.scenes.grammar import COLOUR_WORDS, NUMBERS, Statement
from deepbinaries.errors import UsageError
from deepbinaries.vision import read_picture

# What the first scenes of seed 0 are. They change only when the dataset does, and then every result does too.
PIXELS = "25a956faab340f996479c7199ad8faaf1ac08b162801a24202bf9aba299501a7"
WORDS_AND_LABELS = "983b5e7e2a76a38c6dfd088d70367cc4c75dc6afdb816a4373df25e911be7651"


@pytest.fixture(scope="module")
def scenes() -> Scenes:
    return Scenes(2000)


@pytest.fixture(scope="module")
def told(scenes: Scenes) -> list[tuple[int, Statement]]:
    """A thousand items' statements, each with its row."""
    return [(row, statement) for row in range(1000) for statement in scenes.statements(row)]


def pixels(dataset: Dataset, row: int) -> bytes:
    return read_picture(dataset.picture(row)).tobytes()


# The contract


def test_scenes_are_loaded_by_name_and_keep_the_contract():
    dataset = load("scenes", items=10)
    assert isinstance(dataset, Dataset)
    assert len(dataset.ids) == 10
    check_dataset(dataset)


def test_a_picture_is_a_file_of_224_by_224_pixels_in_colour(scenes):
    picture = read_picture(scenes.picture(0))
    assert (picture.size, picture.mode) == ((224, 224), "RGB")


def test_nothing_is_composed_before_it_is_looked_at():
    assert "labels" not in vars(Scenes(10_000))


@pytest.mark.parametrize("items", [0, -1, 10**9, 2.5, "many"])
def test_a_nonsensical_number_of_items_is_refused(items):
    with pytest.raises(UsageError, match=f"items={items} .*ask for 1 to"):
        load("scenes", items=items)


def test_a_seed_that_is_no_whole_number_is_refused():
    with pytest.raises(UsageError, match="seed='dice' is no whole number"):
        load("scenes", seed="dice")


def test_a_row_beyond_the_last_is_refused():
    with pytest.raises(IndexError):
        Scenes(3).picture(3)


# What a scene holds


def test_the_labels_are_the_categories_of_the_things(scenes):
    for row in range(300):
        assert set(scenes.labels.of(row)) == {category for category, _ in scenes.boxes(row)}


def test_a_scene_holds_two_to_four_things(scenes):
    assert {len(scenes.boxes(row)) for row in range(300)} == {2, 3, 4}


def test_every_category_and_every_background_occurs(scenes):
    assert len(CATEGORIES) >= 30
    assert scenes.labels.counts().min() > 0
    assert {scenes.background(row) for row in range(300)} == {background.name for background in BACKGROUNDS}


@pytest.mark.parametrize("seed", [0, 1])
def test_two_items_share_a_label_in_about_three_cases_of_ten(seed):
    rows = np.arange(2000)
    assert 0.25 < Scenes(2000, seed).labels.chance(rows, rows) < 0.35


def test_boxes_lie_inside_the_picture_and_their_sizes_differ_threefold(scenes):
    boxes = np.array([box for row in range(300) for _, box in scenes.boxes(row)])
    longer = np.maximum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])
    assert boxes.min() >= 0
    assert boxes.max() <= 224
    assert longer.max() >= 3 * longer.min()


def test_no_colour_gives_a_category_away():
    for colour in NAMED:
        assert sum(colour in category.colours.split() for category in CATEGORIES) > 20


def test_at_least_six_tenths_of_every_thing_can_be_seen(scenes):
    overlaps = 0
    for row in range(60):
        scene = scenes.scene(row)
        figures = [figure(scene, place) for place in range(len(scene.things))]
        together = paint([replace(outline, colour=i + 1) for i, sheet in enumerate(figures) for outline in sheet])
        for i, sheet in enumerate(figures):
            alone = paint([replace(outline, colour=1) for outline in sheet]).sum()
            seen = (together == i + 1).sum()
            overlaps += seen < alone
            assert seen >= 0.6 * alone
    assert overlaps > 20  # things do cover each other


# How it is drawn


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda category: category.name)
def test_a_drawing_fills_its_box(category: Category):
    drawn = silhouette(category, "blue") != 0
    width, height = (side * FINE for side in category.drawing.field)
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    found = [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]
    assert found == pytest.approx([40, 40, 40 + width, 40 + height], abs=3 * FINE)


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda category: category.name)
def test_a_drawing_shows_the_colour_it_is_said_to_have(category: Category):
    main = NAMED[category.colours.split()[0]]
    shades = [main, darker(main), lighter(main), darker(darker(main), 15), darker(main, 18)]
    dots = silhouette(category, category.colours.split()[0])
    shown = np.isin(dots, [red | green << 8 | blue << 16 for red, green, blue in shades])
    assert shown.sum() > 0.2 * (dots != 0).sum()


def silhouette(category: Category, colour: str) -> np.ndarray:
    """The dots of a thing on empty paper, a pixel a unit, 20 pixels from the corner."""
    width, height = category.drawing.field
    sheet: list[Outline] = []
    look = Look(NAMED[colour], NAMED["purple"], Dice(category.name))
    category.drawing.put(sheet, (20, 20, 20 + width, 20 + height), look)
    return paint(sheet)


@pytest.mark.parametrize("background", BACKGROUNDS, ids=lambda background: background.name)
def test_a_background_leaves_no_dot_of_the_paper_empty(scenes, background):
    rows = [row for row in range(100) if scenes.background(row) == background.name][:3]
    assert all(paint(backdrop(scenes.scene(row))).all() for row in rows)


corners = st.tuples(st.integers(-20, 12 * STEPS), st.integers(-20, 12 * STEPS))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(corners, min_size=3, max_size=7), min_size=1, max_size=3))
def test_painting_agrees_with_asking_every_dot_which_outline_it_lies_in(polygons):
    painted = paint([Outline(i + 1, polygon) for i, polygon in enumerate(polygons)])
    for row in range(13):
        for column in range(13):
            inside = [i + 1 for i, polygon in enumerate(polygons) if lies_inside(polygon, column, row)]
            assert painted[row, column] == max(inside, default=0)


def lies_inside(polygon: list[tuple[int, int]], column: int, row: int) -> bool:
    """True when a line from the left edge to the middle of the dot crosses the outline an odd number of times."""
    x, y = (Fraction(place * STEPS + STEPS // 2) for place in (column, row))
    crossings = 0
    for (x0, y0), (x1, y1) in pairwise([*polygon, polygon[0]]):
        if (y0 <= y) != (y1 <= y):
            crossings += floor(x0 + (y - y0) * (x1 - x0) / (y1 - y0)) <= x
    return crossings % 2 == 1


# What is said of it


def test_an_item_has_one_to_five_different_sentences_of_4_to_20_words(scenes):
    counts = set()
    for row in range(1000):
        sentences = scenes.sentences(row)
        counts.add(len(sentences))
        assert len(set(sentences)) == len(sentences)
        assert all(4 <= len(sentence.split()) <= 20 for sentence in sentences)
    assert counts == {1, 2, 3, 4, 5}


def test_sentences_name_only_what_is_in_the_picture(scenes, told):
    for row, statement in told:
        assert named_categories(scenes, row, statement.text) == {group[0].category.name for group in statement.groups}
        assert all(thing in scenes.scene(row).things for group in statement.groups for thing in group)


def named_categories(scenes: Scenes, row: int, text: str) -> set[str]:
    """The categories whose nouns occur in a text, longer nouns first, so that a table lamp is no table."""
    background = scenes.scene(row).background
    for place in f"{background.here}|{background.below}|{background.above}".split("|"):
        text = re.sub(rf"\b{place}\b", "", text)
    found = set()
    for noun, name in sorted(NOUNS.items(), key=lambda item: -len(item[0])):
        text, n = re.subn(rf"\b{noun}\b", "", text)
        found |= {name} if n else set()
    return found


NOUNS = {
    form: category.name
    for category in CATEGORIES
    for noun in category.nouns.split("|")
    for form in (noun.split("/")[0], noun.split("/")[1] if "/" in noun else noun + "s")
}


def test_no_two_categories_share_a_noun():
    nouns = [noun for category in CATEGORIES for noun in set(category.nouns.split("|"))]
    assert len(set(nouns)) == len(nouns)


def test_not_every_sentence_speaks_of_everything(scenes, told):
    whole = [len(statement.groups) == len(scenes.labels.of(row)) for row, statement in told]
    assert 0.2 < np.mean(whole) < 0.8


def test_colours_are_those_of_the_things_that_are_spoken_of(told):
    name_of = {word: name for name in NAMED for word in COLOUR_WORDS.get(name, name).split("|")}
    spoken = 0
    for _, statement in told:
        words = re.findall(r"\w+", statement.text.replace("green field", ""))
        said = {name_of[word] for word in words if word in name_of}
        assert said <= {thing.colour for group in statement.groups for thing in group}
        spoken += bool(said)
    assert spoken > len(told) / 3


def test_numbers_count_the_things_of_a_group(told):
    number_of = {word: n for n, words in NUMBERS.items() for word in words.split("|")}
    for _, statement in told:
        said = Counter(n for word, n in number_of.items() for _ in re.findall(rf"\b{word}\b", statement.text))
        several = Counter(len(group) for group in statement.groups if len(group) > 1)
        assert not said - several


def test_relations_are_true(scenes, told):
    seen = Counter()
    for row, statement in told:
        if statement.relation:
            subject, other = statement.groups
            order = scenes.scene(row).things
            assert all(is_true(statement.relation, a, b, order) for a in subject for b in other)
            seen[statement.relation] += 1
    assert min(seen[name] for name in ("left of", "right of", "above", "below", "next to", "in front of", "behind")) > 5


def is_true(relation: str, a: Thing, b: Thing, order: tuple[Thing, ...]) -> bool:
    """What anybody would ask for, in the simplest words; `order` has the farthest thing first."""
    if relation in ("right of", "below", "behind"):
        return is_true({"right of": "left of", "below": "above", "behind": "in front of"}[relation], b, a, order)
    (left, top, right, bottom), (left_b, top_b, right_b, bottom_b) = a.box, b.box
    meet = left < right_b and left_b < right and top < bottom_b and top_b < bottom
    return {
        "left of": left < left_b and right < right_b and (left + right) / 2 < left_b,
        "above": a.flies and bottom <= top_b and left < right_b and left_b < right,
        "next to": abs(bottom - bottom_b) < 24 and (left_b - right < 32 and left - right_b < 32),
        "in front of": meet and order.index(a) > order.index(b),
    }[relation]


@pytest.mark.parametrize(
    ("words", "relation"),
    [("left of", "left of"), ("right of", "right of"), ("behind", "behind"), ("beside", "next to"), ("under", "below")],
)
def test_the_words_for_a_relation_are_said_where_it_holds(told, words, relation):
    said = [statement for _, statement in told if words in statement.text.replace("under the stars", "")]
    assert said
    assert {statement.relation for statement in said} == {relation}


def test_articles_fit_the_word_that_follows(told):
    for _, statement in told:
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]|  |\|", statement.text)


def test_sentences_are_rarely_said_twice(told):
    texts = Counter(statement.text for _, statement in told)
    assert sum(n for n in texts.values() if n > 1) < 0.02 * len(told)


# That it never changes


def test_an_item_does_not_depend_on_how_many_there_are(scenes):
    few = Scenes(5)
    assert few.ids == scenes.ids[:5]
    assert few.labels.sets() == scenes.labels.sets()[:5]
    for row in range(5):
        assert few.sentences(row) == scenes.sentences(row)
        assert few.picture(row) == scenes.picture(row)


def test_another_seed_gives_other_scenes(scenes):
    other = Scenes(3, seed=1)
    assert all(pixels(other, row) != pixels(scenes, row) for row in range(3))
    assert all(other.sentences(row) != scenes.sentences(row) for row in range(3))


def test_pictures_are_the_same_on_every_machine(scenes):
    assert hashlib.sha256(b"".join(pixels(scenes, row) for row in range(20))).hexdigest() == PIXELS


def test_sentences_and_labels_are_the_same_on_every_machine():
    assert digest(Scenes(200)) == WORDS_AND_LABELS
