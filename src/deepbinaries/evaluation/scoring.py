"""`evaluate` and `evaluate_values`: from two sets of codes, or of real values, to a report."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbinaries.codes import Codes, distances
from deepbinaries.datasets.labels import Labels
from deepbinaries.errors import DataError, UsageError, unknown_name
from deepbinaries.evaluation import curves
from deepbinaries.evaluation.average_precision import ORDERS, average_precision, chance, mean_over_queries
from deepbinaries.evaluation.buckets import Buckets, Counts, check_sizes, of_codes, of_costs
from deepbinaries.evaluation.gains import ndcg_at
from deepbinaries.evaluation.health import agreement, health
from deepbinaries.evaluation.metrics import (
    first_rank,
    hit_at,
    lookup_failure,
    lookup_precision,
    precision_at,
    reciprocal_rank,
)
from deepbinaries.evaluation.real_values import as_values, costs
from deepbinaries.evaluation.relevance import PairedItems, Relevance, SharedLabels
from deepbinaries.evaluation.report import Report, Score
from deepbinaries.evaluation.rules import Rules
from deepbinaries.evaluation.uncertainty import over_queries

DIRECTIONS = ("image_to_text", "text_to_image", "image_to_image", "text_to_text")

HEADLINE = Rules()
BY_INNER_PRODUCT = Rules(ranking="inner")

Measure = Callable[[Buckets], NDArray[Any]]  # one row a query


@dataclass(frozen=True)
class Extras:
    """What is measured beside the headline."""

    cutoffs: tuple[int, ...] = (50, 500, 5000)  # of map@K/min
    precision_at: tuple[int, ...] = (1, 10, 100)
    hit_at: tuple[int, ...] = (1, 5, 10)  # where relevance is "the paired item"
    radius: int = 2  # of a hash lookup; for codes only
    ndcg_at: tuple[int, ...] = ()
    gain: str = "2^g-1"  # of NDCG; the other is "g", the number of shared labels
    curves: bool = False  # precision and recall by rank, and by radius for codes

    def __post_init__(self) -> None:
        for k in (*self.cutoffs, *self.precision_at, *self.hit_at, *self.ndcg_at):
            if not 1 <= k < 2**31:
                raise UsageError(f"the first {k} ranks cannot be looked at", next_step="give a rank from 1 on")
        if self.radius < 0:
            raise UsageError(f"radius={self.radius} is negative", next_step="0 finds equal codes")


USUAL = Extras()


def evaluate(
    queries: Codes,
    gallery: Codes,
    *,
    query_labels: Labels | None = None,
    gallery_labels: Labels | None = None,
    pairs: PairedItems | None = None,
    rules: Rules = HEADLINE,
    direction: str = "image_to_text",
    own: Counts | None = None,
    partners: Codes | None = None,
    extras: Extras = USUAL,
    dataset: Mapping[str, str] | None = None,
    split: Mapping[str, str] | None = None,
    seed: int = 0,
    device: str | None = None,
) -> Report:
    """The report of a search by Hamming distance.

    Relevance comes from the labels of both sides, or from `pairs`. `own` names the gallery row that
    is the query itself and is left out (-1: none). `partners` are the queries' items in the other
    modality, for the agreement of true pairs. `dataset` (name and digest) and `split` (digests) are
    recorded; `seed` draws the interval. Given a `device`, such as "cuda", torch compares the codes there,
    where relevance comes from labels, with the same result. `evaluate_parts` fills in all that a dataset's split knows.

    >>> labels = Labels.from_names([["cat"], ["dog"]])
    >>> codes = Codes.from_bits([[0, 0, 1], [1, 1, 0]])
    >>> evaluate(codes, codes, query_labels=labels, gallery_labels=labels, rules=Rules(gallery="with-queries")).mean
    1.0
    """
    _check(rules, ("hamming",), direction, own, len(queries), len(gallery))
    relevance = _relevance(query_labels, gallery_labels, pairs, rules)
    buckets = of_codes(queries, gallery, relevance, own=own, graded=bool(extras.ndcg_at), device=device)
    in_rows = of_costs(distances(queries, gallery), relevance, own=own, by_row=True)
    radius = min(extras.radius, gallery.bits)
    lookups: dict[str, Measure] = {
        f"precision within {radius} bits": partial(lookup_precision, radius=radius),
        f"nothing within {radius} bits": partial(lookup_failure, radius=radius),
    }
    return _report(
        buckets,
        in_rows,
        rules,
        extras,
        metrics=_metrics(extras, paired=pairs is not None) | lookups,
        n_gallery=len(gallery),
        by_radius=extras.curves,
        seed=seed,
        about={
            "direction": direction,
            "bits": gallery.bits,
            "health": {"queries": health(queries), "gallery": health(gallery)},
            "agreement": None if partners is None else agreement(queries, partners),
            "digests": {"queries": queries.digest, "gallery": gallery.digest},
            "dataset": dataset or {},
            "split": split or {},
        },
    )


def evaluate_values(
    queries: ArrayLike,
    gallery: ArrayLike,
    *,
    query_labels: Labels | None = None,
    gallery_labels: Labels | None = None,
    pairs: PairedItems | None = None,
    rules: Rules = BY_INNER_PRODUCT,
    direction: str = "image_to_text",
    own: Counts | None = None,
    extras: Extras = USUAL,
    dataset: Mapping[str, str] | None = None,
    split: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Report:
    """The report of a search by real values, (n, width) each; `rules.ranking` is "inner" or "cosine".

    For real queries against binary codes give `gallery.to_signs()` and rank by inner product.

    >>> labels = Labels.from_names([["cat"], ["dog"]])
    >>> values = [[0.9, 0.1], [0.2, 0.8]]
    >>> rules = Rules(ranking="cosine", gallery="with-queries")
    >>> evaluate_values(values, values, query_labels=labels, gallery_labels=labels, rules=rules).mean
    1.0
    """
    asking, stored = as_values(queries, "queries"), as_values(gallery, "gallery")
    _check(rules, ("inner", "cosine"), direction, own, len(asking), len(stored))
    relevance = _relevance(query_labels, gallery_labels, pairs, rules)
    check_sizes(len(asking), len(stored), relevance)
    ranked = partial(costs, asking, stored, rules.ranking)
    return _report(
        of_costs(ranked(), relevance, own=own, graded=bool(extras.ndcg_at)),
        of_costs(ranked(), relevance, own=own, by_row=True),
        rules,
        extras,
        metrics=_metrics(extras, paired=pairs is not None),
        n_gallery=len(stored),
        by_radius=False,
        seed=seed,
        about={
            "direction": direction,
            "bits": stored.shape[1],
            "digests": {"queries": _digest(asking), "gallery": _digest(stored)},
            "dataset": dataset or {},
            "split": split or {},
        },
    )


def _report(
    buckets: Iterable[Buckets],
    in_rows: Iterable[Buckets],  # the same rankings with ties in row order; touched only when the rules ask for it
    rules: Rules,
    extras: Extras,
    *,
    metrics: Mapping[str, Measure],
    n_gallery: int,
    by_radius: bool,
    seed: int,
    about: Mapping[str, Any],
) -> Report:
    others = [replace(rules, cutoff=k, divide_by="min", ties="expected") for k in extras.cutoffs]
    ranks = curves.default_ranks(n_gallery)
    measures = {ties: _score(rules, ties) for ties in ORDERS} | {other.name: _score(other) for other in others}
    measures |= {f"chance of {other.name}": _chance(other) for other in others}
    measures |= metrics
    measures["chance"] = _chance(rules)
    measures["largest bucket"] = lambda part: part.n.max(axis=1) / np.maximum(part.items, 1)
    if extras.curves:
        measures |= {"relevant": lambda part: part.relevant, "points": curves.eleven_points}
        measures["found"] = partial(curves.found_by_rank, ranks=ranks)
    if by_radius:
        measures |= {"n": lambda part: part.n, "R": lambda part: part.R}

    of = _measure(buckets, measures)
    if rules.ties == "by_row":
        of |= _measure(in_rows, {"by_row": measures["expected"]})
    per_query, empty = of[rules.ties], rules.empty
    if np.isnan(per_query).all():
        raise DataError(
            "no query has a relevant item in the gallery",
            next_step="check that the labels or ids belong to these codes, row by row",
        )
    in_the_mean = np.nan_to_num(per_query) if empty == "zero" else per_query
    return Report(
        rules=rules,
        n_gallery=n_gallery,
        per_query=per_query,
        best_per_query=of["best"],
        worst_per_query=of["worst"],
        chance_per_query=of["chance"],
        interval=over_queries(in_the_mean, seed=seed),
        above_chance=over_queries(per_query - of["chance"], seed=seed),
        others=tuple(
            Score(mean_over_queries(of[o.name], empty), o, mean_over_queries(of[f"chance of {o.name}"], empty))
            for o in others
        ),
        metrics={name: _average(name, of[name], empty) for name in metrics},
        gain=extras.gain if extras.ndcg_at else "",
        rank_curve=curves.by_rank(of["found"], of["points"], of["relevant"], ranks, empty) if extras.curves else None,
        radius_curve=curves.by_radius(of["n"], of["R"], empty) if by_radius else None,
        largest_bucket=float(of["largest bucket"].mean()),
        **about,
    )


def _score(rules: Rules, ties: str = "expected") -> Measure:
    return partial(average_precision, cutoff=rules.cutoff, divide_by=rules.divide_by, ties=ties)


def _chance(rules: Rules) -> Measure:
    return partial(chance, cutoff=rules.cutoff, divide_by=rules.divide_by)


def _measure(buckets: Iterable[Buckets], measures: Mapping[str, Measure]) -> dict[str, NDArray[Any]]:
    """Every measure over all queries; the rankings stream by and are not kept."""
    found: dict[str, list[NDArray[Any]]] = {name: [] for name in measures}
    for part in buckets:
        for name, measure in measures.items():
            found[name].append(measure(part))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _metrics(extras: Extras, *, paired: bool) -> dict[str, Measure]:
    metrics: dict[str, Measure] = {f"precision@{k}": partial(precision_at, k=k) for k in extras.precision_at}
    metrics |= {f"ndcg@{k}": partial(ndcg_at, k=k, gain=extras.gain) for k in extras.ndcg_at}
    if paired:
        metrics |= {f"hit@{k}": partial(hit_at, k=k) for k in extras.hit_at}
        metrics |= {"reciprocal rank": reciprocal_rank, "median rank": first_rank}
    return metrics


def _average(name: str, per_query: NDArray[np.float64], empty: str) -> float:
    # A rank has no value that stands for "nothing to find", so queries without a pair never count in its median.
    return float(np.nanmedian(per_query)) if name == "median rank" else mean_over_queries(per_query, empty)


def _relevance(
    query_labels: Labels | None, gallery_labels: Labels | None, pairs: PairedItems | None, rules: Rules
) -> Relevance:
    if pairs is not None and query_labels is None and gallery_labels is None:
        if rules.relevance.startswith("shared label"):
            raise UsageError(
                f"the rules say {rules.relevance!r}, but pairs were given", next_step='say relevance="same item"'
            )
        return pairs
    if pairs is None and query_labels is not None and gallery_labels is not None:
        if rules.relevance == "same item":
            raise UsageError("the rules say 'same item', but labels were given", next_step="give pairs instead")
        return SharedLabels.of(query_labels, gallery_labels)
    raise UsageError(
        "it is not clear what is relevant", next_step="give the labels of both sides, or pairs, and not both"
    )


def _check(
    rules: Rules, rankings: tuple[str, ...], direction: str, own: Counts | None, n_queries: int, n_gallery: int
) -> None:
    if direction not in DIRECTIONS:
        raise unknown_name("direction", direction, DIRECTIONS)
    if rules.ranking not in rankings:
        raise UsageError(
            f"the rules rank by {rules.ranking!r}, this ranks by {' or '.join(rankings)}",
            next_step="use evaluate for codes and evaluate_values for real values, and say so in the rules",
        )
    if not n_queries or not n_gallery:
        raise UsageError(f"{n_queries} queries meet {n_gallery} gallery items", next_step="give at least one of each")
    if (own is not None) != (rules.itself == "left out"):
        raise UsageError(
            f"the rules say the query itself is {rules.itself}, but own rows are {'not ' if own is None else ''}given",
            next_step='give both own=own_rows(query_ids, gallery_ids) and itself="left out", or neither',
        )
    if direction in ("image_to_image", "text_to_text") and rules.gallery == "with-queries" and own is None:
        raise UsageError(
            f"in {direction} with the queries in the gallery, every query finds itself first",
            next_step='give own=own_rows(query_ids, gallery_ids) and itself="left out"',
        )
    if own is not None and (own.shape != (n_queries,) or own.min() < -1 or own.max() >= n_gallery):
        raise UsageError(
            f"own rows name one gallery row (0 to {n_gallery - 1}, or -1) for each of {n_queries} queries",
            next_step="make them with own_rows(query_ids, gallery_ids)",
        )


def _digest(values: NDArray[np.float64]) -> str:
    return hashlib.sha256(
        f"{values.shape}\n".encode() + np.ascontiguousarray(values, dtype="<f8").tobytes()
    ).hexdigest()
