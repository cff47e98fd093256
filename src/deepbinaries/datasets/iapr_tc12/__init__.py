"""IAPR TC-12: 20,000 photographs, most of them of travels, each with an English description.

Grubinger et al., "The IAPR TC-12 Benchmark", OntoImage 2006. Read from the official files,
`images/<dir>/<number>.jpg` and `annotations_complete_eng/<dir>/<number>.eng` in the root or in
`iaprtc12/`; the labels are a second download (see labels.py) and may lie anywhere under the root.

A description is a list of clauses separated by semicolons. Taken as sentences, there are 1.76 of them
a photograph, as good as the 1.7 the paper counts; hence the default.
"""

from dataclasses import replace
from pathlib import Path

from deepbinaries.datasets.base import PictureFile, Record, Records, Skips
from deepbinaries.datasets.iapr_tc12.files import IAPR, SENTENCES, TEXTS, numbered, sentences_of, with_inner
from deepbinaries.datasets.iapr_tc12.labels import (
    PictureLabels,
    description_words,
    find_label_files,
    missing_words_files,
    region_concepts,
)
from deepbinaries.datasets.official import PICTURES, Publication, choice, most_frequent, records
from deepbinaries.errors import DataError

SAIAPR = Publication("SAIAPR TC-12", "imageclef.org/SIAPRdata")
UNPAIRED = (4072, 4092)  # the release itself has no picture of the one and no description of the other
LABELS = ("auto", "saiapr", "words")


def load(
    root: str | Path | None,
    *,
    labels: str = "auto",  # "saiapr": concepts of regions; "words": the 291 words; auto takes what is there
    top_labels: int = 22,  # the most frequent ones are kept, and the items that carry one; 0 keeps all
    sentence: str = "clauses",  # or "whole": one sentence a description; "first": its first clause
    title_if_empty: bool = True,  # the title stands in for an empty description
    pictures: str = "required",  # "optional" also keeps items whose picture is not on this disk
    strict: bool = False,
) -> Records:
    """The labelled photographs of IAPR TC-12, ordered by number; the id of `images/00/25.jpg` is `00-25`."""
    choice("pictures", pictures, PICTURES)
    choice("sentence", sentence, SENTENCES)
    choice("labels", labels, LABELS)
    root = IAPR.home(root)
    home = root if (root / TEXTS).is_dir() else IAPR.home(root, "iaprtc12")
    skips = Skips(strict=strict)
    files = find_label_files(root)
    picture_folders = [home / "images", *(path.parent / "images" for path in files.get("labels.txt", ()))]
    wanted = {TEXTS: "iaprtc12.tgz"}
    if pictures == "required" and not any(folder.is_dir() for folder in picture_folders):
        wanted["images"] = "iaprtc12.tgz"
    IAPR.need(home, wanted)
    picture_labels = _picture_labels(root, files, labels, skips)
    picture_of = numbered(with_inner(picture_folders), ".jpg")
    description_of = numbered(with_inner([home / TEXTS]), ".eng")

    items: dict[int, Record] = {}
    for number in sorted(picture_of.keys() | description_of.keys() | picture_labels.of.keys()):
        folder = f"{number // 1000:02d}"
        picture = picture_of.get(number)
        where = f"picture {folder}/{number}"
        if number not in description_of:
            skips.add("no description", where, expected=number in UNPAIRED)
        elif picture is None and pictures == "required":
            skips.add("no picture file", where, expected=number in UNPAIRED)
        elif not picture_labels.of.get(number):
            skips.add("no label", where, expected=True)
        elif sentences := sentences_of(description_of[number], sentence, title_if_empty, skips):
            items[number] = Record(
                id=f"{folder}-{number}",
                picture=None if picture is None else PictureFile(picture),
                sentences=sentences,
                labels=tuple(picture_labels.of[number]),
                source=folder,
            )
    return _with_top_labels(items, picture_labels.names, top_labels, skips)


def _with_top_labels(items: dict[int, Record], names: tuple[str, ...], n: int, skips: Skips) -> Records:
    """The items that carry one of the most frequent labels, with these alone."""
    kept = most_frequent((item.labels for item in items.values()), names, n)
    left = []
    for item in items.values():
        labels = tuple(name for name in kept if name in item.labels)
        if labels:
            left.append(replace(item, labels=labels))
        else:
            skips.add(f"none of the {len(kept)} most frequent labels", f"picture {item.id}", expected=True)
    return records("iapr-tc12", left, label_names=kept, skips=skips)


def _picture_labels(root: Path, files: dict[str, list[Path]], labels: str, skips: Skips) -> PictureLabels:
    missing_regions = [name for name in ("wlist.txt", "labels.txt") if name not in files]
    missing_words = missing_words_files(files)
    if labels != "words" and not missing_regions:
        return region_concepts(files["wlist.txt"][0], files["labels.txt"], skips)
    if labels != "saiapr" and not missing_words:
        return description_words(files, skips)
    archives = [f"saiaprtc12ok.part{part}.rar" for part in (1, 2, 3)]
    if labels == "saiapr":
        raise SAIAPR.lacks(root, missing_regions, archives)
    if labels == "words":
        raise DataError(
            f"{root} has no {', '.join(missing_words)}",
            next_step="unpack the TagProp archive iaprtc12.20091111.tar.bz2 (LEAR, INRIA Grenoble) there",
        )
    error = SAIAPR.lacks(root, missing_regions, archives)
    raise DataError(
        error.problem, next_step=f"{error.next_step}, or give the files of the 291 words ({', '.join(missing_words)})"
    )
