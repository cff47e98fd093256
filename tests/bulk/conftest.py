"""A model of colours and a folder of coloured pictures, one of them damaged."""

from types import SimpleNamespace

import numpy as np
import pytest
from collections_of_pictures import draw_many

from colour_model import write_colour_model
from deepbinaries.search import LazyModel
from deepbinaries.vision.decoders import Decoders


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bulk") / "model"
    write_colour_model(folder)
    return folder


@pytest.fixture
def model(model_folder):
    return LazyModel(model_folder)


@pytest.fixture
def pictures(tmp_path):
    """Twenty pictures in two folders, and `damaged.jpg`."""
    folder = tmp_path / "pictures"
    draw_many(folder, 20, np.random.default_rng(0))
    whole = (folder / "even" / "000.png").read_bytes()
    (folder / "damaged.jpg").write_bytes(whole[: len(whole) // 2])
    return folder


@pytest.fixture(scope="session")
def running_decoders():
    with Decoders(1) as decoders:
        yield decoders


@pytest.fixture(autouse=True)
def quick_decoders(running_decoders, monkeypatch):
    """One process decodes for all tests of this room: starting it would take most of their time."""
    shared = SimpleNamespace(read=running_decoders.read, close=lambda: None)
    monkeypatch.setattr("deepbinaries.bulk.worker.Decoders", lambda _: shared)
