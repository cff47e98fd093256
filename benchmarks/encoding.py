"""How fast photographs and sentences become codes, beside networks of the shapes of CLIP ViT-B/32.

    python benchmarks/encoding.py                  # the model that comes with the package
    python benchmarks/encoding.py --model FOLDER   # another one
    python benchmarks/encoding.py --quick          # few pictures, to see that it runs

CLIP's networks have random weights, since time does not depend on them, and run in the same onnxruntime, in full
precision and dynamically quantised to int8, beside ours in turns. Both sides go from the bytes of a JPEG to a vector,
decode it to the fewest pixels that are as many as they see, 288 a side and 224, which for a large one is an eighth of
each side for both, and use all cores: a picture a thread, or, where that is faster for CLIP, batches of 8 on all
threads. The best of several rounds counts. Our rate has the proposals of 20 regions in it, by the package's own
proposer, though the codes of the package's model do not need them; without them it is in the figures. `index_...` is
the rate of the whole of `deepbinaries index` beside the same of CLIP's, which writes nothing: processes that a hostile
file may crash decode, and ids, small copies, dates and rows are made and written, but no regions proposed. A
photograph is a drawing with as much noise as gives a JPEG the size of a photograph's, 0.3 bytes a pixel.

A sentence is asked of 10^5 photographs in the same process, the model warm: of each sentence the best of several times,
of all sentences the slowest.
"""

import argparse
import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

# Cores are shared out by pictures here; numpy's own threads, which wait by spinning, would only take turns with them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from clip_shapes import IMAGE_SIDE, LAYERS, PIECES, TOKENS, PictureTower, SentenceTower, n_parameters, write_towers
from deepbinaries.datasets import load
from deepbinaries.features.inputs import Images
from deepbinaries.model import Model
from deepbinaries.onnx_files import open_network
from deepbinaries.search import Collection, LazyModel, index_folder
from deepbinaries.vision.backbones import Backbone
from deepbinaries.vision.encoder import energy_of
from deepbinaries.vision.proposers import make_proposer
from deepbinaries.vision.proposers.rpn import HOME as RPN_HOME
from deepbinaries.vision.proposers.rpn import Rpn
from deepbinaries.vision.reading import read_picture
from deepbinaries.vision.regions import choose_regions
from deepbinaries.vision.stretching import stretched
from random_collection import random_collection
from recording import record

SMALL, LARGE = (320, 240), (4000, 3000)
NOISE = {SMALL: 5.0, LARGE: 9.0}  # standard deviation of the noise; gives about 0.3 bytes a pixel
KEEP = 20  # regions that are proposed
BATCH = 8  # of CLIP
AT_ONCE = 16  # pictures whose regions are proposed together
ALLOWED_MS = 8.0
SENTENCES = (
    "a dog on a beach",
    "two people ride bicycles down a street at night",
    "a red car",
    "snow on a mountain behind a small wooden house",
    "a child eats an ice cream in the park while a white dog looks at it",
    "boats",
    "a kitchen with a black stove and a window",
    "people at a market",
    "a man in a blue shirt jumps to hit a tennis ball",
    "an old train in a station",
)
MEAN = np.array([0.48145466, 0.4578275, 0.40821073], np.float32)
STD = np.array([0.26862954, 0.26130258, 0.27577711], np.float32)
CORES = os.cpu_count() or 1

Times = dict[str, float]


def photographs(n: int, size: tuple[int, int]) -> list[bytes]:
    """JPEG files of so many pixels, each another one."""
    scenes, rng = load("scenes", items=n), np.random.default_rng(0)
    files = []
    for row in range(n):
        drawn = Image.open(io.BytesIO(scenes.picture(row))).convert("RGB").resize(size, Image.Resampling.BICUBIC)
        pixels = np.asarray(drawn, np.float32)
        noisy = pixels + NOISE[size] * rng.standard_normal(pixels.shape, dtype=np.float32)
        file = io.BytesIO()
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=90)
        files.append(file.getvalue())
    return files


def in_turns(contestants: Mapping[str, Callable[[], object]], rounds: int) -> tuple[Times, Times]:
    """The best wall time of each and the best processor time, in seconds, after a first round that does not count."""
    for call in contestants.values():
        call()
    walls: dict[str, list[float]] = {name: [] for name in contestants}
    processor: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, call in contestants.items():
            wall, busy = time.perf_counter(), time.process_time()
            call()
            walls[name].append(time.perf_counter() - wall)
            processor[name].append(time.process_time() - busy)
    return {name: min(of) for name, of in walls.items()}, {name: min(of) for name, of in processor.items()}


