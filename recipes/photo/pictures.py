"""Packs the photographs of coco18's `extra.jsonl` into shards like coco18's own, so that they can be trained on.

    python -m recipes.photo.pictures REPOSITORY DATA/coco18/extra.jsonl --out DATA/extra

REPOSITORY is a clone, bare or not, of the public repository `alanburzevski/comp5329_asm2`, in which the photograph N
is `data/N.jpg`. Only the ids that `extra.jsonl` lists are read.
"""

import argparse
import io
import json
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from PIL import Image

from deepbinaries.files import read_lines
from deepbinaries.progress import track
from deepbinaries.vision import read_picture

LONGEST = 256  # pixels, as coco18's
QUALITY = 48  # about the bytes that coco18 spends on a photograph
SHARD = 2000  # photographs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("listing", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    items = [json.loads(line) for line in read_lines(options.listing)]
    ids, texts = [item["id"] for item in items], [item["text"] for item in items]
    pictures = stored_pictures(options.repository, ids)
    packed = zip(ids, texts, track(pictures, "packing", total=len(ids)), strict=True)
    for number in range(-(-len(ids) // SHARD)):
        with tarfile.open(options.out / f"extra-{number:03}.tar", "w", format=tarfile.USTAR_FORMAT) as shard:
            for _, (id_, text, picture) in zip(range(SHARD), packed, strict=False):
                add(shard, f"{id_}.avif", smaller(picture))
                add(shard, f"{id_}.json", json.dumps({"text": text}).encode())


def stored_pictures(repository: Path, ids: Iterable[str]) -> Iterator[bytes]:
    """The files of these photographs, in this order, straight from the store of git."""
    command = ["git", "-C", str(repository), "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as git:  # noqa: S603
        if git.stdin is None or git.stdout is None:
            raise SystemExit("git gave no pipe to ask it through")
        for id_ in ids:
            git.stdin.write(f"HEAD:data/{int(id_)}.jpg\n".encode())
            git.stdin.flush()
            header = git.stdout.readline().split()
            if len(header) != 3:
                raise SystemExit(f"{repository} has no data/{int(id_)}.jpg; clone it in full")
            yield git.stdout.read(int(header[2]))
            git.stdout.read(1)  # the line end after the content


def smaller(picture: bytes) -> bytes:
    """The photograph as AVIF, its longest side 256 pixels at most."""
    image = read_picture(picture)
    image.thumbnail((LONGEST, LONGEST), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, "AVIF", quality=QUALITY, speed=6)
    return file.getvalue()


def add(shard: tarfile.TarFile, name: str, content: bytes) -> None:
    """One member of a shard, without anything of this machine in it."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    shard.addfile(member, io.BytesIO(content))


if __name__ == "__main__":
    main()
