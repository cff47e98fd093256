"""One generation, open: the catalogue, and the codes of pictures and of sentences."""

from pathlib import Path

from deepbinaries.index import EmbeddedIndex
from deepbinaries.search.catalogue import PICTURES, SENTENCES, Catalogue
from deepbinaries.search.layout import generation_facts


class Generation:
    """All that one model has made of the photographs. Several threads may read it; one process writes."""

    def __init__(self, home: Path, *, bits: int | None = None, writable: bool = False):
        self.home, self.facts = home, generation_facts(home)
        opened: list[Catalogue | EmbeddedIndex] = []
        try:
            self.catalogue = Catalogue(home, writable=writable)
            opened.append(self.catalogue)
            self.indexes = {}
            for kind in (PICTURES, SENTENCES):
                self.indexes[kind] = EmbeddedIndex(home / kind, bits=bits, writable=writable)
                opened.append(self.indexes[kind])
            if writable:
                self.settle()
        except BaseException:
            for part in opened:
                part.close()
            raise

    @property
    def bits(self) -> int:
        """The length of a code."""
        return self.indexes[PICTURES].bits

    def close(self) -> None:
        self.catalogue.close()
        for index in self.indexes.values():
            index.close()

    def settle(self) -> None:
        """Remove the codes of pending ids that have no rows: those of a change that ends here or was cut short."""
        for kind, index in self.indexes.items():
            if pending := self.catalogue.pending(kind):
                index.remove(sorted(pending - self.catalogue.known(kind, pending)))
                self.catalogue.settle(kind)
