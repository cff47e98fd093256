"""Workers of a Ray cluster do what a plain loop does, also when one of them is killed in the middle."""

import importlib.util
import os
from pathlib import Path

import pytest
from collections_of_pictures import content, one_by_one
from dying_model import DyingModel

from deepbinaries.bulk import Workers, encode_collection, on_ray, read_shards
from deepbinaries.bulk.worker import Unit
from deepbinaries.cluster import join, leave
from deepbinaries.errors import Error
from deepbinaries.search import LazyModel

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
    pytest.mark.xdist_group("ray"),  # one cluster at a time: two cores start no six machines within Ray's 30 seconds
]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Ray on this machine, with two cores, whose workers know the modules beside this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        assert join(cpus=2)
    yield
    leave()


def test_a_killed_worker_loses_nothing_and_leaves_nothing_twice(pictures, tmp_path, model_folder, capfd):
    died = tmp_path / "died"
    model = DyingModel(model_folder, died, after=2)  # each batch is a shard
    report = encode_collection(pictures, tmp_path / "shards", model, workers=Workers(2), shard_items=2, progress=False)
    assert int(died.read_text()) != os.getpid()
    assert content(tmp_path / "shards") == one_by_one(LazyModel(model_folder), pictures)
    assert (report.encoded, report.failed, report.shards) == (20, 1, 11)
    assert [failed for shard in read_shards(tmp_path / "shards") for failed in shard.failures] == ["damaged.jpg"]
    assert capfd.readouterr() == ("", "")


def test_a_run_that_ray_began_is_gone_on_with_by_a_plain_loop(pictures, tmp_path, model):
    shards = tmp_path / "shards"
    encode_collection(pictures, shards, model, workers=Workers(1), progress=False)
    assert not join()  # the cluster that was there is still there
    for path in shards.glob("000001-*"):
        path.unlink()
    report = encode_collection(pictures, shards, model, progress=False)
    assert (report.before, report.encoded) == (15, 6)
    assert content(shards) == one_by_one(model, pictures)


def test_what_a_worker_refuses_is_one_line_here(pictures, tmp_path, model_folder):
    model = LazyModel(model_folder, backbone_weights="nowhere.onnx")
    with pytest.raises(Error, match=r"^\S*nowhere\.onnx does not exist; [^\n]+$"):
        encode_collection(pictures, tmp_path / "shards", model, workers=Workers(1), progress=False)


def test_what_a_worker_never_expected_is_one_line_too(tmp_path, model_folder, monkeypatch):
    def full(_model):
        raise RuntimeError("the GPU is full\nand so on")

    monkeypatch.setattr(on_ray, "limit_threads", lambda _cores: None)
    monkeypatch.setattr(LazyModel, "get", full)
    answer = on_ray.Actor(LazyModel(model_folder), tmp_path, 1, 0.5)({"item": Unit(0, [])})
    assert answer["problem"] == "a worker failed (RuntimeError: the GPU is full)"


@pytest.mark.parametrize(("gpus", "seen"), [(0, ""), (0.5, "3")])
def test_a_worker_sees_a_gpu_if_it_was_given_one(tmp_path, model, monkeypatch, gpus, seen):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    on_ray.Actor(model, tmp_path, 1, gpus)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == seen


def test_cores_of_two_machines_make_no_worker():
    with pytest.raises(Error, match="finds its place on any of the 2 machines"):
        on_ray._refuse_too_many(Workers(1, cores=2), [{"CPU": 1.0}, {"CPU": 1.0}])


def test_a_worker_that_finds_no_place_is_told_of_and_not_waited_for(pictures, tmp_path, model):
    with pytest.raises(Error, match="no worker with 3 cores and 0 GPUs finds its place"):
        encode_collection(pictures, tmp_path / "shards", model, workers=Workers(1, cores=3), progress=False)
