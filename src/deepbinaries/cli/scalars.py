"""The figures of a training for TensorBoard, where that is installed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deepbinaries.errors import MissingExtraError


@contextmanager
def scalars(folder: Path | None) -> Iterator[Callable[[dict[str, Any]], None]]:
    """What writes the numbers of a log entry for `tensorboard --logdir FOLDER`; without a folder it writes nothing."""
    if folder is None:
        yield lambda _: None
        return
    writer = writer_class()(str(folder))

    def write(entry: dict[str, Any]) -> None:
        for name, value in entry.items():
            if name != "epoch" and isinstance(value, int | float):
                writer.add_scalar(name, value, entry["epoch"])
        writer.flush()  # a training is watched while it runs

    try:
        yield write
    finally:
        writer.close()


def writer_class() -> Any:
    """TensorBoard's own writer, which needs no torch; one clear line where it is not installed."""
    try:
        from tensorboard.summary import Writer
    except ModuleNotFoundError as missing:
        raise MissingExtraError(missing.name or "tensorboard", "tensorboard") from missing
    return Writer
