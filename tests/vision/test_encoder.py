"""Pictures to region features, with a backbone of three features whose answers are computed in the head."""

import json

import numpy as np
import pytest
from drawn import disc
from numpy.testing import assert_allclose
from PIL import Image

from deepbinaries.errors import UsageError
from deepbinaries.vision import encoder as encoder_module
from deepbinaries.vision.backbones import WeightsCard
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings
from deepbinaries.vision.regions import Proposals
from deepbinaries.vision.stretching import stretched

LEFT_HALF, TOP_LEFT = (0, 0, 0.5, 1), (0, 0, 0.5, 0.5)


class MeanColours:
    """Maps of cells of 32 pixels; features are mean colours."""

    name, width, stride, crop_side = "mean-colours", 3, 32, 16
    card = WeightsCard("0" * 64, "none", "this file", "none")

    def maps(self, pixels):
        n, h, w, _ = pixels.shape
        return pixels.reshape(n, h // 32, 32, w // 32, 32, 3).mean((2, 4)).transpose(0, 3, 1, 2).astype(np.float32)

    def vectors(self, pixels):
        assert pixels.shape[1:] == (16, 16, 3)
        return pixels.mean((1, 2)).astype(np.float32)


class VectorsOnly(MeanColours):
    stride = 0


class Loud(MeanColours):
    """Features beyond what float16 can hold."""

    def maps(self, pixels):
        return super().maps(pixels) * 1e6


class TwoBoxes:
    """Proposes the left half and the quarter at the top left, and remembers what it was given."""

    name, digest = "two-boxes", "d" * 64

    def __init__(self):
        self.pictures, self.energies, self.ids = [], [], []

    def propose(self, picture, energy=None, id=""):  # noqa: A002
        self.pictures.append(picture)
        self.energies.append(energy)
        self.ids.append(id)
        return Proposals(np.array([LEFT_HALF, TOP_LEFT], np.float32), np.array([0.9, 0.5], np.float32))


@pytest.fixture
def proposer():
    return TwoBoxes()


@pytest.fixture
def make(monkeypatch, proposer):
    """Makes an encoder of a backbone that needs no weights."""

    def encoder(backbone=None, **settings):
        monkeypatch.setattr(encoder_module, "make_backbone", lambda *_, **__: backbone or MeanColours())
        monkeypatch.setattr(encoder_module, "make_proposer", lambda *_: proposer)
        return RegionEncoder(VisionSettings(**{"side": 64, "keep": 2, **settings}))

    return encoder


def red_and_blue(size=(64, 64)) -> Image.Image:
    """Red on the left, blue on the right."""
    picture = Image.new("RGB", size, (0, 0, 200))
    picture.paste((100, 0, 0), (0, 0, size[0] // 2, size[1]))
    return picture


def test_features_come_first_and_the_position_after_them(make):
    encoded = make(mode="crop").encode([red_and_blue((640, 320))])
    assert encoded.dtype == np.float16
    expected = [
        [100, 0, 0, 1, 0.5, 0.25, 0.5],  # left half: height 1, width 1/2, centre at 1/4, 1/2
        [100, 0, 0, 0.5, 0.5, 0.25, 0.25],
        [50, 0, 100, 1, 1, 0.5, 0.5],  # the whole picture
    ]
    assert_allclose(encoded[0], expected, atol=0.5)  # where red meets blue, resizing leaves a seam
    assert encoded[0, :, 3:].tolist() == [row[3:] for row in expected]


def test_regions_are_read_off_the_map(make):
    encoded = make().encode([red_and_blue()])
    # Two columns, red and blue. A sample may not lie nearer to blue than 3/8 of the way: a mean of 1/8.
    assert_allclose(encoded[0, :, :3], [[87.5, 0, 25], [87.5, 0, 25], [50, 0, 100]])


def test_the_whole_picture_is_the_mean_of_its_map(make):
    encoder = make(side=224)
    encoded = encoder.encode([Image.fromarray(disc())])
    assert_allclose(encoded[0, -1, :3], MeanColours().maps(disc()[None]).mean((2, 3))[0], rtol=1e-3)


def test_a_backbone_that_keeps_its_maps_as_tensors_gives_the_same(make):
    import torch

    class Tensors(MeanColours):
        def tensor_maps(self, pixels):
            return torch.from_numpy(super().maps(pixels))

    picture = Image.fromarray(disc())
    assert np.array_equal(make(Tensors()).encode([picture]), make().encode([picture]))


def test_pictures_are_stretched_whatever_their_shape(make):
    wide, square = red_and_blue((640, 64)), red_and_blue()
    assert_allclose(make().encode([wide]), make().encode([square]), atol=1)


def test_an_item_does_not_change_with_its_batch(make, monkeypatch):
    monkeypatch.setattr(encoder_module, "AT_ONCE", 2)
    pictures = [Image.new("RGB", (40, 40), (value, 0, 0)) for value in range(5)]
    together = make().encode(pictures)
    assert together[:, 0, 0].tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(together[3:4], make().encode(pictures[3:4]))


def test_a_picture_of_one_pixel_has_all_its_crops(make):
    assert make(mode="crop").encode([Image.new("RGB", (1, 1), (7, 8, 9))])[0, :, :3].tolist() == [[7, 8, 9]] * 3


@pytest.mark.parametrize("mode", ["roi", "crop"])
def test_without_regions_the_whole_picture_is_left_and_no_proposer_is_asked(make, proposer, mode):
    both, alone = (make(mode=mode, keep=keep).encode([red_and_blue()]) for keep in (2, 0))
    assert alone.shape[1] == 1
    assert_allclose(alone[:, 0], both[:, -1])
    assert len(proposer.pictures) == 1


def test_no_pictures_give_no_rows(make):
    assert make().encode([]).shape == (0, 3, 7)


def test_features_have_length_one_when_asked(make):
    encoded = make(l2_normalise=True).encode([red_and_blue()]).astype(np.float32)
    assert_allclose(np.linalg.norm(encoded[0, :, :3], axis=1), 1, rtol=1e-3)
    assert encoded[0, -1, 3:].tolist() == [1, 1, 0.5, 0.5]


def test_black_stays_black_when_normalised(make):
    assert not make(l2_normalise=True).encode([Image.new("RGB", (64, 64))])[0, :, :3].any()


def test_features_too_large_for_float16_are_infinite_and_not_wrong(make):
    assert np.isinf(make(Loud()).encode([red_and_blue()])[0, 0, 0])


@pytest.mark.parametrize("mode", ["roi", "crop"])
def test_the_proposer_is_given_the_maps_mean_square(make, proposer, mode):
    make(mode=mode).encode([red_and_blue()])
    assert_allclose(proposer.energies[0], [[100**2 / 3, 200**2 / 3]] * 2)


def test_without_maps_the_proposer_is_given_no_energy(make, proposer):
    make(VectorsOnly(), mode="crop").encode([red_and_blue()])
    assert proposer.energies == [None]


def test_the_proposer_is_told_the_ids(make, proposer):
    make().encode([red_and_blue(), red_and_blue()], ["a", "b"])
    assert sorted(proposer.ids) == ["a", "b"]


@pytest.mark.parametrize("mode", ["roi", "crop"])
def test_pixels_are_encoded_as_their_picture_is(make, mode):
    pictures = [red_and_blue((64, 40)), Image.fromarray(disc())]
    pixels = [np.asarray(picture) for picture in pictures]
    assert np.array_equal(make(mode=mode).encode(pixels), make(mode=mode).encode(pictures))


def test_the_proposer_sees_a_picture_where_only_pixels_are_given(make, proposer):
    make().encode([disc()])
    assert np.array_equal(proposer.pictures[0], disc())
    assert proposer.pictures[0].mode == "RGB"


def test_a_proposer_that_chooses_for_a_batch_is_asked_once(make, proposer):
    asked = []

    def choose_all(energies, sizes, keep):
        asked.append((energies.shape, sizes))
        return np.broadcast_to(np.array([LEFT_HALF, TOP_LEFT, (0, 0, 1, 1)], np.float32), (len(sizes), keep + 1, 4))

    pictures = [red_and_blue(), np.asarray(red_and_blue((640, 320)))]
    one_by_one = make().encode(pictures)
    proposer.choose_all = choose_all
    assert np.array_equal(make().encode(pictures), one_by_one)
    assert asked == [((2, 2, 2), [(64, 64), (640, 320)])]


@pytest.mark.parametrize("mode", ["roi", "crop"])
def test_regions_says_where_it_looks(make, mode):
    regions = make(mode=mode).regions(red_and_blue())
    assert regions.boxes.tolist() == [list(LEFT_HALF), list(TOP_LEFT), [0, 0, 1, 1]]
    assert regions.proposer == "two-boxes"


def test_regions_without_maps(make):
    assert len(make(VectorsOnly(), mode="crop").regions(red_and_blue()).boxes) == 3


def test_the_fingerprint_tells_every_setting_and_digest_as_json(make):
    fingerprint = json.loads(json.dumps(make().fingerprint))
    assert (fingerprint["backbone"], fingerprint["weights_sha256"]) == ("mean-colours", "0" * 64)
    assert (fingerprint["proposer_digest"], fingerprint["format"]) == ("d" * 64, 1)
    assert (fingerprint["side"], fingerprint["keep"], fingerprint["mode"]) == (64, 2, "roi")


@pytest.mark.parametrize("change", [{"side": 96}, {"keep": 1}, {"mode": "crop"}, {"l2_normalise": True}])
def test_a_changed_setting_changes_the_fingerprint(make, change):
    assert make(**change).fingerprint != make().fingerprint


def test_only_crops_of_regions_need_all_the_pixels_there_are(make):
    assert (make().at_least, make(mode="crop").at_least, make(mode="crop", keep=0).at_least) == (128, None, 32)


def test_a_square_is_enough_where_no_region_is_looked_at(make):
    assert (make().square, make(keep=0).square, make(mode="crop", keep=0).square) == (None, 64, 16)


@pytest.mark.parametrize("mode", ["roi", "crop"])
def test_the_square_of_a_picture_has_the_same_features(make, mode):
    encoder, picture = make(mode=mode, keep=0), red_and_blue((640, 480))
    assert np.array_equal(encoder.encode([picture]), encoder.encode([stretched(picture, encoder.square)]))


def test_whole_pictures_are_given_to_the_backbone_together(make):
    class Counting(MeanColours):
        """Notes how many crops it is given."""

        def __init__(self):
            self.given = []

        def maps(self, _):
            raise AssertionError("nobody reads the maps")

        def vectors(self, pixels):
            self.given.append(len(pixels))
            return super().vectors(pixels)

    backbone = Counting()
    pictures = [Image.new("RGB", (9, 9), (value, 0, 0)) for value in range(3)]
    encoded = make(backbone, mode="crop", keep=0).encode(pictures)
    assert backbone.given == [3]
    assert encoded[:, 0, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_crops_belong_to_their_picture_however_many_are_given_at_once(make, monkeypatch, at_once):
    monkeypatch.setattr(encoder_module, "CROPS_AT_ONCE", at_once)
    pictures = [red_and_blue(), red_and_blue().rotate(180)]
    encoded = make(mode="crop").encode(pictures)
    assert_allclose(encoded[:, :, 0], [[100, 100, 50], [0, 0, 50]], atol=3)


def test_roi_needs_a_backbone_with_maps(make):
    with pytest.raises(UsageError, match="mean-colours has no maps, only vectors; use mode=crop"):
        make(VectorsOnly())


def test_as_many_ids_as_pictures_are_needed(make):
    with pytest.raises(UsageError, match="2 ids do not go with 1 pictures"):
        make().encode([red_and_blue()], ["a", "b"])


def test_a_picture_that_is_not_rgb_is_refused(make):
    with pytest.raises(UsageError, match="a picture is LA, not RGB; open it with read_picture"):
        make().encode([Image.new("LA", (64, 64))])


@pytest.mark.parametrize("pixels", [np.zeros((8, 8), np.uint8), np.zeros((8, 8, 4), np.uint8), np.zeros((8, 8, 3))])
def test_pixels_that_are_not_rgb_are_refused(make, pixels):
    with pytest.raises(UsageError, match=r"a picture is (uint8|float64) \(8, 8.*not RGB; open it with read_picture"):
        make().encode([pixels])


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"mode": "grid"}, "mode='grid' is neither roi nor crop"),
        ({"side": 450}, "side=450 is no multiple of 32"),
        ({"side": 0}, "side=0 is no multiple of 32"),
        ({"side": 1 << 20}, "side=1048576 is no multiple of 32 up to 2048"),
        ({"keep": -1}, "keep=-1 is outside 0..47"),
    ],
)
def test_settings_out_of_range_are_refused(settings, problem):
    with pytest.raises(UsageError, match=problem):
        VisionSettings(**settings)


def test_the_default_encoder_works_from_a_picture_to_features(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPBINARIES_CACHE", str(tmp_path))
    encoder = RegionEncoder(VisionSettings(side=64))
    encoded = encoder.encode([Image.fromarray(disc()), Image.fromarray(disc())])
    assert encoded.shape == (2, 21, 1284)
    assert np.array_equal(encoded[0], encoded[1])
    assert encoder.card.licence == "Apache-2.0"
