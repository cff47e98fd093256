import io
import json

import pytest
from PIL import Image

from deepbinaries.datasets import Record, Records, Split
from deepbinaries.datasets.base import PictureFile, Skips
from deepbinaries.datasets.check import check
from deepbinaries.datasets.contact_sheet import contact_sheet


@pytest.fixture
def album(tmp_path):
    """Five pictures: `e` is the very picture of `a`, `d` is broken."""
    for name, colour in {"a": "red", "b": "green", "c": "blue", "e": "red"}.items():
        Image.new("RGB", (40, 30), colour).save(tmp_path / f"{name}.png")
    (tmp_path / "d.png").write_bytes(b"not a picture")

    def record(name, sentence, *labels):
        return Record(name, PictureFile(tmp_path / f"{name}.png"), (sentence,), labels)

    skips = Skips(strict=False)
    skips.add("no caption", "metadata.jsonl, line 9")
    return Records(
        "album",
        [
            record("a", "a red wall", "wall"),
            record("b", "a green lawn", "lawn"),
            record("c", "the blue sky", "sky"),
            record("d", "a red wall", "wall"),
            record("e", "a wall", "wall"),
        ],
        skips=skips,
    )


@pytest.fixture
def parts(album):
    return Split("album", query=("a", "c"), database=("b", "d", "e"), train=("d", "e")).parts(album)


def test_items_sentences_and_labels_are_counted(album):
    facts = check(album).facts
    assert facts["dataset"]["items"] == 5
    assert facts["sentences"]["count"] == 5
    assert facts["sentences"]["words"] == {"mean": 2.8, "median": 3.0, "longest": 3}
    assert facts["labels"]["frequency"] == {"wall": 3, "lawn": 1, "sky": 1}


def test_a_broken_picture_is_a_problem_named_by_id(album):
    findings = check(album)
    assert list(findings.facts["pictures"]["broken"]) == ["d"]
    assert any("1 pictures cannot be read (first: d)" in problem for problem in findings.problems)


def test_equal_pictures_are_found_by_content(album):
    assert any("a = e" in remark for remark in check(album).remarks)


def test_a_query_picture_in_the_training_part_is_a_leak(album, parts):
    assert any(
        "1 query pictures are also training pictures: a = e" in problem for problem in check(album, parts).problems
    )


def test_a_query_sentence_in_the_training_part_is_counted(album, parts):
    assert check(album, parts).facts["split"]["queries_with_a_training_sentence"] == 1


def test_a_label_that_only_queries_have_is_reported(album, parts):
    remarks = check(album, parts).remarks
    assert any("1 labels are asked for but not in the database: sky" in remark for remark in remarks)
    assert any("1 queries have nothing relevant in the gallery 'database'" in remark for remark in remarks)


def test_chance_is_reported_for_every_gallery(album, parts):
    galleries = check(album, parts).facts["split"]["galleries"]
    assert galleries["database"] == {"items": 3, "chance": round(2 / 6, 4), "queries_without_positives": 1}
    assert galleries["clean"]["items"] == 1


def test_what_a_reader_left_out_is_repeated_with_its_reason(album):
    assert "1 left out: no caption (first: metadata.jsonl, line 9)" in check(album).remarks


def test_only_the_asked_pictures_are_opened(album):
    assert check(album, pictures=[0, 1]).problems == []


def test_a_leak_that_was_not_looked_for_is_not_denied(album, parts):
    findings = check(album, parts, pictures=[])
    assert findings.facts["split"]["query_pictures_in_training"] is None
    assert any("leaks may go unnoticed" in remark for remark in findings.remarks)


def test_a_split_without_queries_is_a_problem_and_still_json(album):
    parts = Split("album", query=(), database=("a", "b")).parts(album)
    findings = check(album, parts, pictures=[])
    assert any("nothing in its query list" in problem for problem in findings.problems)
    json.dumps(findings.to_json(), allow_nan=False)


def test_a_contact_sheet_shows_pictures_and_names_broken_ones(album):
    sheet = contact_sheet(album, range(5), columns=5)
    assert sheet.getpixel((122, 122)) == (255, 0, 0)
    assert sheet.getpixel((122 + 234, 122)) == (0, 128, 0)
    buffer = io.BytesIO()
    sheet.save(buffer, "PNG")
    assert buffer.tell() > 0
