"""Indexing a folder: what is looked at again and what is not, what is recognised, and what is told of the rest."""

import csv
import os
import shutil

import pytest
from photo_library import BLUE, RED, draw
from PIL import Image
from plain_model import PlainFolder

from deepbinaries.errors import DataError, IndexBusyError
from deepbinaries.index.locking import WriterLock
from deepbinaries.search import Collection
from deepbinaries.search.verifying import verify


def skipped(library):
    with (library.root / ".deepbinaries/skipped.csv").open(newline="") as file:
        return {row["path"]: row["reason"] for row in csv.DictReader(file)}


def opened(_readers, path, _wanted):
    pytest.fail(f"{path} was opened")


def test_a_sentence_finds_the_pictures_it_speaks_of(library):
    library.index()
    assert sorted(library.paths("red", k=2)) == ["reds/1.png", "reds/2.png"]


def test_a_second_run_opens_nothing(library, monkeypatch):
    first = library.index()
    assert (first.files, first.encoded, first.unchanged) == (6, 6, 0)
    monkeypatch.setattr("deepbinaries.search.taking_up.Readers.read", opened)
    monkeypatch.setattr(library.by, "get", lambda: pytest.fail("the model was opened"))
    second = library.index()
    assert (second.encoded, second.unchanged, second.changed) == (0, 6, False)


def test_a_moved_photograph_keeps_its_code(library):
    library.index()
    (library.root / "reds/1.png").rename(library.root / "greens/moved.png")
    report = library.index()
    assert (report.recognised, report.encoded, report.removed) == (1, 0, 1)
    assert library.by.model.decoded == 6
    assert sorted(library.paths("red", k=2)) == ["greens/moved.png", "reds/2.png"]


def test_a_copy_is_one_picture_in_two_places(library):
    library.index()
    shutil.copy(library.root / "reds/1.png", library.root / "copy.png")
    assert library.index().encoded == 0
    with library.open() as collection:
        best = [hit.paths for hit in collection.by_text("red", k=2).hits]
    assert ("copy.png", "reds/1.png") in best


def test_a_touched_photograph_is_read_and_recognised(library):
    library.index()
    os.utime(library.root / "reds/1.png", (1, 1))
    report = library.index()
    assert (report.recognised, report.encoded) == (1, 0)


def test_a_changed_photograph_is_encoded_and_its_old_content_is_gone(library):
    library.index()
    draw(library.root / "reds/1.png", BLUE, seed=99)
    report = library.index()
    assert (report.encoded, report.unchanged) == (1, 5)
    assert library.paths("red") == ["reds/2.png"]
    assert verify(library.root).sound


def test_a_deleted_photograph_is_not_found_any_more(library):
    library.index()
    (library.root / "reds/1.png").unlink()
    assert library.index().removed == 1
    assert library.paths("red") == ["reds/2.png"]
    with library.open() as collection:
        assert collection.status()["pictures"] == 5


def test_an_empty_disk_is_not_taken_for_deleted_photographs(library):
    library.index()
    for folder in ("reds", "greens", "blues"):
        shutil.rmtree(library.root / folder)
    with pytest.raises(DataError, match="is the disk in place"):
        library.index()
    with library.open() as collection:
        assert collection.status()["files"] == 6


