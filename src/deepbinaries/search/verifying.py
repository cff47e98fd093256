"""Proving an index of photographs: every row, every code, and that each belongs to the other."""

from dataclasses import dataclass
from pathlib import Path

from deepbinaries.errors import Error
from deepbinaries.index import verify as verify_index
from deepbinaries.index.connecting import Look, look_at
from deepbinaries.search.catalogue import FILE as CATALOGUE
from deepbinaries.search.catalogue import PICTURES, SENTENCES
from deepbinaries.search.generation import Generation
from deepbinaries.search.layout import CONFIG, find_folder, read_layout

_ATTEMPTS = 10  # to read everything while nobody commits


@dataclass(frozen=True)
class Proof:
    """What was read, and what is wrong with it."""

    problems: tuple[str, ...]
    items: int  # codes, of pictures and of sentences
    n_bytes: int  # of codes

    @property
    def sound(self) -> bool:
        """Whether everything is as it was written."""
        return not self.problems


def verify(where: str | Path | None = None) -> Proof:
    """Read everything of an index of photographs, or of an index of codes alone, and say what is wrong."""
    if where is not None and not (find_folder(Path(where)) / CONFIG).exists() and (Path(where) / "segments").is_dir():
        found = verify_index(where)
        return Proof(found.problems, found.items, found.n_bytes)
    folder = find_folder(Path(where) if where is not None else None)
    for _ in range(_ATTEMPTS):
        home = read_layout(folder).home
        before, proof = _looks(home), _prove(home)
        # What a run commits meanwhile is in one half of what was read and not in the other: then look again.
        if proof.sound or (_looks(home) == before and read_layout(folder).home == home):
            return proof
    raise Error(f"{folder} changes too fast to be proven", next_step="wait until indexing is done")


def _looks(home: Path) -> list[Look]:
    """What changes with every commit to a generation."""
    return [look_at(place / CATALOGUE) for place in (home, home / PICTURES, home / SENTENCES)]


def _prove(home: Path) -> Proof:
    problems: list[str] = []
    items = n_bytes = 0
    for kind in (PICTURES, SENTENCES):
        findings = verify_index(home / kind)
        problems += findings.problems
        items, n_bytes = items + findings.items, n_bytes + findings.n_bytes
    try:
        generation = Generation(home)
    except Error as error:
        return Proof((*problems, error.problem), items, n_bytes)
    try:
        problems += _catalogue_problems(generation)
    except Error as error:
        problems.append(error.problem)
    finally:
        generation.close()
    return Proof(tuple(dict.fromkeys(problems)), items, n_bytes)


def _catalogue_problems(generation: Generation) -> list[str]:
    catalogue, problems = generation.catalogue, []
    said = catalogue.database.integrity()
    if said != "ok":
        problems.append(f"SQLite finds {catalogue.database.path} damaged: {said}")
    catalogue.all_rows_proven()
    for kind, index in generation.indexes.items():
        codes, rows, pending = set(index.ids()), catalogue.ids(kind), catalogue.pending(kind)
        if lost := rows - codes - pending:
            problems.append(f"{len(lost):,} {kind} of the catalogue have no code ({min(lost)} among them)")
        if strange := codes - rows - pending:
            problems.append(f"{len(strange):,} codes of {kind} are not in the catalogue ({min(strange)} among them)")
    return problems
