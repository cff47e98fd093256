"""A contact sheet: the hits of an answer on one HTML page that needs no network, no script and no other file.

Names and captions come from files and are escaped: a page must not do what a caption says.
"""

import base64
from html import escape
from pathlib import Path

from deepbinaries.search.answers import Answer, Hit
from deepbinaries.search.collection import Collection
from deepbinaries.search.skipped import shown

STYLE = Path(__file__).with_name("sheet.css")


def contact_sheet(collection: Collection, query: str, answer: Answer) -> str:
    """The page, a whole HTML document. Pictures lead to their files."""
    hits = answer.hits or answer.nearest
    found = f"{len(answer.hits):,} of {answer.searched:,}" if answer.hits else "Nothing here matches; the nearest are"
    notes = "".join(f"<p class='note'>{escape(str(note))}</p>" for note in (*answer.unknown, *answer.notes))
    figures = "\n".join(_figure(collection, hit) for hit in hits)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{escape(query)}</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<h1>{escape(query)}</h1>
<p class="note">{found}</p>
{notes}
<main>
{figures}
</main>
</body>
</html>
"""


def _figure(collection: Collection, hit: Hit) -> str:
    path = shown(hit.paths[0])
    words = hit.sentence or (hit.captions[0] if hit.captions else "")
    about = [
        f"{hit.distance} bit{'s' * (hit.distance != 1)} away, {hit.strength}",
        f"{hit.date[:10]} by its {hit.date_from}",
    ]
    if hit.alike:
        about.append(f"and {len(hit.alike)} alike")
    address = (collection.photographs / hit.paths[0]).absolute().as_uri()
    caption = f"<span>{escape(words)}</span>" if words else ""
    return f"""<figure class="{hit.strength}">
<a href="{escape(address)}">{_image(collection, hit, words or path)}</a>
<figcaption>{caption}<b>{escape(path)}</b><small>{escape("; ".join(about))}</small></figcaption>
</figure>"""


def _image(collection: Collection, hit: Hit, words: str) -> str:
    small = base64.b64encode(collection.thumbnail(hit.picture)).decode("ascii")
    size = f'width="{hit.width}" height="{hit.height}"'
    return f'<img alt="{escape(words)}" {size} src="data:image/webp;base64,{small}">'
