"""Weights that their publishers offer for download. Nothing here runs unless a user asks for them by name."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.error import URLError
from urllib.request import urlopen

from deepbinaries.errors import DataError, Error, unknown_name
from deepbinaries.files import cache_folder, written_whole
from deepbinaries.progress import track

CHUNK = 2**20
PATIENCE = 30  # seconds without a byte


@dataclass(frozen=True)
class Published:
    """A file of weights: where it is, and how to know that it is the right one."""

    url: str
    sha256: str
    n_bytes: int
    licence: str


PUBLISHED = {
    "alexnet": Published(
        url="https://download.pytorch.org/models/alexnet-owt-7be5be79.pth",
        sha256="7be5be791159472b1fbf3c69796f7cb30dca7ad8466c2df70058c37116cdee02",
        n_bytes=244_408_911,
        licence="BSD-3-Clause (torchvision); trained on ImageNet, whose terms are for research",
    )
}


def kept_at(name: str) -> Path:
    """Where the file of these weights lies once it has been fetched."""
    if name not in PUBLISHED:
        raise unknown_name("published set of weights", name, PUBLISHED)
    return cache_folder() / PUBLISHED[name].url.rpartition("/")[2]


def download(name: str) -> bool:
    """Fetch the published weights of a backbone into the user's cache; False: they were there already."""
    path = kept_at(name)
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as file:
        fetch(PUBLISHED[name], file)
    return True


def fetch(published: Published, file: BinaryIO) -> None:
    """Write the file of that digest; anything else that comes is refused."""
    digest, n_bytes = hashlib.sha256(), 0
    try:
        with urlopen(published.url, timeout=PATIENCE) as answer:  # noqa: S310  (only addresses written above)
            for chunk in track(_chunks(answer), "downloading, MB", total=-(-published.n_bytes // CHUNK)):
                n_bytes += len(chunk)
                if n_bytes > published.n_bytes:
                    break
                digest.update(chunk)
                file.write(chunk)
    except (URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise Error(
            f"{published.url} cannot be read ({reason})",
            next_step="try again later, or fetch it elsewhere and name it as FILE.pth#sha256=DIGEST",
        ) from error
    if n_bytes != published.n_bytes or digest.hexdigest() != published.sha256:
        raise DataError(
            f"{published.url} gave another file than the published one", next_step="try again; nothing was kept"
        )


def _chunks(answer: BinaryIO) -> Iterator[bytes]:
    while chunk := answer.read(CHUNK):
        yield chunk
