"""The photographs of an index, as the server shows them: found, looked at, added and removed."""

import io
import itertools
import os
import threading
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image

from deepbinaries.errors import CorruptIndexError, DataError, Error, PictureError
from deepbinaries.index import EmbeddedIndex
from deepbinaries.index.durable import own_errors, sync_folder, write_durably
from deepbinaries.search import Answer, Collection, LazyModel, Part
from deepbinaries.search.catalogue import PICTURES
from deepbinaries.search.layout import has_answers, read_layout
from deepbinaries.search.looks import ALIKE
from deepbinaries.search.models import maker
from deepbinaries.search.skipped import shown
from deepbinaries.vision.decoders import Decoders
from deepbinaries.vision.originals import content_id, read_original
from deepbinaries.web.asking import Page
from deepbinaries.web.code_search import warm_up
from deepbinaries.web.indexing import Indexing
from deepbinaries.web.refusals import RefusedError, not_indexed_yet
from deepbinaries.web.settings import DECODER_MEMORY, DECODER_SECONDS

UPLOADS = "uploads"  # the folder of added pictures, among the photographs; nothing else of theirs is ever changed
LARGEST_SIDE = 2048  # pixels of a picture that is sent to a browser in another format than its own
SECONDS_TO_INDEX = 120.0  # for which an added picture waits
MOST_REGIONS = 500  # pictures whose regions are remembered

# What browsers show, by how their files begin; all else is saved anew for them.
SHOWN_BY_BROWSERS = (
    (b"\xff\xd8\xff", "image/jpeg", "jpg"),
    (b"\x89PNG\r\n\x1a\n", "image/png", "png"),
    (b"GIF8", "image/gif", "gif"),
    (b"RIFF", "image/webp", "webp"),
)
OTHER_ENDINGS = ((b"II*\0", "tif"), (b"MM\0*", "tif"), (b"BM", "bmp"))


