"""How much of the bare networks' speed is left when codes are learned and pictures are read.

    python benchmarks/training.py [networks] [paper-size] [pipeline]

`networks`: the whole training step (similarity, eigen-decomposition, rotation, codes, loss) beside the same networks,
batches, precision and optimiser that follow fixed random targets. `paper-size`: `TVDB.fit` from arrays in memory to
a trained model. `pipeline`: from AVIF files to a store of region features beside the network alone, its pixels ready.

Without a GPU everything is small: it shows that the benchmark runs, and little else.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor

from deepbinaries.datasets import Dataset, Labels, Record, Records, load
from deepbinaries.datasets.base import PictureFile, Skips
from deepbinaries.errors import MissingExtraError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.features.pictures import prepare_images
from deepbinaries.hashers.code_learning import UPDATES
from deepbinaries.hashers.image_networks import IMAGE_NETWORKS
from deepbinaries.hashers.text_networks import TEXT_NETWORKS
from deepbinaries.hashers.training import Objective, Towers, choose_device, train
from deepbinaries.hashers.tvdb import PRESETS, TVDB, CodeObjective, TVDBSettings
from deepbinaries.vision.backbones.efficientnet_lite0 import EfficientNetLite0, fold
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings
from recording import record

N_LABELS = 80
CHANCE = 0.35, 0.03  # of COCO: two items in three share nothing
LEAST_SETS = 5000
EPOCHS = 4  # of a run; the first warms up, and the last one finds batches that were prepared before it began


@dataclass(frozen=True)
class Sizes:
    """How large everything is; what is not here is as the presets have it."""

    pairs: int = 50_000  # as many as the paper learns from: what is done once an epoch weighs as much as there
    width: int = 1280  # of the default backbone
    paper_width: int = 4096  # AlexNet's
    paper_epochs: int = 25
    regions: int = 21
    words: int = 10_000
    length: int = 12  # words a sentence
    bits: int = 128
    batch: int = 512
    units: int = 1024  # of the LSTM and of the fully connected layers
    pictures: int = 24_576  # processes that decode take half a second to start, which few pictures would not repay
    files: int = 1024  # distinct ones among them
    picture_batch: int = 64
    repeats: int = 3


SMALL = Sizes(
    pairs=192, width=60, paper_width=96, paper_epochs=2, regions=5, words=200, bits=32, batch=64,
    units=32, pictures=4, files=2, picture_batch=2, repeats=2,
)  # fmt: skip


# Generated data


def coco_like(n: int, seed: int = 0) -> Labels:
    """Labels of n items: one label ('person') in half of them, the others by Zipf's law; nobody is without."""
    rng = np.random.default_rng(seed)
    popularity = np.arange(1, N_LABELS) ** -0.6
    chance = np.concatenate([[0.5], 2.3 * popularity / popularity.sum()])
    has = rng.random((n, N_LABELS)) < chance
    bare = np.flatnonzero(~has.any(axis=1))
    has[bare, rng.choice(N_LABELS, len(bare), p=chance / chance.sum())] = True
    return Labels.from_matrix(has)


def label_figures(labels: Labels, batch: int) -> dict[str, float]:
    """What makes labels hard: how many share one, how many distinct sets there are, in all and in a batch."""
    has = labels.matrix().astype(np.float32)
    some = has[:4096]
    return {
        "chance": round(float((some @ some.T > 0).mean()), 4),
        "label_sets": len(np.unique(np.packbits(has > 0, axis=1), axis=0)),
        "label_sets_in_a_batch": len(np.unique(has[:batch], axis=0)),
    }


def check_labels(found: dict[str, float]) -> None:
    """Stop where the labels are easier than COCO's."""
    wished, tolerance = CHANCE
    if abs(found["chance"] - wished) > tolerance or found["label_sets"] < LEAST_SETS:
        raise SystemExit(f"these labels are not like COCO's: {found}")


