import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from deepbinaries.datasets import check_dataset, load
from deepbinaries.errors import DataError, MissingExtraError, UsageError


@dataclass
class Root:
    """A folder with the layout of IAPR TC-12, filled picture by picture."""

    path: Path

    def photograph(self, number, description="a boat", title="A harbour", *, picture=True, text=None):
        folder = f"{number // 1000:02d}"
        if text is None:
            text = (
                f"<DOC>\n<DOCNO>annotations/{folder}/{number}.eng</DOCNO>\n<TITLE>{title}</TITLE>\n"
                f"<DESCRIPTION>{description}</DESCRIPTION>\n<NOTES></NOTES>\n</DOC>"
            )
        self.write(f"iaprtc12/annotations_complete_eng/{folder}/{number}.eng", text.encode("cp1252"))
        if picture:
            self.write(f"iaprtc12/images/{folder}/{number}.jpg", b"picture %d" % number)

    def regions(self, lines, words="1\tboat\n2\tman\n3\n", folder="00"):
        self.write("saiaprtc12ok/benchmark/wlist.txt", words.encode())
        self.write(f"saiaprtc12ok/benchmark/saiapr_tc-12/{folder}/labels.txt", lines.encode())

    def words(self, rows, *, words=("boat", "man", "sky"), names="iaprtc12"):
        """`rows`: list name to (picture, indices of its words)."""
        self.write("words/iaprtc12_dictionary.txt", "\n".join(words).encode())
        for part, carried in rows.items():
            self.write(f"words/{names}_{part}_list.txt", "".join(f"{picture}\n" for picture, _ in carried).encode())
            matrix = np.zeros((len(carried), 1 + len(words)), dtype="<i2")
            matrix[:, 0] = len(words)
            for row, (_, columns) in enumerate(carried):
                matrix[row, [1 + column for column in columns]] = 1
            self.write(f"words/iaprtc12_{part}_annot.hvecs", matrix.tobytes())

    def write(self, name, content):
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    def load(self, **settings):
        return load("iapr-tc12", self.path, **settings)


@pytest.fixture
def root(tmp_path):
    return Root(tmp_path)


@pytest.fixture
def harbour(root):
    """Pictures 25 (boat, man), 26 (a line without a concept) and 27 (boat, written as floats)."""
    description = "a red boat at a pier; two men<women in front of it;"
    root.photograph(25, description, "The fishermen’s market & harbour")
    root.photograph(26)
    root.photograph(27)
    root.regions("25 1 2\n25 2 1\n25 3 2\n26 1\n27 1.0000000e+00 1.0000000e+00\n")
    return root


def test_labels_are_the_concepts_of_all_regions(harbour):
    photographs = harbour.load()
    assert photographs.labels.names == ("boat", "man")
    assert dict(zip(photographs.ids, photographs.labels.sets(), strict=True)) == {"00-25": (0, 1), "00-27": (0,)}


def test_items_carry_the_number_and_folder_of_their_picture(harbour):
    photographs = harbour.load()
    assert photographs.ids == ("00-25", "00-27")
    assert [record.source for record in photographs.records] == ["00", "00"]
    assert photographs.picture(1) == b"picture 27"
    check_dataset(photographs)


def test_items_are_ordered_by_number_and_not_by_name(root):
    for number in (1000, 999, 25, 112):
        root.photograph(number)
    root.regions("1000 1 1\n999 1 1\n25 1 1\n112 1 1\n")
    assert root.load().ids == ("00-25", "00-112", "00-999", "01-1000")


def test_regions_without_a_concept_or_without_a_name_are_counted_and_no_error(harbour):
    harbour.regions("25 1 1\n26 1\n27 1 3\n")
    counts = harbour.load(strict=True).skips.counts
    assert counts["region without a concept"] == 1
    assert counts["region of a concept without a name"] == 1


def test_a_region_of_an_unknown_concept_is_counted(harbour):
    harbour.regions("25 1 1\n27 1 9\n")
    photographs = harbour.load()
    assert photographs.ids == ("00-25",)
    assert photographs.skips.counts["region of a concept that is not listed"] == 1


