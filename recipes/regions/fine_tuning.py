"""Do regions beat the whole picture when the backbone learns along? Judged on validation items, never on queries.

    python -m recipes.regions.fine_tuning DATA --cache CACHE --features FEATURES --yolox yolox_nano_416.onnx \\
        --task r18 --out results/regions-fine-tuned.jsonl

One call trains the forms of one task one after the other with the same seed: `whole`, the picture alone, then `max`,
the picture beside the maximum over what its regions say, with the boxes of `grid` and with those of `yolox`. Learnt
from is the training part without its validation part; validation items ask, the clean gallery (the database without
the training part) is searched. As soon as a form is done its two lines, one a direction, are added to OUT.
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from deepbinaries.codes import Codes
from deepbinaries.errors import Error, UsageError, unknown_name
from deepbinaries.evaluation import Report, compare, evaluate_parts
from deepbinaries.experiments.cells import make_cell
from deepbinaries.experiments.scores import BESIDE, BOTH
from deepbinaries.features import Prepared, prepare
from deepbinaries.features.inputs import POSITION
from deepbinaries.hashers.training import choose_device
from deepbinaries.hashers.tvdb import PRESETS, TVDBSettings
from deepbinaries.language import TokenSettings
from deepbinaries.model import make_encoder
from deepbinaries.vision.backbones.efficientnet_lite0 import find_weights
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings
from recipes.photo.batches import pixels_of
from recipes.photo.sources import NONE, Rows, Source
from recipes.regions.learning import BACKBONE_RATE, FROZEN, SIDE, Items, build, encoded, learn
from recipes.regions.tasks import TASKS, Collection, Task, read_collection
from recipes.regions.views import boxes_of


@dataclass(frozen=True)
class Form:
    """A way to read a picture."""

    name: str  # as in results/*/regions.jsonl
    proposer: str | None  # of its regions; None: it has none
    settings: Mapping[str, Any]  # beside the preset's


LOUDEST = {"image": "max", "hidden": 256, "region_dropout": 0.5}
FORMS = {
    "whole": Form("whole", None, {"image": "whole"}),
    "max:grid": Form("max, grid", "grid", LOUDEST),
    "max:yolox": Form("max, yolox", "yolox", LOUDEST),
}


def main(arguments: Sequence[str] | None = None) -> None:
    options = read_options(arguments)
    try:
        run(options, forms_of(options.forms))
    except Error as error:
        raise SystemExit(str(error)) from None


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of coco18 and iapr22")
    parser.add_argument("--cache", type=Path, required=True, help="where photographs are decoded to: 6 GB for coco18")
    parser.add_argument("--features", type=Path, required=True, help="the stores, whose boxes are used")
    parser.add_argument("--lite0", help="weights of the backbone; otherwise those of the installed package")
    parser.add_argument("--yolox", help="the detector's file, which the form max:yolox needs")
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--forms", default=",".join(FORMS), help="some of these, whole first")
    parser.add_argument("--epochs", type=int, help="other than the task's")
    parser.add_argument("--items", type=int, help="only so many of each part, to try it out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines to add to")
    return parser.parse_args(arguments)


def forms_of(names: str) -> list[Form]:
    """The forms of names with commas between them."""
    chosen = names.split(",")
    for name in chosen:
        if name not in FORMS:
            raise unknown_name("form", name, FORMS)
    if chosen[0] != "whole" or len(set(chosen)) < len(chosen):
        raise UsageError(
            f"the forms {names} cannot be compared with the whole picture",
            next_step="name each once and begin with whole, as in whole,max:grid",
        )
    return [FORMS[name] for name in chosen]


def run(options: argparse.Namespace, forms: Sequence[Form]) -> None:
    """Train and judge the forms, and write down what they find."""
    task, device = TASKS[options.task], choose_device(options.device)
    torch.backends.cudnn.benchmark, torch.backends.cudnn.benchmark_limit = True, 4  # all ten take a minute to try
    preset = replace(PRESETS["tvdb"], batch=task.batch, seed=options.seed)
    preset = replace(preset, epochs=task.epochs if options.epochs is None else options.epochs)
    weights = find_weights(options.lite0)
    proposers = {form.proposer for form in forms if form.proposer} or {"grid"}  # its store holds the words, too
    # All files are opened first, and all boxes found before any training: what is missing is missed at once.
    encoders = {name: encoder_of(name, options) for name in sorted(proposers)}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    collection = read_collection(options.data, task, options.items)
    preset = replace(preset, batch=min(preset.batch, len(collection.learnt)))
    prepared = {name: prepared_for(encoder, collection, task, options.features) for name, encoder in encoders.items()}
    rows = {"learnt": collection.learnt, "judged": collection.judged}
    source = Source(collection.dataset, collection.learnt, collection.parts.validation, NONE, collection.judged)
    pixels = {part: pixels_of(source, of_part, options.cache, str(device)) for part, of_part in rows.items()}
    whole: dict[str, Report] = {}
    for form in forms:
        began = time.monotonic()
        of_form = prepared[form.proposer or min(prepared)]
        items = {part: items_of(of_form, rows[part], form, pixels[part]) for part in rows}
        settings = replace(preset, **form.settings)
        towers = build(settings, of_form.texts(NONE).n_words, weights, device)
        labels = collection.parts.labels.select(collection.learnt)
        learn(towers, items["learnt"], labels, settings, tell=lambda line: print(line, flush=True))
        seconds = time.monotonic() - began
        reports = judge(encoded(towers, items["judged"]), collection)
        facts = {"settings": facts_of(settings, task), "rule": task.rule, "seed": settings.seed, "seconds": seconds}
        facts |= {"proposer": form.proposer or "none", "command": command(options, forms)}
        whole = whole or reports
        lines = [line_of(report, whole[direction], form, **facts) for direction, report in reports.items()]
        lines = [line | {"epochs": settings.epochs} for line in lines]
        with options.out.open("a") as file:
            file.writelines(json.dumps(line, allow_nan=False) + "\n" for line in lines)
        print(json.dumps({"task": options.task} | summary(lines)), flush=True)


def encoder_of(proposer: str, options: argparse.Namespace) -> RegionEncoder:
    """What finds the regions of a proposer, the same as in results/photographs.py."""
    if proposer == "yolox" and not options.yolox:
        raise UsageError("the form max:yolox has no detector", next_step="give its file by --yolox, or other --forms")
    return make_encoder(
        VisionSettings(proposer=proposer),
        backbone_weights=options.lite0,
        proposer_path=options.yolox if proposer == "yolox" else None,
        device=options.device,
    )


def prepared_for(encoder: RegionEncoder, collection: Collection, task: Task, folder: Path) -> Prepared:
    """The store of an encoder, the same as that of results/photographs.py; no word is known from validation items."""
    read, words = task.reading
    parts = replace(collection.parts, train=collection.learnt)
    return prepare(collection.dataset, parts, encoder, folder, settings=TokenSettings(length=words), read=read)


def items_of(prepared: Prepared, rows: Rows, form: Form, pixels: torch.Tensor) -> Items:
    """The rows as a form reads them, on the device of their pixels."""
    regions = slice(None) if form.proposer else slice(-1, None)
    positions = torch.from_numpy(prepared.images(rows).regions[:, regions, -POSITION:]).float()
    tokens = torch.from_numpy(prepared.texts(rows).tokens)
    return Items(pixels, boxes_of(positions).to(pixels.device), tokens.to(pixels.device))


def judge(values: Mapping[str, Any], collection: Collection) -> dict[str, Report]:
    """How well validation items find the gallery's, by direction; values are those of `Collection.judged`."""
    codes = {side: Codes.from_values(of_side) for side, of_side in values.items()}
    asking = len(collection.parts.query)
    reports = {}
    for direction in BOTH:
        query_side, gallery_side = direction.split("_to_")
        reports[direction] = evaluate_parts(
            codes[query_side][:asking],
            codes[gallery_side][asking:],
            collection.dataset,
            collection.parts,
            kind="clean",
            direction=direction,
            extras=BESIDE,
        )
    return reports


