"""The pages keep up with the code: what they show runs, and every command is on one of them."""

import re
from pathlib import Path

import pytest
import typer

from deepbinaries.cli.main import app
from deepbinaries.registry import DATASETS

REPOSITORY = Path(__file__).parents[1]
PAGES = {
    page.relative_to(REPOSITORY).as_posix(): page.read_text()
    for page in (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("**/*.md")))
}
SNIPPETS = [
    pytest.param(code, id=f"{name}-{place}")
    for name, text in PAGES.items()
    for place, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    if "Protocol" not in code  # the sketch of a contract
]


def commands(group, path=("deepbinaries",)):
    for name, command in group.commands.items():
        here = (*path, name)
        yield from commands(command, here) if hasattr(command, "commands") else [" ".join(here)]


@pytest.mark.parametrize("code", SNIPPETS)
def test_every_python_snippet_runs(code):
    exec(compile(code, "snippet", "exec"), {})  # noqa: S102 - our own pages


@pytest.mark.parametrize("command", list(commands(typer.main.get_command(app))))
def test_every_command_is_on_a_page(command):
    assert any(command in text for text in PAGES.values())


@pytest.mark.parametrize("name", DATASETS.entries)
def test_every_dataset_is_on_the_page_of_datasets(name):
    assert f"`{name}`" in PAGES["docs/datasets.md"]


@pytest.mark.parametrize(("page", "text"), PAGES.items(), ids=PAGES)
def test_every_link_to_a_file_leads_somewhere(page, text):
    folder = (REPOSITORY / page).parent
    links = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (folder / link).exists()] == []


@pytest.mark.parametrize(("page", "text"), PAGES.items(), ids=PAGES)
def test_every_link_to_a_section_leads_to_one(page, text):
    for link, section in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", text):
        there = (REPOSITORY / page).parent / link if link else REPOSITORY / page
        assert section in sections(there.read_text()), f"{link}#{section}"


def sections(text):
    """The anchors of a page's headings, as they are made of them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_page_of_pages_leads_to_all_of_them():
    led_to = set(re.findall(r"\]\(([^)]+)\)", PAGES["docs/README.md"]))
    pages = {page.name for page in (REPOSITORY / "docs").glob("*.md")} - {"README.md"}
    assert pages - led_to == set()
