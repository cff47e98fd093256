"""The annotation files of a COCO split, the labels and sentences of its images, and their pictures.

In both releases an image has the same number, so that whatever names an image joins with whatever
holds its picture, whichever release each of them came from.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepbinaries.datasets.base import PictureFile, Record, Skips
from deepbinaries.datasets.official import Publication, entries, names_in, read_json
from deepbinaries.errors import DataError
from deepbinaries.language import collapse

COCO = Publication("COCO - Common Objects in Context", "cocodataset.org, section Download")
SPLITS = ("train", "val")
RELEASES = ("2014", "2017")

KEPT = frozenset(
    ("images", "annotations", "categories", "id", "image_id", "file_name", "category_id", "name", "caption")
)


@dataclass(frozen=True)
class Captions:
    """The sentences of a split's images, in the order of their annotation ids."""

    images: dict[int, str]  # number to file name
    sentences: dict[int, tuple[str, ...]]


@dataclass(frozen=True)
class Instances:
    """The categories that occur in a split's images."""

    images: dict[int, str]  # number to file name
    names: dict[int, str]  # category id to name
    categories: dict[int, set[int]]  # number of an image to category ids


def read_captions(path: Path, skips: Skips) -> Captions:
    """The sentences of `captions_*.json`; a sentence without words is left out."""
    content = read_json(path, keep=KEPT)
    images = _images(content, path, skips)
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for annotation, where in _annotations(content, images, path, skips):
        caption = annotation.get("caption")
        if isinstance(caption, str) and caption.split():
            found[annotation["image_id"]].append((annotation["id"], collapse(caption)))
        else:
            skips.add("caption without words", where)
    return Captions(images, {image: tuple(text for _, text in sorted(texts)) for image, texts in found.items()})


def read_instances(path: Path, skips: Skips) -> Instances:
    """The categories of `instances_*.json`: each counts once for an image, a crowd as much as one object."""
    content = read_json(path, keep=KEPT)
    images = _images(content, path, skips)
    names = {}
    for category in entries(content, "categories", path):
        if not _has(category, id=int, name=str) or not category["name"].strip():
            raise DataError(f"{path} has a category without id or name", next_step="unpack its archive again")
        names[category["id"]] = collapse(category["name"])
    categories: dict[int, set[int]] = defaultdict(set)
    for annotation, where in _annotations(content, images, path, skips):
        if _has(annotation, category_id=int) and annotation["category_id"] in names:
            categories[annotation["image_id"]].add(annotation["category_id"])
        else:
            skips.add("category that is not listed", where)
    return Instances(images, names, categories)


def label_names(instances: list[Instances]) -> dict[int, str]:
    """Category ids and their names, ascending: the rank of an id is its label's index."""
    names: dict[int, str] = {}
    for part in instances:
        for id_, name in part.names.items():
            if names.setdefault(id_, name) != name:
                raise DataError(
                    f"category {id_} is called {names[id_]!r} in one file and {name!r} in the other",
                    next_step="unpack both annotation files from one archive",
                )
    return dict(sorted(names.items()))


def find_pictures(root: Path, splits: tuple[str, ...], release: str, *, required: bool) -> dict[str, Path]:
    """Which folder holds each picture, by file name.

    The pictures of a release lie in the folders of its splits; those of the other release serve as well.
    """
    folders: dict[str, list[Path]] = {}
    for name in (f"{split}{year}" for year in RELEASES for split in SPLITS):
        folders[name] = [folder for folder in (root / name, root / "images" / name) if folder.is_dir()]
    wanted = [f"{split}{release}" for split in splits]
    whole = [wanted, *([f"{split}{year}" for split in SPLITS] for year in RELEASES)]
    if required and not any(all(folders[name] for name in names) for names in whole):
        missing = [name for name in wanted if not folders[name]]
        raise COCO.lacks(root, [f"{name}/" for name in missing], [f"{name}.zip" for name in missing])
    return {file: folder for found in folders.values() for folder in found for file in names_in(folder)}


def picture_of(number: int, file_name: str, folder_of: Mapping[str, Path]) -> PictureFile | None:
    """The picture of an image, under its own file name or under the one of the other release."""
    prefixes = ("", "COCO_train2014_", "COCO_val2014_")
    for name in (file_name, *(f"{prefix}{number:012d}.jpg" for prefix in prefixes)):
        if name in folder_of:
            return PictureFile(folder_of[name] / name)
    return None


def plain_name(name: Any, where: str) -> str:
    """A file name that names a file and no other place."""
    if not isinstance(name, str) or not name or name in (".", "..") or set(name) & set("/\\\0"):
        raise DataError(f"{where}: {name!r} is no plain file name", next_step="unpack the archive again")
    return name


def complete(record: Record, where: str, skips: Skips, *, pictures: str) -> bool:
    """Whether an image has labels, sentences and a picture; if not, it is counted as left out."""
    if not record.labels:
        skips.add("no label", where, expected=True)  # about one official image in a hundred
    elif not record.sentences:
        skips.add("no caption", where)
    elif record.picture is None and pictures == "required":
        skips.add("no picture file", where)
    else:
        return True
    return False


def _images(content: dict[str, Any], path: Path, skips: Skips) -> dict[int, str]:
    images: dict[int, str] = {}
    for position, image in enumerate(entries(content, "images", path)):
        where = f"{path.name}, entry {position} of images"
        if not _has(image, id=int):
            skips.add("image without id", where)
        elif image["id"] in images:
            skips.add("image id given twice", where)
        else:
            images[image["id"]] = plain_name(image.get("file_name"), where)
    return images


def _annotations(
    content: dict[str, Any], images: Mapping[int, str], path: Path, skips: Skips
) -> Iterator[tuple[dict[str, Any], str]]:
    """Annotations of listed images, each with the words that say where it stands."""
    for position, annotation in enumerate(entries(content, "annotations", path)):
        where = f"{path.name}, entry {position} of annotations"
        if not _has(annotation, id=int, image_id=int):
            skips.add("annotation without id or image_id", where)
        elif annotation["image_id"] not in images:
            skips.add("annotation of an image that is not listed", f"{where} (image {annotation['image_id']})")
        else:
            yield annotation, where


def _has(entry: Any, **types: type) -> bool:
    return isinstance(entry, dict) and all(type(entry.get(key)) is wanted for key, wanted in types.items())
