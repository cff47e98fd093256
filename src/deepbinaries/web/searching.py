"""`/v1/search`: sentences, pictures, known items and codes find what is near."""

import time
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from deepbinaries.search import Answer, Part
from deepbinaries.web import asking
from deepbinaries.web.asking import Page, Query
from deepbinaries.web.bodies import JSON_TYPE, content_type, is_picture, read_json, read_picture_body
from deepbinaries.web.code_search import certificate_of
from deepbinaries.web.codes_alone import CodesAlone
from deepbinaries.web.refusals import RefusedError
from deepbinaries.web.server import Server, as_json, json_response, without_photographs
from deepbinaries.web.short_way import Handler


def add_routes(app: FastAPI, server: Server) -> dict[tuple[str, str], Handler]:
    """Add the addresses for searching; those among them that are worth a short way, by method and path."""

    @app.get("/v1/search")
    async def search_by_address(request: Request) -> Response:
        return await _found(server, asking.of_parameters(request.query_params.multi_items()))

    async def search_by_body(request: Request) -> Response:
        kind = content_type(request)
        if kind == JSON_TYPE:
            if request.scope["query_string"]:
                raise RefusedError(400, "options stand in the body", next_step="leave them out of the address")
            query = asking.of_json(await read_json(request))
            return await (_found_by_codes(server, query) if query.codes else _found(server, query))
        if not is_picture(kind):
            raise RefusedError(
                415, "this type of body is not understood", next_step="send application/json or a picture"
            )
        query = asking.of_parameters(request.query_params.multi_items(), with_picture=True)
        photographs = server.photographs
        body = await read_picture_body(request)
        began = time.perf_counter()
        picture = await server.work.do(lambda: photographs.decoded(body))
        if await request.is_disconnected():
            raise RefusedError(400, "the client has gone", next_step="ask again")
        return await _found(server, Query(query.page, (Part("picture", picture),)), began)

    app.add_route("/v1/search", search_by_body, methods=["POST"])
    return {("POST", "/v1/search"): search_by_body}


async def _found(server: Server, query: Query, began: float | None = None) -> Response:
    if isinstance(server.source, CodesAlone):
        return await _found_like(server, server.source, query)
    began, photographs = began or time.perf_counter(), server.photographs
    answer = await server.work.do(lambda: photographs.search(query.parts, query.page))
    return as_json(_answer(answer, photographs.codes().bits, began))


async def _found_by_codes(server: Server, query: Query) -> Response:
    began = time.perf_counter()
    found = [one.to_json() for one in await server.codes.search(query.codes, query.page.k)]
    content = f'"answers":[{",".join(f"{{{one}}}" for one in found)}]' if query.several else found[0]
    return json_response(f'{{{content},"milliseconds":{_milliseconds(began)}}}')


async def _found_like(server: Server, source: CodesAlone, query: Query) -> Response:
    """What is near a known item of an index of codes, but for this item."""
    began, page = time.perf_counter(), query.page
    if len(query.parts) != 1 or query.parts[0].kind != "id" or query.parts[0].weight < 0:
        raise without_photographs()
    if page != Page(k=page.k):
        raise RefusedError(400, "an index of codes knows no folders, dates or pages", next_step="give k alone")
    id_ = str(query.parts[0].what)
    code = await server.work.do(lambda: source.code_of(id_))
    (found,) = await server.codes.search([code], page.k + 1)
    others = [(other, far) for other, far in zip(found.ids, found.distances, strict=True) if other != id_][: page.k]
    near = found._replace(ids=[other for other, _ in others], distances=[far for _, far in others])
    return json_response(f'{{{near.to_json()},"milliseconds":{_milliseconds(began)}}}')


def _answer(answer: Answer, bits: int, began: float) -> dict[str, Any]:
    certificate = certificate_of(answer.certificate) if answer.certificate else None
    return {**answer.to_json(), "certificate": certificate, "bits": bits, "milliseconds": _milliseconds(began)}


def _milliseconds(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
