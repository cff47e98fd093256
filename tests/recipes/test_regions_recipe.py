"""The recipe that compares ways to read a picture while the backbone learns along, at a size where it learns little."""

import argparse
import json
import shlex
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from deepbinaries.datasets import load
from deepbinaries.datasets.splits import Split
from deepbinaries.hashers.tvdb import PRESETS
from deepbinaries.vision import read_picture
from deepbinaries.vision.backbones.efficientnet_lite0 import WIDTH, find_weights
from deepbinaries.vision.stretching import stretched
from recipes.photo import pixels
from recipes.photo.augmentation import Placement, drawn, seen
from recipes.regions import fine_tuning, learning
from recipes.regions.fine_tuning import FORMS, encoder_of, items_of, main, prepared_for
from recipes.regions.learning import Items, PictureNetwork, build, encoded, learn
from recipes.regions.tasks import TASKS, cut, read_collection
from recipes.regions.views import boxes_of, moved, positions_of
from results import photographs

TASK = TASKS["r18"]
CPU = torch.device("cpu")
BOTH = ("whole", "max:grid")
LEARNT = [f"{row:03}" for row in range(8, 12)]  # of coco18, whose training part begins with its validation part
VALIDATION = [f"{row:03}" for row in range(4, 8)]
GALLERY = [f"{row:03}" for row in range(12, 20)]


