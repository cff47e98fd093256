"""Plurals folded into their singulars, with the captions themselves as the dictionary."""

from collections.abc import Mapping

# Safe whatever the captions hold. "leaves" and its like are listed because a rule "-ves" to "-f" or
# "-fe" would make "cafe" of "caves".
_IRREGULAR = {
    "men": "man",
    "women": "woman",
    "children": "child",
    "people": "person",
    "feet": "foot",
    "teeth": "tooth",
    "geese": "goose",
    "mice": "mouse",
    "calves": "calf",
    "halves": "half",
    "hooves": "hoof",
    "knives": "knife",
    "leaves": "leaf",
    "loaves": "loaf",
    "scarves": "scarf",
    "shelves": "shelf",
    "wives": "wife",
    "wolves": "wolf",
}
# Words of their own, though what is left without the "s" is a word too.
_NO_PLURALS = frozenset({"glasses", "goggles", "goods", "news", "pants", "shorts", "species", "woods"})
# A singular rarer than this share of its plural is a typing error: "tenni" does not make "tennis" a plural.
_RAREST_SINGULAR = 0.01


def singular(word: str, counts: Mapping[str, int]) -> str:
    """The singular of a plural whose singular is in use too, any other word as it is.

    `counts` says how often each word is used.

    >>> counts = {"dogs": 9, "dog": 20, "buses": 4, "bus": 30, "glass": 8, "babies": 3, "baby": 6}
    >>> [singular(word, counts) for word in ("dogs", "buses", "bus", "glass", "babies", "men", "sheep")]
    ['dog', 'bus', 'bus', 'glass', 'baby', 'man', 'sheep']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith("ss") or word in _NO_PLURALS:
        return word
    candidates = [word[:-1]]
    if word.endswith("ies"):
        candidates.append(word[:-3] + "y")
    elif word.endswith(("ches", "shes", "ses", "xes", "zes", "oes")):
        candidates.append(word[:-2])
    candidates = [candidate for candidate in candidates if len(candidate) > 2]  # "us" is not the singular of "uses"
    best = max(candidates, key=lambda candidate: counts.get(candidate, 0))
    needed = max(1, _RAREST_SINGULAR * counts.get(word, 0))
    return best if counts.get(best, 0) >= needed else word
