"""Models that come with the package, each a folder here, called by its name wherever a model is asked for."""

from pathlib import Path

from deepbinaries.errors import UsageError, unknown_name

SHELF = Path(__file__).parent
DEFAULT = "photo"  # what looks at photographs where nothing else was asked for
CONFIG = "config.json"  # of a model's folder


def names() -> list[str]:
    """The models that are there, in the order of their names."""
    return sorted(path.parent.name for path in SHELF.glob(f"*/{CONFIG}"))


def default() -> str | None:
    """The name of the model for whoever names none; None in a package without it."""
    return DEFAULT if DEFAULT in names() else None


def name_of(place: Path) -> str | None:
    """The name of the model in a folder, if it came with the package."""
    return place.name if place.parent == SHELF else None


def place_of(model: str | Path) -> Path:
    """The folder of a model: of a text that is a name, the one that comes with the package; else the given one.

    A folder of one's own that is called like a model of the package is written with its path, `./photo`. A lone word
    that is neither is refused.

    >>> place_of("models/mine").as_posix()
    'models/mine'
    >>> place_of("pohto")
    Traceback (most recent call last):
        ...
    deepbinaries.errors.UsageError: no model is called 'pohto', and no folder either; ...
    """
    if isinstance(model, str) and model in names():
        return SHELF / model
    place = Path(model)
    if isinstance(model, str) and model == place.name and not place.exists():
        raise _unknown(model)
    return place


def _unknown(name: str) -> UsageError:
    there = names()
    nearest = unknown_name("model", name, there)
    step = nearest.next_step if there else "give the folder of a trained model; none comes with this package"
    return UsageError(f"{nearest.problem}, and no folder either", next_step=step)
