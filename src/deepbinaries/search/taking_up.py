"""From files to codes: read, recognised by their content, decoded by processes of their own, encoded, made small."""

import os
import threading
from collections.abc import Collection, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.errors import PictureError
from deepbinaries.features.in_order import in_order
from deepbinaries.search.catalogue import Item
from deepbinaries.search.looks import look, thumbnail
from deepbinaries.search.models import LazyModel
from deepbinaries.search.originals import Original, date_taken, full_size, read_original
from deepbinaries.search.walking import Seen
from deepbinaries.vision.decoders import Decoders
from deepbinaries.vision.pixels import Pixels

CHUNK = 16  # files that one thread takes at a time
ENOUGH = 24_000_000  # pixels that are encoded before the next picture is decoded: large ones do not pile up
MOST_WORKERS = 8

Values = NDArray[np.float32]


@dataclass(frozen=True)
class Taken:
    """What became of one file."""

    seen: Seen
    original: Original | None = None  # without its content; None where it could not be read at all
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
    decoders, encoding = Decoders(workers), threading.Lock()

    def take(some: Sequence[Seen]) -> list[Taken]:
        return _Chunk(root, known, model, decoders, encoding).take(some)

    chunks = [files[start : start + CHUNK] for start in range(0, len(files), CHUNK)]
    # Processes end before threads do: a thread may be waiting for one of them.
    with closing(in_order(take, chunks, workers=workers, ahead=workers + 1)) as taken, decoders:
        for some in taken:
            yield from some


class _Chunk:
    """A few files on their way through. Pixels wait here until there are enough to be encoded together."""

    def __init__(
        self, root: Path, known: Collection[str], model: LazyModel, decoders: Decoders, encoding: threading.Lock
    ):
        self._root, self._known, self._model, self._decoders, self._encoding = root, known, model, decoders, encoding
        self._waiting: dict[int, Image.Image] = {}  # by their place
        self._taken: list[Taken] = []

    def take(self, files: Sequence[Seen]) -> list[Taken]:
        for seen in files:
            try:
                original = read_original(self._root / seen.path)
            except PictureError as error:
                self._taken.append(Taken(seen, reason=str(error)))
                continue
            self._taken.append(self._looked_at(seen, original))
            if sum(picture.width * picture.height for picture in self._waiting.values()) > ENOUGH:
                self._encode()
        self._encode()
        return self._taken

    def _looked_at(self, seen: Seen, original: Original) -> Taken:
        id_, without = original.id, replace(original, content=b"")
        if id_ in self._known:
            return Taken(seen, without, id_)
        model = self._model.get()
        # Every picture is called "it": equal reasons can then be counted.
        (answer,) = self._decoders.read([("it", original.content)], at_least=model.encoder.at_least)
        if isinstance(answer, str):
            return Taken(seen, without, reason=answer)
        picture = _as_picture(answer)
        self._waiting[len(self._taken)] = picture
        item = Item(id_, *full_size(original.content, picture.size), date_taken(original.content), look(picture))
        return Taken(seen, without, id_, item=item, small=thumbnail(picture))

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
                self._taken[place] = Taken(before.seen, before.original, reason="its features are not finite")
        self._waiting = {}


def _as_picture(pixels: Pixels) -> Image.Image:
    return Image.fromarray(pixels)
