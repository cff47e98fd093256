"""Two processes that torchrun starts train the same model as one."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from training_together import SETTINGS, trained

from deepbinaries.errors import DataError
from deepbinaries.hashers.checkpoints import NAME
from deepbinaries.hashers.training import Towers, _begin_alike
from deepbinaries.hashers.world import World

SCRIPT = Path(__file__).with_name("training_together.py")
WITHOUT_DROPOUT = [name for name in (*SETTINGS, "helper") if name != "dropout"]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process has to say of each training, and a folder with the checkpoint of half of one."""
    folder = tmp_path_factory.mktemp("trained")

    def keep_halfway(entry):
        if entry["epoch"] == 3:
            shutil.copytree(folder / "spectral", folder / "halfway of one")

    told = {name: trained(name) for name in WITHOUT_DROPOUT}
    trained("spectral", folder / "spectral", keep_halfway)
    shutil.rmtree(folder / "spectral")
    return folder, told


@pytest.fixture(scope="module")
def together(alone):
    """What each of two processes has to say: by name and rank, what `trained` gives."""
    folder, _ = alone
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", SCRIPT, folder]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]

    def told(name, rank=0):
        content = json.loads((folder / f"{name} {rank}.json").read_text())
        return content["entries"], np.array(content["values"]), np.array(content["codes"])

    return told


def losses(entries):
    return [entry["loss"] for entry in entries]


@pytest.mark.parametrize("name", WITHOUT_DROPOUT)
def test_two_processes_have_the_losses_of_one(alone, together, name):
    assert losses(together(name)[0]) == pytest.approx(losses(alone[1][name][0]), abs=1e-4)


@pytest.mark.parametrize("name", WITHOUT_DROPOUT)
def test_two_processes_learn_the_model_of_one(alone, together, name):
    assert together(name)[1] == pytest.approx(alone[1][name][1], abs=1e-3)


@pytest.mark.parametrize("name", [*SETTINGS, "helper"])
def test_both_processes_end_with_the_same_networks_to_the_last_bit(together, name):
    assert np.array_equal(together(name, rank=0)[1], together(name, rank=1)[1])


@pytest.mark.parametrize("name", SETTINGS)
def test_both_processes_have_the_same_target_codes(together, name):
    assert np.array_equal(together(name, rank=0)[2], together(name, rank=1)[2])


@pytest.mark.parametrize("name", ["spectral", "whole set"])
def test_the_target_codes_are_those_of_one_process(alone, together, name):
    assert (together(name)[2] == alone[1][name][2]).mean() > 0.999


def test_validation_is_that_of_one_process(alone, together):
    for mine, theirs in zip(alone[1]["relaxed"][0], together("relaxed")[0], strict=True):
        assert mine["validation_image_to_text"] == pytest.approx(theirs["validation_image_to_text"], abs=0.01)


@pytest.mark.usefixtures("together")
def test_one_process_alone_writes_log_and_checkpoint(alone, together):
    folder, _ = alone
    assert together("spectral", rank=1)[0] == []
    assert [path.name for path in (folder / "spectral").iterdir()] == [NAME]


def test_dropout_silences_other_units_in_each_process():
    drawn = []
    for rank in (0, 1):
        torch.manual_seed(0)
        with World(rank, 2).own_draws(1, 2, 3):
            drawn.append(torch.rand(8))
        drawn.append(torch.rand(8))
    assert not torch.equal(drawn[0], drawn[2])
    assert torch.equal(drawn[1], drawn[3])


def test_training_with_dropout_learns_in_two_processes(together):
    first, last = losses(together("dropout")[0])
    assert last < first


@pytest.mark.usefixtures("together")
def test_one_process_goes_on_where_two_were_interrupted(alone):
    folder, told = alone
    entries, values, _ = trained("spectral", folder / "halfway of two")
    assert [entry["epoch"] for entry in entries] == [3, 4]
    assert losses(entries) == pytest.approx(losses(told["spectral"][0])[2:], abs=1e-4)
    assert values == pytest.approx(told["spectral"][1], abs=1e-3)


def test_two_processes_go_on_where_one_was_interrupted(alone, together):
    entries, values, _ = together("resumed")
    assert [entry["epoch"] for entry in entries] == [3, 4]
    assert losses(entries) == pytest.approx(losses(alone[1]["spectral"][0])[2:], abs=1e-4)
    assert values == pytest.approx(alone[1]["spectral"][1], abs=1e-3)


class Torn(World):
    """Two processes, of which the second has found no checkpoint."""

    def gather(self, part, n):  # noqa: ARG002
        return torch.tensor([int(part), 0])


def test_processes_that_found_different_checkpoints_are_refused():
    towers = Towers(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
    with pytest.raises(DataError, match=r"different epochs \(2, 0\)"):
        _begin_alike(Torn(0, 2), towers, 2, torch.device("cpu"))


@pytest.mark.parametrize("n", [1, 2, 5, 6, 7])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_parts_of_all_processes_are_equally_long_and_begin_with_all_rows_in_order(n, size):
    rows = torch.arange(n) + 10
    parts = [World(rank, size).part(rows) for rank in range(size)]
    assert len({len(part) for part in parts}) == 1
    assert torch.cat(parts)[:n].tolist() == rows.tolist()


def test_a_process_alone_needs_nobody():
    values = torch.tensor([[1.0, 2.0]], requires_grad=True)
    assert World().gather(values, 1) is values
    assert World().share(values) is values
    World().add_up([values])
    World().wait()
