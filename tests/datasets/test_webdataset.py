"""Tar shards: the standard library writes them, and judges where our own pass finds their members."""

import io
import json
import os
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from deepbinaries.datasets import Split, check_dataset, load, webdataset
from deepbinaries.datasets.webdataset.shards import open_shard
from deepbinaries.datasets.webdataset.tar import members
from deepbinaries.errors import DataError, PictureError, UsageError
from deepbinaries.vision import read_picture

DOG = {"captions": ["two dogs run"], "labels": ["dog"]}
BOAT = {"text": "a red boat", "labels": ["boat"]}


def png():
    file = io.BytesIO()
    Image.new("RGB", (2, 1), "red").save(file, "PNG")
    return file.getvalue()


def pack(files, form=tarfile.USTAR_FORMAT):
    """A tar archive of (name, content) pairs; JSON is written from objects, other members are given as TarInfo."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as tar:
        for name, content in files:
            member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            content = json.dumps(content).encode() if isinstance(content, dict | list) else content
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


class Shelf:
    """A folder of shards that a test fills."""

    def __init__(self, root):
        self.root = root

    def write(self, name, content):
        (self.root / name).write_bytes(content.encode() if isinstance(content, str) else content)

    def shard(self, *files, name="shard-000000.tar"):
        self.write(name, pack(files))

    def load(self, what="", *, strict=False):
        return webdataset.load(self.root / what, strict=strict)


@pytest.fixture
def shelf(tmp_path):
    (tmp_path / "shelf").mkdir()
    return Shelf(tmp_path / "shelf")


def test_neighbouring_members_of_one_key_are_one_item(shelf):
    shelf.shard(("1.png", png()), ("1.json", DOG), ("2.txt", b"a red\n boat\n"), ("2.cls", b"3"), ("2.jpg", png()))
    records = shelf.load(strict=True)
    check_dataset(records)
    assert (records.name, records.ids) == ("shelf", ("1", "2"))
    assert [records.sentences(row) for row in (0, 1)] == [("two dogs run",), ("a red boat",)]
    assert [records.labels.of(row) for row in (0, 1)] == [("dog",), ("3",)]


def test_a_picture_is_read_out_of_the_middle_of_its_shard(shelf):
    shelf.shard(("1.jpg", b"first"), ("1.json", DOG), ("2.jpg", b"second, longer"), ("3.jpg", b""))
    records = shelf.load()
    assert [records.picture(row) for row in range(3)] == [b"first", b"second, longer", b""]


def test_shards_are_read_in_the_order_of_their_names(shelf):
    shelf.shard(("9.png", png()), name="b.tar")
    shelf.shard(("8.png", png()), name="c.tar")
    shelf.shard(("7.png", png()), name="a.tar")
    assert shelf.load(strict=True).ids == ("7", "9", "8")


def test_hidden_shards_and_other_files_are_passed_over(shelf):
    shelf.shard(("1.png", png()))
    shelf.write(".part.tar", b"half")
    shelf.write("README.md", b"words")
    assert shelf.load(strict=True).ids == ("1",)


def test_one_shard_can_be_named(shelf):
    shelf.shard(("1.png", png()), name="a.tar")
    shelf.shard(("2.png", png()), name="b.tar")
    records = shelf.load("b.tar", strict=True)
    assert (records.name, records.ids) == ("shelf", ("2",))


def test_a_range_of_shards_has_both_ends_and_keeps_its_width(shelf):
    for number in range(8, 12):
        shelf.shard((f"{number}.png", png()), name=f"s-{number:03d}.tar")
    assert shelf.load("s-{009..011}.tar", strict=True).ids == ("9", "10", "11")


def test_a_range_with_a_missing_shard_is_refused_by_name(shelf):
    shelf.shard(("1.png", png()), name="s-0.tar")
    with pytest.raises(DataError, match=r"s-1\.tar does not exist"):
        shelf.load("s-{0..1}.tar")


@pytest.mark.parametrize("wanted", ["s-{3..1}.tar", "s-{0..999999999}.tar"])
def test_a_range_that_cannot_be_meant_is_refused(shelf, wanted):
    with pytest.raises(UsageError, match="does not name 1 to 100,000 shards"):
        shelf.load(wanted)


def test_a_folder_without_shards_is_refused(shelf):
    with pytest.raises(DataError, match=r"holds no \.tar file"):
        shelf.load()


def test_no_root_is_refused():
    with pytest.raises(
        UsageError, match=r"no shards were given; .* as root \(--root\), or name the one above it in DEEPBINARIES_DATA"
    ):
        webdataset.load(None)


def test_a_pipe_in_the_place_of_a_shard_is_never_opened(shelf):
    os.mkfifo(shelf.root / "a.tar")
    with pytest.raises(DataError, match="is not a file"):
        shelf.load()


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tgz", "a.tar.zst"])
def test_a_compressed_shard_is_refused_in_its_folder_and_by_name(shelf, name):
    shelf.shard(("1.png", png()))
    shelf.write(name, b"\x1f\x8b")
    for what in ("", name):
        with pytest.raises(DataError, match="is compressed.*decompress it once"):
            shelf.load(what)


def test_a_compressed_shard_under_another_name_is_refused(shelf):
    shelf.write("a.tar", b"\x1f\x8b\x08" + bytes(2000))
    with pytest.raises(DataError, match="is compressed"):
        shelf.load()


def test_json_wins_over_txt_and_cls(shelf):
    shelf.shard(("1.txt", b"ignored"), ("1.cls", b"7"), ("1.json", DOG), ("1.png", png()))
    records = shelf.load(strict=True)
    assert (records.sentences(0), records.labels.of(0)) == (("two dogs run",), ("dog",))


def test_txt_and_cls_speak_where_json_is_silent(shelf):
    shelf.shard(("1.txt", b"heard"), ("1.cls", b" 7\n"), ("1.json", {"captions": None, "width": 2}), ("1.png", png()))
    records = shelf.load(strict=True)
    assert (records.sentences(0), records.labels.of(0)) == (("heard",), ("7",))


def test_text_in_json_may_be_a_list(shelf):
    shelf.shard(("1.png", png()), ("1.json", {"text": ["one", "two"], "label": 3}))
    records = shelf.load(strict=True)
    assert (records.sentences(0), records.labels.of(0)) == (("one", "two"), ("3",))


def test_an_item_may_state_its_own_id(shelf):
    shelf.shard(("1.png", png()), ("1.json", {"id": "a/b.jpg"}))
    assert shelf.load(strict=True).ids == ("a/b.jpg",)


def test_the_key_ends_at_the_first_dot_of_the_last_part(shelf):
    shelf.shard(("v1.0/a.png", png()), ("v1.0/a.seg.png", b"passed over"), ("./b.PNG", png()))
    assert shelf.load(strict=True).ids == ("v1.0/a", "b")


def test_what_is_no_plain_file_of_an_item_is_passed_over(shelf):
    special = []
    for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
        member = tarfile.TarInfo("1.jpg")
        member.type, member.linkname = kind, "/etc/passwd"
        special.append((member, b""))
    shelf.shard(*special, ("1.png", png()), (".DS_Store", b"x"), ("._1.jpg", b"x"), ("README", b"x"), ("1.npy", b"x"))
    assert shelf.load(strict=True).ids == ("1",)


def test_a_link_that_states_a_size_does_not_hide_what_follows(shelf):
    member = tarfile.TarInfo("0.jpg")
    member.type, member.linkname, member.size = tarfile.LNKTYPE, "1.png", 4096
    shelf.write("a.tar", member.tobuf(tarfile.USTAR_FORMAT) + pack([("1.png", png())]))
    assert shelf.load(strict=True).ids == ("1",)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([("1.json", DOG)], "it has no picture"),
        ([("1.png", b""), ("1.jpg", b"")], "it has more than one picture"),
        ([("1.png", b""), ("1.png", b"")], "two members have the same suffix"),
        ([("1.png", b""), ("1.json", b'{"text": "cu')], "its json is not a JSON object"),
        ([("1.png", b""), ("1.json", ["a"])], "its json is not a JSON object"),
        ([("1.png", b""), ("1.json", b"[" * 100_000)], "its json is not a JSON object"),
        ([("1.png", b""), ("1.json", b'{"text": "\xff"}')], "a text is not valid UTF-8"),
        ([("1.png", b""), ("1.txt", b"caf\xe9")], "a text is not valid UTF-8"),
        ([("1.png", b""), ("1.txt", b"x" * (2**20 + 1))], "a text has more than 1,048,576 bytes"),
        ([("1.png", b""), ("1.cls", b"dog")], "its cls is not a class number"),
        ([("1.png", b""), ("1.cls", "٣".encode())], "its cls is not a class number"),
        ([("1.png", b""), ("1.cls", b"-1")], "its cls is not a class number"),
        ([("1.png", b""), ("1.json", {"text": 5})], "'text' is neither a text nor a list of texts"),
        ([("1.png", b""), ("1.json", {"labels": [None]})], "a label is not a name or a number from 0 on"),
        ([("two\nlines.png", b"")], "an id is empty, holds a line break or is no valid text"),
    ],
)
def test_an_unusable_item_is_counted_and_refused_when_strict(shelf, files, reason):
    shelf.shard(("0.png", b""), *files, ("9.png", b""))
    records = shelf.load()
    assert records.ids == ("0", "9")
    assert records.skips.counts == {reason: 1}
    with pytest.raises(DataError, match=r"shard-000000\.tar, "):
        shelf.load(strict=True)


def test_a_key_that_is_not_utf_8_leaves_its_item_out(shelf):
    shelf.shard(("x.png", b""), ("y.png", b""))
    content = bytearray((shelf.root / "shard-000000.tar").read_bytes())
    checksum = int(content[148:154], 8) - ord("x") + 0xFF
    content[0], content[148:154] = 0xFF, b"%06o" % checksum
    shelf.write("shard-000000.tar", bytes(content))
    records = shelf.load()
    assert records.ids == ("y",)
    assert records.skips.counts.total() == 1


def test_a_blank_caption_is_left_out_and_the_item_stays(shelf):
    shelf.shard(("1.png", b""), ("1.json", {"captions": ["", "one"]}), ("2.png", b""), ("2.txt", b" \n"))
    records = shelf.load()
    assert [records.sentences(row) for row in (0, 1)] == [("one",), ()]
    assert records.skips.counts == {"a caption is blank": 2}


def test_a_key_that_returns_later_is_counted_and_the_first_item_stays(shelf):
    shelf.shard(("1.png", b"first"), ("2.png", b""), ("1.jpg", b"later"))
    shelf.shard(("2.png", b""), name="shard-000001.tar")
    records = shelf.load()
    assert (records.ids, records.picture(0)) == (("1", "2"), b"first")
    assert records.skips.counts == {"its key stands for an earlier item already": 2}
    with pytest.raises(DataError, match=r"shard-000000\.tar, 1: its key stands for an earlier item"):
        shelf.load(strict=True)


def test_two_items_that_state_one_id_are_refused(shelf):
    shelf.shard(("1.png", b""), ("1.json", {"id": "x"}), ("2.png", b""), ("2.json", {"id": "x"}))
    with pytest.raises(DataError, match=r"ids more than once \(first: x\)"):
        shelf.load()


def test_label_names_come_from_info_json_in_its_order(shelf):
    shelf.write("info.json", '{"labels": ["dog", "cat", "boat"]}')
    shelf.shard(("1.png", b""), ("1.json", BOAT), ("2.png", b""), ("2.cls", b"1"))
    records = shelf.load(strict=True)
    assert records.labels.names == ("dog", "cat", "boat")
    assert records.labels.sets() == [(2,), (1,)]


def test_without_info_json_label_names_are_sorted(shelf):
    shelf.shard(("1.png", b""), ("1.json", DOG), ("2.png", b""), ("2.json", BOAT))
    assert shelf.load(strict=True).labels.names == ("boat", "dog")


def test_a_label_outside_info_json_leaves_the_item_out(shelf):
    shelf.write("info.json", '{"labels": ["dog"]}')
    shelf.shard(("1.png", b""), ("1.json", DOG), ("2.png", b""), ("2.json", BOAT))
    records = shelf.load()
    assert records.ids == ("1",)
    assert records.skips.first == {"a label is not one of the list of labels": "shard-000000.tar, 2, 'boat'"}
    with pytest.raises(DataError, match="2, 'boat': a label is not one of the list"):
        shelf.load(strict=True)


@pytest.mark.parametrize("content", ["{", "[]", '{"labels": {"dog": 1}}', '{"labels": ["dog", "dog"]}'])
def test_a_malformed_info_json_is_refused_by_name(shelf, content):
    shelf.write("info.json", content)
    shelf.shard(("1.png", b""))
    with pytest.raises(DataError, match=r"info\.json"):
        shelf.load()


def test_a_missing_shard_is_noticed_by_the_number_of_items(shelf):
    shelf.write("info.json", '{"items": 2}')
    shelf.shard(("1.png", b""))
    with pytest.raises(DataError, match=r"holds 1 items, and its info\.json says 2; copy the missing shards"):
        shelf.load()


def test_shards_that_are_named_need_not_be_all(shelf):
    shelf.write("info.json", '{"items": 2}')
    shelf.shard(("1.png", b""))
    assert shelf.load("shard-{000000..000000}.tar", strict=True).ids == ("1",)


def test_items_left_out_are_not_missing(shelf):
    shelf.write("info.json", '{"items": 2}')
    shelf.shard(("1.png", b""), ("2.json", DOG))
    assert shelf.load().ids == ("1",)


WHOLE = pack([("1.png", b"x" * 700), ("1.json", DOG), ("2.png", b"y" * 512), ("2.json", BOAT)])
END_OF_ITEMS = 512 + 1024 + 512 + 512 + 512 + 512 + 512 + 512  # a header and whole blocks for each member


@pytest.fixture(scope="session")
def cut_shard(tmp_path_factory):
    return tmp_path_factory.mktemp("cut") / "cut-000.tar"


@given(length=st.integers(0, END_OF_ITEMS + 511))
def test_a_shard_cut_in_the_middle_is_refused_by_name(cut_shard, length):
    cut_shard.write_bytes(WHOLE[:length])
    with pytest.raises(DataError, match=r"cut-000\.tar is cut or damaged at byte .* the last whole file in it is"):
        webdataset.load(cut_shard)


@given(length=st.integers(END_OF_ITEMS + 512, len(WHOLE)))
def test_a_shard_that_only_lacks_its_filling_is_whole(cut_shard, length):
    cut_shard.write_bytes(WHOLE[:length])
    assert webdataset.load(cut_shard, strict=True).ids == ("1", "2")


def test_the_last_whole_file_of_a_cut_shard_is_named_with_its_end(shelf):
    shelf.write("a.tar", WHOLE[: 512 + 1024 + 512 + 512 + 512 + 100])
    with pytest.raises(DataError, match=r"\(2\.png goes beyond its end\); the last whole file in it is 1\.json, up to"):
        shelf.load()


@given(position=st.integers(0, 511), value=st.integers(0, 255))
def test_a_damaged_header_is_refused_or_changes_nothing(cut_shard, position, value):
    start = 512 + 1024  # the header of 1.json
    damaged = bytearray(WHOLE)
    damaged[start + position] = value
    cut_shard.write_bytes(bytes(damaged))
    if damaged == WHOLE:
        assert webdataset.load(cut_shard, strict=True).ids == ("1", "2")
    elif not 148 <= position < 156:  # inside the checksum itself a blank or a zero may stand for the other
        with pytest.raises(DataError, match=r"cut-000\.tar is cut or damaged at byte 1,536"):
            webdataset.load(cut_shard)


@pytest.mark.parametrize("behind", [WHOLE, bytes(4096) + b"x"])
def test_anything_behind_the_end_of_a_shard_is_refused(shelf, behind):
    shelf.write("a.tar", WHOLE + behind)
    with pytest.raises(DataError, match="something follows its end mark"):
        shelf.load()


@pytest.mark.parametrize("content", [b"", b"not a tar file", b"x" * 5000, png()])
def test_a_file_that_is_no_tar_archive_is_refused(shelf, content):
    shelf.write("a.tar", content)
    with pytest.raises(DataError, match=r"a\.tar is cut or damaged at byte 0"):
        shelf.load()


def test_an_empty_shard_has_no_items(shelf):
    shelf.write("a.tar", pack([]))
    assert shelf.load(strict=True).ids == ()


def header(name="1.png", *, size=b"00000000000\0", kind=b"0"):
    block = bytearray(tarfile.TarInfo(name).tobuf(tarfile.GNU_FORMAT))
    block[124:136], block[156:157], block[148:156] = size, kind, b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def pax(content):
    block = header("x", size=b"%011o\0" % len(content), kind=b"x")
    return block + content + bytes(-len(content) % 512)


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (header(size=b"\xff" * 12), "no number"),  # minus one, in binary
        (header(size=b"\x80" + b"\xff" * 11), "goes beyond its end"),
        (header(size=b"0000000-512\0"), "no number"),
        (header(size=b"0o000000777\0"), "no number"),
        (header(kind=b"S"), "is a sparse file"),
        (header(kind=b"x", size=b"77777777777\0"), "goes beyond its end"),
        (pax(b"22 GNU.sparse.major=1\n") + header(), "is a sparse file"),
        (pax(b"13 size=9999\n") + header(), "goes beyond its end"),
        (pax(b"12 size=-12\n") + header(), "no number"),
        (pax(b"99 path=a\n") + header(), "not well formed"),
        (pax(b"4 a\n") + header(), "not well formed"),
        (pax(b"0 path=a\n") + header(), "not well formed"),
        (pax(b"nonsense") + header(), "no number"),
        (pax(b"9" * 600) + header(), "no number"),
        (header(kind=b"L", size=b"%011o\0" % (2**20 + 1)) + bytes(2**21), "more than 1,048,576 bytes"),
    ],
)
def test_a_header_that_lies_is_refused(shelf, start, reason):
    shelf.write("a.tar", start + bytes(1024))
    with pytest.raises(DataError, match=rf"a\.tar is cut or damaged at byte .*{reason}"):
        shelf.load()


def test_an_attribute_states_the_size_that_does_not_fit_the_header(shelf):
    shelf.write("a.tar", pax(b"9 size=5\n") + header() + b"hello" + bytes(507) + bytes(1024))
    assert shelf.load(strict=True).picture(0) == b"hello"


@pytest.fixture(scope="session")
def any_archive(tmp_path_factory):
    return tmp_path_factory.mktemp("any") / "any.tar"


@given(
    names=st.lists(st.text("abé./", max_size=250).map("{}a".format), max_size=5),
    sizes=st.lists(st.sampled_from([0, 1, 511, 512, 513]), min_size=5, max_size=5),
    form=st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
def test_members_lie_where_the_standard_library_finds_them(any_archive, names, sizes, form):
    files = [(name, bytes(size)) for name, size in zip(names, sizes, strict=False)]
    any_archive.write_bytes(pack(files, form))
    with tarfile.open(any_archive) as tar:
        expected = [(member.name, member.offset_data, member.size) for member in tar if member.isreg()]
    with open_shard(any_archive) as descriptor:
        found = [tuple(member) for member in members(descriptor, any_archive)]
    assert found == expected


def test_long_posix_paths_are_put_together(shelf):
    name = "/".join(["long-folder-name"] * 8) + "/1.png"
    shelf.shard((name, b""))
    assert shelf.load(strict=True).ids == (name.removesuffix(".png"),)


def test_long_names_long_links_and_global_attributes_do_not_hide_an_item(shelf):
    name = "é" * 150
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "x" * 300
    shelf.write("a.tar", pack([(link, b""), (f"{name}.png", b"")], tarfile.GNU_FORMAT))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"comment": "x"}) as tar:
        tar.addfile(tarfile.TarInfo("2.png"))
    shelf.write("b.tar", packed.getvalue())
    assert shelf.load(strict=True).ids == (name, "2")


def test_many_threads_read_pictures_and_leave_no_file_open(shelf):
    shelf.shard(*((f"{number}.png", b"%d" % number) for number in range(50)))
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    records = shelf.load()
    with ThreadPoolExecutor(8) as pool:
        pictures = list(pool.map(records.picture, range(50)))
    assert pictures == [b"%d" % number for number in range(50)]
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before


@pytest.mark.parametrize("after", [b"", None])
def test_a_shard_that_changes_after_it_was_opened_gives_no_half_picture(shelf, after):
    shelf.shard(("1.png", png()))
    records = shelf.load()
    if after is None:
        (shelf.root / "shard-000000.tar").unlink()
    else:
        shelf.write("shard-000000.tar", after)
    with pytest.raises(PictureError, match=r"shard-000000\.tar (cannot be read|has become shorter)"):
        records.picture(0)


def test_a_picture_has_the_stamp_of_its_shard_and_its_place_in_it(shelf):
    shelf.shard(("1.jpg", b"first"), ("2.jpg", b"other"))
    before = [shelf.load().picture_stamp(row) for row in (0, 1)]
    assert before[0] != before[1]
    assert [shelf.load().picture_stamp(row) for row in (0, 1)] == before
    os.utime(shelf.root / "shard-000000.tar", ns=(0, 1))
    assert not set(before) & {shelf.load().picture_stamp(row) for row in (0, 1)}


@pytest.mark.parametrize(("name", "size"), [("coco18", (192, 256)), ("iapr22", (240, 180))])
def test_real_shards_hold_what_their_files_say(real_data, name, size):
    records = load(name, real_data / name, strict=True)
    info = json.loads((real_data / name / "info.json").read_text())
    split = Split.load(real_data / name / "split.json")  # proves its own digests
    parts = split.parts(records)
    assert (records.name, len(records)) == (name, info["items"])
    assert dict(zip(records.labels.names, records.labels.counts().tolist(), strict=True)) == info["counts"]
    assert list(records.labels.names) == info["labels"]
    assert len(parts.query) + len(parts.database) == info["items"]
    assert set(parts.dropped.values()) == {0}
    assert all(records.sentences(row) for row in range(len(records)))
    assert read_picture(records.picture(0)).size == size
    assert min(read_picture(records.picture(len(records) - 1)).size) > 32
