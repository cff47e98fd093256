"""COCO by the Karpathy file: `dataset_coco.json`, the split most captioning and matching papers use.

Karpathy and Fei-Fei, "Deep Visual-Semantic Alignments for Generating Image Descriptions", CVPR 2015.
The file holds sentences and splits, no labels: these are joined from the official instances.
It also says which images were validation images in 2014, which the files of 2017 do not.
"""

from pathlib import Path
from typing import Any

from deepbinaries.datasets.base import Record, Records, Skips
from deepbinaries.datasets.coco.annotations import (
    COCO,
    RELEASES,
    SPLITS,
    complete,
    find_pictures,
    label_names,
    picture_of,
    plain_name,
    read_instances,
)
from deepbinaries.datasets.official import Publication, entries, read_json, records
from deepbinaries.errors import DataError
from deepbinaries.language import collapse

KARPATHY = Publication("Deep Visual-Semantic Alignments", "cs.stanford.edu/people/karpathy/deepimagesent")
FILE = "dataset_coco.json"
KEPT = frozenset(("dataset", "images", "filename", "cocoid", "split", "sentences", "raw", "sentid"))
SOURCES = {"train": ("train",), "val": ("restval", "val", "test")}  # by the split of 2014 they were taken from


def read(root: Path, *, splits: str, pictures: str, skips: Skips) -> Records:
    """The labelled images of the Karpathy file, ordered by number; `source` is train, restval, val or test."""
    path = next((p for p in (root / FILE, root / "annotations" / FILE) if p.exists()), None)
    if path is None:
        raise KARPATHY.lacks(root, [FILE], ["caption_datasets.zip"])
    release = _instances_release(root)
    content = read_json(path, keep=KEPT)
    if content.get("dataset") != "coco":
        raise DataError(f"{path} is about {content.get('dataset')!r}, not COCO", next_step=f"give the file {FILE}")
    folder_of = find_pictures(root, SPLITS, release, required=pictures == "required")
    instances = [read_instances(root / "annotations" / f"instances_{s}{release}.json", skips) for s in SPLITS]
    names = label_names(instances)
    categories = instances[0].categories | instances[1].categories

    wanted = [source for split in SPLITS if splits in ("both", split) for source in SOURCES[split]]
    items: dict[int, Record] = {}
    for position, image in enumerate(entries(content, "images", path)):
        where = f"{path.name}, entry {position} of images"
        if not isinstance(image, dict) or type(image.get("cocoid")) is not int:
            skips.add("image without cocoid", where)
            continue
        number, source = image["cocoid"], image.get("split")
        item = Record(
            id=f"coco:{number}",
            picture=picture_of(number, plain_name(image.get("filename"), where), folder_of),
            sentences=_sentences(image.get("sentences"), where, skips),
            labels=tuple(names[category] for category in sorted(categories.get(number, ()))),
            source=str(source),
        )
        if not any(source in known for known in SOURCES.values()):
            skips.add("split that is not train, restval, val or test", where)
        elif number in items:
            skips.add("image given twice", where)
        elif source in wanted and complete(item, where, skips, pictures=pictures):
            items[number] = item
    ordered = [items[number] for number in sorted(items)]
    return records("coco", ordered, label_names=list(names.values()), skips=skips)


def _instances_release(root: Path) -> str:
    files = {year: [f"annotations/instances_{split}{year}.json" for split in SPLITS] for year in RELEASES}
    for year in RELEASES:
        if all((root / file).exists() for file in files[year]):
            return year
    missing = [file for file in files["2014"] if not (root / file).exists()]
    raise COCO.lacks(root, missing, ["annotations_trainval2014.zip"])


def _sentences(found: Any, where: str, skips: Skips) -> tuple[str, ...]:
    """The sentences as their authors wrote them, by sentence id, so that one tokeniser serves every dataset."""
    texts = []
    for sentence in found if isinstance(found, list) else ():
        known = isinstance(sentence, dict) and isinstance(sentence.get("raw"), str)
        if known and type(sentence.get("sentid")) is int and sentence["raw"].split():
            texts.append((sentence["sentid"], collapse(sentence["raw"])))
        else:
            skips.add("caption without words", where)
    return tuple(text for _, text in sorted(texts))
