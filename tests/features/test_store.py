import hashlib
import json
import resource
import shutil
import sys

import numpy as np
import pytest
from mean_colours import MeanColours, WithFaults

from deepbinaries.errors import DataError, Error
from deepbinaries.features import FeatureStore, prepare_images
from deepbinaries.features.manifest import claim, describe
from deepbinaries.features.shards import write_shard

HOW = {"progress": False, "shard_items": 14}


@pytest.fixture(scope="module")
def made(scenes, tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    return prepare_images(scenes, None, MeanColours(), cache, progress=False, shard_items=5).folder


@pytest.fixture
def folder(made, tmp_path):
    """A store of 14 items in three shards, to be damaged."""
    return shutil.copytree(made, tmp_path / made.name)


def rewritten(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def note_of(**facts):
    """The text of a note that says this, with the digest that proves it."""
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return json.dumps(facts | {"sha256": digest})


def test_a_whole_store_opens_and_passes_its_check(folder):
    store = FeatureStore(folder)
    store.check(progress=False)
    assert (len(store), store.as_array().shape) == (14, (14, 3, 7))


def test_every_flipped_byte_of_the_numbers_is_noticed(folder):
    shard = folder / "regions-00001.npy"
    content = bytearray(shard.read_bytes())
    for place in (128, 150, len(content) - 1):  # the header of a small array takes 128 bytes
        content[place] ^= 1
        shard.write_bytes(content)
        with pytest.raises(DataError, match="regions-00001.npy are damaged: its bytes are not"):
            FeatureStore(folder).check(progress=False)
        content[place] ^= 1


@pytest.mark.parametrize("n_bytes", [0, 5, 100, 200])
def test_a_shard_cut_in_the_middle_is_refused_by_name(folder, n_bytes):
    shard = folder / "regions-00001.npy"
    shard.write_bytes(shard.read_bytes()[:n_bytes])
    with pytest.raises(DataError, match="regions-00001.npy are damaged: .* remove .*regions-00001.json and prepare"):
        FeatureStore(folder)


def test_a_shard_with_more_behind_it_is_refused(folder):
    shard = folder / "regions-00001.npy"
    shard.write_bytes(shard.read_bytes() + b"more")
    with pytest.raises(DataError, match="bytes, not"):
        FeatureStore(folder)


@pytest.mark.parametrize("other", [np.zeros((5, 3, 7), np.float32), np.zeros((5, 7, 3), np.float16)])
def test_a_shard_of_another_type_or_shape_is_refused(folder, other):
    np.save(folder / "regions-00001.npy", other)
    with pytest.raises(DataError, match=r"not float16 \(5, 3, 7\)"):
        FeatureStore(folder)


def test_a_shard_that_would_run_code_is_refused(folder):
    np.save(folder / "regions-00001.npy", np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="regions-00001.npy are damaged: it cannot be read"):
        FeatureStore(folder)


def test_a_shard_that_is_gone_is_refused_by_name(folder):
    (folder / "regions-00002.npy").unlink()
    with pytest.raises(DataError, match="regions-00002.npy are damaged: the file is not there"):
        FeatureStore(folder)


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"shape": 3}', note_of(shape=3), note_of(shape=[1, 2], crc32=0, failures={})]
)
def test_a_note_that_makes_no_sense_is_refused_by_name(folder, content):
    (folder / "regions-00001.json").write_text(content)
    with pytest.raises(DataError, match="its note makes no sense"):
        FeatureStore(folder)


def test_a_letter_that_flipped_in_a_note_is_noticed(scenes, tmp_path):
    faulty = WithFaults(scenes, {3: b""})
    folder = prepare_images(faulty, None, MeanColours(), tmp_path, **HOW).folder
    note = folder / "regions-00000.json"
    note.write_text(note.read_text().replace('"scene-00003"', '"scene-00013"'))
    for look in (lambda: FeatureStore(folder), lambda: prepare_images(faulty, None, MeanColours(), tmp_path, **HOW)):
        with pytest.raises(DataError, match="its digest is another one.*remove .*regions-00000.json and prepare"):
            look()


