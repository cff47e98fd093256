"""One training on the command line: what is learnt from, its log, and how it goes on after an interruption."""

import json
from collections.abc import Iterator, Sized
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepbinaries.cli.output import complain, say
from deepbinaries.cli.scalars import scalars
from deepbinaries.cli.together import leads
from deepbinaries.errors import DataError, UsageError
from deepbinaries.files import read_lines, write_json_lines
from deepbinaries.model_folder import LOG

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deepbinaries.datasets import Parts
    from deepbinaries.features import Pairs, Prepared

History = list[dict[str, Any]]  # what each epoch had to say


def has_patience(hasher: Any) -> bool:
    """Whether the validation part decides when a training ends."""
    return getattr(hasher.settings, "patience", None) is not None  # a method without epochs has none


def check_validation(rows: Sized, *, wanted_by: str) -> None:
    """Refuse a split without items to validate by."""
    if not len(rows):
        raise UsageError(
            f"{wanted_by} needs a validation part, which this split lacks", next_step=f"leave {wanted_by} out"
        )


def check_labels(hasher: Any, parts: "Parts", *, held_out: bool) -> None:
    """Refuse labels that this method learns nothing from, before any picture is looked at."""
    if check := getattr(hasher, "check_labels", None):  # not every method reads labels
        check(parts.labels.select(learnt_from(parts, held_out=held_out)))


def learnt_from(parts: "Parts", *, held_out: bool) -> "NDArray[np.int64]":
    """The rows of the training part, with or without those of the validation part."""
    import numpy as np

    return np.setdiff1d(parts.train, parts.validation) if held_out else parts.train


def all_pairs(prepared: "Prepared") -> "Pairs":
    """Everything that may be learnt from."""
    return prepared.pairs(prepared.readable(prepared.parts.train))


def apart(prepared: "Prepared", *, wanted_by: str) -> "tuple[Pairs, Pairs]":
    """The training part without the validation part, and the validation part."""
    import numpy as np

    validation = prepared.readable(prepared.parts.validation)
    check_validation(validation, wanted_by=wanted_by)
    return prepared.pairs(np.setdiff1d(prepared.readable(prepared.parts.train), validation)), prepared.pairs(validation)


def learn(
    hasher: Any,
    pairs: "Pairs",
    validation: "Pairs | None",
    workplace: Path,
    *,
    tensorboard: Path | None = None,
    heading: str = "",
) -> History:
    """Fit the hasher, from its last checkpoint where there is one; what each epoch had to say."""
    path = workplace / LOG
    history = {entry["epoch"]: entry for entry in _read_history(path)} if path.exists() else {}
    with _made(workplace), scalars(tensorboard) as write_scalars:

        def log(entry: dict[str, Any]) -> None:
            history[entry["epoch"]] = entry
            write_json_lines(history.values(), path)
            write_scalars(entry)
            figures = (f"{key} {value:.4g}" for key, value in entry.items() if isinstance(value, int | float))
            say(heading + ", ".join(figures))
            if "warning" in entry:
                complain(f"{heading}epoch {entry['epoch']}: {entry['warning']}")

        hasher.fit(pairs, validation=validation, checkpoints=workplace, log=log)
    return list(history.values())


@contextmanager
def _made(workplace: Path) -> Iterator[None]:
    """A place for what is kept of a training; it goes again where the training ends and keeps nothing to go on from."""
    workplace.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # something is kept in it, or in the place above
            if leads() and [path.name for path in workplace.iterdir()] == [LOG]:
                (workplace / LOG).unlink()  # without a checkpoint beside it, all of it would be trained again
            workplace.rmdir()
            workplace.parent.rmdir()
        raise


def _read_history(path: Path) -> History:
    try:
        return [{**json.loads(line)} for line in read_lines(path)]
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(
            f"{path} is damaged ({error})", next_step=f"remove {path.parent}: this training begins anew"
        ) from error
