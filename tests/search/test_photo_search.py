"""Asking a collection: pages, filters, combined queries, order, look-alikes, and what is said about the answer."""

import os
import shutil
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from photo_library import BLUE, GREEN, RED, Library, draw
from PIL import ExifTags, Image
from plain_model import PlainFolder

from deepbinaries.errors import DataError, PictureError, UsageError
from deepbinaries.search import Collection, Filter, Part, parse
from deepbinaries.search.catalogue import Catalogue
from deepbinaries.search.relevance import Null

DAYS = ("2019-12-31", "2020-01-01", "2020-05-31", "2020-06-01", "2021-07-15")


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """Thirty photographs in three folders, of three colours and five dates, indexed once."""
    with pytest.MonkeyPatch.context() as patched:
        from photo_library import ReadersInThread

        patched.setattr("deepbinaries.search.taking_up.Readers", ReadersInThread)
        library = Library(tmp_path_factory.mktemp("search") / "photographs")
        for number in range(30):
            shade = np.array((RED, GREEN, BLUE)[number % 3]) * (1 - number / 60)
            path = draw(library.root / "abc"[number % 3 - number % 2] / f"{number:02}.png", shade, seed=500 + number)
            if number % 4:
                moment = np.datetime64(f"{DAYS[number % 5]}T12:00:00").astype("datetime64[s]").astype(int).item()
                os.utime(path, (moment, moment))
            else:
                exif = Image.Exif()
                exif[ExifTags.Base.Make] = "drawn"  # without a tag of its own Pillow takes a note for empty
                exif.get_ifd(0x8769)[0x9003] = DAYS[number % 5].replace("-", ":") + " 23:59:59"
                Image.open(path).save(path, exif=exif)
        library.index()
    return library


@pytest.fixture(scope="module")
def collection(photographs):
    with Collection(photographs.root, model=photographs.by) as collection:
        yield collection


@pytest.fixture
def everything_near(monkeypatch):
    """Distances by themselves would make everything a strong match."""
    monkeypatch.setattr(Null, "judge", lambda _, ranked, **__: np.zeros(len(ranked.distances), dtype=np.int64))


def all_hits(collection, sentence="red", **options):
    return collection.by_text(sentence, k=100, least="none", alike=None, **options).hits


def test_pages_together_are_the_whole_answer(collection):
    whole = [hit.id for hit in all_hits(collection)]
    pages = []
    for offset in range(0, 35, 7):
        answer = collection.by_text("red", k=7, offset=offset, least="none", alike=None)
        assert answer.more == (offset + 7 < 30)
        pages += [hit.id for hit in answer.hits]
    assert pages == whole
    assert len(set(whole)) == 30


def test_pages_beyond_a_block_are_the_same_in_whatever_steps(collection, monkeypatch):
    monkeypatch.setattr("deepbinaries.search.ranking.FIRST_BLOCK", 4)
    monkeypatch.setattr("deepbinaries.search.ranking.blocks.__defaults__", (4,))
    whole = [hit.id for hit in all_hits(collection)]
    steps = [collection.by_text("red", k=1, offset=n, least="none", alike=None).hits[0].id for n in range(30)]
    assert steps == whole


def test_an_answer_is_ordered_by_the_real_values_within_whole_shells(collection, photographs):
    answer = collection.by_text("a red", k=30, least="none", alike=None)
    assert answer.reordered
    values = photographs.by.model.encode_texts("a red", values=True)[0].astype(float)
    index = collection._current().indexes["pictures"]
    by_hand = []
    for id_ in index.ids():
        differing = index.codes_of([id_]).to_bits()[0] != (values >= 0)
        by_hand.append((np.abs(values[differing]).sum() / np.abs(values).sum(), differing.sum(), id_))
    assert [hit.id for hit in answer.hits] == [id_ for *_, id_ in sorted(by_hand)]
    assert [hit.weighted for hit in answer.hits] == pytest.approx([weight for weight, *_ in sorted(by_hand)])


