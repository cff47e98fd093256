import errno
import io
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from mean_colours import MeanColours, OnGpu, WithFaults
from PIL import Image

from deepbinaries.datasets import load
from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.features import FeatureStore, prepare_images, shards
from deepbinaries.features.manifest import LOOKED_AT
from deepbinaries.files import written_whole
from deepbinaries.vision import read_picture

HOW = {"batch": 3, "workers": 2, "progress": False, "shard_items": 4}  # 14 scenes: shards of 4, 4, 4 and 2

SCRIPT = """
import mean_colours
from deepbinaries.datasets import load
from deepbinaries.features import prepare_images
prepare_images(load("scenes", items=14), None, mean_colours.{encoder}, {folder!r}, **{how!r})
"""


def process(encoder: str, folder: Path, **how) -> subprocess.Popen:
    command = [sys.executable, "-c", SCRIPT.format(encoder=encoder, folder=str(folder), how=HOW)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    return subprocess.Popen(command, env=environment, **how)


def directly(dataset, rows):
    encoder = MeanColours()
    return np.array([encoder.regions(read_picture(dataset.picture(row))) for row in rows]).astype(np.float16)


def flat(batches):
    return [id_ for batch in batches for id_ in batch]


@pytest.fixture(scope="module")
def store(scenes, tmp_path_factory):
    return prepare_images(scenes, None, MeanColours(), tmp_path_factory.mktemp("cache"), **HOW)


def test_a_store_holds_what_the_encoder_gives(scenes, store):
    assert np.array_equal(store.regions(range(14)), directly(scenes, range(14)))


def test_rows_come_in_the_order_they_are_asked_for(scenes, store):
    rows = [13, 0, 5, 5, 4]
    assert np.array_equal(store.regions(rows), directly(scenes, rows))


def test_batches_never_reach_over_the_end_of_a_shard(scenes, tmp_path):
    encoder = MeanColours()
    prepare_images(scenes, None, encoder, tmp_path, **HOW)
    assert [len(batch) for batch in encoder.encoded] == [3, 1, 3, 1, 3, 1, 2]


def test_a_second_run_encodes_nothing(scenes, tmp_path):
    prepare_images(scenes, None, MeanColours(), tmp_path, **HOW)
    encoder = MeanColours()
    prepare_images(scenes, None, encoder, tmp_path, **HOW)
    assert encoder.encoded == []


def test_some_rows_have_a_store_of_their_own(scenes, tmp_path):
    store = prepare_images(scenes, [7, 2, 7], MeanColours(), tmp_path, **HOW)
    assert store.rows.tolist() == [2, 7]
    assert np.array_equal(store.regions([7, 2]), directly(scenes, [7, 2]))


def test_a_row_that_was_not_prepared_is_refused(scenes, tmp_path):
    store = prepare_images(scenes, [7, 2], MeanColours(), tmp_path, **HOW)
    with pytest.raises(UsageError, match=r"1 rows have no features \(first: row 3\)"):
        store.regions([2, 3])


@pytest.mark.parametrize("rows", [[], [-1], [14]])
def test_rows_that_do_not_exist_are_refused(scenes, tmp_path, rows):
    with pytest.raises(UsageError, match="rows"):
        prepare_images(scenes, rows, MeanColours(), tmp_path, **HOW)


def test_a_batch_of_none_is_refused(scenes, tmp_path):
    with pytest.raises(UsageError, match="batch=0"):
        prepare_images(scenes, None, MeanColours(), tmp_path, batch=0)


def test_a_killed_run_is_taken_up_where_it_was(scenes, store, tmp_path):
    killed = process("KilledAt(batch=5)", tmp_path)  # in the middle of the third shard
    assert killed.wait() == -signal.SIGKILL
    encoder = MeanColours()
    resumed = prepare_images(scenes, None, encoder, tmp_path, **HOW)
    assert flat(encoder.encoded) == list(scenes.ids[8:])
    assert np.array_equal(resumed.regions(range(14)), store.regions(range(14)))


def test_two_processes_that_prepare_the_same_do_not_mix_their_features(tmp_path):
    both = [process("Unsteady()", tmp_path) for _ in range(2)]
    assert [one.wait() for one in both] == [0, 0]
    (folder,) = tmp_path.iterdir()
    FeatureStore(folder).check(progress=False)
    assert not list(folder.glob(".*.part"))


def test_pictures_that_cannot_be_read_do_not_stop_a_run(scenes, tmp_path):
    faulty = WithFaults(scenes, {1: b"", 6: scenes.picture(6)[:200], 13: "gone"})
    store = prepare_images(faulty, None, MeanColours(), tmp_path, **HOW)
    assert store.failed.tolist() == [1, 6, 13]
    assert "scene-00001 is empty" in store.failures["scene-00001"]
    assert not store.regions([1, 6, 13]).any()
    good = [row for row in range(14) if row not in (1, 6, 13)]
    assert np.array_equal(store.regions(good), directly(scenes, good))


def test_failures_are_still_known_in_the_next_run(scenes, tmp_path):
    faulty = WithFaults(scenes, {1: b""})
    prepare_images(faulty, None, MeanColours(), tmp_path, **HOW)
    assert prepare_images(faulty, None, MeanColours(), tmp_path, **HOW).failed.tolist() == [1]


def test_a_shard_without_one_good_picture_is_zeros(scenes, tmp_path):
    store = prepare_images(WithFaults(scenes, {12: b"", 13: b""}), None, MeanColours(), tmp_path, **HOW)
    assert store.failed.tolist() == [12, 13]
    assert store.as_array().shape == (14, 3, 7)


def test_pictures_of_which_none_can_be_read_are_an_error(scenes, tmp_path):
    faulty = WithFaults(scenes, dict.fromkeys(range(14), "gone"))
    with pytest.raises(DataError, match="none of the first 4 pictures can be read .*scene-00000 is gone"):
        prepare_images(faulty, None, MeanColours(), tmp_path, **HOW)
    assert not list(tmp_path.rglob("*.npy"))


def test_features_that_are_not_finite_are_a_failure_of_their_picture(scenes, tmp_path):
    class Overflowing(MeanColours):
        def encode(self, pictures, ids):
            features = super().encode(pictures, ids)
            features[[id_ == "scene-00002" for id_ in ids]] = np.inf
            return features

    store = prepare_images(scenes, None, Overflowing(), tmp_path, **HOW)
    assert store.failures == {"scene-00002": "its features are not finite"}
    assert np.isfinite(store.regions(range(14))).all()


def test_an_encoder_of_another_type_or_shape_is_refused(scenes, tmp_path):
    class Double(MeanColours):
        def encode(self, pictures, ids):
            return super().encode(pictures, ids).astype(np.float64)

    class Wide(MeanColours):
        width = 5

    for encoder in (Double(), Wide()):
        with pytest.raises(UsageError, match=r"the encoder gives float.. \(3, 3, 7\)"):
            prepare_images(scenes, None, encoder, tmp_path, **HOW)


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


@pytest.mark.usefixtures("four_cores")
def test_processes_that_decode_for_a_gpu_change_nothing(scenes, tmp_path):
    faulty = WithFaults(scenes, {1: b"", 6: scenes.picture(6)[:200], 13: "gone"})
    by_threads = prepare_images(faulty, None, MeanColours(), tmp_path / "threads", **HOW)
    encoder = OnGpu()
    by_processes = prepare_images(faulty, None, encoder, tmp_path / "processes", **HOW)
    assert encoder.kinds == {np.ndarray}
    assert np.array_equal(by_processes.as_array(), by_threads.as_array())
    assert by_processes.failures == by_threads.failures


@pytest.mark.usefixtures("four_cores")
def test_one_worker_decodes_without_processes(scenes, tmp_path):
    encoder = OnGpu()
    prepare_images(scenes, [0], encoder, tmp_path, **{**HOW, "workers": 1})
    assert encoder.kinds == {Image.Image}


def test_two_cores_decode_without_processes(scenes, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    encoder = OnGpu()
    prepare_images(scenes, [0], encoder, tmp_path, **HOW)
    assert encoder.kinds == {Image.Image}


def test_ctrl_c_ends_the_processes_that_decode(tmp_path):
    interrupted = process("Interrupted()", tmp_path, stderr=subprocess.PIPE, process_group=0)
    _, said = interrupted.communicate(timeout=60)  # whoever is left would hold the pipe
    assert interrupted.returncode == -signal.SIGINT
    assert said.count(b"Traceback") == said.count(b"\nKeyboardInterrupt") == 1  # and only one of them complains


@pytest.fixture
def full_disk(monkeypatch):
    """A disk that has no space left for the third shard; `full_disk()` gives it some."""

    @contextmanager
    def until_the_disk_is_full(path):
        with written_whole(path) as file:
            if path.name == "regions-00002.npy":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            yield file

    monkeypatch.setattr(shards, "written_whole", until_the_disk_is_full)
    return monkeypatch.undo


def test_a_full_disk_is_one_clear_line_and_what_was_done_stays(scenes, store, tmp_path, full_disk):
    with pytest.raises(Error, match=r"00002.npy cannot be written \(No space left"):
        prepare_images(scenes, None, MeanColours(), tmp_path, **HOW)
    full_disk()
    encoder = MeanColours()
    mended = prepare_images(scenes, None, encoder, tmp_path, **HOW)
    assert flat(encoder.encoded) == list(scenes.ids[8:])
    assert np.array_equal(mended.regions(range(14)), store.regions(range(14)))


def test_a_disk_that_is_full_while_a_gpu_goes_on_stops_the_run_as_well(scenes, tmp_path, full_disk):
    with pytest.raises(Error, match=r"00002.npy cannot be written \(No space left"):
        prepare_images(scenes, None, OnGpu(), tmp_path, **HOW)
    full_disk()
    encoder = MeanColours()
    prepare_images(scenes, None, encoder, tmp_path, **HOW)
    # The last shard may have been written before the news of the third arrived.
    assert flat(encoder.encoded) in (list(scenes.ids[8:]), list(scenes.ids[8:12]))


def test_a_damaged_shard_stops_the_next_run_and_only_it_is_made_anew(scenes, tmp_path):
    folder = prepare_images(scenes, None, MeanColours(), tmp_path, **HOW).folder
    shard = folder / "regions-00001.npy"
    shard.write_bytes(shard.read_bytes()[:-1] + b"\x55")
    with pytest.raises(DataError, match="damaged: its bytes are not the ones .* remove .*regions-00001.json"):
        prepare_images(scenes, None, MeanColours(), tmp_path, **HOW)
    (folder / "regions-00001.json").unlink()
    encoder = MeanColours()
    mended = prepare_images(scenes, None, encoder, tmp_path, **HOW)
    assert flat(encoder.encoded) == list(scenes.ids[4:8])
    assert np.array_equal(mended.regions(range(14)), directly(scenes, range(14)))


def test_what_the_features_depend_on_changes_the_key(scenes, tmp_path):
    others = [
        prepare_images(scenes, None, MeanColours(), tmp_path, **HOW),
        prepare_images(scenes, None, MeanColours(weights="others"), tmp_path, **HOW),
        prepare_images(scenes, [0, 1], MeanColours(), tmp_path, **HOW),
        prepare_images(load("scenes", items=14, seed=1), None, MeanColours(), tmp_path, **HOW),
        # The same ids and sentences with another picture, as in a collection of another size.
        prepare_images(WithFaults(scenes, {0: scenes.picture(1)}), None, MeanColours(), tmp_path, **HOW),
    ]
    assert len({store.folder for store in others}) == len(others)


@pytest.fixture
def album(scenes, tmp_path):
    """40 pictures in a folder, more than are looked at to tell one collection from another."""
    folder = tmp_path / "album"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number}.png").write_bytes(scenes.picture(number % 14))
    return folder


def keys(dataset, folder):
    return prepare_images(dataset, None, MeanColours(), folder, **HOW).manifest.key


def test_a_picture_that_nobody_looks_at_is_noticed_when_it_is_replaced(album, scenes, tmp_path):
    before = keys(load("folder", album), tmp_path)
    looked_at = np.unique(np.linspace(0, 39, LOOKED_AT).astype(np.int64))
    row = next(row for row in range(40) if row not in looked_at)
    (album / f"{row}.png").write_bytes(scenes.picture((row + 1) % 14))
    store = prepare_images(load("folder", album), None, MeanColours(), tmp_path, **HOW)
    assert store.manifest.key != before
    assert np.array_equal(store.regions([row]), directly(scenes, [(row + 1) % 14]))


def test_pictures_that_are_moved_and_not_changed_keep_their_features(album, tmp_path):
    before = keys(load("folder", album), tmp_path)
    (tmp_path / "elsewhere").mkdir()
    moved = album.rename(tmp_path / "elsewhere" / "album")
    assert keys(load("folder", moved), tmp_path) == before


def test_pictures_are_tried_again_once_heic_can_be_read(scenes, tmp_path, monkeypatch):
    folders = []
    for able in (False, True):
        monkeypatch.setattr("deepbinaries.features.pictures.reads_heic", lambda able=able: able)
        folders.append(prepare_images(scenes, range(2), MeanColours(), tmp_path, **HOW).folder)
    assert folders[0] != folders[1]


def test_an_encoder_is_given_pictures_of_the_size_it_needs(scenes, tmp_path):
    class Small(MeanColours):
        at_least = 20

        def encode(self, pictures, ids):
            self.sizes = {picture.size for picture in pictures}
            return super().encode(pictures, ids)

    jpeg = io.BytesIO()
    read_picture(scenes.picture(0)).save(jpeg, "JPEG")
    encoder = Small()
    prepare_images(WithFaults(scenes, {0: jpeg.getvalue()}), [0], encoder, tmp_path, **HOW)
    assert encoder.sizes == {(28, 28)}


def test_a_fingerprint_that_is_no_json_is_refused(scenes, tmp_path):
    with pytest.raises(UsageError, match="fingerprint cannot be written as JSON"):
        prepare_images(scenes, None, MeanColours(weights=b"bytes"), tmp_path, **HOW)


def test_a_folder_that_cannot_be_made_is_one_clear_line(scenes, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Error, match="cannot be made"):
        prepare_images(scenes, None, MeanColours(), tmp_path / "file", **HOW)
