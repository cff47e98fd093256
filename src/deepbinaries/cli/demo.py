"""`deepbinaries demo`: see it work, in a few minutes and without any data."""

import os
from pathlib import Path
from typing import Annotated

import typer

from deepbinaries.cli.dataset import Seed
from deepbinaries.cli.output import complain, write_table
from deepbinaries.cli.train import Device


def demo(
    out: Annotated[Path, typer.Option(help="The demo's folder; one of an earlier demo is written anew.")] = Path(
        "demo"
    ),
    items: Annotated[int, typer.Option(help="How many scenes are drawn, at least 60; more take longer.")] = 3000,
    device: Device = "auto",
    seed: Seed = 0,
) -> None:
    """Draw scenes, learn codes of 64 bits, compare them with a baseline and with chance, and leave a page and a model.

    Example: deepbinaries demo
    """
    # Scenes are drawn on one core while another looks at them; networks this small gain little from a second core, and
    # lose much where somebody else is busy on it. Read when torch is imported, which is after this.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from deepbinaries.experiments.demo import DemoSettings, run_demo
    from deepbinaries.experiments.demo_folder import MODEL, REPORT
    from deepbinaries.experiments.demo_page import GALLERIES

    found = run_demo(out, DemoSettings(items=items, seed=seed), device=device, tell=complain)
    rows = [
        [method, gallery, direction, f"{report.mean:.4f}", f"{report.chance:.4f}"]
        for method, reports in found.scores.items()
        for (gallery, direction), report in reports.items()
        if gallery in GALLERIES
    ]
    write_table(["method", "gallery", "direction", "MAP", "chance"], rows)
    complain(f"\nLook at {out / REPORT}. The model is in {out / MODEL}. What to try next:\n\n{found.next_steps}")
