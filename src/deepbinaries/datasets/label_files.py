"""Labels from a file of their own, as they come beside other people's codes."""

from pathlib import Path
from typing import Any

import numpy as np

from deepbinaries.codes.files import read_array
from deepbinaries.datasets.labels import Labels
from deepbinaries.errors import DataError
from deepbinaries.files import read_json, read_lines

SUFFIXES = (".npy", ".json", ".txt")


def read_labels(*paths: str | Path) -> list[Labels]:
    """The labels of each file, over one common list of names, so that they can be compared.

    `.npy`: an (n, L) matrix of 0 and 1, or n class numbers. `.json`: a list with one label or one
    list of labels an item. `.txt`: one line an item, labels separated by commas, an empty line for none.
    """
    sets = [_label_sets(Path(path)) for path in paths]
    names = sorted({name for of_file in sets for labels in of_file for name in labels}, key=_naturally)
    return [Labels.from_names(of_file, names) for of_file in sets]


def _label_sets(path: Path) -> list[list[str]]:
    if path.suffix not in SUFFIXES:
        raise DataError(f"{path} is no label file", next_step=f"give one of {', '.join(SUFFIXES)}")
    if path.suffix == ".npy":
        return _from_array(read_array(path), path)
    if path.suffix == ".json":
        return [_one_or_many(item, path, row) for row, item in enumerate(_a_list(read_json(path), path))]
    return [[name.strip() for name in line.split(",") if name.strip()] for line in read_lines(path)]


def _from_array(array: np.ndarray, path: Path) -> list[list[str]]:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    whole = array.dtype.kind in "fiu" and np.isfinite(array).all() and np.array_equal(array, np.round(array))
    if array.ndim == 1 and whole:
        return [[str(int(number))] for number in array]
    if array.ndim == 2:
        return [[str(column) for column in row] for row in Labels.from_matrix(array).sets()]
    raise DataError(
        f"{path} holds {array.dtype} of shape {array.shape}",
        next_step="store an (n, L) matrix of 0 and 1, or n class numbers",
    )


def _a_list(content: Any, path: Path) -> list[Any]:
    if not isinstance(content, list):
        raise DataError(f"{path} holds no list", next_step="store one entry an item")
    return content


def _one_or_many(item: Any, path: Path, row: int) -> list[str]:
    labels = item if isinstance(item, list) else [item]
    if not all(isinstance(label, str | int) for label in labels):
        raise DataError(f"{path}, entry {row}, holds no labels", next_step="give names or numbers")
    return [str(label) for label in labels]


def _naturally(name: str) -> tuple[bool, int, str]:
    """Numbers by size before words by letter, so that class 10 comes after class 9."""
    return (False, int(name), name) if name.isdecimal() else (True, 0, name)
