"""Features and labels from one `.npz` or `.mat` file: what shallow methods are compared on.

A file with a published split holds `image_train`, `text_train`, `label_train`, and the same for `test`; a file
without one holds `image`, `text` and `labels`. Where they have other names, `keys` says which:
`load("flickr.mat", keys={"image_train": "I_tr", ...})`. Row i of the three arrays is one item.

Labels are class numbers, (n,) or (n, 1), or an (n, L) matrix of 0 and 1. The classes are named by the setting
`names`, else by `labels` in an `info.json` beside the file, else by their numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets.arrays.files import SUFFIXES, array_names, read_arrays
from deepbinaries.datasets.item_columns import read_object
from deepbinaries.datasets.labels import Labels
from deepbinaries.datasets.splits import Split, draw
from deepbinaries.errors import DataError, PictureError, UsageError, unknown_name

PARTS = {  # which array is which: with a published split, and without
    "train": {"image": "image_train", "text": "text_train", "labels": "label_train"},
    "test": {"image": "image_test", "text": "text_test", "labels": "label_test"},
    "row": {"image": "image", "text": "text", "labels": "labels"},
}


@dataclass(frozen=True, eq=False)
class Arrays:
    """A dataset of features alone: no pictures, no sentences."""

    name: str
    ids: tuple[str, ...]
    labels: Labels
    features: Mapping[str, NDArray[np.floating[Any]]]  # "image" and "text", (n, d) each
    split: Split | None  # as published: test rows ask, train rows are learnt from and searched

    def __len__(self) -> int:
        return len(self.ids)

    def sentences(self, row: int) -> Sequence[str]:  # noqa: ARG002  (every dataset is asked by row)
        return ()

    def picture(self, row: int) -> bytes:
        raise PictureError(
            f"{self.name} holds features only, so {self.ids[row]} has no picture",
            next_step="give a dataset with pictures",
        )


def load(
    root: str | Path | None,
    *,
    name: str = "",
    keys: Mapping[str, str] | str = "",
    names: Sequence[str] | Mapping[str, str] | str | None = None,
    seed: int = 0,
) -> Arrays:
    """The features in a file, or in the only such file of a folder; `seed` draws a tenth of train for validation.

    `names` lists the classes in the order of their numbers, or maps each number (as text) to its name. On a command
    line both settings are text: "image_train=I_tr,text_train=T_tr" and "art,biology".
    """
    path = _find(root)
    parts = _parts_in(path, _pairs(keys) if isinstance(keys, str) else keys)
    arrays = read_arrays(path, [key for part in parts.values() for key in part.values()])
    n_rows = {part: _count_rows(arrays, keys_of) for part, keys_of in parts.items()}
    features = {side: _joined(arrays, [keys_of[side] for keys_of in parts.values()]) for side in ("image", "text")}
    name = name or path.stem
    ids = {part: [f"{part}-{row:05d}" for row in range(n)] for part, n in n_rows.items()}
    stated = names if names is not None else read_object(path.with_name("info.json")).get("labels")
    return Arrays(
        name=name,
        ids=tuple(id_ for part in parts for id_ in ids[part]),
        labels=_labels(arrays, [keys_of["labels"] for keys_of in parts.values()], list(n_rows.values()), stated),
        features=features,
        split=_published(name, ids["train"], ids["test"], seed) if "train" in ids else None,
    )


def _find(root: str | Path | None) -> Path:
    if root is None:
        raise UsageError(
            "no file of features was given",
            next_step="give a .npz or .mat file or its folder as root (--root), or name the one above it in "
            "DEEPBINARIES_DATA",
        )
    path = Path(root).absolute()
    if path.is_dir():
        files = sorted(file for suffix in SUFFIXES for file in path.glob(f"*{suffix}"))
        if len(files) != 1:
            raise DataError(f"{path} holds {len(files)} .npz or .mat files, not one", next_step="name the file itself")
        path = files[0]
    if path.suffix not in SUFFIXES or not path.is_file():
        raise DataError(f"{path} is no .npz or .mat file", next_step="give a .npz or .mat file, or its folder")
    return path


def _pairs(text: str) -> dict[str, str]:
    """The names in a text such as "image=I,text=T".

    >>> _pairs("image=I, text=T")
    {'image': 'I', 'text': 'T'}
    """
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    if not all(equals for _, equals, _ in pairs):
        raise UsageError(f"keys={text!r} is no list of names", next_step="write image_train=I_tr,text_train=T_tr,...")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def _parts_in(path: Path, keys: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The parts that a file holds, each with the names of its three arrays."""
    known = {key for part in PARTS.values() for key in part.values()}
    for key in keys:
        if key not in known:
            raise unknown_name("array of a dataset", key, known)
    wanted = {part: {kind: keys.get(key, key) for kind, key in of.items()} for part, of in PARTS.items()}
    present = array_names(path)
    for parts in (("train", "test"), ("row",)):
        if all(key in present for part in parts for key in wanted[part].values()):
            return {part: wanted[part] for part in parts}
    raise DataError(
        f"{path} holds the arrays {', '.join(sorted(present)) or 'none'}; wanted are image_train, text_train, "
        "label_train, image_test, text_test and label_test, or image, text and labels",
        next_step='say which is which, as in keys={"image_train": "I_tr", ...}',
    )


