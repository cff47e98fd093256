"""Which mean average precision: everything that changes the number, said once and carried along.

The names that reports use for the variants, K being a cutoff such as 500:

| name          | ranks looked at | divided by                       | as rules                               |
| ------------- | --------------- | -------------------------------- | -------------------------------------- |
| `map@all`     | whole gallery   | relevant items                   | `Rules()`                              |
| `map@K/min`   | first K         | the smaller of K and relevant    | `Rules(cutoff=K, divide_by="min")`      |
| `map@K/all`   | first K         | relevant items                   | `Rules(cutoff=K, divide_by="relevant")` |
| `map@K/found` | first K         | relevant items among the first K | `Rules(cutoff=K, divide_by="hits")`     |

The last rewards finding less; it is here to reproduce other people's tables, never as a headline.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from deepbinaries.datasets.splits import GALLERIES
from deepbinaries.errors import DataError, UsageError, unknown_name

CHOICES: Mapping[str, tuple[str, ...]] = {
    "divide_by": ("relevant", "min", "hits"),
    "ties": ("expected", "best", "worst", "by_row"),
    "empty": ("skip", "zero"),
    "ranking": ("hamming", "inner", "cosine"),
    "gallery": GALLERIES,
    "itself": ("kept", "left out"),
}

DIVISOR_OF_ENDING = {"min": "min", "all": "relevant", "found": "hits"}
ENDING_OF_DIVISOR = {divisor: ending for ending, divisor in DIVISOR_OF_ENDING.items()}


@dataclass(frozen=True)
class Rules:
    """The choices that papers leave unsaid.

    >>> print(Rules(cutoff=500, divide_by="hits", ties="by_row", empty="zero"))
    MAP[@500, /hits, ties=by_row, empty=zero, ranking=hamming, relevance=shared label, gallery=database]
    """

    cutoff: int | None = None  # K, ranks looked at; None is the whole gallery
    divide_by: str = "relevant"  # "relevant", "min" (of K and relevant) or "hits" (relevant among the first K)
    ties: str = "expected"  # "expected" over every order of equally near items, "best", "worst", or "by_row"
    empty: str = "skip"  # queries without a relevant item: "skip" counts and leaves them out, "zero" scores them 0
    ranking: str = "hamming"  # what puts items in order: "hamming", or "inner" and "cosine" for real values
    relevance: str = "shared label"  # in words: "shared label without person", "same item"
    gallery: str = "database"  # "database", "clean" or "with-queries", as in `datasets.splits`
    itself: str = "kept"  # "left out": a query that lies in the gallery is no answer to itself

    def __post_init__(self) -> None:
        if self.cutoff is not None and (type(self.cutoff) is not int or not 1 <= self.cutoff < 2**31):
            raise UsageError(
                f"cutoff={self.cutoff!r} is no number of ranks", next_step="give 1 or more, or None for all of them"
            )
        for field, known in CHOICES.items():
            if getattr(self, field) not in known:
                raise unknown_name(f"choice of {field}", str(getattr(self, field)), known)
        if not isinstance(self.relevance, str) or not self.relevance.strip():
            raise UsageError("relevance is not said", next_step='say in words what is relevant, as "shared label"')

    @property
    def name(self) -> str:
        """The variant's short name; over the whole gallery the three divisors are the same number.

        >>> Rules().name, Rules(cutoff=50, divide_by="min").name
        ('map@all', 'map@50/min')
        """
        return "map@all" if self.cutoff is None else f"map@{self.cutoff}/{ENDING_OF_DIVISOR[self.divide_by]}"

    @classmethod
    def named(cls, name: str, **others: Any) -> "Rules":
        """The rules behind a variant's short name; `others` are the fields that the name leaves open.

        >>> Rules.named("map@500/found", empty="zero") == Rules(cutoff=500, divide_by="hits", empty="zero")
        True
        """
        if name == "map@all":
            return cls(**others)
        parts = re.fullmatch(r"map@([1-9][0-9]{0,9})/(min|all|found)", name)
        if parts is None:
            raise unknown_name("variant", name, ["map@all", "map@K/min", "map@K/all", "map@K/found"])
        return cls(cutoff=int(parts[1]), divide_by=DIVISOR_OF_ENDING[parts[2]], **others)

    def to_json(self) -> dict[str, Any]:
        """Every rule by its name, ready for `json.dumps`."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Rules":
        """The rules that `to_json` wrote; a rule that is missing or unknown is refused.

        >>> Rules.from_json(Rules(cutoff=5).to_json()) == Rules(cutoff=5)
        True
        """
        known = {field.name for field in fields(cls)}
        if not isinstance(content, Mapping) or content.keys() != known:
            found = sorted(content) if isinstance(content, Mapping) else type(content).__name__
            raise DataError(
                f"rules name each of {', '.join(sorted(known))}, these name {found}",
                next_step="write them with Rules.to_json: a rule left out changes what a score means",
            )
        return cls(**content)

    def __str__(self) -> str:
        where = "all" if self.cutoff is None else f"@{self.cutoff}"
        left_out = ", itself=left out" if self.itself == "left out" else ""
        return (
            f"MAP[{where}, /{self.divide_by}, ties={self.ties}, empty={self.empty}, ranking={self.ranking}, "
            f"relevance={self.relevance}, gallery={self.gallery}{left_out}]"
        )
