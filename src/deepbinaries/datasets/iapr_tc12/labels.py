"""The two lists of labels that go with IAPR TC-12.

Concepts of regions, drawn by hand (SAIAPR TC-12: Escalante et al., "The segmented and annotated IAPR
TC-12 benchmark", Computer Vision and Image Understanding 114, 2010): `wlist.txt` and a `labels.txt` in
each folder of pictures. This is the paper's list.

Words of the descriptions (Guillaumin et al., "TagProp", ICCV 2009): 291 frequent nouns in
`iaprtc12_dictionary.txt`, the pictures in two lists, and a matrix of 0 and 1 for each list.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets.base import Skips
from deepbinaries.datasets.official import read_text, whole_number
from deepbinaries.errors import DataError, MissingExtraError
from deepbinaries.language import collapse

MAX_DEPTH = 5  # folders between the root and a labels.txt, with one to spare
MAX_HVECS_BYTES = 2**30
WITHOUT_LABELS = re.compile(r"images|.*_images|thumbnails|annotations.*|segmentation_masks|spatial_rels|\..*")

DICTIONARY = "iaprtc12_dictionary.txt"
LISTS = {
    "train": ("iaprtc12_train_list.txt", "iapr_train_list.txt"),
    "test": ("iaprtc12_test_list.txt", "iapr_test_list.txt"),
}
MATRICES = {
    "train": ("iaprtc12_train_annot.hvecs", "IAPRTC-12_TrainLabels.mat"),
    "test": ("iaprtc12_test_annot.hvecs", "IAPRTC-12_TestLabels.mat"),
}
PICTURE_IN_LIST = re.compile(r"(?:.*/)?([0-9]{1,9})(?:\.jpe?g)?")


@dataclass(frozen=True)
class PictureLabels:
    """The labels of pictures, by the pictures' numbers."""

    names: tuple[str, ...]  # in the order of the list
    of: dict[int, set[str]]


def find_label_files(root: Path) -> dict[str, list[Path]]:
    """All text files and matrices under the root, by file name; folders of pictures and texts are not entered."""
    found: dict[str, list[Path]] = defaultdict(list)
    # The depth is bounded, so that a link to a folder above cannot lead round in circles.
    for folder, inner, files in os.walk(root, followlinks=True):
        depth = len(Path(folder).relative_to(root).parts)
        inner[:] = sorted(name for name in inner if depth < MAX_DEPTH and not WITHOUT_LABELS.fullmatch(name))
        for name in sorted(files):
            found[name].append(Path(folder) / name)
    return found


def region_concepts(word_list: Path, region_files: Iterable[Path], skips: Skips) -> PictureLabels:
    """The concepts of a picture's regions, each counted once."""
    names: dict[int, str] = {}
    for place, line in enumerate(read_text(word_list, "utf-8").splitlines(), start=1):
        number, _, name = collapse(line).partition(" ")
        id_ = whole_number(number)
        if id_ is not None:
            names[id_] = name
        elif line.strip():
            skips.add("line of the word list without a number", f"{word_list}, line {place}")
    labels: dict[int, set[str]] = defaultdict(set)
    for path in region_files:
        for place, line in enumerate(read_text(path, "utf-8").splitlines(), start=1):
            fields, where = line.split(), f"{path}, line {place}"
            picture, concept = (whole_number(fields[0]), whole_number(fields[2])) if len(fields) > 2 else (None, None)
            if len(fields) < 3:
                skips.add("region without a concept", where, expected=True)
            elif picture is None or concept not in names:
                skips.add("region of a concept that is not listed", where)
            elif not names[concept]:
                skips.add("region of a concept without a name", where, expected=True)
            else:
                labels[picture].add(names[concept])
    ordered = [name for _, name in sorted(names.items()) if name]
    return PictureLabels(tuple(dict.fromkeys(ordered)), labels)


def description_words(files: dict[str, list[Path]], skips: Skips) -> PictureLabels:
    """The dictionary's words that a picture's description holds."""
    names = read_text(files[DICTIONARY][0], "utf-8").split()
    labels: dict[int, set[str]] = defaultdict(set)
    for part in ("train", "test"):
        pictures, matrix = (_first(files, choices[part]) for choices in (LISTS, MATRICES))
        lines = [line.strip() for line in read_text(pictures, "utf-8").splitlines() if line.strip()]
        carried = read_matrix(matrix, (len(lines), len(names)))
        for place, (line, row) in enumerate(zip(lines, carried, strict=True), start=1):
            named = PICTURE_IN_LIST.fullmatch(line)
            if named:
                labels[int(named[1])].update(names[column] for column in np.flatnonzero(row))
            else:
                skips.add("line of the list without a picture", f"{pictures}, line {place}")
    return PictureLabels(tuple(names), labels)


def missing_words_files(files: dict[str, list[Path]]) -> list[str]:
    """The files of the 291 words that were not found, by their official names."""
    wanted = [(DICTIONARY,), *LISTS.values(), *MATRICES.values()]
    return [names[0] for names in wanted if not any(name in files for name in names)]


def read_matrix(path: Path, shape: tuple[int, int]) -> NDArray[Any]:
    """The matrix of 0 and 1 in an `.hvecs` or a `.mat` file: one row a picture, one column a word."""
    matrix = _from_mat(path, shape) if path.suffix == ".mat" else _from_hvecs(path, shape)
    if not np.isin(matrix, (0, 1)).all():
        raise DataError(f"{path} holds numbers other than 0 and 1", next_step="unpack its archive again")
    return matrix


def _from_hvecs(path: Path, shape: tuple[int, int]) -> NDArray[Any]:
    """Rows of little-endian 16-bit numbers, each with its length in front."""
    rows, columns = shape
    size = path.stat().st_size
    expected = rows * (columns + 1) * 2
    numbers = np.fromfile(path, dtype="<i2") if size == expected <= MAX_HVECS_BYTES else None
    if numbers is None or (numbers.reshape(rows, columns + 1)[:, 0] != columns).any():
        raise DataError(
            f"{path} is cut or damaged: {rows:,} pictures with {columns} words make {expected:,} bytes, "
            f"each row with its length in front; it has {size:,} bytes",
            next_step="unpack its archive again",
        )
    return numbers.reshape(rows, columns + 1)[:, 1:]


def _from_mat(path: Path, shape: tuple[int, int]) -> NDArray[Any]:
    """The first matrix of the wanted shape, on its own or in a cell array."""
    try:
        from scipy.io import loadmat
    except ModuleNotFoundError:
        raise MissingExtraError("scipy", "train") from None
    try:
        content = loadmat(str(path))
    except Exception as error:  # scipy answers damaged files with many kinds of exceptions
        raise DataError(f"{path} is no whole MATLAB file ({error})", next_step="unpack its archive again") from error
    variables = [value for name, value in content.items() if not name.startswith("__")]
    cells = [cell for value in variables if value.dtype == object for cell in value.ravel()]
    for matrix in (*variables, *cells):
        if matrix.shape == shape and matrix.dtype.kind in "biuf":
            return np.asarray(matrix)
    raise DataError(
        f"{path} has no matrix of {shape[0]:,} pictures by {shape[1]} words", next_step="unpack its archive again"
    )


def _first(files: dict[str, list[Path]], names: tuple[str, ...]) -> Path:
    return next(files[name][0] for name in names if name in files)
