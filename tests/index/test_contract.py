"""Every index keeps the one contract, and the check of it notices who does not."""

import pytest

from deepbinaries.errors import UsageError
from deepbinaries.index import EmbeddedIndex, check_index, embedded, open_index


@pytest.fixture
def make(tmp_path):
    return lambda name, bits: EmbeddedIndex(tmp_path / name, bits=bits, writable=True)


@pytest.fixture
def many_segments(monkeypatch):
    """Every change leaves a segment of its own, as in a large index."""
    monkeypatch.setattr(embedded, "taken_up", lambda _records, _n_new: [])


def test_the_embedded_index_keeps_the_contract(make):
    check_index(make)


@pytest.mark.usefixtures("many_segments")
def test_the_embedded_index_keeps_the_contract_with_many_segments(make):
    check_index(make)


def test_the_embedded_index_keeps_the_contract_through_its_door(tmp_path):
    check_index(lambda name, bits: open_index(tmp_path / name, bits=bits, writable=True), lengths=[12])


class DictionaryOrder(EmbeddedIndex):
    """Equal distances in the order of letters, as many databases have it."""

    def search(self, codes, k, **options):
        found = super().search(codes, k, **options)
        for ids, distances in zip(found.ids, found.distances, strict=True):
            pairs = sorted(zip(distances, ids, strict=True), key=lambda pair: (pair[0], pair[1].lower()))
            ids[:] = [id_ for _, id_ in pairs]
        return found


class Forgetful(EmbeddedIndex):
    """Says that it has removed what it keeps."""

    def remove(self, ids):
        return len(ids)


class Optimistic(EmbeddedIndex):
    """Leaves ties out and does not say so."""

    def search(self, codes, k, *, with_ties=False, among=None):
        found = super().search(codes, k, with_ties=with_ties, among=among)
        object.__setattr__(found.certificate, "ties_left_out", (0,) * len(found))
        return found


@pytest.mark.parametrize("kind", [DictionaryOrder, Forgetful, Optimistic])
def test_the_check_notices_an_index_that_breaks_the_contract(kind, tmp_path):
    with pytest.raises(UsageError, match="breaks its contract"):
        check_index(lambda name, bits: kind(tmp_path / name, bits=bits, writable=True), lengths=[8, 64])


def test_an_address_of_an_unknown_kind_is_refused():
    with pytest.raises(UsageError, match="no index is called 'mongodb'"):
        open_index("mongodb://localhost/codes")


def test_a_setting_that_an_index_does_not_have_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no setting of the index 'embedded' is called 'fast'"):
        open_index(tmp_path, fast=True)
