"""Which sentences ask in figure 4, how they were chosen, and what all queries find."""

from types import SimpleNamespace

import numpy as np
import pytest

from deepbinaries.datasets import Labels
from deepbinaries.experiments.paper.answers import (
    CHOICE,
    FIRST,
    RARE,
    SHAPE,
    _n_relevant,
    _precision,
    _sheets,
    asking,
    rare_queries,
)
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
    "bits": 128,
    "precision": 0.75,
    "chance": 0.3,
    "queries": 1200,
    "searched": 4000,
    "answers": [
        {
            "id": id_,
            "sentence": text,
            "chosen": chosen,
            "found": [{"id": "c", "distance": 1, "shared": ["cat"]}, {"id": "d", "shared": []}],
        }
        for id_, text, chosen in (("a", "a cat that sits on a mat", FIRST), ("b", "two dogs", RARE))
    ],
}


def test_sentences_stand_in_the_caption_of_their_choice_and_short_names_in_the_head():
    first, rare = _sheets([LINE])
    assert list(first.head) == ["method", "sentence 1"]
    assert list(rare.head) == ["method", "sentence 2"]
    assert first.caption == (
        "Of the 2 nearest pictures, those that share a label with the first queries of the split; "
        "sentence 1: “a cat that sits on a mat”."
    )
    assert [cell.text for cell in rare.rows[0]] == ["TVDB", "1"]
    assert not first.is_wide


def test_what_all_queries_find_stands_beside_with_length_gallery_and_chance():
    sheet = _precision([LINE, LINE | {"row": "SCM", "precision": 0.5}])
    assert [[cell.text for cell in row] for row in sheet.rows] == [["TVDB", ".750"], ["SCM", ".500"]]
    assert [row[1].strong for row in sheet.rows] == [True, False]
    assert sheet.caption.startswith("All 1,200 queries: the share of relevant pictures among the 2 nearest")
    assert sheet.caption.endswith("128 bits, gallery clean of 4,000 pictures, chance .300.")


def test_both_choices_of_sentences_are_shown_and_it_is_told_which_was_made_late():
    shown = asking(PARTS, sentences=2, pictures=3)
    assert {chosen: rows.tolist() for chosen, rows in shown.items()} == {FIRST: [0, 1], RARE: [4, 1]}
    assert "the rule was made after the first queries had been seen" in CHOICE


def test_a_picture_is_relevant_that_shares_a_label():
    assert _n_relevant(PARTS).tolist() == [8, 5, 5, 1, 3]


@pytest.mark.parametrize("answers", [None, [], [{"id": "a"}], [LINE["answers"][0] | {"found": [{"id": 1}]}]])
def test_a_line_whose_answers_are_none_is_no_line(answers):
    assert fits(LINE, SHAPE)
    assert not fits(LINE | {"answers": answers}, SHAPE)


def test_the_rarest_labels_ask_that_fill_a_row_and_none_twice():
    assert rare_queries(PARTS, sentences=2, pictures=3).tolist() == [4, 1]  # three cats, five dogs
    assert rare_queries(PARTS, sentences=1, pictures=1).tolist() == [3]


def test_where_no_label_fills_a_row_the_nearest_to_it_ask():
    assert rare_queries(PARTS, sentences=9, pictures=6).tolist() == [0, 1, 4, 3]
