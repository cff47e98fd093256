"""The page of findings: its tables are those of what is there, cell by cell, and what is missing is told in a line."""

import doctest
import importlib
import json
import lzma
from pathlib import Path

import pytest

from deepbinaries.experiments.cells import IDENTITY, MEASURED

RESULTS = Path(__file__).parents[2] / "results"
PICTURE, SENTENCE = "image_to_text", "text_to_image"
BEST, PRINTED = "TVDB, best form", "TVDB, printed update"


@pytest.fixture
def findings(monkeypatch):
    """The script, as a module; it imports its neighbours."""
    monkeypatch.syspath_prepend(RESULTS)
    return importlib.import_module("findings")


def number(row, map_all, *, first=0.5, gallery="clean", bits=64, direction=PICTURE, over=None, paper=None, chance=0.33):
    """A number as a reproduced table has it; `over` is its difference to the reference, and the interval."""
    found = {"row": row, "gallery": gallery, "bits": bits, "direction": direction, "map_all": map_all}
    found |= {"map_500": {"value": first}, "chance": chance, "paper": paper, "trainings": []}
    return found | ({"over_reference": {"mean": over[0], "interval": [*over[1:]]}} if over else {})


def keep(root, name, numbers, folder="iapr22", **more):
    """A reproduced table or figure in the folder of a dataset."""
    path = root / "reproduce" / folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"trainings": [], "numbers": numbers} | more))


def cell(bits, **facts):
    """A cell, of which only what matters is told."""
    return dict.fromkeys(IDENTITY + MEASURED, 0) | {"bits": bits} | facts


def lay_open(path, *cells):
    """A file of cells that is not packed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in cells))


def row_of(lines, *first, table=-1):
    """The cells that follow the first ones of a row, in the last table that has it, or in another one."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row[len(first) :] for row in rows if row[: len(first)] == [*first]][table]


def test_the_page_is_that_of_the_results(findings):
    assert findings.page() == (RESULTS / "findings.md").read_text(encoding="utf-8"), "run python results/findings.py"


@pytest.mark.usefixtures("findings")
def test_examples_of_the_texts_are_right():
    assert doctest.testmod(importlib.import_module("reproduced")).failed == 0


def test_a_method_stands_beside_the_best_form_with_its_interval_and_the_papers_number(findings, tmp_path):
    numbers = [number(BEST, 0.7), number(BEST, 0.71, gallery="database", paper=0.731)]
    numbers += [number("DCMH", 0.672, over=(-0.028, -0.04, -0.016)), number("DCMH", 0.3, bits=16)]
    numbers += [number("DCMH", 0.709, gallery="database", over=(-0.001, -0.01, 0.008), paper=0.559)]
    keep(tmp_path, "table1", numbers)
    lines = [*findings.peers(tmp_path)]
    assert row_of(lines, "DCMH") == [".672 **-.028** [-.040, -.016]", "", ".709 -.001 [-.010, +.008]", "", ".559"]
    assert row_of(lines, BEST) == [".700", "", ".710", "", ".731"]
    assert "chance .330 (`clean`) and .330 (`database`)" in lines[0]


def test_leads_are_counted_over_lengths_and_directions_and_who_is_above_is_named(findings, tmp_path):
    numbers = [number(BEST, 0.7, bits=bits) for bits in (16, 32, 64)] + [number(PRINTED, 0.3)]
    numbers += [number("DCMH", 0.6, bits=16, over=(-0.1, -0.2, -0.05)), number("DCMH", 0.8, bits=32)]
    numbers += [number("DCMH", 0.69, over=(-0.01, -0.02, 0.01)), number("SCM", 0.5, over=(-0.2, -0.3, -0.1))]
    numbers += [number(BEST, 0.9, gallery="database")]
    keep(tmp_path, "table1", numbers)
    lines = [*findings.peers(tmp_path)]
    assert row_of(lines, "iapr22", "clean", "MAP@all") == ["1–2", "2 of 3", "1 of 2", "DCMH 1", "", "0 of 1"]
    assert not any(line.startswith("| iapr22 | database |") for line in lines)  # nobody there to be above


def test_leads_are_counted_by_the_first_500_too_where_another_may_be_ahead(findings, tmp_path):
    numbers = [number(BEST, 0.7, first=0.728), number("DCMH", 0.6, first=0.737, over=(-0.1, -0.2, -0.05))]
    keep(tmp_path, "table1", numbers)
    lines = [*findings.peers(tmp_path)]
    assert row_of(lines, "iapr22", "clean", "MAP@all") == ["1", "1 of 1", "1 of 1", "", "", ""]
    assert row_of(lines, "iapr22", "clean", "MAP@500") == ["1", "0 of 1", "", "DCMH 1", "", ""]


