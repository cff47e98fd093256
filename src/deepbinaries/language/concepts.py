"""Concepts mined from captions: labels for collections that have sentences but no labels."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from deepbinaries.errors import DataError, UsageError
from deepbinaries.language.plurals import singular
from deepbinaries.language.stop_words import STOP_WORDS
from deepbinaries.language.tokens import each_sentence, words


@dataclass(frozen=True)
class Concepts:
    """The mined concepts, the most frequent first, and those of each item, in the same order."""

    names: tuple[str, ...]
    counts: tuple[int, ...]  # items that carry each concept
    sets: tuple[tuple[str, ...], ...]  # one an item; empty where no concept was found


def mine_concepts(
    captions: Iterable[Sequence[str]],
    *,
    maximum: int = 100,
    minimum_share: float = 0.005,
    maximum_share: float = 0.5,
    stop_words: Collection[str] = STOP_WORDS,
) -> Concepts:
    """The content words that are neither too rare nor too common to be labels, and the items that carry them.

    An item is the list of all its sentences and carries a concept once, however often it is named. Plurals
    count as their singular, English stop words not at all. A concept is carried by at least `minimum_share`
    of the items (and by two: alone it relates nothing) and by at most `maximum_share` of them; of these
    the `maximum` most frequent stay, equal counts by spelling. `names` and `sets` are what
    `datasets.Labels.from_names(sets, names)` takes.

    >>> captions = [["two dogs", "a dog on a beach"], ["a beach with palms"], ["the dog sleeps"], ["a red car"]]
    >>> concepts = mine_concepts(captions)
    >>> concepts.names, concepts.sets
    (('beach', 'dog'), (('beach', 'dog'), ('beach',), ('dog',), ()))
    """
    if maximum < 1 or not 0 <= minimum_share <= maximum_share <= 1:
        raise UsageError(
            f"maximum={maximum}, minimum_share={minimum_share}, maximum_share={maximum_share} leave no concept",
            next_step="give a maximum from 1 on and two shares, 0 <= minimum_share <= maximum_share <= 1",
        )
    spoken = [
        {word for sentence in each_sentence(sentences, where=f"item {row}: ") for word in words(sentence)}
        for row, sentences in enumerate(captions)
    ]
    word_counts = Counter(word for item in spoken for word in item)
    concept_of = {word: singular(word, word_counts) for word in word_counts}
    stopped = set(stop_words)
    carried = [
        {concept_of[word] for word in item if word not in stopped and _is_content(concept_of[word], stopped)}
        for item in spoken
    ]
    counts = Counter(concept for item in carried for concept in item)
    # Shares are compared, not counts: 0.07 * 100 is a little more than 7, but 7 / 100 is 0.07.
    common = [
        concept
        for concept, count in counts.items()
        if count >= 2 and minimum_share <= count / len(carried) <= maximum_share
    ]
    if not common:
        raise DataError(
            f"no content word is in two items and in {minimum_share:.2%} to {maximum_share:.2%} of {len(carried):,}",
            next_step="give more captions, or a wider minimum_share and maximum_share",
        )
    names = sorted(common, key=lambda name: (-counts[name], name))[:maximum]
    rank = {name: place for place, name in enumerate(names)}
    return Concepts(
        names=tuple(names),
        counts=tuple(counts[name] for name in names),
        sets=tuple(tuple(sorted(item & rank.keys(), key=rank.__getitem__)) for item in carried),
    )


def _is_content(word: str, stopped: Collection[str]) -> bool:
    # One letter is an initial or a size; a number counts things instead of naming them.
    return len(word) > 1 and word not in stopped and not any(character.isdigit() for character in word)
