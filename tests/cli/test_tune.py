"""`train --tune`: what is tried, what is chosen, what is kept, and that queries are left in peace."""

import json
import shutil

import pytest
from small_training import DATA, SMALL, VISION, run

from deepbinaries.cli import learning, tuning
from deepbinaries.features import Prepared
from deepbinaries.model import Model

SCORES = ["validation_image_to_text", "validation_text_to_image"]
RATES = (0.001, 0.01)
TUNE = (*SMALL, "--tune", "learning_rate=0.001,0.01")


@pytest.fixture(scope="module")
def tuned(features, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned") / "model"
    assert run("train", *TUNE, "--features", features, "--out", folder) == 0
    return folder


def table_of(folder):
    return json.loads((folder / "tuning.json").read_text())


def test_every_value_is_tried_and_the_table_is_kept(tuned):
    table = table_of(tuned)["table"]
    assert [row["settings"] for row in table] == [{"learning_rate": rate} for rate in RATES]
    for row in table:
        assert row["mean"] == pytest.approx(sum(row[score] for score in SCORES) / 2, abs=1e-5)


def test_the_best_on_validation_is_what_the_model_is_trained_with(tuned):
    found = table_of(tuned)
    best = max(found["table"], key=lambda row: row["mean"])
    assert found["chosen"] == best["settings"]
    model = Model.from_pretrained(tuned, device="cpu")
    assert model.hasher.settings.learning_rate == best["settings"]["learning_rate"]


def test_the_final_model_is_that_of_a_training_with_the_chosen_setting(tuned, features, tmp_path):
    chosen = f"learning_rate={table_of(tuned)['chosen']['learning_rate']}"
    assert run("train", *SMALL, "--set", chosen, "--features", features, "--out", tmp_path / "model") == 0
    assert (tuned / "hasher.safetensors").read_bytes() == (tmp_path / "model/hasher.safetensors").read_bytes()


def test_a_score_is_what_patience_would_have_seen(tuned, features, tmp_path):
    """Patience as long as the training: the last epoch's validation is that of the tried model."""
    out = tmp_path / "model"
    patient = ("--set", "patience=9", "--set", "learning_rate=0.01")
    assert run("train", *SMALL, *patient, "--features", features, "--out", out) == 0
    last = json.loads((out / "training.jsonl").read_text().splitlines()[-1])
    row = table_of(tuned)["table"][1]
    assert [row[score] for score in SCORES] == [last[score] for score in SCORES]


def test_values_that_decide_nothing_are_one_training(features, tmp_path, capsys):
    out = tmp_path / "model"
    assert run("train", *SMALL, "--tune", "eta=0.1,1", "--features", features, "--out", out) == 0
    assert "eta has no part in the update 'relaxed', which is tried once" in capsys.readouterr().err.splitlines()
    assert [row["settings"] for row in table_of(out)["table"]] == [{}]


def test_a_setting_is_tuned_where_it_has_a_part_and_the_other_training_is_tried_once(features, tmp_path, capsys):
    out = tmp_path / "model"
    tune = ("--tune", "update=spectral,relaxed", "--tune", "eta=0.1,1", "--set", "epochs=1")
    assert run("train", *SMALL, *tune, "--features", features, "--out", out) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "no part" in line]
    assert told == ["eta has no part in the update 'relaxed', which is tried once"]
    assert [row["settings"] for row in table_of(out)["table"]] == [
        {"update": "spectral", "eta": 0.1},
        {"update": "spectral", "eta": 1.0},
        {"update": "relaxed"},
    ]


def test_a_changed_table_is_noticed(tuned, tmp_path):
    copy = shutil.copytree(tuned, tmp_path / "model")
    (copy / "tuning.json").write_text((copy / "tuning.json").read_text().replace("0.01", "0.02"))
    with pytest.raises(Exception, match="tuning.json cannot be trusted"):
        Model.from_pretrained(copy, device="cpu")


def test_the_table_is_told_on_standard_error_and_in_the_json(features, tmp_path, capsys):
    tune = ("--tune", "eta=0.1,0.3", "--tune", "update=gram,spectral", "--set", "epochs=1")
    assert run("train", *SMALL, *tune, "--features", features, "--out", tmp_path / "model", "--json") == 0
    told = capsys.readouterr()
    content = json.loads(told.out)["tuning"]
    assert content == table_of(tmp_path / "model")
    names = [f"eta={eta} update={update}" for eta in ("0.1", "0.3") for update in ("gram", "spectral")]
    *rows, chosen = [line for line in told.err.splitlines() if "mean" in line or "chosen" in line]
    assert [row.partition(":")[0] for row in rows] == names
    assert chosen == f"chosen: {tuning.in_words(content['chosen'])}"