def test_a_region_of_an_unknown_concept_is_an_error_when_strict(harbour):
    harbour.regions("25 1 1\n27 1 9\n")
    with pytest.raises(DataError, match=r"labels\.txt, line 2: region of a concept that is not listed"):
        harbour.load(strict=True)


@pytest.mark.parametrize("number", ["x", "nan", "inf", "1e400", "1.5"])
def test_a_region_whose_picture_is_no_number_is_counted(harbour, number):
    harbour.regions(f"25 1 1\n{number} 1 1\n")
    assert harbour.load().skips.counts["region of a concept that is not listed"] == 1


def test_a_line_of_the_word_list_without_a_number_is_counted(harbour):
    harbour.regions("25 1 1\n", words="1\tboat\n\nother words\n")
    assert harbour.load().skips.counts["line of the word list without a number"] == 1


def test_concepts_may_have_several_words(harbour):
    harbour.regions("25 1 4\n", words="4\tgroup of persons\n")
    assert harbour.load().labels.names == ("group of persons",)


def test_label_files_of_several_folders_are_joined(root):
    root.photograph(25)
    root.photograph(1025)
    root.regions("25 1 1\n")
    root.regions("1025 1 2\n", folder="01")
    assert root.load().labels.sets() == [(0,), (1,)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("clauses", ("a red boat at a pier", "two men<women in front of it")),
        ("whole", ("a red boat at a pier two men<women in front of it",)),
        ("first", ("a red boat at a pier",)),
    ],
)
def test_a_description_is_split_as_asked(harbour, sentence, expected):
    assert harbour.load(sentence=sentence).sentences(0) == expected


def test_clauses_are_the_default(harbour):
    assert harbour.load().sentences(0) == harbour.load(sentence="clauses").sentences(0)


@pytest.mark.parametrize("description", ["", " ; ;\n"])
def test_the_title_stands_in_for_an_empty_description(harbour, description):
    harbour.photograph(25, description, "The fishermen’s market & harbour")
    assert harbour.load().sentences(0) == ("The fishermen’s market & harbour",)


def test_without_the_title_an_empty_description_is_counted(harbour):
    harbour.photograph(25, "")
    photographs = harbour.load(title_if_empty=False)
    assert photographs.ids == ("00-27",)
    assert photographs.skips.counts["empty description"] == 1


def test_a_byte_that_cp1252_leaves_undefined_is_read_as_latin_1(harbour):
    file = "iaprtc12/annotations_complete_eng/00/25.eng"
    harbour.write(file, b"<DOC>\n<DESCRIPTION>a caf\xe9\x81</DESCRIPTION>\n</DOC>")
    assert harbour.load().sentences(0) == ("a café\x81",)


def test_a_description_over_several_lines_becomes_one_line(harbour):
    harbour.photograph(25, "a red\n  boat\n")
    assert harbour.load().sentences(0) == ("a red boat",)


def test_a_description_without_an_end_is_kept_up_to_the_next_tag_and_counted(harbour):
    harbour.photograph(25, text="<DOC>\n<DESCRIPTION>a red boat\n<NOTES>none</NOTES>\n</DOC>")
    photographs = harbour.load()
    assert photographs.sentences(0) == ("a red boat",)
    assert photographs.skips.counts["description without an end (kept up to the next tag)"] == 1


def test_the_most_frequent_labels_are_counted_by_pictures_and_ties_go_to_the_lower_id(root):
    for number in (1, 2, 3):
        root.photograph(number)
    root.regions("1 1 1\n1 2 1\n1 3 1\n2 1 2\n3 1 3\n3 2 2\n", words="1\tboat\n2\tman\n3\tsky\n")
    photographs = root.load(top_labels=2)
    assert photographs.labels.names == ("boat", "man")
    assert photographs.labels.sets() == [(0,), (1,), (1,)]


