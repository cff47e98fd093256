"""Train and judge on real photographs; every number becomes a cell, a line in results/<dataset>.

    python results/photographs.py coco18 --root ~/coco18 --rule r18 --rows main
    python results/photographs.py coco18 --root ~/coco18 --rule r17 --rows regions --yolox yolox_nano_416.onnx

The rows and their settings are the table ROWS below. Settings were chosen at 64 bits on the validation parts: the rows
`choices` are these trials, which learn from the training part without its validation part, and which validation items
ask. All other rows learn from the whole training part, and queries ask. `choices` go to `choices.jsonl` and `regions`
to `forms.jsonl`, which `findings.py` packs; all others go to `cells.jsonl`.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from packed import packed_cells

from deepbinaries.datasets import load
from deepbinaries.datasets.splits import Parts, Split
from deepbinaries.evaluation import compare
from deepbinaries.experiments.cells import Cell, append_cells, make_cell
from deepbinaries.experiments.choosing import asked_by_validation
from deepbinaries.experiments.scores import Reports, score_parts
from deepbinaries.features import Prepared, prepare
from deepbinaries.features.texts import Read
from deepbinaries.files import read_lines, written_whole
from deepbinaries.hashers.training import choose_device
from deepbinaries.hashers.tvdb import TVDB
from deepbinaries.language import TokenSettings
from deepbinaries.model import make_encoder
from deepbinaries.vision.encoder import VisionSettings

RULES = {"r18": (), "r17": ("person",), "all": ()}  # labels that do not count
BATCH = {"coco18": 512, "iapr22": 256}
READING: dict[str, tuple[Read, int]] = {"coco18": ("first", 16), "iapr22": ("whole", 40)}
PAPERS_READING: tuple[Read, int] = ("first", 12)
BITS = (16, 32, 64, 128)
SEEDS = (0, 1, 2)
YOLOX = "yolox_nano_416.onnx"


@dataclass(frozen=True)
class Row:
    """One training."""

    method: str
    bits: int = 64
    seed: int = 0
    proposer: str = "grid"
    experiment: str = "main"
    settings: dict[str, Any] = field(default_factory=dict)  # beside the preset's
    reading: tuple[Read, int] | None = None  # None: that of the dataset


def main_rows() -> Iterator[Row]:
    """Both methods at every length, three seeds at 64 bits, and the update as printed beside them."""
    for method in ("tvdb", "tvdb-lstm"):
        for bits in (64, 16, 32, 128):
            yield Row(method, bits)
        yield from (Row(method, seed=seed) for seed in SEEDS[1:])
    yield Row("tvdb-lstm", settings={"update": "printed", "eta": 1e-4})


def reading_rows() -> Iterator[Row]:
    """The paper's reading: 12 words of the first sentence."""
    for method in ("tvdb", "tvdb-lstm"):
        yield Row(method, reading=PAPERS_READING)


HALF_SILENT = {"region_dropout": 0.5, "input_dropout": 0.4}


def region_rows() -> Iterator[Row]:
    """Forms of the image side, each as it was best on validation; `whole` is what regions have to beat."""
    forms = {"image": "vote"} | HALF_SILENT, {"image": "max", "hidden": 256} | HALF_SILENT
    for seed in SEEDS:
        yield Row("tvdb", seed=seed, experiment="regions", settings={"image": "whole"})
        for proposer in ("grid", "yolox"):
            for form in forms:
                yield Row("tvdb", seed=seed, proposer=proposer, experiment="regions", settings=form)


CHOICE = "choice"  # the experiment whose rows validation items ask
# Hidden units that give the whole picture as many weights as `max`, `attention` and `lstm` have.
OF_EQUAL_CAPACITY = (1464, 1707, 14107)


