"""What a user installs: small, complete, and without the training stack."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from colour_model import draw_colours, write_colour_model

REPOSITORY = Path(__file__).parents[1]

# Refuses and records every attempt to import the training stack, also one hidden in a try block.
WATCHED = """
import sys
class Watch:
    attempts = []
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "sklearn", "scipy", "matplotlib"):
            self.attempts.append(name)
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Watch())
{code}
print(Watch.attempts, file=sys.stderr)
"""


def attempts_of(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", WATCHED.format(code=code)], capture_output=True, text=True, check=True)
    return run.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "room",
    [
        "deepbinaries",
        *(f"deepbinaries.{room}" for room in ("codes", "language", "vision", "datasets", "evaluation", "cli")),
        *(
            f"deepbinaries.{room}"
            for room in ("features", "hashers", "index", "model", "search", "experiments", "bulk", "cluster", "web.app")
        ),
    ],
)
def test_importing_a_room_imports_no_training_stack(room):
    assert attempts_of(f"import {room}") == "[]"


def test_the_watch_notices_an_import_of_torch():
    assert attempts_of("try:\n    import torch\nexcept ImportError:\n    pass") == "['torch']"


@pytest.mark.parametrize("kind", ["methods", "datasets", "backbones", "proposers", "indexes"])
def test_listing_imports_no_training_stack(kind):
    code = f"from deepbinaries.cli import main\ntry:\n    main(['list', '{kind}'])\nexcept SystemExit:\n    pass"
    assert attempts_of(code) == "[]"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The wheel and the sdist of this checkout; the wheel is made from the sdist, so that both are whole."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(REPOSITORY)]
    subprocess.run(command, check=True, capture_output=True)
    return out


@pytest.fixture(scope="module")
def empty_environment(built, tmp_path_factory) -> Path:
    """A new environment that holds the wheel and what it asks for, nothing else."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=True)
    (wheel,) = built.glob("*.whl")
    command = [home / "bin" / "pip", "install", "--quiet", "--constraint", REPOSITORY / "constraints.txt", wheel]
    subprocess.run(command, check=True, capture_output=True)
    return home / "bin"


CLEAN = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DEEPBINARIES_DATA")}


def run_installed(environment: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [environment / "deepbinaries", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=environment, env=CLEAN)


def test_the_wheel_runs_in_an_empty_environment(empty_environment):
    version = run_installed(empty_environment, "--version")
    assert (version.returncode, version.stderr) == (0, "")
    assert version.stdout.startswith("deepbinaries 0.")


def test_the_wheel_checks_a_dataset_in_an_empty_environment(empty_environment):
    run = run_installed(empty_environment, "dataset", "check", "scenes", "--set", "items=20", "--json")
    assert json.loads(run.stdout)["dataset"]["items"] == 20


def test_the_base_install_brings_no_training_stack(empty_environment):
    listing = subprocess.run([empty_environment / "pip", "list"], capture_output=True, text=True, check=True).stdout
    installed = {line.split()[0].lower() for line in listing.splitlines()[2:]}
    assert "numpy" in installed
    assert not installed & {"torch", "scipy", "scikit-learn", "matplotlib"}


def test_the_wheel_is_marked_as_typed(built):
    (wheel,) = built.glob("*.whl")
    content = subprocess.run([sys.executable, "-m", "zipfile", "-l", wheel], capture_output=True, text=True, check=True)
    assert "deepbinaries/py.typed" in content.stdout


def test_the_wheel_holds_every_file_of_the_models_that_come_along(built):
    (wheel,) = built.glob("*.whl")
    sources = REPOSITORY / "src"
    files = {path.relative_to(sources).as_posix() for path in (sources / "deepbinaries" / "pretrained").glob("*/*.*")}
    with zipfile.ZipFile(wheel) as content:
        assert files - {name for name in files if "__pycache__" in name} <= set(content.namelist())


def test_the_wheel_holds_the_lists_of_the_datasets_that_can_be_built(built):
    (wheel,) = built.glob("*.whl")
    lists = {f"deepbinaries/datasets/rebuilding/{name}.npz.xz" for name in ("coco18", "iapr22")}
    with zipfile.ZipFile(wheel) as content:
        assert lists <= set(content.namelist())


@pytest.fixture(scope="module")
def stocked_environment(empty_environment) -> Path:
    """The empty environment with a model `photo`: the package's own, or one of colours in a package without."""
    (package,) = empty_environment.parent.glob("lib/python*/site-packages/deepbinaries")
    if not (package / "pretrained" / "photo").exists():
        write_colour_model(package / "pretrained" / "photo")
    return empty_environment


QUERY = ("red", "--all", "--unfold")


@pytest.fixture(scope="module")
def photographs(tmp_path_factory) -> Path:
    return draw_colours(tmp_path_factory.mktemp("album") / "photographs")


def test_right_after_the_install_photographs_are_indexed_and_found_without_any_option(stocked_environment, photographs):
    indexed = run_installed(stocked_environment, "index", str(photographs), "--json")
    assert (indexed.returncode, json.loads(indexed.stdout)["encoded"]) == (0, 3), indexed.stderr
    found = run_installed(stocked_environment, "search", *QUERY, "--index", str(photographs), "--json")
    assert (found.returncode, len(json.loads(found.stdout)["hits"])) == (0, 3), found.stderr


def test_right_after_the_install_they_are_found_on_the_page_too(stocked_environment, photographs):
    command = [stocked_environment / "deepbinaries", "serve", photographs, "--port", "0"]
    pipes = {"stderr": subprocess.PIPE, "text": True, "cwd": stocked_environment, "env": CLEAN}
    with subprocess.Popen(command, **pipes) as server:
        try:
            address = next(found[0] for line in server.stderr if (found := re.search(r"http://\S+", line)))
            while json.loads(read(f"{address}v1/status"))["indexing"]["running"]:
                time.sleep(0.1)
            page, found = read(address), json.loads(read(f"{address}v1/search?q=red&least=none&unfold=true"))
        finally:
            server.send_signal(signal.SIGINT)
            sys.stderr.write(server.communicate(timeout=60)[1])  # shown where something failed
    assert "<html" in page
    assert (len(found["hits"]), server.returncode) == (3, 0)


def read(address: str) -> str:
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 - our own
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{address} answers {error}: {error.read().decode()}") from error
