"""Every example runs, and says what its page says."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_first_codes_finds_sentences_and_reports_a_score_above_chance():
    run = subprocess.run([sys.executable, EXAMPLES / "first_codes.py"], capture_output=True, text=True, check=True)
    figures = dict(line.split()[:2] for line in run.stdout.splitlines() if line.startswith(("  map@all", "  chance")))
    assert "bits away" in run.stdout
    assert float(figures["map@all"]) > float(figures["chance"]) + 0.02
