"""A model that ends its own process, as a machine that is short of memory would, and what it is made of."""

import os
import signal
from pathlib import Path

from deepbinaries.search import LazyModel


class DyingModel(LazyModel):
    """The model in a folder; the first time that any worker has encoded `after` batches by it, that worker dies."""

    def __init__(self, folder, died: Path, *, after: int):
        super().__init__(folder)
        self._dying = (folder, died, after)

    def __reduce__(self):
        folder, died, after = self._dying
        return _dying, (folder, died, after)

    def get(self):
        model, (_, died, after) = super().get(), self._dying
        encode, batches = model.encode_images, []

        def encode_or_die(pictures, **options):
            batches.append(len(pictures))
            if len(batches) > after and not died.exists():
                died.write_text(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)
            return encode(pictures, **options)

        model.encode_images = encode_or_die
        return model


def _dying(folder, died, after):
    return DyingModel(folder, died, after=after)