def line_of(report: Report, whole: Report, form: Form, **facts: Any) -> dict[str, Any]:
    """What is kept of a form in one direction; `over_whole` is the mean over items that ask, with its 95 % interval."""
    cell = make_cell(report, experiment="fine-tuned", method="tvdb", **facts)
    line = {"form": form.name, "queries": "validation"} | cell | {"over_whole": None, "interval": None}
    if report is whole:
        return line
    over = compare(report.per_query, whole.per_query)
    interval = [round(over.interval.low, 4), round(over.interval.high, 4)]
    return line | {"over_whole": round(over.mean, 4), "interval": interval}


def facts_of(settings: TVDBSettings, task: Task) -> dict[str, Any]:
    """Everything that decides what is learnt, beside what lines have of their own."""
    read, words = task.reading
    facts = asdict(settings) | {"read": read, "words": words}
    facts |= {"side": SIDE, "backbone_rate": BACKBONE_RATE, "frozen": FROZEN}
    return {name: fact for name, fact in facts.items() if name not in ("bits", "seed", "epochs")}


def command(options: argparse.Namespace, forms: Sequence[Form]) -> str:
    """The command that makes the same lines, without the folders of this machine."""
    detector = " --yolox yolox_nano_416.onnx" if any(form.proposer == "yolox" for form in forms) else ""
    more = "".join(
        f" --{name} {getattr(options, name)}" for name in ("epochs", "items") if getattr(options, name) is not None
    )
    return (
        f"python -m recipes.regions.fine_tuning DATA --cache CACHE --features FEATURES{detector} --task {options.task}"
        f" --forms {options.forms}{more} --seed {options.seed} --out {options.out.name}"
    )


def summary(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What somebody who watches wants to know of a form."""
    found: dict[str, Any] = {"form": lines[0]["form"], "seconds": lines[0]["seconds"]}
    for line in lines:
        found[line["direction"]] = round(line["map_all"], 4)
        if line["over_whole"] is not None:
            found[f"{line['direction']}_over_whole"] = [line["over_whole"], *line["interval"]]
    return found


if __name__ == "__main__":
    main()
