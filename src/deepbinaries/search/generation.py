"""One generation, open: the catalogue, and the codes of pictures and of sentences."""

import threading
from pathlib import Path

from deepbinaries.index import EmbeddedIndex
from deepbinaries.index.around import Selection
from deepbinaries.search.catalogue import PICTURES, SENTENCES, Catalogue
from deepbinaries.search.filters import Filter
from deepbinaries.search.layout import generation_facts

KEPT = 8  # filters whose items are remembered


class Generation:
    """All that one model has made of the photographs. Several threads may read it; one process writes."""

    def __init__(self, home: Path, *, bits: int | None = None, writable: bool = False):
        self.home, self.facts = home, generation_facts(home)
        self._selecting = threading.Lock()
        self._selections: dict[tuple[str, Filter], tuple[tuple[int, int], Selection]] = {}
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

    def is_replaced(self) -> bool:
        """Whether its folder holds something else by now: it was removed and made anew, or put back from a copy."""
        return self.catalogue.database.is_replaced()

    def close(self) -> None:
        self.catalogue.close()
        for index in self.indexes.values():
            index.close()

    def selection(self, kind: str, where: Filter) -> Selection:
        """The items that a filter lets through. Those of the last few filters are kept until something changes."""
        index = self.indexes[kind]
        if not where:
            return index.select()
        state = self.catalogue.database.version, index.version
        with self._selecting:
            self._let_go(kind, state)
            known = self._selections.pop((kind, where), None)
            if known is None:
                ids = self.catalogue.ids_where(where, kind)
                if kind == SENTENCES:  # those of which no word is known have no code
                    ids = [id_ for id_ in ids if id_ in index]
                known = state, index.select(ids)
            self._selections[kind, where] = known  # the last one of a dictionary is the youngest
            while len(self._selections) > KEPT:
                del self._selections[next(iter(self._selections))]
            return known[1]

    def _let_go(self, kind: str, state: tuple[int, int]) -> None:
        """Forget selections of earlier states, which keep their files open."""
        for key, (earlier, _) in list(self._selections.items()):
            if earlier[0] != state[0] or (key[0] == kind and earlier != state):
                del self._selections[key]

    def settle(self) -> None:
        """Remove the codes of pending ids that have no rows: those of a change that ends here or was cut short."""
        for kind, index in self.indexes.items():
            if pending := self.catalogue.pending(kind):
                index.remove(sorted(pending - self.catalogue.known(kind, pending)))
                self.catalogue.settle(kind)
