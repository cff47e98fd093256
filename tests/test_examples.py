"""Every example runs, and says what its page says."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np

from deepbinaries import Codes
from deepbinaries.datasets import Labels
from deepbinaries.evaluation import evaluate
from deepbinaries.hashers import Images, Pairs, Texts, check_hasher

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_first_codes_finds_sentences_and_reports_a_score_above_chance():
    run = subprocess.run([sys.executable, EXAMPLES / "first_codes.py"], capture_output=True, text=True, check=True)
    figures = dict(line.split()[:2] for line in run.stdout.splitlines() if line.startswith(("  map@all", "  chance")))
    assert "bits away" in run.stdout
    assert float(figures["map@all"]) > float(figures["chance"]) + 0.02


def method():
    """The class of the example of a method."""
    spec = importlib.util.spec_from_file_location("label_projection", EXAMPLES / "label_projection.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where a dataclass looks for its module
    spec.loader.exec_module(module)
    return module.LabelProjection


def pairs(n, seed):
    """Pairs of vectors that tell their labels, one of four each."""
    labels = np.random.default_rng(seed).integers(0, 4, n)
    noise = np.random.default_rng(seed + 1).normal(0, 0.2, (2, n, 12))
    views = np.eye(4)[labels] @ np.random.default_rng(5).normal(size=(4, 12)) + noise
    named = Labels.from_columns(labels[:, None].tolist(), list("abcd"))
    return Pairs(Images.from_vectors(views[0]), Texts.from_vectors(views[1]), named)


def test_the_method_of_the_page_is_the_example_and_keeps_the_contract(tmp_path):
    page = (EXAMPLES.parent / "docs/add-a-method.md").read_text()
    assert (EXAMPLES / "label_projection.py").read_text() in page
    check_hasher(lambda: method().preset("label-projection", bits=16), pairs(80, seed=0), tmp_path)


def test_the_method_of_the_page_finds_items_it_has_not_learnt_from():
    hasher, new = method().preset("mine", bits=16).fit(pairs(80, seed=0)), pairs(40, seed=10)
    pictures, sentences = (Codes.from_values(hasher.encode(side)) for side in (new.images, new.texts))
    report = evaluate(pictures, sentences, query_labels=new.labels, gallery_labels=new.labels)
    assert report.mean > report.chance + 0.4
