"""Texts with tags that only look like XML: a raw `&` or `<` inside is common, a missing end happens."""

import html
import re

ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")


def text_between(text: str, tag: str) -> str | None:
    """What stands between the first `<tag>` and the next `</tag>`, on one line; None without the tag.

    Where the end is missing, the text goes on to the next line that begins with `<`.

    >>> text_between("<DOC><title>Fish &amp; chips & more </TITLE></DOC>", "TITLE")
    'Fish & chips & more'
    """
    begin = _find(f"<{tag}>", text, 0)
    if begin is None:
        return None
    end = _find(f"</{tag}>", text, begin.end()) or _find("\n<", text, begin.end())
    inside = text[begin.end() : end.start() if end else len(text)]
    return " ".join(ENTITY.sub(lambda entity: html.unescape(entity[0]), inside).split())


def is_closed(text: str, tag: str) -> bool:
    """Whether the first `<tag>` has an end.

    >>> is_closed("<a>x</a>", "a"), is_closed("<a>x", "a")
    (True, False)
    """
    begin = _find(f"<{tag}>", text, 0)
    return begin is not None and _find(f"</{tag}>", text, begin.end()) is not None


def _find(what: str, text: str, start: int) -> re.Match[str] | None:
    return re.compile(re.escape(what), re.IGNORECASE).search(text, start)