def choice_rows() -> Iterator[Row]:
    """What the default update and the default image side were chosen from, one run each, the default first."""
    yield Row("tvdb", experiment=CHOICE)
    yield Row("tvdb", experiment=CHOICE, settings={"image": "whole", "input_dropout": HALF_SILENT["input_dropout"]})
    for units in OF_EQUAL_CAPACITY:
        yield Row("tvdb", experiment=CHOICE, settings={"image": "whole", "fc": units})
    for update in ({"update": "spectral"}, {"update": "spectral", "eta": 1.0}, {"update": "gram"}):
        yield Row("tvdb", experiment=CHOICE, settings=update)
    half_silent = {"region_dropout": 0.5}
    forms: tuple[dict[str, Any], ...] = (
        {"image": "lstm"},
        {"image": "mean"},
        {"image": "vote"},
        {"image": "vote"} | half_silent,
        {"image": "vote"} | HALF_SILENT,
        {"image": "max", "hidden": 256} | half_silent,
        {"image": "max", "hidden": 256} | HALF_SILENT,
        {"image": "lstm-max"},
        {"image": "attention", "hidden": 256} | half_silent,
        {"image": "attention", "hidden": 256} | HALF_SILENT,
    )
    for proposer in ("grid", "yolox"):
        for form in forms:
            yield Row("tvdb", proposer=proposer, experiment=CHOICE, settings=form)


ROWS = {"main": main_rows, "reading": reading_rows, "regions": region_rows, "choices": choice_rows}
FILES = {"choices": "choices.jsonl", "regions": "forms.jsonl"}  # all other rows go to cells.jsonl


def parts_of(row: Row, parts: Parts) -> tuple[NDArray[np.int64], Parts, tuple[str, ...]]:
    """What a row learns from, the parts with the items that ask as queries, and the galleries that they ask."""
    if row.experiment != CHOICE:
        return parts.train, parts, ("database", "clean")
    return np.setdiff1d(parts.train, parts.validation), asked_by_validation(parts)[0], ("clean",)


def run(row: Row, name: str, rule: str, prepared: Prepared, device: str) -> tuple[list[Cell], Reports]:
    """The cells of a row, and the reports they come from."""
    hasher = TVDB.preset(row.method, device=device, bits=row.bits, seed=row.seed, batch=BATCH[name], **row.settings)
    learnt, parts, galleries = parts_of(row, prepared.parts)
    began = time.monotonic()
    hasher.fit(prepared.pairs(prepared.readable(learnt)))
    seconds = time.monotonic() - began
    on_gpu = choose_device(device).type == "cuda"
    reports = score_parts(hasher, prepared, parts=parts, galleries=galleries, device="cuda" if on_gpu else None)
    read, words = row.reading or READING[name]
    seen = prepared.store.manifest.identity["encoder"]
    settings = asdict(hasher.settings) | {"read": read, "words": words}
    del settings["bits"], settings["seed"]  # cells have them beside
    facts: dict[str, Any] = {
        "experiment": row.experiment,
        "method": row.method,
        "settings": settings,
        "rule": rule,
        "seed": row.seed,
        "seconds": seconds,
        "proposer": row.proposer,
        "command": command(row, name, rule),
        "digests": {"backbone": seen["weights_sha256"], "proposer": seen["proposer_digest"]},
    }
    return [make_cell(report, **facts) for report in reports.values()], reports


def command(row: Row, name: str, rule: str) -> str:
    """The commands that train and judge the same model; of a choice, that of all of them."""
    if row.experiment == CHOICE:  # the command line asks queries alone, or what was learnt from
        return f"python results/photographs.py {name} --root {name} --rule {rule} --rows choices --yolox {YOLOX}"
    read, words = row.reading or READING[name]
    ignored = "".join(f" --ignore-label {label}" for label in RULES[rule])
    own = {"batch": BATCH[name], "seed": row.seed} | row.settings
    settings = "".join(f" --set {key}={value}" for key, value in own.items())
    file = f" --proposer-path {YOLOX}" if row.proposer == "yolox" else ""
    proposer = f" --vision proposer={row.proposer}{file}"
    train = f"deepbinaries train {name} --out model --method {row.method} --bits {row.bits}{settings}{ignored}"
    judge = f"deepbinaries evaluate model {name}{ignored} --gallery database --gallery clean"
    return f"{train} --read {read} --words {words}{proposer} && {judge}"