class Clip:
    """One precision of CLIP's picture tower, in both ways of using all cores."""

    def __init__(self, file: Path):
        content = file.read_bytes()
        self._single = open_network(content, file, threads=1)
        self._all = open_network(content, file, threads=CORES)

    def one_by_one(self, files: Sequence[bytes]) -> list[Any]:
        """A picture a thread."""
        with ThreadPoolExecutor(CORES) as threads:
            return list(threads.map(lambda file: self._single.run(None, {"x": prepared(file)[None]}), files))

    def in_batches(self, files: Sequence[bytes]) -> list[Any]:
        """Pictures decoded by all threads, while batches of the last ones are encoded by as many."""
        found = []
        with ThreadPoolExecutor(CORES) as threads:
            ready = threads.map(prepared, files)
            while some := list(islice(ready, BATCH)):
                found.append(self._all.run(None, {"x": np.stack(some)}))
        return found


def prepared(file: bytes) -> NDArray[np.float32]:
    """Pixels as CLIP wants them, (3, 224, 224)."""
    picture = read_picture(file, at_least=IMAGE_SIDE)
    short = min(picture.size)
    left, top = (picture.width - short) / 2, (picture.height - short) / 2
    square = picture.resize(
        (IMAGE_SIDE, IMAGE_SIDE), Image.Resampling.BICUBIC, box=(left, top, left + short, top + short)
    )
    scaled = (np.asarray(square, np.float32) / 255 - MEAN) / STD
    return np.ascontiguousarray(scaled.transpose(2, 0, 1))


def proposer_for(backbone: Backbone) -> Any:
    """The package's own proposer wherever it can read the maps; its time does not depend on whose maps they are."""
    for path in sorted(RPN_HOME.glob("rpn-*.safetensors")):
        rpn = Rpn(path.read_bytes(), path)
        if rpn.head.narrow.shape[1] == backbone.width:
            return rpn
    return make_proposer("grid", None, backbone)


class WithProposals:
    """A model that also proposes regions on the maps it has made, whether its codes need them or not."""

    def __init__(self, model: Model):
        self._model, self._side = model, model.encoder.settings.side
        self._backbone: Any = model.encoder.backbone
        self._proposer: Any = proposer_for(self._backbone)
        self.proposer = str(self._proposer.name)

    def encode(self, files: Sequence[bytes]) -> NDArray[np.float32]:
        """Values of the pictures; regions are proposed on the last maps while others are made."""
        values = []
        with ThreadPoolExecutor(CORES) as threads:
            looked = threads.map(self._look, files)
            while some := list(islice(looked, AT_ONCE)):
                sizes, maps = [size for size, _ in some], np.concatenate([maps for _, maps in some])
                self._propose(maps, sizes)
                values.append(self._model.hasher.encode(Images.from_vectors(maps.mean((2, 3)))))
        return np.concatenate(values)

    def _look(self, file: bytes) -> tuple[tuple[int, int], NDArray[np.float32]]:
        picture = self._model.read(file)
        return picture.size, self._backbone.maps(stretched(picture, self._side)[None])

    def _propose(self, maps: NDArray[np.float32], sizes: Sequence[tuple[int, int]]) -> None:
        if self.proposer == "grid":
            self._proposer.choose_all(energy_of(maps), sizes, KEEP)
            return
        for proposals, size in zip(self._proposer.propose_on(maps), sizes, strict=True):
            choose_regions(proposals, size, keep=KEEP, proposer=self.proposer)


def of_pictures(
    ours: Model, proposing: WithProposals, clip: dict[str, Clip], n: int, size: tuple[int, int], rounds: int
) -> dict[str, Any]:
    """Photographs a second of everybody, from the bytes of a file to a vector."""
    files = photographs(n, size)
    contestants: dict[str, Callable[[], object]] = {
        "ours": lambda: proposing.encode(files),
        "ours without proposals": lambda: ours.encode_images(files, values=True),
    }
    for precision, tower in clip.items():
        contestants[f"clip {precision}, one by one"] = partial(tower.one_by_one, files)
        contestants[f"clip {precision}, in batches"] = partial(tower.in_batches, files)
    seconds, busy = in_turns(contestants, rounds)
    rates = {name: round(n / time_, 2) for name, time_ in seconds.items()}
    for precision in clip:
        rates[f"clip {precision}"] = max(rate for name, rate in rates.items() if name.startswith(f"clip {precision},"))
    return {
        "size": list(size),
        "bytes a pixel": round(statistics.mean(map(len, files)) / (size[0] * size[1]), 3),
        "photographs a second": rates,
        "processor ms a photograph": {name: round(1000 * time_ / n, 2) for name, time_ in busy.items()},
    }


