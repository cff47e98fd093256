"""An encoder of the user's own: run as it is, prepared as the file beside it says, refused without one."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from onnx_encoders import INT64, mean_colours, mean_colours_of_bytes, small_maps
from tiny_onnx import constant_network

from deepbinaries.errors import DataError, UsageError
from deepbinaries.vision.backbones import make_backbone
from deepbinaries.vision.backbones.onnx_encoder import OnnxEncoder, Preparation
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings

STATED = {"side": 4, "layout": "NCHW", "mean": [0, 0.5, 0], "std": [1, 0.5, 2], "licence": "MIT"}


@pytest.fixture
def encoder(tmp_path):
    """Writes an encoder and what is stated beside it, and opens it."""

    def write(content: bytes, **changes):
        (tmp_path / "mine.onnx").write_bytes(content)
        (tmp_path / "mine.onnx.json").write_text(json.dumps({**STATED, **changes}))
        return make_backbone(f"onnx:{tmp_path / 'mine.onnx'}")

    return write


def coloured(*pixels: tuple[int, int, int], side: int = 4) -> np.ndarray:
    return np.array([np.full((side, side, 3), pixel) for pixel in pixels], dtype=np.uint8)


def test_pixels_are_prepared_as_stated(encoder):
    # (1 - 0) / 1, (0 - .5) / .5, (1 - 0) / 2
    assert_allclose(encoder(mean_colours()).vectors(coloured((255, 0, 255))), [[1, -1, 0.5]], atol=1e-6)


def test_an_encoder_of_bytes_prepares_them_itself(encoder):
    backbone = encoder(mean_colours_of_bytes(), layout="NHWC", mean=None, std=None)
    assert_allclose(backbone.vectors(coloured((7, 8, 9), (1, 2, 3))), [[7, 8, 9], [1, 2, 3]])
    assert backbone.card.preprocessing == "RGB bytes"


def test_an_encoder_of_one_picture_at_a_time_is_given_one_at_a_time(encoder):
    backbone = encoder(mean_colours((1, 3, 4, 4)), mean=[0, 0, 0], std=[1, 1, 1])
    assert_allclose(backbone.vectors(coloured((255, 0, 0), (0, 255, 0))), [[1, 0, 0], [0, 1, 0]])


def test_an_output_of_four_axes_is_a_map_and_its_mean_the_vector(encoder):
    backbone = encoder(small_maps(), mean=[0, 0, 0], std=[1, 1, 1])
    pixels = coloured((0, 0, 0))
    pixels[0, :2, :2] = 255
    assert (backbone.stride, backbone.width) == (2, 3)
    assert backbone.maps(pixels)[0, 0].tolist() == [[1, 0], [0, 0]]
    assert backbone.vectors(pixels).tolist() == [[0.25, 0.25, 0.25]]


def test_an_output_of_two_axes_has_no_maps(encoder):
    backbone = encoder(mean_colours())
    assert backbone.stride == 0
    with pytest.raises(UsageError, match="has no maps, only vectors; use mode=crop"):
        backbone.maps(coloured((0, 0, 0)))


def test_it_says_what_it_is(encoder):
    backbone = encoder(mean_colours())
    assert backbone.name == "onnx:mine.onnx"
    assert (backbone.crop_side, backbone.card.licence, backbone.card.source) == (4, "MIT", "mine.onnx")
    assert backbone.card.sha256 == hashlib.sha256(mean_colours()).hexdigest()


def test_it_tells_what_it_was_made_of_where_that_is_stated(encoder):
    assert encoder(mean_colours(), made_of="f" * 64).card.made_of == "f" * 64
    assert encoder(mean_colours()).card.made_of == ""


def test_an_encoder_without_a_stated_preparation_is_refused(tmp_path):
    (tmp_path / "mine.onnx").write_bytes(mean_colours())
    with pytest.raises(DataError, match="mine.onnx.json does not exist, and without it nobody knows"):
        make_backbone(f"onnx:{tmp_path / 'mine.onnx'}")


@pytest.mark.parametrize("name", STATED)
def test_every_part_of_the_preparation_must_be_stated(tmp_path, name):
    (tmp_path / "mine.onnx").write_bytes(mean_colours())
    stated = {key: value for key, value in STATED.items() if key != name}
    (tmp_path / "mine.onnx.json").write_text(json.dumps(stated))
    with pytest.raises(DataError, match=f"mine.onnx.json does not state '{name}'"):
        make_backbone(f"onnx:{tmp_path / 'mine.onnx'}")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"side": 0}, "side is 0"),
        ({"side": True}, "side is True"),
        ({"layout": "CHW"}, "layout is 'CHW'"),
        ({"licence": ""}, "licence is no text"),
        ({"made_of": 7}, "made_of is no text"),
        ({"decoded": 0}, "decoded is 0"),
        ({"decoded": 1.5}, "decoded is 1.5"),
        ({"mean": [0, 0]}, "mean is 0.0, 0.0; give three numbers"),
        ({"mean": [True, 0, 0]}, "mean is True, 0.0, 0.0"),
        ({"mean": "grey"}, "mean is 'grey'"),
        ({"mean": [123.7, 116.3, 103.5]}, "for pixels from 0 to 1: .* divided by 255"),
        ({"mean": [float("nan"), 0, 0]}, "mean is"),
        ({"std": [1, 0, 1]}, "std is 1.0, 0.0, 1.0; give three numbers, 0.001 or more"),
        ({"std": [1e-320, 1, 1]}, "three numbers, 0.001 or more"),
        ({"std": [float("inf"), 1, 1]}, "std is inf"),
        ({"std": None}, "std is none, mean is not"),
        ({"mean": None, "std": None}, r"takes tensor\(float\), but neither mean nor std is stated"),
        ({"layout": "NHWC"}, "which is not NHWC in RGB; state the layout NCHW"),
    ],
)
def test_a_preparation_that_cannot_be_is_refused(encoder, changes, problem):
    with pytest.raises(DataError, match=problem):
        encoder(mean_colours(), **changes)


def test_an_encoder_says_how_many_pixels_a_large_photograph_is_decoded_to(encoder, tmp_path):
    def at_least(**stated):
        encoder(mean_colours(), **stated)
        settings = VisionSettings(backbone=f"onnx:{tmp_path / 'mine.onnx'}", mode="crop", keep=0)
        return RegionEncoder(settings).at_least

    assert (at_least(), at_least(decoded=1), at_least(decoded=3)) == (8, 4, 12)


def test_a_preparation_that_is_no_object_is_refused(tmp_path):
    (tmp_path / "mine.onnx").write_bytes(mean_colours())
    (tmp_path / "mine.onnx.json").write_text("[224]")
    with pytest.raises(DataError, match="holds no JSON object"):
        make_backbone(f"onnx:{tmp_path / 'mine.onnx'}")


@pytest.mark.parametrize("content", [b"", b"not a network", mean_colours()[:-9]])
def test_a_file_that_is_no_network_is_refused_by_name(encoder, content):
    with pytest.raises(DataError, match="mine.onnx is no ONNX file"):
        encoder(content)


def test_an_absent_file_is_refused_by_name(tmp_path):
    with pytest.raises(DataError, match="absent.onnx does not exist"):
        make_backbone(f"onnx:{tmp_path / 'absent.onnx'}")


def test_an_encoder_without_the_axes_of_pictures_is_refused(encoder):
    with pytest.raises(DataError, match="does not take pictures alone"):
        encoder(mean_colours(("n", 3, "w")))


def test_an_encoder_of_other_numbers_is_refused(encoder):
    with pytest.raises(DataError, match=r"takes tensor\(int64\); export an encoder of bytes or floats"):
        encoder(mean_colours_of_bytes(INT64), layout="NHWC")


def test_an_encoder_of_bytes_wants_no_mean(encoder):
    with pytest.raises(DataError, match="mine.onnx takes bytes, but mean and std are stated"):
        encoder(mean_colours_of_bytes(), layout="NHWC")


def test_numbers_are_called_the_same_with_and_without_a_point(encoder):
    whole, real = encoder(mean_colours(), mean=[0, 0, 0]), encoder(mean_colours(), mean=[0.0, 0.0, 0.0])
    assert whole.card.preprocessing == real.card.preprocessing


def test_an_encoder_may_be_opened_with_a_preparation_that_is_stated_nowhere(tmp_path):
    (tmp_path / "mine.onnx").write_bytes(mean_colours((1, 3, 4, 4)))
    stated = Preparation(4, "NCHW", (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), "MIT")
    assert OnnxEncoder(tmp_path / "mine.onnx", preparation=stated).width == 3
    with pytest.raises(DataError, match=r"mine.onnx cannot encode 8 x 8 pixels .*; state the side that it takes"):
        OnnxEncoder(tmp_path / "mine.onnx", preparation=replace(stated, side=8))


def test_an_answer_that_is_neither_vector_nor_map_is_refused(encoder):
    with pytest.raises(DataError, match=r"gives \(1, 5, 6\), neither a vector nor a map a picture"):
        encoder(constant_network((1, 3, 4, 4), np.zeros((1, 5, 6), np.float32)))
    with pytest.raises(DataError, match=r"gives \(5, 6\), neither a vector nor a map a picture"):
        encoder(constant_network((1, 3, 4, 4), np.zeros((5, 6), np.float32)))


def test_pictures_of_a_side_that_it_does_not_take_are_refused(encoder):
    backbone = encoder(mean_colours((1, 3, 4, 4)))
    with pytest.raises(DataError, match="cannot encode 8 x 8 pixels"):
        backbone.vectors(coloured((0, 0, 0), side=8))


def test_it_takes_no_weights_apart():
    with pytest.raises(UsageError, match="an ONNX file holds its own weights"):
        make_backbone("onnx:mine.onnx", weights="a.safetensors")


def test_a_gpu_that_onnxruntime_cannot_use_is_refused(encoder, tmp_path):
    encoder(mean_colours())
    with pytest.raises(UsageError, match="onnxruntime cannot use 'cuda' here"):
        make_backbone(f"onnx:{tmp_path / 'mine.onnx'}", device="cuda")
