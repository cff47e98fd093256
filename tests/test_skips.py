"""A skip that nobody allowed must fail the run: the rule of conftest.py, tried on a run of its own."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def run_with_a_skip(folder: Path, reason: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    (folder / "test_one.py").write_text(f"import pytest\ndef test_it():\n    pytest.skip({reason!r})\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_an_unlisted_skip_fails_the_run_and_is_named(tmp_path):
    run = run_with_a_skip(tmp_path, "it is raining")
    assert run.returncode == pytest.ExitCode.TESTS_FAILED
    assert "this skip is not allowed: test_one.py::test_it: it is raining" in run.stdout


def test_a_listed_skip_passes_and_is_printed(tmp_path):
    run = run_with_a_skip(tmp_path, "DEEPBINARIES_DATA is not set")
    assert run.returncode == pytest.ExitCode.OK
    assert "skipped test_one.py::test_it: DEEPBINARIES_DATA is not set" in run.stdout
