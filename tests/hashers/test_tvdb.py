import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from deepbinaries.codes import Codes
from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import evaluate
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.features.region_array import RegionArray
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.code_learning import ROUTINES, UPDATES
from deepbinaries.hashers.deep import Inputs
from deepbinaries.hashers.image_networks import IMAGE_NETWORKS
from deepbinaries.hashers.training import TrainingSettings, learning_rate
from deepbinaries.hashers.tvdb import PRESETS, TVDB, TVDBSettings

SMALL = TVDBSettings(
    bits=16, hidden=24, fc=32, embed=16, maps=16, widths=(1, 2), image="max", epochs=12, batch=60, schedule="one-cycle"
)


MAPS = Path("/proc/self/maps")  # the files that this process holds in memory


def small(**settings) -> TVDB:
    return TVDB(replace(SMALL, **settings), device="cpu")


def score(hasher: TVDB, pairs: Pairs, others: Pairs, direction: str = "image_to_text"):
    sides = (others.images, pairs.texts) if direction == "image_to_text" else (others.texts, pairs.images)
    queries, gallery = (Codes.from_values(hasher.encode(side)) for side in sides)
    return evaluate(queries, gallery, query_labels=others.labels, gallery_labels=pairs.labels, direction=direction)


def test_tvdb_keeps_the_contract_of_a_hasher(pairs, tmp_path):
    check_hasher(lambda: small(epochs=2), pairs, tmp_path)


@pytest.mark.parametrize("direction", ["image_to_text", "text_to_image"])
def test_it_learns_what_it_has_not_seen(pairs, others, direction):
    report = score(small(epochs=30, learning_rate=3e-3).fit(pairs), pairs, others, direction)
    assert report.mean > report.chance + 0.2


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_trains(preset, pairs, others):
    hasher = TVDB.preset(preset, device="cpu", bits=8, hidden=16, fc=16, embed=8, maps=8, epochs=2, batch=60)
    assert np.isfinite(hasher.fit(pairs).encode(others.images)).all()


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("routine", ROUTINES)
def test_every_update_runs_in_every_routine(update, routine, pairs):
    entries = []
    small(update=update, routine=routine, epochs=5, image="whole").fit(pairs, log=entries.append)
    assert [entry["epoch"] for entry in entries] == [1, 2, 3, 4, 5]
    assert all(np.isfinite(entry["loss"]) for entry in entries)


def test_the_printed_update_collapses_on_overlapping_labels_and_says_so(pairs):
    entries = []
    small(update="printed", eta=1e-4, epochs=12).fit(pairs, log=entries.append)
    assert "warning" in entries[-1]
    assert entries[-1]["codes_distinct_codes"] < 5


@pytest.mark.parametrize("update", ["spectral", "relaxed"])
@pytest.mark.parametrize(("side", "of"), [("image", "pictures"), ("text", "sentences")])
def test_a_network_that_says_the_same_for_everything_is_told_though_its_targets_are_well(
    pairs, monkeypatch, update, side, of
):
    hasher, entries = small(update=update, epochs=2, learning_rate=1e-9), []
    towers = hasher.build(Inputs.of(pairs.images, pairs.texts))
    torch.nn.init.zeros_(getattr(towers, side).head.last.weight)
    monkeypatch.setattr(hasher, "build", lambda _: towers)
    hasher.fit(pairs, log=entries.append)
    assert all(f"the codes of {of} collapse" in entry["warning"] for entry in entries)
    assert all(entry["codes_constant_share"] == 0 and entry["codes_effective_rank"] > 5 for entry in entries)


def test_the_default_update_does_not_collapse(pairs):
    entries = []
    small(update=PRESETS["tvdb"].update).fit(pairs, log=entries.append)
    assert not any("warning" in entry for entry in entries)


def test_a_killed_run_resumes_to_the_identical_model(pairs, tmp_path):
    whole = small(epochs=6, dropout=0.2).fit(pairs)

    class KilledError(Exception):
        pass

    def kill(entry):
        if entry["epoch"] == 4:
            raise KilledError

    with pytest.raises(KilledError):
        small(epochs=6, dropout=0.2).fit(pairs, checkpoints=tmp_path, log=kill)
    entries = []
    resumed = small(epochs=6, dropout=0.2).fit(pairs, checkpoints=tmp_path, log=entries.append)
    assert [entry["epoch"] for entry in entries] == [4, 5, 6]
    assert np.array_equal(whole.encode(pairs.images), resumed.encode(pairs.images))
    assert np.array_equal(whole.encode(pairs.texts), resumed.encode(pairs.texts))