def make_pairs(n: int, width: int, sizes: Sizes, device: torch.device) -> Pairs:
    """Random features and sentences with COCO-like labels. A GPU draws them far faster than numpy would."""
    regions = np.empty((n, sizes.regions, width + 4), dtype=np.float16)
    torch.manual_seed(0)
    for start in range(0, n, 1000):
        block = regions[start : start + 1000]
        block[:] = torch.randn(block.shape, device=device).half().cpu().numpy()
    tokens = np.random.default_rng(0).integers(1, sizes.words, (n, sizes.length), dtype=np.int32)
    return Pairs(Images(regions), Texts(tokens, sizes.words), coco_like(n))


# The training step beside the bare networks


class FixedTargets:
    """The objective of the bare networks: random codes that never change."""

    random_batches = True

    def __init__(self, n: int, bits: int, device: torch.device):
        self.B, self.H = (torch.randint(2, (2, n, bits), device=device) * 2.0 - 1).unbind()

    def before_training(self, batches: Iterator[Tensor]) -> None: ...

    def loss(self, F: Tensor, G: Tensor, rows: Tensor) -> Tensor:
        return (self.B[rows] - F).square().mean() + (self.H[rows] - G).square().mean()

    def after_epoch(self, epoch: int, outputs: Callable[[], tuple[Tensor, Tensor]]) -> dict[str, Any]:  # noqa: ARG002
        return {}

    def state(self) -> dict[str, Tensor]:
        return {}

    def restore(self, state: dict[str, Tensor]) -> None: ...


def pairs_a_second(pairs: Pairs, settings: TVDBSettings, objective: Objective, device: torch.device) -> float:
    """The speed of the middle epochs of a training. An epoch ends with a figure that the GPU has to answer."""
    torch.manual_seed(0)
    towers = Towers(
        IMAGE_NETWORKS[settings.image](pairs.images.width, settings),
        TEXT_NETWORKS[settings.text](pairs.texts.n_words, settings),
    )
    towers = towers.to(device)
    optimiser = TVDB(settings).optimiser(towers, device)
    ends: list[float] = []
    train(
        towers, objective, pairs, settings, device=device, optimiser=optimiser,
        log=lambda _: ends.append(time.perf_counter()),
    )  # fmt: skip
    return len(pairs) * (EPOCHS - 2) / (ends[-2] - ends[0])


