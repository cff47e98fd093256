"""A vocabulary gives the same ids everywhere and says honestly what it does not know."""

import hashlib
import json
import tarfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.language.tokens import TokenSettings, words
from deepbinaries.language.vocabulary import EOS, PAD, UNK, Vocabulary

LETTERS = "abcdefghijklmnopqrstuvwxyz"
thirteen = " ".join(LETTERS[1:14])  # b to n: "a" is kept for later
alphabet = Vocabulary(tuple(LETTERS))


def with_settings(**settings):
    return Vocabulary(tuple(LETTERS), TokenSettings(**settings))


@pytest.fixture
def saved(tmp_path):
    """A small vocabulary file and the vocabulary in it."""
    vocabulary = Vocabulary(["a", "dog", "caf\u00e9"], TokenSettings(length=5))
    vocabulary.save(tmp_path / "words.json")
    return tmp_path / "words.json", vocabulary


def rewrite(path, **changes):
    """Change the file's content and make its digest anew, as a program with an error would."""
    content = json.loads(path.read_text()) | changes
    del content["sha256"]
    content["sha256"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(content))


# Which words are known


def test_words_are_ordered_by_count_then_spelling():
    assert Vocabulary.from_sentences(["cat dog owl", "dog cat owl", "owl"], minimum_count=2).words == (
        "owl",
        "cat",
        "dog",
    )


def test_a_word_needs_three_uses_unless_said_otherwise():
    assert Vocabulary.from_sentences(["owl owl", "owl", "cat cat"]).words == ("owl",)


def test_the_maximum_keeps_the_most_frequent_words():
    assert Vocabulary.from_sentences(["b b b a a"], minimum_count=1, maximum_words=1).words == ("b",)


@given(
    st.lists(st.text(alphabet="abc ", max_size=9), min_size=1).flatmap(
        lambda some: st.tuples(st.just(some), st.permutations(some))
    )
)
def test_the_order_of_the_sentences_does_not_matter(both):
    given_, shuffled = ([*sentences, "a"] for sentences in both)
    first, second = (Vocabulary.from_sentences(sentences, minimum_count=1) for sentences in (given_, shuffled))
    assert first.words == second.words


def test_special_tokens_come_first_and_count_towards_the_length():
    assert (PAD, UNK, EOS, alphabet.id("a"), len(alphabet)) == (0, 1, 2, 3, 29)


def test_the_word_pad_is_a_word_like_any_other():
    assert Vocabulary(["pad", "unk", "eos"]).encode(["pad unk eos"])[0, :4].tolist() == [3, 4, 5, EOS]


def test_no_frequent_word_is_refused_with_what_to_do():
    with pytest.raises(DataError, match="none of 2 different words occurs 3 times; give more sentences"):
        Vocabulary.from_sentences(["a dog"])


@pytest.mark.parametrize("nonsense", [{"minimum_count": 0}, {"maximum_words": 0}])
def test_numbers_that_leave_no_word_are_refused(nonsense):
    with pytest.raises(UsageError, match="leave no word"):
        Vocabulary.from_sentences(["a"], **nonsense)


def test_a_repeated_word_is_refused_by_name():
    with pytest.raises(DataError, match="holds 'dog' twice"):
        Vocabulary(["dog", "cat", "dog"])


@pytest.mark.parametrize("bad", ["", None, 7, ["dog"]])
def test_a_word_that_is_empty_or_no_text_is_refused(bad):
    with pytest.raises(DataError, match="empty or no text"):
        Vocabulary(["dog", bad])


# Encoding


def encode_by_hand(vocabulary, sentence):
    """One sentence, token by token, as the preparation is described."""
    settings = vocabulary.settings
    tokens = [vocabulary.id(word) for word in words(sentence, settings)]
    if settings.append_eos:
        tokens.append(EOS)
    if settings.length is not None and len(tokens) > settings.length:
        tokens = tokens[: settings.length]
        if settings.keep_eos:
            tokens[-1] = EOS
    width = settings.length or len(tokens)
    padding = [PAD] * (width - len(tokens))
    return tokens + padding if settings.padding == "right" else padding + tokens


