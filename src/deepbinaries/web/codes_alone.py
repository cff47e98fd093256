"""An index of codes without photographs, as the server answers from it and changes it."""

from collections.abc import Sequence
from typing import Any

from deepbinaries.errors import CorruptIndexError, DataError
from deepbinaries.index import EmbeddedIndex, Index
from deepbinaries.web.code_search import check_codes, packed_codes, warm_up
from deepbinaries.web.photographs import absent
from deepbinaries.web.refusals import RefusedError


class CodesAlone:
    """Codes under ids."""

    def __init__(self, index: Index, *, writable: bool):
        self.index, self.writable = index, writable

    def item(self, id_: str) -> dict[str, Any]:
        """An item with its code."""
        return {"id": id_, "code": self.code_of(id_).hex()}

    def code_of(self, id_: str) -> bytes:
        """The packed code of an item."""
        try:
            return bytes(self.index.codes_of([id_]).packed[0])
        except CorruptIndexError:
            raise
        except DataError:
            raise absent(id_) from None

    def replace(self, ids: Sequence[str], codes: Sequence[bytes]) -> None:
        """Give items these codes; when this returns they are safe on the disk."""
        self._may_change()
        check_codes(codes, self.index.bits)
        self.index.replace(ids, packed_codes(codes, self.index.bits))

    def remove(self, id_: str) -> None:
        """Remove an item."""
        self._may_change()
        if not self.index.remove([id_]):
            raise absent(id_)

    def warm_up(self) -> None:
        """Load the compiled search, which a first query would wait for; elsewhere see that the index answers."""
        if isinstance(self.index, EmbeddedIndex):
            warm_up(self.index)
        else:
            len(self.index)

    def close(self) -> None:
        """Let go of the index."""
        self.index.close()

    def _may_change(self) -> None:
        if not self.writable:
            raise RefusedError(409, "this server only reads its index", next_step="start it with a token")
