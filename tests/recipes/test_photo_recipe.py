"""The recipe of the photo model runs from packed pictures to saved networks, at a size where it learns nothing."""

import json
import sys

import numpy as np
import pytest
import torch

from deepbinaries.language import Vocabulary
from recipes.photo import baselines, batches, encode, pixels, score, train, trials, words
from recipes.photo.augmentation import LEAST, LIGHT, forget_words, smaller, views
from recipes.photo.checkpoint import read_facts, read_networks
from recipes.photo.known import read_words
from recipes.photo.networks import WORD_SIZE, Dropout, PictureNetwork, SentenceNetwork
from recipes.photo.recall import recall_at
from recipes.photo.sources import read_sources, training_sentences
from recipes.photo.teachers import known_words, read_teachers, write_teachers
from recipes.photo.training import Networks, Settings, Training
from recipes.photo.wordings import TOKENS, neighbours, wordings

NAMES = ("cca", "dcmh-64", "dcmh-128")


def run(step, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [step.__name__, *map(str, arguments)])
        step.main()


@pytest.fixture(scope="module")
def data(collections):
    """A folder as the recipe wants it, of drawn scenes."""
    root = collections
    sentences = training_sentences(read_sources(root))
    rng = np.random.default_rng(0)
    written = sorted(
        {"an", "kayak", "zeppelin"}
        | {word for sentence in sentences for word in sentence.lower().split() if word.isalpha()}
    )
    glove = {"words": written, "vectors": {word: rng.normal(size=102).tolist() for word in written if word != "a"}}
    glove["words"] = list(glove["vectors"])
    (root / "teachers").mkdir()
    known = known_words(glove, sentences)
    others = wordings(sentences, known[0], known[1].astype(np.float32))
    vectors, of_others = (rng.normal(size=(len(texts), 8)) for texts in (sentences, others))
    write_teachers(root / "teachers", known, (sentences, vectors), (others, of_others))
    return root


@pytest.fixture(scope="module")
def trained(data):
    """The file that a short training leaves."""
    out = data / "photo.safetensors"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "SIDE", 32)
        patch.setattr(train, "OTHER_SIDES", (64,))
        patch.setattr(pixels, "SIDE", 48)
        arguments = ["--thumbnails", data, "--cache", data / "cache", "--out", out]
        run(train, data, *arguments, "--epochs", 1, "--batch", 8, "--side", 32)
    return out


@pytest.fixture(scope="module")
def values(data, trained):
    """The folder of what the trained networks make of everything."""
    out = data / "values"
    run(encode, data, "--checkpoint", trained, "--cache", data / "cache", "--side", 32, "--out", out)
    return out


def test_neither_queries_nor_validation_are_learnt_from(data):
    for source in read_sources(data):
        assert not set(source.train) & (set(source.query) | set(source.validation))


def test_a_short_training_saves_networks_that_can_be_read(data, trained):
    sources = read_sources(data)
    teachers = read_teachers(data / "teachers", training_sentences(sources))
    pictures, sentences = read_networks(trained, torch.from_numpy(teachers.words))
    assert pictures(torch.zeros(1, 3, 32, 32)).shape == (1, 128)
    ids = torch.from_numpy(teachers.vocabulary.encode([sources[0].dataset.sentences(0)[0]])).long()
    assert sentences(ids).isfinite().all()


def test_a_trial_says_with_which_settings_heads_alone_found_what(data, trained, monkeypatch):  # noqa: ARG001
    monkeypatch.setattr(trials, "SEEN_AT", 32)
    out = data / "tried.jsonl"
    common = ["--thumbnails", data, "--cache", data / "cache", "--epochs", 1, "--batch", 8, "--out", out]
    for given in (("--tau", "0.07"), ("--tau", "0.05"), ("--read", "loudest"), ("--read", "ordered")):
        run(trials, data, *common, *given)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["settings"]["loss"]["tau"] for line in lines] == [0.07, 0.05, 0.05, 0.05]
    assert [(line["read"], line["keep"]) for line in lines[1:]] == [("whole", 0), ("loudest", 12), ("ordered", 12)]
    assert set(lines[0]["found"]) == {
        f"{name} {bits}"
        for name in ("coco18", "coco18 thumbnails", "iapr22", "iapr22 thumbnails")
        for bits in (128, 64)
    }


def test_first_sentences_alone_are_drawn_where_that_is_asked_for(data):
    sources = read_sources(data)
    teachers = read_teachers(data / "teachers", training_sentences(sources))
    pairs = batches.pairs_of(sources, [], teachers, data, "cpu", look=lambda _, rows, *__: torch.zeros(len(rows), 4))
    rows = torch.arange(len(pairs))
    assert (pairs.some_sentences(rows, 1.0) == pairs.first).all()
    several = pairs.count > 1
    drawn = torch.stack([pairs.some_sentences(rows) for _ in range(50)])
    assert (drawn > pairs.first).any(0)[several].all()
    assert (drawn == pairs.first).any(0).all()


