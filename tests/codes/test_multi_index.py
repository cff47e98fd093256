"""The multi-index beside the numpy reference: the same rows, distances and ties, and a certificate that holds."""

import json
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbinaries.codes import Codes, Gallery, all_distances, multi_index, reference
from deepbinaries.codes.multi_index import MultiIndex, worthwhile
from deepbinaries.codes.multi_index_files import HEADER, open_index, save_index
from deepbinaries.errors import DataError, Error, UsageError

patiently = settings(deadline=None, max_examples=60)  # the first example compiles
PATIENT = 1e9  # a share of the rows that no search reaches: it never falls back to a scan


def same(found, expected):
    return all(np.array_equal(getattr(found, name), getattr(expected, name)) for name in vars(expected))


def judged_top_k(queries, codes, k):
    return reference.top_k(queries.columns().T, Gallery.of(codes), min(k, len(codes)), 1)


def judged_within(queries, codes, radius):
    return reference.within(queries.columns().T, Gallery.of(codes), np.full(len(queries), radius), 1)


def around(rng, bits, n_queries, n_items, *, n_centres, flip):
    """Queries and codes around some centres."""
    centres = rng.integers(0, 2, (n_centres, bits))
    n = n_queries + n_items
    codes = Codes.from_bits(centres[rng.integers(0, n_centres, n)] ^ (rng.random((n, bits)) < flip))
    return codes[:n_queries], codes[n_queries:]


@st.composite
def searches(draw):
    """Queries, codes, and the width of substrings."""
    queries, codes = around(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        draw(st.sampled_from([1, 7, 32, 63, 64])),
        draw(st.integers(0, 4)),
        draw(st.sampled_from([1, 2, 65, 700])),
        n_centres=draw(st.sampled_from([1, 3, 1000])),
        flip=draw(st.sampled_from([0.0, 0.02, 0.5])),  # 0.0 with one centre: all codes are equal
    )
    return queries, codes, draw(st.sampled_from([3, 8, 11, 16]))


shares = st.sampled_from([0.0, 1 / 8, 1.0, 5.0, PATIENT])
ks = st.sampled_from([1, 2, 10, 100, 1000])


@patiently
@given(searches(), ks, shares)
def test_the_nearest_are_those_of_the_reference(search, k, share):
    queries, codes, width = search
    with patch.object(multi_index, "SHARE", share):
        found, certificate = MultiIndex.build(codes, width=width).top_k(queries, k)
    assert same(found, judged_top_k(queries, codes, k))
    assert certificate.ties.tolist() == found.ties.tolist()


@patiently
@given(searches(), st.integers(0, 70), shares)
def test_the_balls_are_those_of_the_reference(search, radius, share):
    queries, codes, width = search
    with patch.object(multi_index, "SHARE", share):
        found, certificate = MultiIndex.build(codes, width=width).within(queries, radius)
    assert same(found, judged_within(queries, codes, radius))
    assert certificate.ties.tolist() == (all_distances(queries, codes) == min(radius, codes.bits)).sum(axis=1).tolist()


@patiently
@given(searches(), ks)
def test_the_radius_of_the_certificate_reaches_the_last_distance(search, k):
    queries, codes, width = search
    with patch.object(multi_index, "SHARE", PATIENT):
        found, certificate = MultiIndex.build(codes, width=width).top_k(queries, k)
    assert not certificate.scanned.any()
    assert (certificate.radius >= found.distances[:, -1]).all()


@pytest.fixture
def index():
    """Twenty thousand codes, of which those near each other are few."""
    return MultiIndex.build(around(np.random.default_rng(0), 64, 0, 20_000, n_centres=5000, flip=0.03)[1])


def codes_of(index):
    return Codes(index.gallery.segments[0][0].view(np.uint8).reshape(-1, 8), 64)


def test_a_few_rows_are_looked_at_where_codes_are_far_apart(index):
    found, certificate = index.top_k(codes_of(index)[:20], k=1)
    assert found.rows[:, 0].tolist() == list(range(20))
    assert not certificate.scanned.any()
    assert certificate.looked_at.max() < len(index) / 100


