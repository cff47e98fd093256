"""A hasher that knows the labels, and one that counts what it is asked to encode."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from deepbinaries.codes import Codes
from deepbinaries.datasets import Labels
from deepbinaries.datasets.splits import Split
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import evaluate_parts
from deepbinaries.experiments.scores import score_parts
from deepbinaries.features import Images, Texts

NAMES = ["cat", "dog"]
N_ITEMS = 12
QUERIES, TRAIN = (0, 1, 2, 3), (4, 5, 6, 7)


class Kennel:
    """Items that are a cat or a dog in turn; pictures and sentences say which, a few of them wrongly."""

    name = "kennel"
    ids = tuple(f"item-{row:02}" for row in range(N_ITEMS))
    labels = Labels.from_names([[NAMES[row % 2]] for row in range(N_ITEMS)], NAMES)

    def sentences(self, row):
        return [f"a {NAMES[row % 2]}"]


class LookedAt:
    """A hasher whose code is what it is shown, (1, 0) for a cat; it remembers how many items it was shown."""

    bits = 2

    def __init__(self):
        self.shown = []

    def encode(self, batch):
        self.shown.append((type(batch).__name__, len(batch)))
        animal = batch.regions[:, 0, 0] if isinstance(batch, Images) else batch.tokens[:, 0]
        return np.stack([0.5 - animal, animal - 0.5], axis=1).astype(np.float32)


def prepared(unreadable=()):
    """What features.prepare gives, all in memory; item 9's picture shows the wrong animal."""
    kennel = Kennel()
    ids = kennel.ids
    split = Split(
        "kennel",
        query=tuple(ids[row] for row in QUERIES),
        database=ids[len(QUERIES) :],
        train=tuple(ids[row] for row in TRAIN),
    )
    animal = np.arange(N_ITEMS) % 2
    seen = animal.copy()
    seen[9] = 1 - seen[9]
    return SimpleNamespace(
        dataset=kennel,
        parts=split.parts(kennel),
        images=lambda rows: Images(seen[rows].reshape(-1, 1, 1).astype(np.float32)),
        texts=lambda rows: Texts(animal[rows].reshape(-1, 1).astype(np.int32), 2),
        readable=lambda rows: rows[~np.isin(rows, unreadable)],
    )


def test_each_side_of_each_item_is_encoded_once():
    hasher = LookedAt()
    score_parts(hasher, prepared())
    assert sorted(hasher.shown) == [("Images", N_ITEMS), ("Texts", N_ITEMS)]


def test_a_side_that_no_direction_needs_is_not_encoded():
    hasher = LookedAt()
    score_parts(hasher, prepared(), directions=["text_to_text"])
    assert hasher.shown == [("Texts", N_ITEMS)]


def test_every_gallery_is_asked_in_both_directions():
    reports = score_parts(LookedAt(), prepared())
    assert {key: report.n_gallery for key, report in reports.items()} == {
        ("database", "image_to_text"): 8,
        ("database", "text_to_image"): 8,
        ("clean", "image_to_text"): 4,
        ("clean", "text_to_image"): 4,
    }
    assert [score.rules.name for score in reports["clean", "image_to_text"].others] == ["map@500/min"]


def test_the_scores_are_those_of_codes_that_are_encoded_for_each_question():
    data, hasher = prepared(), LookedAt()
    for (kind, direction), report in score_parts(hasher, data).items():
        asking, stored = (data.images, data.texts) if direction == "image_to_text" else (data.texts, data.images)
        queries, gallery = (
            Codes.from_values(hasher.encode(rows))
            for rows in (asking(data.parts.query), stored(data.parts.gallery(kind)))
        )
        slow = evaluate_parts(queries, gallery, data.dataset, data.parts, kind=kind, direction=direction)
        assert (report.mean, report.chance, report.digests) == (slow.mean, slow.chance, slow.digests)


def test_true_pairs_are_compared_with_others():
    reports = score_parts(LookedAt(), prepared())
    assert reports["clean", "image_to_text"].agreement < 0


def test_an_item_is_no_partner_of_itself():
    (report,) = score_parts(LookedAt(), prepared(), galleries=["clean"], directions=["text_to_text"]).values()
    assert report.agreement is None


def test_an_item_without_a_readable_picture_neither_asks_nor_is_found_and_is_told():
    told = []
    reports = score_parts(LookedAt(), prepared(unreadable=[0, 9, 10]), tell=told.append)
    report = reports["clean", "text_to_image"]
    assert (len(report.per_query), report.n_gallery) == (3, 2)
    assert report.mean == 1  # item 9 was the only one whose picture misled
    assert told == ["1 queries and 2 items of the database are left out: their pictures cannot be read"]


def test_what_is_left_out_is_told_on_standard_error_where_nobody_listens(capsys):
    score_parts(LookedAt(), prepared(unreadable=[9]))
    assert "1 items of the database are left out" in capsys.readouterr().err


def test_nothing_is_told_when_all_can_be_read(capsys):
    score_parts(LookedAt(), prepared())
    assert capsys.readouterr().err == ""


def test_a_split_whose_queries_are_all_unreadable_is_refused():
    with pytest.raises(DataError, match="no query that can be encoded"):
        score_parts(LookedAt(), prepared(unreadable=QUERIES), tell=lambda _: None)


@pytest.mark.parametrize(("what", "name"), [("galleries", "dirty"), ("directions", "image_to_sound")])
def test_an_unknown_gallery_or_direction_is_refused(what, name):
    with pytest.raises(UsageError, match=name):
        score_parts(LookedAt(), prepared(), **{what: [name]})


class Compass(LookedAt):
    """A hasher of real values: items point to their animal."""

    ranking = "cosine"

    def encode(self, batch):
        values = super().encode(batch)
        return np.where(values > 0, 1.0, 0.1).astype(np.float32)  # all of one sign: as codes they would be the same


def test_values_that_are_no_codes_are_ranked_as_their_method_says():
    report = score_parts(Compass(), prepared(unreadable=[9]), tell=lambda _: None)["clean", "image_to_text"]
    assert (report.rules.ranking, report.mean) == ("cosine", 1.0)


def test_codes_of_both_views_are_searched_where_they_are_asked_for():
    class OfBoth(LookedAt):
        def encode_pair(self, images, texts):  # noqa: ARG002
            return self.encode(texts)  # which are never wrong

    separate, unified = (
        score_parts(OfBoth(), prepared(), unified=unified)["clean", "text_to_image"].mean for unified in (False, True)
    )
    assert separate < unified == 1


def test_other_parts_than_those_of_the_source_can_be_asked():
    data = prepared()
    parts = replace(data.parts, query=np.array([4, 5]), database=np.array([8, 10, 11]), train=np.array([], dtype=int))
    report = score_parts(LookedAt(), data, parts=parts, galleries=["database"])["database", "image_to_text"]
    assert (len(report.per_query), report.n_gallery) == (2, 3)


@pytest.mark.parametrize("hasher", [LookedAt(), Compass()], ids=["codes", "values"])
def test_the_device_that_compares_codes_changes_no_score(hasher):
    by_kernel, by_torch = (score_parts(hasher, prepared(), device=device) for device in (None, "cpu"))
    assert {place: report.mean for place, report in by_kernel.items()} == {
        place: report.mean for place, report in by_torch.items()
    }
