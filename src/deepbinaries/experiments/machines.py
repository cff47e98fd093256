"""On what a result was made: seconds of one machine are not those of another."""

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROCESSORS = Path("/proc/cpuinfo")  # Linux alone; other systems tell the architecture


def machine(device: str = "auto") -> dict[str, Any]:
    """The processor, its cores, the device on which networks compute, and the threads where torch is in use.

    >>> machine("cpu")["device"]
    'cpu'
    """
    found: dict[str, Any] = {"processor": _processor(), "cores": os.cpu_count(), "device": "cpu"}
    torch = sys.modules.get("torch")  # where nobody has imported it, no network computes
    if torch is None:
        return found
    from deepbinaries.hashers.training import choose_device

    there = choose_device(device)
    name = torch.cuda.get_device_name(there) if there.type == "cuda" else there.type
    return found | {"device": name, "threads": torch.get_num_threads()}


def in_words(made_on: Mapping[str, Any]) -> str:
    """A machine as a caption names it.

    >>> in_words({"processor": "AMD EPYC", "cores": 16, "device": "NVIDIA H200", "threads": 8})
    'NVIDIA H200, AMD EPYC, 16 cores, 8 threads'
    >>> in_words({"processor": "AMD EPYC", "cores": 16, "device": "cpu", "threads": 8})
    'AMD EPYC, 16 cores, 8 threads'
    """
    device = [] if made_on["device"] == "cpu" else [made_on["device"]]
    return ", ".join([*device, made_on["processor"], *(f"{made_on[what]} {what}" for what in ("cores", "threads"))])


def _processor() -> str:
    """Its name where the system tells it, else the architecture."""
    lines = PROCESSORS.read_text().splitlines() if PROCESSORS.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
