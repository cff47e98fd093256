"""What a value of JSON looks like, so that a file that somebody has edited is refused before it is used."""

import math
from typing import Any


def fits(value: Any, shape: Any) -> bool:
    """Whether a value has a shape.

    Shapes are `str`, `float` for any finite number, a dictionary for one that has at least these keys, `[part]` for a
    list of one part or more, `(part, ...)` for a list of any length, and `(first, second)` for a list of just these.

    >>> fits({"id": "a", "at": [1, 2.5]}, {"at": [float]}), fits({"at": []}, {"at": [float]}), fits({}, {"at": [float]})
    (True, False, False)
    >>> fits([], (str, ...)), fits(["a", 1], (str, ...)), fits(["a", 1], (str, float)), fits(["a"], (str, float))
    (True, False, True, False)
    >>> fits(True, float), fits(float("nan"), float)
    (False, False)
    """
    if shape is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(key in value and fits(value[key], of) for key, of in shape.items())
    if isinstance(shape, type):
        return isinstance(value, shape)
    if not isinstance(value, list) or (isinstance(shape, list) and not value):
        return False
    if isinstance(shape, list) or shape[-1] is ...:
        return all(fits(part, shape[0]) for part in value)
    return len(value) == len(shape) and all(map(fits, value, shape))
