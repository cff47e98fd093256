from dataclasses import dataclass
from pathlib import Path

import pytest

from deepbinaries.datasets import check_dataset, load
from deepbinaries.errors import DataError, UsageError


@dataclass
class Root:
    """A folder with the layout of the web queries."""

    path: Path

    def lists(self, labels="0 0 1\n0 1 0\n1 0 1\n", english="0 trumpet\n1 eiffel tower\n"):
        (self.path / "images").mkdir(exist_ok=True)
        (self.path / "metadata").mkdir(exist_ok=True)
        (self.path / "labels.txt").write_text(labels)
        (self.path / "queries_en_trans.txt").write_text(english)
        (self.path / "queries_fr_orig.txt").write_text("0 trompette\n1 tour eiffel\n")

    def document(self, query, number, *, picture=True, **fields):
        tags = {
            "concept": "x",
            "referer": "http://a.example/?x=1&y=2",
            "before": "",
            "after": "",
            "ptitle": "",
            "alt": "",
        }
        inside = "".join(f"<{tag}> {text} </{tag}>\n" for tag, text in (tags | fields).items())
        content = f'<?xml version="1.0" encoding="utf-8"?>\n<documentmeta> {inside}</documentmeta>'
        name = f"query_{query}_document_{number}"
        (self.path / "metadata" / f"{name}_textmeta.xml").write_text(content, encoding="utf-8")
        if picture:
            (self.path / "images" / f"{name}_imagethumb.jpg").write_bytes(f"picture {query}-{number}".encode())

    def load(self, **settings):
        return load("inria-web-queries", self.path, **settings)


@pytest.fixture
def root(tmp_path):
    return Root(tmp_path)


@pytest.fixture
def answers(root):
    """Two pictures for the trumpet, the second of something else, and one for the Eiffel tower."""
    root.lists()
    root.document(0, 0, before="old brass", ptitle="A shop")
    root.document(0, 1, alt="a guitar")
    root.document(1, 0, before="seen from", after="the river")
    return root


def test_items_carry_their_query_as_their_one_label(answers):
    pictures = answers.load()
    assert pictures.ids == ("0-0", "0-1", "1-0")
    assert [pictures.labels.of(row) for row in range(3)] == [("trumpet",), ("trumpet",), ("eiffel tower",)]
    assert pictures.picture(2) == b"picture 1-0"
    check_dataset(pictures)


def test_the_text_is_the_first_field_that_is_not_empty(answers):
    pictures = answers.load()
    assert [pictures.sentences(row) for row in range(3)] == [("A shop",), ("a guitar",), ("seen from the river",)]


def test_the_fields_can_be_chosen(answers):
    pictures = answers.load(text_fields="before", require_text=False)
    assert [pictures.sentences(row) for row in range(3)] == [("old brass",), (), ("seen from",)]


def test_an_unknown_field_is_answered_with_the_known_ones(answers):
    with pytest.raises(UsageError, match="Known: after, alt, before, ptitle"):
        answers.load(text_fields="title")


def test_no_field_at_all_is_refused(answers):
    with pytest.raises(UsageError, match="text_fields is empty"):
        answers.load(text_fields=" , ")


def test_pictures_of_something_else_can_be_left_out(answers):
    pictures = answers.load(relevance="relevant")
    assert pictures.ids == ("0-0", "1-0")
    assert pictures.skips.counts == {"picture that does not show what was asked for": 1}


def test_how_a_picture_was_judged_is_kept(answers):
    assert [record.extra["relevant"] for record in answers.load().records] == [True, False, True]


def test_the_concepts_with_most_items_are_kept(answers):
    pictures = answers.load(top_concepts=1)
    assert pictures.ids == ("0-0", "0-1")
    assert pictures.labels.names == ("trumpet",)
    assert pictures.skips.counts == {"none of the 1 most frequent concepts": 1}


def test_items_without_text_are_counted_or_kept(answers):
    answers.document(0, 1)
    assert answers.load().skips.counts == {"no text": 1}
    assert answers.load(require_text=False).sentences(1) == ()


def test_an_item_without_metadata_has_no_text(answers):
    (answers.path / "metadata" / "query_0_document_1_textmeta.xml").unlink()
    assert answers.load().skips.counts == {"no text": 1}


