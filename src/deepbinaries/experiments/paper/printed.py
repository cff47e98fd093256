"""What the paper prints, and where it is known to be misprinted."""

import functools
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("printed.json")
ANY = "any"  # one value for all lengths


def printed(table: str, dataset: str, row: str, bits: int, direction: str) -> float | None:
    """The MAP in a table of the paper; None where it prints none.

    >>> printed("table1", "iapr_tc12", "TVDB", 64, "image_to_text")
    0.731
    >>> printed("table1", "inria", "PLSR", 64, "text_to_image"), printed("table1", "inria", "QCH", 64, "text_to_image")
    (0.257, None)
    """
    by_length = _content().get(table, {}).get(dataset, {}).get(direction, {}).get(row, {})
    found: float | None = by_length.get(str(bits), by_length.get(ANY))
    return found


def known(table: str) -> bool:
    """Whether the paper prints numbers for a table or figure."""
    return table in _content()


def misprints(table: str, dataset: str) -> list[str]:
    """What is wrong with the numbers of a dataset in a table, as sentences."""
    return [m["text"] for m in _content()["misprints"] if table in m["tables"] and m["dataset"] == dataset]


def protocol(dataset: str) -> dict[str, Any]:
    """How many items the paper searches (`database`), asks with (`query`) and learns from (`train`), as it says it.

    >>> protocol("iapr_tc12")["query"]
    '2,200'
    """
    found: dict[str, Any] = _content()["protocol"][dataset]
    return found


def quoted(table: str) -> list[str]:
    """Which rows of a table the paper took over from elsewhere, as sentences."""
    found: list[str] = _content()["quoted"].get(table, [])
    return found


@functools.cache
def _content() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found
