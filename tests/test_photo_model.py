"""The model that comes with the package knows photographs."""

import io

import numpy as np
import pytest
from PIL import ExifTags, Image

from deepbinaries import codes
from deepbinaries.cli.main import main
from deepbinaries.codes import top_k
from deepbinaries.datasets import Split, load
from deepbinaries.index import EmbeddedIndex
from deepbinaries.model import Model
from deepbinaries.search import LazyModel, index_folder
from deepbinaries.search.catalogue import PICTURES
from deepbinaries.search.layout import read_layout
from deepbinaries.web.photographs import Photographs

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


def test_a_large_photograph_has_one_code_whichever_way_it_comes(photo, tmp_path, capsys):
    scene, exif = Image.open(io.BytesIO(load("scenes", items=1).picture(0))).convert("RGB"), Image.Exif()
    exif[ExifTags.Base.Orientation] = 6  # of a camera that was held upright
    path = tmp_path / "album" / "large.jpg"
    path.parent.mkdir()
    grain = np.random.default_rng(0).normal(0, 9, (2400, 3200, 3))
    pixels = (np.asarray(scene.resize((3200, 2400))) + grain).clip(0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(path, exif=exif, quality=90)
    content = path.read_bytes()

    index_folder(path.parent, LazyModel("photo"), progress=False)
    place = path.parent / ".deepbinaries"
    with EmbeddedIndex(read_layout(place).home / PICTURES) as index:
        (id_,) = index.ids()
        indexed = index.codes_of([id_])
    served = Photographs(place)
    try:
        uploaded = photo.encode_images([served.decoded(content)])
    finally:
        served.close()
    with pytest.raises(SystemExit) as ended:
        main(["encode", "photo", str(path), "--out", str(tmp_path / "codes.npy")])
    assert ended.value.code == 0, capsys.readouterr().err
    ways = [
        photo.encode_images([str(path)]),
        photo.encode_images([content]),
        uploaded,
        codes.load(tmp_path / "codes.npy"),
    ]
    assert ways == [indexed] * 4
