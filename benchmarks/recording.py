"""How every benchmark writes what it measured: ratios to peers in the same run, raw figures, command, machine."""

import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"

# Extensions that decide the speed of popcounts, sorts and matrix products.
INSTRUCTION_SETS = ("popcnt", "avx2", "avx512f", "avx512bw", "avx512_vpopcntdq", "asimd", "sve")


def record(
    name: str,
    *,
    ratios: Mapping[str, float],
    figures: Mapping[str, Any],
    command: str,
    output: Path | None = None,
) -> Path:
    """Write `results/NAME.json` (or `output`) and give back where it is. A ratio above 1 means that we are faster."""
    path = output or RESULTS / f"{name}.json"
    content = {
        "name": name,
        "ratios": dict(ratios),
        "figures": dict(figures),
        "command": command,
        "machine": machine(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_name(path.name + ".part")
    whole.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    whole.replace(path)
    return path


def machine() -> dict[str, Any]:
    """What a reader needs to know about the machine; no names of hosts, users or folders."""
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        cpuinfo = ""
    model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    known = set(flags[1].split()) if flags else set()
    return {
        "cpu": model[1].strip() if model else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "instruction_sets": [name for name in INSTRUCTION_SETS if name in known],
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def peak_memory_mb() -> float:
    """The most memory this process has held, in megabytes of 10^6 bytes."""
    import resource

    status = Path("/proc/self/status")
    if status.exists():  # what `resource` says on Linux begins with what the process held that started this one
        held = re.search(r"^VmHWM:\s*(\d+) kB$", status.read_text(encoding="utf-8"), re.MULTILINE)
        if held:
            return int(held[1]) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6  # bytes there, kibibytes on Linux
