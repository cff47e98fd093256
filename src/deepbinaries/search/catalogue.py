"""The catalogue of a collection: what is known of every file, of every picture, and of the sentences beside them.

A picture is known by its content: its id is the beginning of the SHA-256 of its bytes. A file has a path below the
photographs' folder; several may have one content. Codes are not here but in the index, under the same ids.

`pending` holds ids that are being added or removed. Codes are added before rows and removed after them, so after a
run that was cut short only these ids may have a code and no row. Any other id without a row proves damage; and so does
a picture without a file that is none of the `orphans`, whose files a run has found changed or gone.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepbinaries.index.durable import corrupt
from deepbinaries.search.database import AT_ONCE, Database, proven, row_sum
from deepbinaries.search.filters import Filter
from deepbinaries.vision.originals import content_id

FILE = "catalogue.db"
PICTURES, SENTENCES, ORPHANS = "pictures", "sentences", "orphans"

_SCHEMA = (
    "CREATE TABLE items (id TEXT PRIMARY KEY, width INTEGER, height INTEGER, taken TEXT, look BLOB,"
    " sum INTEGER) WITHOUT ROWID",
    "CREATE TABLE thumbnails (id TEXT PRIMARY KEY, content BLOB, sum INTEGER)",
    "CREATE TABLE files (path BLOB PRIMARY KEY, size INTEGER, changed INTEGER, date TEXT, id TEXT,"
    " reason TEXT, since TEXT, said TEXT, sum INTEGER) WITHOUT ROWID",
    "CREATE TABLE said (id TEXT, path BLOB, PRIMARY KEY (id, path)) WITHOUT ROWID",
    "CREATE TABLE pending (kind TEXT, id TEXT, PRIMARY KEY (kind, id)) WITHOUT ROWID",
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT, sum INTEGER) WITHOUT ROWID",
    "CREATE INDEX files_by_id ON files (id)",
    "CREATE INDEX said_by_path ON said (path)",
)
_FILES = "SELECT path, size, changed, date, id, reason, since, said, sum FROM files"
_ITEMS = "SELECT id, width, height, taken, look, sum FROM items"


@dataclass(frozen=True)
class File:
    """A file below the photographs' folder, as it was when it was last looked at."""

    path: str  # relative, as the system's own functions write it: bytes that are no UTF-8 are surrogates
    size: int  # bytes; -1 where it could not be looked at, so that it is tried again
    changed: int  # nanoseconds, when its content was last changed
    date: str  # the same as local time, 2024-05-31T18:00:00
    id: str | None  # of its content; None where it cannot be read
    reason: str = ""  # why not
    since: str = ""  # when that was first found, as local time
    said: tuple[str, ...] = ()  # the sentences beside it


@dataclass(frozen=True)
class Item:
    """A picture by its content."""

    id: str
    width: int  # pixels, as it is seen upright
    height: int
    taken: str | None  # by the camera's clock, where the picture says it
    look: bytes  # what it looks like in the small: 8 bytes, see `deepbinaries.vision.small`


