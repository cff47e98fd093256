"""`compare` on generated scenes: what is kept, what is not made again, what is refused."""

import json

import numpy as np
import pytest
from small_training import DATA, VISION, run

from deepbinaries.experiments import compare as runner
from deepbinaries.experiments.alone import alone_in
from deepbinaries.experiments.cells import read_cells
from deepbinaries.features import Prepared
from deepbinaries.registry import METHODS

OURS = '''
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Settings:
    bits: int = 8
    sign: float = 1.0


class Brightest:
    """A user's method: it learns nothing and looks at the first features, or words, alone."""

    def __init__(self, settings: Settings = Settings(), *, device: str = "auto"):
        self.settings = settings

    @classmethod
    def preset(cls, name, *, device="auto", **settings):
        return cls(Settings(**settings))

    @property
    def bits(self):
        return self.settings.bits

    def fit(self, pairs):
        return self

    def encode(self, batch):
        rows = batch.whole if hasattr(batch, "whole") else batch.tokens.repeat(self.bits, axis=1)
        return self.settings.sign * (rows[:, : self.bits].astype(np.float32) - 1)
'''


@pytest.fixture
def compare(features, tmp_path, monkeypatch):
    """A comparison of cheap methods on 60 scenes."""
    monkeypatch.chdir(tmp_path)
    looks = [part for setting in VISION for part in ("--vision", setting)]

    def comparing(*arguments, methods="cvh,scm-seq", bits="8,16", texts="counts"):
        options = ("--methods", methods, "--bits", bits, "--texts", texts, "--features", features)
        return run("compare", *DATA, *looks, *options, "--out", tmp_path / "out", *arguments)

    comparing.out = tmp_path / "out"
    return comparing


@pytest.fixture
def fitted(monkeypatch):
    """The methods and lengths that something was learnt for."""
    names, learn = [], runner.learn

    def remember(hasher, *arguments, **named):
        names.append((type(hasher).__name__, hasher.settings.bits))
        return learn(hasher, *arguments, **named)

    monkeypatch.setattr(runner, "learn", remember)
    return names


def table(compare):
    return json.loads((compare.out / "table.json").read_text())


def test_every_method_length_gallery_and_direction_is_one_cell(compare):
    assert compare() == 0
    cells = read_cells(compare.out / "cells.jsonl")
    assert len(cells) == len({(c["method"], c["bits"], c["gallery"], c["direction"]) for c in cells}) == 2 * 2 * 2 * 2
    for cell in cells:
        assert cell["pessimistic"] <= cell["map_all"] <= cell["optimistic"]
        assert cell["interval"][0] <= cell["map_all"] <= cell["interval"][1]
        assert cell["fit"]["seconds"] >= 0
        assert cell["codes"] == "separate"
        assert cell["machine"].keys() >= {"processor", "cores", "device"}
        assert cell["machine"]["jobs"] == 1
        assert cell["settings"]["texts"] == "counts"


def test_what_is_there_is_not_made_again_and_is_told(compare, fitted, capsys):
    assert compare() == 0
    before, shown = (compare.out / "cells.jsonl").read_bytes(), capsys.readouterr().out
    fitted.clear()
    assert compare() == 0
    told = capsys.readouterr()
    assert (fitted, told.out) == ([], shown)
    assert told.err.splitlines() == [
        f"{method}, {bits} bits, seed 0: already there" for method in ("cvh", "scm-seq") for bits in (8, 16)
    ]
    assert (compare.out / "cells.jsonl").read_bytes() == before


