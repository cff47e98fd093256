"""Ids brought into the order of their bytes: millions of them in arrays, without a Python object for each."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import UsageError

MAX_ID_BYTES = 1024  # what the keys of every store can hold
WORD = 8  # bytes that are compared at once

_AT_ONCE = 1 << 18  # ids whose bytes are moved together

Text = NDArray[np.uint8]  # of all ids, with a word of NULs at the end, so that words can be read anywhere
Places = NDArray[np.int64]


def joined(texts: Sequence[str]) -> tuple[Text, Places, Places]:
    """The bytes of all texts, where each begins and how long it is; a text that is no id is refused by name.

    >>> text, begins, lengths = joined(["fig", "pear"])
    >>> text[:8].tobytes(), begins.tolist(), lengths.tolist()
    (b'fig\\x00pear', [0, 4], [3, 4])
    """
    if not len(texts):
        return np.zeros(WORD, dtype=np.uint8), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    try:
        text = np.frombuffer(("\0".join(texts) + "\0" * WORD).encode(), dtype=np.uint8)
    except (TypeError, UnicodeEncodeError):
        raise _first_problem(texts) from None
    ends = np.flatnonzero(text == 0)[: 1 - WORD]
    begins = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - begins
    if len(ends) != len(texts) or lengths.min() < 1 or lengths.max() > MAX_ID_BYTES:
        raise _first_problem(texts)
    return text, begins, lengths


def byte_order(text: Text, begins: Places, lengths: Places) -> tuple[Places, Places]:
    """Which id comes first, which second and so on, and one that is there twice, if one is.

    A word of each is compared, and the next word only of those that were equal so far.

    >>> byte_order(*joined(["pear", "fig", "pearl"]))[0].tolist()
    [1, 0, 2]
    """
    order, equal = np.arange(len(begins)), np.arange(len(begins))  # `equal` are places in the order, run by run
    runs, begin = np.zeros(len(begins), dtype=np.int64), 0
    while equal.size and (lengths[order[equal]] > begin).any():
        ids = order[equal]
        words = _words(text, begins[ids] + begin, lengths[ids] - begin)
        ascending = np.lexsort((words, runs)) if begin else np.argsort(words)
        order[equal], words = ids[ascending], words[ascending]
        begins_run = np.concatenate([[True], (words[1:] != words[:-1]) | (runs[1:] != runs[:-1]), [True]])
        several = ~(begins_run[:-1] & begins_run[1:])
        equal, runs, begin = equal[several], np.cumsum(begins_run[:-1])[several], begin + WORD
    return order, order[equal[:1]]


def gathered(text: Text, begins: Places, lengths: Places) -> Text:
    """The bytes of some ids, one after the other without gaps.

    >>> text, begins, lengths = joined(["fig", "pear"])
    >>> gathered(text, begins[::-1], lengths[::-1]).tobytes()
    b'pearfig'
    """
    parts = []
    for first in range(0, len(begins), _AT_ONCE):
        n_bytes = lengths[first : first + _AT_ONCE]
        ends = np.cumsum(n_bytes)
        places = np.arange(ends[-1]) + np.repeat(begins[first : first + _AT_ONCE] - (ends - n_bytes), n_bytes)
        parts.append(text[places])
    return np.concatenate([np.empty(0, dtype=np.uint8), *parts])


def _words(text: Text, begins: Places, lengths: Places) -> NDArray[np.uint64]:
    """The next word of each id as a number: greater where the bytes are. What lies beyond an id counts as NUL."""
    at_each_byte = np.ndarray(len(text) - WORD + 1, dtype=">u8", buffer=text.data, strides=(1,))
    words = at_each_byte[np.minimum(begins, len(text) - WORD)].astype(np.uint64)
    beyond = (8 * (WORD - np.clip(lengths, 1, WORD))).astype(np.uint64)  # bits
    words = words >> beyond << beyond
    words[lengths <= 0] = 0
    return words


def _first_problem(texts: Sequence[str]) -> UsageError:
    return next(problem for place, text in enumerate(texts) if (problem := _problem(place, text)))


def _problem(place: int, text: object) -> UsageError | None:
    if not isinstance(text, str):
        return UsageError(f"id {place} is {type(text).__name__}, not text", next_step="give ids as str")
    try:
        n_bytes = len(text.encode())
    except UnicodeEncodeError:
        return UsageError(f"the id {text!r} is no valid Unicode", next_step="give ids that UTF-8 can hold")
    if 1 <= n_bytes <= MAX_ID_BYTES and "\0" not in text:
        return None
    return UsageError(
        f"the id {text[:40]!r} is empty, has more than {MAX_ID_BYTES} bytes, or holds a NUL",
        next_step="give short texts, a digest for instance",
    )
