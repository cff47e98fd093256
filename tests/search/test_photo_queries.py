"""What is made of the words of a query before anything is searched."""

import pytest
from plain_model import PlainFolder

from deepbinaries.errors import DataError, Error, IndexBusyError, MissingExtraError, UsageError
from deepbinaries.language import Reading, Vocabulary
from deepbinaries.search import Collection, parse
from deepbinaries.search.queries import LOOKED_UP, unknown_words, unread_emoji
from deepbinaries.search.watching import watch

LONG = "x" * 300


@pytest.mark.parametrize("sentence", ["a zebra", "The zebra", "two zebra in a photo"])
def test_little_words_beside_unknown_ones_find_nothing(library, sentence):
    library.index()
    with library.open() as collection:
        answer = collection.by_text(sentence)
    assert (answer.hits, answer.nearest, answer.verdict) == ((), (), "none")
    assert answer.notes == (f"no word of {sentence!r} is known but little ones",)
    assert "zebra" in {word.word for word in answer.unknown}


@pytest.mark.parametrize("sentence", ["a red zebra", "there is a", "a"])
def test_little_words_beside_others_or_alone_are_searched_by(library, sentence):
    library.index()
    with library.open() as collection:
        assert collection.by_text(sentence, least="none").hits


def test_only_the_first_unknown_words_are_compared_with_all_known_ones(monkeypatch):
    looked_up = []
    monkeypatch.setattr(Vocabulary, "nearest", lambda _, word: looked_up.append(word))
    vocabulary = Vocabulary(["dog"])
    words = [f"word{'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10]}" for n in range(100)]
    told = unknown_words(vocabulary.reading(" ".join(words)), vocabulary)
    assert [unknown.word for unknown in told] == list(vocabulary.reading(" ".join(words)).unknown)
    assert len(looked_up) == min(LOOKED_UP, len(told))


def test_where_nothing_is_found_a_word_that_no_caption_used_is_told_with_the_nearest_that_one_did(library):
    library.index()
    known = library.by.model.vocabulary.words
    library.by.model.vocabulary = Vocabulary([*known, "whine"], spoken=["red", "whine"])
    with library.open() as collection:
        note = "'white' stands in none of the captions that the model learnt from; did you mean 'whine'?"
        assert collection.by_text("white").notes == (note,)
        assert not collection.by_text("red").notes


def test_an_emoji_beside_words_is_named_and_changes_nothing_else(library):
    library.index()
    with library.open() as collection:
        answer, plain = (collection.by_text(sentence) for sentence in ("a red 🐶🐱 *wow* 🐶🐱!", "a red wow"))
        assert [str(word) for word in answer.unknown] == ["'wow' is unknown", "'🐶🐱' is unknown"]
        assert (answer.hits, answer.notes) == (plain.hits, plain.notes)


def test_an_emoji_that_a_tokenizer_reads_is_not_called_unknown():
    assert not unread_emoji("a dog 🐶", Reading(("a", "dog", "🐶"), (), ()))


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["a dog", "-beach"], [("a dog", 1), ("beach", -1)]),
        (["a dog", "-some sand"], [("a dog", 1), ("some sand", -1)]),  # what a shell leaves of -"some sand"
        (["a", "dog", "-beach", "in", "snow"], [("a dog in snow", 1), ("beach", -1)]),
        (["a dog -beach in snow"], [("a dog in snow", 1), ("beach", -1)]),
        (['a dog -"some sand"'], [("a dog", 1), ("some sand", -1)]),
        (["a dog -“some sand” -beach"], [("a dog", 1), ("some sand", -1), ("beach", -1)]),
        (["-beach", "a dog"], [("a dog", 1), ("beach", -1)]),
        (["a dog", "-2:beach", "+", "snow"], [("a dog", 1), ("snow", 1), ("beach", -2)]),
        (["a black-and-white dog"], [("a black-and-white dog", 1)]),
        (["a dog -- in snow"], [("a dog -- in snow", 1)]),
    ],
)
def test_a_minus_in_front_of_a_word_takes_it_away(words, parts):
    assert [(part.what, part.weight) for part in parse(words)] == parts


def test_a_picture_whose_name_holds_a_minus_is_that_picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dog -beach.jpg").touch()
    ((part,), (away,)) = parse(["dog -beach.jpg"]), parse(["red", "-dog -beach.jpg"])[1:]
    assert (part.kind, str(part.what), part.weight) == ("picture", "dog -beach.jpg", 1)
    assert (away.kind, str(away.what), away.weight) == ("picture", "dog -beach.jpg", -1)


@pytest.mark.parametrize("text", ["id:nothing", "id:00ff", "id:", "id:" + "A" * 32, "2:id:00ff"])
def test_what_begins_as_an_id_and_is_none_is_refused(text):
    with pytest.raises(UsageError, match="is no id of a picture; give id: and the 32 hexadecimal digits"):
        parse(["a dog", "+", text])


@pytest.mark.parametrize("words", [f"2:{LONG}", f"2:{LONG} {LONG}"])
def test_a_weighed_sentence_may_be_longer_than_any_name(words):
    (part,) = parse([words])
    assert (part.kind, part.weight) == ("text", 2.0)


@pytest.mark.parametrize("name", [f"{LONG}.jpg", "~nosuchuser/x.jpg", "a\0b.jpg", "gone.gif", "~/gone.png"])
def test_a_picture_that_cannot_be_there_is_told(name):
    with pytest.raises(UsageError, match="names a picture that is not there"):
        parse([name])


@pytest.mark.parametrize("word", ["gif", "JPG", "png"])
def test_a_format_by_itself_is_a_word(word):
    (part,) = parse([word])
    assert (part.kind, part.what) == ("text", word)


class OtherLength(PlainFolder):
    """A model of codes of 32 bits alone."""

    def __init__(self):
        super().__init__("e" * 64)
        self.bits = 32

    def of_bits(self, bits):
        return Refusing(bits)


class Refusing:
    """What a model is with codes of a length that it has not: every question about it is refused."""

    def __init__(self, asked):
        self._asked = asked

    def __getattr__(self, name):
        raise UsageError(f"this model has no codes of {self._asked} bits", next_step="it has 32")


def test_a_model_of_other_lengths_is_told_to_be_another_one(library):
    library.index()
    with (
        Collection(library.root, model=OtherLength()) as collection,
        pytest.raises(DataError, match="made by another model"),
    ):
        collection.by_text("red")


class TestWatching:
    """Looking at a folder again and again."""

    @pytest.mark.parametrize(
        "problem",
        [
            Error("the index x cannot be used: No space left on device", next_step="check free space"),
            DataError("no disk", next_step="put it in"),
            IndexBusyError("process 7", next_step="wait"),
        ],
        ids=["full disk", "no disk", "busy"],
    )
    def test_what_may_pass_is_told_and_waited_for(self, problem):
        answers = iter([problem, "a report"])

        def run():
            answer = next(answers)
            if isinstance(answer, Error):
                raise answer
            return answer

        looks = watch(run, every=0.001)
        assert [next(looks), next(looks)] == [problem, "a report"]

    @pytest.mark.parametrize("problem", [UsageError("no", next_step="x"), MissingExtraError("torch", "torch")])
    def test_what_will_not_pass_ends_it(self, problem):
        def run():
            raise problem

        with pytest.raises(type(problem)):
            next(watch(run, every=0.001))
