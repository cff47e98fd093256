"""Writing datasets: both forms read back as they were, and nothing half-written stays."""

import io
import json
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from deepbinaries.datasets import Labels, Split, digest, folder, load, webdataset
from deepbinaries.datasets.export import export, safe_key
from deepbinaries.datasets.formats import suffix_by_content
from deepbinaries.errors import DataError, Error, PictureError, SplitError, UsageError
from deepbinaries.vision import read_picture

READ = {"folder": folder.load, "webdataset": webdataset.load}
FORMS = sorted(READ)


def picture(form="PNG"):
    file = io.BytesIO()
    Image.new("RGB", (2, 1), "red").save(file, form)
    return file.getvalue()


PNG = picture()


class Memory:
    """A dataset in memory: (id, sentences, labels) an item, and a picture that tests may replace."""

    name = "memory"

    def __init__(self, items, label_names=None):
        self.ids = [id_ for id_, _, _ in items]
        self.labels = Labels.from_names([labels for _, _, labels in items], label_names)
        self.texts = [texts for _, texts, _ in items]
        self.pictures = {}

    def sentences(self, row):
        return self.texts[row]

    def picture(self, row):
        content = self.pictures.get(row, PNG)
        if isinstance(content, BaseException):
            raise content
        return content


@pytest.fixture
def memory():
    items = [
        ("coco:391895", ["a man", "a motor bike"], ["person", "bike"]),
        ("a/b/c.jpg", ["line\nbreak  and  blanks "], ["dog"]),
        ("a-b-c-jpg", [], []),
        ("図書館/été.v1.0", ["ein Hund läuft"], ["dog"]),
        ("..", ["up"], ["12"]),
        ("x" * 300, ["long"], []),
    ]
    return Memory(items, ["dog", "person", "bike", "12", "never used"])


@pytest.mark.parametrize("form", FORMS)
def test_what_was_written_reads_back_as_it_was(memory, tmp_path, form):
    place = export(memory, tmp_path / "out", form=form, items_per_shard=4)
    again = READ[form](place, strict=True)
    assert digest(again) == digest(memory)
    assert again.labels.names == memory.labels.names
    assert [again.picture(row) for row in range(6)] == [PNG] * 6


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
names = words.filter(lambda text: text.strip())
items = st.lists(
    st.tuples(words.filter(lambda id_: not {"\n", "\r"} & set(id_)), st.lists(names, max_size=2), st.sets(names)),
    max_size=4,
    unique_by=lambda item: item[0],
)


@pytest.mark.parametrize("form", FORMS)
@given(items=items)
def test_any_text_survives_the_way_there_and_back(tmp_path_factory, form, items):
    memory = Memory(items)
    again = READ[form](export(memory, tmp_path_factory.mktemp("any") / "out", form=form), strict=True)
    assert digest(again) == digest(memory)


@pytest.mark.parametrize("form", FORMS)
def test_a_dataset_without_labels_stays_without(tmp_path, form):
    again = READ[form](export(Memory([("1", [], [])]), tmp_path / "out", form=form), strict=True)
    assert (again.labels.names, again.labels.of(0)) == ((), ())


@pytest.mark.parametrize("form", FORMS)
def test_chosen_rows_are_written_in_their_order(memory, tmp_path, form):
    again = READ[form](export(memory, tmp_path / "out", form=form, rows=[3, 0]), strict=True)
    assert again.ids == (memory.ids[3], memory.ids[0])


@pytest.mark.parametrize("form", FORMS)
def test_no_rows_are_an_empty_dataset(memory, tmp_path, form):
    assert READ[form](export(memory, tmp_path / "out", form=form, rows=[]), strict=True).ids == ()


@pytest.mark.parametrize("rows", [[0, 0], [6], [-1]])
def test_rows_that_repeat_or_do_not_exist_are_refused(memory, tmp_path, rows):
    with pytest.raises(UsageError, match="the rows repeat, or one is outside 0 to 5"):
        export(memory, tmp_path / "out", rows=rows)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_dataset_gives_the_same_bytes(memory, tmp_path, form):
    places = [export(memory, tmp_path / name, form=form) for name in ("one", "two")]
    contents = [
        {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}
        for place in places
    ]
    assert contents[0] == contents[1]


def test_shards_hold_a_fixed_number_of_items_without_times_or_owners(memory, tmp_path):
    place = export(memory, tmp_path / "out", form="webdataset", items_per_shard=4)
    shards = sorted(place.glob("*.tar"))
    assert [shard.name for shard in shards] == ["shard-000000.tar", "shard-000001.tar"]
    contents = []
    for shard in shards:
        with tarfile.open(shard) as tar:
            contents.append(tar.getmembers())
    assert [len(members) for members in contents] == [8, 4]
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for members in contents for m in members} == {(0, 0, 0, "", "")}