def measure_networks(
    sizes: Sizes, device: torch.device, updates: Sequence[str]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Speeds with code learning and without it, in turns, for two presets and for other updates."""
    pairs = make_pairs(sizes.pairs, sizes.width, sizes, device)
    of_labels = label_figures(pairs.labels, sizes.batch)
    if sizes != SMALL:
        check_labels(of_labels)
    units = sizes.units
    changed: dict[str, Any] = {"bits": sizes.bits, "batch": sizes.batch, "hidden": units, "fc": units, "epochs": EPOCHS}
    lstm, best = (replace(PRESETS[name], **changed) for name in ("tvdb-lstm", "tvdb"))
    learning = {"tvdb-lstm": lstm, "tvdb": best}
    learning |= {f"tvdb-lstm, {update}": replace(lstm, update=update) for update in updates if update != lstm.update}
    bare = {"bare tvdb-lstm": lstm, "bare tvdb": best}
    speeds: dict[str, list[float]] = {name: [] for name in bare | learning}
    for _ in range(sizes.repeats):
        for name, settings in (bare | learning).items():
            objective = (
                FixedTargets(len(pairs), sizes.bits, device)
                if name in bare
                else CodeObjective(pairs.labels, settings, device)
            )
            speeds[name].append(round(pairs_a_second(pairs, settings, objective, device), 1))
    median = {name: statistics.median(found) for name, found in speeds.items()}
    ratios = {"of_bare_networks": median["tvdb-lstm"] / median["bare tvdb-lstm"]}
    ratios["of_bare_networks_tvdb"] = median["tvdb"] / median["bare tvdb"]
    for name in set(learning) - {"tvdb-lstm", "tvdb"}:
        ratios[f"of_bare_networks_{name.split()[-1]}"] = median[name] / median["bare tvdb-lstm"]
    return ratios, {"labels": of_labels, "pairs_a_second": speeds}


# The paper's size


def measure_paper_size(sizes: Sizes, device: torch.device) -> tuple[dict[str, float], dict[str, Any]]:
    """Seconds from arrays in memory to a trained model, those of moving and checking features among them."""
    pairs = make_pairs(sizes.pairs, sizes.paper_width, sizes, device)
    entries: list[dict[str, Any]] = []
    hasher = TVDB.preset(
        "tvdb-lstm", device=str(device), bits=sizes.bits, batch=sizes.batch, epochs=sizes.paper_epochs,
        hidden=sizes.units, fc=sizes.units,
    )  # fmt: skip
    begin = time.perf_counter()
    hasher.fit(pairs, log=entries.append)
    synchronise(device)
    seconds = time.perf_counter() - begin
    name = "paper_size_shrunk" if sizes == SMALL else "paper_size"
    of_epochs = [entry["seconds"] for entry in entries]
    return {}, {
        f"{name}_seconds": seconds,
        f"{name}_seconds_outside_epochs": seconds - sum(of_epochs),
        f"{name}_seconds_of_epochs": of_epochs,
        f"{name}_gigabytes": pairs.images.regions.size * 2 / 1e9,
    }


# The feature pipeline beside the bare backbone


def photograph_like(rng: np.random.Generator, side: int = 256) -> Image.Image:
    """Noise with the spectrum of photographs, so that a decoder has as much to do as with them."""
    frequency = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side))
    frequency[0, 0] = 1
    spectrum = rng.standard_normal((2, 3, *frequency.shape)) / frequency**1.2
    waves = np.fft.irfft2(spectrum[0] + 1j * spectrum[1], (side, side))
    waves += 2 * waves.mean(axis=0)  # colours of a photograph go together
    pixels = 120 + 50 * waves / waves.std()
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8).transpose(1, 2, 0))


def make_pictures(folder: Path, n: int, n_files: int) -> Dataset:
    """A dataset of n items that share so many AVIF files of 256 pixels."""
    paths = [folder / f"{file}.avif" for file in range(n_files)]

    def write(file: int) -> None:
        photograph_like(np.random.default_rng(file)).save(paths[file], quality=35)

    with ThreadPoolExecutor() as threads:
        list(threads.map(write, range(n_files)))
    records = [Record(f"{row:06d}", PictureFile(paths[row % n_files]), labels=("noise",)) for row in range(n)]
    return Records("generated", records, skips=Skips(strict=True))


def make_encoder(weights: Path | None, folder: Path, device: torch.device) -> tuple[RegionEncoder, str]:
    """The default backbone on `grid`, and what its weights are; random ones take as long where there are no others."""
    settings = VisionSettings(proposer="grid")
    try:
        return RegionEncoder(settings, backbone_weights=weights, device=str(device)), "published"
    except MissingExtraError:
        file = folder / "random.safetensors"
        save_file(EfficientNetLite0().state_dict(), file)
        return RegionEncoder(settings, backbone_weights=file, device=str(device)), "random"


def bare_backbone(side: int, batch: int, device: torch.device) -> Callable[[], None]:
    """A call that runs the network over one batch whose pixels are on the device already."""
    network = EfficientNetLite0()
    fold(network)
    on_gpu = device.type == "cuda"
    network = network.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    shape = (batch, side, side, 3)
    pixels = torch.randint(256, shape, dtype=torch.uint8, device=device).permute(0, 3, 1, 2)
    at_once = batch if on_gpu else 1  # a CPU is faster one by one

    def run() -> None:
        with torch.inference_mode(), torch.autocast("cuda", dtype=torch.float16, enabled=on_gpu):
            for start in range(0, batch, at_once):
                network.features(pixels[start : start + at_once])

    return run


def measure_pipeline(
    sizes: Sizes, device: torch.device, weights: Path | None, shards: Path | None
) -> tuple[dict[str, float], dict[str, Any]]:
    """Pictures a second of both, in turns, each warmed up."""
    speeds: dict[str, list[float]] = {"pipeline": [], "bare backbone": []}
    batch = sizes.picture_batch
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        dataset = load("webdataset", shards) if shards else make_pictures(home, sizes.pictures, sizes.files)
        rows = np.arange(min(sizes.pictures, len(dataset.ids)))
        encoder, kind = make_encoder(weights, home, device)
        run_bare = bare_backbone(encoder.settings.side, batch, device)

        def pipeline(some: NDArray[np.int64], store: str) -> None:
            prepare_images(dataset, some, encoder, home / store, batch=batch, progress=False)

        def bare() -> None:
            for _ in range(-(-len(rows) // batch)):
                run_bare()
            synchronise(device)

        pipeline(rows[: 4 * batch], "warm")
        bare()
        for repeat in range(sizes.repeats):
            speeds["pipeline"].append(len(rows) / seconds_of(lambda: pipeline(rows, f"store-{repeat}")))  # noqa: B023
            speeds["bare backbone"].append(-(-len(rows) // batch) * batch / seconds_of(bare))
    median = {name: statistics.median(found) for name, found in speeds.items()}
    return {"of_bare_backbone": median["pipeline"] / median["bare backbone"]}, {
        "pictures_a_second": speeds,
        "pictures_of": dataset.name,
        "pictures_read": len(rows),
        "side": encoder.settings.side,
        "weights": kind,
    }


def seconds_of(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def command(chosen: argparse.Namespace, device: torch.device) -> str:
    """How to repeat the run; files by their names, since the folders they lie in are those of one machine."""
    given = [f"--{name} {path.resolve().name}" for name in ("lite0", "pictures") if (path := getattr(chosen, name))]
    if chosen.updates != list(UPDATES):
        given.append(" ".join(["--updates", *chosen.updates]))
    return " ".join(["python benchmarks/training.py", *chosen.parts, "--device", device.type, *given])


def main() -> None:
    parts = ("networks", "paper-size", "pipeline")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=parts, metavar="PART", help=f"some of {', '.join(parts)}")
    parser.add_argument("--device", default="auto", help="cpu or cuda; a GPU where there is one")
    parser.add_argument(
        "--updates",
        nargs="*",
        default=list(UPDATES),
        choices=[*UPDATES],
        help="beside the presets' own; all unless given",
    )
    parser.add_argument("--lite0", type=Path, help="the backbone's weights; the installed ones unless given")
    parser.add_argument("--pictures", type=Path, help="WebDataset shards to read instead of generated pictures")
    parser.add_argument("--output", type=Path, help="where to write; benchmarks/results/training.json unless given")
    chosen = parser.parse_args()
    if unknown := set(chosen.parts) - set(parts):
        parser.error(f"there is no part {min(unknown)!r}; choose from {', '.join(parts)}")

    device = choose_device(chosen.device)
    on_gpu = device.type == "cuda"
    sizes = Sizes() if on_gpu else SMALL
    ratios: dict[str, float] = {}
    figures: dict[str, Any] = {
        "device": torch.cuda.get_device_name(device) if on_gpu else "cpu",
        "torch": torch.__version__,
        "scale": "full" if on_gpu else "small: it shows that the benchmark runs, and little else",
        "sizes": asdict(sizes),
    }
    measures = {
        "networks": lambda: measure_networks(sizes, device, chosen.updates),
        "paper-size": lambda: measure_paper_size(sizes, device),
        "pipeline": lambda: measure_pipeline(sizes, device, chosen.lite0, chosen.pictures),
    }
    for part in chosen.parts:
        found, raw = measures[part]()
        ratios |= {name: round(ratio, 4) for name, ratio in found.items()}  # .6999 is not .7
        figures |= raw
        print(f"{part}\n" + "\n".join(f"  {name}: {value}" for name, value in (found | raw).items()), flush=True)
    path = record(
        "training",
        ratios=ratios,
        figures=figures,
        command=command(chosen, device),
        output=chosen.output,
    )
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()
