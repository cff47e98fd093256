"""The items of coco18 among the images of Microsoft COCO, found by their captions.

The ids of coco18 are not COCO's. An item is the image that has a caption with the item's words; where several have it,
as "a man riding a wave on a surfboard", the one whose picture looks like the item's.
"""

from collections import defaultdict
from pathlib import Path

from deepbinaries.datasets.base import Record, Skips
from deepbinaries.datasets.coco.annotations import COCO, RELEASES, SPLITS, find_pictures, picture_of, read_captions
from deepbinaries.datasets.rebuilding.listing import Found, Listing, caption_digest
from deepbinaries.datasets.rebuilding.pictures import Shrunk, as_stored, look
from deepbinaries.progress import track

SIDE, QUALITY = 256, 45
# Of 32 bits. Among 700 photographs in two sizes and formats none differed in more than 5; of two different photographs
# one pair in 650 differs in 6 or fewer.
ALIKE = 6

Candidates = dict[Path, str]  # pictures of images that have a caption, and the caption as COCO writes it


def find(listing: Listing, release: Path) -> Found:
    """The pictures and captions of the listed items."""
    candidates, without_picture = _candidates(listing, COCO.home(release))
    looks: dict[Path, int] = {}
    found = Found()
    for row, id_ in enumerate(track(listing.ids, "looking for captions")):
        caption = int(listing.captions[row])
        distances = {path: _distance(path, int(listing.looks[row]), looks) for path in candidates[caption]}
        nearest = min(distances.values(), default=ALIKE + 1)
        paths = [path for path, distance in distances.items() if distance == nearest]
        if not paths:
            found.missing[id_] = "no picture" if caption in without_picture else "no caption"
        elif nearest > ALIKE:
            found.missing[id_] = "no picture that looks like it"
        elif len(paths) > 1:
            found.missing[id_] = "no single picture"
        else:
            picture = Shrunk(paths[0], SIDE, QUALITY)
            found.records.append(Record(id_, picture, (candidates[caption][paths[0]],), listing.labels_of(row)))
    return found


def _candidates(listing: Listing, root: Path) -> tuple[dict[int, Candidates], set[int]]:
    """By the digest of a caption, the images that have it; and the digests of which some image lacks its picture."""
    release = next((year for year in RELEASES if (root / _captions("train", year)).exists()), RELEASES[-1])
    COCO.need(root, {_captions(split, release): f"annotations_trainval{release}.zip" for split in SPLITS})
    folder_of = find_pictures(root, SPLITS, release, required=True)
    wanted, skips = set(listing.captions.tolist()), Skips(strict=False)
    candidates: dict[int, Candidates] = defaultdict(dict)
    without_picture: set[int] = set()
    for split in SPLITS:
        texts = read_captions(root / _captions(split, release), skips)
        for number, sentences in texts.sentences.items():
            hits = {caption_digest(sentence): sentence for sentence in reversed(sentences)}
            for caption in hits.keys() & wanted:
                picture = picture_of(number, texts.images[number], folder_of)
                if picture is None:
                    without_picture.add(caption)
                else:
                    candidates[caption][picture.path] = hits[caption]
    return candidates, without_picture


def _captions(split: str, release: str) -> str:
    return f"annotations/captions_{split}{release}.json"


def _distance(path: Path, wanted: int, looks: dict[Path, int]) -> int:
    """In how many bits a picture looks different; each picture is opened once."""
    if path not in looks:
        looks[path] = look(as_stored(path))
    return (looks[path] ^ wanted).bit_count()
