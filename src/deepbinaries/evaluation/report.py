"""A score with everything that is needed to believe it, or not."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, Error
from deepbinaries.evaluation.average_precision import mean_over_queries
from deepbinaries.evaluation.curves import RadiusCurve, RankCurve
from deepbinaries.evaluation.health import Health
from deepbinaries.evaluation.rules import Rules
from deepbinaries.evaluation.uncertainty import Interval
from deepbinaries.files import read_json

FORMAT = "deepbinaries-evaluation"
VERSION = 1

WIDE_TIES = 0.02  # a tie width above this makes small differences between papers meaningless
LARGE_BUCKET = 0.2  # so large a share of the gallery at one distance is hardly a ranking

PerQuery = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """A mean average precision; it is not written anywhere without its rules and without chance.

    >>> print(Score(0.5, Rules(cutoff=50, divide_by="min"), chance=0.1))
    0.5000 (chance 0.1000) MAP[@50, /min, ties=expected, ...]
    """

    value: float
    rules: Rules
    chance: float  # of a ranking that knows nothing, under the same rules

    def to_json(self) -> dict[str, Any]:
        found = {"name": self.rules.name, "value": _plain(self.value), "chance": _plain(self.chance)}
        return found | {"rules": self.rules.to_json()}

    def __str__(self) -> str:
        return f"{self.value:.4f} (chance {self.chance:.4f}) {self.rules}"


@dataclass(frozen=True, eq=False)
class Report:
    """One evaluation: the headline score, how far to trust it, and what else was asked for.

    Vectors hold one number a query in the order of the queries, NaN where nothing is relevant.
    """

    rules: Rules
    direction: str  # "image_to_text", "text_to_image", ...
    bits: int  # of a code, or values of a real-valued item
    n_gallery: int
    per_query: PerQuery  # average precision under `rules`
    best_per_query: PerQuery  # ... under the best order of ties
    worst_per_query: PerQuery
    chance_per_query: PerQuery  # ... of a ranking that knows nothing
    interval: Interval  # of the headline, over queries
    above_chance: Interval  # of the headline less chance, query by query
    others: tuple[Score, ...] = ()  # the same codes under other cutoffs
    metrics: Mapping[str, float] = field(default_factory=dict)  # precision@10 and the like, expected over ties
    gain: str = ""  # of the NDCG among the metrics
    rank_curve: RankCurve | None = None
    radius_curve: RadiusCurve | None = None
    health: Mapping[str, Health] = field(default_factory=dict)  # of "queries" and "gallery"
    agreement: float | None = None  # bits by which true pairs are farther apart than others; negative is good
    largest_bucket: float = 0.0  # share of the gallery in a query's largest bucket, mean over queries
    digests: Mapping[str, str] = field(default_factory=dict)  # of the "queries" and the "gallery"
    dataset: Mapping[str, str] = field(default_factory=dict)  # its "name" and its "digest"
    split: Mapping[str, str] = field(default_factory=dict)  # digests of the split's lists

    @cached_property
    def mean(self) -> float:
        """The headline: mean average precision under `rules`."""
        return mean_over_queries(self.per_query, self.rules.empty)

    @cached_property
    def optimistic(self) -> float:
        """The highest mean that any order of tied items gives."""
        return mean_over_queries(self.best_per_query, self.rules.empty)

    @cached_property
    def pessimistic(self) -> float:
        """The lowest mean that any order of tied items gives."""
        return mean_over_queries(self.worst_per_query, self.rules.empty)

    @property
    def tie_width(self) -> float:
        """What the order of tied items alone can change."""
        return self.optimistic - self.pessimistic

    @cached_property
    def chance(self) -> float:
        """The expected mean of a ranking that knows nothing."""
        return mean_over_queries(self.chance_per_query, self.rules.empty)

    @property
    def score(self) -> Score:
        """The headline with its rules."""
        return Score(self.mean, self.rules, self.chance)

    @property
    def n_empty(self) -> int:
        """Queries to which nothing in the gallery is relevant."""
        return int(np.isnan(self.per_query).sum())

    @property
    def dropped(self) -> int:
        """Queries left out of the mean."""
        return self.n_empty if self.rules.empty == "skip" else 0

    @property
    def used(self) -> int:
        """Queries in the mean."""
        return len(self.per_query) - self.dropped

    def warnings(self) -> list[str]:
        """What makes this score meaningless, as sentences."""
        return [f"{side}: {text}" for side, of_side in self.health.items() for text in of_side.warnings()]

    def notes(self) -> list[str]:
        """What a reader of this score should know, as sentences."""
        found = []
        if self.pessimistic <= self.chance:
            found.append(f"not better than chance ({self.chance:.4f}): some order of the ties scores no more")
        elif self.above_chance.low <= 0:
            found.append(f"not better than chance ({self.chance:.4f}): other queries might score no more")
        if self.tie_width > WIDE_TIES:
            found.append(
                f"the order of ties alone moves this score by {self.tie_width:.3f}: "
                "a smaller difference to a paper that does not state its tie rule means nothing"
            )
        if self.largest_bucket > LARGE_BUCKET:
            found.append(f"on average {self.largest_bucket:.0%} of the gallery stand at one distance from a query")
        if self.agreement is not None and self.agreement >= 0:
            found.append(f"true pairs are no nearer than other pairs ({self.agreement:+.2f} bits)")
        found += [f"{side}: {text}" for side, of_side in self.health.items() for text in of_side.notes()]
        return found

    def definition(self) -> dict[str, str]:
        """What holds for all of `metrics`: like `rules`, but always expected over ties."""
        shared = ("empty", "ranking", "relevance", "gallery", "itself")
        found = {"ties": "expected"} | {name: getattr(self.rules, name) for name in shared}
        return found | ({"gain": self.gain} if self.gain else {})

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for `json.dumps`; numbers that are undefined are None."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "dataset": dict(self.dataset),
            "split": dict(self.split),
            "digests": dict(self.digests),
            "direction": self.direction,
            "bits": self.bits,
            "queries": {"used": self.used, "dropped": self.dropped, "without_relevant": self.n_empty},
            "gallery_items": self.n_gallery,
            "score": self.score.to_json(),
            "interval": _plain(asdict(self.interval)),
            "ties": _plain({"best": self.optimistic, "worst": self.pessimistic, "width": self.tie_width}),
            "chance": _plain(self.chance),
            "above_chance": _plain(asdict(self.above_chance)),
            "others": [score.to_json() for score in self.others],
            "metrics": {"definition": self.definition(), "values": _plain(dict(self.metrics))},
            "rank_curve": _plain(self.rank_curve),
            "radius_curve": _plain(self.radius_curve),
            "health": {side: of_side.to_json() for side, of_side in self.health.items()},
            "agreement_bits": _plain(self.agreement),
            "largest_bucket": _plain(self.largest_bucket),
            "warnings": self.warnings(),
            "notes": self.notes(),
            "per_query": _plain(self.per_query),
        }

    def __str__(self) -> str:
        unit = "bits" if self.rules.ranking == "hamming" else "values"
        verb = "left out" if self.rules.empty == "skip" else "counted as 0"
        empty = f" ({self.n_empty:,} without a relevant item, {verb})" if self.n_empty else ""
        lines = [
            f"{', '.join([self.direction, *self.dataset.get('name', '').split()])}, {self.bits} {unit}, "
            f"{len(self.per_query):,} queries{empty}, {self.n_gallery:,} gallery items",
            str(self.rules),
            f"  {self.rules.name:<24} {self.mean:.4f}",
            f"  {'interval':<24} {self.interval}",
            f"  {'chance':<24} {self.chance:.4f}",
            f"  {'order of ties':<24} {self.pessimistic:.4f} (worst) to {self.optimistic:.4f} (best)",
        ]
        lines += [f"  {score.rules.name:<24} {score.value:.4f} (chance {score.chance:.4f})" for score in self.others]
        lines += [f"  {name:<24} {value:.4f}" for name, value in self.metrics.items()]
        for side, of_side in self.health.items():
            lines.append(
                f"  {f'codes of the {side}':<24} {of_side.distinct_codes:,} distinct, "
                f"effective rank {of_side.effective_rank:.1f}, {of_side.constant_bits} constant bits"
            )
        if self.agreement is not None:
            lines.append(f"  {'true pairs':<24} {self.agreement:+.2f} bits against other pairs")
        lines += [f"warning: {text}" for text in self.warnings()]
        lines += [f"note: {text}" for text in self.notes()]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class SavedScores:
    """What a written report keeps of each query: enough to compare two methods later."""

    rules: Rules
    direction: str
    dataset: Mapping[str, str]
    split: Mapping[str, str]
    per_query: PerQuery

    @classmethod
    def load(cls, path: str | Path) -> "SavedScores":
        """The scores of a report written as JSON."""
        path = Path(path)
        content = read_json(path)
        if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (FORMAT, VERSION):
            raise DataError(
                f"{path} is no {FORMAT} of version {VERSION}", next_step="write it with `deepbinaries evaluate --out`"
            )
        try:
            per_query = np.array([np.nan if score is None else score for score in content["per_query"]], dtype=float)
            rules = Rules.from_json(content["score"]["rules"])
            return cls(rules, str(content["direction"]), dict(content["dataset"]), dict(content["split"]), per_query)
        except (KeyError, TypeError, ValueError, Error) as error:
            raise DataError(f"{path} is not a whole report ({error})", next_step="write it again") from error


def _plain(value: Any) -> Any:
    """Numbers, arrays and dataclasses as JSON has them; NaN, which JSON has not, becomes None."""
    if isinstance(value, np.ndarray):
        return [_plain(part) for part in value.tolist()]
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, RankCurve | RadiusCurve):
        return _plain(asdict(value))
    return None if isinstance(value, float) and math.isnan(value) else value
