"""How fast a folder of photographs is indexed, and what that takes.

    python benchmarks/indexing.py                                       # pictures of scenes, by a small model
    python benchmarks/indexing.py --model MODEL --pictures coco18       # photographs out of WebDataset shards

A folder of so many pictures is indexed by a process of its own, which decodes, looks, makes small copies and writes the
catalogue; beside it, the model alone on pictures that are in memory already. Memory is that of the process and of those
that it starts, shared pages counted once. A second run has to find that nothing is new without decoding anything.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from deepbinaries.cli import main as command_line
from deepbinaries.datasets import Dataset, load
from deepbinaries.model import Model
from deepbinaries.search import LazyModel, index_folder
from deepbinaries.search.layout import NAME
from deepbinaries.vision import read_picture
from recording import record

SMALL_MODEL = "items=60 --vision side=64 --vision keep=4 --set epochs=1 --set hidden=64 --set fc=64"
ALONE = 200  # pictures that the model is given by itself
ENDINGS = {b"\xff\xd8\xff": "jpg", b"\x89PNG": "png", b"RIFF": "webp"}


def main() -> None:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a model's folder; a small one of scenes unless given")
    parser.add_argument("--backbone-weights", type=Path, help="of that model, where they are not the published ones")
    parser.add_argument("--pictures", type=Path, help="WebDataset shards; pictures of scenes unless given")
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--index", type=Path, help=argparse.SUPPRESS)  # the process that is measured
    given = parser.parse_args()
    if given.index:
        report = index_folder(given.index, opened(given.model, given.backbone_weights), progress=False)
        print(json.dumps({name: getattr(report, name) for name in ("files", "encoded", "unchanged", "seconds")}))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = given.model or small_model(folder)
        dataset = load("webdataset", given.pictures) if given.pictures else load("scenes", items=given.items)
        root = folder / "pictures"
        write_pictures(dataset, root, given.items)
        first, second = (indexed(root, model, given.backbone_weights) for _ in range(2))
        n_bytes = sum(path.stat().st_size for path in (root / NAME).rglob("*") if path.is_file())
        alone = pictures_a_second(opened(model, given.backbone_weights).get(), dataset)
    rate = first["encoded"] / first["seconds"]
    figures = {
        "pictures_of": dataset.name,
        "pictures": first["files"],
        "pictures_a_second": round(rate, 2),
        "model_alone_a_second": round(alone, 2),
        "peak_memory_mb": first["peak_memory_mb"],
        "bytes_an_item": round(n_bytes / first["files"]),
        "second_run": second,
    }
    command = "python benchmarks/indexing.py" + (" --model MODEL --pictures coco18" if given.pictures else "")
    ratios = {"of_model_alone": round(rate / alone, 3)}
    print(ratios, figures, record("indexing", ratios=ratios, figures=figures, command=command, output=given.output))


def small_model(folder: Path) -> Path:
    """A model that was trained for a moment: how long it takes does not depend on what it knows."""
    options = ["--dataset-set", *SMALL_MODEL.split(), "--out", str(folder / "model")]
    try:
        command_line(["train", "scenes", *options])
    except SystemExit as ended:
        if ended.code:
            raise
    return folder / "model"


def write_pictures(dataset: Dataset, root: Path, n: int) -> None:
    """The first n pictures of a dataset as files."""
    root.mkdir()
    for row in range(min(n, len(dataset.ids))):
        content = dataset.picture(row)
        ending = next((ending for begin, ending in ENDINGS.items() if content.startswith(begin)), "avif")
        (root / f"{row:06d}.{ending}").write_bytes(content)


def opened(model: Path, weights: Path | None) -> LazyModel:
    return LazyModel(model, device="cpu", backbone_weights=weights)


def indexed(root: Path, model: Path, weights: Path | None) -> dict[str, Any]:
    """What a run of its own did, in how many seconds, and the most memory that was seen."""
    command = [sys.executable, __file__, "--model", str(model), "--index", str(root)]
    command += ["--backbone-weights", str(weights)] if weights else []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = 0
    while process.poll() is None:
        peak = max(peak, memory_of_tree(process.pid))
        time.sleep(0.1)
    if process.returncode or process.stdout is None:
        raise SystemExit("indexing failed")
    return {**json.loads(process.stdout.read()), "peak_memory_mb": round(peak / 1e6, 1)}


def memory_of_tree(pid: int) -> int:
    """Bytes that a process and its children hold, shared ones in parts; 0 where the system does not tell."""
    try:
        held = re.search(r"^Pss:\s*(\d+) kB$", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
        children = [
            child for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
        ]
    except OSError:
        return 0  # it has just ended
    return (int(held[1]) * 1024 if held else 0) + sum(memory_of_tree(int(child)) for child in children)


def pictures_a_second(model: Model, dataset: Dataset) -> float:
    """How many decoded pictures the model alone encodes in a second."""
    pictures = [read_picture(dataset.picture(row), name=str(row)) for row in islice(range(len(dataset.ids)), ALONE)]
    model.encode_images(pictures[:8])
    began = time.perf_counter()
    model.encode_images(pictures)
    return len(pictures) / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
