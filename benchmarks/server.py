"""How many searches a server answers in a second, beside a handler that answers as much JSON and does nothing else.

    python benchmarks/server.py              # a sentence among 10^5 photographs, a code among 10^6 codes
    python benchmarks/server.py --quick      # 10^3 and 10^4, to see that it runs

Each server is a process of its own: uvicorn, one worker, the same settings. The bare handler is FastAPI and nothing
else: no guard in front of it, a dictionary that is ready, an answer of as many bytes as ours. wrk asks over 1, 8 and
32 connections; ours and the bare handler take turns, and of each the best of several rounds counts. Where wrk is not
installed, a small client of ours asks instead, which is slower than the servers: the figures say which it was.

Codes are of 64 bits and random, a different query each time. Sentences go through a model, with default options; the
photographs are rows of a catalogue with random codes, since nobody looks at them.
"""

import argparse
import asyncio
import contextlib
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from deepbinaries.codes import Codes
from deepbinaries.index import open_index
from recording import record

BITS, K = 64, 10
CONNECTIONS = (1, 8, 32)
SECONDS, ROUNDS = 3, 5

WRK = """
local bodies, place = {{}}, 0
for line in io.lines("{bodies}") do bodies[#bodies + 1] = line end
request = function()
  place = place % #bodies + 1
  return wrk.format("POST", "{path}", {{["content-type"] = "application/json"}}, bodies[place])
end
done = function(summary, latency)
  io.write(string.format("RESULT %f %f %d %d %d\\n", summary.requests / (summary.duration / 1e6),
    latency:percentile(99) / 1000, summary.errors.status, summary.errors.connect + summary.errors.read
    + summary.errors.write + summary.errors.timeout, summary.requests))
end
"""

Cell = dict[str, Any]


def wrk(address: str, path: str, bodies: Path, connections: int, seconds: int) -> Cell:
    """What wrk measures."""
    script = bodies.with_suffix(".lua")
    script.write_text(WRK.format(bodies=bodies, path=path))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), address]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"RESULT (\S+) (\S+) (\d+) (\d+) (\d+)", said)
    if found is None:
        raise SystemExit(f"wrk says nothing: {said}")
    rate, p99, status, sockets, requests = map(float, found.groups())
    return {"rate": rate, "p99_ms": p99, "errors": int(status + sockets), "requests": int(requests)}


async def _asked(address: str, path: str, bodies: list[bytes], connections: int, seconds: int) -> Cell:
    host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
    times: list[float] = []
    errors = 0
    end = time.perf_counter() + seconds

    async def client(place: int) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection(host, int(port))
        while time.perf_counter() < end:
            body = bodies[place % len(bodies)]
            place += connections
            head = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
            began = time.perf_counter()
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", answer)
            await reader.readexactly(int(length[1]) if length else 0)
            times.append(time.perf_counter() - began)
            errors += not answer.startswith(b"HTTP/1.1 200")
        writer.close()

    await asyncio.gather(*(client(place) for place in range(connections)))
    p99 = statistics.quantiles(times, n=100)[98] * 1000
    return {"rate": len(times) / seconds, "p99_ms": p99, "errors": errors, "requests": len(times)}


def measured(address: str, path: str, bodies: Path, connections: int, seconds: int) -> Cell:
    """Rate, waiting time and errors of one server, by wrk where it is installed."""
    if shutil.which("wrk"):
        return wrk(address, path, bodies, connections, seconds)
    lines = bodies.read_bytes().splitlines()
    return asyncio.run(_asked(address, path, lines, connections, seconds))


def in_turns(servers: dict[str, tuple[str, str]], bodies: Path, seconds: int, rounds: int) -> list[Cell]:
    """Both servers over each number of connections: the best round of each."""
    cells = []
    for connections in CONNECTIONS:
        found: dict[str, list[Cell]] = {name: [] for name in servers}
        for _ in range(rounds):
            for name, (address, path) in servers.items():
                found[name].append(measured(address, path, bodies, connections, seconds))
        best = {name: max(of_server, key=lambda one: one["rate"]) for name, of_server in found.items()}
        errors = {name: sum(one["errors"] for one in of_server) for name, of_server in found.items()}
        cells.append({"connections": connections, "errors": errors, **best})
        told = ", ".join(f"{name} {one['rate']:,.0f}/s p99 {one['p99_ms']:.1f} ms" for name, one in best.items())
        print(f"{connections:3} connections: {told}")
    return cells


class Started:
    """A server in a process of its own."""

    def __init__(self, *arguments: str):
        command = [sys.executable, __file__, "--serve", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None  # noqa: S101
        self.address = self.process.stdout.readline().strip()

    def ask(self, path: str, body: bytes) -> bytes:
        """One answer."""
        kind = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self.address.rstrip('/')}{path}", body, kind)  # noqa: S310 - our own
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            content: bytes = answer.read()
            return content

    def __enter__(self) -> "Started":
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.terminate()
        self.process.communicate()


def serve(kind: str, where: str) -> None:
    """Be one of the servers."""
    from deepbinaries.web.codes_alone import CodesAlone
    from deepbinaries.web.photographs import Photographs
    from deepbinaries.web.running import run
    from deepbinaries.web.settings import Settings

    def say(address: str) -> None:
        print(address, flush=True)

    if kind == "bare":
        _serve_bare(where, say)
    elif kind == "codes":
        run(CodesAlone(open_index(where), writable=False), Settings(port=0), started=say)
    else:
        run(Photographs(Path(where)), Settings(port=0), started=say)


def _serve_bare(answer: str, say: Any) -> None:
    """A handler that FastAPI's own examples would show, which gives an answer that is ready."""
    import uvicorn
    from fastapi import FastAPI

    from deepbinaries.web.running import listening_on

    app, content = FastAPI(), json.loads(Path(answer).read_text())

    @app.post("/bare")
    async def bare() -> dict[str, Any]:
        return dict(content)

    listening = listening_on("127.0.0.1", 0)
    say(f"http://127.0.0.1:{listening.getsockname()[1]}/")
    config = uvicorn.Config(app, http="httptools", ws="none", access_log=False, log_level="warning")
    uvicorn.Server(config).run(sockets=[listening])


def beside_bare(kind: str, where: Path, bodies: Path, folder: Path, seconds: int, rounds: int) -> list[Cell]:
    """Our server and the bare handler, in turns."""
    path = "/v1/search"
    with Started(kind, str(where)) as ours:
        lines = bodies.read_bytes().splitlines()
        answers = [ours.ask(path, line) for line in lines[:50]]
        typical = sorted(answers, key=len)[len(answers) // 2]
        (folder / "answer.json").write_bytes(typical)
        with Started("bare", str(folder / "answer.json")) as bare:
            size = len(bare.ask("/bare", lines[0]))
            print(f"{kind}: answers of {len(typical)} bytes, the bare handler's have {size}")
            return in_turns({"ours": (ours.address, path), "bare": (bare.address, "/bare")}, bodies, seconds, rounds)


def make_codes(folder: Path, n: int) -> tuple[Path, Path]:
    """An index of random codes, and the bodies of queries for it."""
    rng = np.random.default_rng(0)
    ids = [f"item-{number:08d}" for number in rng.permutation(n)]
    with open_index(folder / "codes", bits=BITS, writable=True) as index:
        index.add(ids, Codes(rng.integers(0, 256, (n, BITS // 8), dtype=np.uint8), BITS))
    bodies = folder / "codes.txt"
    queries = rng.integers(0, 256, (1000, BITS // 8), dtype=np.uint8)
    bodies.write_text("\n".join(json.dumps({"code": code.tobytes().hex(), "k": K}) for code in queries))
    return folder / "codes", bodies


def make_photographs(folder: Path, n: int) -> tuple[Path, Path]:
    """An index of photographs that are nowhere, with random codes, under a small model; and sentences for it."""
    from deepbinaries.cli import main as command_line
    from deepbinaries.datasets import load
    from deepbinaries.search import LazyModel
    from random_collection import random_collection

    small = "items=60 --vision side=64 --vision keep=4 --set epochs=1 --set hidden=64 --set fc=64"
    with contextlib.suppress(SystemExit):
        command_line(["train", "scenes", "--dataset-set", *small.split(), "--out", str(folder / "model")])
    place = random_collection(folder, LazyModel(folder / "model", device="cpu"), n)
    scenes = load("scenes", items=200)
    sentences = [text for row in range(200) for text in scenes.sentences(row)[:1]]
    bodies = folder / "sentences.txt"
    bodies.write_text("\n".join(json.dumps({"text": text, "k": K}) for text in sentences))
    return place, bodies


def main() -> None:
    """Measure, and write what was found."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--output", type=Path)
    arguments.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.serve:
        serve(*given.serve)
        return
    seconds, rounds = (1, 1) if given.quick else (SECONDS, ROUNDS)
    n_codes, n_photographs = (10_000, 1_000) if given.quick else (1_000_000, 100_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        of_codes = beside_bare("codes", *make_codes(folder, n_codes), folder, seconds, rounds)
        of_text = beside_bare("photographs", *make_photographs(folder, n_photographs), folder, seconds, rounds)
    ratios = {
        "of_bare_handler": round(of_codes[-1]["ours"]["rate"] / of_codes[-1]["bare"]["rate"], 3),
        "text_of_bare_handler": round(of_text[-1]["ours"]["rate"] / of_text[-1]["bare"]["rate"], 3),
    }
    figures = {
        "client": "wrk" if shutil.which("wrk") else "a client of our own",
        "codes": {"items": n_codes, "bits": BITS, "k": K, "cells": of_codes},
        "text": {"items": n_photographs, "k": K, "cells": of_text},
        "errors": sum(sum(cell["errors"].values()) for cell in (*of_codes, *of_text)),
    }
    command = "python benchmarks/server.py" + (" --quick" if given.quick else "")
    print(ratios, record("server", ratios=ratios, figures=figures, command=command, output=given.output))


if __name__ == "__main__":
    main()