def of_sentences(ours: Model, towers: dict[str, Path], rounds: int) -> Times:
    """Milliseconds from a sentence to its vector; that CLIP has to cut it into pieces first is given to it."""
    tokens = np.random.default_rng(0).integers(1, PIECES, (1, TOKENS))
    sessions = {
        precision: open_network(towers[f"sentence {precision}"].read_bytes(), Path("sentence"), threads=CORES)
        for precision in ("fp32", "int8")
    }
    contestants: dict[str, Callable[[], object]] = {"ours": lambda: ours.encode_texts(SENTENCES[0], values=True)}
    for precision, session in sessions.items():
        contestants[f"clip {precision}"] = partial(session.run, None, {"x": tokens})
    return {name: round(1000 * seconds, 3) for name, seconds in in_turns(contestants, 10 * rounds)[0].items()}


def of_indexing(folder: Path, model: LazyModel, n: int, size: tuple[int, int], rounds: int) -> float:
    """Photographs a second by `deepbinaries index`, its processes started and small copies, dates and rows written."""
    root = folder / f"{size[0]} to index"
    root.mkdir()
    different = photographs(min(n, 60 if size == SMALL else 8), size)
    for row in range(n):  # what follows the end of a JPEG makes it another file
        (root / f"{row}.jpg").write_bytes(different[row % len(different)] + row.to_bytes(4))
    reports = [index_folder(root, model, index=folder / f"{size[0]} {i}", progress=False) for i in range(rounds)]
    return round(max(report.encoded / report.seconds for report in reports), 2)


def of_queries(place: Path, model: LazyModel, rounds: int) -> dict[str, Any]:
    """How long a sentence takes from its words to its hits."""
    with Collection(place, model=model) as collection:
        asked = {text: partial(collection.by_text, text, k=20, least="none") for text in SENTENCES}
        best, _ = in_turns(asked, 4 * rounds)
    times = sorted(1000 * seconds for seconds in best.values())
    return {
        "median, ms": round(statistics.median(times), 3),
        "slowest, ms": round(times[-1], 3),
        "sentences": len(times),
    }


def main() -> None:
    """Measure, and write what was found."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--model", default="photo")
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--output", type=Path)
    given = arguments.parse_args()
    few = given.quick
    small, large, items, rounds, layers = (4, 1, 1_000, 1, 1) if few else (64, 16, 100_000, 5, LAYERS)
    ours = Model.from_pretrained(given.model)
    proposing = WithProposals(ours)
    with tempfile.TemporaryDirectory() as name:
        towers = write_towers(Path(name), layers)
        clip = {precision: Clip(towers[f"picture {precision}"]) for precision in ("fp32", "int8")}
        of_small = of_pictures(ours, proposing, clip, small, SMALL, rounds)
        of_large = of_pictures(ours, proposing, clip, large, LARGE, rounds)
        to_vector = of_sentences(ours, towers, rounds)
        lazy = LazyModel(given.model)
        lazy.get()
        indexed = of_indexing(Path(name), lazy, 4 if few else 600, SMALL, rounds)
        large_indexed = of_indexing(Path(name), lazy, 1 if few else 480, LARGE, rounds)
        query = of_queries(random_collection(Path(name), lazy, items), lazy, rounds)
    rates, large_rates = of_small["photographs a second"], of_large["photographs a second"]
    ratios = {
        "vs_clip_fp32": rates["ours"] / rates["clip fp32"],
        "vs_clip_int8": rates["ours"] / rates["clip int8"],
        "vs_clip_fp32_12mp": large_rates["ours"] / large_rates["clip fp32"],
        "vs_clip_int8_12mp": large_rates["ours"] / large_rates["clip int8"],
        "index_vs_clip_fp32": indexed / rates["clip fp32"],
        "index_vs_clip_int8": indexed / rates["clip int8"],
        "index_vs_clip_fp32_12mp": large_indexed / large_rates["clip fp32"],
        "index_vs_clip_int8_12mp": large_indexed / large_rates["clip int8"],
        "sentence_vs_clip_fp32": to_vector["clip fp32"] / to_vector["ours"],
        "sentence_vs_clip_int8": to_vector["clip int8"] / to_vector["ours"],
        "of_allowed_query_ms": ALLOWED_MS / query["slowest, ms"],
    }
    figures = {
        "cores": CORES,
        "model": lazy.fingerprint,
        "proposer": proposing.proposer,
        "pictures": [of_small, of_large],
        "indexed a second, everything included": {"320 x 240": indexed, "4000 x 3000": large_indexed},
        "sentence to vector, ms": to_vector,
        "query": {"items": items, "allowed, ms": ALLOWED_MS, **query},
        "clip parameters": {"picture": n_parameters(PictureTower()), "sentence": n_parameters(SentenceTower())},
        "onnxruntime": version("onnxruntime"),
    }
    command = "python benchmarks/encoding.py" + (" --quick" if few else "")
    rounded = {name: round(ratio, 2) for name, ratio in ratios.items()}
    print(rounded, figures, record("encoding", ratios=rounded, figures=figures, command=command, output=given.output))


if __name__ == "__main__":
    main()
