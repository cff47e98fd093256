"""Sheets: what a text holds never becomes a part of the page."""

from deepbinaries.experiments.paper.sheets import Cell, Sheet, html, latex, markdown

SHEET = Sheet("Caption of 95 %", ["row", "16 bits"], [[Cell("a|b & <i>"), Cell("−.5", strong=True, note='say "hi"')]])


def test_markdown_has_a_row_a_line_and_no_column_too_many():
    lines = SHEET.to_markdown().splitlines()
    assert lines == ["Caption of 95 %", "", "| row | 16 bits |", "| --- | --- |", "| a\\|b & <i> | **−.5** |"]


def test_a_star_is_a_star_in_markdown_too():
    sheet = Sheet("Caption", ["row"], [[Cell(".5* [.4, .6]", strong=True)]])
    assert sheet.to_markdown().splitlines()[-1] == "| **.5\\* [.4, .6]** |"


def test_an_interval_is_below_its_number_in_a_page_and_behind_it_elsewhere():
    sheet = Sheet("Caption", ["row"], [[Cell(".5*", strong=True, link="t1", more="[.4, .6]")]])
    assert '<td><a href="#t1"><strong>.5*</strong></a><small>[.4, .6]</small></td>' in sheet.to_html()
    assert sheet.to_markdown().splitlines()[-1] == r"| **.5\* [.4, .6]** |"
    assert r"\textbf{.5* [.4, .6]} \\" in sheet.to_latex()


def test_a_caption_is_not_as_narrow_as_its_table():
    assert "<figcaption>Caption of 95 %</figcaption>\n<div" in SHEET.to_html()


def test_latex_takes_no_text_for_a_command():
    text = latex(["a note"], [SHEET])
    assert r"\caption{Caption of 95 \%}" in text
    assert r"a|b \& <i> & \textbf{$-$.5} \\" in text
    assert r"\begin{tabular}{lr}" in text


def test_latex_shrinks_a_table_that_is_wider_than_a_page_and_no_other():
    of_four_lengths = Sheet("Wide", ["row"] + ["16 bits", "paper", "ours − paper"] * 4, [[Cell(".5* [.4, .6]")] * 13])
    shrunk, as_it_is = (text.splitlines() for text in (of_four_lengths.to_latex(), SHEET.to_latex()))
    tabular = shrunk.index(r"\begin{tabular}{lrrrrrrrrrrrr}")
    assert shrunk[tabular - 1] == r"\resizebox{\textwidth}{!}{%"
    assert shrunk[-3:] == [r"\end{tabular}", "}", r"\end{table*}"]
    assert not any("resizebox" in line for line in as_it_is)
    page = latex(["a note"], [SHEET, of_four_lengths])
    assert page.startswith("% Needs \\usepackage{graphicx}, for \\resizebox.\n\n% a note\n")
    assert "graphicx" not in latex(["a note"], [SHEET])


def test_html_takes_no_text_for_a_tag():
    text = html("<b>", ["<script>"], [SHEET])
    assert "<script>" not in text
    assert "<td>a|b &amp; &lt;i&gt;</td>" in text
    assert 'title="say &quot;hi&quot;"' in text


def test_a_page_shows_the_figure_beside_it():
    assert "![t](t.svg)" in markdown("t", [], [SHEET], "t.svg")
    assert 'src="t.svg"' in html("t", [], [SHEET], "t.svg")
    assert "img src" not in html("t", [], [SHEET])