@given(
    folder=st.sampled_from(["", "a", "b", "c", "nowhere", "a/"]),
    since=st.sampled_from(["", "2019", "2020", "2020-01", "2020-05-31", "2020-06-02", "2022"]),
    until=st.sampled_from(["", "2019", "2020", "2020-05", "2020-05-31", "2020-06", "2021-07-15"]),
    k=st.integers(1, 40),
)
def test_a_filter_gives_what_sifting_the_whole_answer_gives(collection, folder, since, until, k):
    def passes(hit):
        (path,) = hit.paths
        day = hit.date[:10]
        inside = not folder or path.startswith(folder.rstrip("/") + "/")
        return inside and (not since or day >= since) and (not until or day[: len(until)] <= until)

    sifted = [hit.id for hit in all_hits(collection) if passes(hit)]
    where = Filter(folder, since, until)
    found = collection.by_text("red", k=k, least="none", alike=None, where=where)
    assert [hit.id for hit in found.hits] == sifted[:k]
    assert found.more == (len(sifted) > k)


def test_the_last_day_of_a_range_is_included(collection):
    days = {hit.date for hit in all_hits(collection, where=Filter(since="2020-05-31", until="2020-05-31"))}
    assert {day[:10] for day in days} == {"2020-05-31"}
    assert "2020-05-31T23:59:59" in days


def test_the_date_is_the_camera_s_where_it_tells_one_and_else_the_file_s(collection):
    sources = {int(hit.paths[0][2:4]) % 4 == 0: hit.date_from for hit in all_hits(collection)}
    assert sources == {True: "camera", False: "file"}


@pytest.mark.parametrize(("sort", "reverse"), [("newest", True), ("oldest", False)])
def test_dates_sort_only_what_matches(collection, sort, reverse):
    matching = collection.by_text("red", k=100, alike=None).hits
    assert 0 < len(matching) < 30
    by_date = collection.by_text("red", k=100, alike=None, sort=sort).hits
    assert {hit.id for hit in by_date} == {hit.id for hit in matching}
    dates = [hit.date for hit in by_date]
    assert dates == sorted(dates, reverse=reverse)


def test_what_is_taken_away_is_found_no_more(collection):
    both = collection.search(parse(["red", "+", "blue"]), k=20, least="none", alike=None).hits
    less = collection.search(parse(["red", "+", "blue", "-", "2:blue"]), k=20, least="none", alike=None).hits
    assert {colour_of(hit) for hit in less[:8]} == {0}
    assert {colour_of(hit) for hit in both[:20]} >= {0, 2}


def colour_of(hit):
    return int(hit.paths[0][2:4]) % 3


def test_a_weight_shifts_the_answer(collection):
    more_green = collection.search(parse(["red", "+", "5:green"]), k=5, least="none", alike=None).hits
    assert {colour_of(hit) for hit in more_green} == {1}


def test_a_sentence_and_a_picture_may_be_asked_together(collection, photographs):
    picture = photographs.root / next(hit.paths[0] for hit in all_hits(collection, "green"))
    hits = collection.search([Part("text", "green"), Part("picture", picture)], k=5, least="none").hits
    assert {colour_of(hit) for hit in hits} == {1}


def test_more_like_this_leaves_this_out(collection):
    this = all_hits(collection)[0]
    like = collection.by_id(this.id, k=30, least="none", alike=None).hits
    assert this.id not in {hit.id for hit in like}
    assert len(like) == 29
    assert colour_of(like[0]) == colour_of(this)
    assert not collection.by_id(this.id).reordered


def test_a_picture_finds_itself_and_strongly(collection, photographs):
    this = all_hits(collection)[0]
    answer = collection.by_image(photographs.root / this.paths[0], alike=None)
    assert (answer.hits[0].distance, answer.verdict) == (0, "strong")
    assert this.id in {hit.id for hit in answer.hits}


def test_unknown_words_are_told_with_the_nearest_known_one(collection):
    answer = collection.by_text("a redd Weihnachtsmarkt")
    assert [str(word) for word in answer.unknown] == [
        "'redd' is unknown; did you mean 'red'?",
        "'Weihnachtsmarkt' is unknown",
    ]


def test_an_accent_that_is_not_known_changes_nothing_but_the_note(collection):
    answer = collection.by_text("réd", k=5, least="none")
    assert answer.notes == ("read as 'red'",)
    assert not answer.unknown
    assert [hit.id for hit in answer.hits] == [hit.id for hit in all_hits(collection)[:5]]


def test_nothing_matches_a_sentence_of_unknown_words(collection):
    answer = collection.by_text("xyzzy plugh")
    assert (answer.hits, answer.nearest, answer.verdict, answer.certificate) == ((), (), "none", None)
    assert answer.notes == ("no word of 'xyzzy plugh' is known",)


def test_nothing_matches_what_no_photograph_shows_and_the_nearest_are_offered(collection):
    answer = collection.by_text("white")
    assert (answer.hits, answer.verdict, len(answer.nearest)) == ((), "none", 3)
    assert collection.by_text("white", least="none", k=1).hits[0].id == answer.nearest[0].id


