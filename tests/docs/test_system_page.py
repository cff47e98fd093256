"""The system in pictures: sizes that are drawn and told are those of the networks."""

import importlib
import re
from pathlib import Path

import pytest

from deepbinaries.hashers.deep import Inputs
from deepbinaries.hashers.tvdb import TVDB

PICTURES = Path(__file__).parents[2] / "docs/pictures"


@pytest.fixture(scope="module")
def drawn():
    """The script that draws, as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PICTURES)
        return importlib.import_module("system")


@pytest.fixture(scope="module")
def paper(drawn):
    return drawn.system("tvdb-paper")


def weights(layers):
    return sum(layer.weights for layer in layers)


def test_the_page_and_the_drawing_are_those_of_the_networks(drawn, paper):
    assert drawn.PAGE.read_text() == drawn.page(), "run python docs/pictures/system.py"
    assert (PICTURES / "networks.svg").read_text() == drawn.networks(paper), "run python docs/pictures/system.py"


def test_the_papers_sizes_are_told(paper):
    lstm, *_ = paper.image
    assert (lstm.takes, lstm.gives) == ((21, 4100), (21, 1024))
    assert [layer.gives for layer in paper.text] == [
        *((12, 128), (128, 10), (128, 9), (128, 8)),
        *((1024,), (1024,), (64,)),
    ]
    assert paper.cnn[-1].gives == (4096,)


@pytest.mark.parametrize("preset", ["tvdb-paper", "tvdb"])
def test_no_layer_that_learns_is_left_out(drawn, preset):
    of = drawn.system(preset)
    words = 50
    small = TVDB.preset(preset, bits=64, device="cpu", embed=1, maps=1, hidden=2, fc=2).build(Inputs(8, words))
    whole = {name for name, module in small.named_modules() if [*module.parameters(recurse=False)]}
    told = {f"{side}.{layer.name}" for side in ("image", "text") for layer in getattr(of, side) if layer.weights}
    assert told == whole


def test_the_weights_are_those_of_the_formula(paper):
    lstm = 4 * 1024 * (4100 + 1024 + 2) + 4 * 1024 * (1024 + 1024 + 2)  # two biases a gate
    assert weights(paper.image) == lstm + (1024 + 1) * 1024 + (1024 + 1) * 64


def test_every_size_of_the_drawing_is_one_of_a_layer(drawn, paper):
    shapes = {drawn.shape(layer.gives) for layer in (*paper.image, *paper.text)}
    shapes |= {drawn.shape(layer.gives[::-1]) for layer in paper.text} | {drawn.shape(paper.text[-3].takes)}
    given = re.findall(r"→ ([\d ×]+)<", drawn.networks(paper))
    assert len(given) == 11
    assert set(given) <= shapes


def test_what_is_encoded_is_drawn_with_the_papers_numbers():
    texts = re.findall(r"<text[^>]*>(.*?)</text>", (PICTURES / "encoded.svg").read_text())
    assert {"21 × 4100 numbers.", "4096 numbers.", "12 tokens in their order", "eos"} <= set(texts)