def test_a_folder_can_be_read_by_a_person(memory, tmp_path):
    place = export(memory, tmp_path / "out")
    first = json.loads((place / "metadata.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first == {
        "file_name": "pictures/000000-coco-391895.png",
        "id": "coco:391895",
        "captions": ["a man", "a motor bike"],
        "labels": ["person", "bike"],
    }


@pytest.mark.parametrize(
    ("form", "suffix"),
    [
        ("JPEG", "jpg"),
        ("PNG", "png"),
        ("WEBP", "webp"),
        ("AVIF", "avif"),
        ("GIF", "gif"),
        ("BMP", "bmp"),
        ("TIFF", "tif"),
    ],
)
def test_the_suffix_is_that_of_the_content(form, suffix):
    assert suffix_by_content(picture(form)) == suffix


def test_an_avif_file_may_name_its_kind_among_the_compatible_ones():
    assert suffix_by_content(b"\0\0\0\x18ftypmif1\0\0\0\0miafavif") == "avif"


def test_a_heic_file_may_name_its_kind_among_the_compatible_ones():
    assert suffix_by_content(b"\0\0\0\x18ftypmif1\0\0\0\0miafheic") == "heic"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"RIFF....WAVE",
        b"\0\0\0\0ftypavif",
        b"\xff\xff\xff\xffftyp",
    ],
)
def test_other_content_has_no_suffix(content):
    assert suffix_by_content(content) is None


@pytest.mark.parametrize("form", FORMS)
def test_a_wrong_suffix_is_put_right(memory, tmp_path, form):
    memory.pictures[1] = picture("JPEG")  # its id ends in .jpg, the others hold PNG
    place = export(memory, tmp_path / "out", form=form)
    again = READ[form](place, strict=True)
    assert again.picture(1) == memory.pictures[1]
    assert read_picture(again.picture(1)).size == (2, 1)


@given(st.integers(0, 10**7), words)
def test_keys_are_safe_in_every_file_system(number, id_):
    key = safe_key(number, id_)
    assert key.isascii()
    assert key.replace("-", "").replace("_", "").isalnum()
    assert len(key) < 90


def test_the_split_is_written_beside_the_items(memory, tmp_path):
    split = Split("memory", query=("..",), database=("coco:391895", "a/b/c.jpg"), train=("a/b/c.jpg",))
    place = export(memory, tmp_path / "out", form="webdataset", split=split)
    assert Split.load(place / "split.json") == split
    assert len(split.parts(webdataset.load(place)).query) == 1


def test_a_split_of_items_that_are_not_written_is_refused(memory, tmp_path):
    split = Split("memory", query=("..",), database=("coco:391895",))
    with pytest.raises(SplitError, match=r"1 query ids of the split are not among the items to write \(first: \.\.\)"):
        export(memory, tmp_path / "out", rows=[0], split=split)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (PictureError("the picture is gone", next_step="restore it"), PictureError),
        (b"no picture at all", PictureError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (OSError(28, "No space left on device"), Error),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_nothing_half_written_stays_when_a_picture_fails(memory, tmp_path, form, trouble, kind):
    memory.pictures[4] = trouble
    with pytest.raises(kind):
        export(memory, tmp_path / "out", form=form, items_per_shard=2)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_in_one_line(memory, tmp_path):
    memory.pictures[0] = OSError(28, "No space left on device")
    with pytest.raises(Error, match=r"out cannot be written \(No space left on device\); make room"):
        export(memory, tmp_path / "out")


def test_text_that_is_no_valid_unicode_is_refused_by_id(tmp_path):
    with pytest.raises(DataError, match="'seven' holds text that is not valid Unicode"):
        export(Memory([("seven", ["\ud800"], [])]), tmp_path / "out")


def test_a_destination_that_holds_something_is_refused_and_left_alone(memory, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep")
    with pytest.raises(UsageError, match="is not empty; choose a new folder"):
        export(memory, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_a_file_in_the_place_of_the_destination_is_refused(memory, tmp_path):
    (tmp_path / "out").write_text("keep")
    with pytest.raises(UsageError, match="is not empty"):
        export(memory, tmp_path / "out")


def test_an_empty_destination_is_filled(memory, tmp_path):
    (tmp_path / "out").mkdir()
    assert len(folder.load(export(memory, tmp_path / "out"))) == 6


def test_a_destination_may_lie_in_folders_that_do_not_exist_yet(memory, tmp_path):
    place = export(memory, tmp_path / "new" / "deeper" / "out")
    assert sorted(path.name for path in place.iterdir()) == ["dataset.json", "metadata.jsonl", "pictures"]


def test_an_unknown_form_is_answered_with_the_known_ones(memory, tmp_path):
    with pytest.raises(UsageError, match="no form of export is called 'foldr'; did you mean 'folder'"):
        export(memory, tmp_path / "out", form="foldr")


def test_a_shard_needs_room_for_an_item(memory, tmp_path):
    with pytest.raises(UsageError, match="0 items a shard is too few"):
        export(memory, tmp_path / "out", form="webdataset", items_per_shard=0)


def test_a_broken_dataset_is_refused_before_anything_is_written(memory, tmp_path):
    memory.ids[0] = memory.ids[1]
    with pytest.raises(DataError, match="ids repeat"):
        export(memory, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", FORMS)
def test_real_photographs_survive_the_way_there_and_back(real_data, tmp_path, form):
    iapr = load("iapr22", real_data / "iapr22")
    rows = [0, 9000, 17698]
    again = READ[form](export(iapr, tmp_path / "out", form=form, rows=rows), strict=True)
    assert again.ids == tuple(iapr.ids[row] for row in rows)
    assert [again.picture(row) for row in range(3)] == [iapr.picture(row) for row in rows]
    assert [again.sentences(row) for row in range(3)] == [iapr.sentences(row) for row in rows]


def test_the_root_of_the_disk_is_no_folder_of_its_own(tmp_path):
    with pytest.raises(UsageError, match="name a new folder"):
        export(load("scenes", items=2), tmp_path.anchor)