def test_two_lines_stand_beside_each_other_from_where_they_begin(findings, tmp_path):
    curves = {BEST: ([0.1, 0.3, 1], [0.9, 0.7, 0.3]), "DCMH": ([0.01, 1], [0.96, 0.2])}
    trainings = [{"method": row, "settings": {}, "bits": 32, "seed": 0} for row in curves]
    numbers = [number(row, 0.5, bits=32) | {"trainings": [place]} for place, row in enumerate(curves)]
    keep(tmp_path, "figure3", numbers, trainings=trainings)
    at = {"gallery": "clean", "direction": PICTURE}
    points = [{"curve": {"recall": recall, "precision": precision}} for recall, precision in curves.values()]
    cells = [cell(**training, **at, **line) for training, line in zip(trainings, points, strict=True)]
    lay_open(tmp_path / "reproduce/iapr22/cells.jsonl", *cells)
    cells = row_of(findings.peers(tmp_path), "iapr22", "clean", "picture")
    assert cells[:4] == ["– / .960", "– / .929", ".900 / .891", ".800 / .814"]


def test_what_a_part_is_worth_is_the_difference_turned_round_beside_the_papers(findings, tmp_path):
    numbers = [number("TVDB", 0.6, gallery="database", paper=0.731)]
    numbers += [number("TVDB-I2", 0.61, gallery="database", over=(0.01, 0.002, 0.02), paper=0.647)]
    keep(tmp_path, "table2", numbers)
    cells = row_of(findings.FINDINGS["mean"](tmp_path), "iapr22", "database", "picture", table=0)
    assert cells == [".330", ".600", ".610", "**-.010** [-.020, -.002]", "+.084"]


def test_what_a_part_is_worth_is_told_of_all_lengths(findings, tmp_path):
    overs = {16: (0.01, 0.002, 0.02), 32: (-0.004, -0.006, -0.002), 64: (0.03, 0.02, 0.04), 128: (0.001, -0.1, 0.1)}
    numbers = [number("TVDB-I2", 0.61, bits=bits, over=over) for bits, over in overs.items()]
    keep(tmp_path, "table2", [number("TVDB", 0.6), *numbers])
    cells = row_of(findings.FINDINGS["mean"](tmp_path), "iapr22", "clean", "picture")
    assert cells == ["-.030 at 64 to +.004 at 32", "2 of 4", "1 of 4"]


def test_seeds_are_shown_by_how_far_they_are_apart(findings, tmp_path):
    about = {"experiment": "main", "method": "tvdb", "rule": "all", "gallery": "clean", "direction": PICTURE}
    about |= {"settings": {"update": "relaxed", "words": 40}}
    cells = [cell(64, seed=seed, map_all=score, **about) for seed, score in enumerate((0.62, 0.6156, 0.61))]
    cells += [cell(64, seed=seed, map_all=0.5 + seed / 1000, **about | {"direction": SENTENCE}) for seed in range(3)]
    lay_open(tmp_path / "iapr22/cells.jsonl", *cells, cell(32, map_all=0.1, **about))
    assert row_of(findings.seeds(tmp_path), "iapr22") == ["`tvdb`, `relaxed`, 40 words", "clean", ".0100", ".0020"]


def test_forms_of_regions_stand_by_rule_frozen_and_learning_along(findings, tmp_path):
    (tmp_path / "coco18").mkdir()
    frozen = {"rule": "r17", "form": "vote, grid", "place": f"clean/{PICTURE}", "over_whole": 0.007}
    (tmp_path / "coco18/regions.jsonl").write_text(json.dumps(frozen | {"interval": [0.002, 0.012]}) + "\n")
    whole = {"form": "whole", "rule": "r18", "seed": 0, "direction": SENTENCE, "map_all": 0.8, "chance": 0.6}
    form = whole | {"form": "max, grid", "map_all": 0.81, "over_whole": 0.01, "interval": [-0.01, 0.03]}
    lines = (json.dumps(line) + "\n" for line in (whole | {"over_whole": None, "interval": None}, form))
    (tmp_path / "regions-fine-tuned.jsonl").write_text("".join(lines))
    shown = [*findings.regions(tmp_path)]
    assert row_of(shown, "vote, grid", "clean", "picture") == ["", "**+.007** [+.002, +.012]", ""]
    assert row_of(shown, "whole", "0", "sentence") == [".800", "", ""]
    assert row_of(shown, "max, grid", "0", "sentence") == [".810 +.010 [-.010, +.030]", "", ""]
    assert row_of(shown, "chance", "", "") == [".600", "", ""]


