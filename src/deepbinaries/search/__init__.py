"""Search: a collection of photographs, found by a sentence or by a picture."""

from deepbinaries.search.answers import Answer, Hit, Photograph
from deepbinaries.search.collection import Collection
from deepbinaries.search.filters import Filter
from deepbinaries.search.indexing import Report, index_folder
from deepbinaries.search.models import LazyModel
from deepbinaries.search.queries import Part, Unknown, parse

__all__ = [
    "Answer",
    "Collection",
    "Filter",
    "Hit",
    "LazyModel",
    "Part",
    "Photograph",
    "Report",
    "Unknown",
    "index_folder",
    "parse",
]
