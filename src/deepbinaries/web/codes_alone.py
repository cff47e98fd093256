"""An index of codes without photographs, as the server answers from it and changes it."""

from collections.abc import Sequence
from typing import Any

from deepbinaries.index import Index
from deepbinaries.web.code_search import check_codes, packed_codes, warm_up
from deepbinaries.web.photographs import absent
from deepbinaries.web.refusals import RefusedError


class CodesAlone:
    """Codes under ids."""

    def __init__(self, index: Index, *, writable: bool):
        self.index, self.writable = index, writable

    def item(self, id_: str) -> dict[str, Any]:
        """The code of an item."""
        if id_ not in self.index:
            raise absent(id_)
        return {"id": id_, "code": self.index.codes_of([id_]).packed[0].tobytes().hex()}

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
        """Load the compiled search, which a first query would wait for."""
        warm_up(self.index)

    def close(self) -> None:
        """Let go of the index."""
        self.index.close()

    def _may_change(self) -> None:
        if not self.writable:
            raise RefusedError(409, "this server only reads its index", next_step="start it with a token")
