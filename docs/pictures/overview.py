"""Draws overview.png: a sentence and pictures as codes, the nearest codes first.

The codes are signs of a random projection of the labels, which is what an ideal encoder would know;
pictures and sentences are those of `scenes`.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from deepbinaries import Codes, datasets
from deepbinaries.codes import top_k
from deepbinaries.vision import read_picture

BITS, SHOWN = 32, 4
WIDTH, TILE, GAP, CELL = 1180, 224, 24, 14
INK, PAPER, FAINT, MARK = "#1f2933", "#ffffff", "#d5dbe1", "#c2410c"
QUERY = 42

scenes = datasets.load("scenes", items=400)
projection = np.random.default_rng(3).normal(size=(len(scenes.labels.names), BITS))
codes = Codes.from_values((scenes.labels.matrix() - scenes.labels.matrix().mean(axis=0)) @ projection)
found = top_k(codes[QUERY], codes, k=60)
one_of_each_distance = np.unique(found.distances[0], return_index=True)[1][:SHOWN]
found.rows[0][one_of_each_distance[0]] = QUERY  # of those at distance 0, its own picture

sheet = Image.new("RGB", (WIDTH, 470), PAPER)
pen = ImageDraw.Draw(sheet)
large, small = ImageFont.load_default(24), ImageFont.load_default(15)


def draw_code(x: int, y: int, bits: np.ndarray, against: np.ndarray) -> None:
    """One cell a bit, in two rows; cells that differ from the query's are marked."""
    half = len(bits) // 2
    for j, (bit, wanted) in enumerate(zip(bits, against, strict=True)):
        left, top = x + j % half * CELL, y + j // half * CELL
        box = (left, top, left + CELL - 2, top + CELL - 2)
        pen.rectangle(box, fill=(INK if bit else FAINT) if bit == wanted else MARK)


query = codes.to_bits()[QUERY]
sentence = max(scenes.sentences(QUERY), key=len)
pen.text((GAP, 22), f"“{sentence}”", fill=INK, font=large)
draw_code(GAP, 66, query, query)
pen.text(
    (GAP + 16 * CELL + 16, 71), "the sentence in 32 bits; the nearest pictures by differing bits:", fill=INK, font=small
)
for place, index in enumerate(one_of_each_distance):
    x, y = GAP + place * (TILE + 68), 128
    row, distance = found.rows[0][index], found.distances[0][index]
    sheet.paste(read_picture(scenes.picture(row)), (x, y))
    draw_code(x, y + TILE + 12, codes.to_bits()[row], query)
    pen.text((x, y + TILE + 46), f"{distance} bits away", fill=INK, font=small)
    pen.text((x, y + TILE + 68), ", ".join(scenes.labels.of(row)), fill="#52606d", font=small)
few = sheet.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)  # a third of the bytes
few.save(Path(__file__).with_suffix(".png"), optimize=True)
