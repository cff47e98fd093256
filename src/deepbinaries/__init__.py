"""Photographs and sentences as short binary codes, so that one finds the other.

>>> import deepbinaries
>>> codes = deepbinaries.Codes.from_values([[0.3, -1.2, 0.0], [-0.1, 2.0, 0.4]])
>>> codes.to_bits().tolist()
[[1, 0, 1], [0, 1, 1]]
"""

from deepbinaries.codes import Codes
from deepbinaries.errors import Error

__version__ = "0.1.0"

__all__ = ["Codes", "Error", "__version__"]
