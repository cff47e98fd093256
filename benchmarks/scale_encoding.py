"""How many photographs a second become codes: by a plain loop, by one worker of Ray, and by two.

    python benchmarks/scale_encoding.py                                       # pictures of scenes, by a small model
    python benchmarks/scale_encoding.py --model MODEL --pictures coco18       # photographs out of WebDataset shards

The same folder is encoded in each way by a process of its own, as `deepbinaries encode-many` does it. Starting Ray and
opening the model takes some seconds, however many pictures there are: it is measured with one picture for each worker,
and the rate is that of the seconds beyond it. How many codes are equal in all three ways is counted.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from deepbinaries.bulk import Workers, encode_collection, read_shards
from deepbinaries.datasets import load
from deepbinaries.search import LazyModel
from indexing import small_model, write_pictures
from recording import record

PLAIN, ONE, TWO = WAYS = ("plain loop", "1 Ray worker", "2 Ray workers")  # by the number of workers
ALL, FEW = "pictures", "few"
ENOUGH_SECONDS = 2.0  # of work beside the start, so that a rate means something


def main() -> None:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a model's folder; a small one of scenes unless given")
    parser.add_argument("--backbone-weights", help="of that model, where they are not the published ones")
    parser.add_argument("--pictures", type=Path, help="WebDataset shards; pictures of scenes unless given")
    parser.add_argument("--items", type=int, default=3000)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--encode", nargs=3, help=argparse.SUPPRESS)  # the process that is measured
    given = parser.parse_args()
    if given.encode:
        pictures, shards, workers = given.encode
        print(json.dumps(encode(pictures, shards, int(workers), given.model, given.backbone_weights)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = given.model or small_model(folder)
        dataset = load("webdataset", given.pictures) if given.pictures else load("scenes", items=given.items)
        write_pictures(dataset, folder / ALL, given.items)
        write_pictures(dataset, folder / FEW, len(WAYS) - 1)
        found = {way: measured(folder, workers, model, given.backbone_weights) for workers, way in enumerate(WAYS)}
        equal = equal_codes([folder / f"{ALL}-{workers}" for workers in range(len(WAYS))])
    rates = {way: facts["pictures a second"] for way, facts in found.items()}
    ratios = {
        "vs_plain_loop_1_worker": round(rates[ONE] / rates[PLAIN], 3),
        "vs_plain_loop_2_workers": round(rates[TWO] / rates[PLAIN], 3),
        "vs_1_worker_2_workers": round(rates[TWO] / rates[ONE], 3),
    }
    figures = {"pictures_of": dataset.name, "equal codes": equal, "ways": found}
    command = "python benchmarks/scale_encoding.py" + (" --model MODEL --pictures coco18" if given.pictures else "")
    path = record("scale_encoding", ratios=ratios, figures=figures, command=command, output=given.output)
    print(ratios, figures, path)


def measured(folder: Path, workers: int, model: Path, weights: str | None) -> dict[str, Any]:
    """How fast so many workers are; none are the plain loop."""
    start, whole = (
        encoded(folder / name, folder / f"{name}-{workers}", workers, model, weights) for name in (FEW, ALL)
    )
    working = whole["seconds"] - start["seconds"]
    if working < ENOUGH_SECONDS:
        raise SystemExit(f"{whole['encoded']} pictures take no longer than starting: give more --items")
    return {
        "pictures": whole["encoded"],
        "pictures a second": round(whole["encoded"] / working, 2),
        "seconds to start": round(start["seconds"], 2),
        "seconds in all": round(whole["seconds"], 2),
    }


def encoded(pictures: Path, shards: Path, workers: int, model: Path, weights: str | None) -> dict[str, Any]:
    """What a process of its own says of its work."""
    command = [sys.executable, __file__, "--model", str(model), "--encode", str(pictures), str(shards), str(workers)]
    command += ["--backbone-weights", weights] if weights else []
    found: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return found


def encode(pictures: str, shards: str, workers: int, model: Path, weights: str | None) -> dict[str, Any]:
    """What encoding a folder did, and how long it took."""
    by = LazyModel(model, device="cpu", backbone_weights=weights)
    report = encode_collection(pictures, shards, by, workers=Workers(workers), progress=False)
    return {"encoded": report.encoded, "seconds": report.seconds}


def equal_codes(folders: list[Path]) -> str:
    """How many pictures have the same code in all folders of shards, of how many that are in any of them."""
    found: dict[str, set[bytes]] = {}
    times: dict[str, int] = {}
    for folder in folders:
        for shard in read_shards(folder):
            for id_, code in zip(shard.ids, shard.codes.packed, strict=True):
                found.setdefault(id_, set()).add(code.tobytes())
                times[id_] = times.get(id_, 0) + 1
    equal = sum(len(codes) == 1 and times[id_] == len(folders) for id_, codes in found.items())
    return f"{equal:,} of {len(found):,}"


if __name__ == "__main__":
    main()
