"""The server keeps to its OpenAPI description: schemathesis asks what it allows, and what it does not."""

import os
import re
import subprocess
import sys

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

from conftest import TOKEN
from deepbinaries.codes import Codes
from deepbinaries.index import open_index
from deepbinaries.web.app import description

# A description cannot say which texts hold a word, nor which length the codes of an index have.
CHECKED = [check for check in CHECKS.get_all() if check.__name__ != "positive_data_acceptance"]
OPERATIONS = [(path, method) for path, of in description()["paths"].items() for method in of]
QUICK = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.fixture(scope="module")
def photographs(process):
    """The address of a server of photographs."""
    return process.address


@pytest.fixture(scope="module")
def codes(tmp_path_factory):
    """The address of a server of codes alone, started as users start it."""
    folder = tmp_path_factory.mktemp("described") / "codes"
    with open_index(folder, bits=64, writable=True) as index:
        index.add(["a"], Codes.from_bits([[1] * 64]))
    command = [sys.executable, "-m", "deepbinaries", "serve", "--index", str(folder), "--port", "0"]
    environment = os.environ | {"DEEPBINARIES_TOKEN": TOKEN}
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    yield re.search(r"http://\S+", server.stderr.readline())[0]
    server.terminate()
    _, problems = server.communicate(timeout=30)
    assert (server.returncode, problems) == (0, "")


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@pytest.mark.parametrize("source", ["photographs", "codes"])
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["allowed", "not allowed"])
def test_every_request_is_answered_as_described(request, source, path, method, mode):
    address = request.getfixturevalue(source)
    operation = schemathesis.openapi.from_dict(description())[path][method.upper()]
    if mode == GenerationMode.NEGATIVE and not operation.body and not any(operation.iter_parameters()):
        return  # there is nothing that could be wrong

    @QUICK
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case):
        case.call_and_validate(
            base_url=address.rstrip("/"), checks=CHECKED, headers={"Authorization": f"Bearer {TOKEN}"}
        )

    ask()