def arguments(data, root, *more):
    common = f"{data} --cache {root / 'cache'} --features {root / 'features'} --task r18 --epochs 1 --device cpu"
    return [*shlex.split(common), "--out", str(root / "found" / "lines.jsonl"), *more]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Small pictures: one cell of a map to learn from, four to be judged by."""
    monkeypatch.setattr(learning, "SIDE", 32)
    monkeypatch.setattr(pixels, "SIDE", 64)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Where a run leaves its features, its pixels and its lines."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def lines(collections, home):
    """What a run of two forms writes down."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "SIDE", 32)
        patch.setattr(pixels, "SIDE", 64)
        main(arguments(collections, home, "--forms", ",".join(BOTH)))
    return [json.loads(line) for line in (home / "found" / "lines.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def weights():
    return find_weights()


@pytest.fixture(scope="module")
def collection(collections):
    return read_collection(collections, TASK, None)


@pytest.fixture(scope="module")
def encoder():
    return encoder_of("grid", argparse.Namespace(lite0=None, yolox=None, device="cpu"))


@pytest.fixture(scope="module")
def prepared(collection, encoder, home, lines):  # noqa: ARG001  # whose run has made the features
    return prepared_for(encoder, collection, TASK, home / "features")


@pytest.fixture(scope="module")
def drawn_items():
    """Items of noise with three regions each, as both forms read them."""
    rng = torch.Generator().manual_seed(0)
    noise = torch.randint(0, 256, (6, 96, 96, 3), generator=rng, dtype=torch.uint8)
    tokens = torch.randint(0, 9, (6, 5), generator=rng, dtype=torch.int32)
    regions = torch.tensor([[0.1, 0.2, 0.6, 0.7], [0.5, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0], [0, 0, 1, 1]])
    boxes = regions.expand(6, -1, -1)
    return {"whole": Items(noise, boxes[:, -1:], tokens), "max:grid": Items(noise, boxes, tokens)}


@pytest.fixture(scope="module")
def labels():
    return load("scenes", items=6).labels


def settings_of(form, seed=0):
    return replace(PRESETS["tvdb"], epochs=1, batch=3, seed=seed, **FORMS[form].settings)


def taught(form, drawn_items, labels, weights, seed=0):
    towers = build(settings_of(form, seed), 9, weights, CPU)
    learn(towers, drawn_items[form], labels, settings_of(form, seed), tell=lambda _: None)
    return towers


def test_a_region_lies_in_a_view_where_what_it_holds_is_seen():
    n, side, box = 200, 120, (0.1, 0.2, 0.45, 0.5)
    pictures = torch.zeros(n, side, side, 3, dtype=torch.uint8)
    x0, y0, x1, y1 = (round(end * side) for end in box)
    pictures[:, y0:y1, x0:x1] = 255
    at = drawn(n, CPU, torch.Generator().manual_seed(0))
    views = seen(pictures, at, side)[:, 0] > 127
    boxes = moved(torch.tensor(box).expand(n, 1, 4), at)[:, 0]
    for view, found in zip(views.numpy(), boxes.numpy(), strict=True):
        down, across = np.nonzero(view)
        wanted = np.array([across.min(), down.min(), across.max() + 1, down.max() + 1]) / side
        np.testing.assert_allclose(found, wanted, atol=1.01 / side)
    mirrored, cut_off = at.turned[:, 0] < 0, ((boxes == 0) | (boxes == 1)).any(1)
    assert (mirrored & cut_off).any()
    assert (~mirrored & cut_off).any()


def test_a_region_that_is_hardly_in_view_becomes_the_whole_view():
    right_half = Placement(torch.tensor([[0.5, 1.0]]), torch.tensor([[0.5, 0.0]]))
    regions = [[0.0, 0.2, 0.4, 0.8], [0.0, 0.2, 0.52, 0.8], [0.4, 0.2, 0.52, 0.8]]
    outside, hardly, still = moved(torch.tensor([regions]), right_half)[0]
    assert outside.tolist() == hardly.tolist() == [0, 0, 1, 1]
    torch.testing.assert_close(still, torch.tensor([0, 0.2, 0.04, 0.8]))


def test_the_whole_picture_is_the_whole_of_every_view():
    at = drawn(50, CPU, torch.Generator().manual_seed(1))
    assert (moved(torch.tensor([0.0, 0, 1, 1]).expand(50, 1, 4), at) == torch.tensor([0.0, 0, 1, 1])).all()


def test_positions_in_half_precision_give_their_boxes_back():
    ends = torch.rand(50, 3, 2, 2, generator=torch.Generator().manual_seed(0)).sort(2).values.flatten(2)
    torch.testing.assert_close(boxes_of(positions_of(ends).half().float()), ends, rtol=0, atol=1e-3)


def test_before_it_learns_the_network_sees_in_regions_what_the_store_holds(prepared, collection, weights):
    rows = collection.judged[:2]
    read = [stretched(read_picture(prepared.dataset.picture(row), name=str(row)), 448) for row in rows]
    items = items_of(prepared, rows, FORMS["max:grid"], torch.from_numpy(np.stack(read)))
    network = build(settings_of("max:grid"), 9, weights, CPU).image.eval()
    network.head = nn.Identity()
    with torch.inference_mode():
        found = network(items.pixels.permute(0, 3, 1, 2), items.boxes).numpy()
    np.testing.assert_allclose(found, prepared.images(rows).regions[:], atol=0.02)


def test_a_form_without_regions_reads_the_whole_picture_alone(prepared, collection):
    items = items_of(prepared, collection.learnt, FORMS["whole"], torch.zeros(4, 32, 32, 3))
    assert items.boxes.tolist() == [[[0, 0, 1, 1]]] * 4


def test_all_forms_learn_from_the_same_views_in_the_same_order(drawn_items, labels, weights, monkeypatch):
    views, relit = {}, learning.relit
    for form, seed in (("whole", 0), ("max:grid", 0), ("max:grid", 1)):
        kept = views[form, seed] = []
        monkeypatch.setattr(learning, "relit", lambda *given, kept=kept: kept.append(relit(*given)) or kept[-1])
        taught(form, drawn_items, labels, weights, seed)
    whole, loudest, other = (torch.stack(kept) for kept in views.values())
    assert whole.shape == (2, 3, 3, 32, 32)
    assert torch.equal(whole, loudest)
    assert not torch.equal(loudest, other)


def test_all_forms_start_with_the_same_sentence_network_and_backbone(weights):
    whole, loudest, other = (
        build(settings_of(form, seed), 9, weights, CPU) for form, seed in (("whole", 0), ("max:grid", 0), ("whole", 1))
    )
    for name, tensor in whole.text.state_dict().items():
        assert torch.equal(tensor, loudest.text.state_dict()[name])
    assert not torch.equal(whole.text.words.weight, other.text.words.weight)
    for name, tensor in whole.image.backbone.state_dict().items():
        assert torch.equal(tensor, loudest.image.backbone.state_dict()[name])


@pytest.mark.parametrize("form", BOTH)
def test_first_blocks_stay_as_published_and_everything_else_learns(form, drawn_items, labels, weights):
    before = build(settings_of(form), 9, weights, CPU).state_dict()
    after = taught(form, drawn_items, labels, weights).state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    fixed = ("_conv_stem", "_bn0", *(f"_blocks.{block}." for block in range(learning.FROZEN)))
    stay = {name for name in before if name.startswith(tuple(f"image.backbone.{name}" for name in fixed))}
    assert len(stay) > 20
    assert changed == before.keys() - stay


def test_a_region_can_change_what_its_form_says_and_nothing_what_the_whole_picture_says(drawn_items, weights):
    elsewhere = replace(drawn_items["max:grid"], boxes=drawn_items["max:grid"].boxes[:, [1, 1, 1, 3]])
    loudest = build(settings_of("max:grid"), 9, weights, CPU)
    assert not np.allclose(encoded(loudest, drawn_items["max:grid"])["image"], encoded(loudest, elsewhere)["image"])
    whole = build(settings_of("whole"), 9, weights, CPU)
    values = encoded(whole, drawn_items["whole"])["image"]
    np.testing.assert_allclose(values, encoded(whole, elsewhere)["image"], atol=1e-6)


def test_an_item_has_the_same_values_whatever_is_encoded_beside_it(drawn_items, labels, weights, monkeypatch):
    towers = taught("max:grid", drawn_items, labels, weights)
    together = encoded(towers, drawn_items["max:grid"])
    monkeypatch.setattr(learning, "AT_ONCE", 4)
    apart = encoded(towers, drawn_items["max:grid"])
    for side in ("image", "text"):
        np.testing.assert_allclose(together[side], apart[side], atol=1e-4)


def test_both_forms_have_about_as_much_to_learn():
    whole, loudest = (
        sum(parameter.numel() for parameter in PictureNetwork(settings_of(form)).parameters()) for form in BOTH
    )
    assert whole < loudest < 1.2 * whole
    assert PictureNetwork(settings_of("max:grid")).head.speak.in_features == WIDTH + 4


@pytest.mark.parametrize("limit", [None, 3])
def test_validation_items_ask_and_neither_they_nor_queries_are_learnt_from(collections, limit):
    found = read_collection(collections, TASK, limit)
    ids = np.array(found.dataset.ids)
    assert ids[found.learnt].tolist() == LEARNT[:limit]
    assert ids[found.judged].tolist() == VALIDATION[:limit] + GALLERY[:limit]


def test_queries_that_a_split_leaves_in_the_database_are_not_searched(collections, monkeypatch):
    split = Split.load(collections / "coco18" / "split.json")
    leaving = replace(split, database=(*split.query, *split.database), queries_in_gallery=True)
    assert not set(cut(leaving, 3).database) & set(split.query)
    monkeypatch.setattr(Split, "load", lambda _: leaving)
    found = read_collection(collections, TASK, None)
    assert np.array(found.dataset.ids)[found.judged].tolist() == VALIDATION + GALLERY


def test_words_of_validation_items_alone_are_unknown(prepared, encoder, home, collections, monkeypatch):
    told = read_collection(collections, TASK, None)
    said = ["zeppelin" if id_ in VALIDATION else "kayak" for id_ in told.dataset.ids]
    monkeypatch.setattr(told.dataset, "sentences", lambda row: [said[row]])
    monkeypatch.setattr("deepbinaries.features.prepared.prepare_images", lambda *_, **__: prepared.store)
    assert prepared_for(encoder, told, TASK, home / "features").vocabulary.words == ("kayak",)


def test_validation_items_rank_the_gallery_by_the_codes_of_the_other_side(collection):
    asking, n = len(VALIDATION), len(GALLERY)
    order = np.random.default_rng(0).permutation(n)
    flipped = {"text": np.arange(n), "image": order}  # how many bits of each item of the gallery are not 1
    gallery = {side: np.where(np.arange(64) < bits[:, None], -1.0, 1.0) for side, bits in flipped.items()}
    values = {
        "image": np.vstack([np.ones((asking, 64)), gallery["image"]]),
        "text": np.vstack([-np.ones((asking, 64)), gallery["text"]]),
    }
    reports = fine_tuning.judge(values, collection)
    wanted = {"image_to_text": np.arange(n), "text_to_image": np.argsort(-order)}
    labels = [set(collection.dataset.labels.of(row)) for row in collection.judged]
    for direction, ranking in wanted.items():
        for label, found in zip(labels[:asking], reports[direction].per_query, strict=True):
            hits = np.array([bool(label & labels[asking + place]) for place in ranking])
            precision = np.cumsum(hits) / np.arange(1, n + 1)
            assert found == pytest.approx(precision[hits].mean() if hits.any() else np.nan, nan_ok=True)


def test_a_run_writes_two_lines_a_form_and_compares_the_second_with_the_first(lines):
    directions = ["image_to_text", "text_to_image"]
    assert [line["form"] for line in lines] == ["whole"] * 2 + ["max, grid"] * 2
    assert [line["direction"] for line in lines] == 2 * directions
    assert {(line["queries"], line["gallery"], line["epochs"]) for line in lines} == {("validation", "clean", 1)}
    assert [line["over_whole"] for line in lines[:2]] == [line["interval"] for line in lines[:2]] == [None, None]
    for line, whole in zip(lines[2:], lines[:2], strict=True):
        assert line["over_whole"] == pytest.approx(line["map_all"] - whole["map_all"], abs=1e-4)
        low, high = line["interval"]
        assert low <= line["over_whole"] <= high


def test_lines_tell_by_which_command_they_are_made_and_not_where(lines, home, collections):
    text = (home / "found" / "lines.jsonl").read_text()
    assert str(home) not in text
    assert str(collections) not in text
    start, module, *given = shlex.split(lines[0]["command"].removeprefix("python "))
    options = fine_tuning.read_options(given)
    assert (start, module) == ("-m", "recipes.regions.fine_tuning")
    assert (options.task, options.forms, options.epochs, options.seed) == ("r18", "whole,max:grid", 1, 0)


def test_features_are_those_of_the_frozen_photographs(prepared, collections, home):
    options = argparse.Namespace(
        root=collections / "coco18", features=home / "features", lite0=None, yolox=None, device="cpu"
    )
    others = photographs.prepared_for(photographs.Row("tvdb"), "coco18", "r18", options)
    assert others.store.folder == prepared.store.folder


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--forms", "whole,max:gird"], "no form is called 'max:gird'; did you mean 'max:grid'"),
        (["--forms", "max:grid"], "begin with whole"),
        (["--forms", "whole,max:grid,max:grid"], "name each once"),
        (["--forms", "whole,max:grid,max:yolox"], "give its file by --yolox"),
        (["--forms", "whole,max:yolox", "--yolox", "nowhere.onnx"], "nowhere.onnx"),
        (["--items", "1"], "give --items 2 or more"),
        (["--forms", "whole", "--epochs", "0"], "epochs=0"),
    ],
)
def test_what_cannot_be_run_ends_in_one_line_before_anything_is_prepared(collections, tmp_path, more, told):
    forms = [] if "--forms" in more else ["--forms", "whole,max:grid"]
    with pytest.raises(SystemExit) as ended:
        main(arguments(collections, tmp_path, *forms, *more))
    assert told in str(ended.value.code)
    assert "\n" not in str(ended.value.code)
    assert ended.value.__suppress_context__
    assert not (tmp_path / "features").exists()


def test_tasks_are_those_of_the_published_rows():
    for task in TASKS.values():
        assert task.ignored == photographs.RULES[task.rule]
        assert task.batch == photographs.BATCH[task.dataset]
        assert task.reading == photographs.READING[task.dataset]
