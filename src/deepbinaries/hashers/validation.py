"""How good a hasher is on items that it has not learnt from: what stops a training, and what chooses a setting."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes
from deepbinaries.evaluation import Extras, evaluate
from deepbinaries.features.inputs import Images, Pairs, Texts


def validate(
    encode: Callable[[Images | Texts], NDArray[np.float32]], pairs: Pairs, validation: Pairs
) -> dict[str, float]:
    """Mean average precision of the validation items against the training items, both directions."""
    found = {}
    sides: dict[str, tuple[Images | Texts, Images | Texts]] = {
        "image_to_text": (validation.images, pairs.texts),
        "text_to_image": (validation.texts, pairs.images),
    }
    for direction, (queries, gallery) in sides.items():
        report = evaluate(
            Codes.from_values(encode(queries)),
            Codes.from_values(encode(gallery)),
            query_labels=validation.labels,
            gallery_labels=pairs.labels,
            direction=direction,
            extras=Extras(cutoffs=(), precision_at=()),
        )
        found[f"validation_{direction}"] = round(report.mean, 5)
    return found