def test_words_past_the_model_s_length_are_told(collection):
    assert "left out: blue" in collection.by_text("red " * 12 + "blue").notes[0]


def test_of_many_words_past_the_length_the_first_are_told_and_the_others_counted(collection):
    (note,) = collection.by_text("red " * 1200).notes
    assert note.endswith(f"left out: {', '.join(['red'] * 10)} and 1,178 more")


def test_a_long_sentence_that_is_not_understood_is_not_repeated_whole(collection):
    (note,) = [note for note in collection.by_text("xyzzy " * 1000).notes if note.startswith("no word of")]
    assert len(note) < 120


@pytest.mark.parametrize(
    ("sentence", "verdict", "notes"),
    [
        ("red", "strong", ()),
        ("a red zebra", "weak", ("1 of 3 words is unknown, so no match counts as strong",)),
        ("red zebra", "weak", ("1 of 2 words is unknown, so no match counts as strong",)),  # it may be a name
        ("a red zebra and a zebra", "strong", ()),
        ("the red of this zebra and that giraffe", "strong", ()),
        ("a red zebra and giraffe", "weak", ("2 of 5 words are unknown, so no match counts as strong",)),
        ("red rosso spiaggia", "none", ("2 of 3 words are unknown, so nothing counts as a match",)),
        ("a red sulla spiaggia", "none", ("2 of 4 words are unknown, so nothing counts as a match",)),
    ],
)
@pytest.mark.usefixtures("everything_near")
def test_what_is_found_is_judged_no_better_than_the_sentence_is_known(collection, sentence, verdict, notes):
    answer = collection.by_text(sentence)
    assert (answer.verdict, answer.notes) == (verdict, notes)
    assert bool(answer.hits) == (verdict != "none")
    assert {hit.strength for hit in answer.nearest} <= {"none"}
    assert len(collection.by_text(sentence, least="none").hits) == len(collection.by_text("red", least="none").hits)


@pytest.mark.usefixtures("everything_near")
def test_one_part_of_unknown_words_spoils_the_whole_query(collection):
    answer = collection.search(parse(["red", "+", "a red sulla spiaggia"]))
    assert (answer.verdict, answer.hits) == ("none", ())


def test_look_alikes_are_folded_and_can_be_unfolded(tmp_path):
    library = Library(tmp_path / "photographs")
    one = draw(library.root / "one.png", RED, seed=1)
    Image.open(one).convert("RGB").resize((40, 36)).save(library.root / "small.jpg", quality=80)
    draw(library.root / "other.png", RED, seed=2)
    library.index()
    with library.open() as collection:
        folded = {hit.paths[0]: len(hit.alike) for hit in collection.by_text("red", least="none").hits}
        assert sorted(folded.values()) == [0, 1]
        assert len(collection.by_text("red", least="none", alike=None).hits) == 3


def test_no_more_is_read_of_the_catalogue_than_is_shown(collection, monkeypatch):
    read = []
    files_of = Catalogue.files_of

    def counted(self, ids):
        read.append(len(ids))
        return files_of(self, ids)

    monkeypatch.setattr(Catalogue, "files_of", counted)
    assert len(collection.by_text("red", k=4, offset=8, least="none").hits) == 4
    assert read == [4]


def test_look_alikes_are_the_same_whatever_page_they_are_on(collection, monkeypatch):
    whole = collection.by_text("red", k=30, least="none", alike=20).hits
    assert 1 < len(whole) < 30
    monkeypatch.setattr("deepbinaries.search.describing.FOLDED", 3)
    steps = [collection.by_text("red", k=1, offset=n, least="none", alike=20) for n in range(len(whole))]
    assert [one.hits[0].id for one in steps] == [hit.id for hit in whole]
    assert [one.more for one in steps] == [True] * (len(whole) - 1) + [False]


def test_a_filter_follows_the_catalogue(library):
    library.index()
    reds = Filter(folder="reds")
    with library.open() as collection:
        before = collection.by_text("red", where=reds, least="none")
        assert before.searched == collection.by_text("green", where=reds, least="none").searched == 2
        shutil.move(library.root / "reds/1.png", library.root / "blues/3.png")
        library.index()
        assert collection.by_text("red", where=reds, least="none").searched == 1


