"""The photo model as it is shipped: the codes of torch, both lengths, a card, in a folder that opens without torch."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from deepbinaries.datasets import load
from deepbinaries.errors import Error
from deepbinaries.language import Vocabulary
from deepbinaries.model import Model
from deepbinaries.pretrained import place_of
from deepbinaries.search import LazyModel
from recipes.photo import more_words
from recipes.photo import ship as shipping
from recipes.photo.card import table, write_card
from recipes.photo.known import known_by, with_more
from recipes.photo.networks import BITS, SHORT_BITS, PictureNetwork, SentenceNetwork
from recipes.photo.wordings import TOKENS

REPOSITORY = Path(__file__).parents[2]
WORDS = ["a", "dog", "on", "beach", "red", "car", "two", "boats"]
FACTS = {"dataset": "some", "digest": "d" * 64}
SENTENCES = ["a dog on a beach", "two red boats", "a car", ""]


@pytest.fixture(scope="module")
def words():
    rng = np.random.default_rng(0)
    table = rng.integers(-127, 128, (len(WORDS) + 3, 100)).astype(np.int8)
    table[:3] = 0
    return shipping.Words(Vocabulary(WORDS, TOKENS), table, 0.02)


@pytest.fixture(scope="module")
def networks(words):
    torch.manual_seed(0)
    return PictureNetwork().eval(), SentenceNetwork(words.vectors).eval()


@pytest.fixture(scope="module")
def proof():
    scenes = load("scenes", items=3)
    return [scenes.picture(row) for row in range(3)], SENTENCES


@pytest.fixture(scope="module")
def taught():
    scenes = load("scenes", items=6)
    return [scenes.picture(row) for row in range(3, 6)]


@pytest.fixture(scope="module")
def shipped(networks, words, taught, proof, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shipped") / "photo"
    shipping.ship(*networks, words, taught, proof, "c" * 64, folder, trained_on=FACTS)
    return folder


def test_the_bits_are_those_of_torch(shipped, networks, proof):
    found = shipping.measure(Model.from_pretrained(shipped), *networks, *proof)
    assert found["pictures"]["equal_bits"] > 0.98
    assert found["sentences"]["equal_bits"] > 0.98


def test_words_are_stored_in_bytes_and_give_what_floats_give(shipped, networks, words):
    sentences = Model.from_pretrained(shipped).encode_texts(SENTENCES, values=True)
    with torch.inference_mode():
        wanted = networks[1](torch.from_numpy(words.vocabulary.encode(SENTENCES))).numpy()
    np.testing.assert_allclose(sentences, wanted, atol=0.02 * np.abs(wanted).max())


def test_both_lengths_are_there_and_the_folder_is_small(shipped):
    assert (Model.from_pretrained(shipped).bits, Model.from_pretrained(shipped, bits=SHORT_BITS).bits) == (BITS, 64)
    assert sum(path.stat().st_size for path in shipped.iterdir()) < 9_000_000  # 70,000 words are 7 MB more


@pytest.fixture
def glove():
    """Vectors of the words and of four more, of which `puppy` lies at `dog` and `ship` at `boats`."""
    rng = np.random.default_rng(1)
    vectors = {word: rng.normal(size=102).tolist() for word in [*WORDS, "senate", "madrid"]}
    near = {
        name: (np.array(vectors[beside]) + 0.1).tolist() for name, beside in {"puppy": "dog", "ship": "boats"}.items()
    }
    return {"words": [*WORDS, "senate", "ship", "madrid", "puppy"], "vectors": vectors | near}


@pytest.fixture
def listed(tmp_path):
    path = tmp_path / "english"
    path.write_text("dog\nMadrid\nsenate\nship\npuppy\nship's\nunheard\n")
    return path


CAPTIONS = [*["a dog on a beach"] * 6, *["two red boats"] * 9]


def test_words_nearest_to_what_captions_speak_of_are_added_behind_those_that_are_known(words, glove, listed):
    wider = with_more(words, glove, listed, CAPTIONS, 2)
    assert wider.vocabulary.words[: len(WORDS)] == tuple(WORDS)
    assert {*wider.vocabulary.words[len(WORDS) :]} == {"puppy", "ship"}
    assert wider.vocabulary.spoken[:2] == ("a", "red")
    assert (wider.table[: len(words.table)] == words.table).all()
    assert wider.table.shape == (len(words.table) + 2, 100)


def test_a_model_that_knows_more_words_says_of_the_others_what_it_said(shipped, glove, listed, tmp_path):
    folder = tmp_path / "photo"
    shutil.copytree(shipped, folder)
    before = Model.from_pretrained(folder)
    wider = with_more(known_by(before, folder), glove, listed, CAPTIONS, 2)
    more_words.write(before, wider, FACTS, folder)
    after = Model.from_pretrained(folder)
    assert np.array_equal(after.encode_texts(SENTENCES, values=True), before.encode_texts(SENTENCES, values=True))
    assert (before.reading("a puppy").unknown, after.reading("a puppy").unknown) == (("puppy",), ())
    assert np.array_equal(known_by(after, folder).table, wider.table)


def test_the_model_that_comes_along_knows_words_of_photographs_and_whom_captions_speak_of():
    vocabulary = Model.from_pretrained("photo").vocabulary
    asked = (
        "poodle spaniel corgi hamster walrus ladybug dragonfly snowman sledding icicle waffles croissant ramen latte"
    )
    asked += " dumpling teapot ukulele webcam lawnmower unicycle bridesmaids barista duvet guacamole kayaker"
    assert [word for word in asked.split() if word not in vocabulary] == []
    meant = {"dgo": "dog", "trian": "train", "vehical": "vehicle", "sking": "skiing", "hourse": "house"}
    assert {word: vocabulary.nearest(word) for word in meant} == meant


def test_the_figures_of_the_shipped_model_name_the_one_that_ships():
    cells = [json.loads(line) for line in (REPOSITORY / "results/photo/cells.jsonl").read_text().splitlines()]
    shipped = {cell["digests"].get("model") for cell in cells if cell["model"] == "shipped"}
    assert shipped == {LazyModel(place_of("photo")).fingerprint}


def test_networks_that_do_not_agree_are_not_shipped(networks, words, taught, proof, tmp_path, monkeypatch):
    monkeypatch.setattr(shipping, "LEAST_AGREEMENT", 1.01)
    with pytest.raises(Error, match="of the bits are those of torch"):
        shipping.ship(*networks, words, taught, proof, "c" * 64, tmp_path / "photo", trained_on=FACTS)
    assert not (tmp_path / "photo").exists()


def test_the_card_has_the_figures_of_the_cells_and_leaves_the_model_as_it_is(shipped, tmp_path):
    cell = {"model": "shipped", "mode": "hamming", "dataset": "coco18", "bits": 128, "recall_at_10": 0.7123}
    cells = [cell, cell | {"model": "torch", "recall_at_10": 0.7345}, cell | {"mode": "real", "recall_at_10": 0.7456}]
    (tmp_path / "cells.jsonl").write_text("".join(json.dumps(each) + "\n" for each in cells))
    before = Model.from_pretrained(shipped).encode_texts("a dog")
    write_card(shipped, tmp_path / "cells.jsonl")
    card = (shipped / "README.md").read_text()
    assert [".712" in card, ".734" in card, ".746" in card] == [True, False, False]
    assert "GloVe" in card
    assert Model.from_pretrained(shipped).encode_texts("a dog") == before


def test_cells_are_listed_by_dataset_and_bits():
    cells = [{"dataset": "iapr22", "bits": 64}, {"dataset": "coco18", "bits": 128}, {"dataset": "coco18", "bits": 64}]
    rows = [line.split(" | ") for line in table(cells).splitlines()[2:]]
    assert [(row[0].strip("| "), row[5]) for row in rows] == [("coco18", "64"), ("coco18", "128"), ("iapr22", "64")]
