"""How near is near: distances are judged by what sentences and pictures reach that have nothing to do with each other.

A sentence of little words, "there is one of these on it", says nothing about any photograph, and still some photograph
is nearest to it. What a query finds must be nearer than that. Measured anew whenever the collection has changed, since
among more photographs chance finds nearer ones.

A picture is judged by pairs of the collection's own: few pairs that are drawn by chance are alike.

A sentence of which much is unknown, as in another language, may be near to something by the words that are left, but
that is no answer to it: it is not judged better than its words are known.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes, all_distances
from deepbinaries.index import EmbeddedIndex, Index
from deepbinaries.language import STOP_WORDS, Reading, Vocabulary
from deepbinaries.search.ranking import Ranked, rank

if TYPE_CHECKING:
    from deepbinaries.model import Model

Strength = Literal["strong", "weak", "none"]
Levels = NDArray[np.int64]  # places in STRENGTHS

STRENGTHS: tuple[Strength, ...] = ("strong", "weak", "none")

PROBES = 200  # neutral sentences
PROBE_WORDS = (3, 8)  # words of one, the end excluded
PROBE_POOL = 100  # nearest pictures that are looked at for each
SAMPLE = 400  # pictures whose pairs are compared
FEWEST_WORDS = 8  # little words that a vocabulary must know to make neutral sentences of them
STRONG, WEAK = 0.05, 0.5  # shares of neutral sentences that come as near by chance
STRONG_PAIRS, WEAK_PAIRS = 0.005, 0.05  # the same of pairs of pictures
MUCH_UNKNOWN, MOSTLY_UNKNOWN = 1 / 3, 1 / 2  # shares of a sentence's words

# The values of each open model's neutral sentences: a server takes up pictures one by one, and asks after each of them.
_probed: WeakKeyDictionary["Model", NDArray[np.float32]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Threshold:
    """What is nearer than `strong`, or at least than `weak`, is no chance; both are shares of the bits, 0 to 1."""

    strong: float
    weak: float

    def judge(self, distances: NDArray[np.floating[Any]]) -> Levels:
        """How much distances say.

        >>> Threshold(strong=0.2, weak=0.3).judge(np.array([0.1, 0.2, 0.3]))
        array([0, 1, 2])
        """
        levels: Levels = (distances >= self.strong).astype(np.int64) + (distances >= self.weak)
        return levels


@dataclass(frozen=True)
class Null:
    """What chance reaches in one collection. None where it is too small to tell: all that is found is weak then."""

    sentences: Threshold | None = None
    pictures: Threshold | None = None

    def judge(self, ranked: Ranked, *, by_picture: bool) -> Levels:
        """How much the distances of a picture, or of a sentence, to pictures say.

        Of the pictures that were compared only codes are known, so by pictures it is plain distances that are judged.
        """
        threshold = self.pictures if by_picture else self.sentences
        distances = ranked.distances / ranked.bits if by_picture else ranked.weights
        return threshold.judge(distances) if threshold else np.full(len(distances), STRENGTHS.index("weak"))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Null":
        return cls(**{name: Threshold(**pair) for name in ("sentences", "pictures") if (pair := content.get(name))})


@dataclass(frozen=True)
class Limit:
    """The greatest strength that what a query finds may have, and why."""

    strength: Strength = "strong"
    why: str = ""


def limit_by_words(reading: Reading) -> Limit:
    """What may be made of a sentence of which some words are unknown; one alone, which may be a name, hides nothing.

    >>> limit_by_words(Reading(known=("un", "cane"), unknown=("sulla", "spiaggia"), cut=()))
    Limit(strength='none', why='2 of 4 words are unknown, so nothing counts as a match')
    >>> limit_by_words(Reading(known=("a", "zebra"), unknown=("Giulietta",), cut=()))
    Limit(strength='weak', why='1 of 3 words is unknown, so no match counts as strong')
    """
    known, unknown = ({word.lower() for word in words} for words in (reading.known, reading.unknown))
    n_words = len(known) + len(unknown)
    if not unknown or len(unknown) < MUCH_UNKNOWN * n_words:
        return Limit()
    counted = f"{len(unknown)} of {n_words} words {'is' if len(unknown) == 1 else 'are'} unknown"
    if len(unknown) == 1 or len(unknown) < MOSTLY_UNKNOWN * n_words:
        return Limit("weak", f"{counted}, so no match counts as strong")
    return Limit("none", f"{counted}, so nothing counts as a match")


def estimate(index: EmbeddedIndex, model: "Model") -> Null:
    """Measure what chance reaches among the pictures of an index."""
    if not len(index):
        return Null()
    nearest = [rank(index, values, PROBE_POOL).weights[0] for values in _probes(model)]
    return Null(threshold(np.array(nearest), STRONG, WEAK), _of_pairs(index))


def _probes(model: "Model") -> NDArray[np.float32]:
    """The values of the neutral sentences, (n, bits)."""
    if model not in _probed:
        _probed[model] = model.encode_texts(neutral_sentences(model.vocabulary), values=True)
    return _probed[model]


def neutral_sentences(vocabulary: Vocabulary, n: int = PROBES) -> list[str]:
    """Sentences of known words that say nothing: the same for the same vocabulary.

    >>> neutral_sentences(Vocabulary(sorted(STOP_WORDS) + ["dog"]), 2)
    ['... ...', '...']
    """
    little = [word for word in vocabulary.words if word in STOP_WORDS]
    # A vocabulary without little words has no neutral ones: a jumble of all says as little as can be said.
    drawn_from = little if len(little) >= FEWEST_WORDS else list(vocabulary.words)
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(drawn_from, rng.integers(*PROBE_WORDS))) for _ in range(n)]


def threshold(by_chance: NDArray[np.floating[Any]], strong: float, weak: float) -> Threshold | None:
    """Distances that at most these shares of what chance reaches fall below; None where there are none.

    >>> threshold(np.array([0.4, 0.1, 0.2, 0.3]), 0.25, 0.5)
    Threshold(strong=0.2, weak=0.3)
    """
    if not by_chance.size:
        return None
    ascending = np.sort(by_chance)
    return Threshold(*(float(ascending[int(share * len(ascending))]) for share in (strong, weak)))


def _of_pairs(index: Index) -> Threshold | None:
    ids = list(index.ids())
    # Ids are digests: every n-th of them is a sample drawn by chance, and the same one for the same pictures.
    codes: Codes = index.codes_of(ids[:: -(-len(ids) // SAMPLE)])
    pairs = all_distances(codes, codes)[np.triu_indices(len(codes), 1)]
    # One bit more: some of the pairs are alike indeed, so whoever is as near as they are is as strong.
    return threshold((pairs + 1) / index.bits, STRONG_PAIRS, WEAK_PAIRS)