def test_rows_looked_at_are_those_in_the_buckets():
    """The query's first half is that of rows 0 and 1, its second half that of rows 1 and 2; radius 1 needs no more."""
    codes = Codes.from_bits([[0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]])
    with patch.object(multi_index, "SHARE", PATIENT):
        found, certificate = MultiIndex.build(codes, width=2).within(Codes.from_bits([[0, 0, 0, 0]]), radius=1)
    assert (found.rows.tolist(), found.distances.tolist()) == ([1, 0], [0, 1])
    assert (certificate.radius.tolist(), certificate.looked_at.tolist()) == ([1], [4])


def test_a_query_in_a_crowd_is_answered_by_the_scan_and_the_others_are_not():
    rng = np.random.default_rng(1)
    codes = Codes.from_bits(np.concatenate([np.zeros((9_000, 64), int), rng.integers(0, 2, (9_000, 64))]))
    queries = codes[[17_000, 5, 17_001]]
    found, certificate = MultiIndex.build(codes).top_k(queries, k=1)
    assert certificate.scanned.tolist() == [False, True, False]
    assert certificate.radius[1] == 64
    assert certificate.looked_at[1] == len(codes)
    assert same(found, judged_top_k(queries, codes, 1))


def test_a_ball_that_is_too_wide_is_scanned(index):
    queries = codes_of(index)[:3]
    found, certificate = index.within(queries, radius=40)
    assert certificate.scanned.all()
    assert same(found, judged_within(queries, codes_of(index), 40))


def test_numpy_alone_gives_the_same_by_scanning(index, monkeypatch):
    monkeypatch.setenv("DEEPBINARIES_SEARCH", "numpy")
    queries = codes_of(index)[:3]
    found, certificate = index.top_k(queries, k=5)
    assert certificate.scanned.all()
    assert same(found, judged_top_k(queries, codes_of(index), 5))


def test_no_codes_have_no_neighbours():
    index = MultiIndex.build(Codes.from_bits(np.empty((0, 64), int)))
    query = Codes.from_bits(np.zeros((2, 64), int))
    assert index.top_k(query, k=3)[0].rows.shape == (2, 0)
    assert index.within(query, radius=64)[0].offsets.tolist() == [0, 0, 0]


def test_substrings_of_more_than_16_bits_are_sorted_too():
    queries, codes = around(np.random.default_rng(2), 64, 5, 3000, n_centres=200, flip=0.03)
    index = MultiIndex.build(codes, width=22)
    assert index.widths == (22, 21, 21)
    with patch.object(multi_index, "SHARE", PATIENT):
        assert same(index.within(queries, radius=9)[0], judged_within(queries, codes, 9))


def test_the_segments_of_a_gallery_become_one():
    queries, codes = around(np.random.default_rng(3), 64, 5, 100, n_centres=9, flip=0.1)
    gallery = Gallery([codes[:30].columns(), codes[30:].columns()], 64)
    assert same(MultiIndex.build(gallery).top_k(queries, k=7)[0], judged_top_k(queries, codes, 7))


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (lambda index: index.top_k(Codes.from_bits([[0]]), k=1), "queries have 1 bits and the index 64"),
        (lambda index: index.within(Codes.from_bits([[0]]), radius=1), "queries have 1 bits and the index 64"),
        (lambda index: index.top_k(codes_of(index)[0], k=0), "k=0 asks for nothing"),
        (lambda index: index.within(codes_of(index)[0], radius=-1), "radius=-1 is negative"),
        (lambda index: MultiIndex.build(index.gallery.without([3])), "1 of these are hidden"),
        (lambda index: MultiIndex.build(index.gallery, width=30), "width=30 is outside"),
        (lambda index: MultiIndex.build(index.gallery, width=0), "width=0 is outside"),
        (lambda _: MultiIndex.build(Codes.from_bits(np.zeros((1, 65), int))), "at most 64 bits, these have 65"),
    ],
)
def test_what_cannot_be_asked_is_refused(index, wrong, complaint):
    with pytest.raises(UsageError, match=complaint):
        wrong(index)


def test_an_index_is_worthwhile_for_many_short_codes_only():
    assert worthwhile(multi_index.WORTHWHILE, bits=64)
    assert not worthwhile(multi_index.WORTHWHILE - 1, bits=64)
    assert not worthwhile(10**9, bits=65)
    assert not worthwhile(2**32, bits=64)


@pytest.fixture
def saved(index, tmp_path):
    save_index(index, tmp_path / "index")
    return tmp_path / "index"


