"""Small pictures in a terminal: each character cell is a half block, which shows two pixels in two colours."""

import io
from collections.abc import Sequence

from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

WIDE, HIGH = 20, 6  # cells that a picture takes at most
MANY_COLOURS = ("truecolor", "256", "windows")


def can_show_pictures(console: Console) -> bool:
    """Whether pictures can be shown: on a terminal with colours, and none where NO_COLOR is set."""
    return console.is_terminal and not console.no_color and console.color_system in MANY_COLOURS


def write_with_previews(console: Console, head: Sequence[str], rows: Sequence[tuple[bytes, Sequence[str]]]) -> None:
    """Print a table with a picture, the bytes of a file, at the beginning of each row."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 1, 0))
    table.add_column("", no_wrap=True, width=WIDE)
    for name in head:
        table.add_column(name, overflow="fold")
    for picture, cells in rows:
        table.add_row(preview(picture), *map(Text, cells))
    console.print(table)


def preview(file: bytes) -> Text:
    """A picture as lines of half blocks.

    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (40, 20), "red").save(file, "PNG")
    >>> [len(line) for line in preview(file.getvalue()).split()]
    [20, 20, 20, 20, 20]
    """
    from PIL import Image

    with Image.open(io.BytesIO(file)) as opened:
        picture = opened.convert("RGB")
    picture.thumbnail((WIDE, 2 * HIGH))
    lines = []
    for row in range(max(1, picture.height // 2)):
        line = Text()
        for x in range(picture.width):
            above, below = (_colour(picture.getpixel((x, min(y, picture.height - 1)))) for y in (2 * row, 2 * row + 1))
            line.append("▀", Style(color=above, bgcolor=below))
        lines.append(line)
    return Text("\n").join(lines)


def _colour(pixel: object) -> Color:
    red, green, blue = pixel if isinstance(pixel, tuple) else (0, 0, 0)
    return Color.from_rgb(red, green, blue)