@pytest.mark.skipif(not MAPS.exists(), reason="only Linux says which files a process holds")
def test_a_resumed_run_does_not_hold_the_checkpoint_it_began_from(pairs, tmp_path):
    def stop_in_the_second(entry):
        if entry["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small(epochs=3).fit(pairs, checkpoints=tmp_path, log=stop_in_the_second)
    held = []
    small(epochs=3).fit(pairs, checkpoints=tmp_path, log=lambda _: held.append(MAPS.read_text()))
    assert len(held) == 2
    assert not any(str(tmp_path) in files for files in held)


def test_a_checkpoint_of_other_settings_is_refused(pairs, tmp_path):
    small(epochs=1).fit(pairs, checkpoints=tmp_path)
    with pytest.raises(DataError, match="other settings"):
        small(epochs=1, eta=0.5).fit(pairs, checkpoints=tmp_path)


@pytest.mark.parametrize("part", ["fewer", "images", "pixels", "texts", "labels"])
def test_a_checkpoint_of_other_pairs_is_refused(pairs, tmp_path, part):
    small(epochs=1).fit(pairs, checkpoints=tmp_path)
    fewer = pairs.select(np.arange(len(pairs) - 1))
    changed = {
        "images": {"images": Images(pairs.images.regions[:, 1:])},
        "pixels": {"images": pairs.images[::-1]},
        "texts": {"texts": pairs.texts[::-1]},
        "labels": {"labels": pairs.labels.select(np.arange(len(pairs))[::-1])},
    }
    with pytest.raises(DataError, match="other pairs; remove it"):
        small(epochs=1).fit(replace(pairs, **changed[part]) if part in changed else fewer, checkpoints=tmp_path)


def on_disk(pairs, checksum):
    """The pairs with pictures as a store has them, which knows their checksum."""
    return replace(pairs, images=Images(RegionArray([pairs.images.regions], shard_items=240, checksums=(checksum,))))


def test_a_checkpoint_of_pictures_on_disk_is_taken_up_with_these_and_refused_with_others(pairs, tmp_path):
    small(epochs=1).fit(on_disk(pairs, 1), checkpoints=tmp_path)
    small(epochs=1).fit(on_disk(pairs, 1), checkpoints=tmp_path)
    with pytest.raises(DataError, match="other pairs"):
        small(epochs=1).fit(on_disk(pairs, 2), checkpoints=tmp_path)


def test_a_checkpoint_with_other_validation_pairs_is_refused(pairs, others, tmp_path):
    small(epochs=1).fit(pairs, checkpoints=tmp_path)
    with pytest.raises(DataError, match="other pairs"):
        small(epochs=1).fit(pairs, validation=others, checkpoints=tmp_path)


@pytest.mark.parametrize("prefix", ["towers", "objective"])
def test_a_checkpoint_whose_tensors_do_not_fit_is_refused_by_name(pairs, tmp_path, prefix):
    small(epochs=1).fit(pairs, checkpoints=tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    with safe_open(path, framework="pt") as file:
        facts, left = file.metadata(), [name for name in file.keys() if not name.startswith(prefix)]  # noqa: SIM118
        tensors = {name: file.get_tensor(name) for name in left}
    save_file(tensors, path, facts)
    with pytest.raises(DataError, match="checkpoint.safetensors does not fit these networks"):
        small(epochs=1).fit(pairs, checkpoints=tmp_path)


def test_a_broken_checkpoint_is_refused_by_name(pairs, tmp_path):
    small(epochs=1).fit(pairs, checkpoints=tmp_path)
    content = (tmp_path / "checkpoint.safetensors").read_bytes()
    (tmp_path / "checkpoint.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="checkpoint.safetensors is not a whole checkpoint"):
        small(epochs=1).fit(pairs, checkpoints=tmp_path)


def test_a_full_disk_at_a_checkpoint_is_one_clear_line(pairs, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(Exception, match="cannot be written .No space left on device"):
        small(epochs=1).fit(pairs, checkpoints=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_validation_is_scored_after_every_epoch_and_stops_by_patience(pairs, others):
    entries = []
    small(epochs=40, patience=2, learning_rate=0.01, schedule="constant").fit(
        pairs, validation=others, log=entries.append
    )
    scores = [(e["validation_image_to_text"] + e["validation_text_to_image"]) / 2 for e in entries]
    assert len(entries) < 40
    assert max(scores) == scores[-3]


def test_patience_without_validation_pairs_is_refused(pairs):
    none = pairs.select(np.array([], dtype=np.int64))
    for validation in (None, none):
        with pytest.raises(UsageError, match="patience needs validation pairs; give fit"):
            small(patience=2).fit(pairs, validation=validation)


def test_validation_pairs_of_another_vocabulary_are_refused(pairs, others):
    strange = Texts(np.full((len(others), 6), 99, dtype=np.int32), 100)
    with pytest.raises(DataError, match="a token id is 99, the model knows"):
        small(epochs=1).fit(pairs, validation=replace(others, texts=strange))


def test_a_training_that_patience_has_ended_is_not_taken_up_again(pairs, others, tmp_path):
    settings = {"epochs": 40, "patience": 1, "learning_rate": 0.01, "schedule": "constant"}
    ended = small(**settings).fit(pairs, validation=others, checkpoints=tmp_path)
    entries = []
    again = small(**settings).fit(pairs, validation=others, checkpoints=tmp_path, log=entries.append)
    assert entries == []
    assert np.array_equal(ended.encode(others.images), again.encode(others.images))


def test_progress_names_the_epoch_and_the_loss_so_far(pairs, monkeypatch, capsys):
    monkeypatch.setenv("DEEPBINARIES_PROGRESS", "json")
    entries = []
    small(epochs=2).fit(pairs, log=entries.append)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["what"] for line in lines] == ["epoch 1 of 2", f"epoch 2 of 2, loss {entries[0]['loss']:.4g}"]
    assert [(line["done"], line["total"]) for line in lines] == [(4, 4), (4, 4)]  # 240 pairs in batches of 60


def test_with_patience_the_best_networks_stay(pairs, others):
    entries = []
    hasher = small(epochs=40, patience=2, learning_rate=0.01, schedule="constant")
    hasher.fit(pairs, validation=others, log=entries.append)
    best = max(entries, key=lambda e: e["validation_image_to_text"] + e["validation_text_to_image"])
    assert score(hasher, pairs, others).mean == pytest.approx(best["validation_image_to_text"], abs=1e-4)


def test_fixed_batches_are_the_same_in_every_epoch_and_random_ones_are_not():
    from deepbinaries.hashers.training import _batches

    settings = TrainingSettings(batch=4)
    first, again, next_one = (torch.cat(list(_batches(20, settings, epoch))).tolist() for epoch in (0, 0, 1))
    assert first == again != next_one


def test_the_learning_rate_rises_and_falls_in_one_cycle():
    settings = TrainingSettings(schedule="one-cycle", learning_rate=1.0)
    rates = [learning_rate(settings, step, 200) for step in range(200)]
    assert rates.index(max(rates)) in (19, 20)
    assert rates[-1] < 0.01


def test_a_flipped_byte_in_a_saved_model_is_noticed(pairs, tmp_path):
    small(epochs=1).fit(pairs).save(tmp_path)
    content = bytearray((tmp_path / "hasher.safetensors").read_bytes())
    content[-7] ^= 1
    (tmp_path / "hasher.safetensors").write_bytes(content)
    with pytest.raises(DataError, match="digest"):
        TVDB.load(tmp_path)


@pytest.mark.parametrize(
    "change", [{"format": "other"}, {"version": 2}, {"width": 7}, {"settings": {"bits": 0}}, {"n_words": "x"}]
)
def test_a_model_description_that_is_not_ours_is_refused(pairs, tmp_path, change):
    small(epochs=1).fit(pairs).save(tmp_path)
    facts = json.loads((tmp_path / "hasher.json").read_text())
    (tmp_path / "hasher.json").write_text(json.dumps(facts | change))
    with pytest.raises(DataError, match="no whole TVDB"):
        TVDB.load(tmp_path)


def test_features_with_a_nan_are_refused_by_row(pairs):
    regions = np.array(pairs.images.regions)
    regions[7, 2, 3] = np.nan
    with pytest.raises(DataError, match="row 7 of the picture features"):
        small().fit(Pairs(Images(regions), pairs.texts, pairs.labels))


@pytest.mark.parametrize("image", IMAGE_NETWORKS)
def test_features_with_a_nan_are_not_encoded(pairs, image):
    hasher = small(epochs=1, image=image).fit(pairs)
    regions = np.array(pairs.images.regions)
    regions[7, -1, 3] = regions[7, 0, 3] = np.nan
    with pytest.raises(DataError, match="row 7 of the picture features"):
        hasher.encode(Images(regions))


def test_networks_that_have_run_away_are_not_blamed_on_the_features(pairs):
    hasher = small(epochs=1).fit(pairs)
    torch.nn.init.constant_(hasher.towers_.image.head.last.bias, torch.nan)
    assert np.isnan(hasher.encode(pairs.images)).all()


def test_a_training_set_of_one_label_is_refused(pairs):
    one = Labels.from_names([["dog"]] * len(pairs))
    with pytest.raises(DataError, match="at least two labels"):
        small().fit(Pairs(pairs.images, pairs.texts, one))


def test_labels_that_every_pair_shares_are_refused_by_the_one_that_is_everywhere(pairs):
    sets = [["thing", "dog" if row % 2 else "cat"] for row in range(len(pairs))]
    with pytest.raises(DataError, match="'thing' is everywhere"):
        small().fit(Pairs(pairs.images, pairs.texts, Labels.from_names(sets)))


def test_labels_of_which_any_two_meet_are_refused(pairs):
    sets = [(["a", "b"], ["b", "c"], ["a", "c"])[row % 3] for row in range(len(pairs))]
    with pytest.raises(DataError, match="shares a label with each, so that they teach nothing"):
        small().fit(Pairs(pairs.images, pairs.texts, Labels.from_names(sets)))


def test_unknown_tokens_are_refused(pairs):
    hasher = small(epochs=1).fit(pairs)
    with pytest.raises(DataError, match="vocabulary"):
        hasher.encode(Texts(np.full((1, 6), 99, dtype=np.int32), 100))


@pytest.mark.parametrize("image", IMAGE_NETWORKS)
def test_pictures_without_regions_train_or_are_refused_with_a_way_out(image, pairs):
    whole = Pairs(Images(pairs.images.regions[:, -1:]), pairs.texts, pairs.labels)
    if image in ("max", "vote"):
        why = f"image={image} listens to regions, and keep=0 leaves none; set image="
        with pytest.raises(UsageError, match=why):
            small(image=image, epochs=1).fit(whole)
        with pytest.raises(UsageError, match=why):
            small(image=image, epochs=1).fit(pairs).encode(whole.images)
    else:
        assert np.isfinite(small(image=image, epochs=1).fit(whole).encode(whole.images)).all()


@pytest.mark.parametrize(
    "nonsense",
    [
        {"update": "magic"},
        {"image": "eye"},
        {"routine": "x"},
        {"epochs": 0},
        {"bits": 0},
        {"hidden": 0},
        {"dropout": 1.0},
        {"dropout": float("nan")},
        {"input_dropout": float("nan")},
        {"region_dropout": float("nan")},
    ],
)
def test_nonsense_settings_are_refused_where_they_are_written(nonsense):
    with pytest.raises(UsageError):
        TVDBSettings(**nonsense)


@pytest.mark.parametrize(
    "wrong",
    [{"learning_rate": "x"}, {"epochs": 2.5}, {"patience": "2"}, {"image": None}, {"widths": 3}, {"widths": ("a",)}],
)
@pytest.mark.parametrize("make", [TVDBSettings, partial(TVDB.preset, "tvdb")])
def test_a_setting_of_another_type_is_refused_by_its_name(make, wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(UsageError, match=f"{name}=.* is of the type {type(value).__name__}; give"):
        make(**wrong)


@pytest.mark.parametrize("image", IMAGE_NETWORKS)
def test_regions_are_silenced_by_those_image_sides_that_hear_them_one_by_one(image):
    if image in ("max", "attention", "vote"):
        assert TVDB.preset("tvdb", image=image, region_dropout=0.5).settings.region_dropout == 0.5
    else:
        with pytest.raises(UsageError, match=f"no part in image={image}; .* image=max, attention or vote"):
            TVDB.preset("tvdb", image=image, region_dropout=0.5)


def test_an_unknown_setting_of_a_preset_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match="did you mean 'epochs'"):
        TVDB.preset("tvdb", epoch=3)


def test_the_same_seed_gives_the_same_bits_in_another_process(pairs, tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import numpy as np;"
        "from small_pairs import make_pairs; from test_tvdb import small; pairs = make_pairs(240, seed=1);"
        "np.save(sys.argv[2], small(epochs=2).fit(pairs).encode(pairs.images))"
    )
    here = str(tmp_path / "values.npy")
    folder = str(__import__("pathlib").Path(__file__).parent)
    subprocess.run([sys.executable, "-c", code, folder, here], check=True, capture_output=True)
    assert np.array_equal(np.load(here), small(epochs=2).fit(pairs).encode(pairs.images))