@pytest.mark.parametrize("verify", [True, False])
def test_an_index_comes_back_as_it_was(index, saved, verify):
    opened = open_index(saved, verify=verify)
    assert opened.widths == index.widths
    queries = codes_of(index)[:5]
    for (found, certificate), (expected, due) in [
        (opened.top_k(queries, k=3), index.top_k(queries, k=3)),
        (opened.within(queries, radius=9), index.within(queries, radius=9)),
    ]:
        assert same(found, expected)
        assert same(certificate, due)


def test_an_opened_index_is_searched_without_compiling_again(index, saved):
    from deepbinaries.codes import multi_index_compiled

    index.top_k(codes_of(index)[:1], k=1)
    compiled_so_far = len(multi_index_compiled.search.signatures)
    open_index(saved).top_k(codes_of(index)[:1], k=1)
    assert len(multi_index_compiled.search.signatures) == compiled_so_far


def test_an_index_of_nothing_comes_back(tmp_path):
    save_index(MultiIndex.build(Codes.from_bits(np.empty((0, 64), int))), tmp_path)
    assert len(open_index(tmp_path)) == 0


def test_an_opened_index_can_be_saved_over_itself(index, saved):
    save_index(open_index(saved), saved)
    assert np.array_equal(open_index(saved).tables, index.tables)


@pytest.mark.parametrize("name", ["codes.npy", "tables.npy", "ids.npy", "offsets.npy"])
def test_a_flipped_byte_is_refused_by_name(saved, name):
    content = bytearray((saved / name).read_bytes())
    content[-3] ^= 1
    (saved / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name} are not those its header was written for"):
        open_index(saved)


@pytest.mark.parametrize("name", ["codes.npy", "tables.npy", "ids.npy", "offsets.npy"])
def test_a_file_cut_in_the_middle_is_refused_by_name(saved, name):
    (saved / name).write_bytes((saved / name).read_bytes()[:-5])
    with pytest.raises(DataError, match=f"{name} is not a whole .npy file"):
        open_index(saved, verify=False)


def test_a_missing_file_is_refused_by_name(saved):
    (saved / "ids.npy").unlink()
    with pytest.raises(DataError, match="ids.npy does not exist"):
        open_index(saved)


def test_an_array_of_another_shape_is_refused_by_name(saved):
    np.save(saved / "ids.npy", np.zeros((2, 2), np.uint32))
    with pytest.raises(DataError, match="ids.npy does not hold uint32"):
        open_index(saved)


def test_a_header_that_was_changed_is_refused(saved):
    facts = json.loads((saved / HEADER).read_text())
    (saved / HEADER).write_text(json.dumps(facts | {"items": 3}))
    with pytest.raises(DataError, match="index.json is not as it was written"):
        open_index(saved)


@pytest.mark.parametrize("header", ["[]", "{}", '{"format": "deepbinaries-codes", "version": 1}'])
def test_a_header_of_something_else_is_refused(saved, header):
    (saved / HEADER).write_text(header)
    with pytest.raises(DataError, match="index.json does not describe an index"):
        open_index(saved)


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("offsets", {(0, 5): 2**31}, "offsets.npy leads out of its tables"),
        ("offsets", {(0, -1): 30_000}, "offsets.npy leads out of its tables"),
        ("ids", {(1, 7): 30_000}, "ids.npy names rows that are not there"),
    ],
)
def test_a_forged_index_whose_checksums_fit_leads_nowhere(index, tmp_path, name, change, complaint):
    arrays = {"tables": index.tables, "ids": index.ids.copy(), "offsets": index.offsets.copy()}
    for place, value in change.items():
        arrays[name][place] = value
    save_index(MultiIndex(index.gallery, index.widths, **arrays), tmp_path)
    with pytest.raises(DataError, match=complaint):
        open_index(tmp_path)


def test_tables_that_hide_rows_are_noticed():
    """All tables hold the query's own code, wherever the offsets lead."""
    index = MultiIndex.build(Codes.from_bits([[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]), width=2)
    forged = MultiIndex(index.gallery, index.widths, np.zeros_like(index.tables), index.ids, index.offsets)
    with patch.object(multi_index, "SHARE", PATIENT), pytest.raises(DataError, match="tables and codes"):
        forged.top_k(Codes.from_bits([[0, 0, 0, 0]]), k=3)


def test_a_folder_that_is_a_file_cannot_be_saved_to(index, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Error, match="file cannot be written"):
        save_index(index, tmp_path / "file")
