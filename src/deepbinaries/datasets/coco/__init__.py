"""Microsoft COCO: photographs of everyday scenes, five sentences each, 80 kinds of objects.

Lin et al., "Microsoft COCO: Common Objects in Context", ECCV 2014. Read from the official files:
`annotations/*.json` in the root, the pictures in `train2014/`, `val2014/` (or the folders of 2017),
which may also lie in `images/`. With `release="karpathy"` the sentences and the split come from
`dataset_coco.json` (see karpathy.py).

Reading needs a little more than twice the bytes of the largest annotation file, about one gigabyte.
"""

from pathlib import Path

from deepbinaries.datasets.base import Record, Records, Skips
from deepbinaries.datasets.coco import karpathy
from deepbinaries.datasets.coco.annotations import (
    COCO,
    RELEASES,
    SPLITS,
    complete,
    find_pictures,
    label_names,
    picture_of,
    read_captions,
    read_instances,
)
from deepbinaries.datasets.official import PICTURES, choice, records


def load(
    root: str | Path | None,
    *,
    release: str = "auto",  # "2014", "2017" or "karpathy"; auto takes 2014 when it is there
    splits: str = "both",  # "train", "val"
    pictures: str = "required",  # "optional" also keeps items whose picture is not on this disk
    strict: bool = False,
) -> Records:
    """The labelled images of COCO, ordered by their numbers; `source` is the official split, such as `val2014`."""
    choice("pictures", pictures, PICTURES)
    choice("release", release, ("auto", "karpathy", *RELEASES))
    wanted = SPLITS if choice("splits", splits, ("both", *SPLITS)) == "both" else (splits,)
    root = COCO.home(root)
    skips = Skips(strict=strict)
    if release == "karpathy":
        return karpathy.read(root, splits=splits, pictures=pictures, skips=skips)
    if release == "auto":
        release = _found(root, wanted)
    COCO.need(root, dict.fromkeys(_annotation_files(wanted, release), f"annotations_trainval{release}.zip"))
    folder_of = find_pictures(root, wanted, release, required=pictures == "required")

    captions = [read_captions(root / "annotations" / f"captions_{split}{release}.json", skips) for split in wanted]
    instances = [read_instances(root / "annotations" / f"instances_{split}{release}.json", skips) for split in wanted]
    names = label_names(instances)
    items: dict[int, Record] = {}
    for split, texts, objects in zip(wanted, captions, instances, strict=True):
        for number, file_name in (objects.images | texts.images).items():
            where = f"image {number} of {split}{release}"
            item = Record(
                id=f"coco:{number}",
                picture=picture_of(number, file_name, folder_of),
                sentences=texts.sentences.get(number, ()),
                labels=tuple(names[category] for category in sorted(objects.categories.get(number, ()))),
                source=f"{split}{release}",
            )
            if number in items:
                skips.add("image in both splits", where)
            elif complete(item, where, skips, pictures=pictures):
                items[number] = item
    ordered = [items[number] for number in sorted(items)]
    return records("coco", ordered, label_names=list(names.values()), skips=skips)


def _annotation_files(splits: tuple[str, ...], release: str) -> list[str]:
    return [f"annotations/{kind}_{split}{release}.json" for split in splits for kind in ("instances", "captions")]


def _found(root: Path, splits: tuple[str, ...]) -> str:
    """The release whose annotations are there; 2014, the paper's, when both or none are."""
    for release in RELEASES:
        if any((root / file).exists() for file in _annotation_files(splits, release)):
            return release
    return RELEASES[0]
