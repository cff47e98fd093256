"""From a request to a query: every field is checked by hand, unknown ones are refused.

Nothing here is a path: a folder only restricts which pictures may be found, by comparing texts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepbinaries.errors import UsageError
from deepbinaries.search import Filter, Part
from deepbinaries.search.queries import MOST_PARTS, known_id, taken_away
from deepbinaries.web.refusals import RefusedError

EVERYWHERE = Filter()
MOST_HITS = 1000  # on one page
MOST_OFFSET = 100_000
MOST_CODES = 1000  # in one request
LONGEST_ID = 1024  # bytes
LONGEST_FOLDER = 1024  # characters

WHAT = ("text", "id", "parts", "code", "codes")
CHOICES = {
    "sort": ("relevance", "newest", "oldest"),
    "least": ("strong", "weak", "none"),
    "kind": ("pictures", "sentences"),
}
OPTIONS = ("k", "offset", "folder", "since", "until", "unfold", *CHOICES)

_SIGN = re.compile(r"(?:^|\s)([+-])(?:\s|$)")
_WEIGHT = re.compile(r"(\d{1,4}(?:\.\d{1,4})?):(.+)", re.DOTALL)
_HEX = re.compile(r"(?:[0-9a-f]{2}){1,128}", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True)
class Page:
    """Which hits of an answer are wanted."""

    k: int = 20
    offset: int = 0
    where: Filter = EVERYWHERE
    sort: str = "relevance"
    least: str = "weak"
    unfold: bool = False
    kind: str = "pictures"


@dataclass(frozen=True)
class Query:
    """What a request asks: parts of a query, or codes."""

    page: Page
    parts: tuple[Part, ...] = ()
    codes: tuple[bytes, ...] = ()
    several: bool = False  # whether the codes came as a list, and so do the answers


def of_json(content: Mapping[str, Any]) -> Query:
    """The query that a JSON object describes.

    >>> of_json({"parts": [{"text": "a dog"}, {"text": "a boat", "weight": -1}], "k": 5}).parts[1].weight
    -1.0
    """
    _known(content, (*WHAT, *OPTIONS))
    given = [name for name in WHAT if name in content]
    if len(given) != 1:
        raise _wrong("a query", f"needs exactly one of {', '.join(WHAT)}")
    what, value = given[0], content[given[0]]
    if what in ("code", "codes"):
        _known(content, (*WHAT, "k"))
        codes = _list(value, "codes", MOST_CODES) if what == "codes" else [value]
        return Query(Page(k=_k(content)), codes=tuple(map(_code, codes)), several=what == "codes")
    parts = [_part(one) for one in _list(value, "parts", MOST_PARTS)] if what == "parts" else [_part({what: value})]
    return Query(_page(content), parts=tuple(parts))


def of_parameters(parameters: Sequence[tuple[str, str]], *, with_picture: bool = False) -> Query:
    """The query of an address: `q` is a sentence, in which + and - add and take away, `like` a known id.

    >>> [part.what for part in of_parameters([("q", "a dog - a boat")]).parts]
    ['a dog', 'a boat']
    """
    fields = dict(parameters)
    if len(fields) < len(parameters):
        raise _wrong("the address", "names a parameter twice")
    for name, text in fields.items():
        _text(text, name)
    content: dict[str, Any] = {name: value for name, value in fields.items() if name not in ("q", "like")}
    for name in ("k", "offset"):
        if name in content:
            content[name] = _number(content[name], name)
    if "unfold" in content:
        content["unfold"] = _flag(content["unfold"])
    _known(content, OPTIONS)
    page = _page(content)
    if with_picture:
        _known(fields, OPTIONS)
        return Query(page)
    if ("q" in fields) == ("like" in fields):
        raise _wrong("the address", "needs q, a sentence, or like, an id")
    parts = sentence_parts(fields["q"]) if "q" in fields else [_part({"id": fields["like"]})]
    return Query(page, parts=tuple(parts))


def sentence_parts(text: str) -> list[Part]:
    """The parts of a sentence: `2:a dog + a beach - a boat -sand`; `id:...` is a known picture.

    >>> [(part.what, part.weight) for part in sentence_parts('2:a dog - a boat -"some sand"')]
    [('a dog', 2.0), ('a boat', -1.0), ('some sand', -1.0)]
    """
    text, taken = taken_away(text)
    pieces = _SIGN.split(text)
    pairs = [*zip(["+", *pieces[1::2]], pieces[::2], strict=True), *(("-", one) for one in taken)]
    if len(pairs) > 1 and not pairs[0][1].strip():  # a sentence may begin with its sign
        del pairs[0]
    if len(pairs) > MOST_PARTS:
        raise _wrong("q", f"has more than {MOST_PARTS} parts")
    return [_signed_part(sign, piece.strip()) for sign, piece in pairs]


def item_id(text: str) -> str:
    """An id that may be asked for; refused where no index can have it."""
    _text(text, "id")
    if not 0 < len(text.encode()) <= LONGEST_ID:
        raise _wrong("id", f"has 1 to {LONGEST_ID} bytes")
    return text


def items_of_json(content: Mapping[str, Any]) -> tuple[list[str], list[bytes]]:
    """The ids and codes of `{"items": [{"id": ..., "code": ...}]}`."""
    _known(content, ("items",))
    items = _list(content.get("items"), "items", MOST_CODES)
    for item in items:
        if not isinstance(item, dict) or item.keys() != {"id", "code"}:
            raise _wrong("an item", "has an id and a code")
    ids = [item_id(item["id"]) for item in items]
    if len(set(ids)) < len(ids):
        raise _wrong("items", "names an id twice")
    return ids, [_code(item["code"]) for item in items]


def _page(content: Mapping[str, Any]) -> Page:
    for name, known in CHOICES.items():
        if content.get(name, known[0]) not in known:
            raise _wrong(name, f"is one of {', '.join(known)}")
    unfold = content.get("unfold", False)
    if not isinstance(unfold, bool):
        raise _wrong("unfold", "is true or false")
    texts = {name: _text(content.get(name, ""), name) for name in ("folder", "since", "until")}
    if len(texts["folder"]) > LONGEST_FOLDER:
        raise _wrong("folder", f"has at most {LONGEST_FOLDER} characters")
    try:
        where = Filter(**texts)
    except UsageError as error:
        raise RefusedError(400, error.problem, next_step=error.next_step) from None
    chosen = {name: content[name] for name in CHOICES if name in content}
    offset = _whole(content.get("offset", 0), "offset", 0, MOST_OFFSET)
    return Page(_k(content), offset, where, unfold=unfold, **chosen)


def _k(content: Mapping[str, Any]) -> int:
    return _whole(content.get("k", 20), "k", 1, MOST_HITS)


def _part(content: object) -> Part:
    if not isinstance(content, dict) or ("text" in content) == ("id" in content):
        raise _wrong("a part", "has a text or an id, and perhaps a weight")
    _known(content, ("text", "id", "weight"))
    weight = content.get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise _wrong("weight", "is a number")
    kind = "text" if "text" in content else "id"
    what = _text(content[kind], kind) if kind == "text" else item_id(content[kind])
    if not what.strip():
        raise _wrong("text", "is empty")
    try:
        return Part("text" if kind == "text" else "id", what, float(weight))
    except (UsageError, OverflowError) as error:
        raise RefusedError(400, f"a part is wrong: {error}", next_step="see /openapi.json") from None


def _signed_part(sign: str, text: str) -> Part:
    weight = 1.0
    if match := _WEIGHT.fullmatch(text):
        weight, text = float(match[1]), match[2].strip()
    try:
        known = known_id(text)
    except UsageError as error:
        raise RefusedError(400, error.problem, next_step=error.next_step) from None
    what = {"text": text} if known is None else {"id": known}
    return _part({**what, "weight": -weight if sign == "-" else weight})


def _code(text: object) -> bytes:
    if not isinstance(text, str) or not _HEX.fullmatch(text):
        raise _wrong("a code", "is its bytes in hexadecimal digits, such as 00ff00ff00ff00ff")
    return bytes.fromhex(text)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise _wrong(name, "is a text")
    return value


def _whole(value: object, name: str, least: int, most: int) -> int:
    if isinstance(value, float) and value.is_integer():  # JSON has one kind of number
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _wrong(name, f"is a whole number from {least} to {most}")
    return value


def _number(text: str, name: str) -> int:
    if not _COUNT.fullmatch(text):
        raise _wrong(name, "is a whole number")
    return int(text)


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise _wrong("unfold", "is true or false")
    return text == "true"


def _list(value: object, name: str, most: int) -> list[Any]:
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        raise _wrong(name, f"is a list of 1 to {most}")
    return value


def _known(content: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in content:
        if name not in names:
            raise RefusedError(400, f"{name[:40]!r} cannot be given here", next_step=f"known are {', '.join(names)}")


def _wrong(name: str, rule: str) -> RefusedError:
    return RefusedError(400, f"{name} is wrong: it {rule}", next_step="see /openapi.json")
