from dataclasses import replace

import pytest
import torch

from deepbinaries.errors import UsageError
from deepbinaries.hashers.heads import NetworkSettings
from deepbinaries.hashers.image_networks import (
    IMAGE_NETWORKS,
    RegionAttention,
    RegionLSTM,
    RegionMax,
    RegionVote,
    WholePicture,
)
from deepbinaries.hashers.text_networks import TEXT_NETWORKS, BagOfWords, TextCNN

SMALL = NetworkSettings(bits=6, hidden=10, fc=12, embed=8, maps=5)


def size(network: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def test_the_papers_image_network_has_the_papers_parameters():
    # Two biases a gate, as torch counts: level 1, level 2, fc 1, fc 2.
    network = RegionLSTM(4096, NetworkSettings(bits=64))
    assert size(network) == 20_996_096 + 8_396_800 + 1_049_600 + 1025 * 64


def test_the_papers_sentence_feature_has_384_numbers():
    network = TextCNN(100, NetworkSettings())
    assert network.pooled(torch.zeros(2, 12, dtype=torch.int32)).shape == (2, 384)


@pytest.mark.parametrize("name", IMAGE_NETWORKS)
def test_every_image_network_gives_one_value_a_bit(name):
    network = IMAGE_NETWORKS[name](16, SMALL)
    assert network(torch.randn(3, 5, 20)).shape == (3, 6)


@pytest.mark.parametrize("name", TEXT_NETWORKS)
@pytest.mark.parametrize("length", [2, 12])
def test_every_text_network_gives_one_value_a_bit_also_for_short_sentences(name, length):
    network = TEXT_NETWORKS[name](9, SMALL)
    assert network(torch.ones(3, length, dtype=torch.int32)).shape == (3, 6)


@pytest.mark.parametrize("name", IMAGE_NETWORKS)
def test_every_weight_of_an_image_network_learns(name):
    torch.manual_seed(0)
    network = IMAGE_NETWORKS[name](16, SMALL)
    network(torch.randn(8, 5, 20)).square().sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in network.parameters())


def test_forget_gates_start_open():
    bias = RegionLSTM(16, SMALL).lstm.bias_ih_l1
    assert bias[10:20].tolist() == [1.0] * 10


def test_the_whole_picture_network_sees_the_last_region_without_its_position():
    network = WholePicture(16, SMALL).eval()
    regions = torch.randn(2, 5, 20)
    changed = regions.clone()
    changed[:, :-1] = 0
    changed[:, -1, 16:] = 9
    assert torch.equal(network(regions), network(changed))


def test_the_order_of_regions_matters_to_the_lstm_and_not_to_the_maximum():
    regions = torch.randn(2, 5, 20)
    turned = torch.cat([regions[:, :-1].flip(1), regions[:, -1:]], dim=1)
    lstm, maximum = RegionLSTM(16, SMALL).eval(), RegionMax(16, SMALL).eval()
    assert not torch.allclose(lstm(regions), lstm(turned))
    assert torch.allclose(maximum(regions), maximum(turned), atol=1e-6)


def test_an_lstm_read_by_its_maximum_has_the_lstms_weights_and_other_values():
    mean, maximum = RegionLSTM(16, SMALL).eval(), IMAGE_NETWORKS["lstm-max"](16, SMALL).eval()
    assert size(maximum) == size(mean)
    maximum.load_state_dict(mean.state_dict())
    regions = torch.randn(2, 5, 20)
    outputs, _ = mean.lstm(regions)
    assert torch.allclose(maximum(regions), mean.head(outputs.max(dim=1).values.relu()))
    assert not torch.allclose(maximum(regions), mean(regions))


def test_attention_has_one_linear_map_more_than_the_maximum():
    assert size(RegionAttention(16, SMALL)) == size(RegionMax(16, SMALL)) + (16 + 1) * SMALL.hidden


def test_the_region_that_answers_the_whole_picture_is_heard_and_in_any_order():
    network = RegionAttention(16, SMALL).eval()
    regions = torch.randn(1, 5, 20)
    turned = torch.cat([regions[:, :-1].flip(1), regions[:, -1:]], dim=1)
    assert torch.allclose(network(regions), network(turned), atol=1e-6)
    with torch.no_grad():
        network.ask.weight *= 1e4  # so sure that one region alone counts
        near = network.speak(regions)[0] @ network.ask(regions[0, -1, :16])
        heard = network.speak(regions)[0, near.argmax()].relu()
        expected = network.head(torch.cat([regions[0, -1, :16], heard]))
    assert torch.allclose(network(regions)[0], expected, atol=1e-5)


def test_a_vote_has_three_weights_more_than_the_whole_picture():
    assert size(RegionVote(16, SMALL)) == size(WholePicture(16, SMALL)) + 3


def test_the_loudest_region_decides_a_vote_and_the_others_do_not():
    network = RegionVote(16, SMALL).eval()
    regions = torch.randn(1, 4, 20)
    values = network.head(regions[..., :16])[0]
    a, b, c = network.weights
    expected = a * values[3] + b * values[:3].max(0).values + c * values[:3].min(0).values
    assert torch.allclose(network(regions)[0], expected)


@pytest.mark.parametrize("network", [RegionMax, RegionAttention, RegionVote])
def test_regions_fall_silent_while_training_only(network):
    torch.manual_seed(0)
    made = network(16, replace(SMALL, region_dropout=0.5))
    regions = torch.randn(4, 5, 20)
    assert not torch.equal(made(regions), made(regions))
    made.eval()
    assert torch.equal(made(regions), made(regions))


@pytest.mark.parametrize("network", [RegionMax, RegionAttention, RegionVote])
def test_a_picture_of_which_no_region_is_heard_has_its_whole(network):
    made = network(16, replace(SMALL, region_dropout=1 - 1e-9))
    regions = torch.randn(2, 5, 20)
    changed = torch.cat([torch.randn(2, 4, 20), regions[:, -1:]], dim=1)
    assert torch.isfinite(made(regions)).all()
    assert torch.equal(made(regions), made(changed))


def test_padding_says_nothing_to_a_bag_of_words():
    network = BagOfWords(9, SMALL).eval()
    short, padded = torch.tensor([[3, 4]]), torch.tensor([[3, 4, 0, 0, 0]])
    assert torch.equal(network(short), network(padded))


def test_a_paddings_embedding_is_zero_and_stays_zero():
    network = TextCNN(9, SMALL)
    network(torch.tensor([[3, 0, 0]])).sum().backward()
    assert network.words.weight[0].abs().sum() == 0
    assert network.words.weight.grad[0].abs().sum() == 0


@pytest.mark.parametrize(
    "nonsense",
    [{"bits": 0}, {"bits": 1025}, {"hidden": 0}, {"dropout": 1.0}, {"region_dropout": -0.1}, {"activation": "tanh"}],
)
def test_nonsense_sizes_are_refused_where_they_are_written(nonsense):
    with pytest.raises(UsageError):
        NetworkSettings(**nonsense)
