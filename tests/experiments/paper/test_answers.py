"""Which sentences ask in figure 4: labels alone decide."""

from types import SimpleNamespace

import numpy as np
import pytest

from deepbinaries.datasets import Labels
from deepbinaries.experiments.paper.answers import SHAPE, _sheet, rare_queries
from deepbinaries.experiments.paper.shapes import fits

GALLERY = [["dog"]] * 5 + [["cat"]] * 3 + [["cow"]]
ASKED = [["dog", "cat"], ["dog"], ["dog"], ["cow"], ["cat"]]
PARTS = SimpleNamespace(
    labels=Labels.from_names(ASKED + GALLERY),
    query=np.arange(len(ASKED)),
    gallery=lambda _: np.arange(len(ASKED), len(ASKED) + len(GALLERY)),
)


LINE = {
    "row": "TVDB",
    "answers": [
        {
            "id": id_,
            "sentence": text,
            "found": [{"id": "c", "distance": 1, "shared": ["cat"]}, {"id": "d", "shared": []}],
        }
        for id_, text in (("a", "a cat that sits on a mat"), ("b", "two dogs"))
    ],
}


def test_sentences_stand_in_the_caption_and_short_names_in_the_head():
    sheet = _sheet([LINE])
    assert list(sheet.head) == ["method", "sentence 1", "sentence 2"]
    assert sheet.caption == (
        "Of the 2 nearest pictures, those that share a label; "
        "sentence 1: “a cat that sits on a mat”; sentence 2: “two dogs”."
    )
    assert [cell.text for cell in sheet.rows[0]] == ["TVDB", "1", "1"]
    assert not sheet.is_wide


@pytest.mark.parametrize("answers", [None, [], [{"id": "a"}], [LINE["answers"][0] | {"found": [{"id": 1}]}]])
def test_a_line_whose_answers_are_none_is_no_line(answers):
    assert fits(LINE, SHAPE)
    assert not fits(LINE | {"answers": answers}, SHAPE)


def test_the_rarest_labels_ask_that_fill_a_row_and_none_twice():
    assert rare_queries(PARTS, sentences=2, pictures=3).tolist() == [4, 1]  # three cats, five dogs
    assert rare_queries(PARTS, sentences=1, pictures=1).tolist() == [3]


def test_where_no_label_fills_a_row_the_nearest_to_it_ask():
    assert rare_queries(PARTS, sentences=9, pictures=6).tolist() == [0, 1, 4, 3]