@given(
    st.lists(st.sampled_from([*LETTERS, "unheard"]), max_size=16).map(" ".join),
    st.sampled_from([None, 2, 3, 12]),
    st.sampled_from([(True, True), (True, False), (False, False)]),
    st.sampled_from(["left", "right"]),
)
def test_encoding_follows_the_preparation_word_for_word(sentence, length, eos, padding):
    append_eos, keep_eos = eos
    vocabulary = with_settings(length=length, append_eos=append_eos, keep_eos=keep_eos, padding=padding)
    assert vocabulary.encode([sentence])[0].tolist() == encode_by_hand(vocabulary, sentence)


def test_a_sentence_of_twelve_words_loses_its_eos_when_read_literally():
    row = alphabet.encode([" ".join(LETTERS[:12])])[0]
    assert row.tolist() == [*range(3, 15)]


def test_keep_eos_gives_the_last_place_to_eos():
    row = with_settings(keep_eos=True).encode([thirteen])[0]
    assert row.tolist() == [*range(4, 15), EOS]


def test_padding_on_the_left_keeps_the_words_together_at_the_end():
    assert with_settings(length=5, padding="left").encode(["a b"]).tolist() == [[PAD, PAD, 3, 4, EOS]]


def test_a_sentence_without_a_word_is_eos_and_padding():
    assert with_settings(length=3).encode(["", " ... ", "🐶"]).tolist() == [[EOS, PAD, PAD]] * 3


def test_without_eos_a_sentence_without_a_word_is_padding():
    assert with_settings(length=2, append_eos=False).encode([""]).tolist() == [[PAD, PAD]]


def test_without_a_length_the_longest_sentence_decides_the_width():
    assert with_settings(length=None).encode(["a", thirteen]).shape == (2, 14)


@pytest.mark.parametrize(("length", "shape"), [(12, (0, 12)), (None, (0, 0))])
def test_no_sentence_gives_an_array_without_rows(length, shape):
    ids = with_settings(length=length).encode([])
    assert (ids.shape, ids.dtype) == (shape, np.int32)


def test_one_endless_sentence_without_a_length_does_not_take_all_memory():
    with pytest.raises(UsageError, match=r"settings with a length"):
        with_settings(length=None).encode(["a " * 200_000] + [""] * 10_000)


def test_one_text_in_place_of_a_list_is_refused():
    with pytest.raises(UsageError, match="list of sentences is wanted"):
        alphabet.encode("a dog")


# What is told to the person who asked


def test_a_reading_keeps_words_as_they_were_written():
    reading = Vocabulary(["red", "lights"]).reading("Red lights, Weihnachtsmarkt")
    assert (reading.known, reading.unknown, reading.cut) == (("Red", "lights"), ("Weihnachtsmarkt",), ())


def test_a_reading_tells_which_words_were_cut():
    assert alphabet.reading(thirteen).cut == ("n",)
    assert with_settings(keep_eos=True).reading(thirteen).cut == ("m", "n")
    assert with_settings(length=None).reading(thirteen).cut == ()


def test_a_cut_word_is_not_called_unknown():
    assert alphabet.reading(thirteen + " Weihnachtsmarkt").unknown == ()


@pytest.mark.parametrize(("sentence", "understood"), [("a zzz", True), ("zzz", False), ("", False), ("🐶", False)])
def test_a_sentence_without_a_known_word_is_noticed(sentence, understood):
    assert alphabet.reading(sentence).understood is understood


@given(st.text())
def test_a_reading_agrees_with_the_encoding(sentence):
    vocabulary = Vocabulary(["a", "0", "b"])
    reading, ids = vocabulary.reading(sentence), vocabulary.encode([sentence])
    assert len(reading.unknown) == (ids == UNK).sum()
    assert len(reading.known) == (ids > EOS).sum()


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("a b a", "used: a, b"),
        ("Fjord", "'Fjord' is unknown; no word is left to search by"),
        ("Fjord Fjord a", "'Fjord' is unknown; used: a"),
        ("Fjord Elch a", "'Fjord', 'Elch' are unknown; used: a"),
        ("", "no word is left to search by"),
    ],
)
def test_a_reading_is_told_in_a_line(sentence, told):
    assert str(alphabet.reading(sentence)) == told


