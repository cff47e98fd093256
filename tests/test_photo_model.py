"""The model that comes with the package knows photographs."""

import numpy as np
import pytest

from deepbinaries.codes import top_k
from deepbinaries.datasets import Split, load
from deepbinaries.model import Model

ITEMS = 100


@pytest.fixture(scope="module")
def photo():
    return Model.from_pretrained("photo")


def test_a_sentence_finds_its_photograph_far_more_often_than_chance(photo, real_data):
    coco18 = load("webdataset", real_data / "coco18")
    rows = Split.load(real_data / "coco18" / "split.json").parts(coco18).validation[:ITEMS]
    pictures = photo.encode_images([coco18.picture(int(row)) for row in rows])
    sentences = photo.encode_texts([coco18.sentences(int(row))[0] for row in rows])
    found = top_k(sentences, pictures, k=10).rows
    hits = np.mean([row in of_query for row, of_query in enumerate(found)])
    assert hits > 0.7  # chance is 0.1


def test_words_that_mean_the_same_have_near_codes(photo):
    sofa, couch, giraffe = photo.encode_texts(["a sofa in a room", "a couch in a room", "a giraffe in the savannah"])
    near, far = (int(top_k(sofa, other, k=1).distances[0, 0]) for other in (couch, giraffe))
    assert near < far


def test_words_that_are_not_known_are_told(photo):
    assert photo.reading("a dog beside a qwrtzx").unknown == ("qwrtzx",)
