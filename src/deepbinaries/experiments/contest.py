"""What a comparison is made of: methods with their settings, and the one task that all of them are given."""

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from deepbinaries.codes import Codes
from deepbinaries.datasets import Dataset, Parts, digest
from deepbinaries.errors import UsageError
from deepbinaries.evaluation import Rules
from deepbinaries.experiments.machines import machine
from deepbinaries.experiments.measuring import measured
from deepbinaries.experiments.scores import Source, on_stderr
from deepbinaries.registry import METHODS

Settings = Mapping[str, Any]
Tell = Callable[[str], None]
Searching = Callable[[Codes, Codes], Settings]  # what it costs to search a gallery (the latter) for queries


@dataclass(frozen=True)
class Contestant:
    """A method, the lengths at which it takes part, and its settings."""

    method: str  # a registered name, or my.module:Class
    bits: tuple[int, ...]
    settings: Settings = field(default_factory=dict)  # beside the preset's
    grid: Sequence[Settings] = ()  # combinations of more settings, to be chosen from on the validation part

    def make(self, bits: int, seed: int, *, device: str, chosen: Settings | None = None) -> Any:
        """The hasher, which has learnt nothing yet; a method that draws nothing has no seed to be given."""
        settings = dict(self.settings) | dict(chosen or {}) | {"bits": bits}
        hasher = self._preset(device, settings)
        if not hasattr(hasher.settings, "seed"):
            return hasher
        return self._preset(device, settings | {"seed": seed})

    def _preset(self, device: str, settings: Settings) -> Any:
        preset = METHODS.load(self.method).preset
        try:
            return preset(self.method, device=device, **settings)
        except TypeError as error:
            if ":" not in self.method:
                raise
            raise UsageError(
                f"the method {self.method!r} cannot be made ({error})",
                next_step="its preset must take a name, device and settings: see docs/methods.md",
            ) from error


@dataclass(frozen=True)
class Task:
    """What all methods are given, how they are judged, and where results are kept."""

    dataset: Dataset
    parts: Parts
    source: Callable[[bool], Source]  # True: nothing in it was learnt from the validation part
    folder: Path
    seeds: tuple[int, ...] = (0,)
    galleries: tuple[str, ...] = ("database", "clean")
    unified: bool = False  # whether methods with codes of both views are also judged by those
    rules: Rules = field(default_factory=Rules)
    tuned_at: int | None = None  # the length at which settings are chosen for all lengths; None: each for itself
    device: str = "auto"
    experiment: str = "compare"
    rule: str = "all"  # a short name for what counts as relevant
    proposer: str = "none"
    inputs: Settings = field(default_factory=dict)  # how sentences are read; kept with the settings of every method
    command: str = "deepbinaries compare"  # all of it that does not depend on the method
    digests: Settings = field(default_factory=dict)  # of what is not the dataset or the split
    curves: bool = False  # whether precision and recall are kept with each result
    searching: Searching | None = None  # kept with each result, where it is asked for
    jobs: int = 1  # processes that share the trainings
    tell: Tell = on_stderr

    def kept_settings(self, hasher: Any) -> dict[str, Any]:
        """The settings that make a result this one, as JSON has them; length and seed stand beside them."""
        settings = asdict(hasher.settings) | dict(self.inputs)
        settings = {name: value for name, value in settings.items() if name not in ("bits", "seed")}
        plain: dict[str, Any] = json.loads(json.dumps(settings))
        return plain

    @property
    def machine(self) -> dict[str, Any]:
        """On what results are made; kept with each, since its seconds are those of this machine."""
        return machine(self.device) | {"jobs": self.jobs}

    @property
    def counts_on(self) -> str | None:
        """The GPU that compares codes, where there is one; None: the processor's own kernel, with the same result."""
        if machine(self.device)["device"] == "cpu":
            return None
        return "cuda" if self.device == "auto" else self.device

    @cached_property
    def all_digests(self) -> dict[str, Any]:
        """What data a result belongs to."""
        about: dict[str, Any] = {"dataset": {"name": self.dataset.name, "digest": digest(self.dataset)}}
        about |= {"split": self.parts.split.digests(), "ignored": list(self.parts.ignored)}
        return about | dict(self.digests)


def learn(hasher: Any, source: Source, *, held_out: bool, tell: Tell) -> dict[str, float]:
    """Fit a hasher on the training part; what it took: seconds, memory, and the epochs where there are any.

    The validation part is not learnt from when it is `held_out`, or when the method stops by it.
    """
    parts, patient = source.parts, getattr(hasher.settings, "patience", None) is not None
    rows, validation = source.readable(parts.train), source.readable(parts.validation)
    if held_out or patient:
        check_validation(validation, wanted_by="--tune" if held_out else "patience")
        rows = np.setdiff1d(rows, validation)
    if not len(rows):
        raise UsageError("this split has no training part to learn from", next_step="give another split")
    pairs, more, entries = source.pairs(rows), dict[str, Any](), list[dict[str, Any]]()
    if patient:
        more["validation"] = source.pairs(validation)
    if "log" in inspect.signature(hasher.fit).parameters:  # one's own method need not have a log
        more["log"] = entries.append
    with measured() as taken:
        hasher.fit(pairs, **more)
    if entries and "loss" in entries[-1]:
        taken |= {"epochs": len(entries), "loss": entries[-1]["loss"]}
    if entries and "warning" in entries[-1]:
        tell(f"warning: {entries[-1]['warning']}")
    return taken


def check_validation(rows: Sized, *, wanted_by: str) -> None:
    """Refuse a split without items to validate by."""
    if not len(rows):
        raise UsageError(
            f"{wanted_by} needs a validation part, which this split lacks", next_step=f"leave {wanted_by} out"
        )


def short_digest(facts: Any) -> str:
    """A name for facts, the same for the same ones.

    >>> short_digest({"a": 1, "b": 2}) == short_digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