def test_the_line_about_an_endless_sentence_is_short():
    endless = " ".join(f"word{i}" for i in range(5000))
    assert "'word9' and 2 more are unknown; past the length and left out: word12" in str(alphabet.reading(endless))
    assert len(str(alphabet.reading(endless))) < 400


def test_the_nearest_word_is_compared_in_the_spelling_of_the_vocabulary():
    assert Vocabulary(["a", "umbrella"]).nearest("UMBRELA!") == "umbrella"


def test_what_is_no_word_has_no_nearest_one():
    assert alphabet.nearest("🐶") is None


# The words that captions used, where the others come from elsewhere

NEWSWIRE = ("the", "do", "king", "house", "trial", "floor", "dog", "skiing", "horse", "train", "flower", "elefant")
CAPTIONS = [*["a dog"] * 4, *["the horse"] * 5, *["skiing by train", "a flower"] * 3, "an elefant", "elefant"]


@pytest.fixture
def spoken():
    """A vocabulary of newswire, which knows what captions speak of."""
    known = Vocabulary([*NEWSWIRE, "elephant"])
    return Vocabulary(known.words, spoken=(*known.spoken_in(CAPTIONS), "elephant"))


def test_spoken_words_are_ordered_by_their_captions_and_else_as_in_the_vocabulary():
    assert Vocabulary(NEWSWIRE).spoken_in(CAPTIONS) == ("the", "horse", "dog", "skiing", "train", "flower")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("dgo", "dog"), ("hourse", "horse"), ("trian", "train"), ("sking", "skiing"), ("flowr", "flower")],
)
def test_of_equally_near_words_the_one_is_meant_that_captions_use(spoken, typed, meant):
    assert Vocabulary(spoken.words).nearest(typed) != meant
    assert spoken.nearest(typed) == meant


def test_a_nearer_word_that_no_caption_used_still_wins(spoken):
    assert spoken.nearest("housee") == "house"


def test_for_a_known_word_that_no_caption_used_one_is_offered_that_one_did(spoken):
    assert spoken.nearest("elefant") == "elefant"
    assert spoken.nearest_spoken("Elefant") == "elephant"
    assert spoken.nearest_spoken("dog") is None
    assert spoken.nearest_spoken("🐶") is None
    assert Vocabulary(NEWSWIRE).nearest_spoken("elefant") is None


def test_spoken_words_survive_the_file_and_have_a_part_in_the_digest(tmp_path, spoken):
    spoken.save(tmp_path / "words.json")
    loaded = Vocabulary.load(tmp_path / "words.json")
    assert (loaded, loaded.spoken) == (spoken, spoken.spoken)
    assert spoken != Vocabulary(spoken.words)
    assert spoken.digest != Vocabulary(spoken.words).digest


def test_a_vocabulary_without_spoken_words_keeps_its_digest():
    assert Vocabulary(["a", "dog"]).digest == "2382bd17458dfceed0d1b2a27f3caff1cf6b603b068271ca903ab658a48afe06"


@pytest.mark.parametrize(
    ("spoken", "why"), [(["cat"], "'cat' is not among the words"), (["dog", "dog"], "'dog' twice"), ([""], "is empty")]
)
def test_spoken_words_are_known_ones_and_each_stands_once(spoken, why):
    with pytest.raises(DataError, match=why):
        Vocabulary(["a", "dog"], spoken=spoken)


# On disk


def test_a_saved_vocabulary_comes_back_equal(saved):
    path, vocabulary = saved
    assert Vocabulary.load(path) == vocabulary
    assert Vocabulary.load(path).settings.length == 5


def test_saving_leaves_no_other_file_behind(saved):
    path, _ = saved
    assert [file.name for file in path.parent.iterdir()] == ["words.json"]


@given(words_=st.sets(st.text(min_size=1), max_size=5))
def test_any_spelling_survives_the_file(tmp_path_factory, words_):
    path = tmp_path_factory.mktemp("words") / "words.json"
    vocabulary = Vocabulary(sorted(words_), TokenSettings(split_on_punctuation=False))
    vocabulary.save(path)
    assert Vocabulary.load(path) == vocabulary


