"""Features from .npz and .mat files: the published split, the labels in their forms, and what is refused."""

import builtins
import io
import json
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from deepbinaries.datasets import Dataset, arrays, check_dataset, load
from deepbinaries.datasets.splits import ids_digest
from deepbinaries.errors import DataError, MissingExtraError, PictureError, UsageError


def published(**changes):
    """Two rows to learn from and one that asks, in the names of the Wiki file."""
    content = {
        "image_train": np.array([[1, 2, 3], [4, 5, 6]], np.float32),
        "text_train": np.array([[1, 0], [0, 1]], np.float32),
        "label_train": np.array([1, 2], np.float32),
        "image_test": np.array([[7, 8, 9]], np.float32),
        "text_test": np.array([[1, 1]], np.float32),
        "label_test": np.array([2], np.float32),
    }
    return content | changes


def whole(labels):
    n = np.asarray(labels).shape[0]
    return {"image": np.ones((n, 3)), "text": np.ones((n, 2)), "labels": np.asarray(labels)}


@pytest.fixture
def write(tmp_path):
    """Write arrays into features.npz or features.mat."""

    def write(content, suffix=".npz"):
        path = tmp_path / f"features{suffix}"
        if suffix == ".npz":
            np.savez(path, **content)
        else:
            scipy.io.savemat(path, content)
        return path

    return write


def test_a_published_split_is_train_rows_then_test_rows(write):
    features = arrays.load(write(published()))
    assert features.ids == ("train-00000", "train-00001", "test-00000")
    assert features.features["image"].tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert features.features["text"].tolist() == [[1, 0], [0, 1], [1, 1]]
    assert [features.labels.of(row) for row in range(3)] == [("1",), ("2",), ("2",)]


def test_test_rows_ask_and_train_rows_are_searched(write):
    features = arrays.load(write(published()))
    assert features.split.query == ("test-00000",)
    assert features.split.database == features.split.train == ("train-00000", "train-00001")
    assert len(features.split.parts(features).query) == 1


def test_a_tenth_of_train_is_drawn_for_validation_by_the_seed(write):
    n = 40
    path = write(
        published(image_train=np.ones((n, 3)), text_train=np.ones((n, 2)), label_train=np.ones(n)),
    )
    first, again, other = (arrays.load(path, seed=seed).split for seed in (0, 0, 1))
    assert len(first.validation) == 4
    assert first == again
    assert first.validation != other.validation


def test_features_keep_the_contract_of_a_dataset(write):
    features = arrays.load(write(published()))
    assert isinstance(features, Dataset)
    check_dataset(features)
    assert (features.name, len(features), features.sentences(0)) == ("features", 3, ())


def test_there_is_no_picture_and_the_error_says_so(write):
    with pytest.raises(PictureError, match="features holds features only, so test-00000 has no picture"):
        arrays.load(write(published())).picture(2)


def test_a_file_without_a_split_has_none(write):
    features = arrays.load(write(whole([3, 5])))
    assert features.split is None
    assert features.ids == ("row-00000", "row-00001")
    assert features.labels.names == ("3", "5")


def test_other_names_of_arrays_are_given_as_keys(write):
    content = published()
    content["I_tr"] = content.pop("image_train")
    content["L_te"] = content.pop("label_test")
    features = arrays.load(write(content), keys={"image_train": "I_tr", "label_test": "L_te"})
    assert len(features) == 3


def test_other_names_may_be_given_as_text(write):
    content = whole([1, 2])
    content["I"], content["L"] = content.pop("image"), content.pop("labels")
    features = arrays.load(write(content), keys="image=I,labels=L", names="art, war")
    assert features.labels.names == ("art", "war")


def test_keys_that_name_nothing_are_refused(write):
    with pytest.raises(UsageError, match="keys='image' is no list of names; write image_train="):
        arrays.load(write(published()), keys="image")


def test_an_unknown_key_is_answered_with_the_nearest(write):
    with pytest.raises(UsageError, match="no array of a dataset is called 'image_trian'; did you mean 'image_train'"):
        arrays.load(write(published()), keys={"image_trian": "I_tr"})


def test_a_missing_array_is_answered_with_those_there_are(write):
    content = published()
    del content["text_test"]
    with pytest.raises(DataError, match=r"holds the arrays image_test, image_train, label_test.*say which is which"):
        arrays.load(write(content))


@pytest.mark.parametrize("suffix", [".npz", ".mat"])
def test_both_kinds_of_files_hold_the_same(write, suffix):
    features = arrays.load(write(published(), suffix))
    assert features.features["image"].tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert features.labels.sets() == [(0,), (1,), (1,)]


@pytest.mark.parametrize(
    "labels",
    [np.array([2, 7, 2]), np.array([[2], [7], [2]]), np.array([2.0, 7.0, 2.0]), np.array([2, 7, 2], np.uint8)],
)
def test_class_numbers_come_in_many_forms(write, labels):
    assert arrays.load(write(whole(labels))).labels.sets() == [(0,), (1,), (0,)]


