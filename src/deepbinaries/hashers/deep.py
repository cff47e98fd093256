"""What all deep methods are: two networks, trained by the shared loop for an objective, then kept as files.

    class DCMH(DeepHasher): settings and presets, `build` (its networks), `objective` (what it wants of them)

A method inherits the contract from here and nothing from another method. What its networks are given is said by
`Inputs`; a third network that only training needs is a tower's `helper` and is not kept.
"""

import dataclasses
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.files import read_bytes, read_json, write_json, written_whole
from deepbinaries.hashers.heads import NetworkSettings
from deepbinaries.hashers.settings import changed, check_types
from deepbinaries.hashers.training import (
    Objective,
    Towers,
    TrainingSettings,
    check_features,
    choose_device,
    encode,
    text_inputs,
    train,
)

VERSION = 1
MAX_BYTES = 4 * 2**30


@dataclass(frozen=True)
class DeepSettings(TrainingSettings, NetworkSettings):
    """How networks are built and trained; a method adds its own lines."""

    def __post_init__(self) -> None:
        check_types(type(self), vars(self))
        TrainingSettings.__post_init__(self)
        NetworkSettings.__post_init__(self)


@dataclass(frozen=True)
class Inputs:
    """What networks are built for."""

    width: int  # features of a region, its position not counted
    n_words: int  # of the vocabulary; 0 where texts are vectors
    text_width: int = 0  # of a text's vector; 0 where texts are words

    @classmethod
    def of(cls, images: Images, texts: Texts) -> "Inputs":
        if texts.tokens.shape[1]:
            return cls(images.width, texts.n_words)
        return cls(images.width, 0, text_inputs(texts).shape[1])


