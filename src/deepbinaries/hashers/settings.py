"""Settings of methods: presets with some of them changed, and refusals where nonsense is written."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from deepbinaries.errors import UsageError, unknown_name

Settings = TypeVar("Settings")


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
    found: Settings = dataclasses.replace(preset, **settings)
    return found


def check_bits(bits: int) -> None:
    """Refuse a length that no code has."""
    if not 1 <= bits <= 1024:
        raise UsageError(f"bits={bits} is outside 1..1024", next_step="64 is a good start")


def check_not_negative(name: str, number: float) -> None:
    """Refuse a weight that is negative or not finite."""
    if not 0 <= number < np.inf:
        raise UsageError(f"{name}={number} is negative or not finite", next_step="give a number from 0 on")
