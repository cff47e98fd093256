"""What a training is made of: the defaults, what a file of settings says over them, and the options over both."""

import dataclasses
import typing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deepbinaries.cli.settings import parse_grid, parse_settings, parse_table, read_tables
from deepbinaries.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from deepbinaries.vision.encoder import VisionSettings

TABLES = ("method", "vision", "text")  # of a file of settings


class Read(StrEnum):
    """What is read of an item that has several sentences."""

    FIRST = "first"
    WHOLE = "whole"


class Recipe(NamedTuple):
    """The settings of a training."""

    method: str
    settings: dict[str, Any]  # of the method
    grid: list[dict[str, Any]]  # combinations of more settings, of which the best is to be chosen
    vision: "VisionSettings"
    read: Read
    words: int

    def make(self, device: str, combination: dict[str, Any]) -> Any:
        """The hasher with these settings and those of a combination."""
        from deepbinaries.registry import METHODS

        hasher = METHODS.load(self.method).preset(self.method, device=device, **self.settings | combination)
        if check_regions := getattr(hasher, "check_regions", None):
            check_regions(self.vision.keep)
        return hasher


def read_recipe(
    path: Path | None,
    method: str | None,
    bits: int | None,
    settings: list[str] | None,
    tuned: list[str] | None,
    vision: list[str] | None,
    read: Read | None,
    words: int | None,
) -> Recipe:
    """The recipe of the options of `deepbinaries train`; None is an option that was not given."""
    from deepbinaries.registry import check_settings
    from deepbinaries.vision.encoder import VisionSettings

    tables = read_tables(path, TABLES)
    method_of_file = tables["method"].pop("name", "tvdb")
    method = method or method_of_file
    known = settings_class(method)
    given = ({} if bits is None else {"bits": bits}) | parse_settings(settings, known)
    grid = parse_grid(tuned, known)
    check_settings(known, given | (grid[0] if grid else {}), of=repr(method))
    for name in given.keys() & (grid[0].keys() if grid else ()):
        raise UsageError(f"{name} is both set and tuned", next_step="leave out one of the two")
    chosen = {"bits": 64} | parse_table(tables["method"], known, of=f"[method] in {path}") | given
    seeing = _vision_of(method, [chosen | combination for combination in grid or [{}]])
    seeing |= parse_table(tables["vision"], VisionSettings, of=f"[vision] in {path}")
    seeing |= parse_settings(vision, VisionSettings)
    check_settings(VisionSettings, seeing, of="vision")
    text = parse_table(tables["text"], _text, of=f"[text] in {path}")
    text |= {name: value for name, value in (("read", read), ("words", words)) if value is not None}
    return Recipe(method, chosen, grid, VisionSettings(**seeing), *_text(**text))


def _text(*, read: str = Read.FIRST, words: int = 12) -> tuple[Read, int]:
    if read not in list(Read):
        raise unknown_name("way to read", read, list(Read))
    return Read(read), words


def _vision_of(method: str, settings: list[dict[str, Any]]) -> dict[str, Any]:
    """How a method wants pictures to be seen, where it has a wish that is the same with all of these settings."""
    from deepbinaries.registry import METHODS

    wish = getattr(METHODS.load(method), "vision", None)
    wishes = [wish(method, **some) for some in settings] if wish else [{}]
    return {name: value for name, value in wishes[0].items() if all(other.get(name) == value for other in wishes)}


def settings_class(method: str) -> Any:
    """The settings that a method knows."""
    from deepbinaries.registry import METHODS

    hasher = METHODS.load(method)
    if not hasattr(hasher, "preset"):
        raise UsageError(f"the method {method!r} has no `preset`", next_step="see deepbinaries.hashers.tvdb for one")
    kind = getattr(hasher, "kind", None) or typing.get_type_hints(hasher.__init__).get("settings")
    if not dataclasses.is_dataclass(kind):
        raise UsageError(
            f"the method {method!r} does not say what its settings are", next_step="see deepbinaries.hashers.tvdb"
        )
    return kind
