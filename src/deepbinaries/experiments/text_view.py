"""The sentences of a comparison with the vectors that methods on vectors take, learnt once and kept."""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from deepbinaries.experiments.contest import Tell, check_validation, short_digest
from deepbinaries.features import Prepared


def with_text_features(prepared: Prepared, folder: Path, *, held_out: bool, device: str, tell: Tell) -> Prepared:
    """The same data, its texts with vectors learnt from the training part; `folder` keeps what was learnt.

    With `held_out` the validation part is not learnt from, so that it can be asked.
    """
    from deepbinaries.hashers.text_features import DEFAULT, TextFeatures

    parts = prepared.parts
    rows = prepared.readable(parts.train)
    if held_out:
        check_validation(parts.validation, wanted_by="--tune")
        rows = np.setdiff1d(rows, prepared.readable(parts.validation))
    learnt_from = [prepared.texts(rows).tokens.tolist(), parts.labels.select(rows).names, asdict(DEFAULT)]
    place = folder / short_digest([*learnt_from, parts.labels.select(rows).matrix().tolist()])
    if (place / "text-features.json").exists():
        features = TextFeatures.load(place, device=device)
    else:
        tell(f"learning text features from {len(rows):,} sentences")
        features = TextFeatures.fit(prepared.texts(rows), parts.labels.select(rows), device=device)
        features.save(place)
    return replace(prepared, tokens=features.of(prepared.tokens))