def test_a_routine_has_its_best_epoch_and_its_last(findings, tmp_path):
    epochs = [{"epoch": n, PICTURE: p, SENTENCE: s} for n, p, s in ((1, 0.5, 0.4), (2, 0.7, 0.6), (3, 0.6, 0.65))]
    training = {"row": "TVDB-E1, gram", "settings": {"update": "gram"}, "epochs": epochs}
    keep(tmp_path, "figure5", [], trainings=[training | {"bits": 128, "gallery": "clean", "chance": 0.33}])
    lines = [*findings.routines(tmp_path)]
    assert row_of(lines, "gram", "TVDB-E1") == [".700", "2", ".600", ".650", "3", ".650"]
    assert any(line.startswith("The paper tells of COCO") for line in lines)
    assert not any(line.startswith("Not here yet for iapr22") for line in lines)


def test_what_is_missing_of_a_figure_that_is_there_is_told_with_its_command(findings, tmp_path):
    epochs = [{"epoch": 1, PICTURE: 0.5, SENTENCE: 0.4}]
    training = {"row": "TVDB, gram", "settings": {"update": "gram"}, "epochs": epochs}
    training |= {"bits": 128, "gallery": "clean", "chance": 0.33}
    notes = ["A note.", "Not here yet: TVDB-S, gram; TVDB-N, gram."]
    keep(tmp_path, "figure5", [], trainings=[training], notes=notes)
    told = next(line for line in findings.routines(tmp_path) if line.startswith("Not here yet for iapr22"))
    assert told.startswith("Not here yet for iapr22: TVDB-S, gram; TVDB-N, gram; made by `deepbinaries ")
    assert "reproduce figure5 --dataset iapr22" in told


def test_the_same_method_stands_by_whose_regions_it_reads(findings, tmp_path):
    settings = {"update": "spectral", "words": 40}
    trainings = [{"settings": settings | {"texts": "features"}}]
    numbers = [number("TVDB", score, direction=way) for way, score in ((PICTURE, 0.616), (SENTENCE, 0.571))]
    keep(tmp_path, "table1", [one | {"trainings": [0]} for one in numbers], trainings=trainings)
    about = {"experiment": "main", "method": "tvdb-lstm", "rule": "all", "gallery": "clean", "proposer": "grid"}
    cells = []
    for seed, score in enumerate((0.62, 0.63, 0.64)):
        for way, less in ((PICTURE, 0), (SENTENCE, 0.05)):
            cells.append(cell(64, settings=settings, seed=seed, direction=way, map_all=score - less, **about))
    other = cells[0] | {"settings": settings | {"words": 12}, "map_all": 0.1}
    lay_open(tmp_path / "iapr22/cells.jsonl", *cells, other, cells[0] | {"proposer": "yolox", "map_all": 0.1})
    assert row_of(findings.regions(tmp_path), "iapr22")[-2:] == [".616 / .571", ".630 ± .010 / .580 ± .010"]


def test_a_batch_has_the_times_of_all_sizes_and_a_set_those_of_the_largest(findings, tmp_path):
    on = {"processor": "A Machine", "cores": 2, "device": "cpu"}
    about = {"update": "gram", "machine": on}
    of_small, of_large = {"batch": 0.003, "first": 0.1, "again": 0.05}, {"batch": 0.002, "first": 0.4, "again": 0.2}
    small = about | {"items": 500, "label_sets": 90, "seconds": of_small | {"start": 0.2}}
    large = about | {"items": 5000, "label_sets": 400, "seconds": of_large | {"start": 0.8}}
    keep(tmp_path, "time", [], times=[small, large])
    lines = [*findings.time(tmp_path)]
    row = ["5,000", "400", "0.002 to 0.003", "0.4", "0.2", "0.8", "A Machine, 2 cores, cpu"]
    assert row_of(lines, "iapr22", "gram") == row


def test_the_printed_update_is_shown_by_its_distance_from_chance_and_its_codes(findings, tmp_path):
    training = cell(64, method="tvdb-lstm", settings={"update": "printed"})
    numbers = [number(PRINTED, 0.33) | {"trainings": [0]}, number(PRINTED, 0.45, bits=16), number("TVDB", 0.6)]
    keep(tmp_path, "table1", numbers, trainings=[training])
    health = {"gallery": {"distinct_codes": 3, "items": 2000, "effective_rank": 1.46}}
    place = {"gallery": "clean", "direction": PICTURE, "health": health}
    other = training | place | {"settings": {"update": "gram"}, "health": {}}
    with lzma.open(tmp_path / "reproduce/iapr22/cells.jsonl.xz", "wt") as file:
        file.writelines(json.dumps(cell) + "\n" for cell in (other, training | place))
    cells = row_of(findings.collapse(tmp_path), "iapr22", "clean", "picture")
    assert cells == [".330", "+.120", "", "+.000", "", "3 of 2,000", "1.5", "", ""]


