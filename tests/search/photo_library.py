"""Photographs that are drawn, and what tests do with them."""

import numpy as np
from PIL import Image
from plain_model import PlainFolder

from deepbinaries.errors import Error
from deepbinaries.search import Collection, index_folder
from deepbinaries.vision.originals import read_original
from deepbinaries.vision.reader_worker import made_of
from deepbinaries.vision.readers import Found, _made

RED, GREEN, BLUE = (220, 30, 30), (30, 220, 30), (30, 30, 220)


def draw(path, colour, seed=0):
    """A picture of one colour, with a coarse grain by which it looks like no other."""
    rng = np.random.default_rng(seed)
    grain = np.kron(rng.integers(-25, 26, (8, 9, 1)), np.ones((8, 8, 1), dtype=int))
    pixels = np.clip(np.array(colour) + grain, 0, 255).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


class Library:
    """Photographs, and what is done with them."""

    def __init__(self, root):
        self.root, self.by = root, PlainFolder()
        root.mkdir()

    def index(self, **settings):
        return index_folder(self.root, settings.pop("by", self.by), workers=1, progress=False, **settings)

    def open(self):
        return Collection(self.root, model=self.by)

    def paths(self, sentence, **options):
        """The first paths of what a sentence finds."""
        with self.open() as collection:
            return [hit.paths[0] for hit in collection.by_text(sentence, **options).hits]

    def content(self):
        """Everything that the index holds, but for times: ids with their codes, files, sentences."""
        with self.open() as collection:
            generation = collection._current()
            catalogue = generation.catalogue
            codes = {
                kind: {id_: index.codes_of([id_]).digest for id_ in index.ids()}
                for kind, index in generation.indexes.items()
            }
            files = {f.path: (f.size, f.changed, f.id, f.reason, f.said) for f in catalogue.files()}
            return codes, files, {id_: catalogue.thumbnail(id_) for id_ in catalogue.ids()}


class ReadersInThread:
    """Stands for `Readers`: starting a process for each run would take most of a test's time."""

    def __init__(self, n):
        del n

    def read(self, path, wanted):
        try:
            original = read_original(path)
        except Error as error:
            return None, str(error)
        found = Found(original.size, original.changed, original.id)
        what = wanted(found)
        return found, what and _made(*made_of(original, what.at_least, what.side))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass
