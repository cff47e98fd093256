"""How the server and its index are: for people, for programs, for Prometheus."""

from typing import Any

from fastapi import FastAPI
from fastapi.responses import Response

from deepbinaries import __version__
from deepbinaries.errors import Error
from deepbinaries.search.skipped import shown
from deepbinaries.web.codes_alone import CodesAlone
from deepbinaries.web.photographs import Photographs
from deepbinaries.web.server import FRESH, Server, as_json

SAMPLE = 24  # pictures on the page before anything is asked
MOST_FAILURES = 1000  # that are listed


def add_routes(app: FastAPI, server: Server) -> None:
    """Add the addresses that tell how things are."""

    @app.get("/healthz")
    async def healthz() -> Response:
        return as_json({"status": "up"})

    @app.get("/readyz")
    async def readyz() -> Response:
        ready = await server.work.do(server.warm_up)
        return as_json({"status": "ready" if ready else "not ready yet"}, 200 if ready else 503)

    @app.get("/metrics")
    async def metrics() -> Response:
        gauges = await server.work.do(lambda: _gauges(server))
        return Response(server.metrics.text(gauges), media_type="text/plain; version=0.0.4", headers=FRESH)

    @app.get("/v1/status")
    async def status() -> Response:
        return as_json(await server.work.do(lambda: status_of(server)))

    @app.get("/v1/failures")
    async def failures() -> Response:
        photographs = server.photographs
        found = await server.work.do(lambda: photographs.collection().failures())
        listed = [{"path": shown(f.path), "reason": f.reason, "since": f.since} for f in found[:MOST_FAILURES]]
        return as_json({"failures": listed, "more": len(found) > MOST_FAILURES})


def status_of(server: Server) -> dict[str, Any]:
    """What the page shows before anything is asked."""
    source, local = server.source, server.settings.is_local
    content: dict[str, Any] = {"version": __version__, "can_change": server.settings.token is not None}
    if isinstance(source, CodesAlone):
        return content | {"kind": "codes", "items": len(source.index), "bits": source.index.bits}
    content |= {"kind": "photographs", "indexing": source.indexing.state() if source.indexing else None}
    try:
        collection, codes, sample = source.collection(), source.codes(), source.sample(SAMPLE)
        facts = collection.status()
    except Error as error:
        # Before the first portion is indexed there is nothing to open; later it is worth being told.
        problem = "" if source.indexing and source.indexing.running else error.problem if local else "see its log"
        return content | {"items": 0, "sample": [], "problem": problem}
    return content | {
        "items": len(codes),
        "bits": codes.bits,
        "sample": sample,
        "problem": "",
        **{name: facts[name] for name in ("files", "pictures", "sentences", "failures", "finished")},
        "method": collection.made_by.get("method"),
        # Others than the owner of this machine need not know where the photographs lie.
        "photographs": str(collection.photographs) if local else None,
    }


def _gauges(server: Server) -> dict[str, float]:
    source = server.source
    try:
        items = len(source.codes()) if isinstance(source, Photographs) else len(source.index)
    except Error:
        items = 0
    indexing = source.indexing.state() if isinstance(source, Photographs) and source.indexing else {"running": False}
    return {"items": items, "searches_waiting": server.work.waiting, "indexing": int(indexing["running"])}