def test_items_with_none_of_the_most_frequent_labels_are_left_out_and_counted(root):
    for number in (1, 2, 3):
        root.photograph(number)
    root.regions("1 1 2\n2 1 2\n3 1 1\n")
    photographs = root.load(top_labels=1)
    assert photographs.labels.names == ("man",)
    assert photographs.ids == ("00-1", "00-2")
    assert photographs.skips.counts["none of the 1 most frequent labels"] == 1


def test_a_negative_number_of_labels_is_refused(harbour):
    with pytest.raises(UsageError, match="-1 labels cannot be kept"):
        harbour.load(top_labels=-1)


def test_an_item_without_picture_or_description_is_counted(harbour):
    harbour.regions("25 1 1\n27 1 1\n28 1 1\n29 1 1\n")
    harbour.photograph(28, picture=False)
    harbour.write("iaprtc12/images/00/29.jpg", b"picture")
    counts = harbour.load().skips.counts
    assert (counts["no picture file"], counts["no description"]) == (1, 1)


def test_an_item_without_a_picture_is_an_error_when_strict(harbour):
    harbour.photograph(28, picture=False)
    with pytest.raises(DataError, match="picture 00/28: no picture file"):
        harbour.load(strict=True)


def test_strict_reading_accepts_the_two_items_that_the_release_itself_leaves_incomplete(harbour):
    harbour.photograph(4072, picture=False)
    harbour.write("iaprtc12/images/04/4092.jpg", b"picture")
    assert harbour.load(strict=True).ids == ("00-25", "00-27")


def test_pictures_can_be_optional(harbour):
    harbour.photograph(28, picture=False)
    harbour.regions("25 1 1\n28 1 1\n")
    assert harbour.load(pictures="optional").ids == ("00-25", "00-28")


def test_the_pictures_of_the_segmented_release_serve_as_well(root):
    root.photograph(25, picture=False)
    root.regions("25 1 1\n")
    root.write("saiaprtc12ok/benchmark/saiapr_tc-12/00/images/25.jpg", b"picture")
    assert root.load().picture(0) == b"picture"


def test_the_root_may_be_the_folder_of_the_collection_itself(harbour):
    harbour.write("iaprtc12/wlist.txt", b"1\tboat\n")
    harbour.write("iaprtc12/00/labels.txt", b"25 1 1\n")
    assert load("iapr-tc12", harbour.path / "iaprtc12").ids == ("00-25",)


def test_a_link_to_a_folder_above_does_not_lead_round_in_circles(harbour):
    (harbour.path / "saiaprtc12ok" / "again").symlink_to(harbour.path, target_is_directory=True)
    assert harbour.load().ids == ("00-25", "00-27")


@pytest.fixture
def worded(root):
    """Pictures 25 (boat, sky) and 26 (man) by the lists of words."""
    root.photograph(25)
    root.photograph(26)
    root.words({"train": [("00/25", [0, 2])], "test": [("00/26", [1])]})
    return root


def test_labels_can_be_the_words_of_the_descriptions(worded):
    photographs = worded.load()
    assert photographs.labels.names == ("boat", "man", "sky")
    assert photographs.labels.sets() == [(0, 2), (1,)]


def test_region_concepts_win_over_words_unless_words_are_asked_for(worded):
    worded.regions("25 1 2\n")
    assert worded.load().labels.sets() == [(0,)]
    assert worded.load(labels="words").labels.sets() == [(0, 2), (1,)]


def test_lists_may_hold_file_names_and_other_names_of_lists_are_known(root):
    root.photograph(25)
    root.words({"train": [("images/00/25.jpg", [0])], "test": []}, names="iapr")
    assert root.load().labels.of(0) == ("boat",)


def test_a_line_of_the_list_that_names_no_picture_is_counted(worded):
    worded.words({"train": [("00/25", [0]), ("nothing", [1])], "test": [("00/26", [1])]})
    assert worded.load().skips.counts == {"line of the list without a picture": 1}


