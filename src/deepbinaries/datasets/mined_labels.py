"""Labels for a dataset that has sentences but no labels: the concepts its captions name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deepbinaries.datasets.base import Dataset
from deepbinaries.datasets.labels import Labels
from deepbinaries.language import mine_concepts


@dataclass(frozen=True)
class Relabelled:
    """A dataset under other labels, and so under another name; everything else is the original's."""

    original: Dataset
    labels: Labels

    @property
    def name(self) -> str:
        return f"{self.original.name}-mined"

    @property
    def ids(self) -> Sequence[str]:
        return self.original.ids

    def sentences(self, row: int) -> Sequence[str]:
        return self.original.sentences(row)

    def picture(self, row: int) -> bytes:
        return self.original.picture(row)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)  # the members that a dataset may have


def with_mined_labels(dataset: Dataset, **settings: Any) -> Relabelled:
    """The dataset with concepts mined from its sentences as labels (settings: `language.mine_concepts`).

    >>> from deepbinaries.datasets import Record, Records
    >>> from deepbinaries.datasets.base import Skips
    >>> captions = {"1": "two dogs", "2": "a dog on a beach", "3": "a beach", "4": "a car"}
    >>> records = [Record(id_, None, (text,)) for id_, text in captions.items()]
    >>> album = Records("album", records, skips=Skips(strict=True))
    >>> [with_mined_labels(album).labels.of(row) for row in range(4)]
    [('dog',), ('beach', 'dog'), ('beach',), ()]
    """
    concepts = mine_concepts([list(dataset.sentences(row)) for row in range(len(dataset.ids))], **settings)
    return Relabelled(dataset, Labels.from_names(concepts.sets, concepts.names))
