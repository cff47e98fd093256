"""The Wiki features, split as published, and the MAP that a hasher reaches on them."""

from pathlib import Path

from deepbinaries.codes import Codes
from deepbinaries.datasets import load
from deepbinaries.evaluation import Extras, Rules, evaluate, evaluate_values
from deepbinaries.features.inputs import Pairs
from deepbinaries.features.vectors import vector_pairs

NOTHING_MORE = Extras(cutoffs=(), precision_at=(), hit_at=())


def learnt_and_asked(real_data: Path) -> tuple[Pairs, Pairs]:
    """The training pairs, which are searched as well, and the test pairs, which ask."""
    wiki = load("wiki", real_data / "wiki")
    parts = wiki.split.parts(wiki)
    return vector_pairs(wiki, parts.database), vector_pairs(wiki, parts.query)


def both_ways(hasher, gallery: Pairs, queries: Pairs, *, unified: bool = False) -> list[float]:
    """MAP of image_to_text and text_to_image; ties in the order of the rows, as in published tables."""
    sides = {"image_to_text": (queries.images, gallery.texts), "text_to_image": (queries.texts, gallery.images)}
    found = []
    for direction, (asking, stored) in sides.items():
        values = hasher.encode_pair(gallery.images, gallery.texts) if unified else hasher.encode(stored)
        about = {"query_labels": queries.labels, "gallery_labels": gallery.labels, "direction": direction}
        if hasattr(hasher, "ranking"):
            rules = Rules(ranking=hasher.ranking)
            report = evaluate_values(hasher.encode(asking), values, rules=rules, extras=NOTHING_MORE, **about)
        else:
            codes = Codes.from_values(hasher.encode(asking)), Codes.from_values(values)
            report = evaluate(*codes, rules=Rules(ties="by_row"), extras=NOTHING_MORE, **about)
        found.append(report.mean)
    return found