def test_class_numbers_in_one_row_are_those_of_matlab(write):
    content = whole([1, 2, 1]) | {"labels": np.array([[1, 2, 1]])}
    assert arrays.load(write(content, ".mat")).labels.sets() == [(0,), (1,), (0,)]


@pytest.mark.parametrize("kind", [bool, np.int64, np.float32])
def test_a_matrix_of_0_and_1_may_hold_several_labels_an_item(write, kind):
    labels = np.array([[1, 0, 1], [0, 0, 0]], kind)
    assert arrays.load(write(whole(labels))).labels.sets() == [(0, 2), ()]


@pytest.mark.parametrize(
    ("given_labels", "names", "expected"),
    [
        ([1, 3], ["art", "war"], ("art", "war")),
        ([1, 3], {"1": "art", "2": "law", "3": "war"}, ("art", "war")),
        ([[1, 0], [0, 1]], ["art", "war"], ("art", "war")),
        ([1, 10, 2], None, ("1", "2", "10")),
    ],
)
def test_classes_have_the_names_that_are_given(write, given_labels, names, expected):
    assert arrays.load(write(whole(given_labels)), names=names).labels.names == expected


def test_names_may_stand_in_info_json_beside_the_file(write):
    path = write(whole([1, 2]))
    path.with_name("info.json").write_text(json.dumps({"labels": {"1": "art", "2": "war"}}))
    assert arrays.load(path).labels.names == ("art", "war")


@pytest.mark.parametrize(
    "names", [["art"], ["art", "law", "war"], {"1": "art"}, ["art", "art"], ["art", 2], ["art", {}], "ab", 5]
)
def test_names_that_do_not_fit_the_classes_are_refused(write, names):
    with pytest.raises(DataError, match="the names given do not fit the 2 classes 1, 2"):
        arrays.load(write(whole([1, 2])), names=names)


@pytest.mark.parametrize(
    ("stored", "kept"),
    [(np.float16, np.float32), (np.uint8, np.float32), (np.float32, np.float32), (np.float64, np.float64)],
)
def test_features_are_real_numbers_of_the_stored_precision(write, stored, kept):
    features = arrays.load(write(whole([1, 2]) | {"image": np.ones((2, 3), stored)}))
    assert features.features["image"].dtype == kept


@pytest.mark.parametrize("labels", [np.zeros(0), np.zeros((0, 2))])
def test_no_rows_are_an_empty_dataset(write, labels):
    assert len(arrays.load(write(whole(labels)))) == 0


def test_the_only_file_of_a_folder_is_taken(write):
    path = write(published())
    assert arrays.load(path.parent).ids == arrays.load(path).ids


@pytest.mark.parametrize("n_files", [0, 2])
def test_a_folder_with_none_or_several_files_is_refused(tmp_path, write, n_files):
    for suffix in (".npz", ".mat")[:n_files]:
        write(published(), suffix)
    with pytest.raises(DataError, match=f"holds {n_files} .npz or .mat files, not one; name the file itself"):
        arrays.load(tmp_path)


@pytest.mark.parametrize("name", ["absent.npz", "notes.txt"])
def test_what_is_no_file_of_features_is_refused(tmp_path, name):
    (tmp_path / "notes.txt").write_text("words")
    with pytest.raises(DataError, match=r"is no \.npz or \.mat file"):
        arrays.load(tmp_path / name)


def test_no_file_is_refused():
    with pytest.raises(UsageError, match="no file of features was given"):
        arrays.load(None)


@pytest.mark.parametrize("suffix", [".npz", ".mat"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_refused_by_array_and_row(write, suffix, bad):
    image = np.ones((3, 3))
    image[1, 2] = bad
    with pytest.raises(DataError, match="row 1 of the array 'image' of .* holds a number that is not finite"):
        arrays.load(write(whole([1, 2, 3]) | {"image": image}, suffix))


def test_a_label_that_is_not_finite_is_refused_by_row(write):
    with pytest.raises(DataError, match="row 2 of the array 'labels'"):
        arrays.load(write(whole([1, 2, np.nan])))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text_train": np.ones((3, 2))}, "'image_train' has 2 rows and 'text_train' has 3"),
        ({"label_test": np.ones(4)}, "'label_test' has 4 rows and 'features' has 1"),
        ({"label_train": np.ones((3, 2))}, "'label_train' has 3 rows and 'features' has 2"),
        ({"image_test": np.ones((1, 4))}, "'image_train' has 3 columns and 'image_test' has 4"),
        ({"image_train": np.ones(2)}, r"the array 'image_train' has shape \(2,\)"),
        ({"label_test": np.ones((1, 3))}, r"have shapes \(2,\) and \(1, 3\)"),
    ],
)
def test_arrays_that_do_not_fit_each_other_are_refused_with_both_numbers(write, changes, message):
    with pytest.raises(DataError, match=message):
        arrays.load(write(published(**changes)))