def test_an_interrupted_comparison_goes_on_where_it_was(compare, fitted, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(runner, "append_cells", _after(2, runner.append_cells))
        assert compare() == 130
    done = len(read_cells(compare.out / "cells.jsonl"))
    fitted.clear()
    assert compare() == 0
    assert done == 2 * 4
    assert fitted == [("SCM", 8), ("SCM", 16)]


def _after(times, work):
    """The same work, until somebody pulls the plug."""
    calls = []

    def limited(*arguments):
        if len(calls) == times:
            raise KeyboardInterrupt
        calls.append(arguments)
        work(*arguments)

    return limited


def test_a_cell_whose_scores_are_lost_is_made_again(compare, fitted):
    assert compare(methods="cvh", bits="8") == 0
    next((compare.out / "scores").iterdir()).unlink()
    fitted.clear()
    assert compare(methods="cvh", bits="8") == 0
    assert fitted == [("CVH", 8)]


def test_scores_are_those_of_the_cells(compare):
    assert compare(methods="cvh", bits="8") == 0
    for cell in read_cells(compare.out / "cells.jsonl"):
        scores = runner.scores_of(cell, compare.out)
        assert scores.dtype == np.float32
        assert np.nanmean(scores.astype(float)) == pytest.approx(cell["map_all"], abs=1e-6)


def test_a_method_that_draws_nothing_has_one_seed(compare):
    assert compare("--seeds", "0,1", methods="cca,cvh", bits="8") == 0
    assert compare("--seeds", "2", methods="cca", bits="8") == 0
    assert compare("--seeds", "0,1", methods="cca,cvh", bits="8") == 0
    seeds = {(cell["method"], cell["seed"]) for cell in read_cells(compare.out / "cells.jsonl")}
    assert seeds == {("cca", 0), ("cvh", 0), ("cvh", 1)}
    numbers = {row["row"]: row["numbers"][0]["by_seed"] for row in table(compare)["rows"]}
    assert (list(numbers["cca"]), list(numbers["cvh"])) == (["0"], ["0", "1"])


def test_real_values_are_ranked_by_cosine_and_stand_in_every_column(compare, fitted):
    assert compare(methods="cca,plsr", bits="4,8") == 0
    assert fitted == [("CCA", 4), ("CCA", 8), ("PLSR", 4)]
    rows = {row["row"]: [number["bits"] for number in row["numbers"]] for row in table(compare)["rows"]}
    assert rows == {"cca": [4, 4, 8, 8] * 2, "plsr (1280-D)": [4, 4, 8, 8] * 2}
    assert compare(methods="cca,plsr", bits="4,8") == 0
    assert len(fitted) == 3


def test_codes_of_both_views_are_a_row_of_their_own(compare):
    assert compare("--unified", methods="cvh,cmfh", bits="8") == 0
    assert [row["row"] for row in table(compare)["rows"]] == ["cvh", "cmfh", "cmfh, codes of both views"]
    kinds = {(cell["method"], cell["codes"]) for cell in read_cells(compare.out / "cells.jsonl")}
    assert kinds == {("cvh", "separate"), ("cmfh", "separate"), ("cmfh", "unified")}


def test_a_method_may_have_lengths_and_settings_of_its_own(compare, fitted):
    assert compare("--set", "cvh.bits=4", "--set", "cvh.regularisation=0.5") == 0
    assert fitted == [("CVH", 4), ("SCM", 8), ("SCM", 16)]
    (settings,) = {c["settings"]["regularisation"] for c in read_cells(compare.out / "cells.jsonl") if c["bits"] == 4}
    assert settings == 0.5


def test_of_lengths_that_are_given_twice_the_last_count(compare, fitted):
    assert compare("--set", "cvh.bits=4", "--set", "cvh.bits=2", methods="cvh") == 0
    assert fitted == [("CVH", 2)]


def test_a_users_own_class_takes_part(compare, tmp_path):
    (tmp_path / "our_methods.py").write_text(OURS)
    method = "our_methods:Brightest"
    assert compare("--set", f"{method}.sign=-1", methods=f"cvh,{method}", bits="8") == 0
    (own,) = [row for row in table(compare)["rows"] if row["row"] == method]
    assert own["fits"][0]["settings"]["sign"] == -1


@pytest.mark.parametrize(
    ("module", "right", "wrong", "line"),
    [
        ("no_device", 'device="auto", **settings', "**settings", "cannot be made (Settings.__init__() got"),
        ("a_row_less", "rows[:, : self.bits]", "rows[1:, : self.bits]", "Brightest gives values of shape"),
        ("a_column_less", "rows[:, : self.bits]", "rows[:, 1 : self.bits]", "Brightest gives values of shape"),
    ],
)
def test_a_users_own_class_that_breaks_the_contract_is_told_so(compare, tmp_path, capsys, module, right, wrong, line):
    assert right in OURS
    (tmp_path / f"{module}.py").write_text(OURS.replace(right, wrong).replace("name, *, **", "name, **"))
    assert compare(methods=f"{module}:Brightest", bits="8") == 2
    assert line in capsys.readouterr().err


def test_the_best_of_a_column_is_bold_and_the_others_are_compared_with_it(compare):
    assert compare() == 0
    rows = table(compare)["rows"]
    for numbers in zip(*(row["numbers"] for row in rows), strict=True):
        best = max(numbers, key=lambda number: number["map_all"])
        assert [number["best"] for number in numbers] == [number is best for number in numbers]
        for number in numbers:
            assert ("over_reference" in number) == (number is not best)
    assert "**" in (compare.out / "table.md").read_text()


def test_a_named_reference_is_what_the_others_are_compared_with(compare):
    assert compare("--against", "plsr", methods="cvh,plsr", bits="8") == 0
    cvh, plsr = table(compare)["rows"]
    for ours, theirs in zip(cvh["numbers"], plsr["numbers"], strict=True):
        assert theirs["reference"]
        assert ours["over_reference"]["mean"] == pytest.approx(ours["map_all"] - theirs["map_all"], abs=1e-5)


def test_what_is_chosen_on_validation_is_used_and_kept_with_all_that_was_tried(compare, fitted, monkeypatch):
    from deepbinaries.experiments import choosing

    tried, learn = [], choosing.learn
    monkeypatch.setattr(choosing, "learn", lambda *a, **named: (tried.append(named), learn(*a, **named))[1])
    tune = ("--tune", "cvh.regularisation=0.1,10")
    assert compare(*tune, methods="cvh", bits="8") == 0
    cell = read_cells(compare.out / "cells.jsonl")[0]
    assert len(tried) == 2
    assert [row["settings"]["regularisation"] for row in cell["tuning"]["tried"]] == [0.1, 10]
    assert cell["tuning"]["gallery"] == "clean"
    best = max(cell["tuning"]["tried"], key=lambda row: row["mean"])
    assert cell["settings"]["regularisation"] == best["settings"]["regularisation"]
    assert compare(*tune, methods="cvh", bits="8") == 0
    assert (len(tried), len(fitted)) == (2, 1)  # nothing is tried, or learnt, a second time


def test_what_was_tried_under_another_rule_of_ties_is_tried_again(compare):
    tune = ("--tune", "cvh.regularisation=0.1,10")
    for ties in ("best", "worst", "worst"):
        assert compare(*tune, "--ties", ties, methods="cvh", bits="4") == 0
    best, worst = (cells[0]["tuning"]["tried"] for cells in _by_rule(compare).values())
    assert all(more["mean"] > less["mean"] for more, less in zip(best, worst, strict=True))
    assert len((compare.out / "tuning.jsonl").read_text().splitlines()) == 2 * 2


def _by_rule(compare):
    cells = read_cells(compare.out / "cells.jsonl")
    return {rule: [cell for cell in cells if cell["rule"] == rule] for rule in ("all, ties best", "all, ties worst")}


def test_choosing_never_looks_at_queries(compare, monkeypatch):
    from deepbinaries.experiments import choosing

    asked = set()
    for side in ("images", "texts", "pairs"):
        monkeypatch.setattr(Prepared, side, _watched(getattr(Prepared, side), asked))
    score = choosing.score_parts

    def look(hasher, source, **named):
        score(hasher, source, **named)
        assert asked
        assert not asked & set(source.parts.query.tolist())
        raise KeyboardInterrupt

    monkeypatch.setattr(choosing, "score_parts", look)
    assert compare("--tune", "cvh.regularisation=0.1,1", methods="cvh", bits="8") == 130


def _watched(side, asked):
    def take(self, rows):
        asked.update(int(row) for row in rows)
        return side(self, rows)

    return take


def test_learnt_text_features_are_learnt_once_and_kept(compare, capsys):
    assert compare(methods="cvh", bits="8", texts="features") == 0
    assert capsys.readouterr().err.count("learning text features") == 1
    assert compare(methods="cvh", bits="16", texts="features") == 0
    assert "learning text features" not in capsys.readouterr().err
    assert {cell["settings"]["texts"] for cell in read_cells(compare.out / "cells.jsonl")} == {"features"}


def test_results_of_other_data_are_not_taken_for_these(compare, capsys):
    assert compare(methods="cvh", bits="8") == 0
    assert compare("--seed", "1", methods="cvh", bits="8") == 2
    assert "holds cvh at 8 bits for another split" in capsys.readouterr().err


def test_a_features_only_dataset_is_compared_by_its_vectors(tmp_path):
    rng, topics = np.random.default_rng(0), np.arange(90) % 3
    image, text = (np.eye(3)[topics] @ rng.normal(size=(3, width)) + rng.normal(size=(90, width)) for width in (8, 5))
    cut = {"train": slice(60), "test": slice(60, None)}
    arrays = {"image": image, "text": text, "label": topics}
    np.savez(tmp_path / "tiny.npz", **{f"{name}_{part}": array[rows] for name, array in arrays.items()
                                       for part, rows in cut.items()})  # fmt: skip
    arguments = ("compare", "arrays", "--root", tmp_path / "tiny.npz", "--out", tmp_path / "out")
    assert run(*arguments, "--methods", "cca,cvh", "--bits", "2", "--tune", "cvh.regularisation=0.1,1") == 0
    cells = read_cells(tmp_path / "out/cells.jsonl")
    assert {cell["gallery"] for cell in cells} == {"database"}  # nothing is clean
    assert {cell["tuning"]["gallery"] for cell in cells if cell["method"] == "cvh"} == {"learnt from"}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"methods": "cvh,cvhh"}, "no method is called 'cvhh'; did you mean 'cvh'"),
        ({"methods": ","}, "no method is named"),
        ({"bits": "0"}, "--bits 0 is too small"),
        ({"bits": "16,4096"}, "bits=4096 is outside 1..1024"),
        ({"bits": "many"}, "--bits many are no whole numbers; write them with commas: 16,32"),
        (("--seeds", "a"), "--seeds a are no whole numbers; write them with commas: 0,1,2"),
        (("--set", "cvh.epochs=3"), "epochs"),
        (("--set", "regularisation=3"), "names no setting of a method"),
        (("--set", "cca.scale=none"), "'cca' does not take part"),
        (("--tune", "cvh.regularisation=0.1,1", "--set", "cvh.regularisation=1"), "both set and tuned"),
        (("--tune", "scm-seq.bits=8,16"), "bits of scm-seq is no setting here"),
        (("--against", "tvdb"), "'tvdb', which does not take part"),
        (("--galleries", "dirty"), "'dirty'"),
        (("--tune", "cvh.regularisation=0.1,1", "--tune-at", "0"), "bits=0 is outside 1..1024"),
    ],
)
def test_wrong_use_is_one_line_before_any_work(compare, capsys, arguments, line):
    named, options = (arguments, ()) if isinstance(arguments, dict) else ({}, arguments)
    assert compare(*options, **named) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert line in told
    assert not compare.out.exists()


