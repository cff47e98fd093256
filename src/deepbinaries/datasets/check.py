"""What a dataset holds and what is wrong with it, before anything is learnt from it."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets.base import Dataset, Skips, check_dataset, digest
from deepbinaries.datasets.splits import GALLERIES, Parts
from deepbinaries.errors import PictureError
from deepbinaries.progress import track
from deepbinaries.vision import read_picture

EXAMPLES = 5  # how many ids a finding names


@dataclass
class Findings:
    """Facts to read, problems that make results wrong, remarks that a result should mention."""

    facts: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return self.facts | {"problems": self.problems, "remarks": self.remarks}


def check(dataset: Dataset, parts: Parts | None = None, *, pictures: Sequence[int] | None = None) -> Findings:
    """Everything worth knowing about a dataset; `pictures` are the rows to open and decode (default: all)."""
    check_dataset(dataset)
    findings = Findings()
    findings.facts["dataset"] = {"name": dataset.name, "digest": digest(dataset), "items": len(dataset.ids)}
    _left_out(dataset, findings)
    _labels(dataset, findings)
    digests: dict[int, bytes] = {}
    if features := getattr(dataset, "features", None):
        findings.facts["features"] = {side: list(values.shape) for side, values in features.items()}
    else:
        _sentences(dataset, findings)
        digests = _pictures(dataset, range(len(dataset.ids)) if pictures is None else pictures, findings)
    if parts is not None:
        _split(parts, findings)
        _leaks(dataset, parts, digests, findings)
    return findings


def _left_out(dataset: Dataset, findings: Findings) -> None:
    skips = getattr(dataset, "skips", None)
    if not isinstance(skips, Skips):
        return
    findings.facts["left_out"] = dict(skips.counts)
    for reason, count in skips.counts.items():
        findings.remarks.append(f"{count:,} left out: {reason} (first: {skips.first[reason]})")


def _sentences(dataset: Dataset, findings: Findings) -> None:
    n_sentences, lengths, items_of = [], [], defaultdict(set)
    for row in range(len(dataset.ids)):
        sentences = dataset.sentences(row)
        n_sentences.append(len(sentences))
        for sentence in sentences:
            lengths.append(len(sentence.split()))
            items_of[sentence].add(row)
    if not lengths:
        findings.remarks.append("there are no sentences: pictures can be found by pictures only")
        findings.facts["sentences"] = {"count": 0}
        return
    words = np.array(lengths)
    alike = sum(len(rows) for rows in items_of.values() if len(rows) > 1)
    findings.facts["sentences"] = {
        "count": len(lengths),
        "an_item": round(float(np.mean(n_sentences)), 3),
        "words": {
            "mean": round(float(words.mean()), 2),
            "median": float(np.median(words)),
            "longest": int(words.max()),
        },
        "items_with_a_sentence_of_another_item": alike,
    }
    silent = n_sentences.count(0)
    if silent:
        findings.remarks.append(f"{silent:,} items have no sentence")
    if alike:
        findings.remarks.append(f"{alike:,} items have a sentence that another item has word for word")


def _labels(dataset: Dataset, findings: Findings) -> None:
    labels = dataset.labels
    counts = labels.counts()
    unlabelled = int(np.count_nonzero(labels.sizes() == 0))
    findings.facts["labels"] = {
        "count": len(labels.names),
        "an_item": round(float(labels.sizes().mean()), 3) if len(labels) else 0.0,
        "items_without": unlabelled,
        "frequency": {labels.names[column]: int(counts[column]) for column in np.argsort(-counts, kind="stable")},
    }
    if not labels.names:
        findings.remarks.append("there are no labels: relevance can only be the paired item")
    elif unlabelled:
        findings.remarks.append(f"{unlabelled:,} items have no label: nothing is relevant to them")
    once = [labels.names[column] for column in np.flatnonzero(counts == 1)]
    if once:
        findings.remarks.append(f"{len(once)} labels occur once, so they have no positives: {_some(once)}")


def _pictures(dataset: Dataset, rows: Sequence[int], findings: Findings) -> dict[int, bytes]:
    """Open and decode pictures; the SHA-256 of each one that could be read."""
    digests, sizes, broken = {}, [], []
    for row, result in track(_decoded(dataset, rows), "reading pictures", total=len(rows)):
        if isinstance(result, str):
            broken.append((dataset.ids[row], result))
        else:
            digests[row], size = result
            sizes.append(size)
    reasons = Counter(reason for _, reason in broken)
    facts: dict[str, Any] = {"opened": len(rows), "broken": dict(broken)}
    if sizes:
        width, height = np.array(sizes).T
        facts["median_size"] = [int(np.median(width)), int(np.median(height))]
        facts["largest_side"] = int(max(width.max(), height.max()))
    rows_of: dict[bytes, list[int]] = defaultdict(list)
    for row, content in digests.items():
        rows_of[content].append(row)
    twins = [group for group in rows_of.values() if len(group) > 1]
    facts["items_with_the_picture_of_another"] = sum(map(len, twins))
    findings.facts["pictures"] = facts
    for reason, count in reasons.most_common():
        first = next(id_ for id_, why in broken if why == reason)
        findings.problems.append(f"{count:,} pictures cannot be read (first: {first}): {reason}")
    if twins:
        examples = _some([" = ".join(dataset.ids[row] for row in group[:2]) for group in twins])
        findings.remarks.append(f"{sum(map(len, twins)):,} items have the very picture of another: {examples}")
    return digests


def _decoded(dataset: Dataset, rows: Sequence[int]) -> Iterator[tuple[int, str | tuple[bytes, tuple[int, int]]]]:
    """Each row with its picture's digest and size, or with the reason why it cannot be read."""

    def decode(row: int) -> tuple[int, str | tuple[bytes, tuple[int, int]]]:
        try:
            file = dataset.picture(row)
            return row, (hashlib.sha256(file).digest(), read_picture(file).size)
        except PictureError as error:
            return row, str(error)

    with ThreadPoolExecutor() as pool:  # Pillow's decoders let other threads run
        yield from pool.map(decode, rows)


