"""How well a hasher finds, with items that it has not learnt from, those that it has."""

from deepbinaries.codes import Codes
from deepbinaries.evaluation import evaluate
from deepbinaries.features.inputs import Pairs
from deepbinaries.hashers import Hasher


def above_chance(hasher: Hasher, gallery: Pairs, queries: Pairs) -> list[float]:
    """MAP above what random codes give, of image_to_text and of text_to_image."""
    sides = {"image_to_text": (queries.images, gallery.texts), "text_to_image": (queries.texts, gallery.images)}
    labels = {"query_labels": queries.labels, "gallery_labels": gallery.labels}
    found = []
    for direction, both in sides.items():
        report = evaluate(*(Codes.from_values(hasher.encode(side)) for side in both), **labels, direction=direction)
        found.append(report.mean - report.chance)
    return found
