"""`iapr22` and `coco18` made again from the official releases, so that others can repeat what was measured on them.

The package holds which items belong to each, in which part of the split, and with which labels: a file of some hundred
kilobytes, without a sentence and without a picture. Both of these come from the release.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deepbinaries.datasets.base import Records, Skips, digest
from deepbinaries.datasets.export import export
from deepbinaries.datasets.rebuilding import coco18, iapr22
from deepbinaries.datasets.rebuilding.listing import Found, Listing
from deepbinaries.errors import DataError, unknown_name
from deepbinaries.files import written_whole

MISSING = "missing.txt"  # in the destination: what the release does not have
EXAMPLES = 3

Finder = Callable[[Listing, Path], Found]
FINDERS: dict[str, Finder] = {"coco18": coco18.find, "iapr22": iapr22.find}


@dataclass(frozen=True)
class Built:
    """What was made of a release."""

    n_items: int
    n_listed: int
    missing: dict[str, str]  # ids that are not in the release, and what is wanting
    same: bool  # ids, sentences and labels are those of the listed dataset

    def shortfall(self) -> str:
        """What is missing, as one line; "" if nothing is.

        >>> Built(1, 3, {"a": "no picture", "b": "no picture"}, False).shortfall()
        '2 of 3 items are missing: no picture of 2 (a, b)'
        """
        of_reason: dict[str, list[str]] = defaultdict(list)
        for id_, reason in self.missing.items():
            of_reason[reason].append(id_)
        told = [f"{reason} of {len(ids):,} ({_some(ids)})" for reason, ids in sorted(of_reason.items())]
        return f"{len(self.missing):,} of {self.n_listed:,} items are missing: {'; '.join(told)}" if told else ""


def packaged(name: str) -> Listing:
    """The list of a dataset that comes with the package."""
    _finder(name)  # refuses what has none
    return Listing.read(Path(__file__).with_name(f"{name}.npz.xz"))


def build(name: str, release: str | Path, destination: str | Path, *, listing: Listing | None = None) -> Built:
    """Write the dataset to a new folder, from the folder of an official release; `listing` replaces the package's.

    Items that the release does not have are left out of the dataset and of its split, and listed in `missing.txt`.
    """
    find = _finder(name)
    listing = packaged(name) if listing is None else listing
    found = find(listing, Path(release))
    if not found.records:
        raise DataError(
            f"{release} has none of the {len(listing.ids):,} items of {name}",
            next_step="check that the archives of the official release are unpacked there",
        )
    dataset = Records(name, found.records, label_names=listing.label_names, skips=Skips(strict=True))
    folder = export(dataset, destination, form="webdataset", split=listing.split(name, only=set(dataset.ids)))
    if found.missing:
        with written_whole(folder / MISSING) as file:
            file.write("".join(f"{id_}\t{reason}\n" for id_, reason in found.missing.items()).encode())
    return Built(len(dataset), len(listing.ids), found.missing, digest(dataset) == listing.digest)


def _finder(name: str) -> Finder:
    if name not in FINDERS:
        raise unknown_name("dataset that can be built", name, FINDERS)
    return FINDERS[name]


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:EXAMPLES]) + (", ..." if len(ids) > EXAMPLES else "")
