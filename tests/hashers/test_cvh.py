"""Cross-View Hashing, judged by the generalised eigenproblem that the paper writes down."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from deepbinaries.codes import Codes
from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import evaluate
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers import cvh as module
from deepbinaries.hashers.cvh import CVH, CVHSettings, correlated_directions, covariances, mean, word_counts
from deepbinaries.language.vocabulary import FIRST_WORD

REGULARISATION = 0.05


def small(**settings) -> CVH:
    return CVH(CVHSettings(**({"bits": 6, "regularisation": REGULARISATION} | settings)))


def slow_views(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Both views, centred, row by row."""
    X = np.array([np.asarray(picture, np.float64)[-1, :-4] for picture in pairs.images.regions])
    words = range(FIRST_WORD, pairs.texts.n_words)
    Y = np.array([[sum(token == word for token in text) for word in words] for text in pairs.texts.tokens], float)
    return X - X.mean(axis=0), Y - Y.mean(axis=0)


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


def test_correlations_are_the_eigenvalues(pairs):
    X, Y = slow_views(pairs)
    s, _ = slow_correlations(X, Y, REGULARISATION)
    _, _, found = correlated_directions(X.T @ X, Y.T @ Y, X.T @ Y, REGULARISATION)
    assert_allclose(found, s[: len(found)], atol=1e-10)


def test_directions_are_orthonormal_in_the_regularised_covariance(pairs):
    X, Y = slow_views(pairs)
    Wx, Wy, s = correlated_directions(X.T @ X, Y.T @ Y, X.T @ Y, 0.0)
    assert_allclose(Wx.T @ X.T @ X @ Wx, np.eye(len(s)), atol=1e-9)
    assert_allclose(Wx.T @ X.T @ Y @ Wy, np.diag(s), atol=1e-9)


def test_correlations_do_not_change_under_a_linear_map_of_a_view(pairs, rng):
    X, Y = slow_views(pairs)
    mapped = X @ rng.normal(size=(X.shape[1], X.shape[1]))
    _, _, s = correlated_directions(X.T @ X, Y.T @ Y, X.T @ Y, 0.0)
    _, _, of_mapped = correlated_directions(mapped.T @ mapped, Y.T @ Y, mapped.T @ Y, 0.0)
    assert_allclose(s, of_mapped, atol=1e-8)


def test_swapped_views_swap_their_correlated_directions(pairs):
    X, Y = slow_views(pairs)
    Wx, Wy, _ = correlated_directions(X.T @ X, Y.T @ Y, X.T @ Y, REGULARISATION)
    other_y, other_x, _ = correlated_directions(Y.T @ Y, X.T @ X, Y.T @ X, REGULARISATION)
    assert_allclose(np.abs(Wx), np.abs(other_x), atol=1e-8)
    assert_allclose(np.abs(Wy), np.abs(other_y), atol=1e-8)


@pytest.mark.parametrize("block", [1, 7, 240, 1000])
def test_blocks_of_any_size_give_the_same_covariances(pairs, monkeypatch, block):
    X, Y = slow_views(pairs)
    monkeypatch.setattr(module, "BLOCK", block)
    found = covariances(pairs, mean(pairs.images), mean(pairs.texts))
    for S, expected in zip(found, (X.T @ X, Y.T @ Y, X.T @ Y), strict=True):
        assert_allclose(S, expected, atol=1e-8)


@pytest.mark.parametrize("direction", ["image_to_text", "text_to_image"])
def test_it_finds_what_it_has_not_seen(pairs, others, direction):
    hasher = small().fit(pairs)
    sides = (others.images, pairs.texts) if direction == "image_to_text" else (others.texts, pairs.images)
    queries, gallery = (Codes.from_values(hasher.encode(side)) for side in sides)
    report = evaluate(queries, gallery, query_labels=others.labels, gallery_labels=pairs.labels, direction=direction)
    assert report.mean > report.chance + 0.2


def test_bits_beyond_the_rank_are_left_out_and_told(pairs, tmp_path):
    entries = []
    hasher = small(bits=64).fit(pairs, log=entries.append)
    assert hasher.bits == 10  # one for each of the ten words
    assert "10 directions in common" in entries[0]["warning"]
    hasher.save(tmp_path)
    assert CVH.load(tmp_path).encode(pairs.texts).shape == (len(pairs), 10)


def test_special_tokens_are_no_words():
    assert word_counts(Texts(np.array([[0, 1, 2]], dtype=np.int32), 5)).tolist() == [[0.0, 0.0]]


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


def test_a_flipped_byte_is_refused(pairs, tmp_path):
    small().fit(pairs).save(tmp_path)
    path = tmp_path / "hasher.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + bytes([path.read_bytes()[-1] ^ 1]))
    with pytest.raises(DataError, match="no whole CVH"):
        CVH.load(tmp_path)


def test_projections_that_do_not_go_together_are_refused(pairs, tmp_path):
    hasher = small().fit(pairs)
    hasher.projections_["texts"] = hasher.projections_["texts"][:, :3]
    hasher.save(tmp_path)
    with pytest.raises(DataError, match="projection of texts has the shape"):
        CVH.load(tmp_path)


def test_another_version_is_refused(pairs, tmp_path):
    small().fit(pairs).save(tmp_path)
    facts = json.loads((tmp_path / "hasher.json").read_text())
    (tmp_path / "hasher.json").write_text(json.dumps(facts | {"version": 9}))
    with pytest.raises(DataError, match="version 9 is not"):
        CVH.load(tmp_path)


def test_it_needs_no_torch():
    code = "import sys; sys.modules['torch'] = None; import deepbinaries.hashers.cvh"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
