"""A model that is opened when it is first needed: looking after files that did not change needs none."""

import threading
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepbinaries.model_folder import config_digest, read_folder

if TYPE_CHECKING:
    from deepbinaries.model import Model


class LazyModel:
    """A model's folder. What it is made of is read at once, its networks with the first call of `get`."""

    def __init__(
        self,
        folder: str | Path,
        *,
        device: str = "auto",
        backbone_weights: str | Path | None = None,
        proposer_path: str | Path | None = None,
    ):
        self.folder = Path(folder)
        self._settings: dict[str, Any] = {
            "device": device,
            "backbone_weights": backbone_weights,
            "proposer_path": proposer_path,
        }
        self._opening = threading.Lock()
        self._model: Model | None = None

    @cached_property
    def config(self) -> dict[str, Any]:
        """What the folder says of the model, its files proven."""
        return read_folder(self.folder)

    @property
    def fingerprint(self) -> str:
        """A digest of everything that decides about its codes."""
        return config_digest(self.config)

    @property
    def facts(self) -> dict[str, Any]:
        """What an index notes of the model that made it."""
        return {"folder": str(self.folder.resolve()), "method": self.config["method"], "bits": self.config["bits"]}

    @property
    def bits(self) -> int:
        """The length of a code."""
        return int(self.config["bits"])

    def get(self) -> "Model":
        """The model, opened once, whichever thread asks first."""
        with self._opening:
            if self._model is None:
                from deepbinaries.model import Model

                self._model = Model.from_pretrained(self.folder, **self._settings)
            return self._model
