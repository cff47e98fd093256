"""The pictures of a dataset, decoded ahead of whoever encodes them: in threads, or in processes where a GPU waits."""

from collections.abc import Generator, Sequence
from contextlib import closing

from PIL import Image

from deepbinaries.datasets import Dataset
from deepbinaries.errors import Error
from deepbinaries.features.in_order import in_order
from deepbinaries.vision import read_picture
from deepbinaries.vision.decoders import Decoders
from deepbinaries.vision.pixels import Picture

CHUNK = 8  # pictures a process is given at a time, so that it seldom waits for us

Decoded = Picture | str  # or the reason why it cannot be read


def decode_in_threads(
    dataset: Dataset, rows: Sequence[int], *, at_least: int | None, workers: int, ready: int
) -> Generator[Image.Image | str, None, None]:
    """The picture of each row, in order; no more than `ready` wait in memory beside those being decoded."""

    def decode(row: int) -> Image.Image | str:
        try:
            return read_picture(dataset.picture(row), name=dataset.ids[row], at_least=at_least)
        except (Error, OSError) as error:
            return str(error)

    return in_order(decode, rows, workers=workers, ahead=ready + workers)


def decode_in_processes(
    dataset: Dataset, rows: Sequence[int], *, at_least: int | None, workers: int, ready: int
) -> Generator[Decoded, None, None]:
    """The same as bare pixels, decoded by other processes; the files are still read here, by threads."""
    decoders = Decoders(workers)

    def decode(some: Sequence[int]) -> list[Decoded]:
        found: dict[int, Decoded] = {}
        files: dict[int, bytes] = {}
        for row in some:
            try:
                files[row] = dataset.picture(row)
            except (Error, OSError) as error:
                found[row] = str(error)
        answers = decoders.read([(dataset.ids[row], file) for row, file in files.items()], at_least=at_least)
        found.update(zip(files, answers, strict=True))
        return [found[row] for row in some]

    chunks = [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]
    # Processes end before threads do: a thread may be waiting for one of them.
    with closing(in_order(decode, chunks, workers=workers, ahead=-(-ready // CHUNK) + workers)) as decoded, decoders:
        for pictures in decoded:
            yield from pictures
