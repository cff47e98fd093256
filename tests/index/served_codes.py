"""A server of codes as users start it, and how tests ask it."""

import contextlib
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request

TOKEN = "a-token-for-tests-only"  # noqa: S105


@contextlib.contextmanager
def asking(address, *, secret):
    """A function that asks a server of the index at an address: the status, and the body. Nobody may see the secret."""
    command = [sys.executable, "-m", "deepbinaries", "serve", address, "--port", "0"]
    environment = os.environ | {"DEEPBINARIES_TOKEN": TOKEN}
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    place = re.search(r"http://\S+", server.stderr.readline())[0].rstrip("/")

    def ask(path, content=None, method=None):
        body = None if content is None else json.dumps(content).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {TOKEN}"}
        request = urllib.request.Request(place + path, body, headers, method=method)  # noqa: S310 - our own
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310
                said = answer.read()
                return answer.status, json.loads(said) if said else None
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read())["error"]

    yield ask
    server.terminate()
    _, said = server.communicate(timeout=30)
    assert server.returncode == 0
    assert "Traceback" not in said
    assert secret not in said
