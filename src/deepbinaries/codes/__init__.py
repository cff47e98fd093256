"""Binary codes: packed bits and exact Hamming distance. Nothing here knows where codes come from."""

from deepbinaries.codes.answers import Neighbours, Within
from deepbinaries.codes.bits import MAX_BITS, pack, sign, unpack
from deepbinaries.codes.codes import Codes, concatenate
from deepbinaries.codes.files import load, save
from deepbinaries.codes.gallery import Gallery
from deepbinaries.codes.hamming import (
    all_distances,
    distances,
    histograms,
    rowwise_distances,
    top_k,
    top_k_with_ties,
    within,
)

__all__ = [
    "MAX_BITS",
    "Codes",
    "Gallery",
    "Neighbours",
    "Within",
    "all_distances",
    "concatenate",
    "distances",
    "histograms",
    "load",
    "pack",
    "rowwise_distances",
    "save",
    "sign",
    "top_k",
    "top_k_with_ties",
    "unpack",
    "within",
]
