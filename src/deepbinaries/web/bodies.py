"""Reading what a client sends, and never more than is allowed; `patience` sees to it that it comes in time."""

import json
from typing import Any, NoReturn

from starlette.requests import Request

from deepbinaries.web.refusals import RefusedError
from deepbinaries.web.settings import MAX_JSON, MAX_PICTURE

MOST_DEPTH = 8  # lists and objects inside each other
JSON_TYPE = "application/json"
CLOSE = (("connection", "close"),)  # the rest of the body is not waited for


def content_type(request: Request) -> str:
    """What a request says its body is, without parameters: `image/jpeg`."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def is_picture(kind: str) -> bool:
    """Whether a body of this type is taken for a picture's file; which format it has is asked of its bytes."""
    return kind == "application/octet-stream" or kind.startswith("image/")


async def read_picture_body(request: Request) -> bytes:
    """The bytes of a picture."""
    body = await read_body(request, MAX_PICTURE)
    if not body:
        raise RefusedError(400, "no picture was sent", next_step="send its bytes as the body")
    return body


async def read_body(request: Request, limit: int) -> bytes:
    """The body of a request; refused as soon as it is too long."""
    stated = request.headers.get("content-length", "")
    if stated.isdigit() and int(stated[:20]) > limit:
        raise _too_long(limit)
    parts, total = [], 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise RefusedError(400, "the body ends too early", next_step="send it again", headers=CLOSE)
        part = message.get("body", b"")
        total += len(part)
        if total > limit:
            raise _too_long(limit)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


async def read_json(request: Request) -> dict[str, Any]:
    """The JSON object in a request's body, without what programs read differently."""
    return parse_json(await read_body(request, MAX_JSON))


def parse_json(body: bytes) -> dict[str, Any]:
    """The object that strict JSON holds: no name twice, no NaN, no depths, no half characters.

    >>> parse_json(b'{"text": "a dog"}')
    {'text': 'a dog'}
    """
    try:
        content = STRICT.decode(body.decode())
        if not isinstance(content, dict):
            raise ValueError("it is no object")
        _check(content, MOST_DEPTH)
    except (ValueError, RecursionError) as error:  # also what is no UTF-8, and numbers of thousands of digits
        said = "it is too deep" if isinstance(error, RecursionError) else str(error)[:200]
        raise RefusedError(400, f"the body cannot be used: {said}", next_step="see /openapi.json") from None
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a name stands there twice")
    return content


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _check(content: object, depth: int) -> None:
    if isinstance(content, str):
        content.encode()  # half a surrogate pair raises
    elif isinstance(content, dict | list):
        if not depth:
            raise ValueError("it is too deep")
        for part in [*content, *content.values()] if isinstance(content, dict) else content:
            _check(part, depth - 1)


STRICT = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)


def _too_long(limit: int) -> RefusedError:
    return RefusedError(413, f"the body has more than {limit:,} bytes", next_step="send less", headers=CLOSE)
