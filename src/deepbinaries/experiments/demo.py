"""A demo in plain steps: generated scenes, their features, TVDB beside a linear baseline, and a page about both."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries import __version__
from deepbinaries.codes import Codes, top_k
from deepbinaries.datasets import Parts, load
from deepbinaries.datasets.splits import by_fraction
from deepbinaries.errors import UsageError
from deepbinaries.evaluation import Extras
from deepbinaries.experiments.demo_folder import MODEL, REPORT, claim
from deepbinaries.experiments.demo_page import Answer, Findings, Hit, Item, page
from deepbinaries.experiments.scores import on_stderr, score_parts
from deepbinaries.features import Prepared, prepare
from deepbinaries.files import cache_folder, written_whole
from deepbinaries.hashers.base import Hasher
from deepbinaries.model import Model, make_encoder, source_of
from deepbinaries.registry import METHODS
from deepbinaries.vision import read_picture
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings

METHOD, BASELINE = "tvdb", "cvh"
FEWEST_ITEMS = 60  # below this there are no six queries to show
ASKED = 3  # sentences, and as many pictures
SHOWN_PICTURES, SHOWN_SENTENCES = 6, 4
GALLERY = "clean"  # that answers: none of its items was learnt from

# Smaller networks than the method's own: scenes are simple, and nobody waits long for a demo.
QUICK = {"fc": 512, "embed": 64, "maps": 64, "widths": (1, 2, 3), "batch": 64, "epochs": 20, "learning_rate": 2e-3}

Tell = Callable[[str], None]


@dataclass(frozen=True)
class DemoSettings:
    """How large a demo is; everything else follows."""

    items: int = 3000
    seed: int = 0
    bits: int = 64
    query: float = 0.1  # share of the items that ask
    # Scenes have no more pixels, and their things are drawn: nobody has taught a proposer to see them.
    vision: VisionSettings = field(default_factory=lambda: VisionSettings(side=224, proposer="grid"))
    training: Mapping[str, Any] = field(default_factory=lambda: QUICK)

    def __post_init__(self) -> None:
        if self.items < FEWEST_ITEMS:
            raise UsageError(f"{self.items} items are too few to learn from", next_step=f"give at least {FEWEST_ITEMS}")


class Stages:
    """The stages of a run: each is told when it begins, and timed until the next one begins."""

    def __init__(self, tell: Tell):
        self.tell = tell
        self.began = self.now = time.monotonic()
        self.seconds: dict[str, float] = {}
        self.current = ""

    def begin(self, stage: str) -> None:
        """End the stage that runs, and begin another; an empty name only ends."""
        before, self.now = self.now, time.monotonic()
        if self.current:
            self.seconds[self.current] = self.now - before
        self.current = stage
        self.tell(f"{self.now - self.began:4.0f} s  {stage or 'done'}")


def run_demo(
    out: Path,
    settings: DemoSettings | None = None,
    *,
    device: str = "auto",
    features: Path | None = None,
    tell: Tell = on_stderr,
) -> Findings:
    """Everything from drawing scenes to the page and the model in the folder `out`; what was found is given back.

    `features` is where region features are kept; the user's cache is the default, as for training.
    """
    settings = settings or DemoSettings()
    hasher = METHODS.load(METHOD).preset(
        METHOD, device=device, **({"bits": settings.bits, "seed": settings.seed} | dict(settings.training))
    )
    baseline = METHODS.load(BASELINE).preset(BASELINE, device=device, bits=settings.bits)
    encoder = make_encoder(settings.vision, device=device)  # a device that is not there is refused by now
    claim(out)
    stages = Stages(tell)

    stages.begin(f"drawing {settings.items:,} scenes and a split")
    scenes = load("scenes", items=settings.items, seed=settings.seed)
    parts = by_fraction(scenes, settings.query, seed=settings.seed).parts(scenes)

    stages.begin("looking at the pictures")
    prepared = prepare(scenes, parts, encoder, features or cache_folder() / "features")

    stages.begin(f"training {METHOD.upper()}, {settings.bits} bits")
    learnt_from = prepared.pairs(np.setdiff1d(parts.train, parts.validation))
    history: list[dict[str, Any]] = []
    hasher.fit(learnt_from, validation=prepared.pairs(parts.validation), log=history.append)
    trained_on = source_of(prepared, read="first")
    model = Model(encoder, prepared.vocabulary, hasher, method=METHOD, trained_on=trained_on)
    model.save_pretrained(out / MODEL, history=history)

    stages.begin(f"training {BASELINE.upper()}, the baseline")
    baseline.fit(learnt_from)

    stages.begin("evaluating")
    extras = Extras(cutoffs=(500,), precision_at=(), curves=True)
    methods = {METHOD.upper(): hasher, BASELINE.upper(): baseline}
    scores = {name: score_parts(each, prepared, extras=extras, tell=tell) for name, each in methods.items()}

    stages.begin("answering three sentences and three pictures")
    by_sentence, by_picture = answers(hasher, prepared)
    looked_at = by_picture[-1].query
    stages.begin("")
    findings = Findings(
        scores=scores,
        history=history,
        by_sentence=by_sentence,
        by_picture=by_picture,
        looked_at=looked_at,
        regions=encoder.regions(looked_at.picture),
        facts=_facts(settings, encoder, hasher, trained_on, parts, stages.seconds),
        next_steps=next_steps(out),
    )
    _write(page(findings), out / REPORT)
    return findings


def answers(hasher: Hasher, prepared: Prepared) -> tuple[list[Answer], list[Answer]]:
    """What the first queries find by their sentences, and the ones after them by their pictures."""
    parts = prepared.parts
    gallery = parts.gallery(GALLERY)
    texts, pictures = (Codes.from_values(hasher.encode(side(gallery))) for side in (prepared.texts, prepared.images))
    by_sentence, by_picture = [], []
    for row in parts.query[:ASKED].tolist():
        code = Codes.from_values(hasher.encode(prepared.texts([row])))
        found = _hits(prepared, row, code, pictures, gallery, SHOWN_PICTURES)
        by_sentence.append(Answer(_item(prepared, row), pictures=found))
    for row in parts.query[ASKED : 2 * ASKED].tolist():
        code = Codes.from_values(hasher.encode(prepared.images([row])))
        found = _hits(prepared, row, code, pictures, gallery, SHOWN_PICTURES)
        sentences = _hits(prepared, row, code, texts, gallery, SHOWN_SENTENCES)
        by_picture.append(Answer(_item(prepared, row), pictures=found, sentences=sentences))
    return by_sentence, by_picture


def next_steps(out: Path) -> str:
    """Commands to go on with."""
    return f"""# codes of your own pictures and sentences