class DeepHasher(ABC):
    """A deep method; its class says what it is, its instance what it has learnt."""

    method: ClassVar[str]  # its name in files
    kind: ClassVar[type[DeepSettings]]  # of its settings
    presets: ClassVar[Mapping[str, Any]]
    to_the_letter: ClassVar[Collection[str]] = ()  # presets that promise their paper's settings on data of any size

    def __init__(self, settings: Any = None, *, device: str = "auto"):
        self.settings: Any = next(iter(self.presets.values())) if settings is None else settings
        self.device = device
        self.towers_: Towers | None = None
        self.inputs_ = Inputs(0, 0)

    @classmethod
    def preset(cls, name: str, *, device: str = "auto", **settings: Any) -> Self:
        """The hasher of a preset, with some settings changed."""
        return cls(changed(cls.presets, name, settings), device=device)

    # What a method brings.

    @classmethod
    def vision(cls, name: str, **settings: Any) -> dict[str, Any]:  # noqa: ARG003  # TVDB's depends on them
        """How it sees pictures, if not by the defaults; a method that reads no regions needs none."""
        return {"keep": 0}

    @abstractmethod
    def build(self, inputs: Inputs) -> Towers:
        """The untrained networks."""

    @abstractmethod
    def objective(self, pairs: Pairs, towers: Towers, device: torch.device) -> Objective:
        """What is wanted of their outputs for these pairs."""

    def optimiser(self, towers: Towers, device: torch.device) -> torch.optim.Optimizer:
        """What takes the steps; Adam unless a method has another."""
        return torch.optim.AdamW(
            towers.parameters(),
            lr=self.settings.learning_rate,
            weight_decay=self.settings.weight_decay,
            fused=device.type == "cuda",  # one kernel instead of many
        )

    def read(self, texts: Texts) -> Texts:
        """Texts as the text network takes them."""
        return texts

    def check_regions(self, n_regions: int) -> None:  # noqa: B027  # most can
        """Refuse pictures of so many regions, the whole one not counted, where the method cannot work with them."""

    # What it gets.

    @property
    def bits(self) -> int:
        bits: int = self.settings.bits
        return bits

    def check_labels(self, labels: Labels) -> None:
        """Refuse labels that tell no pair from another."""
        counts = labels.counts()
        if len(labels) < 2 or int((counts > 0).sum()) < 2:
            raise DataError(
                f"there is nothing to learn (pairs: {len(labels)}, labels: {int((counts > 0).sum())})",
                next_step="give pairs that carry at least two labels",
            )
        if labels.all_share():
            everywhere = [name for name, count in zip(labels.names, counts, strict=True) if count == len(labels)]
            named = f" ({everywhere[0]!r} is everywhere)" if everywhere else ""
            raise DataError(
                f"each of the {len(labels)} pairs shares a label with each{named}, so that they teach nothing",
                next_step="leave out labels that nearly all items carry (--ignore-label)",
            )

    def fit(
        self,
        pairs: Pairs,
        *,
        validation: Pairs | None = None,
        checkpoints: Path | None = None,
        log: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> Self:
        """Learn both networks from the pairs; `validation` pairs are scored after every epoch and never learnt from."""
        self.check_labels(pairs.labels)
        self.check_regions(pairs.images.n_regions)
        if self.settings.patience is not None and not validation:
            raise UsageError(
                "patience needs validation pairs", next_step="give fit(pairs, validation=...), or leave patience out"
            )
        pairs = dataclasses.replace(pairs, texts=self.read(pairs.texts))
        if validation is not None:
            validation = dataclasses.replace(validation, texts=self.read(validation.texts))
        device = choose_device(self.device)
        torch.manual_seed(self.settings.seed)
        self.inputs_ = Inputs.of(pairs.images, pairs.texts)
        if validation is not None:
            check_width(validation.images, self.inputs_)
            check_texts(validation.texts, self.inputs_)
        towers = self.towers_ = self.build(self.inputs_).to(device)
        objective = self.objective(pairs, towers, device)
        train(
            towers,
            objective,
            pairs,
            self.settings,
            device=device,
            optimiser=self.optimiser(towers, device),
            validation=validation,
            checkpoints=checkpoints,
            log=log,
        )
        towers.helper = None
        return self

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The networks' outputs, (n, bits); the signs are the codes."""
        towers, device = self._trained(), choose_device(self.device)
        if isinstance(batch, Images):
            check_width(batch, self.inputs_)
            self.check_regions(batch.n_regions)
            inputs, of = batch.regions, "picture"
            values = encode(towers.image, inputs, device)
        else:
            texts = self.read(batch)
            check_texts(texts, self.inputs_)
            inputs, of = text_inputs(texts), "text"
            values = encode(towers.text, inputs, device)
        if not np.isfinite(values).all():  # what comes in is looked at only then: it may be far larger, and on disk
            check_features(inputs, of=of)
        return values.reshape(len(batch), self.bits)

    def save(self, folder: str | Path) -> None:
        """Write `hasher.safetensors` and `hasher.json`, which holds settings and the digest of the former."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        tensors = self._trained().state_dict()
        content = save_tensors({name: tensor.cpu().contiguous() for name, tensor in tensors.items()})
        with written_whole(folder / "hasher.safetensors") as file:
            file.write(content)
        facts = {"format": f"deepbinaries-{self.method}", "version": VERSION, **dataclasses.asdict(self.inputs_)}
        facts |= {"settings": dataclasses.asdict(self.settings), "sha256": hashlib.sha256(content).hexdigest()}
        write_json(facts, folder / "hasher.json", indent=1)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """Read what `save` wrote; anything else is refused."""
        folder = Path(folder)
        facts = read_json(folder / "hasher.json")
        content = read_bytes(folder / "hasher.safetensors", limit=MAX_BYTES)
        wanted = f"deepbinaries-{cls.method}", VERSION
        try:
            if (facts["format"], facts["version"]) != wanted:
                raise ValueError(f"{facts['format']} version {facts['version']} is not {wanted[0]} version {VERSION}")
            if facts["sha256"] != hashlib.sha256(content).hexdigest():
                raise ValueError("the digest of hasher.safetensors is another one")
            lists = {name: tuple(value) for name, value in facts["settings"].items() if isinstance(value, list)}
            hasher = cls(cls.kind(**(facts["settings"] | lists)), device=device)
            sizes = (int(facts.get(field.name, 0)) for field in dataclasses.fields(Inputs))
            hasher.inputs_ = Inputs(*sizes)
            towers = hasher.build(hasher.inputs_)
            towers.helper = None
            towers.load_state_dict(load_tensors(content))
        except (AttributeError, KeyError, TypeError, ValueError, RuntimeError, UsageError, SafetensorError) as error:
            name = cls.method.upper()
            raise DataError(f"{folder} holds no whole {name} ({error})", next_step="copy or train it again") from error
        hasher.towers_ = towers
        return hasher

    def _trained(self) -> Towers:
        if self.towers_ is None:
            name = self.method.upper()
            raise UsageError(f"this {name} has learnt nothing yet", next_step="call fit, or load a trained one")
        return self.towers_


def check_width(images: Images, inputs: Inputs) -> None:
    """Refuse pictures that another backbone has seen."""
    if images.width != inputs.width:
        raise DataError(
            f"these pictures have {images.width} features a region, the model was trained on {inputs.width}",
            next_step="prepare them with the model's own backbone",
        )


def check_texts(texts: Texts, inputs: Inputs) -> None:
    """Refuse texts of another vocabulary, or of other vectors."""
    if inputs.text_width:
        found = text_inputs(texts).shape[1]
        if found != inputs.text_width:
            raise DataError(
                f"these texts have {found} features, the model was trained on {inputs.text_width}",
                next_step="give the features that the model was trained on",
            )
    elif texts.tokens.size and int(texts.tokens.max()) >= inputs.n_words:
        raise DataError(
            f"a token id is {int(texts.tokens.max())}, the model knows {inputs.n_words} words",
            next_step="encode sentences with the model's own vocabulary",
        )
