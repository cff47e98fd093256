import json

import numpy as np
import pytest

from deepbinaries.codes import Codes, load, save
from deepbinaries.errors import DataError


@pytest.fixture
def codes():
    return Codes.from_bits(np.random.default_rng(0).integers(0, 2, (7, 20)))


def test_codes_come_back_as_they_were(codes, tmp_path):
    save(codes, tmp_path / "codes.npy")
    assert load(tmp_path / "codes.npy") == codes


def test_a_name_without_suffix_gets_one(codes, tmp_path):
    save(codes, tmp_path / "codes")
    assert load(tmp_path / "codes") == codes
    assert sorted(path.name for path in tmp_path.iterdir()) == ["codes.npy", "codes.npy.json"]


def test_the_sidecar_says_what_the_bytes_mean(codes, tmp_path):
    save(codes, tmp_path / "codes.npy")
    facts = json.loads((tmp_path / "codes.npy.json").read_text())
    assert facts["bits"] == 20
    assert facts["bit_order"] == "little"
    assert facts["sha256"] == codes.digest


def test_a_flipped_bit_is_noticed(codes, tmp_path):
    save(codes, tmp_path / "codes.npy")
    content = bytearray((tmp_path / "codes.npy").read_bytes())
    content[-3] ^= 1
    (tmp_path / "codes.npy").write_bytes(content)
    with pytest.raises(DataError, match="not those its sidecar was written for"):
        load(tmp_path / "codes.npy")


def test_a_file_cut_in_the_middle_is_refused(codes, tmp_path):
    save(codes, tmp_path / "codes.npy")
    content = (tmp_path / "codes.npy").read_bytes()
    (tmp_path / "codes.npy").write_bytes(content[:-5])
    with pytest.raises(DataError, match="not a whole"):
        load(tmp_path / "codes.npy")


@pytest.mark.parametrize(
    "sidecar", ["{", "[]", '{"format": "other"}', '{"format": "deepbinaries-codes", "version": 1}']
)
def test_a_broken_sidecar_is_refused_by_name(codes, tmp_path, sidecar):
    save(codes, tmp_path / "codes.npy")
    (tmp_path / "codes.npy.json").write_text(sidecar)
    with pytest.raises(DataError, match="codes.npy.json"):
        load(tmp_path / "codes.npy")


def test_labels_beside_foreign_codes_are_not_taken_for_a_sidecar(tmp_path):
    np.save(tmp_path / "theirs.npy", np.array([[1, 0]]))
    (tmp_path / "theirs.json").write_text('[["cat"]]')
    assert load(tmp_path / "theirs.npy").bits == 2


def test_a_newer_format_names_the_version_this_release_reads(codes, tmp_path):
    save(codes, tmp_path / "codes.npy")
    facts = json.loads((tmp_path / "codes.npy.json").read_text()) | {"version": 99}
    (tmp_path / "codes.npy.json").write_text(json.dumps(facts))
    with pytest.raises(DataError, match="not describe codes in deepbinaries-codes version 1"):
        load(tmp_path / "codes.npy")


@pytest.mark.parametrize("matrix", [np.array([[1, 0, 1]]), np.array([[1, -1, 1]]), np.array([[0.3, -2.0, 0.0]])])
def test_other_peoples_matrices_are_read_without_a_sidecar(matrix, tmp_path):
    np.save(tmp_path / "theirs.npy", matrix)
    assert load(tmp_path / "theirs.npy").to_bits().tolist() == [[1, 0, 1]]


def test_packed_bytes_without_a_sidecar_are_refused_since_their_length_is_unknown(tmp_path):
    np.save(tmp_path / "theirs.npy", np.array([[7, 200]], dtype=np.uint8))
    with pytest.raises(DataError, match="how many bits"):
        load(tmp_path / "theirs.npy")


def test_pickled_arrays_are_refused(tmp_path):
    np.save(tmp_path / "theirs.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="not a whole"):
        load(tmp_path / "theirs.npy")


def test_a_missing_file_is_one_clear_line(tmp_path):
    with pytest.raises(DataError, match="does not exist; give an .npy file"):
        load(tmp_path / "none.npy")