@pytest.mark.parametrize("labels", [[1, 1.5], [1, 1e300], [[1, 0], [0, 2]], [[1, 0], [0, -1]], np.zeros((2, 2, 2))])
def test_labels_of_no_known_form_are_refused_by_name(write, labels):
    with pytest.raises(DataError, match=r"row [01] of the labels 'labels', of shape \(2.*, is neither"):
        arrays.load(write(whole(labels)))


def test_numbers_that_only_happen_to_be_as_many_are_not_taken_for_labels(write):
    with pytest.raises(DataError, match="'labels' has 2 rows and 'features' has 4"):
        arrays.load(write(whole([1, 2, 3, 4]) | {"labels": np.ones((2, 2))}))


@pytest.mark.parametrize(
    "array", [np.array([[1, "a"], [2, "b"]], dtype=object), np.array([["a"], ["b"]]), np.ones((2, 2), complex)]
)
def test_arrays_of_anything_but_plain_numbers_are_refused(write, array):
    with pytest.raises(DataError, match="the array 'image' of .*(not plain numbers|cannot be read)"):
        arrays.load(write(whole([1, 2]) | {"image": array}))


def test_an_object_in_a_file_is_never_brought_to_life(write):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("it went off",))

    with pytest.raises(DataError, match="the array 'image' of .* cannot be read"):
        arrays.load(write(whole([1]) | {"image": np.array([[Bomb()]], dtype=object)}))


def test_a_matlab_cell_array_is_refused(write):
    cells = np.empty((2, 1), dtype=object)
    cells[:, 0] = [np.ones(2), np.ones(3)]
    with pytest.raises(DataError, match="'image' of .* holds object, not plain numbers"):
        arrays.load(write(whole([1, 2]) | {"image": cells}, ".mat"))


def test_a_sparse_matrix_is_refused(write):
    with pytest.raises(DataError, match="'image' of .* not plain numbers; save it as a full array"):
        arrays.load(write(whole([1, 2]) | {"image": scipy.sparse.csc_matrix(np.eye(2))}, ".mat"))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("suffix", [".npz", ".mat"])
def test_a_file_cut_in_the_middle_is_refused(write, suffix, share):
    path = write(published(), suffix)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(DataError, match=r"features\.(npz|mat)"):
        arrays.load(path)


def test_an_array_that_is_damaged_inside_its_archive_is_refused(write):
    path = write(published())
    content = path.read_bytes()
    stored = published()["image_test"].tobytes()
    path.write_bytes(content.replace(stored, stored[::-1]))
    with pytest.raises(DataError, match="the array 'image_test' of .* cannot be read"):
        arrays.load(path)


def test_an_array_that_claims_more_than_it_holds_is_refused(write):
    path = write(whole([1, 2]))
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(array, {"descr": "<f8", "fortran_order": False, "shape": (2, 10**15)})
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("image.npy", array.getvalue())
    with pytest.raises(DataError, match="the array 'image' of .* cannot be read"):
        arrays.load(path)


@pytest.mark.parametrize(
    "head", [b"MATLAB 7.3 MAT-file".ljust(512), b"\x89HDF\r\n\x1a\n", bytes(512) + b"\x89HDF\r\n\x1a\n"]
)
def test_matlab_7_3_is_refused_with_the_way_to_convert(tmp_path, head):
    path = tmp_path / "new.mat"
    path.write_bytes(head)
    with pytest.raises(DataError, match=r"MATLAB 7\.3 \(HDF5\) file, which is not read; save it .* '-v7'"):
        arrays.load(path)


def test_matlab_files_without_scipy_name_the_extra(write, monkeypatch):
    path = write(published(), ".mat")
    really_import = builtins.__import__

    def without_scipy(name, *rest):
        if name.startswith("scipy"):
            raise ImportError(name)
        return really_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_scipy)
    with pytest.raises(MissingExtraError, match=r"scipy is not installed; install deepbinaries\[train\]"):
        arrays.load(path)


def test_the_real_wiki_features_are_those_of_the_published_split(real_data):
    wiki = load("wiki", real_data / "wiki")
    check_dataset(wiki)
    assert (wiki.name, len(wiki)) == ("wiki", 2866)
    assert {side: array.shape for side, array in wiki.features.items()} == {"image": (2866, 128), "text": (2866, 10)}
    assert wiki.labels.names == tuple(str(number) for number in range(1, 11))
    parts = wiki.split.parts(wiki)
    of_train = wiki.labels.select(parts.train).counts().tolist()
    of_test = wiki.labels.select(parts.query).counts().tolist()
    assert of_train == [138, 272, 244, 248, 202, 178, 186, 144, 214, 347]
    assert of_test == [34, 88, 96, 85, 65, 58, 51, 41, 71, 104]
    assert len(parts.validation) == 217
    assert wiki.split.digests()["query"] == ids_digest(f"test-{row:05d}" for row in range(693))
