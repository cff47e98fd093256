import errno
import os
import resource

import numpy as np
import pytest

from deepbinaries.errors import DataError, Error
from deepbinaries.files import check_place, read_bytes, read_json, read_lines, write_array, write_json, written_whole


def test_a_value_survives(tmp_path):
    write_json({"word": "vicuña"}, tmp_path / "a.json")
    assert read_json(tmp_path / "a.json") == {"word": "vicuña"}


def test_a_value_takes_one_line_without_spaces_unless_it_is_indented(tmp_path):
    write_json({"a": [1, 2]}, tmp_path / "short.json")
    write_json({"a": [1, 2]}, tmp_path / "long.json", indent=1)
    assert (tmp_path / "short.json").read_text() == '{"a":[1,2]}\n'
    assert (tmp_path / "long.json").read_text() == '{\n "a": [\n  1,\n  2\n ]\n}\n'


def test_a_file_over_the_limit_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bytes(tmp_path / "a", limit=5) == b"12345"
    with pytest.raises(DataError, match="more than 4 bytes"):
        read_bytes(tmp_path / "a", limit=4)


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_what_is_not_whole_json_is_refused_by_name(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(DataError, match="a.json is not whole JSON"):
        read_json(tmp_path / "a.json")


def test_lines_are_the_same_whatever_the_editor(tmp_path):
    (tmp_path / "unix").write_bytes(b"cat\n\ndog\n")
    (tmp_path / "other").write_bytes(b"\xef\xbb\xbfcat\r\n\r\ndog")
    assert read_lines(tmp_path / "unix") == read_lines(tmp_path / "other") == ["cat", "", "dog"]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_bytes(tmp_path)


def test_a_failed_write_keeps_the_old_file_and_leaves_no_trace(tmp_path):
    (tmp_path / "a").write_bytes(b"old")

    def fill_the_disk():
        with written_whole(tmp_path / "a") as file:
            file.write(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(Error, match="cannot be written"):
        fill_the_disk()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]


def test_an_error_without_a_number_still_says_what_it_is(tmp_path):
    with pytest.raises(Error, match=r"cannot be written \(12 requested and 4 written\)"), written_whole(tmp_path / "a"):
        raise OSError("12 requested and 4 written")  # as numpy says it


def test_a_place_that_can_be_written_to_is_left_as_it_was(tmp_path):
    check_place(tmp_path / "not" / "there" / "yet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["/proc/model", "file/model"])
def test_a_place_where_nothing_can_be_made_is_refused(tmp_path, place):
    (tmp_path / "file").touch()
    with pytest.raises(Error, match=f"{place} cannot be made: .* cannot be written to"):
        check_place(tmp_path / place)


@pytest.mark.parametrize("shape", [(3, 2), (0, 2), (2, 3, 4)])
@pytest.mark.parametrize("kind", ["u1", "<f4", "<i8"])
def test_an_array_is_written_as_numpy_writes_it(tmp_path, shape, kind):
    array = np.arange(np.prod(shape)).reshape(shape).astype(kind)[..., ::-1]  # not in the order of its bytes
    with written_whole(tmp_path / "ours.npy") as file:
        write_array(array, file)
    np.save(tmp_path / "theirs.npy", np.ascontiguousarray(array))
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


def test_not_one_byte_of_an_array_is_lost_in_silence(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (727, before[1]))
    try:
        with pytest.raises(Error, match="cannot be written"), written_whole(tmp_path / "a.npy") as file:
            write_array(np.zeros(600, dtype=np.uint8), file)  # and 128 bytes of a header
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_an_interrupted_write_leaves_no_trace(tmp_path):
    with pytest.raises(KeyboardInterrupt), written_whole(tmp_path / "a"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_one_clear_line(tmp_path):
    with pytest.raises(Error, match="cannot be written"):
        write_json({}, tmp_path / "none" / "a.json")
