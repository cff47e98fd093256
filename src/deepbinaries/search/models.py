"""A model that is opened when it is first needed: looking after files that did not change needs none."""

import threading
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from deepbinaries.errors import DataError, UsageError
from deepbinaries.model_folder import config_digest, read_folder, with_bits
from deepbinaries.pretrained import name_of, place_of

if TYPE_CHECKING:
    from deepbinaries.model import Model


class LazyModel:
    """A model's folder or name. What it is made of is read at once, its networks with the first call of `get`.

    `bits` as for `Model.from_pretrained`.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        bits: int | None = None,
        device: str = "auto",
        backbone_weights: str | Path | None = None,
        proposer_path: str | Path | None = None,
    ):
        self._asked, self.folder = folder, place_of(folder)
        self._settings: dict[str, Any] = {
            "bits": bits,
            "device": device,
            "backbone_weights": backbone_weights,
            "proposer_path": proposer_path,
        }
        self._opening = threading.Lock()
        self._model: Model | None = None

    @cached_property
    def config(self) -> dict[str, Any]:
        """What the folder says of the model, its files proven."""
        return with_bits(read_folder(self.folder), self._settings["bits"])

    def proven(self) -> Self:
        """The same, refused where its folder cannot be trusted or it has no codes of the length that is asked for."""
        _ = self.config
        return self

    @property
    def fingerprint(self) -> str:
        """A digest of everything that decides about its codes."""
        return config_digest(self.config)

    @property
    def facts(self) -> dict[str, Any]:
        """What an index notes of the model that made it."""
        # A model of the package goes by its name: the package may be installed elsewhere tomorrow.
        place = name_of(self.folder) or str(self.folder.resolve())
        return {"folder": place, "method": self.config["method"], "bits": self.config["bits"]}

    @property
    def bits(self) -> int:
        """The length of a code."""
        return int(self.config["bits"])

    def of_bits(self, bits: int) -> "LazyModel":
        """The same model with codes of so many bits."""
        return LazyModel(self._asked, **(self._settings | {"bits": bits}))

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the model for itself, wherever it was started."""
        files = {name: _absolute(self._settings[name]) for name in ("backbone_weights", "proposer_path")}
        place = name_of(self.folder) or self.folder.absolute()
        return partial(LazyModel, place, **(self._settings | files)), ()

    def get(self) -> "Model":
        """The model, opened once, whichever thread asks first."""
        with self._opening:
            if self._model is None:
                from deepbinaries.model import Model

                self._model = Model.from_pretrained(self.folder, **self._settings)
            return self._model


def _absolute(file: str | Path | None) -> str | None:
    """A file, or FILE#sha256=DIGEST, whatever folder is the current one."""
    return None if file is None else str(Path(file).absolute())


def maker(facts: Mapping[str, Any], index: Path, **opened: Any) -> LazyModel:
    """The model that made what an index holds, by what the index notes of it; `opened` as for `LazyModel`."""
    stated, bits = str(facts.get("folder")), facts.get("bits")
    try:
        model = LazyModel(stated, bits=bits, **opened)
    except UsageError:
        model = None
    if model is None or not model.folder.is_dir():
        raise DataError(
            f"the model that {index} was made by is not in {stated} any more", next_step="say where it is with --model"
        )
    return model
