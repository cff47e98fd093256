"""The photo model as it is shipped: the codes of torch, both lengths, a card, in a folder that opens without torch."""

import json

import numpy as np
import pytest
import torch

from deepbinaries.datasets import load
from deepbinaries.errors import Error
from deepbinaries.language import Vocabulary
from deepbinaries.model import Model
from recipes.photo import ship as shipping
from recipes.photo.card import table, write_card
from recipes.photo.networks import BITS, SHORT_BITS, PictureNetwork, SentenceNetwork
from recipes.photo.wordings import TOKENS

WORDS = ["a", "dog", "on", "beach", "red", "car", "two", "boats"]
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
    shipping.ship(*networks, words, taught, proof, "c" * 64, folder)
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
    assert sum(path.stat().st_size for path in shipped.iterdir()) < 12_000_000  # 40,000 words are 4 MB more


def test_networks_that_do_not_agree_are_not_shipped(networks, words, taught, proof, tmp_path, monkeypatch):
    monkeypatch.setattr(shipping, "LEAST_AGREEMENT", 1.01)
    with pytest.raises(Error, match="of the bits are those of torch"):
        shipping.ship(*networks, words, taught, proof, "c" * 64, tmp_path / "photo")
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
