"""What the log says of an epoch: both networks' codes are looked at."""

import torch

from deepbinaries.hashers.epoch_figures import EpochFigures


def test_a_collapse_of_sentences_alone_is_told_and_the_figures_stay_those_of_pictures():
    torch.manual_seed(0)
    figures, rows = EpochFigures(40, 16, torch.device("cpu")), torch.arange(40)
    figures.note(torch.randn(40, 16), torch.ones(40, 16), rows)
    found = figures.of_epoch()
    assert "the codes of sentences collapse" in found["warning"]
    assert found["codes_distinct_codes"] == 40
