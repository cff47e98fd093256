"""`name=value` texts from the command line or from a TOML file, as the settings of the function they are for."""

import inspect
import itertools
import tomllib
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deepbinaries.errors import DataError, UsageError, unknown_name
from deepbinaries.files import read_bytes

MAX_BYTES = 2**20  # of a file of settings


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


def parse_grid(pairs: list[str] | None, function: Callable[..., Any]) -> list[dict[str, Any]]:
    """Every combination of the values that are to be tried, the last name changing fastest.

    >>> def fit(*, eta: float = 0.3, update: str = "spectral"): ...
    >>> parse_grid(["eta=0.1,1", "update=gram"], fit)
    [{'eta': 0.1, 'update': 'gram'}, {'eta': 1.0, 'update': 'gram'}]
    >>> parse_grid(None, fit)
    []
    """
    types = typing.get_type_hints(function)
    tried: dict[str, list[Any]] = {}
    for pair in pairs or []:
        name, _, values = pair.partition("=")
        name = name.strip().replace("-", "_")
        if name in tried:
            raise UsageError(f"{name} is to be tuned twice", next_step="give all its values at once")
        if typing.get_origin(types.get(name)) is tuple:
            raise UsageError(f"{name} is a list, which cannot be tuned", next_step="tune a number or a word")
        texts = [value for value in map(str.strip, values.split(",")) if value]
        tried[name] = [parse_settings([f"{name}={text}"], function)[name] for text in dict.fromkeys(texts)]
        if not texts:
            raise UsageError(f"{pair!r} has no values to try", next_step="write name=value,value")
    if not tried:
        return []
    return [dict(zip(tried, values, strict=True)) for values in itertools.product(*tried.values())]


def read_tables(path: Path | None, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The tables of a TOML file, their values as a command line would have them; without a file all are empty."""
    if path is None:
        return {name: {} for name in names}
    try:
        content = tomllib.loads(read_bytes(path, limit=MAX_BYTES).decode("utf-8"))
    except (ValueError, RecursionError) as error:  # also what is not UTF-8
        raise DataError(f"{path} is no TOML ({error})", next_step="see docs/training.md for an example") from error
    for name, table in content.items():
        if name not in names:
            raise unknown_name(f"table in {path}", name, names)
        if not isinstance(table, dict):
            raise UsageError(f"{name} in {path} is no table", next_step=f"write [{name}] on a line of its own")
    return {
        name: {key: _as_text(value, f"{name}.{key} in {path}") for key, value in content.get(name, {}).items()}
        for name in names
    }


def parse_table(table: Mapping[str, str], function: Callable[..., Any], *, of: str) -> dict[str, Any]:
    """The settings in a table for a function, which knows all of them; `of` says where the table is."""
    known = list(inspect.signature(function).parameters)
    for name in table:
        if name not in known:
            raise unknown_name(f"setting of {of}", name, known)
    try:
        return parse_settings([f"{name}={value}" for name, value in table.items()], function)
    except UsageError as error:
        raise UsageError(f"{of}: {error.problem}", next_step=error.next_step) from error


def _as_text(value: Any, where: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(part, str | int | float) for part in value):
        return ",".join(map(str, value))
    raise UsageError(f"{where} is a {type(value).__name__}", next_step="give a number, a word, or a list of them")


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