def prepared_for(row: Row, name: str, rule: str, options: argparse.Namespace) -> Prepared:
    """The dataset as the row wants it; features are made once for each proposer."""
    dataset = load(name, options.root)
    parts = Split.load(Path(options.root) / "split.json").parts(dataset, ignore_labels=RULES[rule])
    encoder = make_encoder(
        VisionSettings(proposer=row.proposer),
        backbone_weights=options.lite0,
        proposer_path=options.yolox if row.proposer == "yolox" else None,
        device=options.device,
    )
    read, words = row.reading or READING[name]
    return prepare(dataset, parts, encoder, options.features, settings=TokenSettings(length=words), read=read)


OF_DATA = ("batch", "read", "words")  # settings that each dataset has its own of


def is_recorded(row: Row, rule: str, cells: Iterable[Cell]) -> bool:
    """Whether some of the cells are this row's under the rule."""
    made = json.loads(json.dumps(asdict(TVDB.preset(row.method, **row.settings).settings)))
    about = {"method": row.method, "bits": row.bits, "seed": row.seed, "proposer": row.proposer, "rule": rule}
    return any(
        cell.items() >= about.items()
        and all(made[name] == value for name, value in cell["settings"].items() if name not in OF_DATA)
        for cell in cells
        if cell["experiment"] == row.experiment
    )


def over_whole(scores: dict[str, dict[str, list[Any]]]) -> Iterator[dict[str, Any]]:
    """How much better each form is than the whole picture, query by query, means over seeds, with 95 % intervals."""
    whole = scores.pop("whole")
    for form, by_place in scores.items():
        for place, per_seed in by_place.items():
            difference = compare(np.mean(per_seed, axis=0), np.mean(whole[place], axis=0))
            interval = [round(difference.interval.low, 4), round(difference.interval.high, 4)]
            yield {"form": form, "place": place, "over_whole": round(difference.mean, 4), "interval": interval}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", choices=BATCH)
    parser.add_argument("--root", required=True)
    parser.add_argument("--rule", choices=RULES, required=True)
    parser.add_argument("--rows", choices=ROWS, required=True)
    parser.add_argument("--part", default="0/1", help="i/n: every n-th row from i on, to share the work")
    parser.add_argument("--missing", action="store_true", help="leave out choices that are recorded already")
    parser.add_argument("--out", type=Path, help="cells to add to; default: in the folder of the dataset")
    parser.add_argument("--features", default="features")
    parser.add_argument("--lite0")
    parser.add_argument("--yolox")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    out = options.out or Path(__file__).parent / options.dataset / FILES.get(options.rows, "cells.jsonl")
    part, of = map(int, options.part.split("/"))
    if of > 1 and (options.rows == "regions" or not options.out):
        parser.error("parts that run at once need an --out each, and forms of regions are compared within one run")
    rows = list(ROWS[options.rows]())
    if options.missing:
        if options.rows != "choices":
            parser.error("--missing goes with --rows choices")
        kept = packed_cells(Path(__file__).parent / options.dataset / FILES["choices"])
        rows = [row for row in rows if not is_recorded(row, options.rule, kept)]
    stores: dict[Any, Prepared] = {}
    forms: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))  # scores of each query by seed
    for row in rows[part::of]:
        key = row.proposer, row.reading
        if key not in stores:
            stores[key] = prepared_for(row, options.dataset, options.rule, options)
        cells, reports = run(row, options.dataset, options.rule, stores[key], options.device)
        append_cells(out, cells)
        scores = {"/".join(place): round(report.mean, 4) for place, report in reports.items()}
        print(json.dumps({"row": str(row), **scores, "seconds": cells[0]["seconds"]}), flush=True)
        image = row.settings.get("image", "")
        for place, report in reports.items():
            forms[image if image == "whole" else f"{image}, {row.proposer}"]["/".join(place)].append(report.per_query)
    if options.rows == "regions":
        lines = [json.dumps({"rule": options.rule} | line) for line in over_whole(forms)]
        print("\n".join(lines), flush=True)
        path = out.with_name("regions.jsonl")
        others = [
            line for line in (read_lines(path) if path.exists() else []) if json.loads(line)["rule"] != options.rule
        ]
        with written_whole(path) as file:
            file.write("".join(line + "\n" for line in others + lines).encode())


if __name__ == "__main__":
    main()
