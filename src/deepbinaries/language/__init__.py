"""Sentences: words, vocabularies, bags of words, concepts.

>>> vocabulary = Vocabulary.from_sentences(["a dog", "a dog on a beach", "the beach"], minimum_count=2)
>>> vocabulary.encode(["A dog!"]).tolist()
[[3, 5, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]]
>>> print(vocabulary.reading("Weihnachtsmarkt on a beach"))
'Weihnachtsmarkt', 'on' are unknown; used: a, beach
"""

from deepbinaries.language.bag_of_words import count_words
from deepbinaries.language.concepts import Concepts, mine_concepts
from deepbinaries.language.stop_words import LITTLE_WORDS, STOP_WORDS
from deepbinaries.language.tokens import TokenSettings, collapse, words
from deepbinaries.language.vocabulary import EOS, PAD, UNK, Reading, Vocabulary

__all__ = [
    "EOS",
    "LITTLE_WORDS",
    "PAD",
    "STOP_WORDS",
    "UNK",
    "Concepts",
    "Reading",
    "TokenSettings",
    "Vocabulary",
    "collapse",
    "count_words",
    "mine_concepts",
    "words",
]
