"""What one worker does, in this process or in one of a cluster: pictures in, the files of a shard out."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from deepbinaries.bulk.listing import Item
from deepbinaries.bulk.shards import Shard, write_shard
from deepbinaries.codes import Codes
from deepbinaries.errors import PictureError
from deepbinaries.features.in_order import in_order
from deepbinaries.search.models import LazyModel
from deepbinaries.vision.decoders import Decoders
from deepbinaries.vision.pixels import Pixels

CHUNK = 8  # pictures that a process which decodes is given at a time
BATCH = 32  # pictures that are encoded together,
ENOUGH = 24_000_000  # or fewer, when they have so many pixels: large ones do not pile up

Decoded = Pixels | str  # or the reason why it cannot be read


@dataclass(frozen=True)
class Unit:
    """The pictures of one shard to come."""

    number: int
    items: Sequence[Item]


class Worker:
    """A model and the processes that decode for it: a picture that crashes its decoder is a failure like any other."""

    def __init__(self, model: LazyModel, folder: Path, *, decoders: int):
        self._model, self._folder = model.get(), folder
        self._n, self._decoders = decoders, Decoders(decoders)

    def encode(self, unit: Unit) -> tuple[str, dict[str, Any]]:
        """Write the shard of some pictures; its name, and what its marker has to say."""
        # Drawn for each attempt: a worker that is thought dead may go on for a while, and write beside the next one.
        name = f"{unit.number:06d}-{secrets.token_hex(4)}"
        ids: list[str] = []
        failures: dict[str, str] = {}
        parts = [np.empty((0, self._model.bits), dtype=np.float32)]
        for some in self._batches(unit.items, failures):
            values = self._model.encode_images(list(some.values()), values=True)
            finite = np.asarray(np.isfinite(values).all(axis=1))
            for id_, good in zip(some, finite, strict=True):
                if good:
                    ids.append(id_)
                else:
                    failures[id_] = "its features are not finite"
            parts.append(values[finite])
        return name, write_shard(self._folder, Shard(name, ids, Codes.from_values(np.concatenate(parts)), failures))

    def close(self) -> None:
        """End the processes that decode."""
        self._decoders.close()

    def _batches(self, items: Sequence[Item], failures: dict[str, str]) -> Iterator[dict[str, Image.Image]]:
        """Pictures by their ids, some at a time, while the next ones are decoded; failures are noted."""
        waiting: dict[str, Image.Image] = {}
        n_pixels = 0
        chunks = [items[start : start + CHUNK] for start in range(0, len(items), CHUNK)]
        with closing(in_order(self._decode, chunks, workers=self._n, ahead=self._n + BATCH // CHUNK)) as decoded:
            for chunk, answers in zip(chunks, decoded, strict=True):
                for item, answer in zip(chunk, answers, strict=True):
                    if isinstance(answer, str):
                        failures[item.id] = answer
                        continue
                    waiting[item.id] = Image.fromarray(answer)
                    n_pixels += answer.shape[0] * answer.shape[1]
                    if len(waiting) == BATCH or n_pixels > ENOUGH:
                        yield waiting
                        waiting, n_pixels = {}, 0
        if waiting:
            yield waiting

    def _decode(self, items: Sequence[Item]) -> list[Decoded]:
        found: dict[str, Decoded] = {}
        files: dict[str, bytes] = {}
        for item in items:
            try:
                files[item.id] = item.picture.read()
            except PictureError as error:
                found[item.id] = str(error)
        # Every picture is called "it": equal reasons can then be counted.
        answers = self._decoders.read([("it", file) for file in files.values()], at_least=self._model.encoder.at_least)
        found |= dict(zip(files, answers, strict=True))
        return [found[item.id] for item in items]
