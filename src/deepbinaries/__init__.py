"""Photographs and sentences as short binary codes, so that one finds the other.

>>> import deepbinaries
>>> codes = deepbinaries.Codes.from_values([[0.3, -1.2, 0.0], [-0.1, 2.0, 0.4]])
>>> codes.to_bits().tolist()
[[1, 0, 1], [0, 1, 1]]
"""

from typing import TYPE_CHECKING, Any

from deepbinaries.errors import Error

if TYPE_CHECKING:
    from deepbinaries.codes import Codes

__version__ = "0.1.0"

__all__ = ["Codes", "Error", "__version__"]


def __getattr__(name: str) -> Any:
    """`Codes`, imported when it is first asked for: processes that read photographs start without numpy."""
    if name != "Codes":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from deepbinaries.codes import Codes

    return Codes
