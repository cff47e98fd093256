"""`/v1/items`: what is known of an item, its pictures, and how items come and go."""

from fastapi import FastAPI, Request
from fastapi.responses import Response

from deepbinaries.web import asking
from deepbinaries.web.bodies import JSON_TYPE, content_type, is_picture, read_json, read_picture_body
from deepbinaries.web.codes_alone import CodesAlone
from deepbinaries.web.refusals import RefusedError
from deepbinaries.web.server import Server, as_json

# What an id names never changes. A picture that is opened by itself runs nothing, whatever its bytes say.
FOR_EVER = {
    "cache-control": "private, max-age=31536000, immutable",
    "content-disposition": "inline",
    "x-frame-options": "DENY",
}


def add_routes(app: FastAPI, server: Server) -> None:
    """Add the addresses of items."""
    source = server.source

    @app.get("/v1/items/{id}")
    async def item(id: str) -> Response:  # noqa: A002
        known = asking.item_id(id)
        return as_json(await server.work.do(lambda: source.item(known)))

    @app.get("/v1/items/{id}/thumbnail")
    async def thumbnail(id: str) -> Response:  # noqa: A002
        known, photographs = asking.item_id(id), server.photographs
        content = await server.work.do(lambda: photographs.thumbnail(known))
        return Response(content, media_type="image/webp", headers=FOR_EVER)

    @app.get("/v1/items/{id}/picture")
    async def picture(id: str) -> Response:  # noqa: A002
        known, photographs = asking.item_id(id), server.photographs
        content, kind = await server.work.do(lambda: photographs.picture(known))
        return Response(content, media_type=kind, headers=FOR_EVER)

    @app.get("/v1/items/{id}/regions")
    async def regions(id: str) -> Response:  # noqa: A002
        known, photographs = asking.item_id(id), server.photographs
        return as_json(await server.work.do(lambda: photographs.regions(known)))

    @app.post("/v1/items")
    async def add(request: Request) -> Response:
        kind = content_type(request)
        if isinstance(source, CodesAlone):
            if kind != JSON_TYPE:
                raise RefusedError(415, "items of this index are codes", next_step="send application/json")
            ids, codes = asking.items_of_json(await read_json(request))
            await server.changes.do(lambda: source.replace(ids, codes))
            return as_json({"items": len(ids)})
        if not is_picture(kind):
            raise RefusedError(415, "items of this index are pictures", next_step="send a picture as the body")
        body = await read_picture_body(request)
        added = await server.changes.do(lambda: source.add(body))
        return as_json({"id": added}, status=201)

    @app.delete("/v1/items/{id}")
    async def remove(id: str) -> Response:  # noqa: A002
        known = asking.item_id(id)
        await server.changes.do(lambda: source.remove(known))
        return Response(status_code=204)