def test_a_folder_that_another_command_writes_to_is_refused_before_any_work(compare, fitted, capsys):
    with alone_in(compare.out):
        assert compare() == 2
    assert "another command is writing to" in capsys.readouterr().err
    assert fitted == []
    assert compare(methods="cvh", bits="8") == 0  # it is free again


def test_a_folder_that_cannot_be_made_is_refused_before_any_work(compare, fitted, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert compare("--out", tmp_path / "file/out") != 0
    (line,) = capsys.readouterr().err.splitlines()
    assert "Not a directory" in line
    assert fitted == []


def test_a_broken_file_of_cells_is_refused_by_its_line(compare, capsys):
    compare.out.mkdir()
    (compare.out / "cells.jsonl").write_text('{"experiment": 1\n')
    assert compare() == 3
    assert "cells.jsonl, line 1, is no cell" in capsys.readouterr().err


def test_a_torn_last_line_of_cells_is_told_of_and_made_again(compare, capsys):
    assert compare(methods="cvh", bits="8") == 0
    whole = (compare.out / "cells.jsonl").read_text()
    (compare.out / "cells.jsonl").write_text(whole[:-50])
    capsys.readouterr()
    assert compare(methods="cvh", bits="8") == 0
    assert "is torn, as by a power cut, and counts as not there" in capsys.readouterr().err
    assert len((compare.out / "cells.jsonl").read_text().splitlines()) == len(whole.splitlines())


def test_a_damaged_file_of_scores_is_refused_by_name(compare, capsys):
    assert compare(methods="cvh", bits="8") == 0
    next((compare.out / "scores").iterdir()).write_bytes(b"nothing")
    assert compare(methods="cvh", bits="8") == 3
    assert ".npy is damaged" in capsys.readouterr().err


def test_a_split_without_a_validation_part_cannot_choose(compare, tmp_path, capsys):
    from deepbinaries.datasets import load
    from deepbinaries.datasets.splits import by_fraction

    split = tmp_path / "split.json"
    by_fraction(load("scenes", items=60), 0.2).save(split)
    split.write_text(json.dumps(json.loads(split.read_text()) | {"validation": [], "digests": {}}))
    assert compare("--split", split, "--tune", "cvh.regularisation=0.1,1", methods="cvh") == 2
    assert "--tune needs a validation part, which this split lacks" in capsys.readouterr().err


def test_a_split_with_a_single_query_compares_nothing(compare, capsys):
    assert compare("--dataset-set", "items=10", methods="cvh", bits="8") == 2
    assert "fewer than two queries have anything relevant in the gallery 'database'" in capsys.readouterr().err


def test_every_registered_method_says_what_its_settings_are():
    from deepbinaries.cli.recipe import settings_class

    for name in METHODS.entries:
        assert "bits" in settings_class(name).__dataclass_fields__