@pytest.mark.parametrize("change", [lambda b: b[:-1], lambda b: b[:-2], lambda b: b + b"\0\0", lambda b: b[:0]])
def test_hvecs_cut_in_the_middle_are_refused_by_name(worded, change):
    file = worded.path / "words" / "iaprtc12_train_annot.hvecs"
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(DataError, match=r"iaprtc12_train_annot\.hvecs is cut or damaged: 1 pictures with 3 words"):
        worded.load()


def test_hvecs_whose_rows_have_another_length_are_refused(worded):
    file = worded.path / "words" / "iaprtc12_train_annot.hvecs"
    file.write_bytes(np.array([2, 1, 0, 1], dtype="<i2").tobytes())
    with pytest.raises(DataError, match=r"iaprtc12_train_annot\.hvecs is cut or damaged"):
        worded.load()


def test_a_matrix_with_other_numbers_than_0_and_1_is_refused(worded):
    file = worded.path / "words" / "iaprtc12_train_annot.hvecs"
    file.write_bytes(np.array([3, 1, 0, 7], dtype="<i2").tobytes())
    with pytest.raises(DataError, match="numbers other than 0 and 1"):
        worded.load()


def as_matlab(root, part, value):
    (root.path / "words" / f"iaprtc12_{part.lower()}_annot.hvecs").unlink()
    savemat(root.path / "words" / f"IAPRTC-12_{part}Labels.mat", {"I_z": value})


def cell(matrix):
    cells = np.empty((1, 2), dtype=object)
    cells[0, :] = [matrix, matrix]
    return cells


@pytest.mark.parametrize("wrap", [np.asarray, cell], ids=["matrix", "cell array"])
def test_the_words_may_be_in_matlab_files(worded, wrap):
    as_matlab(worded, "Train", wrap(np.array([[1, 0, 1]], dtype=np.uint8)))
    assert worded.load().labels.sets() == [(0, 2), (1,)]


def test_a_matlab_matrix_of_another_shape_is_refused(worded):
    as_matlab(worded, "Train", np.zeros((2, 3)))
    with pytest.raises(DataError, match=r"TrainLabels\.mat has no matrix of 1 pictures by 3 words"):
        worded.load()


def test_without_scipy_the_extra_that_brings_it_is_named(worded, monkeypatch):
    as_matlab(worded, "Train", np.zeros((1, 3)))
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    with pytest.raises(MissingExtraError, match=r"install deepbinaries\[train\]"):
        worded.load()


def test_a_matlab_file_cut_in_the_middle_is_refused_by_name(worded):
    as_matlab(worded, "Train", np.zeros((1, 3)))
    file = worded.path / "words" / "IAPRTC-12_TrainLabels.mat"
    file.write_bytes(file.read_bytes()[:140])
    with pytest.raises(DataError, match=r"TrainLabels\.mat is no whole MATLAB file"):
        worded.load()


def test_missing_labels_are_named_with_both_ways_to_get_them(root):
    root.photograph(25)
    with pytest.raises(
        DataError, match=r"no wlist\.txt, labels\.txt; .*part1\.rar.*SIAPRdata.*iaprtc12_dictionary\.txt"
    ):
        root.load()


@pytest.mark.parametrize(
    ("labels", "message"), [("saiapr", r"no labels\.txt; download saia"), ("words", r"no iaprtc12_test_list\.txt,")]
)
def test_missing_labels_of_one_kind_are_named(worded, labels, message):
    worded.write("wlist.txt", b"1\tboat\n")
    (worded.path / "words" / "iaprtc12_test_list.txt").unlink()
    (worded.path / "words" / "iaprtc12_test_annot.hvecs").unlink()
    with pytest.raises(DataError, match=message):
        worded.load(labels=labels)


def test_missing_descriptions_and_pictures_are_named_with_their_archive(root):
    root.regions("25 1 1\n")
    with pytest.raises(
        DataError, match=r"has no annotations_complete_eng, images; download iaprtc12\.tgz of IAPR TC-12"
    ):
        root.load()
