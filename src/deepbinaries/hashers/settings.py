"""Settings of methods: presets with some of them changed, and refusals where nonsense is written."""

import dataclasses
import numbers
import typing
from collections.abc import Mapping
from types import NoneType
from typing import Any, TypeVar

import numpy as np

from deepbinaries.errors import UsageError, unknown_name

Settings = TypeVar("Settings")
TYPES: Mapping[Any, tuple[type, str]] = {  # of settings, with what they take and how it is called
    int: (numbers.Integral, "a whole number"),
    float: (numbers.Real, "a number"),
    str: (str, "a word"),
    bool: (bool, "True or False"),
    NoneType: (NoneType, "None"),
}


def changed(presets: Mapping[str, Settings], name: str, settings: Mapping[str, Any]) -> Settings:
    """The settings of a preset, some of them changed; unknown names are refused.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Sizes:
    ...     bits: int = 64
    >>> changed({"small": Sizes(8), "large": Sizes()}, "small", {"bits": 4})
    Sizes(bits=4)
    """
    if name not in presets:
        raise unknown_name("preset", name, presets)
    preset: Any = presets[name]
    known = {field.name for field in dataclasses.fields(preset)}
    for setting in settings:
        if setting not in known:
            raise unknown_name(f"setting of {name}", setting, known)
    check_types(type(preset), settings)
    found: Settings = dataclasses.replace(preset, **settings)
    return found


def check_types(kind: type[Any], settings: Mapping[str, Any]) -> None:
    """Refuse a setting of another type than its class states, before a comparison with it fails in words of its own.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Rates:
    ...     rate: float = 0.1
    >>> check_types(Rates, {"rate": 1})
    >>> check_types(Rates, {"rate": "fast"})
    Traceback (most recent call last):
        ...
    deepbinaries.errors.UsageError: rate='fast' is of the type str; give a number
    """
    hints = typing.get_type_hints(kind)
    for name, value in settings.items():
        types = [type_ for type_ in typing.get_args(hints[name]) or (hints[name],) if type_ is not Ellipsis]
        if not TYPES.keys() >= set(types):
            continue  # a method of one's own may have settings of any type
        wants_tuple, given = typing.get_origin(hints[name]) is tuple, isinstance(value, tuple | list)
        takes = tuple(TYPES[type_][0] for type_ in types)
        if wants_tuple != given or not all(isinstance(one, takes) for one in (value if given else [value])):
            words = " or ".join(TYPES[type_][1] for type_ in types)
            raise UsageError(
                f"{name}={value!r} is of the type {type(value).__name__}",
                next_step=f"give {'a tuple, each ' if wants_tuple else ''}{words}",
            )


def check_bits(bits: int) -> None:
    """Refuse a length that no code has."""
    if not 1 <= bits <= 1024:
        raise UsageError(f"bits={bits} is outside 1..1024", next_step="64 is a good start")


def check_not_negative(name: str, number: float) -> None:
    """Refuse a weight that is negative or not finite."""
    if not 0 <= number < np.inf:
        raise UsageError(f"{name}={number} is negative or not finite", next_step="give a number from 0 on")
