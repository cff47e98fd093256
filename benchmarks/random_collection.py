"""A collection of photographs that are nowhere, for benchmarks of what is asked of one."""

from pathlib import Path

import numpy as np

from deepbinaries.codes import Codes
from deepbinaries.search import LazyModel
from deepbinaries.search.catalogue import PICTURES, File, Item
from deepbinaries.search.generation import Generation
from deepbinaries.search.layout import claim_generation, make_folder
from deepbinaries.search.relevance import estimate


def random_collection(folder: Path, model: LazyModel, n: int) -> Path:
    """The index of n of them, with random codes."""
    place, root = folder / "index", folder / "photographs"
    root.mkdir()
    place.mkdir()
    layout = make_folder(place, root)
    layout.write()
    home = claim_generation(layout, model.fingerprint, model.facts)
    rng = np.random.default_rng(0)
    ids = [digest.tobytes().hex() for digest in rng.integers(0, 256, (n, 16), dtype=np.uint8)]
    generation = Generation(home, bits=model.bits, writable=True)
    index = generation.indexes[PICTURES]
    index.replace(ids, Codes.from_values(rng.standard_normal((n, model.bits))))
    generation.catalogue.put(
        [File(f"{row % 100}/{row}.jpg", 1, 1, "2024-05-31T18:00:00", id_) for row, id_ in enumerate(ids)],
        [
            Item(id_, 640, 480, None, look.tobytes())
            for id_, look in zip(ids, rng.integers(0, 256, (n, 8), dtype=np.uint8), strict=True)
        ],
    )
    generation.catalogue.note(null=estimate(index, model.get()).to_json(), null_of=index.version)
    generation.close()
    layout.switched_to(home.name)
    return place
