"""Draws the paper's figures 1 and 2 from our code, and writes the tables of layers of docs/system.md.

    python docs/pictures/system.py

Sizes are read off the networks (layers.py); regions, words and picture of figure 1 are what the package makes of a
generated scene.
"""

import base64
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from layers import BITS, REGIONS, TOKENS, Layer, System, shape, system

from deepbinaries import datasets
from deepbinaries.features.inputs import POSITION
from deepbinaries.language import words
from deepbinaries.vision import read_picture
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings
from deepbinaries.vision.regions import Regions

HERE = Path(__file__).parent
PAGE = HERE.parent / "system.md"
PRESETS = ("tvdb-paper", "tvdb")
START, END = "<!-- layers of {}: start -->", "<!-- layers of {}: end -->"
SCENE = 40  # it shows four things
DRAWN = 5  # regions that are drawn; more would hide the picture
COLOURS = ("#c2410c", "#1d4ed8", "#15803d", "#a21caf", "#0e7490")

STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #1f2933; }
.strong { font-weight: 600; }
.quiet { fill: #52606d; font-size: 12px; }
.box { fill: #f4f6f8; stroke: #9aa5b1; }
.picture { fill: #e8f1fb; stroke: #5b8fc7; }
.sentence { fill: #fdf0e3; stroke: #cf8a4a; }
.codes { fill: #eaf5ec; stroke: #5a9e6f; }
.arrow { stroke: #52606d; stroke-width: 1.5; fill: none; marker-end: url(#tip); }
.tip { fill: #52606d; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb; } .quiet { fill: #a9b4c0; } .box { fill: #252b31; } .picture { fill: #1b2a3a; }
  .sentence { fill: #35271a; } .codes { fill: #1c3023; } .arrow { stroke: #a9b4c0; } .tip { fill: #a9b4c0; }
}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>"""

WIDTH, BOX, HIGH, GAP = 1126, 116, 76, 28  # of the networks' drawing: boxes in two rows
F_ROW, G_ROW = 4, 294


def networks(of: System) -> str:
    """Figure 2: the networks of the paper with the size of every layer, and the code learning between them."""
    lstm, *f = of.image
    embedding, *rest = of.text
    convolutions = [layer for layer in rest if layer.kind.startswith("convolution")]
    g = [layer for layer in rest if layer not in convolutions]
    f_full, g_full = ([layer for layer in tower if layer.kind == "fully connected"] for tower in (f, g))
    upper = [
        ("a picture", ["any size"]),
        ("regions", [f"{REGIONS - 1} proposals", "and the whole"]),
        ("CNN and Pos", [of.backbone, f"{of.width} + {POSITION}"]),
        *[(f"LSTM, {lstm.kind.split()[2]} levels", [shape(lstm.takes), f"→ {shape(lstm.gives)}"])],
        ("mean, ReLU", [f"over {lstm.gives[0]}", f"→ {shape(f_full[0].takes)}"]),
        *((layer.name.replace("head.", "fc, "), [f"{shape(layer.takes)} → {shape(layer.gives)}"]) for layer in f_full),
        ("f: sign", [f"{BITS} bits"]),
    ]
    lower = [
        ("a sentence", ["any length"]),
        ("words", [f"{TOKENS} tokens", "eos and padding"]),
        ("Word_Emb", [shape(embedding.takes), f"→ {shape(embedding.gives)}"]),
        ("", []),
        ("max, ReLU", ["over time, joined", f"→ {shape(g_full[0].takes)}"]),
        *((layer.name.replace("head.", "fc, "), [f"{shape(layer.takes)} → {shape(layer.gives)}"]) for layer in g_full),
        ("g: sign", [f"{BITS} bits"]),
    ]
    parts = [*row(upper, F_ROW, "picture"), *row(lower, G_ROW, "sentence")]
    step = (HIGH + 56) / len(convolutions)
    for place, layer in enumerate(convolutions):
        y = G_ROW - 26 + place * step
        parts += box(column(3), y, [layer.kind.replace("convolution over", "conv,"), f"→ {shape(layer.gives[::-1])}"],
                     "sentence", high=step - 5)  # fmt: skip
    parts += code_learning()
    title = f"The networks of {of.preset} with the size of every layer"
    return drawing(WIDTH, G_ROW + HIGH + 30, title, parts)


def code_learning() -> Iterator[str]:
    """The third part of the figure: target codes of a batch, found from shared labels and from both networks."""
    left, top, wide = column(4), F_ROW + HIGH + 46, column(7) + BOX - column(4)
    said = [
        "code learning, in every batch",
        "S: who shares a label with whom; B, H: targets of ±1, found in closed form",
        "from S and from f, g; both networks learn to meet them",
    ]
    yield from box(left, top, said, "codes", wide=wide, high=HIGH)
    for end in (F_ROW + HIGH, G_ROW):
        x = column(6) + BOX / 2
        yield f'<path class="arrow" d="M{x} {end}V{top if end < top else top + HIGH}"/>'
    yield f'<text class="quiet" x="{column(6) + BOX / 2 + 8}" y="{F_ROW + HIGH + 28}">F: {BITS} real values</text>'
    yield f'<text class="quiet" x="{column(6) + BOX / 2 + 8}" y="{G_ROW - 18}">G: {BITS} real values</text>'


def column(place: int) -> float:
    return 1 + place * (BOX + GAP)


def row(boxes: Sequence[tuple[str, Sequence[str]]], y: float, kind: str) -> Iterator[str]:
    """Boxes side by side with arrows between them; one without a title is left to the caller."""
    for place, (title, lines) in enumerate(boxes):
        if title:
            last = place == len(boxes) - 1
            yield from box(column(place), y, [title, *lines], "codes" if last else kind, high=HIGH)
        if place:
            yield f'<path class="arrow" d="M{column(place) - GAP + 2} {y + HIGH / 2}h{GAP - 4}"/>'


def box(x: float, y: float, lines: Sequence[str], kind: str, *, wide: float = BOX, high: float = HIGH) -> Iterator[str]:
    yield f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="5"/>'
    start = y + high / 2 + 4.5 - 8.5 * (len(lines) - 1)
    for place, line in enumerate(lines):
        style = "quiet" if place else "strong"
        at = f'x="{x + wide / 2:g}" y="{start + 17 * place:g}"'
        yield f'<text class="{style}" {at} text-anchor="middle">{escape(line)}</text>'


def encoded() -> str:
    """Figure 1: what is encoded of a picture and a sentence, and what of them conventional methods are given."""
    scenes = datasets.load("scenes", items=SCENE + 1)
    picture = read_picture(scenes.picture(SCENE))
    regions = RegionEncoder(VisionSettings(proposer="auto")).regions(picture)
    sentence = max(scenes.sentences(SCENE), key=len)
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=80)
    link = "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode("ascii")
    width = system(PRESETS[0]).width
    said = words(sentence)
    parts = [
        f'<image id="scene" href="{link}" y="30" width="224" height="224"/>',
        *panel(0, "(a) TVDB"),
        *boxes_of(regions, 224),
        *told(244, 44, [f"{REGIONS - 1} regions, from dominant to minor,", "and the whole picture:",
                        f"{REGIONS} × {width + POSITION} numbers.", "", f"The first {DRAWN} are drawn."]),
        *chips([*said, "eos", *["pad"] * (TOKENS - len(said) - 1)][:TOKENS], 0, 292),
        *told(0, 372, [f"{TOKENS} tokens in their order"]),
        '<use href="#scene" x="500"/>',
        *panel(500, "(b) conventional methods"),
        *told(744, 44, ["the whole picture alone:", f"{width} numbers."]),
        *chips([f"{n} × {word}" for word, n in sorted(Counter(said).items())], 500, 292),
        *told(500, 372, ["how often each word occurs; their order is lost"]),
    ]  # fmt: skip
    return drawing(980, 384, f"What is encoded of a picture and of “{sentence}”", parts)


def panel(x: float, title: str) -> Iterator[str]:
    yield f'<text class="strong" x="{x}" y="16">{escape(title)}</text>'
    yield f'<text class="quiet" x="{x}" y="280">the sentence</text>'


def boxes_of(regions: Regions, side: float) -> Iterator[str]:
    """The most attractive regions as numbered boxes."""
    for place, (x0, y0, x1, y1) in reversed([*enumerate(regions.boxes[:DRAWN].tolist())]):
        colour, inset = COLOURS[place], 1 + place
        x, y, wide, high = x0 * side + inset, 30 + y0 * side + inset, (x1 - x0) * side, (y1 - y0) * side
        size = f'width="{wide - 2 * inset:.1f}" height="{high - 2 * inset:.1f}"'
        yield f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="none" stroke="{colour}" stroke-width="1.5"/>'
        yield f'<rect x="{x:.1f}" y="{y:.1f}" width="15" height="15" fill="{colour}"/>'
        number = f'<text x="{x + 7.5:.1f}" y="{y + 11.5:.1f}" text-anchor="middle"'
        yield f'{number} style="fill:#fff;font-size:11px;font-weight:600">{place + 1}</text>'


def told(x: float, y: float, lines: Sequence[str]) -> Iterator[str]:
    for place, line in enumerate(lines):
        yield f'<text x="{x}" y="{y + 19 * place}">{escape(line)}</text>'


def chips(texts: Sequence[str], x: float, y: float) -> Iterator[str]:
    """Short texts in boxes, in two rows."""
    left, top = x, y
    for place, text in enumerate(texts):
        wide = 14 + 7.4 * len(text)
        if place == (len(texts) + 1) // 2:
            left, top = x, y + 32
        yield f'<rect class="sentence" x="{left:g}" y="{top:g}" width="{wide:g}" height="25" rx="4"/>'
        yield f'<text x="{left + wide / 2:g}" y="{top + 17:g}" text-anchor="middle">{escape(text)}</text>'
        left += wide + 6


def drawing(wide: float, high: float, title: str, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 -4 {wide + 8:g} {high + 8:g}" role="img"'
    return "\n".join([f'{head} aria-label="{escape(title)}">', STYLE, *parts, "</svg>\n"])


def table(of: System) -> Iterator[str]:
    """The layers of a preset, in Markdown."""
    yield "| layer | what it is | takes | gives | weights |"
    yield "| --- | --- | --- | --- | --- |"
    for side, layers in ((of.backbone, of.cnn), ("f", of.image), ("g", of.text)):
        for layer in layers:
            sizes = f"{shape(layer.takes)} | {shape(layer.gives)} | {weights(layer)}"
            yield f"| `{side}: {layer.name}` | {layer.kind} | {sizes} |"


def weights(layer: Layer) -> str:
    """How many weights a layer has; a word embedding, how many for each word."""
    if layer.kind == "word embedding":
        return f"{layer.gives[-1]} a word"
    return f"{layer.weights:,}" if layer.weights else ""


def page() -> str:
    """docs/system.md with the tables of the networks as they are now."""
    text = PAGE.read_text(encoding="utf-8")
    for preset in PRESETS:
        start, end = START.format(preset), END.format(preset)
        before, rest = text.split(start)
        _, after = rest.split(end)
        lines = "\n".join(table(system(preset)))
        text = f"{before}{start}\n\n{lines}\n\n{end}{after}"
    return text


if __name__ == "__main__":
    (HERE / "networks.svg").write_text(networks(system(PRESETS[0])), encoding="utf-8")
    (HERE / "encoded.svg").write_text(encoded(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
