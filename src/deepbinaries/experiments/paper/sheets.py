"""Small tables of text, as Markdown, LaTeX and HTML."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

# Each sign alone: what stands for one holds others.
IN_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "±": r"$\pm$",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}  # fmt: skip

# In points, at \scriptsize: the mean sign of our tables, what is between two columns, and a page's text in two columns.
SIGN, BETWEEN, TEXT_WIDTH = 3.6, 6, 497

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }}
.scroll {{ overflow-x: auto; }}
figure {{ margin: 1rem 0 2rem; }}
figcaption {{ font-weight: 600; padding: .4rem 0; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .2rem .6rem; text-align: right; vertical-align: baseline; white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; white-space: normal; min-width: 9rem; }}
thead th {{ border-bottom: 1px solid; vertical-align: bottom; white-space: normal; }}
td small {{ display: block; }}
td a {{ color: inherit; text-decoration: none; }}
td a:hover, td a:focus {{ text-decoration: underline; }}
dt {{ margin-top: .6rem; }}
dt:target, dt:target + dd {{ background: #8883; }}
p, dd {{ overflow-wrap: anywhere; }}
img {{ max-width: 100%; }}
</style>
</head>
<body>
<h1>{title}</h1>
{content}
</body>
</html>
"""


class Cell(NamedTuple):
    """A text of a table."""

    text: str
    strong: bool = False
    note: str = ""  # shown by a page when pointed at
    link: str = ""  # where a page tells more
    more: str = ""  # smaller and below the text in a page, behind it elsewhere

    @property
    def line(self) -> str:
        """All of it in one line.

        >>> Cell(".5", more="[.4, .6]").line
        '.5 [.4, .6]'
        """
        return f"{self.text} {self.more}".rstrip()


@dataclass(frozen=True)
class Sheet:
    """A table with its caption; the first column names the rows."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    @property
    def is_wide(self) -> bool:
        """Whether it is wider than a page's text, by the longest text of each column.

        >>> Sheet("", ["a" * 136], []).is_wide, Sheet("", ["a" * 137], []).is_wide, Sheet("", ["a"] * 60, []).is_wide
        (False, True, True)
        """
        columns = zip(self.head, *([cell.line for cell in row] for row in self.rows), strict=True)
        longest = [max(map(len, texts)) for texts in columns]
        return SIGN * sum(longest) + BETWEEN * len(longest) > TEXT_WIDTH

    def to_markdown(self) -> str:
        lines = [[*map(_in_a_row, self.head)], ["---"] * len(self.head)]
        for row in self.rows:
            texts = ((_in_a_row(cell.line), cell.strong) for cell in row)
            lines.append([f"**{text}**" if strong else text for text, strong in texts])
        shown = [f"| {' | '.join(line)} |" for line in lines]
        return "\n".join([self.caption, "", *shown])

    def to_latex(self) -> str:
        body = [self.head, *([rf"\textbf{{{in_latex(c.line)}}}" if c.strong else in_latex(c.line) for c in row]
                             for row in self.rows)]  # fmt: skip
        lines = [" & ".join(map(in_latex, body[0])), *(" & ".join(row) for row in body[1:])]
        made_to_fit = r"\resizebox{\textwidth}{!}{%", "}"
        opened, closed = ([line] if self.is_wide else [] for line in made_to_fit)
        return "\n".join(
            [
                r"\begin{table*}",
                r"\scriptsize\setlength{\tabcolsep}{3pt}",
                rf"\caption{{{in_latex(self.caption)}}}",
                *opened,
                rf"\begin{{tabular}}{{l{'r' * (len(self.head) - 1)}}}",
                rf"\hline {lines[0]} \\ \hline",
                *(rf"{line} \\" for line in lines[1:]),
                r"\hline",
                r"\end{tabular}",
                *closed,
                r"\end{table*}",
            ]
        )

    def to_html(self) -> str:
        def shown(cell: Cell) -> str:
            text = f"<strong>{escape(cell.text)}</strong>" if cell.strong else escape(cell.text)
            text = f'<a href="#{escape(cell.link)}">{text}</a>' if cell.link else text
            text += f"<small>{escape(cell.more)}</small>" if cell.more else ""
            return f'<td title="{escape(cell.note)}">{text}</td>' if cell.note else f"<td>{text}</td>"

        head = "".join(f'<th scope="col">{escape(text)}</th>' for text in self.head)
        rows = "\n".join(f"<tr>{''.join(map(shown, row))}</tr>" for row in self.rows)
        # A caption inside the table would be as narrow as the table is.
        return (
            f'<figure>\n<figcaption>{escape(self.caption)}</figcaption>\n<div class="scroll"><table>\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>\n</figure>"
        )


def markdown(title: str, notes: Iterable[str], sheets: Iterable[Sheet], figure: str = "") -> str:
    """A page of sheets; `figure` is the file of a drawing beside it."""
    drawing = [f"![{title}]({figure})"] if figure else []
    return "\n\n".join([f"# {title}", *notes, *drawing, *(sheet.to_markdown() for sheet in sheets)]) + "\n"


def latex(notes: Iterable[str], sheets: Iterable[Sheet]) -> str:
    """The same as environments of LaTeX; notes are comments. A sheet wider than a page is shrunk, by one package."""
    sheets = list(sheets)
    package = [r"Needs \usepackage{graphicx}, for \resizebox."] if any(sheet.is_wide for sheet in sheets) else []
    return "\n\n".join([*(f"% {note}" for note in (*package, *notes)), *(sheet.to_latex() for sheet in sheets)]) + "\n"


def html(title: str, notes: Iterable[str], sheets: Iterable[Sheet], figure: str = "", more: str = "") -> str:
    """The same as a page that needs no network; `more` is HTML that stands behind the sheets."""
    drawing = [f'<p><img src="{escape(figure)}" alt="{escape(title)}"></p>'] if figure else []
    content = [*(f"<p>{escape(note)}</p>" for note in notes), *drawing, *(sheet.to_html() for sheet in sheets), more]
    return PAGE.format(title=escape(title), content="\n".join(content))


def _in_a_row(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def in_latex(text: str) -> str:
    r"""A text with all that LaTeX would take for a command made harmless.

    >>> in_latex("95 % of a_b")
    '95 \\% of a\\_b'
    """
    return "".join(IN_LATEX.get(sign, sign) for sign in text)