deepbinaries encode {out / MODEL} ~/Pictures --out pictures.npy
deepbinaries encode {out / MODEL} --texts sentences.txt --out sentences.npy
# more scenes, and networks of the whole size
deepbinaries train scenes --dataset-set items=6000 --out model
# what else can be trained
deepbinaries list methods"""


def _hits(prepared: Prepared, query: int, code: Codes, codes: Codes, rows: NDArray[np.int64], k: int) -> list[Hit]:
    labels = prepared.parts.labels
    found = top_k(code, codes, k=k)
    nearest = zip(rows[found.rows[0]].tolist(), found.distances[0].tolist(), strict=True)
    wanted = set(labels.of(query))
    return [
        Hit(_item(prepared, row), distance, tuple(name for name in labels.of(row) if name in wanted))
        for row, distance in nearest
    ]


def _item(prepared: Prepared, row: int) -> Item:
    picture = read_picture(prepared.dataset.picture(row))
    sentence = prepared.parts.split.sentence(prepared.dataset, row)
    return Item(picture, sentence, prepared.parts.labels.of(row))


def _facts(
    settings: DemoSettings,
    encoder: RegionEncoder,
    hasher: Any,
    trained_on: Mapping[str, Any],
    parts: Parts,
    seconds: Mapping[str, float],
) -> dict[str, str]:
    """How the demo was made, as names and texts."""
    sizes = {
        "queries": parts.query,
        "gallery": parts.database,
        "learnt from": parts.train,
        "clean": parts.gallery(GALLERY),
    }
    vision = {name: encoder.fingerprint[name] for name in ("backbone", "mode", "proposer", "keep", "side")}
    network = {name: getattr(hasher.settings, name) for name in ("image", "update", *settings.training)}
    return {
        "data": f"{settings.items:,} generated scenes, seed {settings.seed}",
        "split": ", ".join(f"{len(rows):,} {name}" for name, rows in sizes.items()),
        "validation": f"{len(parts.validation):,} of the pairs learnt from are kept back to watch the training",
        "pictures": _listed(vision),
        "method": f"{METHOD}, {settings.bits} bits; {_listed(network)}",
        "digests": f"scenes {trained_on['digest'][:16]}, queries {trained_on['split']['query'][:16]}, "
        f"backbone {encoder.card.sha256[:16]}",
        "time": "; ".join(f"{stage} {value:.1f} s" for stage, value in seconds.items()),
        "release": f"deepbinaries {__version__}",
    }


def _listed(facts: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def _write(text: str, path: Path) -> None:
    with written_whole(path) as file:
        file.write(text.encode())