def test_a_sentence_carries_the_picture_beside_it(library):
    (library.root / "reds/1.txt").write_text("a red field")
    library.index()
    with library.open() as collection:
        (said,) = collection.by_image(library.root / "reds/2.png", kind="sentences", least="none").hits
        (picture,) = [hit for hit in collection.by_text("red", least="none").hits if hit.paths == ("reds/1.png",)]
        assert (said.sentence, said.picture, said.paths) == ("a red field", picture.id, picture.paths)
        assert (said.width, said.height) == (picture.width, picture.height) == (72, 64)
        assert collection.thumbnail(said.picture)[8:12] == b"WEBP"
        assert picture.picture == picture.id


def test_an_answer_says_what_was_searched(collection):
    answer = collection.by_text("red", where=Filter(folder="a"))
    assert answer.searched == sum(hit.paths[0].startswith("a/") for hit in all_hits(collection))
    assert answer.certificate.exact


def test_a_filter_that_nothing_passes_finds_nothing(collection):
    answer = collection.by_text("red", where=Filter(folder="nowhere"))
    assert (answer.hits, answer.searched, answer.verdict) == ((), 0, "none")


def test_an_item_its_thumbnail_and_its_file_are_given_by_id_alone(collection, photographs):
    hit = all_hits(collection)[0]
    assert collection.item(hit.id).paths == hit.paths
    assert collection.thumbnail(hit.id)[8:12] == b"WEBP"
    assert collection.file(hit.id) == photographs.root / hit.paths[0]
    for ask in (collection.item, collection.thumbnail, collection.by_id):
        with pytest.raises(DataError, match="there is no picture '../../etc/passwd'"):
            ask("../../etc/passwd")


def test_a_file_that_was_changed_or_became_a_link_is_not_given_out(library):
    library.index()
    with library.open() as collection:
        hit = collection.by_text("red", k=1).hits[0]
        path = library.root / hit.paths[0]
        path.unlink()
        path.symlink_to("/etc/passwd")
        with pytest.raises(DataError, match="gone or was changed"):
            collection.file(hit.id)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 0}, "is no page"),
        ({"offset": -1}, "is no page"),
        ({"sort": "size"}, "no order is called 'size'"),
        ({"least": "strongest"}, "did you mean 'strong'"),
        ({"kind": "picture"}, "did you mean 'pictures'"),
    ],
)
def test_options_that_make_no_sense_are_refused(collection, options, words):
    with pytest.raises(UsageError, match=words):
        collection.by_text("red", **options)


@pytest.mark.parametrize("words", [["red", "-"], ["+", "+"], [" "], [], ["red", "+", "gone.jpg"], ["0:red"]])
def test_queries_that_make_no_sense_are_refused(words):
    with pytest.raises(UsageError):
        parse(words)


def test_a_query_that_only_takes_away_or_cancels_out_is_refused(collection):
    for words in (["-", "red"], ["-red"], ["-red", "-", "blue"]):
        with pytest.raises(UsageError, match='only what is to be left out is said; add .* such as "a dog" - "a boat"'):
            collection.search(parse(words))
    with pytest.raises(UsageError, match="cancel each other out"):
        collection.search(parse(["red", "-", "red"]))


def test_a_picture_that_cannot_be_read_is_refused(collection, tmp_path):
    with pytest.raises((PictureError, OSError)):
        collection.by_image(tmp_path / "gone.jpg")


@pytest.mark.parametrize("text", ["20", "2020-00", "2020-02-30", "31.12.2020", "2020-1-1", "²020"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(UsageError, match="is no date"):
        Filter(since=text)


@pytest.mark.parametrize("folder", ["/etc", "../elsewhere", "a/../../b"])
def test_a_folder_elsewhere_is_refused(folder):
    with pytest.raises(UsageError, match="below the photographs"):
        Filter(folder=folder)


def test_a_collection_follows_its_index_while_threads_ask(library):
    library.index()
    failures, stop = [], threading.Event()
    with library.open() as collection:

        def ask():
            while not stop.is_set():
                hits = collection.by_text("red", least="none", alike=None).hits
                if not {"greens/1.png", "blues/2.png"} <= {path for hit in hits for path in hit.paths}:
                    failures.append(hits)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(3):
            shutil.move(library.root / "reds/1.png", library.root / f"reds/{number}-moved.png")
            draw(library.root / f"new{number}.png", RED, seed=70 + number)
            library.index()
            shutil.move(library.root / f"reds/{number}-moved.png", library.root / "reds/1.png")
            (library.root / f"new{number}.png").unlink()
            library.index(by=PlainFolder("c" * 64))
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
