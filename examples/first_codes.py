"""From sentences to codes to a number that can be trusted, in a page.

Sentences become counts of words, a random projection and a sign make 128 bits of each, and a sentence
finds sentences about the same things. Nothing is learnt here: this is the floor for every method that is.
"""

import numpy as np

from deepbinaries import Codes, datasets
from deepbinaries.codes import top_k
from deepbinaries.datasets.protocols import make_split
from deepbinaries.evaluation import evaluate_parts
from deepbinaries.language import STOP_WORDS, Vocabulary, count_words

BITS = 128

scenes = datasets.load("scenes", items=2000)
split = make_split("fraction:0.1", scenes)
parts = split.parts(scenes)
gallery = parts.gallery("clean")
sentences = {row: split.sentence(scenes, row) for row in range(len(scenes.ids))}

every_word = Vocabulary.from_sentences([sentences[row] for row in parts.train])
vocabulary = Vocabulary([word for word in every_word.words if word not in STOP_WORDS])  # "behind" is about nothing


def words_of(rows: np.ndarray) -> np.ndarray:
    """The counts of known words in some rows' sentences, (rows, words)."""
    return count_words([sentences[row] for row in rows], vocabulary, normalise=True)


usual = words_of(parts.train).mean(axis=0)
projection = np.random.default_rng(0).normal(size=(len(vocabulary.words), BITS))


def encode(rows: np.ndarray) -> Codes:
    """The codes of some rows' sentences."""
    return Codes.from_values((words_of(rows) - usual) @ projection)


queries, stored = encode(parts.query), encode(gallery)

for query in (0, 1):
    print(f'\n"{sentences[parts.query[query]]}" finds')
    found = top_k(queries[query], stored, k=3)
    for row, distance in zip(found.rows[0], found.distances[0], strict=True):
        print(f'  {distance:2d} bits away: "{sentences[gallery[row]]}"')

report = evaluate_parts(queries, stored, scenes, parts, kind="clean", direction="text_to_text")
print(f"\n{report}")