@pytest.mark.usefixtures("real_readers")
def test_what_cannot_be_read_is_listed_and_everything_else_is_found(library):
    (library.root / "empty.jpg").touch()
    (library.root / "text.jpg").write_text("no picture")
    whole = (library.root / "reds/1.png").read_bytes()
    (library.root / "half.png").write_bytes(whole[: len(whole) // 2])
    Image.new("1", (20_000, 20_000)).save(library.root / "huge.png")
    (library.root / "phone.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic")
    report = library.index()
    reasons = skipped(library)
    assert list(reasons) == ["empty.jpg", "half.png", "huge.png", "phone.heic", "text.jpg"]
    assert "is empty" in reasons["empty.jpg"]
    assert "damaged" in reasons["half.png"]
    assert "more than 200,000,000 in all" in reasons["huge.png"]
    assert "deepbinaries[heif]" in reasons["phone.heic"]
    assert "no picture" in reasons["text.jpg"]
    assert (report.encoded, report.failures.total()) == (6, 5)
    assert sorted(library.paths("green", k=2)) == ["greens/1.png", "greens/2.png"]


def test_a_broken_file_is_tried_again_only_when_it_changes(library, monkeypatch):
    (library.root / "broken.jpg").write_text("no picture")
    library.index()
    with monkeypatch.context() as patched:
        patched.setattr("deepbinaries.search.taking_up.Readers.read", opened)
        assert library.index().failures.total() == 1
    draw(library.root / "mended.png", RED, seed=5).rename(library.root / "broken.jpg")
    assert library.index().failures.total() == 0
    assert not (library.root / ".deepbinaries/skipped.csv").exists()


def test_a_broken_file_is_tried_again_by_another_release(library, monkeypatch):
    (library.root / "broken.jpg").write_text("no picture")
    library.index()
    monkeypatch.setattr("deepbinaries.search.indexing.__version__", "99")
    assert library.index().unchanged == 6


def test_a_file_that_is_no_plain_file_is_listed_and_does_not_hang(library):
    os.mkfifo(library.root / "pipe.jpg")
    (library.root / "away.jpg").symlink_to("/etc/hostname")
    (library.root / "nowhere.jpg").symlink_to("nothing")
    library.index()
    reasons = skipped(library)
    assert reasons["pipe.jpg"] == "it is no regular file"
    assert "leads out of the folder" in reasons["away.jpg"]
    assert "leads nowhere" in reasons["nowhere.jpg"]


def test_a_file_larger_than_any_picture_is_not_read(library):
    with (library.root / "sparse.jpg").open("wb") as file:
        file.truncate(10 * 2**30)
    library.index()
    assert "more than 268,435,456" in skipped(library)["sparse.jpg"]


def test_a_file_that_changes_while_it_is_read_is_tried_again(library, monkeypatch):
    from deepbinaries.vision import originals

    real, growing = os.fstat, library.root / "reds/1.png"

    def growing_meanwhile(descriptor):
        status = real(descriptor)
        if status.st_ino == growing.stat().st_ino:
            with growing.open("ab") as file:
                file.write(b"x")
        return status

    with monkeypatch.context() as patched:
        patched.setattr(originals.os, "fstat", growing_meanwhile)
        library.index()
    assert "changed while it was read" in skipped(library)["reds/1.png"]
    library.index()
    assert "reds/1.png" in library.paths("red")


def test_names_that_are_no_unicode_are_found_and_told_apart(library):
    strange = os.fsdecode(os.fsencode(library.root) + b"/caf\xe9\n<b>.png")
    draw(library.root / "x.png", RED, seed=50).rename(strange)
    library.index()
    found = [path for path in library.paths("red", least="none", alike=None) if "caf" in path]
    assert [os.fsencode(path) for path in found] == [b"caf\xe9\n<b>.png"]


def test_photographs_are_never_written_to(library):
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in library.root.rglob("*.png")}
    for path in before:
        path.chmod(0o444)
    library.index()
    library.paths("red")
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in library.root.rglob("*.png")} == before
    assert {path.name for path in library.root.iterdir()} == {"reds", "greens", "blues", ".deepbinaries"}


def test_an_index_may_be_elsewhere(library, tmp_path):
    library.index(index=tmp_path / "index")
    assert not (library.root / ".deepbinaries").exists()
    with Collection(tmp_path / "index", model=library.by) as collection:
        assert collection.photographs == library.root
        assert collection.by_text("red", k=1).hits[0].paths[0].startswith("reds/")


def test_photographs_and_their_index_travel_together(library, tmp_path):
    library.index()
    moved = library.root.rename(tmp_path / "moved")
    with Collection(moved, model=library.by) as collection:
        hit = collection.by_text("red", k=1).hits[0]
        assert collection.file(hit.id) == moved / hit.paths[0]


def test_an_index_that_is_being_written_is_refused_by_the_process_that_does(library):
    library.index()
    lock = WriterLock(library.root / ".deepbinaries")
    with pytest.raises(IndexBusyError, match=str(os.getpid())):
        library.index()
    lock.release()


def test_another_model_is_refused_politely_and_indexing_replaces_the_old_one(library):
    library.index()
    new = PlainFolder("d" * 64)
    with Collection(library.root, model=new) as collection, pytest.raises(DataError, match="made by another model"):
        collection.by_text("red")
    old = library.open()
    library.index(by=new)
    with pytest.raises(DataError, match="made by another model"):
        old.by_text("red")  # the old model has no say any more
    with Collection(library.root, model=new) as collection:
        assert collection.by_text("red").hits
    old.close()


def test_the_old_index_answers_until_the_new_one_is_whole(library, monkeypatch):
    library.index()
    answers = []

    def ask(*_):
        answers.append(library.paths("red", k=2))
        return False

    monkeypatch.setattr("deepbinaries.search.indexing._Run._forget", ask)
    library.index(by=PlainFolder("d" * 64))
    assert [sorted(answer) for answer in answers] == [["reds/1.png", "reds/2.png"]]


def test_what_is_excluded_is_forgotten(library):
    library.index()
    report = library.index(excludes=["reds", "blues/1.*"])
    assert (report.files, report.removed) == (3, 3)


def test_captions_beside_pictures_are_found_by_a_picture(library):
    (library.root / "reds/1.txt").write_text("a red field\nzebra\n")
    (library.root / "greens/2.txt").write_text("green")
    assert library.index().sentences == 3
    with library.open() as collection:
        answer = collection.by_image(library.root / "reds/2.png", kind="sentences", least="none")
        assert [(hit.sentence, hit.paths) for hit in answer.hits] == [
            ("a red field", ("reds/1.png",)),
            ("green", ("greens/2.png",)),
        ]
        captions = {hit.paths[0]: hit.captions for hit in collection.by_text("red").hits}
    assert captions["reds/1.png"] == ("a red field", "zebra")


