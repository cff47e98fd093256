"""A Milvus server for tests: the program of the embedded one, listening on a port of this machine."""

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PATIENCE = 20  # seconds for a start


class CannotStartError(Exception):
    """There is no server here, or it does not start."""


class RunningMilvus:
    """A server that keeps its items in a folder of its own."""

    def __init__(self):
        package = importlib.util.find_spec("milvus_lite")
        if package is None:
            raise CannotStartError("milvus-lite is not installed")
        self.programs = Path(package.origin).parent / "lib"
        self.folder = Path(tempfile.mkdtemp(prefix="milvus-"))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        try:
            self.start()
        except (OSError, CannotStartError) as error:
            self.remove()
            raise CannotStartError(str(error)) from error

    def uri(self, collection: str = "deepbinaries", user: str = "") -> str:
        return f"milvus://{user}127.0.0.1:{self.port}/{collection}"

    def start(self) -> None:
        command = [self.programs / "milvus", self.folder / "codes.db", f"127.0.0.1:{self.port}", "ERROR"]
        environment = os.environ | {"LD_LIBRARY_PATH": str(self.programs), "DYLD_LIBRARY_PATH": str(self.programs)}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, env=environment)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise CannotStartError(str(error)) from error
                time.sleep(0.02)

    def kill(self) -> None:
        """End the server at once, as a power cut does."""
        self.process.kill()
        self.process.wait()

    def remove(self) -> None:
        if hasattr(self, "process") and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder)
