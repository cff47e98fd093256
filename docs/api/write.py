"""Writes the pages of this folder: what each room of the package offers, in the words of its docstrings.

python docs/api/write.py
"""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
PACKAGE = "deepbinaries"
ROOMS = (
    *("codes", "codes.multi_index", "codes.multi_index_files", "datasets", "datasets.protocols", "vision", "language"),
    *("features", "evaluation", "hashers", "model", "exporting", "adopting", "index", "search"),
    *("experiments.scores", "experiments.cells", "registry", "errors"),
)
WIDE = 100  # characters of a signature on one line


def pages() -> dict[str, str]:
    """The pages by file name."""
    modules = [importlib.import_module(f"{PACKAGE}.{room}") for room in ROOMS]
    home: dict[Any, str] = {}  # of what several rooms offer: the first one that does
    for module in modules:
        for name in offered(module):
            home.setdefault((name, id(getattr(module, name))), module.__name__)
    found = {file_of(module.__name__): page(module, home) for module in modules}
    rows = [f"| [`{m.__name__}`]({file_of(m.__name__)}) | {first_sentence(m)} |" for m in modules]
    about = (
        "What can be imported, in the words of the docstrings; written by `python docs/api/write.py`. Names that are "
        "not here\nmay change without notice."
    )
    index = ["# API reference", about, "\n".join(["| module | what it is for |", "| --- | --- |", *rows])]
    return found | {"README.md": "\n\n".join(index) + "\n"}


def page(module: ModuleType, home: dict[Any, str]) -> str:
    """The page of one module."""
    parts = [f"# `{module.__name__}`", *described(module)]
    for name in offered(module):
        thing = getattr(module, name)
        own = home[name, id(thing)]
        if own != module.__name__:
            parts += [f"## `{name}`", f"The same as in [`{own}`]({file_of(own)})."]
        else:
            parts += of_thing(name, thing)
    return "\n\n".join(parts) + "\n"


def offered(module: ModuleType) -> list[str]:
    """The public names of a module: those that it lists, or else those of its own functions and classes."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__, key=str.lower)
    own = [name for name, thing in vars(module).items() if documented(thing) and thing.__module__ == module.__name__]
    return sorted((name for name in own if not name.startswith("_")), key=str.lower)


def documented(thing: Any) -> bool:
    return inspect.isclass(thing) or inspect.isfunction(thing)


def of_thing(name: str, thing: Any) -> Iterator[str]:
    """The paragraphs about a function, a class or a value."""
    yield f"## `{name}`"
    if not documented(thing):
        yield of_value(thing)
        return
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    if isinstance(node, ast.FunctionDef):
        yield code(signature(node))
        yield from described(thing)
    elif isinstance(node, ast.ClassDef):
        yield from of_class(name, thing, node)


def of_class(name: str, thing: type, node: ast.ClassDef) -> Iterator[str]:
    """The fields of a class with their comments, or what makes one, and its public methods."""
    lines = textwrap.dedent(inspect.getsource(thing)).splitlines()
    fields = [lines[part.lineno - 1].strip() for part in node.body if isinstance(part, ast.AnnAssign)]
    public = [field for field in fields if not field.startswith("_")]
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    bases = ", ".join(map(ast.unparse, node.bases))
    head = f"class {name}({bases})" if bases else f"class {name}"
    made = [signature(method, name).removesuffix(" -> None") for method in methods if method.name == "__init__"]
    yield code("\n".join([head, *(f"    {field}" for field in public), *made]))
    yield from described(thing)
    for method in methods:
        decorators = {ast.unparse(decorator) for decorator in method.decorator_list}
        if not method.name.startswith("_") and "overload" not in decorators:
            yield f"### `{name}.{method.name}`"
            yield code(in_class(method, decorators))
            yield from in_markdown(ast.get_docstring(method) or "")


def in_class(method: ast.FunctionDef, decorators: set[str]) -> str:
    """How a method is called; a property is read."""
    if decorators & {"property", "cached_property"}:
        return f"{method.name}: {kind(method.returns)}" if method.returns else method.name
    told = [f"@{name}" for name in ("classmethod", "staticmethod") if name in decorators]
    return "\n".join([*told, signature(method)])


def of_value(value: Any) -> str:
    shown = repr(value) if isinstance(value, int | str) else f"{type(value).__name__} of {len(value):,}"
    return code(shown)


def signature(node: ast.FunctionDef, name: str = "") -> str:
    """The first line of a function as it is written, on several lines where it is long.

    Types are as in the source: what `inspect` makes of an alias is far from what its author wrote.
    """
    given = list(arguments(node.args))
    returns = f" -> {kind(node.returns)}" if node.returns else ""
    start = name or f"def {node.name}"
    line = f"{start}({', '.join(given)}){returns}"
    below = "".join(f"    {argument},\n" for argument in given)
    return line if len(line) <= WIDE else f"{start}(\n{below}){returns}"


def arguments(given: ast.arguments) -> Iterator[str]:
    """The arguments of a function one by one, the object itself left out."""
    plain = [*given.posonlyargs, *given.args]
    defaults = [*[None] * (len(plain) - len(given.defaults)), *given.defaults]
    for place, (argument, default) in enumerate(zip(plain, defaults, strict=True)):
        if place or argument.arg not in ("self", "cls"):
            yield written(argument, default)
        if place == len(given.posonlyargs) - 1:
            yield "/"
    if given.vararg:
        yield f"*{written(given.vararg, None)}"
    elif given.kwonlyargs:
        yield "*"
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield written(argument, default)
    if given.kwarg:
        yield f"**{written(given.kwarg, None)}"


def written(argument: ast.arg, default: ast.expr | None) -> str:
    typed = argument.arg + (f": {kind(argument.annotation)}" if argument.annotation else "")
    return typed if default is None else f"{typed}{' = ' if argument.annotation else '='}{ast.unparse(default)}"


def kind(annotation: ast.expr) -> str:
    """A type as it is written, without the quotes of a name that comes later."""
    later = isinstance(annotation, ast.Constant) and isinstance(annotation.value, str)
    return ast.unparse(annotation).strip("'") if later else ast.unparse(annotation)


def described(thing: Any) -> Iterator[str]:
    """The paragraphs of a docstring; what a dataclass makes up for a class without one is none."""
    text = inspect.cleandoc(thing.__doc__ or "")
    made_up = inspect.isclass(thing) and text.startswith(f"{thing.__name__}(")
    return in_markdown("" if made_up else text)


def in_markdown(text: str) -> Iterator[str]:
    """A docstring as Markdown: sessions of Python and indented formulas are code."""
    for block in filter(None, re.split(r"\n\s*\n", text)):
        if block.startswith(">>>"):
            yield code(block, "pycon")
        elif block.startswith("    "):
            yield code(textwrap.dedent(block))
        else:
            yield block


def code(text: str, language: str = "") -> str:
    return f"```{language}\n{text}\n```"


def first_sentence(module: ModuleType) -> str:
    return " ".join(inspect.cleandoc(module.__doc__ or "").split("\n\n")[0].split())


def file_of(module: str) -> str:
    """The page of a module.

    >>> file_of("deepbinaries.codes.multi_index")
    'codes.multi_index.md'
    """
    return f"{module.removeprefix(f'{PACKAGE}.')}.md"


if __name__ == "__main__":
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
