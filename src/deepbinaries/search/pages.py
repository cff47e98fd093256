"""Which page of what is wanted."""

from dataclasses import dataclass
from typing import Literal

from deepbinaries.errors import unknown_name
from deepbinaries.search.filters import Filter
from deepbinaries.search.relevance import STRENGTHS, Strength

Sort = Literal["relevance", "newest", "oldest"]
SORTS = ("relevance", "newest", "oldest")


@dataclass(frozen=True)
class Page:
    """The k hits after the first `offset`, among what a filter lets through and is at least so strong."""

    k: int
    offset: int
    where: Filter
    sort: Sort
    least: Strength
    alike: int | None  # bits of 64 in which look-alikes may differ; None folds nothing
    kind: str  # pictures or sentences

    def __post_init__(self) -> None:
        if self.sort not in SORTS:
            raise unknown_name("order", self.sort, SORTS)
        if self.least not in STRENGTHS:
            raise unknown_name("strength", self.least, STRENGTHS)

    @property
    def end(self) -> int:
        """How many hits come before the next page."""
        return self.offset + self.k
