"""The pictures of a collection are found with the ids that the datasets of this package give them."""

import io
import os
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from collections_of_pictures import content
from PIL import Image

from deepbinaries.bulk import encode_collection, parquet, read_shards
from deepbinaries.bulk.listing import kind_of, list_items
from deepbinaries.datasets import load
from deepbinaries.errors import DataError, UsageError


def png(colour) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (40, 36), colour).save(file, "PNG")
    return file.getvalue()


RED, BLUE = png("red"), png("blue")


def write_tar(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, file in members.items():
            facts = tarfile.TarInfo(name)
            facts.size = len(file)
            tar.addfile(facts, io.BytesIO(file))
    return path


def write_parquet(path, **columns):
    pyarrow = pytest.importorskip("pyarrow", reason="ray is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="ray is not installed")
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


def found(source, kind, **columns):
    return {item.id: item.picture.read() for item in list_items(source, kind, **columns).items}


def test_files_go_by_their_paths_below_the_folder(tmp_path):
    (tmp_path / "summer").mkdir()
    (tmp_path / "summer" / "a.png").write_bytes(RED)
    (tmp_path / "b.png").write_bytes(BLUE)
    assert found(tmp_path, "folder") == {"summer/a.png": RED, "b.png": BLUE}


def test_what_is_passed_over_in_a_folder_is_counted(tmp_path):
    (tmp_path / "a.png").write_bytes(RED)
    (tmp_path / "b.png").symlink_to("/nowhere.png")
    (tmp_path / "c\n.png").write_bytes(RED)
    (tmp_path / os.fsdecode(b"d\xff.png")).write_bytes(RED)
    listing = list_items(tmp_path, "folder")
    assert [item.id for item in listing.items] == ["a.png"]
    assert sum(listing.left_out.values()) == 3


def test_members_of_tar_files_go_by_the_ids_of_the_dataset(tmp_path):
    write_tar(tmp_path / "0.tar", {"a.png": RED, "a.txt": b"a red page", "b.png": BLUE, "b.json": b'{"id": 7}'})
    write_tar(tmp_path / "1.tar", {"c.png": BLUE})
    assert found(tmp_path, "webdataset") == {"a": RED, "7": BLUE, "c": BLUE}
    assert set(load("webdataset", tmp_path).ids) == {"a", "7", "c"}


def test_an_id_that_is_there_already_and_an_item_without_picture_are_left_out(tmp_path):
    write_tar(tmp_path / "0.tar", {"a.png": RED})
    write_tar(tmp_path / "1.tar", {"a.png": BLUE, "b.txt": b"no picture"})
    listing = list_items(tmp_path, "webdataset")
    assert [item.picture.read() for item in listing.items] == [RED]
    assert listing.left_out == {"its id stands for an earlier item": 1, "it has no picture": 1}


def test_rows_of_parquet_files_go_by_their_column_of_ids(tmp_path):
    write_parquet(tmp_path / "a.parquet", id=["x", "y", "z"], image=[RED, BLUE, RED])
    write_parquet(tmp_path / "below" / "b.parquet", id=[1], image=[BLUE])
    assert found(tmp_path, "parquet") == {"x": RED, "y": BLUE, "z": RED, "1": BLUE}


def test_without_a_column_of_ids_they_go_by_file_and_row(tmp_path):
    pictures = [{"bytes": RED, "path": "a.png"}, {"bytes": BLUE, "path": None}, {"bytes": RED, "path": None}]
    write_parquet(tmp_path / "p.parquet", image=pictures, label=[0, 1, 2])
    assert found(tmp_path / "p.parquet", "parquet") == {"p.parquet#0": RED, "p.parquet#1": BLUE, "p.parquet#2": RED}


def test_columns_are_those_that_are_named(tmp_path):
    file = write_parquet(tmp_path / "p.parquet", key=["k"], front=[RED], back=[BLUE])
    with pytest.raises(UsageError, match="2 columns that may hold pictures"):
        found(file, "parquet")
    assert found(file, "parquet", id_column="key", picture_column="back") == {"k": BLUE}


@pytest.mark.parametrize("columns", [{"id_column": "no"}, {"picture_column": "id"}, {"id_column": "image"}])
def test_a_column_that_is_not_there_or_holds_something_else_is_refused(tmp_path, columns):
    file = write_parquet(tmp_path / "p.parquet", id=["k"], image=[RED])
    with pytest.raises(UsageError, match=next(iter(columns.values()))):
        found(file, "parquet", **columns)


def test_a_parquet_file_that_is_cut_is_refused_by_name(tmp_path):
    file = write_parquet(tmp_path / "p.parquet", id=["k"], image=[RED])
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"p\.parquet cannot be read"):
        found(file, "parquet")


def test_a_row_without_a_picture_is_a_failure(tmp_path, model):
    file = write_parquet(tmp_path / "p.parquet", id=["a", "b"], image=[RED, None])
    encode_collection(file, tmp_path / "shards", model, progress=False)
    (shard,) = read_shards(tmp_path / "shards")
    assert (list(shard.ids), list(shard.failures)) == (["a"], ["b"])


def test_threads_that_need_the_same_row_group_read_it_once(tmp_path, monkeypatch):
    items = list_items(write_parquet(tmp_path / "p.parquet", image=[RED, BLUE]), "parquet").items
    opened, times = parquet._opened, []

    @contextmanager
    def slowly(file):
        times.append(file)
        time.sleep(0.05)
        with opened(file) as content:
            yield content

    monkeypatch.setattr(parquet, "_opened", slowly)
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda item: item.picture.read(), items)) == [RED, BLUE]
    assert len(times) == 1