def test_the_file_says_what_was_found_on_the_validation_parts(trained):
    both = {f"{name} {bits}" for name in ("coco18", "iapr22") for bits in (128, 64)}
    small = {f"{name} thumbnails {bits}" for name in ("coco18", "iapr22") for bits in (128, 64)}
    assert set(read_facts(trained)["found"]) == both | small


def test_every_item_has_values_on_both_sides(values):
    assert np.load(values / "coco18-pictures.npy").shape == np.load(values / "coco18-sentences.npy").shape == (20, 128)


def test_scoring_again_replaces_the_lines_of_the_same_model(data, values):
    cells = data / "cells.jsonl"
    for model in ("torch", "other", "torch"):
        run(score, data, values, "--model", model, "--out", cells)
    lines = [json.loads(line) for line in cells.read_text().splitlines()]
    assert [line["model"] for line in lines] == ["other"] * (len(lines) // 2) + ["torch"] * (len(lines) // 2)
    assert {line["gallery"] for line in lines if line["dataset"] == "coco18"} == {4, 16, 20}


def test_other_methods_learn_from_the_same_features(data, trained, monkeypatch):
    monkeypatch.setattr(baselines, "EPOCHS", 1)
    monkeypatch.setattr(baselines, "SIDE", 32)
    run(baselines, data, "--checkpoint", trained, "--cache", data / "cache", "--out", data / "baselines")
    widths = {name: np.load(data / "baselines" / name / "coco18-sentences.npy").shape[1] for name in NAMES}
    assert widths == {"cca": 128, "dcmh-64": 64, "dcmh-128": 128}


def test_words_outside_the_captions_are_asked_for_beside_their_neighbours(data, trained, values, monkeypatch):
    monkeypatch.setattr(words, "OFTEN", 1)
    monkeypatch.setattr(words, "RARE", 0)
    run(words, data, values, "--checkpoint", trained, "--out", data / "words.json")
    found = json.loads((data / "words.json").read_text())
    assert "added" not in found
    assert {entry["word"] for entry in found["taught"]["words"]} == {"kayak", "zeppelin"}
    assert len(found["taught"]["words"][0]["answer"]) == 10


def test_words_that_were_added_are_asked_apart_from_those_that_were_taught(data, trained, values, monkeypatch):
    known = read_words(data / "teachers").vocabulary.words
    last = max(known.index("kayak"), known.index("zeppelin"))
    monkeypatch.setattr(words, "OFTEN", 1)
    monkeypatch.setattr(words, "RARE", 0)
    monkeypatch.setattr(words, "TAUGHT", last)
    run(words, data, values, "--checkpoint", trained, "--out", data / "words.json")
    found = json.loads((data / "words.json").read_text())
    assert [entry["word"] for entry in found["added"]["words"]] == [known[last]]
    assert {entry["word"] for entry in found["taught"]["words"]} == {"kayak", "zeppelin"} - {known[last]}


def test_a_word_weighs_as_much_as_its_neighbours(data):
    table = read_teachers(data / "teachers", training_sentences(read_sources(data))).words
    np.testing.assert_allclose(np.linalg.norm(table[3:], axis=1), 10, rtol=0.02)


def test_padding_changes_no_value():
    torch.manual_seed(0)
    network = SentenceNetwork(torch.randn(9, WORD_SIZE)).eval()
    short, long = torch.tensor([[3, 4, 5]]), torch.tensor([[3, 4, 5, 0, 0, 0, 0]])
    torch.testing.assert_close(network(short), network(long))


def test_two_masks_do_not_tell_which_rows_belong_together_though_their_numbers_are_the_same(monkeypatch):
    numbers = torch.rand(200, 16)
    monkeypatch.setattr(torch, "rand", lambda *_, **__: numbers)
    first, second = (Dropout(0.5)(torch.ones(200, 16)) for _ in range(2))
    same_rows = (first == second).all(1).sum()
    assert same_rows < 20
    assert sorted(first.tolist()) == sorted(second.tolist())


def test_views_of_a_grey_picture_are_grey_and_as_large_as_wished():
    seen = views(torch.full((4, 48, 64, 3), 100, dtype=torch.uint8), 32)
    assert seen.shape == (4, 3, 32, 32)
    assert (seen.amax((1, 2, 3)) - seen.amin((1, 2, 3))).max() < 0.01


def test_views_show_most_of_a_picture_a_little_larger_or_smaller_and_some_of_them_mirrored():
    torch.manual_seed(0)
    ramp = 100 + torch.arange(64, dtype=torch.uint8).repeat_interleave(3).view(1, 1, 64, 3)
    seen = views(ramp.expand(200, 64, 64, 3), 32)[:, 0, 0]
    steps = seen.diff(dim=1)[:, 1:-1]
    of_each = steps.mean(1, keepdim=True)
    torch.testing.assert_close(steps, of_each.expand_as(steps), rtol=0, atol=0.02)  # stretched evenly
    least, most = 2 * LEAST * (1 - LIGHT), 2 * (1 + LIGHT)  # pixels of the picture to one that is seen, and light
    assert of_each.abs().min() >= least - 0.02
    assert of_each.abs().max() <= most + 0.02
    assert 60 < (of_each < 0).sum() < 140


def test_half_of_the_pictures_lose_what_is_small():
    torch.manual_seed(0)
    stripes = (torch.arange(64) % 2 * 255.0).expand(4, 3, 64, 64)
    seen = smaller(stripes).std((1, 2, 3))
    assert (seen[:2] < 100).all()
    torch.testing.assert_close(seen[2:], stripes[2:].std((1, 2, 3)))


def test_only_words_are_forgotten_never_padding():
    ids = torch.tensor([[7, 8, 0, 0]])
    assert forget_words(ids, 1.0).tolist() == [[1, 1, 0, 0]]


def test_recall_with_ties_is_the_mean_over_all_their_orders():
    rng = torch.Generator().manual_seed(0)
    queries, gallery = torch.randn(30, 4, generator=rng), torch.randn(30, 4, generator=rng)
    scores = queries.sign() @ gallery.sign().T
    drawn = []
    for _ in range(400):
        order = (scores + 0.5 * torch.rand(scores.shape, generator=rng)).argsort(1, descending=True)
        drawn.append(float((order[:, :5] == torch.arange(30)[:, None]).any(1).float().mean()))
    assert recall_at(5, queries, gallery) == pytest.approx(np.mean(drawn), abs=0.01)


def test_a_photograph_is_a_thumbnail_half_the_time_where_it_has_one():
    pixels, thumbnails = torch.zeros(3, 2, 2, 3, dtype=torch.uint8), torch.ones(2, 2, 2, 3, dtype=torch.uint8)
    empty = torch.zeros(0)
    pairs = batches.Pairs(pixels, thumbnails, *6 * [empty], None)
    torch.manual_seed(0)
    seen = pairs.some_pixels(torch.tensor([0, 1, 2]).repeat(400))[:, 0, 0, 0].view(400, 3).float().mean(0)
    assert seen[2] == 0
    assert ((seen[:2] > 0.4) & (seen[:2] < 0.6)).all()


def test_blocks_are_skipped_while_it_learns_and_never_afterwards():
    torch.manual_seed(0)
    plain, skipping = PictureNetwork().eval(), PictureNetwork(skipped=0.9).eval()
    skipping.load_state_dict(plain.state_dict())
    pixels = torch.rand(2, 3, 32, 32) * 255
    torch.testing.assert_close(skipping(pixels), plain(pixels))
    norm = skipping.backbone.get_submodule("_blocks.2._bn2").train()
    kept = [float(norm(torch.randn(64, 24, 1, 1)).abs().amax((1, 2, 3)).gt(0).float().mean()) for _ in range(20)]
    assert 0.8 < np.mean(kept) < 1  # of the first of nine residual blocks a ninth of 0.9 is skipped


def test_what_stays_as_published_is_not_trained_and_the_rest_is(data):
    torch.manual_seed(0)
    sources = read_sources(data)
    teachers = read_teachers(data / "teachers", training_sentences(sources))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pixels, "SIDE", 48)
        pairs = batches.pairs_of(sources, [], teachers, data / "cache", "cpu")
    settings = Settings(epochs=1, batch=8, side=32, wordings=4)
    networks = Networks(torch.from_numpy(teachers.words), pairs.vectors.shape[1], settings)
    before = {name: tensor.clone() for name, tensor in networks.pictures.state_dict().items()}
    Training(networks, pairs, settings).epoch(0)
    changed = {name for name, tensor in networks.pictures.state_dict().items() if not torch.equal(tensor, before[name])}
    published = ("backbone._conv_stem", "backbone._bn0", "backbone._blocks.0.", "backbone._blocks.2.")
    assert not [name for name in changed if name.startswith(published)]
    assert {"backbone._blocks.3._expand_conv.weight", "backbone._conv_head.weight", "head.last.weight"} <= changed


def test_wordings_change_some_words_of_captions_and_say_every_word_by_itself():
    spelt = ["a", "dog", "cat", "kayak", "runs", "sleeps", "on", "grass"]
    vocabulary = Vocabulary(spelt, TOKENS)
    table = np.random.default_rng(0).normal(size=(3 + len(spelt), 8)).astype(np.float32)
    captions = ["a dog runs on grass", "a cat sleeps on grass", "a dog sleeps"]
    found = wordings(captions, vocabulary, table)
    assert found == sorted(set(found)) == wordings(captions, vocabulary, table)
    assert not set(found) & set(captions)
    assert "a photo of a kayak" in found
    again = [text.split() for text in found if not text.startswith("a photo of a ")]
    assert again
    for said in again:
        assert any(len(said) == len(old := caption.split()) and said[0] == old[0] for caption in captions)


def test_a_word_gives_way_to_words_that_lie_near():
    spelt = [f"word{letter}" for letter in "abcdefghijkl"]
    table = np.zeros((3 + len(spelt), 2), dtype=np.float32)
    angles = np.arange(len(spelt)) / 10
    table[3:] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    near = neighbours(Vocabulary(spelt, TOKENS), table)
    assert set(near["worda"]) == set(spelt[1:9])
