"""A large collection is encoded once, whatever happens in between."""

import json
import shutil

import numpy as np
import pytest
from collections_of_pictures import content, one_by_one
from PIL import Image

from deepbinaries.bulk import encode_collection, encoding, import_shards, read_shards
from deepbinaries.bulk.listing import list_items
from deepbinaries.bulk.worker import Unit, Worker
from deepbinaries.bulk.workers import Workers
from deepbinaries.codes import load
from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.index import open_index
from deepbinaries.model import Model
from deepbinaries.search import LazyModel

DAMAGED = "damaged.jpg"


@pytest.fixture
def shards(tmp_path):
    return tmp_path / "shards"


def encode(pictures, shards, model, **settings):
    return encode_collection(pictures, shards, model, shard_items=8, progress=False, **settings)


def test_every_picture_gets_the_code_that_a_plain_loop_gives(pictures, shards, model):
    report = encode(pictures, shards, model)
    assert content(shards) == one_by_one(model, pictures)
    assert (report.items, report.before, report.encoded, report.failed, report.shards) == (21, 0, 20, 1, 3)


def test_a_damaged_picture_is_skipped_and_listed_with_the_reason(pictures, shards, model):
    report = encode(pictures, shards, model)
    ((reason, count),) = report.failures.items()
    assert "damaged" in reason
    assert count == 1
    assert (shards / "failures.csv").read_text().splitlines()[1].startswith(f"{DAMAGED},")
    assert [list(shard.failures) for shard in read_shards(shards)] == [[DAMAGED], [], []]


def test_what_is_done_is_not_decoded_again(pictures, shards, model, monkeypatch):
    encode(pictures, shards, model)
    monkeypatch.setattr(encoding, "Worker", None)
    report = encode(pictures, shards, model)
    assert (report.before, report.encoded, report.shards) == (21, 0, 0)


def test_only_new_pictures_are_encoded(pictures, shards, model):
    encode(pictures, shards, model)
    Image.new("RGB", (40, 36), "red").save(pictures / "new.png")
    assert encode(pictures, shards, model).encoded == 1
    assert content(shards) == one_by_one(model, pictures)


def test_failed_pictures_alone_are_tried_again_when_asked_for(pictures, shards, model):
    encode(pictures, shards, model)
    Image.new("RGB", (40, 36), "red").save(pictures / DAMAGED)
    assert encode(pictures, shards, model).encoded == 0
    report = encode(pictures, shards, model, retry_failed=True)
    assert (report.encoded, report.failed, report.failures) == (1, 0, {})
    assert DAMAGED in content(shards)
    assert not (shards / "failures.csv").exists()
    assert encode(pictures, shards, model).before == 21


def test_a_run_that_is_cut_short_is_gone_on_with(pictures, shards, model, monkeypatch):
    whole = Worker.encode

    def cut_short(worker, unit):
        if unit.number == 1:
            raise KeyboardInterrupt
        return whole(worker, unit)

    monkeypatch.setattr(Worker, "encode", cut_short)
    with pytest.raises(KeyboardInterrupt):
        encode(pictures, shards, model)
    monkeypatch.undo()
    report = encode(pictures, shards, model)
    assert (report.before, report.encoded) == (8, 13)
    assert content(shards) == one_by_one(model, pictures)


def test_a_worker_that_was_thought_dead_writes_beside_the_next_one(pictures, tmp_path, model):
    unit = Unit(0, list_items(pictures, "folder").items[:3])
    for _ in range(2):
        Worker(model, tmp_path, decoders=1).encode(unit)
    assert len(list(tmp_path.glob("000000-*.npy"))) == 2


def test_files_without_a_marker_do_not_count_and_are_removed(pictures, shards, model):
    encode(pictures, shards, model)
    (marker,) = shards.glob("000001-*.done.json")
    marker.unlink()
    assert encode(pictures, shards, model).encoded == 8
    assert content(shards) == one_by_one(model, pictures)
    assert len(list(shards.glob("*.npy"))) == len(list(shards.glob("*.done.json"))) == 3


