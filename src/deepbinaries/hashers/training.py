"""The training loop that every deep method shares: stochastic batches, two towers, one objective.

    for epoch: for batch: F, G = f(images), g(texts); objective.loss(F, G, rows).backward(); Adam step

A method brings its objective; the loop brings batches, precision, the learning rate's course, validation, stopping,
checkpoints and the log. Every draw depends on (seed, epoch) alone, so that a killed run, resumed from its last whole
epoch, ends in the same model, bit for bit on a CPU. Several processes share the work on each batch: `world`.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.checkpoints import drop_checkpoint, load_checkpoint, make_basis, save_checkpoint
from deepbinaries.hashers.validation import validate
from deepbinaries.hashers.world import World, join_world
from deepbinaries.progress import track
from deepbinaries.vision.backbones.torch_backbone import find_device

ENCODE_BATCH = 1024
SHARE_OF_GPU = 0.5  # features live on the GPU when they take no more than this of its free memory
ALONE = World()  # whoever encodes without the others
SCHEDULES = ("constant", "one-cycle", "log")


@dataclass(frozen=True)
class TrainingSettings:
    """How a model is trained; what is trained is the method's business."""

    epochs: int = 25
    batch: int = 128
    learning_rate: float = 1e-3
    schedule: str = "constant"  # "one-cycle": up over the first tenth, then down by a cosine; "log": evenly to 10^-1.5
    weight_decay: float = 0.0
    patience: int | None = None  # stop when validation has not improved for so many epochs; None trains them all
    seed: int = 0

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 2 or not 0 < self.learning_rate < math.inf:
            raise UsageError(
                f"epochs={self.epochs}, batch={self.batch}, learning_rate={self.learning_rate} train nothing",
                next_step="give at least 1 epoch, 2 items a batch and a positive rate",
            )
        if not 0 <= self.weight_decay < math.inf or self.seed < 0 or (self.patience is not None and self.patience < 1):
            raise UsageError(
                f"weight_decay={self.weight_decay}, patience={self.patience}, seed={self.seed} make no sense",
                next_step="give a decay and a seed from 0 on, and patience for at least 1 epoch",
            )
        if self.schedule not in SCHEDULES:
            raise UsageError(f"schedule={self.schedule!r} is unknown", next_step=f"take one of {', '.join(SCHEDULES)}")


class Objective(Protocol):
    """What a method wants of the outputs of a batch."""

    random_batches: bool  # False: the batches of the first epoch come again in every epoch

    def before_training(self, batches: Iterator[Tensor]) -> None:
        """The rows of all batches to come, epoch after epoch, for whoever prepares something of them ahead."""

    def loss(self, F: Tensor, G: Tensor, rows: Tensor) -> Tensor:
        """The loss of the outputs for the rows of the next batch."""

    def after_epoch(self, epoch: int, outputs: Callable[[], tuple[Tensor, Tensor]]) -> dict[str, Any]:
        """Whatever is due between epochs (`outputs` encodes the whole training set), and figures for the log."""

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must hold beside the networks."""

    def restore(self, state: dict[str, Tensor]) -> None: ...


class Towers(nn.Module):
    """The two networks f and g, and a third one where training needs it."""

    def __init__(self, image: nn.Module, text: nn.Module, helper: nn.Module | None = None):
        super().__init__()
        self.image = image
        self.text = text
        self.helper = helper


def choose_device(name: str = "auto") -> torch.device:
    """The device of a name; `auto` is a GPU when there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return find_device(name)