def test_a_method_without_epochs_can_be_tuned(features, tmp_path):
    cvh = [*DATA, *(part for setting in VISION for part in ("--vision", setting)), "--method", "cvh", "--bits", "8"]
    out = tmp_path / "model"
    assert run("train", *cvh, "--tune", "regularisation=0.1,1", "--features", features, "--out", out) == 0
    assert [row["settings"] for row in table_of(out)["table"]] == [{"regularisation": share} for share in (0.1, 1.0)]


def test_of_equal_scores_the_first_is_chosen(monkeypatch):
    class Same:
        settings = None
        encode = None

    monkeypatch.setattr(tuning, "apart", lambda *_, **__: (None, None))
    monkeypatch.setattr(tuning, "learn", lambda *_, **__: [])
    monkeypatch.setattr("deepbinaries.hashers.validation.validate", lambda *_: dict.fromkeys(SCORES, 0.5))
    grid = [{"eta": eta} for eta in (0.3, 0.1, 1.0)]
    assert tuning.tune(grid, lambda _: Same(), None, lambda _: None)["chosen"] == {"eta": 0.3}


def test_an_interrupted_tuning_goes_on_with_what_it_has(tuned, features, tmp_path, monkeypatch):
    write, written = learning.write_json_lines, []

    def pull_the_plug(history, path):
        written.append((path.parent.name, len(history)))
        if len(written) == 4:  # in the second epoch of the second value
            raise KeyboardInterrupt
        write(history, path)

    arguments = ("train", *TUNE, "--features", features, "--out", tmp_path / "model")
    monkeypatch.setattr(learning, "write_json_lines", pull_the_plug)
    assert run(*arguments) == 130
    (first, second), before = dict.fromkeys(key for key, _ in written), len(written)
    assert run(*arguments) == 0
    anew = written[before:]
    assert (second, 2) in anew  # the epoch that was lost,
    assert (second, 1) not in anew  # and no other,
    assert first not in {key for key, _ in anew}  # of the values that were tried
    assert table_of(tmp_path / "model") == table_of(tuned)
    assert (tmp_path / "model/hasher.safetensors").read_bytes() == (tuned / "hasher.safetensors").read_bytes()


def test_with_patience_the_winner_is_not_trained_twice(features, tmp_path, monkeypatch):
    write, written = learning.write_json_lines, []

    def remember(history, path):
        written.append((path.parent.name, len(history)))
        write(history, path)

    monkeypatch.setattr(learning, "write_json_lines", remember)
    tune = (*TUNE, "--set", "patience=1")
    assert run("train", *tune, "--features", features, "--out", tmp_path / "model") == 0
    assert len(set(written)) == len(written)
    assert len({key for key, _ in written}) == len(RATES)


def test_queries_are_never_looked_at(features, tmp_path, monkeypatch):
    asked = set()
    pairs = Prepared.pairs

    def watch(self, rows):
        asked.update(int(row) for row in rows)
        assert not asked & set(self.parts.query.tolist())
        return pairs(self, rows)

    monkeypatch.setattr(Prepared, "pairs", watch)
    for side in ("images", "texts"):
        monkeypatch.setattr(Prepared, side, _only_for_pairs(getattr(Prepared, side), asked))
    assert run("train", *TUNE, "--features", features, "--out", tmp_path / "model") == 0
    assert asked


def _only_for_pairs(side, asked):
    def take(self, rows):
        assert {int(row) for row in rows} <= asked
        return side(self, rows)

    return take


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--tune", "etta=1,2"], "did you mean 'eta'"),
        (["--tune", "eta=1,high"], "eta=high is no number"),
        (["--tune", "eta=1,nan"], "eta=nan is no weight"),
        (["--tune", "eta="], "no values to try"),
        (["--tune", "eta"], "no values to try"),
        (["--tune", "widths=3,4"], "widths is a list"),
        (["--tune", "eta=1", "--tune", "eta=2"], "tuned twice"),
        (["--tune", "epochs=1,2"], "epochs is both set and tuned"),
        (["--tune", "bits=16,32"], "bits is both set and tuned"),
        (["--tune", "update=spectral,magic"], "magic"),
    ],
)
def test_a_wrong_tuning_is_one_line_before_any_work(features, tmp_path, capsys, arguments, word):
    assert run("train", *SMALL, *arguments, "--features", features, "--out", tmp_path / "model") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert word in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "who"), [(["--tune", "embed=8,16"], "--tune"), (["--set", "patience=2"], "patience")]
)
def test_a_split_without_a_validation_part_is_told_before_any_work(tmp_path, capsys, option, who):
    from deepbinaries.datasets import load
    from deepbinaries.datasets.splits import by_fraction

    split = tmp_path / "split.json"
    by_fraction(load("scenes", items=60), 0.2).save(split)
    content = json.loads(split.read_text())
    split.write_text(json.dumps(content | {"validation": [], "digests": {}}))
    arguments = ("--split", split, "--features", tmp_path / "features", "--out", tmp_path / "model")
    assert run("train", *SMALL, *option, *arguments) == 2
    assert f"{who} needs a validation part, which this split lacks" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [split]
