import platform

from deepbinaries.experiments import contest, machines
from deepbinaries.experiments.contest import Task


def test_the_processor_is_named_where_the_system_tells_it(monkeypatch, tmp_path):
    told = tmp_path / "cpuinfo"
    told.write_text("processor\t: 0\nmodel name\t: One: fast\nmodel name\t: One: fast\n")
    monkeypatch.setattr(machines, "PROCESSORS", told)
    assert machines.machine("cpu")["processor"] == "One: fast"
    told.unlink()
    assert machines.machine("cpu")["processor"] == platform.machine()


def test_the_device_is_the_one_that_computes(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "A Card")
    assert machines.machine("auto")["device"] == "A Card"
    assert machines.machine("cpu")["device"] == "cpu"
    assert machines.machine("cpu")["threads"] == torch.get_num_threads()


def test_codes_are_compared_where_networks_compute_if_that_is_a_gpu(monkeypatch):
    def task(device):
        return Task(dataset=None, parts=None, source=None, folder=None, device=device)

    assert task("auto").counts_on is None
    monkeypatch.setattr(contest, "machine", lambda _: {"device": "A Card"})
    assert (task("auto").counts_on, task("cuda:1").counts_on) == ("cuda", "cuda:1")
