"""A demo with very few scenes and very small networks: what its page holds, and what its folder may not."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from deepbinaries.cli import main
from deepbinaries.errors import UsageError
from deepbinaries.experiments.demo import DemoSettings, run_demo
from deepbinaries.experiments.demo_folder import FILES, claim
from deepbinaries.experiments.demo_page import page
from deepbinaries.model import Model
from deepbinaries.vision.encoder import VisionSettings

TINY = DemoSettings(
    items=60,
    bits=16,
    vision=VisionSettings(side=64, keep=4),
    training={"hidden": 16, "fc": 16, "maps": 8, "batch": 16, "epochs": 2},
)
HOSTILE = """<script>alert("1")</script><img src='https://example.org/x' onerror=alert(2)>"""


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    """Where all demos here keep their features, so that they are made once."""
    return tmp_path_factory.mktemp("features")


@pytest.fixture(scope="module")
def told() -> list[str]:
    return []


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("demos") / "demo"


@pytest.fixture(scope="module")
def findings(out, features, told):
    return run_demo(out, TINY, device="cpu", features=features, tell=told.append)


@pytest.fixture(scope="module")
def html(findings, out) -> str:
    assert findings
    return (out / "report.html").read_text()


class Tags(HTMLParser):
    """The tags of a page with their attributes; a tag that is not closed in its place is a mistake."""

    EMPTY = ("meta", "img", "br", "rect", "path", "circle", "image", "polyline")

    def __init__(self, html: str):
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_demo_leaves_the_files_it_lists_and_nothing_else(findings, out):
    assert findings
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert files == set(FILES) == set(json.loads((out / "demo.json").read_text())["files"])


def test_the_model_can_be_used(findings, out):
    assert findings
    assert Model.from_pretrained(out / "model", device="cpu").encode_texts("a dog").bits == 16


@pytest.mark.parametrize("id_", ["results", "sentences", "pictures", "curves", "training", "regions", "made"])
def test_the_page_has_every_section(html, id_):
    assert len(re.findall(f'<h2 id="{id_}">', html)) == 1


def test_the_page_is_well_formed_and_every_picture_has_a_text(html):
    pictures = [attributes for tag, attributes in Tags(html).found if tag == "img"]
    assert len(pictures) == 3 * 6 + 3 * (1 + 6)
    assert all(picture["alt"] for picture in pictures)


def test_the_page_needs_no_network_and_no_script(html):
    assert "http:" not in html
    assert "https:" not in html
    assert "script" not in {tag for tag, _ in Tags(html).found}


def test_the_page_is_small(out, html):
    assert html
    assert (out / "report.html").stat().st_size < 1_500_000


def test_the_table_holds_the_scores_of_both_methods_and_chance(findings, html):
    table = html[html.index("<table>") : html.index("</table>")]
    for reports in findings.scores.values():
        for report in reports.values():
            assert f"<td>{report.mean:.3f} <small>" in table
    assert table.count('<th scope="row">chance</th>') == 2


def test_what_is_found_is_in_the_order_of_distances(findings):
    for answer in (*findings.by_sentence, *findings.by_picture):
        distances = [hit.distance for hit in answer.pictures]
        assert distances == sorted(distances)
        for hit in (*answer.pictures, *answer.sentences):
            assert set(hit.shared) == set(hit.item.labels) & set(answer.query.labels)


def test_regions_are_numbered_from_one_on(html):
    figure = html[html.index('<figure class="regions">') :]
    assert re.findall(r"<text[^>]*>(\d+)</text>", figure) == ["1", "2", "3", "4"]


def test_a_hostile_sentence_is_shown_and_not_obeyed(findings):
    def spoilt(answers):
        return [
            replace(
                answer,
                query=replace(answer.query, sentence=HOSTILE, labels=(HOSTILE,)),
                sentences=[
                    replace(hit, item=replace(hit.item, sentence=HOSTILE), shared=(HOSTILE,))
                    for hit in answer.sentences
                ],
            )
            for answer in answers
        ]

    by_sentence, by_picture = spoilt(findings.by_sentence), spoilt(findings.by_picture)
    html = page(
        replace(
            findings,
            by_sentence=by_sentence,
            by_picture=by_picture,
            looked_at=by_picture[0].query,
            facts={HOSTILE: HOSTILE},
            next_steps=HOSTILE,
        )
    )
    assert {"script"}.isdisjoint(tag for tag, _ in Tags(html).found)
    assert not any("onerror" in attributes for _, attributes in Tags(html).found)
    assert "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;" in html


def test_stages_are_told_with_their_times(findings, told):
    assert findings
    assert [bool(re.match(r" *\d+ s  \w", line)) for line in told] == [True] * 7
    assert told[-1].endswith("done")


def test_a_second_demo_writes_over_the_first_with_the_same_result(findings, out, features):
    before = {path: path.read_bytes() for path in (out / "model").iterdir()}
    again = run_demo(out, TINY, device="cpu", features=features, tell=lambda _: None)
    assert {path: path.read_bytes() for path in before} == before
    assert again.by_sentence[0].query.sentence == findings.by_sentence[0].query.sentence


@pytest.mark.parametrize("name", ["holiday.jpg", "model/notes.txt", "pictures/1.jpg"])
def test_a_folder_with_a_foreign_file_is_refused_and_left_as_it_is(tmp_path, name):
    claim(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match="which no demo wrote"):
        run_demo(tmp_path, TINY, device="cpu")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("manifest", [None, "[]", "{", '{"format": "deepbinaries-demo", "files": 3}'])
def test_a_folder_without_the_word_of_a_demo_is_refused(tmp_path, manifest):
    (tmp_path / "report.html").write_text("mine")
    if manifest is not None:
        (tmp_path / "demo.json").write_text(manifest)
    with pytest.raises(UsageError, match="which no demo wrote"):
        claim(tmp_path)
    assert (tmp_path / "report.html").read_text() == "mine"


def test_an_empty_folder_is_taken(tmp_path):
    claim(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["demo.json"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "demo").write_text("mine")
    with pytest.raises(UsageError, match="is no folder"):
        claim(tmp_path / "demo")


def test_a_device_that_is_not_there_is_refused_before_anything_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit) as left:
        main(["demo", "--device", "cuda", "--out", str(tmp_path / "demo")])
    assert left.value.code == 2
    assert "torch finds no GPU here" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_too_few_items_are_refused_on_the_command_line(tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main(["demo", "--items", "59", "--out", str(tmp_path / "demo")])
    assert left.value.code == 2
    assert "at least 60" in capsys.readouterr().err
    assert not (tmp_path / "demo").exists()


def test_the_command_tells_scores_as_data_and_where_to_look(tmp_path, features, monkeypatch, capsys):
    from deepbinaries.experiments import demo as module

    monkeypatch.setattr(module, "DemoSettings", lambda items, seed: replace(TINY, items=items, seed=seed))
    monkeypatch.setattr(
        module, "run_demo", lambda *arguments, **named: run_demo(*arguments, **named, features=features)
    )
    with pytest.raises(SystemExit) as left:
        main(["demo", "--items", "60", "--out", str(tmp_path / "demo"), "--device", "cpu"])
    assert left.value.code == 0
    printed = capsys.readouterr()
    rows = [line.split("\t") for line in printed.out.splitlines()]
    assert {row[0] for row in rows} == {"TVDB", "CVH"}
    assert f"Look at {tmp_path / 'demo/report.html'}" in printed.err
    assert f"encode {tmp_path / 'demo/model'}" in printed.err
