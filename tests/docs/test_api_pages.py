"""The API reference is that of the docstrings, and leads to everything that rooms offer."""

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

API = Path(__file__).parents[2] / "docs/api"


@pytest.fixture(scope="module")
def write():
    """The script that writes the pages, as a module."""
    spec = importlib.util.spec_from_file_location("write", API / "write.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(write):
    return write.pages()


def test_the_pages_are_those_of_the_docstrings(pages):
    there = {path.name: path.read_text() for path in API.glob("*.md")}
    assert there == pages, "run python docs/api/write.py"


def test_every_public_name_of_a_room_has_its_heading(write, pages):
    for room in write.ROOMS:
        headings = re.findall(r"^## `(.*)`$", pages[f"{room}.md"], re.MULTILINE)
        offered = getattr(importlib.import_module(f"deepbinaries.{room}"), "__all__", headings)
        assert set(offered) == set(headings)


def test_a_signature_is_as_it_is_written(write):
    import ast

    (node,) = ast.parse("def f(self, a: int, /, b=2, *rest: str, c: 'Codes', d: float = 0.5, **more) -> 'X': ...").body
    assert write.signature(node) == "def f(a: int, /, b=2, *rest: str, c: Codes, d: float = 0.5, **more) -> X"


def test_a_long_signature_has_a_line_an_argument(write):
    import ast

    (node,) = ast.parse(f"def f({'a' * 60}: int, *, {'b' * 60}: int): ...").body
    assert write.signature(node) == f"def f(\n    {'a' * 60}: int,\n    *,\n    {'b' * 60}: int,\n)"


def test_sessions_and_formulas_of_a_docstring_are_code(write):
    text = "Gives two.\n\n    x = 1 + 1\n\n>>> 1 + 1\n2"
    assert list(write.in_markdown(text)) == ["Gives two.", "```\nx = 1 + 1\n```", "```pycon\n>>> 1 + 1\n2\n```"]
