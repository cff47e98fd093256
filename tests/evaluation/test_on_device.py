"""Counting by torch beside counting by the processor's kernel: the same numbers, whatever the codes and the labels."""

import subprocess
import sys

import numpy as np
import pytest

from deepbinaries.codes import Codes
from deepbinaries.datasets.labels import Labels
from deepbinaries.errors import UsageError
from deepbinaries.evaluation import PairedItems, Rules, SharedLabels, evaluate, of_codes, on_device


def items(rng, n, bits, n_labels):
    codes = Codes.from_bits(rng.integers(0, 2, (n, bits)))
    return codes, Labels.from_matrix((rng.random((n, n_labels)) < 0.1).astype(int))


def counts(*search, **settings):
    return np.concatenate([part.counts for part in of_codes(*search, **settings)])


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize(("bits", "n_labels"), [(1, 3), (7, 64), (64, 65), (100, 20), (128, 130), (1024, 20)])
def test_the_counts_are_those_of_the_kernel(bits, n_labels, graded):
    rng = np.random.default_rng(bits)
    (queries, of_queries), (gallery, of_gallery) = items(rng, 7, bits, n_labels), items(rng, 303, bits, n_labels)
    search = queries, gallery, SharedLabels.of(of_queries, of_gallery)
    assert np.array_equal(counts(*search, graded=graded, device="cpu"), counts(*search, graded=graded))


def test_a_gallery_that_comes_in_blocks_is_counted_once(monkeypatch):
    rng = np.random.default_rng(0)
    (queries, of_queries), (gallery, of_gallery) = items(rng, 5, 16, 9), items(rng, 303, 16, 9)
    search = queries, gallery, SharedLabels.of(of_queries, of_gallery)
    monkeypatch.setattr(on_device, "AT_ONCE", 5 * 100)
    assert np.array_equal(counts(*search, device="cpu"), counts(*search))


def test_few_queries_of_long_codes_do_not_unpack_the_whole_gallery_at_once(monkeypatch):
    rng, unpacked, bits = np.random.default_rng(0), [], on_device._bits
    (queries, of_queries), (gallery, of_gallery) = items(rng, 1, 128, 9), items(rng, 303, 128, 9)
    monkeypatch.setattr(on_device, "AT_ONCE", 128 * 100)
    monkeypatch.setattr(on_device, "_bits", lambda packed: (unpacked.append(8 * packed.numel()), bits(packed))[1])
    search = queries, gallery, SharedLabels.of(of_queries, of_gallery)
    assert np.array_equal(counts(*search, device="cpu"), counts(*search))
    assert max(unpacked) <= 128 * 100


def test_a_report_is_the_same_wherever_it_is_counted():
    codes, labels = items(np.random.default_rng(1), 60, 32, 9)
    rules = Rules(gallery="with-queries", itself="left out")
    settings = {"query_labels": labels, "gallery_labels": labels, "rules": rules, "own": np.arange(60)}
    here, there = (evaluate(codes, codes, **settings, device=device) for device in (None, "cpu"))
    assert there.to_json() == here.to_json()


def test_pairs_are_counted_as_ever():
    codes = items(np.random.default_rng(2), 9, 16, 3)[0]
    pairs = PairedItems.from_ids(list("abcdefghi"), list("abcdefghi"))
    assert np.array_equal(counts(codes, codes, pairs, device="cpu"), counts(codes, codes, pairs))


def test_a_device_that_does_not_exist_is_refused():
    codes, labels = items(np.random.default_rng(3), 4, 8, 3)
    with pytest.raises(UsageError, match="no device is called 'abacus'"):
        evaluate(codes, codes, query_labels=labels, gallery_labels=labels, device="abacus")


def test_without_torch_a_device_names_the_extra():
    code = """
import sys; sys.modules["torch"] = None
from deepbinaries.codes import Codes
from deepbinaries.datasets.labels import Labels
from deepbinaries.evaluation import evaluate
codes, labels = Codes.from_bits([[0, 1]]), Labels.from_names([["cat"]])
evaluate(codes, codes, query_labels=labels, gallery_labels=labels, device="cuda")
"""
    stopped = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert stopped.stderr.endswith("torch is not installed; install deepbinaries[train]\n")
