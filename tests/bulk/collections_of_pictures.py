"""Pictures that are drawn, and the slow, obvious way to their codes."""

from pathlib import Path

from PIL import Image

from deepbinaries.bulk import read_shards


def draw_many(folder: Path, n: int, rng) -> None:
    """Pictures of one colour each: `odd/001.png`, `even/002.png`, ..."""
    for number in range(n):
        path = folder / ("odd" if number % 2 else "even") / f"{number:03d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 36), tuple(rng.integers(0, 256, 3).tolist())).save(path)


def content(shards: Path) -> dict[str, bytes]:
    """The code of each id; an id that is there twice is an error."""
    found: dict[str, bytes] = {}
    for shard in read_shards(shards):
        for row, id_ in enumerate(shard.ids):
            assert id_ not in found
            found[id_] = shard.codes.packed[row].tobytes()
    return found


def one_by_one(model, pictures: Path) -> dict[str, bytes]:
    """The same by a plain loop over the files of a folder."""
    opened = model.get()
    files = sorted(pictures.rglob("*.png"))
    return {str(file.relative_to(pictures)): opened.encode_images(file).packed[0].tobytes() for file in files}