def train(
    towers: Towers,
    objective: Objective,
    pairs: Pairs,
    settings: TrainingSettings,
    *,
    device: torch.device,
    optimiser: torch.optim.Optimizer,
    validation: Pairs | None = None,
    checkpoints: Path | None = None,
    log: Callable[[dict[str, Any]], None] = lambda _: None,
) -> None:
    """Train both towers in place; with patience, they end as they were at the best validation.

    Of several processes the leading one alone writes checkpoints and calls `log`.
    """
    world = join_world()
    images, texts = on_device(pairs.images.regions, device), on_device(text_inputs(pairs.texts), device)
    check_features(images, of="picture")
    check_features(texts, of="text")
    basis = make_basis(settings, pairs, validation) if checkpoints is not None else {}
    run = load_checkpoint(checkpoints, towers, optimiser, objective, basis)
    _begin_alike(world, towers, run.epoch, device)
    n_steps = -(-len(pairs) // settings.batch)

    def batches_of(epoch: int) -> Iterator[Tensor]:
        return _batches(len(pairs), settings, epoch if objective.random_batches else 0)

    objective.before_training(rows for epoch in range(run.epoch, settings.epochs) for rows in batches_of(epoch))
    so_far = ""  # the loss of the epoch before: that of this one is known to the GPU alone until its end
    for epoch in range(run.epoch, settings.epochs):
        if settings.patience is not None and run.since >= settings.patience:
            break
        began, losses = time.monotonic(), torch.zeros((), device=device)
        torch.manual_seed(_seed(settings.seed, epoch))  # of dropout
        towers.train()
        batches = list(batches_of(epoch))
        parts = [world.part(rows) for rows in batches]
        steps = list(zip(parts, _moved(parts, device), _moved(batches, device), strict=True))
        what, mode = f"epoch {epoch + 1} of {settings.epochs}{so_far}", "" if world.leads else "quiet"
        for step, (part, part_there, rows) in enumerate(track(steps, what, mode=mode)):
            for group in optimiser.param_groups:
                group["lr"] = learning_rate(settings, epoch * n_steps + step, settings.epochs * n_steps)
            with _precision(device), world.own_draws(settings.seed, epoch, step):
                F = towers.image(_as_floats(_take(images, part, part_there)))
                G = towers.text(_as_floats(_take(texts, part, part_there)))
            loss = objective.loss(world.gather(F.float(), len(rows)), world.gather(G.float(), len(rows)), rows)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            _complete_gradients(world, towers)
            optimiser.step()
            losses += loss.detach()
        entry: dict[str, Any] = {"epoch": epoch + 1, "loss": float(losses) / n_steps}
        if not math.isfinite(entry["loss"]):  # first of all: nothing can be made of such networks' outputs
            drop_checkpoint(checkpoints)
            raise DataError(f"the loss of epoch {epoch + 1} is not finite", next_step="lower the learning rate")
        entry |= objective.after_epoch(
            epoch, lambda: (_outputs(towers.image, images, device, world), _outputs(towers.text, texts, device, world))
        )
        if validation is not None and len(validation):
            entry |= validate(partial(encode_side, towers, device, world=world), pairs, validation)
            score = (entry["validation_image_to_text"] + entry["validation_text_to_image"]) / 2
            run.note(score, towers)
        entry["seconds"] = round(time.monotonic() - began, 3)
        run.epoch = epoch + 1
        if world.leads:
            # In this order: killed between the two, the epoch is trained again and its entry written anew. The other
            # way round its entry would be missing for good.
            log(entry)
            save_checkpoint(checkpoints, towers, optimiser, objective, basis, run)
        so_far = f", loss {entry['loss']:.4g}"
    if settings.patience is not None and run.best_towers:
        towers.load_state_dict(run.best_towers)


def learning_rate(settings: TrainingSettings, step: int, n_steps: int) -> float:
    """The learning rate of a step.

    >>> one_cycle = TrainingSettings(schedule="one-cycle", learning_rate=1.0)
    >>> [round(learning_rate(one_cycle, step, 100), 3) for step in (0, 9, 55, 99)]
    [0.1, 1.0, 0.5, 0.0]
    """
    if settings.schedule == "constant":
        return settings.learning_rate
    if settings.schedule == "log":
        return float(settings.learning_rate * 10 ** (-1.5 * step / max(1, n_steps - 1)))
    warm = max(1, n_steps // 10)
    if step < warm:
        return settings.learning_rate * (step + 1) / warm
    return settings.learning_rate * (1 + math.cos(math.pi * (step - warm) / max(1, n_steps - warm))) / 2


def encode(network: nn.Module, array: Any, device: torch.device, world: World = ALONE) -> NDArray[np.float32]:
    """The outputs of a network for all rows, always in evaluation mode, whatever their number."""
    return _outputs(network, array, device, world).cpu().numpy()


def encode_side(
    towers: Towers, device: torch.device, batch: Images | Texts, *, world: World = ALONE
) -> NDArray[np.float32]:
    """The outputs of the one network that the batch is for."""
    if isinstance(batch, Images):
        return encode(towers.image, batch.regions, device, world)
    return encode(towers.text, text_inputs(batch), device, world)


def text_inputs(texts: Texts) -> NDArray[Any]:
    """What a text network is given: token ids, (n, length), or vectors, (n, d), where texts have no words."""
    if texts.features is None or texts.tokens.shape[1]:
        return texts.tokens
    vectors: NDArray[np.float32] = np.asarray(texts.features, dtype=np.float32)
    return vectors


def check_features(array: Any, *, of: str) -> None:
    """Refuse features that hold a NaN or an infinity, by row; read in blocks, since they may be a memory map."""
    for start in range(0, len(array), ENCODE_BATCH):
        block = array[start : start + ENCODE_BATCH]
        finite = block.isfinite() if isinstance(block, Tensor) else torch.from_numpy(np.isfinite(block))
        bad = torch.nonzero(~finite.flatten(1).all(1))
        if len(bad):
            raise DataError(
                f"row {start + int(bad[0])} of the {of} features holds a number that is not finite",
                next_step="prepare the features again",
            )


def on_device(array: Any, device: torch.device) -> Any:
    """The array as a tensor on the GPU when it fits there comfortably, else as it is."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        if array.size * array.dtype.itemsize < SHARE_OF_GPU * free:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)
    return array


def _batches(n: int, settings: TrainingSettings, epoch: int) -> Iterator[Tensor]:
    order = torch.from_numpy(np.random.default_rng([settings.seed, epoch]).permutation(n))
    yield from order.split(settings.batch)  # type: ignore[no-untyped-call]


def _moved(batches: Sequence[Tensor], device: torch.device) -> tuple[Tensor, ...]:
    """All of them at once: copying rows to a GPU makes the CPU wait until it has nothing left to do."""
    sizes = [len(rows) for rows in batches]
    moved: tuple[Tensor, ...] = torch.cat(list(batches)).to(device).split(sizes)  # type: ignore[no-untyped-call]
    return moved


def _begin_alike(world: World, towers: Towers, epoch: int, device: torch.device) -> None:
    """See that all processes go on from one checkpoint, with the same networks to the last digit."""
    epochs = world.gather(torch.tensor([epoch], device=device), world.size).tolist()
    if len(set(epochs)) > 1:
        raise DataError(
            f"the processes found checkpoints of different epochs ({', '.join(map(str, epochs))})",
            next_step="keep them in a folder that all machines see",
        )
    for tensor in towers.state_dict().values():
        world.share(tensor)


def _complete_gradients(world: World, towers: Towers) -> None:
    """Make the gradients those of the whole batch: of the two networks each process knows those of its part alone."""
    if world.size == 1:
        return

    def of(*networks: nn.Module) -> list[Tensor]:
        found = (parameter.grad for network in networks for parameter in network.parameters())
        return [gradient for gradient in found if gradient is not None]

    world.add_up(of(towers.image, towers.text))
    if towers.helper is not None:
        for gradient in of(towers.helper):  # whole already, but perhaps rounded differently
            world.share(gradient)


def _outputs(network: nn.Module, array: Any, device: torch.device, world: World) -> Tensor:
    network.to(device).eval()
    parts = [torch.zeros(0, device=device)]
    with torch.inference_mode(), _precision(device):
        for start in range(0, len(array), ENCODE_BATCH):
            rows = torch.arange(start, min(start + ENCODE_BATCH, len(array)))
            part = world.part(rows)
            outputs = network(_as_floats(_take(array, part, part.to(device)))).float()
            parts.append(world.gather(outputs, len(rows)))
    return torch.cat(parts[1:]) if len(parts) > 1 else parts[0]


def _take(array: Any, rows: Tensor, there: Tensor) -> Tensor:
    """Some rows on the device; `there` are the same rows, on it already."""
    if isinstance(array, Tensor):
        return array[there]
    return torch.from_numpy(np.ascontiguousarray(array[rows.numpy()])).to(there.device)


def _as_floats(batch: Tensor) -> Tensor:
    """Features in full precision; token ids stay what they are."""
    return batch.float() if batch.is_floating_point() else batch


def _precision(device: torch.device) -> Any:
    return torch.autocast("cuda", dtype=torch.bfloat16) if device.type == "cuda" else nullcontext()


def _seed(seed: int, epoch: int) -> int:
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0])
