"""Which sentences ask in figure 4: labels alone decide."""

from types import SimpleNamespace

import numpy as np

from deepbinaries.datasets import Labels
from deepbinaries.experiments.paper.answers import rare_queries

GALLERY = [["dog"]] * 5 + [["cat"]] * 3 + [["cow"]]
ASKED = [["dog", "cat"], ["dog"], ["dog"], ["cow"], ["cat"]]
PARTS = SimpleNamespace(
    labels=Labels.from_names(ASKED + GALLERY),
    query=np.arange(len(ASKED)),
    gallery=lambda _: np.arange(len(ASKED), len(ASKED) + len(GALLERY)),
)


def test_the_rarest_labels_ask_that_fill_a_row_and_none_twice():
    assert rare_queries(PARTS, sentences=2, pictures=3).tolist() == [4, 1]  # three cats, five dogs
    assert rare_queries(PARTS, sentences=1, pictures=1).tolist() == [3]


def test_where_no_label_fills_a_row_the_nearest_to_it_ask():
    assert rare_queries(PARTS, sentences=9, pictures=6).tolist() == [0, 1, 4, 3]
