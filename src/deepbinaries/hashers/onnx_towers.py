"""The two networks of a trained deep method as ONNX files, without torch: they encode and can learn nothing more.

image.onnx   (n, K + 1, d + 4) features of regions -> (n, bits)
text.onnx    (n, length) token ids, or (n, words) counts of words -> (n, bits)
"""

import copy
import dataclasses
import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.files import read_bytes, read_json, write_json, written_whole
from deepbinaries.hashers.views import matrix
from deepbinaries.onnx_files import ALL_CORES, MAX_BYTES, cores, first_line, open_network

FORMAT = "deepbinaries-onnx-towers"
VERSION = 1
IMAGE, TEXT = "image.onnx", "text.onnx"
READS = ("tokens", "counts")
BATCH = 1024  # rows that are computed at once by all cores,
SHARE = 32  # or by one, while others compute others: the same ones however many cores there are


@dataclass(frozen=True)
class TowerFacts:
    """What the networks are given and what they give."""

    bits: int
    width: int  # features of a region, its position not counted
    n_words: int  # of the vocabulary, special tokens counted
    reads: str = "tokens"  # what the text network is given: "tokens", or "counts" of words
    one_by_one: bool = False  # quantised networks scale by all they are given: items must not meet in one batch
    outputs: int = 0  # what the networks give, of which the first `bits` are the code; 0: just these

    def __post_init__(self) -> None:
        numbers = (self.bits, self.width, self.n_words)
        if any(type(number) is not int or number < 1 for number in numbers) or self.reads not in READS:
            raise ValueError(f"{self} describes no networks")
        if type(self.outputs) is not int or (self.outputs and self.outputs < self.bits):
            raise ValueError(f"{self.outputs} outputs are no {self.bits} bits")


class OnnxTowers:
    """A hasher that was trained elsewhere."""

    def __init__(self, facts: TowerFacts, image: bytes, text: bytes, folder: Path = Path()):
        self.facts = facts
        self._files = {IMAGE: image, TEXT: text}
        # A sentence is little work: handing it out to several threads would take longer.
        self._image = _Network(image, folder / IMAGE, threads=ALL_CORES, step=1 if facts.one_by_one else BATCH)
        self._text = _Network(text, folder / TEXT, threads=1, step=1 if facts.one_by_one else SHARE)

    @property
    def bits(self) -> int:
        return self.facts.bits

    def first(self, bits: int) -> "OnnxTowers":
        """The same networks, of whose outputs only the first ones count."""
        if not 1 <= bits <= self.bits:
            raise UsageError(f"{self.bits} bits have no first {bits}", next_step=f"give 1 to {self.bits}")
        short = copy.copy(self)  # the sessions are shared
        short.facts = dataclasses.replace(self.facts, bits=bits, outputs=self._outputs)
        return short

    @property
    def _outputs(self) -> int:
        return self.facts.outputs or self.bits

    def fit(self, pairs: Pairs) -> NoReturn:  # noqa: ARG002
        """Refuse: the networks are all that was kept of the method."""
        raise UsageError("an exported model cannot learn", next_step="train the one that it was exported from")

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The networks' outputs, (n, bits); the signs are the codes."""
        if isinstance(batch, Images):
            if batch.width != self.facts.width:
                raise DataError(
                    f"these pictures have {batch.width} features a region, the model was trained on {self.facts.width}",
                    next_step="prepare them with the model's own backbone",
                )
            return self._image.run(batch.regions, np.float32, self._outputs)[:, : self.bits]
        if batch.n_words != self.facts.n_words:
            raise DataError(
                f"these sentences are of {batch.n_words:,} words, the model knows {self.facts.n_words:,}",
                next_step="encode sentences with the model's own vocabulary",
            )
        if self.facts.reads == "counts":
            return self._text.run(matrix(batch), np.float32, self._outputs)[:, : self.bits]
        return self._text.run(batch.tokens, np.int32, self._outputs)[:, : self.bits]

    def save(self, folder: str | Path) -> None:
        """Write both networks, and `hasher.json` with what they are and their digests."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self._files.items():
            with written_whole(folder / name) as file:
                file.write(content)
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in self._files.items()}
        facts = {"format": FORMAT, "version": VERSION, **dataclasses.asdict(self.facts), "files": digests}
        write_json(facts, folder / "hasher.json", indent=1)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:  # noqa: ARG003
        """Read what `save` wrote; anything else is refused. These networks are small: they run on the CPU."""
        folder = Path(folder)
        stated = read_json(folder / "hasher.json")
        contents = {name: read_bytes(folder / name, limit=MAX_BYTES) for name in (IMAGE, TEXT)}
        try:
            if (stated["format"], stated["version"]) != (FORMAT, VERSION):
                raise ValueError(f"{stated['format']} version {stated['version']} is not {FORMAT} version {VERSION}")
            for name, content in contents.items():
                if stated["files"][name] != hashlib.sha256(content).hexdigest():
                    raise ValueError(f"the digest of {name} is another one")
            fields = dataclasses.fields(TowerFacts)
            # Networks of earlier releases give as many numbers as there are bits, and do not say so.
            known = {"outputs": 0, **stated}
            facts = TowerFacts(**{field.name: known[field.name] for field in fields})
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{folder} holds no whole networks ({error})", next_step="copy or export them again"
            ) from error
        return cls(facts, contents[IMAGE], contents[TEXT], folder)


class _Network:
    """An ONNX file with one input and one output."""

    def __init__(self, content: bytes, path: Path, *, threads: int, step: int):
        self._path, self._step = path, step
        self._session = open_network(content, path, threads=threads)
        self._at_once = cores() if threads == 1 else 1  # calls; each of them takes so many threads
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            raise DataError(f"{path} takes {len(inputs)} inputs, not one", next_step="export the model again")
        self._input = inputs[0].name

    def run(self, array: Any, kind: type[np.generic], width: int) -> NDArray[np.float32]:
        def run_some(start: int) -> NDArray[np.float32]:
            return self._run_some(np.ascontiguousarray(array[start : start + self._step], dtype=kind), width)

        starts = range(0, len(array), self._step)
        if min(self._at_once, len(starts)) < 2:
            parts = list(map(run_some, starts))
        else:
            with ThreadPoolExecutor(self._at_once) as threads:
                parts = list(threads.map(run_some, starts))
        return np.concatenate([np.empty((0, width), dtype=np.float32), *parts])

    def _run_some(self, some: NDArray[Any], width: int) -> NDArray[np.float32]:
        try:
            (values,) = self._session.run(None, {self._input: some})[:1]
        except Exception as error:  # onnxruntime's errors have no family of their own
            raise DataError(
                f"{self._path} cannot encode {some.shape} ({first_line(error)})",
                next_step="give what this model's own encoder and vocabulary make",
            ) from error
        if values.shape != (len(some), width):
            raise DataError(
                f"{self._path} gives {values.shape}, not {(len(some), width)}", next_step="export the model again"
            )
        found: NDArray[np.float32] = values.astype(np.float32, copy=False)
        return found
