"""Packs coco18, iapr22 and the further pairs of `extra.jsonl` with their photographs as large as they were published.

    python -m recipes.photo.pictures DATA --coco REPOSITORY --iapr REPOSITORY --out FULL

DATA holds coco18 and iapr22 as shards of thumbnails of 4 kB: colours and small things are hard to tell in them. The
REPOSITORIES are clones, bare or not, of the public `alanburzevski/comp5329_asm2` (`data/N.jpg`, 320 pixels) and of
`VISHESH1234567/Explainability_IntegratedGradients_LIME` (`iaprtc12/images/00/25.jpg`, 480 pixels). Only ids that are in
DATA already, or in `extra.jsonl`, are read. FULL then holds coco18, iapr22 and extra like DATA, with 320 pixels.
"""

import argparse
import io
import json
import multiprocessing
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from deepbinaries.errors import DataError
from deepbinaries.files import read_lines
from deepbinaries.progress import track
from deepbinaries.vision import read_picture

LONGEST = 320  # pixels
QUALITY = 45  # of AVIF; 6 kB a photograph
SHARD = 2000  # photographs of `extra`


@dataclass(frozen=True)
class Shard:
    """A file to write: what is said about every photograph, by its id, and the repository that holds them."""

    path: Path
    facts: dict[str, bytes]
    repository: Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--coco", type=Path, required=True)
    parser.add_argument("--iapr", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    shards = [
        *like(options.data / "coco18", options.out / "coco18", options.coco),
        *like(options.data / "iapr22", options.out / "iapr22", options.iapr),
        *listed(options.data / "coco18" / "extra.jsonl", options.out / "extra", options.coco),
    ]
    with multiprocessing.get_context("spawn").Pool() as pool:
        for _ in track(pool.imap_unordered(pack, shards), "packing", total=len(shards)):
            pass


def like(folder: Path, out: Path, repository: Path) -> Iterator[Shard]:
    """The shards of a folder, to be written again with other photographs; its split and labels are copied."""
    out.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.json"):
        shutil.copyfile(file, out / file.name)
    for path in sorted(folder.glob("*.tar")):
        with tarfile.open(path) as tar:
            names = [member.name for member in tar if member.name.endswith(".json")]
            facts = {name.removesuffix(".json"): _content(tar, name) for name in names}
        yield Shard(out / path.name, facts, repository)


def _content(tar: tarfile.TarFile, name: str) -> bytes:
    member = tar.extractfile(name)
    return b"" if member is None else member.read()


def listed(listing: Path, out: Path, repository: Path) -> Iterator[Shard]:
    """Shards of the pairs that a listing names."""
    out.mkdir(parents=True, exist_ok=True)
    items = [json.loads(line) for line in read_lines(listing)]
    for number in range(-(-len(items) // SHARD)):
        some = items[number * SHARD : (number + 1) * SHARD]
        facts = {item["id"]: json.dumps({"text": item["text"]}).encode() for item in some}
        yield Shard(out / f"extra-{number:03}.tar", facts, repository)


def pack(shard: Shard) -> None:
    """Write a shard; one that is there already is whole."""
    if shard.path.exists():
        return
    unfinished = shard.path.with_suffix(".part")
    with tarfile.open(unfinished, "w", format=tarfile.USTAR_FORMAT) as tar:
        for id_, picture in zip(shard.facts, stored_pictures(shard.repository, shard.facts), strict=True):
            add(tar, f"{id_}.avif", smaller(picture))
            add(tar, f"{id_}.json", shard.facts[id_])
    unfinished.replace(shard.path)


def stored_pictures(repository: Path, ids: Iterable[str]) -> Iterator[bytes]:
    """The files of these photographs, in this order, straight from the store of git."""
    command = ["git", "-C", str(repository), "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as git:  # noqa: S603
        if git.stdin is None or git.stdout is None:
            raise DataError("git gave no pipe to ask it through", next_step="try again")
        for id_ in ids:
            git.stdin.write(f"HEAD:{path_of(id_)}\n".encode())
            git.stdin.flush()
            header = git.stdout.readline().split()
            if len(header) != 3:
                raise DataError(f"{repository} has no {path_of(id_)}", next_step="clone it in full")
            yield git.stdout.read(int(header[2]))
            git.stdout.read(1)  # the line end after the content


def path_of(id_: str) -> str:
    """Where a photograph lies in its repository.

    >>> path_of("30000"), path_of("00-25")
    ('data/30000.jpg', 'iaprtc12/images/00/25.jpg')
    """
    folder, _, number = id_.partition("-")
    return f"iaprtc12/images/{folder}/{number}.jpg" if number else f"data/{int(id_)}.jpg"


def smaller(picture: bytes) -> bytes:
    """The photograph as AVIF, its longest side 320 pixels at most."""
    image = read_picture(picture)
    image.thumbnail((LONGEST, LONGEST), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, "AVIF", quality=QUALITY, speed=8)
    return file.getvalue()


def add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    """One member of a shard, without anything of this machine in it."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


if __name__ == "__main__":
    main()
