"""INRIA Web Queries: what a search engine answered to 353 queries, with the words around each picture.

Krapac et al., "Improving web image search results using query-relative classifiers", CVPR 2010. Read
from the official files, in the root or in `webqueries/`: `labels.txt`, `queries_en_trans.txt`,
`queries_fr_orig.txt`, `images/query_<q>_document_<d>_imagethumb.jpg` and
`metadata/query_<q>_document_<d>_textmeta.xml`. An item's one label is the query that found it.

The paper keeps the 100 queries with most items. Its 25,015 pairs are only reached when pictures that
do not show what was asked for are kept too; `relevance="relevant"` leaves those out, for clean labels.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from deepbinaries.datasets.base import PictureFile, Record, Records, Skips
from deepbinaries.datasets.official import (
    PICTURES,
    Publication,
    choice,
    most_frequent,
    names_in,
    read_item,
    read_text,
    records,
    whole_number,
)
from deepbinaries.datasets.tagged_text import text_between
from deepbinaries.errors import UsageError, unknown_name
from deepbinaries.language import collapse
from deepbinaries.progress import track

WEB_QUERIES = Publication('the "Web Queries" dataset', "lear.inrialpes.fr/~krapac/webqueries/webqueries.html")
ARCHIVE = "the archive"  # its page gives it no name
TEXT_FIELDS = ("alt", "ptitle", "before", "after")
WORD = re.compile(r"\w+")


@dataclass(frozen=True, order=True)
class Document:
    """One picture that the search engine gave for a query."""

    query: int
    number: int
    relevant: bool  # shows what was asked for, as judged by hand

    @property
    def image(self) -> str:
        return f"query_{self.query}_document_{self.number}_imagethumb.jpg"

    @property
    def metadata(self) -> str:
        return f"query_{self.query}_document_{self.number}_textmeta.xml"


def load(
    root: str | Path | None,
    *,
    relevance: str = "all",  # "relevant": only pictures that show what was asked for
    top_concepts: int = 100,  # the queries with most items; 0 keeps all
    require_text: bool = True,
    text_fields: str = "alt, ptitle, before+after",  # the first that is not empty; + joins two
    drop_query_words: bool = False,  # takes the query's own words, which give the label away, out of the text
    pictures: str = "required",  # "optional" also keeps items whose picture is not on this disk
    strict: bool = False,
) -> Records:
    """The pictures of the web queries, ordered by query and document; document 0 of query 150 has the id `150-0`."""
    choice("relevance", relevance, ("all", "relevant"))
    choice("pictures", pictures, PICTURES)
    fields = parse_fields(text_fields)
    home = WEB_QUERIES.home(root)
    home = home if (home / "labels.txt").exists() else WEB_QUERIES.home(home, "webqueries")
    wanted = ["labels.txt", "queries_en_trans.txt", "queries_fr_orig.txt", "metadata", "images"]
    WEB_QUERIES.need(home, dict.fromkeys(wanted if pictures == "required" else wanted[:-1], ARCHIVE))

    skips = Skips(strict=strict)
    english, french = (_queries(home / f"queries_{name}.txt", skips) for name in ("en_trans", "fr_orig"))
    label_of = _label_names(english)
    has_picture = set(names_in(home / "images")) if (home / "images").is_dir() else set[str]()
    has_text = set(names_in(home / "metadata"))
    items = []
    for document in track(_documents(home / "labels.txt", english, skips), "reading metadata"):
        where = f"document {document.number} of query {document.query}"
        if relevance == "relevant" and not document.relevant:
            skips.add("picture that does not show what was asked for", where, expected=True)
            continue
        if pictures == "required" and document.image not in has_picture:
            skips.add("no picture file", where, expected=True)  # some are absent from the archive itself
            continue
        dropped = f"{english[document.query]} {french.get(document.query, '')}" if drop_query_words else ""
        metadata = home / "metadata" / document.metadata
        text = _text(metadata, fields, dropped, skips) if document.metadata in has_text else ""
        if require_text and not text:
            skips.add("no text", where, expected=True)
            continue
        picture = PictureFile(home / "images" / document.image) if document.image in has_picture else None
        items.append(_record(document, picture, text, label_of[document.query]))
    return _with_top_concepts(items, list(label_of.values()), top_concepts, skips)


def parse_fields(text_fields: str) -> list[list[str]]:
    """The fields to try, one after the other, each a list of those to join.

    >>> parse_fields("alt, before+after")
    [['alt'], ['before', 'after']]
    """
    fields = [[name.strip() for name in group.split("+")] for group in text_fields.split(",") if group.strip()]
    for name in (name for group in fields for name in group):
        if name not in TEXT_FIELDS:
            raise unknown_name("text field", name, TEXT_FIELDS)
    if not fields:
        raise UsageError("text_fields is empty", next_step=f"name some of {', '.join(TEXT_FIELDS)}")
    return fields


def _queries(path: Path, skips: Skips) -> dict[int, str]:
    """The words of each query, by its id."""
    queries: dict[int, str] = {}
    for place, line in enumerate(read_text(path, "utf-8").splitlines(), start=1):
        number, _, words = collapse(line).partition(" ")
        id_ = whole_number(number)
        if id_ is not None and words:
            queries[id_] = words
        elif line.strip():
            skips.add("query without id or words", f"{path}, line {place}")
    return queries


def _label_names(queries: dict[int, str]) -> dict[int, str]:
    """One name a query, by ascending id; queries that were translated alike are told apart by their ids."""
    count = Counter(queries.values())
    return {id_: f"{name} ({id_})" if count[name] > 1 else name for id_, name in sorted(queries.items())}


def _documents(path: Path, queries: dict[int, str], skips: Skips) -> list[Document]:
    found: dict[tuple[int, int], Document] = {}
    for place, line in enumerate(read_text(path, "utf-8").splitlines(), start=1):
        numbers, where = [whole_number(field) for field in line.split()], f"{path}, line {place}"
        if not numbers:
            continue
        if len(numbers) != 3 or numbers[0] is None or numbers[1] is None or numbers[2] not in (0, 1):
            skips.add("line that is not query, document and 0 or 1", where)
        elif numbers[0] not in queries:
            skips.add("document of a query that is not listed", where)
        elif (numbers[0], numbers[1]) in found:
            skips.add("document listed twice", where)
        else:
            found[numbers[0], numbers[1]] = Document(numbers[0], numbers[1], numbers[2] == 1)
    return sorted(found.values())


def _text(path: Path, fields: list[list[str]], dropped: str, skips: Skips) -> str:
    """The first field that is not empty, without the words of `dropped`."""
    content = read_item(path, "utf-8", skips=skips)
    unwanted = {word.casefold() for word in WORD.findall(dropped)}
    for group in fields:
        text = " ".join(text_between(content, name) or "" for name in group)
        text = collapse(WORD.sub(lambda word: "" if word[0].casefold() in unwanted else word[0], text))
        if WORD.search(text):
            return text
    return ""


def _record(document: Document, picture: PictureFile | None, text: str, label: str) -> Record:
    return Record(
        id=f"{document.query}-{document.number}",
        picture=picture,
        sentences=(text,) if text else (),
        labels=(label,),
        source=str(document.query),
        extra={"relevant": document.relevant},
    )


def _with_top_concepts(items: list[Record], names: list[str], n: int, skips: Skips) -> Records:
    kept = most_frequent((item.labels for item in items), names, n)
    left = []
    for item in items:
        if item.labels[0] in kept:
            left.append(item)
        else:
            skips.add(f"none of the {len(kept)} most frequent concepts", f"item {item.id}", expected=True)
    return records("inria-web-queries", left, label_names=kept, skips=skips)
