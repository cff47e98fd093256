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
STEPS = 16  # of an epoch; many fewer teach little
SMALLEST_BATCH = 32


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
    left_out: tuple[str, ...]  # a line for each setting that was given and has no part in the training

    def make(self, device: str, combination: dict[str, Any]) -> Any:
        """The hasher with these settings and those of a combination."""
        from deepbinaries.registry import METHODS

        settings = self.settings | combination
        for name in _without_part(self.method, settings):
            settings.pop(name, None)
        hasher = METHODS.load(self.method).preset(self.method, device=device, **settings)
        if check_regions := getattr(hasher, "check_regions", None):
            check_regions(self.vision.keep)
        return hasher

    def fitted_to(self, n_pairs: int, usual_batch: int) -> "Recipe":
        """The same with smaller batches where few pairs would make few steps, unless the batch is settled.

        It is by whoever chose it, and by a preset that promises its paper to the letter.
        """
        from deepbinaries.registry import METHODS

        promised = self.method in getattr(METHODS.load(self.method), "to_the_letter", ())
        if promised or any("batch" in settings for settings in (self.settings, *self.grid)):
            return self
        return self._replace(settings=self.settings | {"batch": fitting_batch(n_pairs, usual_batch)})


def fitting_batch(n_pairs: int, usual: int) -> int:
    """The usual batch, or a smaller one where an epoch would have few steps.

    Its batches are then of one size: targets that are found for a handful of pairs, left over for a last batch, undo
    what the others taught.

    >>> [fitting_batch(n_pairs, 512) for n_pairs in (27, 450, 1_800, 13_500)]
    [32, 33, 113, 512]
    """
    steps = max(1, min(STEPS, n_pairs // SMALLEST_BATCH))
    return min(usual, max(SMALLEST_BATCH, -(-n_pairs // steps)))


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
    given = parse_settings(settings, known)
    if bits is not None and given.setdefault("bits", bits) != bits:
        raise UsageError(f"--bits {bits} and --set bits={given['bits']} differ", next_step="leave out one of the two")
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
    grid, left_out = _without_idle(method, chosen, grid)
    return Recipe(method, chosen, grid, VisionSettings(**seeing), *_text(**text), left_out)


def _text(*, read: str = Read.FIRST, words: int = 12) -> tuple[Read, int]:
    if read not in list(Read):
        raise unknown_name("way to read", read, list(Read))
    return Read(read), words


def _without_idle(
    method: str, chosen: dict[str, Any], grid: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The combinations without settings that have no part in them, each once, and a line for each such setting."""
    trainings: list[dict[str, Any]] = []
    lines = []
    for combination in grid or [{}]:
        settings = chosen | combination
        idle = {name: why for name, why in _without_part(method, settings).items() if name in settings}
        for name, why in idle.items():
            settings_class(method)(**{name: settings[name]})  # nonsense is refused all the same
            lines.append(f"{name} has no part in {why}" + (", which is tried once" if name in combination else ""))
        training = {name: value for name, value in combination.items() if name not in idle}
        if training not in trainings:
            trainings.append(training)
    return trainings if grid else [], tuple(dict.fromkeys(lines))


def _without_part(method: str, settings: dict[str, Any]) -> dict[str, str]:
    """The settings that decide nothing beside these, each with what it has no part in."""
    from deepbinaries.registry import METHODS

    ask = getattr(METHODS.load(method), "without_part", None)
    return ask(method, **settings) if ask else {}


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
