"""What all shallow methods are: arrays that are learnt from the two views of pairs, then kept as files.

    class CVH(ShallowHasher): settings and presets, `learn` (its equations), `encode` (what they give for an item)

A method inherits the contract from here and nothing from another method. Nothing here needs torch.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.saving import load_learnt, save_learnt
from deepbinaries.hashers.settings import changed

Learnt = dict[str, NDArray[Any]]
Log = Callable[[dict[str, Any]], None]


class ShallowHasher(ABC):
    """A shallow method; its class says what it is, its instance what it has learnt."""

    method: ClassVar[str]  # its name in files
    kind: ClassVar[type[Any]]  # of its settings
    presets: ClassVar[Mapping[str, Any]]  # by name; the first are the default
    shapes: ClassVar[Mapping[str, tuple[Any, ...]]]  # of the arrays it learns, for `load_learnt`

    def __init__(self, settings: Any = None, *, device: str = "auto"):
        self.settings: Any = next(iter(self.presets.values())) if settings is None else settings
        self.device = device  # it runs on the CPU whatever is asked for
        self.learnt_: Learnt = {}

    @classmethod
    def vision(cls, name: str, **settings: Any) -> dict[str, Any]:  # noqa: ARG003  # as deep methods are asked
        """How it sees pictures, if not by the defaults: a method that reads no regions needs none."""
        return {"keep": 0}

    @classmethod
    def preset(cls, name: str, *, device: str = "auto", **settings: Any) -> Self:
        """The hasher of a preset, with some settings changed."""
        return cls(changed(cls.presets, name, settings), device=device)

    # What a method brings.

    @abstractmethod
    def learn(self, pairs: Pairs, log: Log) -> Learnt:
        """The arrays that the pairs teach; `log` is told the figures of each epoch, most often the only one."""

    @abstractmethod
    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The values of pictures or sentences, (n, bits)."""

    # What it gets.

    @property
    def bits(self) -> int:
        """How many values an item has."""
        bits: int = self.settings.bits
        return bits

    def fit(
        self,
        pairs: Pairs,
        *,
        validation: Pairs | None = None,  # noqa: ARG002 - there is nothing to stop early
        checkpoints: Path | None = None,  # noqa: ARG002 - it is soon done again
        log: Log = lambda _: None,
    ) -> Self:
        """Learn from the pairs; `log` is told of each epoch, with its number and the seconds since the beginning."""
        began, epochs = time.monotonic(), count(1)

        def tell(figures: dict[str, Any]) -> None:
            log({"epoch": next(epochs)} | figures | {"seconds": round(time.monotonic() - began, 3)})

        self.learnt_ = self.learn(pairs, tell)
        return self

    def save(self, folder: str | Path) -> None:
        """Write `hasher.safetensors` and `hasher.json`."""
        save_learnt(folder, self.method, self.settings, self.learnt_)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """Read what `save` wrote; anything else is refused."""
        settings, learnt = load_learnt(folder, cls.method, cls.kind, cls.shapes)
        hasher = cls(settings, device=device)
        hasher.learnt_ = learnt
        return hasher
