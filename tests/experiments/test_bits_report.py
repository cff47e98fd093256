from itertools import combinations

import numpy as np
import pytest

from deepbinaries.codes import Codes
from deepbinaries.experiments.bits import recommendation, searching, write
from deepbinaries.experiments.scores import BOTH


def lines(scores, *, gallery="clean", chance=0.1, width=0.05):
    """Lines of lengths by what pictures and sentences earn as queries."""
    return [
        {
            "bits": bits,
            "gallery": gallery,
            "direction": direction,
            "map_all": score,
            "interval": [score - width, score + width],
            "chance": chance,
            "tie_width": 0.02,
            "tie_mass": 0.01,
            "bytes": bits // 8,
            "bytes_in_memory": 8,
            "milliseconds": 0.5,
            "items": 100,
        }
        for bits, both in scores.items()
        for direction, score in zip(BOTH, both, strict=True)
    ]


def test_the_mass_of_ties_is_the_share_of_pairs_that_are_equally_far():
    rng = np.random.default_rng(0)
    queries, gallery = rng.integers(0, 2, (3, 5)), rng.integers(0, 2, (12, 5))
    tied = [
        np.sum(query != one) == np.sum(query != other) for query in queries for one, other in combinations(gallery, 2)
    ]
    cost = searching(Codes.from_bits(queries), Codes.from_bits(gallery))
    assert cost["tie_mass"] == pytest.approx(np.mean(tied))


def test_a_gallery_of_one_item_has_no_ties():
    codes = Codes.from_bits([[0, 1]])
    assert searching(codes, codes)["tie_mass"] == 0


@pytest.mark.parametrize(("bits", "stored", "in_memory"), [(12, 2, 8), (64, 8, 8), (65, 9, 16), (256, 32, 32)])
def test_codes_are_stored_in_bytes_and_searched_in_words(bits, stored, in_memory):
    cost = searching(*[Codes.from_bits(np.zeros((2, bits), int))] * 2)
    assert (cost["bytes"], cost["bytes_in_memory"]) == (stored, in_memory)


def test_the_shortest_length_that_loses_little_is_taken():
    chosen, sentence = recommendation(lines({16: (0.5, 0.5), 32: (0.58, 0.6), 64: (0.59, 0.61), 128: (0.59, 0.61)}))
    assert chosen == 32
    assert sentence == (
        "Take 32 bits: the shortest length whose MAP, the mean of both directions in the gallery clean, "
        "is no more than .010 below the best, .600 at 64 bits."
    )


def test_how_much_may_be_lost_is_a_choice():
    scores = lines({16: (0.5, 0.5), 32: (0.58, 0.6), 64: (0.59, 0.61)})
    assert [recommendation(scores, within=within)[0] for within in (0, 0.01, 0.1)] == [64, 32, 16]


def test_the_longest_length_is_said_to_be_so():
    chosen, sentence = recommendation(lines({16: (0.5, 0.5), 32: (0.6, 0.6)}))
    assert chosen == 32
    assert sentence.startswith("Take 32 bits, the longest that was measured: ")


def test_a_length_that_may_be_chance_in_one_direction_is_not_taken():
    assert recommendation(lines({16: (0.7, 0.14), 32: (0.4, 0.45)}))[0] == 32


def test_where_all_may_be_chance_none_is_taken():
    chosen, sentence = recommendation(lines({16: (0.14, 0.14), 32: (0.1, 0.1)}))
    assert chosen is None
    assert sentence.startswith("Take none of these: in the gallery clean no length is surely better than chance")


def test_the_clean_gallery_decides_where_there_is_one():
    learnt = lines({16: (0.5, 0.5), 32: (0.9, 0.9)}, gallery="database")
    assert recommendation(learnt)[0] == 32
    assert recommendation([*learnt, *lines({16: (0.4, 0.4), 32: (0.4, 0.4)})])[0] == 16


def test_the_row_that_is_taken_is_strong(tmp_path):
    write(lines({16: (0.5, 0.5), 32: (0.6, 0.6)}), tmp_path, "Bits", ["A note."], within=0.01)
    rows = [line for line in (tmp_path / "bits.md").read_text().splitlines() if line.startswith("|")]
    assert rows[2:] == [
        "| 16 | .500 [.450, .550] | .500 [.450, .550] | .020 | .010 | 2 | 8 | 0.500 |",
        "| **32** | **.600 [.550, .650]** | **.600 [.550, .650]** | **.020** | **.010** | **4** | **8** | **0.500** |",
    ]
