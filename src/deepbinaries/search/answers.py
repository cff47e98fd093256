"""What a collection answers."""

from dataclasses import dataclass
from typing import Any

from deepbinaries.index import Certificate
from deepbinaries.search.queries import Unknown
from deepbinaries.search.relevance import Strength
from deepbinaries.search.skipped import shown


@dataclass(frozen=True)
class Hit:
    """A picture that was found, or a sentence with the picture beside which it stands."""

    id: str  # of what was found: the picture, or the sentence
    picture: str  # id of the picture, by which its thumbnail is asked for; a sentence may stand beside several
    paths: tuple[str, ...]  # files with this content, relative to the photographs' folder
    distance: int  # bits in which the codes differ
    weighted: float  # the same by how sure the query is of its bits, 0 to 1
    strength: Strength
    width: int  # pixels of the picture, as it is seen upright
    height: int
    date: str  # 2024-05-31T18:00:00
    date_from: str  # "camera" or "file": what tells the date
    captions: tuple[str, ...] = ()
    sentence: str = ""  # what was found, where sentences were looked for
    alike: tuple[str, ...] = ()  # ids of what was found as well and looks nearly the same

    def to_json(self) -> dict[str, Any]:
        """The hit for programs. Paths are as people read them."""
        return {**vars(self), "paths": [shown(path) for path in self.paths], "weighted": round(self.weighted, 4)}


@dataclass(frozen=True)
class Photograph:
    """What is known of a picture, whoever asks."""

    id: str
    paths: tuple[str, ...]  # files with this content, relative to the photographs' folder
    date: str
    date_from: str
    width: int  # pixels, as it is seen upright
    height: int
    n_bytes: int
    captions: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """The hits of one page, and all that is to be said about them."""

    hits: tuple[Hit, ...]
    verdict: Strength  # of the best hit: "none" means that nothing here matches
    nearest: tuple[Hit, ...]  # where nothing matches: what comes nearest all the same
    unknown: tuple[Unknown, ...]  # words that had no say
    notes: tuple[str, ...]
    reordered: bool  # by the query's real values, in whole shells of equal distance
    searched: int  # items among which was searched
    offset: int
    more: bool  # whether there is another page
    certificate: Certificate | None  # of the exact search; None where nothing was searched

    def to_json(self) -> dict[str, Any]:
        """The answer for programs."""
        return {
            "verdict": self.verdict,
            "hits": [hit.to_json() for hit in self.hits],
            "nearest": [hit.to_json() for hit in self.nearest],
            "unknown": [vars(word) for word in self.unknown],
            "notes": list(self.notes),
            "reordered": self.reordered,
            "searched": self.searched,
            "offset": self.offset,
            "more": self.more,
            "certificate": vars(self.certificate) if self.certificate else None,
        }


def nothing(unknown: tuple[Unknown, ...] = (), notes: tuple[str, ...] = (), offset: int = 0) -> Answer:
    """The answer of a search that was not made."""
    return Answer((), "none", (), unknown, notes, False, 0, offset, False, None)
