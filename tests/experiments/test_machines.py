import platform

from deepbinaries.experiments import machines


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
