"""`Collection`: photographs that can be searched. Model, index and catalogue behind a few calls."""

import textwrap
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes
from deepbinaries.errors import DataError, Error, UsageError, unknown_name
from deepbinaries.index.durable import corrupt
from deepbinaries.language import Reading
from deepbinaries.language.rewording import reworded
from deepbinaries.search.answers import Answer, Photograph, nothing
from deepbinaries.search.catalogue import PICTURES, SENTENCES, File
from deepbinaries.search.describing import MissingRowsError
from deepbinaries.search.filters import Filter
from deepbinaries.search.finding import find
from deepbinaries.search.generation import Generation
from deepbinaries.search.layout import CONFIG, Layout, find_folder, read_layout
from deepbinaries.search.looks import ALIKE
from deepbinaries.search.models import LazyModel, maker
from deepbinaries.search.pages import Page, Sort
from deepbinaries.search.queries import (
    Part,
    Unknown,
    combine,
    first_of,
    is_understood,
    unknown_words,
    unread_emoji,
    unspoken_words,
)
from deepbinaries.search.relevance import STRENGTHS, Null, Strength, estimate, limit_by_words

if TYPE_CHECKING:
    from deepbinaries.model import Picture

Kind = Literal["pictures", "sentences"]
MOST_HITS = 10_000  # on one page
MOST_QUOTED = 80  # characters of a sentence in a note
_ATTEMPTS = 5  # of an answer, while a run removes what was just found


@dataclass(frozen=True)
class _Query:
    """What is to be searched for; no values where no word was understood."""

    values: NDArray[np.float32] | None
    by_picture: bool
    unknown: tuple[Unknown, ...] = ()
    notes: tuple[str, ...] = ()
    itself: tuple[str, ...] = ()  # known items among the parts, which are not to be found
    at_best: Strength = "strong"  # what it finds is of no greater strength
    readings: tuple[Reading, ...] = ()  # of its sentences


