import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.datasets.tagged_text import text_between


def test_a_tag_that_is_not_there_gives_nothing():
    assert text_between("<A>x</A>", "B") is None


def test_an_empty_tag_gives_an_empty_text():
    assert text_between("<A></A>", "A") == ""


def test_the_first_of_two_tags_counts():
    assert text_between("<A>x</A><A>y</A>", "A") == "x"


def test_capitals_do_not_matter():
    assert text_between("<Alt> x </ALT>", "alt") == "x"


def test_a_text_without_an_end_goes_on_to_the_next_line_with_a_tag():
    assert text_between("<A>x\ny\n<B>z</B>", "A") == "x y"


def test_a_text_without_an_end_at_the_end_of_the_file_is_kept():
    assert text_between("<A>x < y", "A") == "x < y"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("&lt;b&gt;", "<b>"), ("&amp;lt;", "&lt;"), ("&#233;&#xE9;", "éé"), ("a & b &copy; &x=1", "a & b &copy; &x=1")],
)
def test_the_entities_of_xml_are_resolved_once_and_nothing_else(written, meant):
    assert text_between(f"<A>{written}</A>", "A") == meant


def test_many_tags_without_an_end_take_linear_time():
    start = time.perf_counter()
    text_between("<A>" * 300_000, "A")
    assert time.perf_counter() - start < 2


@given(st.text())
def test_any_text_between_tags_comes_back_on_one_line(text):
    found = text_between(f"<A>{text.replace('<', '').replace('&', '')}</A>", "A")
    assert found == " ".join(text.replace("<", "").replace("&", "").split())
