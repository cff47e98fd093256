"""Fixtures that more than one room's tests use, and the rule that no test is skipped in silence."""

import os
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hypothesis import settings

# The networks of the tests are small: they only lose by sharing their work between cores that are busy already.
# Set before torch is imported, and inherited by the processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes says more about the machine and what else it does than about our code.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

# The only reasons for which a test may be skipped; any other skip fails the run.
ALLOWED_SKIPS = (
    "torch finds no GPU here",
    "DEEPBINARIES_DATA is not set",
    "the detector's weights are not there",
    "this processor has no vector popcount",
    "this is no x86-64 processor",
    "the benchmark's peers are not installed",
    "there is no C compiler, or this is not Linux",
    "no Milvus server can be started here",
    "no PostgreSQL server can be started here",
    "there is no Chromium here",
    "there is no systemd here",
    "ray is not installed",
)


@pytest.fixture
def refusing(monkeypatch):
    """`refusing(name)` lets SQLite give this error wherever it would need the files beside the database."""
    from deepbinaries.index import connecting

    connect = connecting.connect

    def refuse(name):
        error = sqlite3.OperationalError(name)
        error.sqlite_errorname = name
        refused = SimpleNamespace(execute=Mock(side_effect=error), close=lambda: None)
        monkeypatch.setattr(
            connecting, "connect", lambda path, how: refused if how == "mode=ro" else connect(path, how)
        )

    return refuse


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of the real datasets; tests that need it are skipped where it is absent."""
    root = os.environ.get("DEEPBINARIES_DATA")
    if not root:
        pytest.skip("DEEPBINARIES_DATA is not set")
    return Path(root)


def _skips(config: pytest.Config) -> list[tuple[str, str]]:
    """Every skipped test with its reason."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    return [(report.nodeid, report.longrepr[2].removeprefix("Skipped: ")) for report in skipped]


def _forbidden(config: pytest.Config) -> list[tuple[str, str]]:
    return [(test, reason) for test, reason in _skips(config) if reason not in ALLOWED_SKIPS]


def pytest_terminal_summary(terminalreporter, config):
    for test, reason in _skips(config):
        terminalreporter.write_line(f"skipped {test}: {reason}")
    for test, reason in _forbidden(config):
        terminalreporter.write_line(f"this skip is not allowed: {test}: {reason}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if session.exitstatus == pytest.ExitCode.OK and _forbidden(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def features(tmp_path_factory):
    """Where all small trainings keep their features, so that they are made once."""
    return tmp_path_factory.mktemp("features")


@pytest.fixture(scope="session")
def trained(features, tmp_path_factory):
    """The folder of a model that the command line has trained; for the tests beside `small_training`."""
    from small_training import SMALL, run

    folder = tmp_path_factory.mktemp("trained") / "model"
    assert run("train", *SMALL, "--features", features, "--out", folder) == 0
    return folder
