"""The methods that take part in a comparison, from the options of `deepbinaries compare`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deepbinaries.cli.recipe import settings_class
from deepbinaries.cli.settings import parse_grid, parse_settings
from deepbinaries.errors import UsageError

if TYPE_CHECKING:
    from deepbinaries.experiments.contest import Contestant


def read_contestants(
    methods: str, bits: tuple[int, ...], settings: Sequence[str] | None, tuned: Sequence[str] | None
) -> "list[Contestant]":
    """The methods that take part, each with its settings, and with what is to be chosen."""
    from deepbinaries.experiments.contest import Contestant
    from deepbinaries.registry import check_settings

    names = list(dict.fromkeys(name for name in map(str.strip, methods.split(",")) if name))
    if not names:
        raise UsageError("no method is named", next_step="see `deepbinaries list methods`")
    known = {name: settings_class(name) for name in names}
    given, grids = _by_method(settings, names, "--set"), _by_method(tuned, names, "--tune")
    found = []
    for name in names:
        lengths = bits
        own = [pair for pair in given[name] if not pair.startswith("bits=")]
        for pair in given[name]:
            if pair not in own:  # as with any setting that is given twice, the last counts
                lengths = numbers(pair.removeprefix("bits="), f"{name}.bits")
        chosen, grid = parse_settings(own, known[name]), parse_grid(grids[name], known[name])
        check_settings(known[name], [*chosen, *(grid[0] if grid else {})], of=repr(name))
        for setting in ("bits", "seed"):
            if setting in chosen or (grid and setting in grid[0]):
                raise UsageError(f"{setting} of {name} is no setting here", next_step=f"give --{setting.rstrip('s')}s")
        for setting in chosen.keys() & (grid[0].keys() if grid else ()):
            raise UsageError(f"{setting} of {name} is both set and tuned", next_step="leave out one of the two")
        found.append(Contestant(name, lengths, chosen, tuple(grid)))
    return found


def numbers(text: str, option: str, *, least: int = 1) -> tuple[int, ...]:
    """Whole numbers between commas, each once.

    >>> numbers("16, 32,16", "--bits")
    (16, 32)
    """
    try:
        found = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        example = "16,32" if least else "0,1,2"  # lengths of codes, or seeds
        next_step = f"write them with commas: {example}"
        raise UsageError(f"{option} {text} are no whole numbers", next_step=next_step) from None
    if min(found) < least:
        raise UsageError(f"{option} {min(found)} is too small", next_step=f"give numbers from {least} on")
    return found


def _by_method(pairs: Sequence[str] | None, methods: Sequence[str], option: str) -> dict[str, list[str]]:
    """Texts METHOD.NAME=VALUE as NAME=VALUE, by method."""
    found: dict[str, list[str]] = {method: [] for method in methods}
    for pair in pairs or []:
        place, equals, value = pair.partition("=")
        method, dot, name = place.strip().rpartition(".")
        if not (equals and dot and name):
            raise UsageError(f"{option} {pair} names no setting of a method", next_step="write METHOD.NAME=VALUE")
        if method not in found:
            raise UsageError(f"{option} {pair}: {method!r} does not take part", next_step="add it to --methods")
        found[method].append(f"{name}={value}")
    return found
