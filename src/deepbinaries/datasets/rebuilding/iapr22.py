"""The items of iapr22 in the official release of IAPR TC-12: the id of `images/00/25.jpg` is `00-25`."""

from pathlib import Path

from deepbinaries.datasets.base import Record, Skips
from deepbinaries.datasets.iapr_tc12.files import IAPR, TEXTS, numbered, sentences_of, with_inner
from deepbinaries.datasets.rebuilding.listing import Found, Listing
from deepbinaries.datasets.rebuilding.pictures import Shrunk

SIDE, QUALITY = 240, 42  # with these the files are those of our own dataset, byte for byte


def find(listing: Listing, release: Path) -> Found:
    """The pictures and descriptions of the listed items; a description is cut into sentences at its semicolons."""
    root = IAPR.home(release)
    home = root if (root / TEXTS).is_dir() else IAPR.home(root, "iaprtc12")
    IAPR.need(home, {"images": "iaprtc12.tgz", TEXTS: "iaprtc12.tgz"})
    pictures = numbered(with_inner([home / "images"]), ".jpg")
    descriptions = numbered(with_inner([home / TEXTS]), ".eng")
    found, skips = Found(), Skips(strict=False)
    for row, id_ in enumerate(listing.ids):
        number = int(id_.rpartition("-")[2])
        sentences = sentences_of(descriptions[number], "clauses", True, skips) if number in descriptions else ()
        if number not in pictures:
            found.missing[id_] = "no picture"
        elif not sentences:
            found.missing[id_] = "no description"
        else:
            picture = Shrunk(pictures[number], SIDE, QUALITY)
            found.records.append(Record(id_, picture, sentences, listing.labels_of(row)))
    return found
