"""Features: region features of pictures and token ids of sentences, computed once and kept on disk."""

from deepbinaries.features.encoding import PictureEncoder
from deepbinaries.features.inputs import POSITION, Images, Pairs, Texts
from deepbinaries.features.pictures import prepare_images
from deepbinaries.features.prepared import Prepared, prepare
from deepbinaries.features.region_array import RegionArray
from deepbinaries.features.store import FeatureStore
from deepbinaries.features.texts import all_sentences, prepare_texts, read_texts, text_of, without_known_words

__all__ = [
    "POSITION",
    "FeatureStore",
    "Images",
    "Pairs",
    "PictureEncoder",
    "Prepared",
    "RegionArray",
    "Texts",
    "all_sentences",
    "prepare",
    "prepare_images",
    "prepare_texts",
    "read_texts",
    "text_of",
    "without_known_words",
]
