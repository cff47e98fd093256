"""`name=value` texts from the command line, as the settings of the function they are for."""

import typing
from collections.abc import Callable
from typing import Any

from deepbinaries.errors import UsageError


def parse_settings(pairs: list[str] | None, *functions: Callable[..., Any] | None) -> dict[str, Any]:
    """The settings, each as the type that a function's signature asks for; what no function knows stays text.

    >>> def load(root, *, items: int = 5, release: str = "auto", strict: bool = False): ...
    >>> parse_settings(["items=20", "release=2014", "strict=yes"], load)
    {'items': 20, 'release': '2014', 'strict': True}
    >>> def convolve(*, widths: tuple[int, ...] = ()): ...
    >>> parse_settings(["widths=3,4,5"], convolve)
    {'widths': (3, 4, 5)}
    """
    types: dict[str, Any] = {}
    for function in functions:
        types |= typing.get_type_hints(function) if function is not None else {}
    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"{pair!r} has no value", next_step="write name=value")
        name = name.strip().replace("-", "_")
        settings[name] = _value(name, value.strip(), types.get(name, str))
    return settings


def _value(name: str, text: str, wanted: Any) -> Any:
    if typing.get_origin(wanted) is tuple:
        return tuple(_value(name, part.strip(), typing.get_args(wanted)[0]) for part in text.split(","))
    kinds = typing.get_args(wanted) or (wanted,)  # `int | None` is a whole number on a command line
    if bool in kinds:
        if text.lower() not in ("true", "yes", "1", "false", "no", "0"):
            raise UsageError(f"{name}={text} is neither yes nor no", next_step=f"write {name}=yes or {name}=no")
        return text.lower() in ("true", "yes", "1")
    for kind, what in ((int, "whole number"), (float, "number")):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                raise UsageError(f"{name}={text} is no {what}", next_step=f"give a {what}") from None
    return text
