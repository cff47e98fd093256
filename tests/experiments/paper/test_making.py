"""What is missing of a table is told in as few words as say it."""

from small_pieces import piece

from deepbinaries.experiments.paper.making import _in_short

PIECES = [piece(name, bits) for name in ("one", "two") for bits in (8, 16)]


def test_a_row_and_a_length_of_which_nothing_is_there_are_named_once():
    assert _in_short(PIECES[:2], PIECES) == ["one"]
    assert _in_short(PIECES[1::2], PIECES) == ["16 bits"]
    assert _in_short(PIECES[:3], PIECES) == ["one", "8 bits"]
    assert _in_short(PIECES[:1], PIECES) == ["one, 8 bits, seed 0"]


def test_a_row_that_is_learnt_once_is_there_at_all_lengths():
    pieces = [piece("for all", 8), *PIECES[:2]]
    assert _in_short(PIECES[1:2], pieces) == ["one, 16 bits, seed 0"]