def test_the_digest_depends_on_words_order_and_settings():
    different = [
        Vocabulary(["a", "b"]),
        Vocabulary(["b", "a"]),
        Vocabulary(["a"]),
        Vocabulary(["a"], TokenSettings(length=9)),
    ]
    assert len({vocabulary.digest for vocabulary in different}) == 4


def test_a_file_cut_anywhere_is_refused(saved):
    path, _ = saved
    whole = path.read_bytes().rstrip()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match="not whole JSON .*copy it again"):
            Vocabulary.load(path)


def test_a_flipped_bit_is_refused_or_changes_nothing(saved):
    path, vocabulary = saved
    whole = path.read_bytes()
    refused = 0
    for place in range(len(whole)):
        for bit in range(8):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            try:
                assert Vocabulary.load(path) == vocabulary  # a capital in an escaped é, say
            except DataError:
                refused += 1
    assert refused > 0.99 * 8 * len(whole)


def test_a_changed_word_is_noticed_by_the_digest(saved):
    path, _ = saved
    path.write_text(path.read_text().replace("dog", "hog"))
    with pytest.raises(DataError, match="not the one its digest was made for"):
        Vocabulary.load(path)


@pytest.mark.parametrize("content", ["[]", "7", "{}", '{"format": "deepbinaries-codes"}'])
def test_json_of_another_kind_is_no_vocabulary(tmp_path, content):
    path = tmp_path / "words.json"
    path.write_text(content)
    with pytest.raises(DataError, match="is not a vocabulary"):
        Vocabulary.load(path)


def test_another_version_is_named_with_the_one_that_is_read(saved):
    path, _ = saved
    rewrite(path, version=2)
    with pytest.raises(DataError, match="of version 2; this release reads version 1"):
        Vocabulary.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"words": "abc"},
        {"words": ["a", 1]},
        {"words": ["a", "a"]},
        {"words": None},
        {"spoken": "a"},
        {"spoken": ["a", 1]},
        {"spoken": ["a", "a"]},
        {"spoken": ["cat"]},
        {"spoken": None},
        {"tokens": {"length": 0}},
        {"tokens": {"lenght": 12}},
        {"tokens": []},
    ],
)
def test_content_that_is_no_vocabulary_is_refused_by_file(saved, changes):
    path, _ = saved
    rewrite(path, **changes)
    with pytest.raises(DataError, match=r"words\.json does not describe a vocabulary"):
        Vocabulary.load(path)


def test_a_deeply_nested_file_is_refused(tmp_path):
    path = tmp_path / "words.json"
    path.write_text("[" * 200_000)
    with pytest.raises(DataError, match="not whole JSON"):
        Vocabulary.load(path)


def test_an_overlong_file_is_refused_before_it_is_parsed(tmp_path):
    path = tmp_path / "words.json"
    with path.open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(DataError, match="more than 67,108,864 bytes"):
        Vocabulary.load(path)


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_missing_file_or_a_folder_is_refused(tmp_path, name):
    with pytest.raises(DataError, match="cannot be read|does not exist"):
        Vocabulary.load(tmp_path / name)


def test_a_folder_that_does_not_exist_cannot_be_written_to(tmp_path):
    with pytest.raises(Error, match="cannot be written"):
        alphabet.save(tmp_path / "missing" / "words.json")


# Real captions


def test_few_words_of_real_captions_are_unknown(real_data):
    texts = []
    with tarfile.open(real_data / "iapr22" / "iapr22-000.tar") as shard:
        for member in shard:
            if member.name.endswith(".json"):
                texts += json.load(shard.extractfile(member))["text"]
    learnt, asked = texts[::2], texts[1::2]
    vocabulary = Vocabulary.from_sentences(learnt)
    ids = vocabulary.encode(asked)
    assert (ids == UNK).sum() < 0.05 * (ids > EOS).sum()
    assert 500 < len(vocabulary) < 3000
    assert {"sky", "tee", "high"} < set(vocabulary.words)