def _split(parts: Parts, findings: Findings) -> None:
    split = parts.split
    present = parts.labels.select(parts.database).counts() > 0
    asked = parts.labels.select(parts.query).counts() > 0
    lonely = [parts.labels.names[column] for column in np.flatnonzero(asked & ~present)]
    galleries: dict[str, dict[str, Any]] = {
        kind: {"items": len(parts.gallery(kind))} for kind in GALLERIES if len(parts.gallery(kind))
    }
    if parts.labels.names:  # without labels nothing is relevant by one
        for kind, of_gallery in galleries.items():
            of_gallery["chance"] = round(parts.chance(kind), 4) if len(parts.query) else None
            of_gallery["queries_without_positives"] = len(parts.queries_without_positives(kind))
    sizes = {name: len(getattr(parts, name)) for name in ("query", "database", "train", "validation")}
    findings.facts["split"] = {
        "protocol": split.protocol,
        "sizes": sizes,
        "digests": split.digests(),
        "ignored_labels": list(parts.ignored),
        "dropped_without_label": dict(parts.dropped),
        "galleries": galleries,
        "note": split.note,
    }
    for part in ("query", "database"):
        if not sizes[part]:
            findings.problems.append(f"the split leaves nothing in its {part} list: no score can be computed")
    if lonely:
        findings.remarks.append(f"{len(lonely)} labels are asked for but not in the database: {_some(lonely)}")
    for kind, facts in galleries.items():
        if facts.get("queries_without_positives"):
            findings.remarks.append(
                f"{facts['queries_without_positives']:,} queries have nothing relevant in the gallery {kind!r}"
            )


def _leaks(dataset: Dataset, parts: Parts, digests: dict[int, bytes], findings: Findings) -> None:
    """Query pictures that stand in the training part under another id: learnt by heart, not found."""
    learnt = {digests[row]: row for row in parts.train.tolist() if row in digests}
    leaks = [(row, learnt[digests[row]]) for row in parts.query.tolist() if digests.get(row) in learnt]
    looked = all(row in digests for row in (*parts.query.tolist(), *parts.train.tolist()))
    findings.facts["split"]["query_pictures_in_training"] = len(leaks) if leaks or looked else None
    if not looked and "pictures" in findings.facts:
        findings.remarks.append("not all pictures of queries and training items were opened: leaks may go unnoticed")
    if leaks:
        examples = _some([f"{dataset.ids[query]} = {dataset.ids[train]}" for query, train in leaks])
        findings.problems.append(f"{len(leaks):,} query pictures are also training pictures: {examples}")
    trained_on = {sentence for row in parts.train.tolist() for sentence in dataset.sentences(row)}
    echoes = sum(any(sentence in trained_on for sentence in dataset.sentences(row)) for row in parts.query.tolist())
    findings.facts["split"]["queries_with_a_training_sentence"] = echoes
    if echoes:
        findings.remarks.append(f"{echoes:,} queries have a sentence that a training item has word for word")


def sample_rows(dataset: Dataset, n: int) -> NDArray[np.int64]:
    """`n` rows spread evenly over the dataset, or all of them.

    >>> from deepbinaries.datasets import load
    >>> sample_rows(load("scenes", items=10), 3).tolist()
    [0, 4, 9]
    """
    n_items = len(dataset.ids)
    return np.unique(np.linspace(0, n_items - 1, min(n, n_items)).astype(np.int64))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:EXAMPLES]) + (", ..." if len(names) > EXAMPLES else "")