def test_a_step_is_measured_against_the_one_before_unless_that_is_missing(findings, tmp_path):
    over = (-0.1, -0.12, -0.08)
    numbers = [number("printed", 0.33), number("gram", 0.6, over=over), number("relaxed", 0.65), number(BEST, 0.7)]
    keep(tmp_path, "fixes", numbers)
    lines = [*findings.fixes(tmp_path)]
    assert row_of(lines, "gram", "picture")[:3] == [".600", "+.270", "**-.100** [-.120, -.080]"]
    assert row_of(lines, "spectral", "picture")[:3] == ["", "", ""]
    assert row_of(lines, "relaxed", "picture")[:3] == [".650", "", ""]


def test_the_papers_column_has_differences_and_the_likeness_of_both_orders(findings, tmp_path):
    ours = {"CCA": 0.4, "SCM": 0.5, "TVDB": 0.6, BEST: 0.45, PRINTED: 0.33}
    papers = {"CCA": 0.5, "SCM": 0.45, "TVDB": 0.7, BEST: 0.7, PRINTED: 0.7}
    keep(tmp_path, "table1", [number(row, ours[row], gallery="database", paper=papers[row]) for row in ours])
    lines = [*findings.paper(tmp_path)]
    assert row_of(lines, "SCM", "picture") == ["", "", ".450 / .500 / +.050", ""]
    assert row_of(lines, "TVDB", "picture") == ["", "", ".083, +0.50 (3 methods)", ""]
    assert row_of(lines, BEST, "picture") == ["", "", ".133, -0.50 (3 methods)", ""]


def test_a_setting_that_varies_has_the_ends_of_its_range_and_where_they_are(findings, tmp_path):
    scores = {"0.0001": 0.5, "0.3": 0.62, "10": 0.33}
    keep(tmp_path, "eta", [number(f"spectral, eta={value}", score) for value, score in scores.items()])
    cells = row_of(findings.FINDINGS["sweep"](tmp_path), "iapr22", "spectral", "picture")
    assert cells == ["3", ".330 at 10", ".620 at 0.3", ".290", "", "", "", ""]


def test_what_is_missing_is_told_with_the_command_that_makes_it(findings, tmp_path):
    for name, finding in findings.FINDINGS.items():
        lines = [line for line in finding(tmp_path) if line]
        assert not any(line.startswith("|") for line in lines), name
        if name == "seeds":
            continue  # of which nothing is there, and nothing is made by `reproduce`
        (told, *_) = (line for line in lines if line.startswith("Not here yet for iapr22; made by `deepbinaries "))
        drawn_of_cells = name not in ("routines", "time")
        assert ("after `xz -dk results/reproduce/iapr22/cells.jsonl.xz`" in told) == drawn_of_cells, name
    assert any("python -m recipes.regions.fine_tuning" in line for line in findings.regions(tmp_path))


def test_a_rule_that_was_tried_in_part_is_shown_where_it_is_and_not_missed_where_it_is_not(findings, tmp_path):
    assert not any("person" in line for line in findings.peers(tmp_path))
    keep(tmp_path, "table1", [number(BEST, 0.6)], folder="coco18-r17")
    lines = [*findings.peers(tmp_path)]
    assert row_of(lines, BEST) == [".600", "", "", ""]
    assert any("person" in line for line in lines)


def test_cells_are_found_again_as_they_were_packed(findings, tmp_path):
    path = tmp_path / "reproduce/iapr22/cells.jsonl"
    lay_open(path, cell(64), cell(32))
    findings.pack(tmp_path)
    path.unlink()
    iapr22 = next(task for task in findings.TASKS if task.dataset == "iapr22")
    assert findings.reproduced_cells(tmp_path, iapr22) == [cell(64), cell(32)]


@pytest.mark.parametrize("name", ["reproduce/iapr22/cells.jsonl", "iapr22/comparison.jsonl"])
def test_no_packed_cell_is_lost_to_a_file_that_begins_anew(findings, tmp_path, name):
    packed = importlib.import_module("packed")
    path = tmp_path / name
    lay_open(path, cell(64, map_all=0.5), cell(32))
    findings.pack(tmp_path)
    lay_open(path, cell(16), cell(64, map_all=0.6))  # as of a fresh checkout in which nothing was unpacked
    wanted = [cell(64, map_all=0.6), cell(32), cell(16)]
    assert packed.packed_cells(path) == wanted  # open and packed ones together, before they are packed
    findings.pack(tmp_path)
    path.unlink()
    assert packed.packed_cells(path) == wanted