class Photographs:
    """A collection that follows its index: also to another model, and from before there is any."""

    def __init__(self, place: Path, *, model: LazyModel | None = None, indexing: Indexing | None = None):
        self.place, self.indexing = place, indexing
        self._given, self._model, self._made_by = model, model, ""
        self._opening = threading.Lock()
        self._collection: Collection | None = None
        self._codes: EmbeddedIndex | None = None
        self._retired: list[Collection | EmbeddedIndex] = []  # what answered before: some may still read it
        self._regions: dict[str, dict[str, Any]] = {}
        self._decoders = Decoders(1, memory=DECODER_MEMORY, seconds=DECODER_SECONDS)

    def close(self) -> None:
        """Let go of everything."""
        self._decoders.close()
        for _ in range(2):  # what answers, and what did before
            self._retire()

    # Finding

    def search(self, parts: Sequence[Part], page: Page) -> Answer:
        """What a query finds."""
        codes = self.codes()
        for part in parts:
            if part.kind == "id" and str(part.what) not in codes:
                raise absent(str(part.what))
        return self.collection().search(
            parts,
            k=page.k,
            offset=page.offset,
            where=page.where,
            sort=page.sort,  # type: ignore[arg-type]  # checked by `asking`
            least=page.least,  # type: ignore[arg-type]
            alike=None if page.unfold else ALIKE,
            kind=page.kind,  # type: ignore[arg-type]
        )

    def collection(self) -> Collection:
        """The collection as it is now, with the model that its codes were made by."""
        return self._opened()[0]

    def codes(self) -> EmbeddedIndex:
        """The codes of the pictures."""
        return self._opened()[1]

    def warm_up(self) -> None:
        """Open everything that a first search would have to wait for."""
        self._by().get()
        warm_up(self.codes())

    def _opened(self) -> tuple[Collection, EmbeddedIndex]:
        with self._opening:
            if self._collection is None or self._collection.made_by["model"] != self._made_by:
                self._open()
            assert self._collection is not None and self._codes is not None  # noqa: S101, PT018 - `_open` has set them
            return self._collection, self._codes

    def _open(self) -> None:
        """Open the index with the model that it was made by, which need not be the one that it will be made by."""
        if self.indexing is not None and self.indexing.running and not has_answers(self.place):
            raise not_indexed_yet()
        with Collection(self.place) as found:
            folder, made_by = found.folder, found.made_by
        is_given = self._given is not None and self._given.fingerprint == made_by["model"]
        model = self._given if is_given else maker(made_by, folder)
        collection = Collection(self.place, model=model)
        try:
            codes = EmbeddedIndex(read_layout(folder).home / PICTURES)
        except BaseException:
            collection.close()
            raise
        self._retire()
        self._collection, self._codes, self._model = collection, codes, model
        self._made_by, self._regions = made_by["model"], {}

    def _retire(self) -> None:
        """Close what answered before, and let that which answers become it."""
        while self._retired:
            self._retired.pop().close()
        self._retired = [opened for opened in (self._collection, self._codes) if opened is not None]
        self._collection = self._codes = None

    def _by(self) -> LazyModel:
        self._opened()
        assert self._model is not None  # noqa: S101 - opening has set it
        return self._model

    # Looking

    def sample(self, n: int) -> list[str]:
        """The ids of a few pictures. Ids are digests, so the first ones are drawn by chance."""
        return list(itertools.islice(self.codes().ids(), n))

    def item(self, id_: str) -> dict[str, Any]:
        """All that is known of a picture."""
        self._refuse_absent(id_)
        item = self.collection().item(id_)
        return {**vars(item), "paths": [shown(path) for path in item.paths]}

    def thumbnail(self, id_: str) -> bytes:
        """A small copy of a picture, a WebP file."""
        self._refuse_absent(id_)
        return self.collection().thumbnail(id_)

    def picture(self, id_: str) -> tuple[bytes, str]:
        """A picture for a browser, and its type: its own file where browsers show such, else saved anew."""
        content = self._original(id_)
        for begin, kind, _ in SHOWN_BY_BROWSERS:
            if content.startswith(begin):
                return content, kind
        picture = self.decoded(content)
        picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
        file = io.BytesIO()
        picture.save(file, "WEBP", quality=85)
        return file.getvalue(), "image/webp"

    def regions(self, id_: str) -> dict[str, Any]:
        """Where the model looks at a picture: boxes in shares of it, the most attractive first, the whole one last."""
        if id_ not in self._regions:
            content = self._original(id_)
            found = self._by().get().encoder.regions(self.decoded(content))
            if len(self._regions) >= MOST_REGIONS:
                self._regions.clear()
            self._regions[id_] = {
                "proposer": found.proposer,
                "regions": [
                    {"box": np.round(box, 4).tolist(), "attraction": round(float(attraction), 4)}
                    for box, attraction in zip(found.boxes.astype(float), found.attraction, strict=True)
                ],
            }
        return self._regions[id_]

    def decoded(self, content: bytes) -> Image.Image:
        """A picture that was sent or stored, decoded by a process with limits."""
        at_least = self._by().get().encoder.at_least
        (answer,) = self._decoders.read([("the picture", content)], at_least=at_least)
        if isinstance(answer, str):
            problem, _, next_step = answer.partition("; ")
            raise PictureError(problem, next_step=next_step or "send another one")
        return Image.fromarray(answer)

    def _original(self, id_: str) -> bytes:
        """The file of a picture. Whatever has become of its path, no other content is ever given out."""
        self._refuse_absent(id_)
        try:
            content = read_original(self.collection().file(id_)).content
        except CorruptIndexError:
            raise
        except DataError:
            content = b""
        if content_id(content) != id_:
            raise RefusedError(
                404, "the file of this picture is gone or was changed", next_step="index the photographs again"
            )
        return content

    def _refuse_absent(self, id_: str) -> None:
        if id_ not in self.codes():
            raise absent(id_)

    # Changing

    def add(self, content: bytes) -> str:
        """Put a picture among the photographs and index it; its id, once it can be found and is safe on the disk."""
        indexing = self._may_change()
        id_ = content_id(content)
        self.decoded(content)
        if self._is_stored(id_):
            return id_
        folder = self.collection().photographs / UPLOADS
        with own_errors(folder):
            folder.mkdir(exist_ok=True)
            write_durably(folder / f"{id_}.{ending(content)}", [content])
            for changed in (folder, folder.parent):  # a file of a folder whose name is lost is lost as well
                sync_folder(changed)
        self._index(indexing)
        if id_ not in self.codes():
            raise Error("the picture was stored and could not be indexed", next_step="see deepbinaries status")
        return id_

    def remove(self, id_: str) -> None:
        """Remove a picture that was added; photographs that lie elsewhere are only read."""
        indexing = self._may_change()
        self._refuse_absent(id_)
        root, paths = self.collection().photographs, self.collection().item(id_).paths
        for path in paths:
            if not _was_added(root / path, PurePosixPath(path), id_):
                raise RefusedError(
                    409, "this picture lies among the photographs, which are only read", next_step="move its file away"
                )
        with own_errors(root):
            for path in paths:
                (root / path).unlink(missing_ok=True)
            sync_folder(root / UPLOADS)
        self._index(indexing)

    def _is_stored(self, id_: str) -> bool:
        """Whether a picture is known and its file still holds it."""
        try:
            return bool(self._original(id_))
        except RefusedError:
            return False

    def _may_change(self) -> Indexing:
        if self.indexing is None:
            raise RefusedError(
                409, "this server only reads its index", next_step="start it with the photographs' folder"
            )
        return self.indexing

    def _index(self, indexing: Indexing) -> None:
        if problem := indexing.run_now(SECONDS_TO_INDEX):
            raise RefusedError(503, f"stored, and not indexed yet: {problem}", next_step="look again later")


def _was_added(file: Path, path: PurePosixPath, id_: str) -> bool:
    """Whether a file was made by adding a picture: called by its content, which it still has, or gone already."""
    if path.parent != PurePosixPath(UPLOADS) or path.stem != id_:
        return False
    try:
        content = read_original(file).content
    except DataError:
        return not os.path.lexists(file)
    return content_id(content) == id_ and path.suffix == f".{ending(content)}"


def absent(id_: str) -> RefusedError:
    """The answer for an id that is not in the index."""
    return RefusedError(404, f"there is no item {id_[:40]!r}", next_step="search again: it may have been removed")


def ending(content: bytes) -> str:
    """The ending of a file's name, from what is in it: nobody else's word is taken for it.

    >>> ending(b"\\xff\\xd8\\xff\\xe0")
    'jpg'
    """
    known = [(begin, suffix) for begin, _, suffix in SHOWN_BY_BROWSERS] + list(OTHER_ENDINGS)
    of_box = "avif" if content[4:8] == b"ftyp" and b"avi" in content[8:32] else "heic"
    return next((suffix for begin, suffix in known if content.startswith(begin)), of_box)
