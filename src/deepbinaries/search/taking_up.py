"""From files to codes: read, recognised by their content and made small by processes of their own, encoded here."""

import os
import threading
from collections.abc import Collection, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.features.in_order import in_order
from deepbinaries.search.catalogue import Item
from deepbinaries.search.models import LazyModel
from deepbinaries.search.walking import Seen
from deepbinaries.vision.readers import Found, Readers, Wanted

CHUNK = 16  # files that one thread takes at a time
ENOUGH = 24_000_000  # pixels that are encoded before the next picture is decoded: large ones do not pile up
MOST_WORKERS = 8

Values = NDArray[np.float32]


@dataclass(frozen=True)
class Taken:
    """What became of one file."""

    seen: Seen
    found: Found | None = None  # None where it could not be read at all
    id: str | None = None  # None where it is no picture that can be searched
    reason: str = ""  # why not
    item: Item | None = None  # what follows are None where the content was known already
    small: bytes | None = None
    values: Values | None = None  # (bits,)


def take_up(
    root: Path, files: Sequence[Seen], known: Collection[str], model: LazyModel, *, workers: int | None = None
) -> Generator[Taken, None, None]:
    """What becomes of each file, in their order. Content whose id is `known` is not decoded.

    A decoder that crashes on a hostile file takes its own process with it, and nothing else.
    """
    workers = workers or min(MOST_WORKERS, os.cpu_count() or 1)
    readers, encoding = Readers(workers), threading.Lock()

    def take(some: Sequence[Seen]) -> list[Taken]:
        return _Chunk(root, known, model, readers, encoding).take(some)

    chunks = [files[start : start + CHUNK] for start in range(0, len(files), CHUNK)]
    # Processes end before threads do: a thread may be waiting for one of them.
    with closing(in_order(take, chunks, workers=workers, ahead=workers + 1)) as taken, readers:
        for some in taken:
            yield from some


class _Chunk:
    """A few files on their way through. Pixels wait here until there are enough to be encoded together."""

    def __init__(
        self, root: Path, known: Collection[str], model: LazyModel, readers: Readers, encoding: threading.Lock
    ):
        self._root, self._known, self._model, self._readers, self._encoding = root, known, model, readers, encoding
        self._waiting: dict[int, Image.Image] = {}  # by their place
        self._taken: list[Taken] = []

    def take(self, files: Sequence[Seen]) -> list[Taken]:
        for seen in files:
            self._taken.append(self._looked_at(seen))
            if sum(picture.width * picture.height for picture in self._waiting.values()) > ENOUGH:
                self._encode()
        self._encode()
        return self._taken

    def _looked_at(self, seen: Seen) -> Taken:
        found, made = self._readers.read(self._root / seen.path, self._wanted)
        if found is None or isinstance(made, str):
            return Taken(seen, found, reason=str(made))
        if made is None:
            return Taken(seen, found, found.id)
        self._waiting[len(self._taken)] = made.seen
        item = Item(found.id, made.width, made.height, made.taken, made.look)
        return Taken(seen, found, found.id, item=item, small=made.small)

    def _wanted(self, found: Found) -> Wanted | None:
        """What the model sees of a file whose content is not known yet."""
        if found.id in self._known:
            return None
        encoder = self._model.get().encoder
        return Wanted(encoder.at_least, encoder.square)

    def _encode(self) -> None:
        if not self._waiting:
            return
        with self._encoding:
            values = self._model.get().encode_images(list(self._waiting.values()), values=True)
        for place, of_picture in zip(self._waiting, values, strict=True):
            if np.isfinite(of_picture).all():
                self._taken[place] = replace(self._taken[place], values=of_picture)
            else:
                before = self._taken[place]
                self._taken[place] = Taken(before.seen, before.found, reason="its features are not finite")
        self._waiting = {}
