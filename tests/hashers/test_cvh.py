"""Cross-View Hashing, judged by the generalised eigenproblem that the paper writes down."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from slow_views import slow_views
from wiki import both_ways, learnt_and_asked

from deepbinaries.codes import Codes
from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import evaluate
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.cvh import CVH, CVHSettings

REGULARISATION = 0.05


def small(**settings) -> CVH:
    return CVH(CVHSettings(**({"bits": 6, "regularisation": REGULARISATION} | settings)))


def slow_correlations(X: np.ndarray, Y: np.ndarray, regularisation: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and vectors of [[0, Sxy], [Sxy', 0]] a = s blkdiag(Sxx + ex I, Syy + ey I) a, the largest first."""
    loose = [S + regularisation * np.trace(S) / len(S) * np.eye(len(S)) for S in (X.T @ X, Y.T @ Y)]
    across = np.zeros((X.shape[1] + Y.shape[1],) * 2)
    across[: X.shape[1], X.shape[1] :] = X.T @ Y
    s, a = scipy.linalg.eigh(across + across.T, scipy.linalg.block_diag(*loose))
    return s[::-1], a[:, ::-1]


def test_cvh_keeps_the_contract_of_a_hasher(pairs, tmp_path):
    check_hasher(small, pairs, tmp_path)


def test_codes_are_those_of_the_eigenproblem(pairs):
    X, Y = slow_views(pairs)
    _, a = slow_correlations(X, Y, REGULARISATION)
    Wx, Wy = a[: X.shape[1], :6], a[X.shape[1] :, :6]
    signs = np.sign(Wx[np.abs(Wx).argmax(axis=0), np.arange(6)])
    hasher = small().fit(pairs)
    # The constraint sums both views to 1 there, and each of them is 1 here.
    assert_allclose(hasher.encode(pairs.images), X @ Wx * signs * np.sqrt(2), atol=1e-4)
    assert_allclose(hasher.encode(pairs.texts), Y @ Wy * signs * np.sqrt(2), atol=1e-4)


@pytest.mark.parametrize("direction", ["image_to_text", "text_to_image"])
def test_it_finds_what_it_has_not_seen(pairs, others, direction):
    hasher = small().fit(pairs)
    sides = (others.images, pairs.texts) if direction == "image_to_text" else (others.texts, pairs.images)
    queries, gallery = (Codes.from_values(hasher.encode(side)) for side in sides)
    report = evaluate(queries, gallery, query_labels=others.labels, gallery_labels=pairs.labels, direction=direction)
    assert report.mean > report.chance + 0.2


def test_bits_beyond_the_rank_are_filled_up_and_told(pairs, tmp_path):
    entries = []
    hasher = small(bits=64).fit(pairs, log=entries.append)
    assert "10 directions in common" in entries[0]["warning"]  # one for each of the ten words
    hasher.save(tmp_path)
    assert CVH.load(tmp_path).encode(pairs.texts).shape == (len(pairs), 64)


def test_found_bits_come_first_in_codes_that_are_filled_up(pairs):
    short, long = small(bits=10).fit(pairs), small(bits=64).fit(pairs)
    assert_allclose(long.encode(pairs.images)[:, :10], short.encode(pairs.images), atol=1e-6)


def test_a_row_that_is_not_finite_is_named(pairs):
    regions = np.array(pairs.images.regions)
    regions[17, -1, 0] = np.nan
    with pytest.raises(DataError, match="row 17"):
        small().fit(Pairs(Images(regions), pairs.texts, pairs.labels))


def test_sentences_of_another_vocabulary_are_refused(pairs):
    with pytest.raises(DataError, match="of 20 words, the model knows 10"):
        small().fit(pairs).encode(Texts(pairs.texts.tokens, 23))


def test_a_token_beyond_the_vocabulary_is_refused(pairs):
    with pytest.raises(DataError, match="a token id is 13"):
        small().fit(pairs).encode(Texts(np.array([[13]], dtype=np.int32), 13))


def test_pictures_that_are_all_alike_ask_for_regularisation(pairs):
    blank = Images(np.zeros_like(pairs.images.regions))
    with pytest.raises(DataError, match="larger regularisation"):
        small().fit(Pairs(blank, pairs.texts, pairs.labels))


def test_one_pair_teaches_nothing(pairs):
    with pytest.raises(DataError, match="1 pairs teach nothing"):
        small().fit(pairs.select(np.array([0])))


def test_views_that_share_nothing_are_refused():
    images = Images(np.array([1, -1, 1, -1], dtype=np.float16).repeat(10).reshape(4, 2, 5))
    texts = Texts(np.array([[3], [3], [0], [0]], dtype=np.int32), 4)
    with pytest.raises(DataError, match="nothing in common"):
        small().fit(Pairs(images, texts, Labels.from_names([["dog"]] * 4)))


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"bits": 0}, "bits=0"), ({"regularisation": -1.0}, "regularisation=-1"), ({"bit": 8}, "did you mean 'bits'")],
)
def test_wrong_settings_are_refused_where_they_are_written(settings, word):
    with pytest.raises(UsageError, match=word):
        CVH.preset("cvh", **settings)


def test_nine_bits_hold_all_that_wiki_gives(real_data):
    learnt, asked = learnt_and_asked(real_data)
    hasher = CVH.preset("cvh", bits=16, padding="constant", regularisation=2.5e-4).fit(learnt)
    assert_allclose(both_ways(hasher, learnt, asked), [0.189, 0.185], atol=0.001)


def test_it_needs_no_torch():
    code = "import sys; sys.modules['torch'] = None; import deepbinaries.hashers.cvh"
    subprocess.run([sys.executable, "-c", code], check=True)