def test_words_of_the_query_can_be_taken_out_in_both_languages(answers):
    answers.document(0, 0, alt="My TROMPETTE, a trumpet of 1920 (trumpeter)")
    assert answers.load(drop_query_words=True).sentences(0) == ("My , a of 1920 (trumpeter)",)


def test_a_text_of_nothing_but_the_query_gives_way_to_the_next_field(answers):
    answers.document(0, 0, alt="Trumpet!", ptitle="A shop")
    assert answers.load(drop_query_words=True).sentences(0) == ("A shop",)


def test_a_missing_picture_is_counted_or_kept(answers):
    (answers.path / "images" / "query_0_document_1_imagethumb.jpg").unlink()
    assert answers.load().skips.counts == {"no picture file": 1}
    assert answers.load(pictures="optional").ids == ("0-0", "0-1", "1-0")


def test_queries_translated_alike_are_told_apart(answers):
    answers.lists(english="0 tower\n1 tower\n")
    assert answers.load().labels.names == ("tower (0)", "tower (1)")


def test_documents_are_ordered_by_number(answers):
    answers.lists(labels="1 0 1\n0 10 1\n0 9 1\n")
    answers.document(0, 9, alt="nine")
    answers.document(0, 10, alt="ten")
    assert answers.load().ids == ("0-9", "0-10", "1-0")


LINES = {
    "0 7": "line that is not query, document and 0 or 1",
    "0 7 2": "line that is not query, document and 0 or 1",
    "a b c": "line that is not query, document and 0 or 1",
    "nan 0 1": "line that is not query, document and 0 or 1",
    "9 0 1": "document of a query that is not listed",
    "0 0 1": "document listed twice",
}


@pytest.mark.parametrize(("line", "reason"), LINES.items())
def test_a_damaged_line_of_the_labels_is_counted(answers, line, reason):
    answers.lists(labels=f"0 0 1\n\n{line}\n")
    assert answers.load().skips.counts == {reason: 1}


@pytest.mark.parametrize(("line", "reason"), LINES.items())
def test_a_damaged_line_of_the_labels_is_an_error_when_strict(answers, line, reason):
    answers.lists(labels=f"0 0 1\n\n{line}\n")
    with pytest.raises(DataError, match=rf"labels\.txt, line 3: {reason}"):
        answers.load(strict=True)


def test_a_query_without_words_is_counted(answers):
    answers.lists(english="0 trumpet\n1\n")
    assert answers.load().skips.counts == {"query without id or words": 1, "document of a query that is not listed": 1}


def test_metadata_that_is_not_utf_8_is_still_read(answers):
    file = answers.path / "metadata" / "query_0_document_0_textmeta.xml"
    file.write_bytes(b"<documentmeta> <alt> caf\xe9 </alt> </documentmeta>")
    assert answers.load().sentences(0) == ("café",)


def test_entities_are_never_expanded(answers):
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]><documentmeta><alt>&a; &amp; b</alt></documentmeta>'
    (answers.path / "metadata" / "query_0_document_0_textmeta.xml").write_text(bomb)
    assert answers.load().sentences(0) == ("&a; & b",)


def test_metadata_of_absurd_size_is_counted(answers):
    (answers.path / "metadata" / "query_0_document_0_textmeta.xml").write_bytes(b" " * (2**20 + 1))
    assert answers.load().skips.counts == {"text file that cannot be read": 1, "no text": 1}


def test_metadata_of_absurd_size_is_refused_by_name_when_strict(answers):
    (answers.path / "metadata" / "query_0_document_0_textmeta.xml").write_bytes(b" " * (2**20 + 1))
    with pytest.raises(DataError, match=r"query_0_document_0_textmeta\.xml has more than"):
        answers.load(strict=True)


def test_the_folder_inside_the_root_is_found(answers, tmp_path_factory):
    outer = tmp_path_factory.mktemp("outer")
    answers.path.rename(outer / "webqueries")
    assert len(load("inria-web-queries", outer)) == 3


def test_missing_files_are_named_with_the_page(tmp_path):
    with pytest.raises(DataError, match=r"no labels\.txt, queries_en_trans\.txt, .*images; .*lear\.inrialpes\.fr"):
        load("inria-web-queries", tmp_path)