def test_a_caption_that_changes_or_goes_changes_nothing_but_the_sentences(library):
    text = library.root / "reds/1.txt"
    text.write_text("a red field")
    library.index()
    text.write_text("blue")
    assert (library.index().encoded, library.by.model.decoded) == (0, 6)
    with library.open() as collection:
        assert [hit.sentence for hit in collection.by_text("red", kind="sentences", least="none").hits] == ["blue"]
    text.unlink()
    library.index()
    with library.open() as collection:
        assert collection.by_text("red", kind="sentences", least="none").hits == ()
    assert verify(library.root).sound


def test_damaged_metadata_is_told_and_the_pictures_are_found(library):
    (library.root / "metadata.csv").write_text("name,caption\n")
    (note,) = library.index().notes
    assert "captions were not read" in note
    assert library.paths("green", k=1)


def test_captions_that_are_left_out_are_told_by_reason(library):
    (library.root / "reds/1.txt").write_bytes(b"a red caf\xe9")
    (library.root / "greens/metadata.csv").write_text("file_name,caption\n1.png,green\ngone.png,x\nlost.png,y\n")
    report = library.index()
    assert report.sentences == 1
    assert report.notes == [
        "captions left out, 2: a row names a picture that is not there "
        f"(first: {library.root / 'greens/metadata.csv'} line 3, greens/gone.png)",
        "captions left out, 1: its metadata has no row for it (greens/2.png)",
        "captions left out, 1: its text is not valid UTF-8 (reds/1.png)",
    ]
    assert library.index().notes == report.notes


def test_sentences_that_go_are_told_and_counted(library):
    for number in (1, 2):
        (library.root / f"reds/{number}.txt").write_text(f"a red field\nnumber {number}\n")
    assert library.index().notes == []
    (library.root / "reds/metadata.csv").write_text("file_name,caption\nunknown.png,x\n")
    report = library.index()
    assert (report.sentences, report.unsaid, report.changed) == (0, 4, True)
    assert report.notes[0].startswith("captions left out, 2: its metadata has no row for it")
    assert report.notes[-1] == "4 sentences were removed: they stand beside no readable picture any more"
    assert not library.index().changed


def test_a_sentence_goes_with_its_file_and_with_a_picture_that_cannot_be_read_any_more(library):
    for number in (1, 2):
        (library.root / f"reds/{number}.txt").write_text("a red field")
    library.index()
    (library.root / "reds/1.txt").unlink()
    note = "1 sentence was removed: it stands beside no readable picture any more"
    assert library.index().notes == [note]
    (library.root / "reds/2.png").write_bytes(b"no picture")
    assert library.index().notes == [note]


def test_a_folder_of_something_else_is_not_made_an_index(library, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter.tex").touch()
    with pytest.raises(DataError, match="holds something else"):
        library.index(index=tmp_path / "thesis")


def test_folders_that_cannot_be_looked_into_keep_what_was_known(library, monkeypatch):
    library.index()
    real = os.scandir

    def closed(path):
        if str(path).rstrip("/").endswith("reds"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", closed)
    assert library.index().removed == 0
    assert skipped(library)["reds"] == "this folder cannot be read (Permission denied)"
    assert len(library.paths("red", k=2)) == 2


def test_the_same_photograph_in_eight_orientations_is_one_look(library):
    from PIL import ExifTags

    from deepbinaries.vision.reading import TURNS

    upright = Image.open(library.root / "reds/1.png")
    back = {3: 3, 2: 2, 4: 4, 5: 5, 6: 8, 7: 7, 8: 6}
    for orientation, turn in back.items():
        exif = Image.Exif()
        exif[ExifTags.Base.Orientation] = orientation
        upright.transpose(TURNS[turn]).save(library.root / f"turned{orientation}.png", exif=exif)
    library.index()
    with library.open() as collection:
        (first,) = [hit for hit in collection.by_text("red").hits if hit.alike]
        codes = collection._current().indexes["pictures"].codes_of([first.id, *first.alike])
    assert len(codes) == 8
    assert len({bytes(code) for code in codes.packed}) == 1


def test_a_photograph_that_breaks_takes_its_caption_and_its_content_with_it(library):
    (library.root / "reds/1.txt").write_text("a red field")
    library.index()
    (library.root / "reds/1.png").write_text("no picture")
    library.index()
    assert library.paths("red") == ["reds/2.png"]
    with library.open() as collection:
        assert collection.status()["sentences"] == 0
    assert verify(library.root).sound


def test_a_photograph_that_becomes_a_link_is_forgotten(library):
    library.index()
    (library.root / "reds/1.png").unlink()
    (library.root / "reds/1.png").symlink_to("/etc/hostname")
    library.index()
    assert library.paths("red") == ["reds/2.png"]
    assert verify(library.root).sound


def test_two_photographs_that_change_places_are_recognised(library):
    library.index()
    one, other = library.root / "reds/1.png", library.root / "blues/1.png"
    one.rename(library.root / "aside.png")
    other.rename(one)
    (library.root / "aside.png").rename(other)
    report = library.index()
    assert (report.encoded, library.by.model.decoded) == (0, 6)
    assert sorted(library.paths("red", k=2)) == ["blues/1.png", "reds/2.png"]
