"""Proposals that were found earlier, by any detector, looked up by the picture's id.

The file is an `.npz` of four arrays: `ids` (n texts), `offsets` (n + 1 integers), `boxes` (k, 4) as x0, y0, x1, y1 in
shares of width and height, and `confidence` (k,) between 0 and 1. Those of picture i are the rows from offsets[i] to
offsets[i + 1].
"""

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.errors import DataError, UsageError
from deepbinaries.files import written_whole
from deepbinaries.vision.regions import Proposals

MAX_ARRAY_BYTES = 4 * 2**30  # 300 boxes for each of 900,000 pictures
KINDS = {"ids": "U", "offsets": "iu", "boxes": "f", "confidence": "f"}  # of numbers or texts, as numpy calls them


class FromFile:
    """The proposals in a file. `propose` needs the picture's id and looks at nothing else."""

    name = "file"

    def __init__(self, path: Path):
        self._path = path
        arrays = {name: _array(path, name) for name in KINDS}
        ids, self._offsets = arrays["ids"], arrays["offsets"].astype(np.int64)
        try:
            self._all = Proposals(arrays["boxes"].astype(np.float32), arrays["confidence"].astype(np.float32))
        except DataError as error:
            raise DataError(f"{path}: {error.problem}", next_step=error.next_step) from error
        self._rows = {str(id_): row for row, id_ in enumerate(ids.ravel())}
        steps = np.diff(self._offsets, prepend=0)  # the first offset is 0
        ends_right = len(self._offsets) == len(ids) + 1 and self._offsets[-1] == len(self._all.boxes)
        if len(self._rows) != len(ids) or not ends_right or steps[0] != 0 or steps.min() < 0:
            raise DataError(
                f"{path}: its {len(ids):,} ids and its offsets do not divide {len(self._all.boxes):,} boxes",
                next_step="write it with proposers.from_file.write_proposals",
            )
        with path.open("rb") as file:
            self.digest = hashlib.file_digest(file, "sha256").hexdigest()

    def propose(
        self,
        picture: Image.Image,  # noqa: ARG002
        energy: NDArray[np.floating] | None = None,  # noqa: ARG002
        id: str = "",  # noqa: A002
    ) -> Proposals:
        if not id:
            raise UsageError("the proposer 'file' finds boxes by the picture's id", next_step="give propose(..., id=)")
        if id not in self._rows:
            raise DataError(f"{self._path} holds nothing for {id!r}", next_step="propose for the whole dataset again")
        row = self._rows[id]
        part = slice(self._offsets[row], self._offsets[row + 1])
        return Proposals(self._all.boxes[part], self._all.confidence[part])


def write_proposals(proposals: Mapping[str, Proposals], path: Path) -> None:
    """Write the proposals of each id to a file that the proposer `file` reads."""
    of_each = list(proposals.values())
    nothing = Proposals(np.empty((0, 4), np.float32), np.empty(0, np.float32))
    with written_whole(path) as file:
        np.savez(
            file,
            ids=np.array(list(proposals), dtype=np.str_),
            offsets=np.cumsum([0, *(len(one.boxes) for one in of_each)]),
            boxes=np.concatenate([nothing.boxes, *(one.boxes for one in of_each)]),
            confidence=np.concatenate([nothing.confidence, *(one.confidence for one in of_each)]),
        )


def _array(path: Path, name: str) -> NDArray[np.generic]:
    """One array of the file; it holds plain numbers or texts, never Python objects."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
            if archive.getinfo(f"{name}.npy").file_size > MAX_ARRAY_BYTES:
                raise ValueError(f"it has more than {MAX_ARRAY_BYTES:,} bytes")
            array: NDArray[np.generic] = np.lib.format.read_array(file, allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist", next_step="check the path") from None
    except KeyError:
        raise DataError(f"{path} has no array {name!r}", next_step=f"it needs {', '.join(KINDS)}") from None
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, RuntimeError, MemoryError) as error:
        raise DataError(
            f"the array {name!r} of {path} cannot be read ({error})", next_step="write the file again"
        ) from error
    if array.dtype.kind not in KINDS[name] or array.ndim != (2 if name == "boxes" else 1):
        raise DataError(
            f"the array {name!r} of {path} holds {array.dtype} of shape {array.shape}",
            next_step="write the file with proposers.from_file.write_proposals",
        )
    return array