class Collection:
    """The photographs of an index. It follows the index as it changes; several threads may ask at once."""

    def __init__(self, where: str | Path | None = None, *, model: LazyModel | None = None):
        """Open the index in a folder, or in `.deepbinaries` inside it; without a folder, in the current one or above.

        Without a `model`, the one that the index was made by is taken from where it was then.
        """
        self.folder = find_folder(Path(where) if where is not None else None)
        self._given_model, self._models = model, dict[str, LazyModel]()
        self._lock, self._stamp = threading.Lock(), (0, 0)
        self._layout: Layout
        self._generation: Generation | None = None
        self._retired: list[Generation] = []  # the last one that answered before: some may still read it
        self._null: tuple[int, Null] | None = None
        self._current()

    def by_text(self, sentence: str, **options: Any) -> Answer:
        """The pictures that a sentence finds; options as for `search`."""
        return self.search([Part("text", sentence)], **options)

    def by_image(self, picture: "Picture", **options: Any) -> Answer:
        """The pictures that look like a picture: a path, a file's content, or one that is open already."""
        return self.search([Part("picture", picture)], **options)

    def by_id(self, id_: str, **options: Any) -> Answer:
        """More like a picture of this collection, which is itself not among the hits."""
        return self.search([Part("id", id_)], **options)

    def search(
        self,
        parts: Sequence[Part],
        *,
        k: int = 20,
        offset: int = 0,
        where: Filter | None = None,
        sort: Sort = "relevance",
        least: Strength = "weak",
        alike: int | None = ALIKE,
        kind: Kind = "pictures",
    ) -> Answer:
        """The k hits after the first `offset` that are at least so strong, by relevance or by date.

        `alike` folds look-alikes, of which 64 bits differ in no more than these; None folds nothing. `kind` says
        whether pictures are looked for or the sentences beside them.
        """
        if not 1 <= k <= MOST_HITS or offset < 0:
            raise UsageError(f"k={k} from {offset} on is no page", next_step=f"give k from 1 to {MOST_HITS:,}")
        if not any(part.weight > 0 for part in parts):
            what = "only what is to be left out is said" if parts else "nothing is asked for"
            raise UsageError(what, next_step='add what you look for in front, such as "a dog" - "a boat"')
        if kind not in (PICTURES, SENTENCES):
            raise unknown_name("kind of item", kind, (PICTURES, SENTENCES))
        page = Page(k, offset, where or Filter(), sort, least, alike, kind)
        for attempt in range(_ATTEMPTS):
            generation = self._current()
            version = 0
            try:
                version = generation.indexes[kind].version
                query = self._query(parts, generation)
                if query.values is None:
                    return nothing(query.unknown, query.notes, offset)
                null = self._null_of(generation)
                found = find(
                    generation,
                    query.values,
                    page,
                    null,
                    by_picture=query.by_picture,
                    without=query.itself,
                    at_best=query.at_best,
                )
                notes = query.notes
                if found.verdict == "none" and query.readings:  # perhaps for a word that says little to the model
                    vocabulary = self._model(generation).get().vocabulary
                    notes += tuple(note for one in query.readings for note in unspoken_words(one, vocabulary))
                return replace(found, unknown=query.unknown, notes=notes)
            except MissingRowsError as error:
                if attempt == _ATTEMPTS - 1:
                    raise corrupt(generation.home, f"its catalogue does not know {error}") from error
            except Error:
                # A run may have removed what was found, or switched to another generation: then ask again.
                if attempt == _ATTEMPTS - 1 or not (self._changed() or generation.indexes[kind].version != version):
                    raise
        raise Error(f"{self.folder} changes too fast to be read", next_step="try again")

    def item(self, id_: str) -> Photograph:
        """All that is known of a picture; refused where there is none of this id."""
        catalogue = self._current().catalogue
        item, files = catalogue.items_of([id_]).get(id_), catalogue.files_of([id_]).get(id_, [])
        if item is None or not files:
            raise _absent(id_)
        return Photograph(
            id=id_,
            paths=tuple(file.path for file in files),
            date=item.taken or files[0].date,
            date_from="camera" if item.taken else "file",
            width=item.width,
            height=item.height,
            n_bytes=files[0].size,
            captions=tuple(dict.fromkeys(text for file in files for text in file.said)),
        )

    def thumbnail(self, id_: str) -> bytes:
        """A small copy of a picture, a WebP file."""
        small = self._current().catalogue.thumbnail(id_)
        if small is None:
            raise _absent(id_)
        return small

    def file(self, id_: str) -> Path:
        """A file that holds a picture, as it was when it was indexed; no other is ever given out."""
        for known in self._current().catalogue.files_of([id_]).get(id_, []):
            path = self.photographs / known.path
            if path.resolve().is_relative_to(self.photographs.resolve()) and _is_same(path, known):
                return path
        raise DataError(f"the file of {id_} is gone or was changed", next_step="run deepbinaries index again")

    @property
    def photographs(self) -> Path:
        """The folder of the photographs."""
        self._current()
        return self._layout.photographs

    @property
    def made_by(self) -> dict[str, Any]:
        """The model that the answering generation was made by: its digest, folder, method and bits."""
        return dict(self._current().facts)

    def status(self) -> dict[str, Any]:
        """How many files, pictures, sentences and failures there are, when the last run finished, and the model."""
        generation = self._current()
        catalogue = generation.catalogue
        return {
            "index": str(self.folder),
            "photographs": str(self.photographs),
            **catalogue.counts(),
            "bits": generation.bits,
            "n_bytes": _bytes_in(self.folder),
            "finished": catalogue.fact("finished"),
            "model": generation.facts["model"],
            "model_folder": generation.facts.get("folder"),
        }

    def failures(self) -> list[File]:
        """The files that could not be read, with the reasons."""
        return [file for file in self._current().catalogue.files() if file.id is None]

    def close(self) -> None:
        """Let go of the index."""
        with self._lock:
            self._retire()
            while self._retired:
                self._retired.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _current(self) -> Generation:
        """The generation that answers now."""
        with self._lock:
            if self._generation is None or self._changed():
                stamp = self._look()
                self._layout = read_layout(self.folder)
                if self._generation is None or self._is_over(self._generation):
                    self._retire()
                    self._generation, self._null = Generation(self._layout.home), None
                self._stamp = stamp
            return self._generation

    def _is_over(self, generation: Generation) -> bool:
        return generation.home != self._layout.home or generation.is_replaced()

    def _retire(self) -> None:
        """Let the generation that answers become the last one, and close the one before it."""
        if self._generation is not None:
            while self._retired:
                self._retired.pop().close()
            self._retired.append(self._generation)
            self._generation = None

    def _look(self) -> tuple[int, int]:
        try:
            status = (self.folder / CONFIG).stat()
        except OSError:
            return (0, 0)  # reading it says what is wrong
        return status.st_ino, status.st_mtime_ns

    def _changed(self) -> bool:
        generation = self._generation
        return self._look() != self._stamp or (generation is not None and generation.is_replaced())

    def _model(self, generation: Generation) -> LazyModel:
        """The model that made a generation: the given one, if it is that."""
        made_by = generation.facts["model"]
        if made_by not in self._models:
            model = self._given_model or maker(generation.facts, self.folder)
            if self._given_model and model.bits != generation.bits and model.fingerprint != made_by:
                model = _of_length(model, generation.bits)
            if model.fingerprint != made_by:
                raise DataError(
                    f"this index was made by another model (digest {made_by[:12]}...) than the one in {model.folder} "
                    f"({model.fingerprint[:12]}...)",
                    next_step="give that one, or run deepbinaries index with the new one: the old index answers "
                    "until the new one is whole",
                )
            self._models[made_by] = model
        return self._models[made_by]

    def _query(self, parts: Sequence[Part], generation: Generation) -> _Query:
        values, weights, unknown, notes, itself, readings = [], [], [], [], [], []
        at_best: Strength = "strong"
        for part in parts:
            if part.kind == "id":
                values.append(_code_of(str(part.what), generation).to_signs()[0])
                itself.append(str(part.what))
            else:
                model = self._model(generation).get()
                if part.kind == "picture":
                    values.append(model.encode_images(part.what, values=True)[0])
                else:
                    sentence = reworded(str(part.what), model.vocabulary)
                    if sentence != part.what:
                        notes.append(f"read as {_quoted(sentence)}")
                    reading = model.reading(sentence)
                    unknown += [*unknown_words(reading, model.vocabulary), *unread_emoji(sentence, reading)]
                    if reading.cut:
                        notes.append(f"past the model's length and left out: {first_of(reading.cut)}")
                    if not is_understood(reading):
                        little = " but little ones" * reading.understood
                        notes.append(f"no word of {_quoted(sentence)} is known{little}")
                        continue
                    limit = limit_by_words(reading)
                    if limit.why:
                        notes.append(limit.why)
                    at_best = max(at_best, limit.strength, key=STRENGTHS.index)
                    readings.append(reading)
                    values.append(model.encode_texts(sentence, values=True)[0])
            weights.append(part.weight)
        if not any(weight > 0 for weight in weights):  # what was to be found was not understood
            return _Query(None, False, tuple(unknown), tuple(notes))
        by_picture = any(part.kind != "text" for part in parts)
        together = combine(values, weights)
        return _Query(together, by_picture, tuple(unknown), tuple(notes), tuple(itself), at_best, tuple(readings))

    def _null_of(self, generation: Generation) -> Null:
        """What chance reaches: as noted by the last run, or measured now while the first run still goes on."""
        noted = generation.catalogue.fact("null")
        if noted is not None:
            return Null.from_json(noted)
        index = generation.indexes[PICTURES]
        version = index.version
        if self._null is None or self._null[0] != version:
            self._null = version, estimate(index, self._model(generation).get())
        return self._null[1]


def _of_length(model: LazyModel, bits: int) -> LazyModel:
    """A model with codes of so many bits; as it is where it has none of these."""
    other = model.of_bits(bits)
    try:
        return other if other.bits == bits else model
    except UsageError:
        return model


def _quoted(sentence: str) -> str:
    return repr(textwrap.shorten(sentence, MOST_QUOTED, placeholder=" ..."))


def _code_of(id_: str, generation: Generation) -> Codes:
    index = generation.indexes[PICTURES]
    if id_ not in index:
        raise _absent(id_)
    return index.codes_of([id_])


def _absent(id_: str) -> DataError:
    return DataError(f"there is no picture {id_[:40]!r} in this index", next_step="search again: it may have changed")


def _bytes_in(folder: Path) -> int:
    """The bytes of all files in a folder and below; one that goes meanwhile counts for nothing."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def _is_same(path: Path, known: File) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (known.size, known.changed)
