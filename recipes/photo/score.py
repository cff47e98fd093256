"""Figures of values that `encode` or `baselines` wrote, as lines for `results/photo/cells.jsonl`.

    python -m recipes.photo.score DATA VALUES --model torch --out results/photo/cells.jsonl

VALUES are those of thumbnails (DATA, the data sets as they are) or of photographs in their published size (FULL). Lines
of the same model, photographs and length in the file are replaced. With `--part validation` the validation parts ask
instead of the query parts, which is what one chooses by.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes
from deepbinaries.datasets import digest
from deepbinaries.datasets.splits import ids_digest
from deepbinaries.evaluation import Extras, PairedItems, Report, Rules, evaluate, evaluate_values
from deepbinaries.files import read_json, read_lines, write_json_lines
from recipes.photo.encode import MADE_BY
from recipes.photo.networks import BITS, SHORT_BITS
from recipes.photo.sources import Rows, Source, read_sources

FIRST = 1000  # queries among which the pair is to be found
EXTRAS = Extras(cutoffs=(), precision_at=(), hit_at=(1, 10, 100))
MODES = ("hamming", "asymmetric", "real")

Values = NDArray[np.float32]
Cell = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("values", type=Path)
    parser.add_argument("--model", required=True, help="torch, shipped, cca or dcmh")
    parser.add_argument("--pictures", choices=("thumbnails", "published"), default="thumbnails")
    parser.add_argument("--part", choices=("query", "validation"), default="query")
    parser.add_argument("--bits", type=int, nargs="+", default=(SHORT_BITS, BITS), help="the first so many")
    parser.add_argument("--out", type=Path, help="otherwise the lines are only printed")
    options = parser.parse_args()
    found = []
    made_by = options.values / MADE_BY
    model = {"model": read_json(made_by)["sha256"]} if made_by.exists() else {}
    for source in read_sources(options.data):
        if (options.values / f"{source.name}-pictures.npy").exists():
            asking = source.query if options.part == "query" else source.validation
            for cell in cells(source, asking, options.values, options.bits):
                asked = {"model": options.model, "pictures": options.pictures, "part": options.part}
                found.append(asked | cell | {"digests": cell["digests"] | model, "command": command(options)})
                print(*(f"{name} {said}" for name, said in found[-1].items() if name in SHOWN), flush=True)
    if options.out:
        before = [json.loads(line) for line in read_lines(options.out)] if options.out.exists() else []
        kept = [cell for cell in before if not replaced(cell, options)]
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_json_lines(kept + found, options.out)


SHOWN = (
    *("model", "pictures", "dataset", "bits", "gallery", "direction", "rule", "mode"),
    *("recall_at_1", "recall_at_10", "recall_at_100", "map_all"),
)


def replaced(cell: Cell, options: argparse.Namespace) -> bool:
    """Whether a line of the file is told anew."""
    told = (options.model, options.pictures, options.part)
    return (cell["model"], cell["pictures"], cell["part"]) == told and cell["bits"] in options.bits


def command(options: argparse.Namespace) -> str:
    """What repeats a cell, without the folders of this machine."""
    asked = f"--model {options.model} --pictures {options.pictures} --part {options.part}"
    if set(options.bits) != {SHORT_BITS, BITS}:
        asked += f" --bits {' '.join(map(str, options.bits))}"
    data = "DATA" if options.pictures == "thumbnails" else "FULL"
    values = "VALUES" if options.model in ("torch", "shipped") else f"BASELINES/{options.values.name}"
    return f"python -m recipes.photo.score {data} {values} {asked}"


def cells(source: Source, asking: Rows, folder: Path, lengths: Sequence[int]) -> Iterator[Cell]:
    """All figures of one source: the pair among a thousand, among everything, and coco18's labels."""
    pictures, sentences = (read_values(folder / f"{source.name}-{side}.npy") for side in ("pictures", "sentences"))
    first = asking[:FIRST]
    everything = np.union1d(asking, source.database)
    others = np.setdiff1d(source.database, asking)
    for bits in lengths:
        seen, read = pictures[:, :bits], sentences[:, :bits]
        for mode in MODES:
            yield paired(source, read, seen, first, first, mode, "text_to_image")
        yield paired(source, seen, read, first, first, "hamming", "image_to_text")
        if source.name == "coco18":
            for mode in MODES:
                yield paired(source, read, seen, asking, everything, mode, "text_to_image")
            yield labelled(source, seen, read, asking, others, "image_to_text")
            yield labelled(source, read, seen, asking, others, "text_to_image")


def read_values(path: Path) -> Values:
    values: Values = np.load(path, allow_pickle=False).astype(np.float32)
    return values


def paired(
    source: Source, asking: Values, stored: Values, queries: Rows, gallery: Rows, mode: str, direction: str
) -> Cell:
    """How often the pair is among the first, expected over ties."""
    ids = source.dataset.ids
    pairs = PairedItems.from_ids([ids[row] for row in queries], [ids[row] for row in gallery])
    ranking = "hamming" if mode == "hamming" else "inner"
    rules = Rules(ranking=ranking, relevance="same item", gallery="with-queries")
    settings: dict[str, Any] = {"pairs": pairs, "rules": rules, "direction": direction, "extras": EXTRAS}
    if mode == "hamming":
        report = evaluate(Codes.from_values(asking[queries]), Codes.from_values(stored[gallery]), **settings)
    else:
        held = stored[gallery] if mode == "real" else Codes.from_values(stored[gallery]).to_signs()
        report = evaluate_values(asking[queries], held, **settings)
    recalls = {f"recall_at_{k}": round(report.metrics[f"hit@{k}"], 4) for k in EXTRAS.hit_at}
    return about(source, report, queries, gallery, "paired", mode) | recalls


def labelled(source: Source, asking: Values, stored: Values, queries: Rows, gallery: Rows, direction: str) -> Cell:
    """The mean average precision where relevant is what shares a label."""
    labels = source.dataset.labels
    report = evaluate(
        Codes.from_values(asking[queries]),
        Codes.from_values(stored[gallery]),
        query_labels=labels.select(queries),
        gallery_labels=labels.select(gallery),
        direction=direction,
        extras=EXTRAS,
    )
    return about(source, report, queries, gallery, "r18", "hamming") | {"map_all": round(report.mean, 4)}


def about(source: Source, report: Report, queries: Rows, gallery: Rows, rule: str, mode: str) -> Cell:
    """What a figure is a figure of."""
    ids = source.dataset.ids
    lists = {"query_ids": queries, "gallery_ids": gallery}
    digests = {name: ids_digest(ids[row] for row in rows) for name, rows in lists.items()}
    digests |= {"dataset": dataset_digest(source)} | dict(report.digests)
    about_size = {"queries": len(queries), "gallery": len(gallery), "direction": report.direction}
    return {"dataset": source.name, "bits": report.bits, **about_size, "rule": rule, "mode": mode, "digests": digests}


@cache
def dataset_digest(source: Source) -> str:
    return digest(source.dataset)


if __name__ == "__main__":
    main()
