"""How the numbers of a table or figure were made, as the end of its page."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

Training = Mapping[str, Any]  # the facts of one, as the JSON of a table has them
TITLE = {"method": "{}", "bits": "{} bits", "seed": "seed {}", "seconds": "{} s"}  # as far as a training has them


def anchor_of(training: Training) -> str:
    """Where a page tells of a training; the same for the same facts.

    >>> anchor_of({"seed": 0, "bits": 64}) == anchor_of({"bits": 64, "seed": 0})
    True
    """
    return "t" + hashlib.sha256(json.dumps(training, sort_keys=True, default=list).encode()).hexdigest()[:10]


def told(trainings: Sequence[Training], file: str) -> str:
    """The section of a page: what all trainings share, then each with what is its own; `file` has the same as JSON."""
    link = f'<a href="{escape(file)}">{escape(file)}</a>'
    if not trainings:
        return f"<p>How each number was made stands in {link}.</p>"
    return "\n".join(["<h2>How each number was made</h2>", f"<p>The same stands in {link}.</p>", *_told(trainings)])


def _told(trainings: Sequence[Training]) -> Iterator[str]:
    shared = {
        name: fact for name, fact in trainings[0].items() if all(other.get(name) == fact for other in trainings[1:])
    }
    shared = {name: fact for name, fact in shared.items() if name not in TITLE}
    yield f"<p>All: {_facts(shared)}</p>"
    yield "<dl>"
    for training in trainings:
        title = ", ".join(words.format(training[name]) for name, words in TITLE.items() if name in training)
        own = {name: fact for name, fact in training.items() if name not in (*TITLE, *shared)}
        yield f'<dt id="{anchor_of(training)}">{escape(title)}</dt>'
        yield f"<dd>{_facts(own)}</dd>"
    yield "</dl>"


def _facts(facts: Mapping[str, Any]) -> str:
    """Facts in a line, nested ones as JSON.

    >>> _facts({"rule": "all", "versions": {"numpy": "2"}})
    'rule: all; versions: {&quot;numpy&quot;: &quot;2&quot;}'
    """
    shown = {name: fact if isinstance(fact, str) else json.dumps(fact, default=list) for name, fact in facts.items()}
    return escape("; ".join(f"{name}: {text}" for name, text in shown.items()))
