"""Weights from files: only tensors, only known pickles, only what fits."""

import hashlib
import pickle

import pytest
import torch
from safetensors.torch import load, save_file
from torch import nn

from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.vision.backbones.conversion import cache_folder, converted
from deepbinaries.vision.backbones.weights import Weights, load_into, read_weights

HALF = {"weight": torch.full((1, 2), 0.5), "bias": torch.zeros(1)}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPBINARIES_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def pickled(path, state) -> str:
    """A `.pth` with this state, and its digest."""
    torch.save(state, path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("code in a pickle was run",))


def test_the_cache_lies_where_the_user_wants_it(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("DEEPBINARIES_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert str(cache_folder()) == "/x/deepbinaries"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/ada")
    assert str(cache_folder()) == "/home/ada/.cache/deepbinaries"


def test_a_pickle_with_the_stated_digest_is_converted(tmp_path):
    sha256 = pickled(tmp_path / "a.pth", HALF)
    weights = read_weights(f"{tmp_path}/a.pth#sha256={sha256}")
    assert weights.tensors["weight"].tolist() == [[0.5, 0.5]]
    assert (weights.sha256, weights.source) == (sha256, "a.pth")


def test_a_converted_pickle_is_not_needed_again(tmp_path):
    sha256 = pickled(tmp_path / "a.pth", HALF)
    first = converted(lambda: tmp_path / "a.pth", sha256)
    assert converted(lambda: pytest.fail("it was asked for again"), sha256) == first
    assert load(first)["bias"].tolist() == [0.0]


def test_a_pickle_with_another_digest_is_refused_unopened(tmp_path):
    (tmp_path / "a.pth").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(DataError, match="a.pth has the SHA-256 .*; copy it again from a source you trust"):
        read_weights(f"{tmp_path}/a.pth#sha256={'0' * 64}")


@pytest.mark.parametrize("digest", ["", "#sha256=", "#sha256=12", f"#sha256={'G' * 64}", f"#sha256={'../' * 21}a"])
def test_a_pickle_without_a_whole_digest_is_refused(tmp_path, digest):
    with pytest.raises(UsageError, match="a.pth is a pickle, which is opened only if its SHA-256 is known"):
        read_weights(f"{tmp_path}/a.pth{digest}")


@pytest.mark.parametrize("state", [Evil(), [HALF], {"weight": [0.5]}, {"epoch": 3, **HALF}])
def test_a_pickle_of_anything_but_tensors_is_refused_and_never_run(tmp_path, state):
    path = tmp_path / "a.pth"
    sha256 = pickled(path, state)
    with pytest.raises(DataError, match="a.pth .*save its state_dict alone"):
        read_weights(f"{path}#sha256={sha256}")


def test_garbage_with_the_stated_digest_is_refused(tmp_path):
    (tmp_path / "a.pth").write_bytes(b"garbage")
    with pytest.raises(DataError, match="a.pth holds no plain weights"):
        read_weights(f"{tmp_path}/a.pth#sha256={hashlib.sha256(b'garbage').hexdigest()}")


def test_a_cache_that_cannot_be_written_says_which_variable_moves_it(tmp_path, cache):
    sha256 = pickled(tmp_path / "a.pth", HALF)
    cache.write_bytes(b"a file where the folder should be")
    with pytest.raises(Error, match="set DEEPBINARIES_CACHE to a folder that can be written"):
        read_weights(f"{tmp_path}/a.pth#sha256={sha256}")


def test_an_unknown_kind_of_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="a.h5 is no file of weights"):
        read_weights(tmp_path / "a.h5")


def test_a_file_cut_in_the_middle_is_refused_by_name(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file(HALF, path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DataError, match="a.safetensors is no whole safetensors file"):
        read_weights(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"bias": None}, "bias is missing"),
        ({"extra": torch.zeros(1)}, "extra has no place"),
        ({"weight": torch.zeros(2, 2)}, r"weight is \(2, 2\), not \(1, 2\)"),
        ({"bias": torch.tensor([float("nan")])}, "bias is not finite"),
    ],
)
def test_weights_that_do_not_fit_are_refused_with_the_first_reason(change, reason):
    given = {name: tensor for name, tensor in {**HALF, **change}.items() if tensor is not None}
    with pytest.raises(DataError, match=f"a.safetensors does not fit the network \\({reason}\\)"):
        load_into(nn.Linear(2, 1), Weights(given, "", "a.safetensors"))


def test_a_classifier_that_is_left_out_may_be_there():
    network = nn.Linear(2, 1)
    load_into(network, Weights({**HALF, "fc.weight": torch.zeros(5)}, "", ""), leave_out="fc.")
    assert network.weight.tolist() == [[0.5, 0.5]]
