"""The examples of a container and of a unit for systemd start the server as it can be started."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer.main

from deepbinaries.cli.main import app

EXAMPLES = Path(__file__).parents[2] / "examples" / "server"


def of_container():
    text = (EXAMPLES / "Containerfile").read_text().replace("\\\n", "")
    return json.loads(re.search(r"^ENTRYPOINT (\[.*\])$", text, re.MULTILINE)[1])


def of_unit():
    return shlex.split(re.search(r"^ExecStart=(.*)$", (EXAMPLES / "deepbinaries.service").read_text(), re.MULTILINE)[1])


@pytest.mark.parametrize("command", [of_container, of_unit])
def test_the_command_is_one_that_the_program_takes(command):
    program, name, *arguments = command()
    assert (Path(program).name, name) == ("deepbinaries", "serve")
    serve = typer.main.get_command(app).commands["serve"]
    given = serve.make_context("serve", arguments).params
    assert given["folder"]
    assert (given["bind"] == "127.0.0.1") == (command is of_unit)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_understands_the_unit(tmp_path):
    text = (EXAMPLES / "deepbinaries.service").read_text()
    unit = tmp_path / "deepbinaries.service"
    unit.write_text(text.replace(of_unit()[0], "/bin/true"))  # the program itself is not where users have it
    said = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")