def _count_rows(arrays: Mapping[str, NDArray[Any]], keys_of: Mapping[str, str]) -> int:
    """How many items a part has; its features must agree on it."""
    for side in ("image", "text"):
        if arrays[keys_of[side]].ndim != 2:
            raise DataError(
                f"the array {keys_of[side]!r} has shape {arrays[keys_of[side]].shape}",
                next_step="give features as (n, d): one row an item",
            )
    image, text = (len(arrays[keys_of[side]]) for side in ("image", "text"))
    if image != text:
        raise _disagreement(keys_of["image"], image, keys_of["text"], text, "rows")
    return image


def _joined(arrays: Mapping[str, NDArray[Any]], keys: Sequence[str]) -> NDArray[np.floating[Any]]:
    """The features of all parts below each other, as 32-bit or, where they are stored so, 64-bit numbers."""
    first, *others = keys
    for other in others:
        if arrays[other].shape[1] != arrays[first].shape[1]:
            raise _disagreement(first, arrays[first].shape[1], other, arrays[other].shape[1], "columns")
    joined = np.concatenate([arrays[key] for key in keys])
    return joined.astype(np.promote_types(joined.dtype, np.float32), copy=False)


def _labels(arrays: Mapping[str, NDArray[Any]], keys: Sequence[str], n_rows: Sequence[int], names: Any) -> Labels:
    pieces = [_label_piece(arrays[key], key, n) for key, n in zip(keys, n_rows, strict=True)]
    if len({piece.shape[1:] for piece in pieces}) > 1:
        raise DataError(
            f"the labels {keys[0]!r} and {keys[1]!r} have shapes {pieces[0].shape} and {pieces[1].shape}",
            next_step="give both in the same form",
        )
    joined = np.concatenate(pieces)
    if joined.ndim == 2:
        return Labels.from_matrix(joined, _named(range(joined.shape[1]), names))
    classes, columns = np.unique(joined.astype(np.int64), return_inverse=True)
    return Labels.from_columns(columns.reshape(-1, 1).tolist(), _named(classes.tolist(), names))


def _label_piece(labels: NDArray[Any], key: str, n_rows: int) -> NDArray[Any]:
    """The labels of one part: n class numbers, or an (n, L) matrix of 0 and 1."""
    # MATLAB knows no flat lists: class numbers come as one column or as one row.
    if labels.ndim == 2 and 1 in labels.shape and labels.size == n_rows:
        labels = labels.reshape(-1)
    if len(labels) != n_rows:
        raise _disagreement(key, len(labels), "features", n_rows, "rows")
    if labels.ndim == 1:
        fits = (labels == np.rint(labels)) & (np.abs(labels.astype(np.float64)) < 2**31)
    else:
        fits = np.isin(labels, (0, 1)).all(axis=tuple(range(1, labels.ndim)))
    if labels.ndim > 2 or not fits.all():
        row = 0 if fits.all() else int(np.flatnonzero(~fits)[0])
        raise DataError(
            f"row {row} of the labels {key!r}, of shape {labels.shape}, is neither a class number nor made of 0 and 1",
            next_step="give one whole number an item, or 1 where an item carries a label",
        )
    return labels


def _named(classes: Sequence[int], names: Any) -> list[str]:
    """The names of the classes: listed in their order, or looked up by number, or the numbers themselves.

    >>> _named([1, 2], None), _named([1, 2], ["art", "biology"]), _named([2], {"1": "art", "2": "biology"})
    (['1', '2'], ['art', 'biology'], ['biology'])
    """
    numbers = [str(number) for number in classes]
    if names is None:
        return numbers
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",")]
    if isinstance(names, Mapping):
        chosen = [names.get(number) for number in numbers]
    elif isinstance(names, list | tuple):
        chosen = list(names)
    else:
        chosen = []
    # With fewer or more names than classes it would be a guess which name is left over.
    all_named = all(isinstance(name, str) and name for name in chosen)
    if not all_named or not len(set(chosen)) == len(chosen) == len(numbers):
        raise DataError(
            f"the names given do not fit the {len(numbers)} classes {', '.join(numbers[:12])}",
            next_step='list one name of its own for each, in this order, or map numbers to names: {"1": "art", ...}',
        )
    return [str(name) for name in chosen]


def _published(name: str, train: Sequence[str], test: Sequence[str], seed: int) -> Split:
    return Split(
        dataset=name,
        query=tuple(test),
        database=tuple(train),
        train=tuple(train),
        validation=tuple(draw(train, len(train) // 10, seed=seed, purpose="validation")),
        protocol="published",
        seed=seed,
    )


def _disagreement(one: str, n_one: int, other: str, n_other: int, of: str) -> DataError:
    return DataError(
        f"{one!r} has {n_one:,} {of} and {other!r} has {n_other:,}",
        next_step="give arrays whose rows are the same items, in the same order",
    )
