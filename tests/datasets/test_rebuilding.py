import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from deepbinaries.cli import main
from deepbinaries.datasets import load, rebuilding
from deepbinaries.datasets.base import digest
from deepbinaries.datasets.rebuilding import build, packaged
from deepbinaries.datasets.rebuilding.listing import Listing, caption_digest
from deepbinaries.datasets.rebuilding.pictures import Shrunk, look
from deepbinaries.datasets.splits import Split
from deepbinaries.errors import DataError, SplitError, UsageError
from deepbinaries.vision import read_picture

QUERY, DATABASE, TRAIN, VALIDATION = range(4)


def jpeg(seed, size=(480, 360)):
    """A picture of coloured patches, other ones for every seed."""
    patches = np.random.default_rng(seed).integers(0, 256, (4, 9, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(patches).resize(size, Image.Resampling.NEAREST).save(file, format="JPEG")
    return file.getvalue()


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


@pytest.fixture
def iapr(tmp_path):
    """A made-up release of IAPR TC-12: pictures 7, 25 and 1001, and one that nobody wants."""
    descriptions = {7: "a caf\xe9; two men;", 25: "a red boat", 26: "unwanted", 1001: "a tree on a hill"}
    for number, description in descriptions.items():
        folder, text = f"{number // 1000:02d}", f"<DOC>\n<DESCRIPTION>{description}</DESCRIPTION>\n</DOC>"
        write(tmp_path / f"iaprtc12/annotations_complete_eng/{folder}/{number}.eng", text.encode("latin-1"))
        write(tmp_path / f"iaprtc12/images/{folder}/{number}.jpg", jpeg(number))
    return tmp_path


@pytest.fixture
def iapr_list():
    ids = ("00-25", "00-7", "01-1001")
    return Listing(
        ids, np.array([TRAIN, QUERY, VALIDATION], np.uint8), np.array([1, 2, 3], np.uint32), ("boat", "man"), ""
    )


WAVE = "A man riding a wave."


@pytest.fixture
def coco(tmp_path):
    """A made-up release of COCO: images 5 and 6 share a caption, 9 is of the validation part."""
    captions = {"train": {5: [WAVE, "A surfer."], 6: ["The sea.", WAVE]}, "val": {9: ["Two  dogs, running.\n"]}}
    for split, of_image in captions.items():
        images = [{"id": number, "file_name": f"{number:012d}.jpg"} for number in of_image]
        texts = [(number, text) for number, texts in of_image.items() for text in texts]
        notes = [{"id": place, "image_id": number, "caption": text} for place, (number, text) in enumerate(texts)]
        write(tmp_path / f"annotations/captions_{split}2017.json", {"images": images, "annotations": notes})
        for number in of_image:
            write(tmp_path / f"{split}2017/{number:012d}.jpg", jpeg(number, (640, 480)))
    return tmp_path


@pytest.fixture
def coco_list():
    """Items 00000, 00001 and 00002 are images 9, 6 and 5; their looks are those of smaller files."""
    small = [look(read_picture(jpeg(number, (320, 240)))) for number in (9, 6, 5)]
    return Listing(
        ids=("00000", "00001", "00002"),
        parts=np.array([QUERY, DATABASE, TRAIN], np.uint8),
        labels=np.array([2, 1, 1], np.uint32),
        label_names=("person", "dog"),
        digest="",
        captions=np.array([caption_digest(text) for text in ("two dogs running", WAVE, WAVE)], np.uint32),
        looks=np.array(small, np.uint32),
    )


def test_iapr22_is_read_as_listed(iapr, iapr_list, tmp_path):
    built = build("iapr22", iapr, tmp_path / "out", listing=iapr_list)
    dataset = load("iapr22", tmp_path / "out")
    assert (built.n_items, built.missing) == (3, {})
    assert dataset.ids == iapr_list.ids
    assert [dataset.sentences(row) for row in range(3)] == [
        ("a red boat",),
        ("a café", "two men"),
        ("a tree on a hill",),
    ]
    assert [dataset.labels.of(row) for row in range(3)] == [("boat",), ("man",), ("boat", "man")]


def test_pictures_are_avif_of_the_stated_size(iapr, iapr_list, tmp_path):
    build("iapr22", iapr, tmp_path / "out", listing=iapr_list)
    picture = Image.open(io.BytesIO(load("iapr22", tmp_path / "out").picture(0)))
    assert (picture.format, picture.size) == ("AVIF", (240, 180))


def test_a_small_picture_is_not_made_larger(tmp_path):
    write(tmp_path / "small.jpg", jpeg(1, (120, 90)))
    assert read_picture(Shrunk(tmp_path / "small.jpg", 240, 42).read()).size == (120, 90)


def test_the_split_is_the_listed_one(iapr, iapr_list, tmp_path):
    build("iapr22", iapr, tmp_path / "out", listing=iapr_list)
    split = Split.load(tmp_path / "out" / "split.json")
    assert split.query == ("00-7",)
    assert split.database == split.train == ("00-25", "01-1001")
    assert split.validation == ("01-1001",)


def test_what_the_release_lacks_is_left_out_counted_and_listed(iapr, iapr_list, tmp_path):
    (iapr / "iaprtc12/images/00/25.jpg").unlink()
    (iapr / "iaprtc12/annotations_complete_eng/01/1001.eng").unlink()
    built = build("iapr22", iapr, tmp_path / "out", listing=iapr_list)
    assert built.shortfall() == "2 of 3 items are missing: no description of 1 (01-1001); no picture of 1 (00-25)"
    assert (tmp_path / "out" / "missing.txt").read_text() == "00-25\tno picture\n01-1001\tno description\n"
    assert load("iapr22", tmp_path / "out").ids == ("00-7",)
    assert Split.load(tmp_path / "out" / "split.json").database == ()


def test_a_release_without_any_item_is_refused(iapr, iapr_list, tmp_path):
    for picture in (iapr / "iaprtc12" / "images").rglob("*.jpg"):
        picture.unlink()
    with pytest.raises(DataError, match="has none of the 3 items of iapr22; check that the archives"):
        build("iapr22", iapr, tmp_path / "out", listing=iapr_list)
    assert not (tmp_path / "out").exists()


def test_coco18_finds_items_by_captions_and_among_equal_captions_by_looks(coco, coco_list, tmp_path):
    built = build("coco18", coco, tmp_path / "out", listing=coco_list)
    dataset = load("coco18", tmp_path / "out")
    assert (built.missing, dataset.ids) == ({}, coco_list.ids)
    assert [dataset.sentences(row) for row in range(3)] == [("Two dogs, running.",), (WAVE,), (WAVE,)]
    for row, number in enumerate((9, 6, 5)):
        looks = (look(read_picture(file)) for file in (dataset.picture(row), jpeg(number)))
        assert int.bit_count(next(looks) ^ next(looks)) <= 2


@pytest.mark.parametrize(
    ("gone", "missing"),
    [
        ("val2017/000000000009.jpg", {"00000": "no picture"}),
        ("train2017/000000000006.jpg", {"00001": "no picture that looks like it"}),
    ],
)
def test_an_image_without_its_picture_is_missing_and_no_other_takes_its_place(coco, coco_list, tmp_path, gone, missing):
    (coco / gone).unlink()
    assert build("coco18", coco, tmp_path / "out", listing=coco_list).missing == missing


def test_two_images_that_fit_alike_are_not_guessed_between(coco, coco_list, tmp_path):
    write(coco / "train2017/000000000006.jpg", jpeg(5, (640, 480)))
    missing = build("coco18", coco, tmp_path / "out", listing=coco_list).missing
    assert missing == {"00001": "no picture that looks like it", "00002": "no single picture"}


def test_a_caption_that_nobody_wrote_is_missing(coco, coco_list, tmp_path):
    coco_list.captions[0] = caption_digest("three cats")
    assert build("coco18", coco, tmp_path / "out", listing=coco_list).missing == {"00000": "no caption"}


def test_a_release_without_its_annotations_is_refused_with_the_archive_that_has_them(coco, coco_list, tmp_path):
    (coco / "annotations/captions_val2017.json").unlink()
    with pytest.raises(DataError, match="captions_val2017.json; download annotations_trainval2017.zip"):
        build("coco18", coco, tmp_path / "out", listing=coco_list)


def test_only_a_dataset_with_a_list_can_be_built():
    with pytest.raises(UsageError, match="did you mean 'coco18'"):
        packaged("coco19")


def test_a_list_that_is_written_and_read_is_the_same(coco_list, tmp_path):
    coco_list.write(tmp_path / "list.npz.xz")
    same_list(Listing.read(tmp_path / "list.npz.xz"), coco_list)


def test_a_list_of_a_dataset_builds_the_same_dataset(iapr, iapr_list, tmp_path):
    build("iapr22", iapr, tmp_path / "first", listing=iapr_list)
    dataset = load("iapr22", tmp_path / "first")
    again = Listing.of(dataset, Split.load(tmp_path / "first" / "split.json"), by_caption=False)
    assert build("iapr22", iapr, tmp_path / "second", listing=again).same
    assert digest(load("iapr22", tmp_path / "second")) == digest(dataset) == again.digest


def test_an_item_outside_the_split_cannot_be_listed():
    scenes = load("scenes", items=3)
    with pytest.raises(SplitError, match="1 items are in no part"):
        Listing.of(scenes, Split("scenes", scenes.ids[:1], scenes.ids[1:2]), by_caption=False)


def test_the_command_tells_in_one_line_what_is_missing(iapr, iapr_list, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rebuilding, "packaged", lambda _: iapr_list)
    (iapr / "iaprtc12/images/00/25.jpg").unlink()
    out = tmp_path / "out"
    with pytest.raises(SystemExit) as left:
        main(["dataset", "build", "iapr22", "--from", str(iapr), "--out", str(out)])
    assert left.value.code == 1
    told = f"1 of 3 items are missing: no picture of 1 (00-25); all are listed in {out / 'missing.txt'}\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize("name", ["coco18", "iapr22"])
def test_a_packaged_list_is_small_and_every_item_has_a_label(name):
    assert Path(rebuilding.__file__).with_name(f"{name}.npz.xz").stat().st_size < 250_000
    assert packaged(name).labels.all()


@pytest.mark.parametrize("name", ["coco18", "iapr22"])
def test_a_packaged_list_is_that_of_the_dataset(real_data, name):
    dataset, split = load(name, real_data / name), Split.load(real_data / name / "split.json")
    listing, found = packaged(name), Listing.of(dataset, split, by_caption=False)
    for field in ("ids", "label_names", "digest", "note"):
        assert getattr(listing, field) == getattr(found, field)
    assert (listing.parts == found.parts).all()
    assert (listing.labels == found.labels).all()
    assert listing.split(name, only=set(listing.ids)).digests() == split.digests()


def test_the_packaged_digests_are_those_of_the_captions_and_pictures(real_data):
    dataset, listing = load("coco18", real_data / "coco18"), packaged("coco18")
    captions = [caption_digest(dataset.sentences(row)[0]) for row in range(len(dataset))]
    assert listing.captions.tolist() == captions
    for row in range(0, len(dataset), 500):
        assert listing.looks[row] == look(read_picture(dataset.picture(row)))


def same_list(one, other):
    for field in ("ids", "label_names", "digest", "note"):
        assert getattr(one, field) == getattr(other, field)
    for field in ("parts", "labels", "captions", "looks"):
        assert np.array_equal(getattr(one, field), getattr(other, field))