class Catalogue:
    """An open catalogue. Reading is safe from several threads; one process writes."""

    def __init__(self, folder: Path, *, writable: bool = False):
        self.database = Database(folder / FILE, writable=writable)
        self._proven_rows = self._proven_said = -1  # the versions of which all rows were proven
        if writable and not self.database.rows("SELECT 1 FROM sqlite_master WHERE name = 'facts'"):
            with self.database.transaction():
                for statement in _SCHEMA:
                    self.database.run(statement, [()])

    def close(self) -> None:
        self.database.close()

    # Reading

    def file(self, path: str) -> File | None:
        """What is known of a file."""
        return next(iter(self._files(self.database.rows(f"{_FILES} WHERE path = ?", (os.fsencode(path),)))), None)

    def files(self) -> list[File]:
        """Every file, in the order of their paths."""
        return self._files(self.database.rows(f"{_FILES} ORDER BY path"))

    def files_of(self, ids: Iterable[str]) -> dict[str, list[File]]:
        """The files of each picture, in the order of their paths."""
        found: dict[str, list[File]] = {}
        for file in sorted(self._files(self.database.rows_of(f"{_FILES} WHERE id IN", ids)), key=lambda f: f.path):
            found.setdefault(str(file.id), []).append(file)
        return found

    def items_of(self, ids: Iterable[str]) -> dict[str, Item]:
        """What is known of each picture; an id that is not known is not among them."""
        rows = (self._proven(row) for row in self.database.rows_of(f"{_ITEMS} WHERE id IN", ids))
        return {row[0]: Item(*row) for row in rows}

    def ids(self, kind: str = PICTURES) -> set[str]:
        """The ids of all pictures, or of all sentences of which a word is known."""
        statement = "SELECT id FROM items" if kind == PICTURES else "SELECT id FROM said"
        return {row[0] for row in self.database.rows(statement)}

    def known(self, kind: str, ids: Iterable[str]) -> set[str]:
        """Those of some ids that have rows."""
        statement = "SELECT id FROM items WHERE id IN" if kind == PICTURES else "SELECT id FROM said WHERE id IN"
        return {row[0] for row in self.database.rows_of(statement, ids)}

    def with_file(self, ids: Iterable[str]) -> set[str]:
        """Those of some pictures that a file holds."""
        return {row[0] for row in self.database.rows_of("SELECT id FROM files WHERE id IN", ids)}

    def ids_where(self, wanted: Filter, kind: str = PICTURES) -> list[str]:
        """The ids of pictures, or of sentences, known or not, with a file that a filter lets through."""
        self._prove_what_filters_see()
        condition, values = wanted.condition()
        which = "+files.id" if kind == PICTURES else "files.said"
        # Joined so, and with these signs, SQLite reads the tables themselves: its indexes are not proven.
        tables = "files CROSS JOIN items ON items.id = +files.id"
        statement = f"SELECT {which} FROM {tables} WHERE {condition}"  # noqa: S608 - no word of it is a user's
        found = list(dict.fromkeys(row[0] for row in self.database.rows(statement, values)))
        if kind == PICTURES:
            return found
        return sorted({content_id(text.encode()) for said in found for text in json.loads(said)})

    def thumbnail(self, id_: str) -> bytes | None:
        """The small picture of an item, a WebP file."""
        rows = self.database.rows("SELECT id, content, sum FROM thumbnails WHERE id = ?", (id_,))
        return self._proven(rows[0])[1] if rows else None

    def ids_beside(self, paths: Iterable[str]) -> set[str]:
        """The ids of the sentences beside some files."""
        return {row[0] for row in self.database.rows_of("SELECT id FROM said WHERE path IN", map(os.fsencode, paths))}

    def files_beside(self, ids: Iterable[str]) -> dict[str, list[File]]:
        """The files beside which each sentence stands, in the order of their paths."""
        self._prove_said()
        pairs = sorted(self.database.rows_of("SELECT id, path FROM said WHERE id IN", ids))
        rows = self.database.rows_of(f"{_FILES} WHERE path IN", {path for _, path in pairs})
        files = {file.path: file for file in self._files(rows)}
        found: dict[str, list[File]] = {}
        for id_, path in pairs:
            if (file := files.get(os.fsdecode(path))) is not None:
                found.setdefault(id_, []).append(file)
        return found

    def fact(self, name: str) -> Any:
        """What was noted under a name; None without a note."""
        rows = self.database.rows("SELECT name, value, sum FROM facts WHERE name = ?", (name,))
        return json.loads(self._proven(rows[0])[1]) if rows else None

    def pending(self, kind: str) -> set[str]:
        """Ids that are being added or removed, now or when a run was cut short."""
        return {row[0] for row in self.database.rows("SELECT id FROM pending WHERE kind = ?", (kind,))}

    def without_file(self) -> list[str]:
        """Pictures that no file holds any more."""
        return [row[0] for row in self.database.rows("SELECT id FROM items EXCEPT SELECT id FROM files")]

    def counts(self) -> dict[str, int]:
        """How many files, pictures, sentences and failures there are."""
        one = "SELECT (SELECT count(*) FROM files WHERE id IS NOT NULL), (SELECT count(*) FROM items), "
        two = "(SELECT count(DISTINCT id) FROM said), (SELECT count(*) FROM files WHERE id IS NULL)"
        (row,) = self.database.rows(one + two)
        return dict(zip(("files", "pictures", "sentences", "failures"), row, strict=True))

    # Writing

    def note(self, **facts: Any) -> None:
        """Note facts that JSON can hold."""
        texts = {name: json.dumps(value, allow_nan=False) for name, value in facts.items()}
        rows = [(name, text, row_sum(name, text)) for name, text in texts.items()]
        with self.database.transaction():
            self.database.run("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)

    def begin(self, kind: str, ids: Iterable[str]) -> None:
        """Note ids whose rows or codes are about to change."""
        with self.database.transaction():
            self.database.run("INSERT OR REPLACE INTO pending VALUES (?, ?)", [(kind, id_) for id_ in ids])

    def settle(self, kind: str) -> None:
        """Note that the codes of a kind are those that have rows."""
        with self.database.transaction():
            self.database.run("DELETE FROM pending WHERE kind = ?", [(kind,)])

    def put(
        self,
        files: Sequence[File],
        items: Sequence[Item] = (),
        thumbnails: Mapping[str, bytes] | None = None,
    ) -> None:
        """Write what was found out about some files, wholly or not at all."""
        with self.database.transaction():
            self.database.run("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?)", map(_item_row, items))
            small = [(id_, content, row_sum(id_, content)) for id_, content in (thumbnails or {}).items()]
            self.database.run("INSERT OR REPLACE INTO thumbnails VALUES (?, ?, ?)", small)
            self.database.run("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", map(_file_row, files))

    def put_said(self, files: Sequence[File], ids: Mapping[str, str]) -> None:
        """Write what is said beside some files; sentences without a known word have no id."""
        paths = [(os.fsencode(file.path),) for file in files]
        pairs = {(ids[text], os.fsencode(file.path)) for file in files for text in file.said if text in ids}
        with self.database.transaction():
            self.database.run("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", map(_file_row, files))
            self.database.run("DELETE FROM said WHERE path = ?", paths)
            self.database.run("INSERT INTO said VALUES (?, ?)", sorted(pairs))

    def remove_files(self, paths: Sequence[str]) -> None:
        """Forget files and what is said beside them, but not their pictures (`remove_items`)."""
        encoded = [(os.fsencode(path),) for path in paths]
        with self.database.transaction():
            self.database.run("DELETE FROM files WHERE path = ?", encoded)
            self.database.run("DELETE FROM said WHERE path = ?", encoded)

    def remove_items(self, ids: Sequence[str]) -> None:
        """Forget pictures."""
        rows = [(id_,) for id_ in ids]
        with self.database.transaction():
            self.database.run("DELETE FROM items WHERE id = ?", rows)
            self.database.run("DELETE FROM thumbnails WHERE id = ?", rows)

    def all_rows_proven(self) -> int:
        """Read every row and prove it; the number of rows."""
        n_rows = len(self.files()) + len(self.items_of(self.ids()))
        ids = [row[0] for row in self.database.rows("SELECT id FROM thumbnails ORDER BY id")]
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]  # not all at once: they are most of the catalogue
            for row in self.database.rows_of("SELECT id, content, sum FROM thumbnails WHERE id IN", some):
                self._proven(row)
        return n_rows + len(ids)

    def _prove_what_filters_see(self) -> None:
        """Prove every row by which a filter decides, once for each state of the database.

        A row whose date or path has changed would else be passed over, and nobody would ever see it.
        """
        version = self.database.version
        if version != self._proven_rows:
            self.database.prove(f"{_FILES} ORDER BY path", f"{_ITEMS} ORDER BY id")
            self._proven_rows = version

    def _prove_said(self) -> None:
        """Prove, once for each state, that `said` holds what the rows of files say; its own rows have no sums."""
        while (version := self.database.version) != self._proven_said:
            self._prove_what_filters_see()
            pairs = self.database.rows("SELECT id, path FROM said ORDER BY id, path")
            known = {id_ for id_, _ in pairs}  # of what is not known at all the codes tell
            texts = self.database.rows("SELECT path, said FROM files WHERE said != '[]'")
            said = {(content_id(text.encode()), path) for path, of_file in texts for text in json.loads(of_file)}
            if len(pairs) == len(set(pairs)) and set(pairs) == {pair for pair in said if pair[0] in known}:
                self._proven_said = version
            elif self.database.version == version:
                raise corrupt(self.database.path.parent, f"sentences of {FILE} are not those beside the pictures")

    def _files(self, rows: Iterable[Any]) -> list[File]:
        found = []
        for row in rows:
            path, size, changed, date, id_, reason, since, said = self._proven(row)
            found.append(File(os.fsdecode(path), size, changed, date, id_, reason, since, tuple(json.loads(said))))
        return found

    def _proven(self, row: Any) -> Any:
        return proven(row, self.database.path)


def _file_row(file: File) -> tuple[Any, ...]:
    said = json.dumps(file.said)
    row = (os.fsencode(file.path), file.size, file.changed, file.date, file.id, file.reason, file.since, said)
    return (*row, row_sum(*row))


def _item_row(item: Item) -> tuple[Any, ...]:
    row = (item.id, item.width, item.height, item.taken, item.look)
    return (*row, row_sum(*row))
