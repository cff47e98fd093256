"""Networks of deep methods as ONNX files: the values of torch, whatever the method, the batch and the precision."""

import json

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Images, Texts
from deepbinaries.hashers.deep import Inputs
from deepbinaries.hashers.image_networks import IMAGE_NETWORKS
from deepbinaries.hashers.onnx_towers import SHARE, OnnxTowers
from deepbinaries.hashers.text_networks import TEXT_NETWORKS
from deepbinaries.hashers.tower_tracing import trace_towers
from deepbinaries.hashers.tvdb import TVDB
from deepbinaries.registry import METHODS

BITS, WIDTH, REGIONS, WORDS, LENGTH = 8, 6, 3, 20, 5
DEEP = [name for name, entry in METHODS.entries.items() if entry.extra and not name.startswith("tvdb")]
SMALL = {"bits": BITS, "hidden": 5, "fc": 7, "embed": 4, "maps": 4, "device": "cpu"}


def untrained(method: str, **settings):
    """A hasher with random networks, which are as good as any to be compared."""
    torch.manual_seed(0)
    hasher = METHODS.load(method).preset(method, **SMALL, **settings)
    texts = hasher.read(sentences(1))
    hasher.inputs_ = Inputs.of(pictures(1), texts)
    hasher.towers_ = hasher.build(hasher.inputs_)
    return hasher


def pictures(n: int) -> Images:
    return Images(np.random.default_rng(n).normal(size=(n, REGIONS, WIDTH + 4)).astype(np.float16))


def sentences(n: int) -> Texts:
    return Texts(np.random.default_rng(n).integers(0, WORDS, (n, LENGTH), dtype=np.int32), WORDS)


def traced(hasher, precision: str = "fp32") -> OnnxTowers:
    return trace_towers(hasher, regions=REGIONS, length=LENGTH, n_words=WORDS, precision=precision)


@pytest.fixture(scope="module")
def towers() -> OnnxTowers:
    return traced(untrained("tvdb-lstm"))


@pytest.mark.parametrize("method", DEEP)
def test_every_deep_method_gives_the_values_of_torch(method):
    hasher = untrained(method)
    made = traced(hasher)
    for side in (pictures(7), sentences(7)):
        assert_allclose(made.encode(side), hasher.encode(side), atol=1e-5)


@pytest.mark.parametrize("image", IMAGE_NETWORKS)
def test_every_network_of_pictures_gives_the_values_of_torch(image):
    hasher = untrained("tvdb-lstm", image=image)
    assert_allclose(traced(hasher).encode(pictures(7)), hasher.encode(pictures(7)), atol=1e-5)


@pytest.mark.parametrize("text", TEXT_NETWORKS)
def test_every_network_of_sentences_gives_the_values_of_torch(text):
    hasher = untrained("tvdb-lstm", text=text)
    assert_allclose(traced(hasher).encode(sentences(7)), hasher.encode(sentences(7)), atol=1e-5)


def test_many_sentences_are_shared_out_among_cores_and_come_in_order(towers, monkeypatch):
    monkeypatch.setattr(towers._text, "_at_once", 3)
    many = sentences(3 * SHARE + 1)
    assert_allclose(
        towers.encode(many), np.concatenate([towers.encode(many[row]) for row in range(len(many))]), atol=1e-6
    )


@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 1e-3), ("int8", 0.05)])
def test_a_lower_precision_stays_near_but_differs(precision, tolerance):
    hasher = untrained("tvdb-lstm", image="lstm", text="cnn")
    whole, small = traced(hasher), traced(hasher, precision)
    assert_allclose(small.encode(pictures(4)), whole.encode(pictures(4)), atol=tolerance)
    assert not np.array_equal(small.encode(sentences(4)), whole.encode(sentences(4)))


def test_half_precision_takes_about_half_the_bytes(tmp_path):
    hasher = METHODS.load("tvdb").preset("tvdb", bits=BITS, fc=512, device="cpu")
    hasher.inputs_ = Inputs(64, WORDS)
    hasher.towers_ = hasher.build(hasher.inputs_)
    sizes = {}
    for precision in ("fp32", "fp16"):
        traced(hasher, precision).save(tmp_path / precision)
        sizes[precision] = (tmp_path / precision / "image.onnx").stat().st_size
    assert sizes["fp16"] < 0.6 * sizes["fp32"]


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_an_item_does_not_depend_on_its_neighbours(precision):
    made = traced(untrained("tvdb-lstm"), precision)
    for side in (pictures(5), sentences(5)):
        alone = np.vstack([made.encode(side[row]) for row in range(5)])
        assert_allclose(made.encode(side), alone, atol=1e-6)


def test_nothing_gives_no_rows(towers):
    assert towers.encode(pictures(1)[:0]).shape == (0, BITS)
    assert towers.encode(sentences(1)[:0]).shape == (0, BITS)


def test_what_is_saved_and_loaded_encodes_alike(towers, tmp_path):
    towers.save(tmp_path)
    loaded = OnnxTowers.load(tmp_path)
    assert loaded.facts == towers.facts
    for side in (pictures(3), sentences(3)):
        assert np.array_equal(loaded.encode(side), towers.encode(side))


def test_pictures_of_another_backbone_are_refused(towers):
    with pytest.raises(DataError, match="have 5 features a region, the model was trained on 6"):
        towers.encode(Images(np.zeros((1, REGIONS, 9), np.float16)))


def test_pictures_of_another_number_of_regions_are_refused():
    network = traced(untrained("tvdb-lstm", image="mean"))
    with pytest.raises(DataError, match="image.onnx cannot encode"):
        network.encode(Images(np.zeros((1, REGIONS + 1, WIDTH + 4), np.float16)))


def test_sentences_of_another_vocabulary_are_refused(towers):
    with pytest.raises(DataError, match="are of 21 words, the model knows 20"):
        towers.encode(Texts(np.zeros((1, LENGTH), np.int32), WORDS + 1))


def test_an_exported_model_cannot_learn(towers):
    with pytest.raises(UsageError, match="cannot learn"):
        towers.fit(None)


def test_an_untrained_hasher_is_refused():
    with pytest.raises(UsageError, match="learnt nothing yet"):
        traced(TVDB())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "version 2"),
        ({"bits": 0}, "describes no networks"),
        ({"reads": "minds"}, "describes no networks"),
        ({"files": {}}, "image.onnx"),
        ({"files": {"image.onnx": "0", "text.onnx": "0"}}, "digest of image.onnx"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(towers, tmp_path, change, words):
    towers.save(tmp_path)
    stated = json.loads((tmp_path / "hasher.json").read_text())
    (tmp_path / "hasher.json").write_text(json.dumps(stated | change))
    with pytest.raises(DataError, match=words):
        OnnxTowers.load(tmp_path)


def test_networks_that_give_another_number_of_bits_are_refused(towers, tmp_path):
    towers.save(tmp_path)
    stated = json.loads((tmp_path / "hasher.json").read_text())
    (tmp_path / "hasher.json").write_text(json.dumps(stated | {"bits": 16}))
    with pytest.raises(DataError, match=r"gives \(1, 8\), not \(1, 16\)"):
        OnnxTowers.load(tmp_path).encode(pictures(1))