def test_a_note_that_speaks_of_pictures_of_another_shard_is_refused(folder):
    note = folder / "regions-00001.json"
    facts = json.loads(note.read_text()) | {"failures": {"scene-00001": "scene-00001 is empty"}}
    del facts["sha256"]
    note.write_text(note_of(**facts))
    with pytest.raises(DataError, match="'scene-00001' is not in the shard"):
        FeatureStore(folder)


def test_an_unfinished_store_says_what_it_lacks(folder):
    (folder / "regions-00002.json").unlink()
    with pytest.raises(DataError, match="lacks 1 of 3 shards; prepare again"):
        FeatureStore(folder)


def test_a_folder_without_features_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds no features"):
        FeatureStore(tmp_path)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"format": "something else"}, "does not describe features"),
        ({"version": 1}, "of version 1, this release reads 2"),
        ({"shard_items": 4}, "was changed"),
        ({"rows": list(range(1, 15))}, "was changed"),
        ({"ids": ["a"] * 14}, "was changed"),
        ({"identity": {}}, "was changed"),
        ({"rows": "all"}, "was changed"),
    ],
)
def test_a_manifest_that_was_changed_is_refused_with_the_folder_to_remove(folder, changes, why):
    rewritten(folder / "manifest.json", **changes)
    with pytest.raises(DataError, match=f"cannot be used: .*{why}.*; remove {folder} and prepare again"):
        FeatureStore(folder)


def test_the_store_of_another_dataset_is_refused(scenes, folder, tmp_path):
    other = prepare_images(scenes, [0, 1, 2], MeanColours(), tmp_path, progress=False, shard_items=5).folder
    shutil.copy(other / "manifest.json", folder / "manifest.json")
    with pytest.raises(DataError, match=f"for another dataset or by another encoder; remove {folder}"):
        prepare_images(scenes, None, MeanColours(), tmp_path, progress=False, shard_items=5)


def test_shards_of_another_store_are_refused(folder):
    for kind in ("npy", "json"):
        shutil.copy(folder / f"regions-00002.{kind}", folder / f"regions-00001.{kind}")
    with pytest.raises(DataError, match="its shards do not fit together"):
        FeatureStore(folder)


def test_a_shard_that_cannot_be_written_says_why(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(Error, match=r"regions-00000.npy cannot be written \(File too large\)"):
            write_shard(tmp_path, 0, [np.zeros((100, 21, 100), np.float16)], {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_what_a_killed_writer_left_behind_is_removed(tmp_path):
    (tmp_path / ".regions-00003.npy.4711.part").write_bytes(b"half")
    write_shard(tmp_path, 0, [np.zeros((2, 3, 7), np.float16)], {})
    assert not list(tmp_path.glob("*.part"))


def test_a_shard_that_another_process_has_written_is_kept(tmp_path):
    for value in (1, 2):
        write_shard(tmp_path, 0, [np.full((2, 3, 7), value, np.float16)], {})
    assert np.load(tmp_path / "regions-00000.npy").max() == 1


class Blank:
    """20,480 items without content."""

    name = "blank"
    ids = tuple(map(str, range(20_480)))

    def sentences(self, _):
        return []

    def picture(self, _):
        return b""


@pytest.fixture
def large(tmp_path):
    """A store in the paper's size, 3.5 GB of zeros that take no room on the disk."""
    manifest = describe(Blank(), np.arange(20_480), {}, shard_items=512)
    folder = claim(tmp_path, manifest)
    shape = (512, 21, 4100)
    for shard in range(40):
        path = folder / f"regions-{shard:05d}.npy"
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f2", "fortran_order": False, "shape": shape})
            file.truncate(file.tell() + 512 * 21 * 4100 * 2)
        path.with_suffix(".json").write_text(note_of(shape=shape, crc32=0, failures={}))
    return folder


def test_a_few_rows_of_a_large_store_take_little_memory(large):
    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    regions = FeatureStore(large).as_array().select(slice(0, 20_000))[::2000]
    assert regions.shape == (10, 21, 4100)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before < 200 * 2**20