@pytest.mark.parametrize("ending", [".npy", ".ids.txt", ".npy.json"])
def test_a_shard_that_is_not_as_it_was_written_is_refused_by_name(pictures, shards, model, ending):
    encode(pictures, shards, model)
    (file,) = shards.glob(f"000001-*{ending}")
    file.write_bytes(file.read_bytes()[:-2] + b"x\n")
    with pytest.raises(DataError, match=r"the shard 000001-\w+ .* is damaged"):
        encode(pictures, shards, model)
    for path in shards.glob("000001-*"):
        path.unlink()
    assert encode(pictures, shards, model).encoded == 8
    assert content(shards) == one_by_one(model, pictures)


def test_a_marker_that_says_nothing_is_refused(pictures, shards, model):
    encode(pictures, shards, model)
    (marker,) = shards.glob("000001-*.done.json")
    marker.write_text(json.dumps([1]))
    with pytest.raises(DataError, match="000001"):
        list(read_shards(shards))


def test_a_shard_is_what_encode_writes(pictures, shards, model):
    encode(pictures, shards, model)
    (codes,) = shards.glob("000001-*.npy")
    assert len(load(codes)) == len(codes.with_suffix(".ids.txt").read_text().splitlines()) == 8


def test_another_model_is_refused(pictures, shards, model, model_folder):
    encode(pictures, shards, model)
    with pytest.raises(DataError, match="another model"):
        encode(pictures, shards, LazyModel(model_folder, bits=16))


def test_another_collection_is_refused_and_one_that_moved_is_followed(pictures, shards, model, tmp_path):
    encode(pictures, shards, model)
    other = shutil.copytree(pictures, tmp_path / "other")
    with pytest.raises(DataError, match="are of .*pictures"):
        encode(other, shards, model)
    shutil.rmtree(pictures)
    assert encode(other, shards, model).before == 21


def test_a_folder_without_a_shard_is_free_for_another_collection(pictures, shards, model, tmp_path):
    (tmp_path / "wrong").mkdir()
    with pytest.raises(DataError, match="no pictures"):
        encode(tmp_path / "wrong", shards, model)
    assert encode(pictures, shards, model).encoded == 20


@pytest.mark.parametrize("items", [0, 100_001])
def test_shards_of_no_size_are_refused(pictures, shards, model, items):
    with pytest.raises(UsageError, match="make no shard"):
        encode_collection(pictures, shards, model, shard_items=items)


def test_a_folder_of_something_else_is_left_alone(pictures, tmp_path, model):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letter.txt").touch()
    with pytest.raises(UsageError, match="something else"):
        encode(pictures, mine, model)
    assert [path.name for path in mine.iterdir()] == ["letter.txt"]


def test_a_second_run_at_the_same_time_is_refused(pictures, shards, model, monkeypatch):
    def meanwhile(*_):
        with pytest.raises(Error, match="another process encodes to"):
            encode_collection(pictures, shards, model, progress=False)
        raise KeyboardInterrupt

    monkeypatch.setattr(encoding, "_missing", meanwhile)
    with pytest.raises(KeyboardInterrupt):
        encode(pictures, shards, model)


def test_shards_inside_the_pictures_folder_are_no_pictures(pictures, model):
    encode(pictures, pictures / "codes", model)
    assert encode(pictures, pictures / "codes", model).items == 21


def test_shards_become_an_index_and_importing_them_again_changes_nothing(pictures, shards, model, tmp_path):
    encode(pictures, shards, model)
    assert [import_shards(shards, tmp_path / "index") for _ in range(2)] == [20, 20]
    with open_index(tmp_path / "index") as index:
        assert {id_: index.codes_of([id_]).packed[0].tobytes() for id_ in index.ids()} == content(shards)


def test_a_folder_without_shards_is_no_index(tmp_path):
    with pytest.raises(DataError, match="no shard that is done"):
        import_shards(tmp_path, tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_pictures_whose_values_are_not_finite_are_failures(pictures, shards, model, monkeypatch):
    def blind(model, some, *, values):
        return np.full((len(some), model.bits), np.nan if values else 0, dtype=np.float32)

    monkeypatch.setattr(Model, "encode_images", blind)
    report = encode(pictures, shards, model)
    assert report.failures["its features are not finite"] == 20
    assert content(shards) == {}


@pytest.mark.parametrize("settings", [{"n": -1}, {"n": 1, "cores": 0}, {"n": 0, "address": "auto"}, {"gpus": 1}])
def test_workers_that_cannot_be_had_are_refused(settings):
    with pytest.raises(UsageError):
        Workers(**settings)