def test_shards_of_another_column_are_refused(tmp_path, model):
    file = write_parquet(tmp_path / "p.parquet", id=["k"], front=[RED], back=[BLUE])
    encode_collection(file, tmp_path / "shards", model, picture_column="front", progress=False)
    with pytest.raises(DataError, match="were front"):
        encode_collection(file, tmp_path / "shards", model, picture_column="back", progress=False)


def test_other_tar_files_with_the_same_keys_are_refused_and_more_of_the_same_are_taken_up(tmp_path, model):
    for name, key in (("a-0", "x"), ("a-1", "y"), ("b-0", "x")):
        write_tar(tmp_path / f"{name}.tar", {f"{key}.png": RED})

    def encode(name):
        return encode_collection(tmp_path / name, tmp_path / "shards", model, progress=False)

    encode("a-{0..0}.tar")
    with pytest.raises(DataError, match=r"are of .*a-\{0\.\.0\}\.tar"):
        encode("b-{0..0}.tar")
    assert encode("a-{0..1}.tar").encoded == 1


def test_the_same_pictures_get_the_same_codes_wherever_they_lie(tmp_path, model):
    write_tar(tmp_path / "tars" / "0.tar", {"a.png": RED, "b.png": BLUE})
    write_parquet(tmp_path / "rows" / "p.parquet", id=["a", "b"], image=[RED, BLUE])
    for kind in ("tars", "rows"):
        encode_collection(tmp_path / kind, tmp_path / f"{kind}-codes", model, progress=False)
    assert content(tmp_path / "tars-codes") == content(tmp_path / "rows-codes")


def test_the_kind_of_a_folder_is_told_by_what_lies_in_it(tmp_path):
    write_tar(tmp_path / "tars" / "0.tar", {"a.png": RED})
    write_parquet(tmp_path / "rows" / "p.parquet", id=["a"], image=[RED])
    assert [kind_of(tmp_path / name) for name in ("tars", "rows", "")] == ["webdataset", "parquet", "folder"]


def test_files_of_several_kinds_are_asked_about(tmp_path):
    write_tar(tmp_path / "0.tar", {"a.png": RED})
    (tmp_path / "a.png").write_bytes(RED)
    with pytest.raises(UsageError, match="--kind webdataset or folder"):
        kind_of(tmp_path)


@pytest.mark.parametrize("name", ["nowhere", "letter.txt"])
def test_what_is_no_collection_is_refused(tmp_path, name):
    with pytest.raises(DataError, match=name):
        kind_of(tmp_path / name)


def test_a_collection_without_pictures_is_refused(tmp_path):
    with pytest.raises(DataError, match="there are no pictures in"):
        list_items(tmp_path, "folder")


def test_an_unknown_kind_is_refused(tmp_path):
    with pytest.raises(UsageError, match="folder, webdataset, parquet"):
        list_items(tmp_path, "zip")
