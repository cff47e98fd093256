"""The counts and ranges that the pages of results tell in words are those of the numbers behind them."""

import json
import lzma
from itertools import product
from pathlib import Path
from statistics import median

import pytest
from packed import packed_cells

RESULTS = Path(__file__).parents[2] / "results"
DIRECTIONS = ("image_to_text", "text_to_image")
LENGTHS = (16, 32, 64, 128)
PLACES = tuple(product(("clean", "database"), DIRECTIONS))
BEST, OURS = "TVDB, best form", ("TVDB, best form", "TVDB", "TVDB, printed update")


def words_of(path):
    """A page without its line breaks."""
    return " ".join(path.read_text(encoding="utf-8").split())


def numbers_of(folder, name):
    """The numbers of a table or figure by row, gallery, length and direction."""
    lines = json.loads((RESULTS / "reproduce" / folder / f"{name}.json").read_text())["numbers"]
    return {(line["row"], line["gallery"], line["bits"], line["direction"]): line for line in lines}


def cells_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def short(value):
    return f"{value:.3f}".removeprefix("0")


def fine(value):
    return f"{value:.4f}".removeprefix("0")


def over(folder, row, gallery, bits, direction):
    """A row of table 2 less TVDB, as it is printed, with its interval."""
    found = numbers_of(folder, "table2")[row, gallery, bits, direction]["over_reference"]
    return found["mean"], found["interval"]


def ends(values):
    """The range of some differences, without their signs."""
    sizes = [abs(value) for value in values]
    return f"{short(min(sizes))} to {short(max(sizes))}"


@pytest.fixture(scope="module")
def findings():
    return words_of(RESULTS / "findings.md")


def n_first(folder, score):
    """In how many columns the best form is above every peer, and of how many."""
    found = numbers_of(folder, "table1")
    columns = {place[1:] for place in found}
    peers = {row for row, *_ in found} - {*OURS}
    leads = [all(score(found[BEST, *at]) > score(found[row, *at]) for row in peers) for at in columns]
    return sum(leads), len(leads)


def test_the_columns_that_the_best_form_leads_are_as_many_as_is_said(findings):
    (r18, all_), (iapr22, _) = (n_first(folder, lambda n: n["map_all"]) for folder in ("coco18", "iapr22"))
    assert r18 == all_
    assert f"is first in all {r18} columns of r18 and in {iapr22} of {all_} on iapr22" in findings
    (r18, all_), (iapr22, _) = (n_first(folder, lambda n: n["map_500"]["value"]) for folder in ("coco18", "iapr22"))
    assert r18 == all_
    assert f"By MAP@500 it is first in all {r18} columns of r18 too, but in {iapr22} of {all_} on iapr22" in findings


def test_who_is_ahead_by_the_first_500_is_as_is_said(findings):
    found = numbers_of("iapr22", "table1")
    ahead = {
        at: [short(found[row, *at]["map_500"]["value"]) for row in ("DCMH", BEST)]
        for at in {place[1:] for place in found}
        if found["DCMH", *at]["map_500"]["value"] > found[BEST, *at]["map_500"]["value"]
    }
    picture, sentence = DIRECTIONS
    dcmh, best = ahead.pop(("clean", 128, picture))
    assert f"DCMH is ahead there on `clean` for pictures at 128 bits, {dcmh} against {best}, and on" in findings
    assert ahead.keys() == {("database", 128, picture), *(("database", bits, sentence) for bits in (32, 64, 128))}


def shown_in_figure_3(folder, gallery, direction):
    """The best form and DCMH at the recalls of the table, as far as both reach them."""
    page = (RESULTS / "findings.md").read_text(encoding="utf-8").split("Figure 3, ")[1].split("<!--")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    way = {"image_to_text": "picture", "text_to_image": "sentence"}[direction]
    cells = next(row[3:] for row in rows if row[:3] == [folder, gallery, way])
    pairs = {float(recall): cell.split(" / ") for recall, cell in zip(rows[0][3:], cells, strict=True)}
    return {recall: [*map(float, pair)] for recall, pair in pairs.items() if "–" not in pair}


def test_the_lines_of_figure_3_lie_as_is_said(findings):
    assert "from a recall of .01 to one of .2 everywhere, and on `database` for sentences up to one of .7" in findings
    for gallery in ("clean", "database"):
        for direction in DIRECTIONS:
            last = 0.7 if (gallery, direction) == ("database", "text_to_image") else 0.2
            pairs = shown_in_figure_3("iapr22", gallery, direction)
            ahead = {recall for recall, (best, dcmh) in pairs.items() if dcmh > best}
            assert {recall for recall in pairs if recall <= last} <= ahead
    assert "within .005 of each other on `clean`, and on `database` DCMH is above or level" in findings
    for direction in DIRECTIONS:
        of_clean, whole = (shown_in_figure_3("coco18, r18", kind, direction) for kind in ("clean", "database"))
        assert all(abs(best - dcmh) <= 0.005 for best, dcmh in of_clean.values())
        assert all(dcmh >= best for best, dcmh in whole.values())


def seeds_apart(dataset, rule, method="tvdb-lstm"):
    """The highest MAP of three seeds less the lowest at 64 bits, by gallery and direction."""
    cells = [c for c in cells_of(RESULTS / dataset / "cells.jsonl") if (c["experiment"], c["bits"]) == ("main", 64)]
    cells = [c for c in cells if c["settings"]["update"] != "printed" and c["settings"]["words"] != 12]
    apart = {}
    for at in PLACES:
        scores = [
            c["map_all"] for c in cells if (c["rule"], c["method"], c["gallery"], c["direction"]) == (rule, method, *at)
        ]
        assert len(scores) == 3
        apart[at] = max(scores) - min(scores)
    return apart


def test_seeds_are_as_far_apart_as_is_said(findings):
    tasks = (("coco18", "r18"), ("coco18", "r17"), ("iapr22", "all"))
    apart = {
        method: [fine(max(seeds_apart(*task, method).values())) for task in tasks] for method in ("tvdb", "tvdb-lstm")
    }
    r18, r17, iapr22 = apart["tvdb-lstm"]
    assert f"`tvdb-lstm` at 64 bits differ by up to {r18} on r18, {r17} on r17 and {iapr22} on iapr22" in findings
    assert "`tvdb` by up to {}, {} and {}.".format(*apart["tvdb"]) in findings


def test_what_regions_lose_is_as_much_as_is_said(findings):
    clean = {
        folder: [over(folder, "TVDB-I1", "clean", bits, way)[0] for bits in LENGTHS for way in DIRECTIONS]
        for folder in ("iapr22", "coco18")
    }
    assert all(value > 0 for of in clean.values() for value in of)
    assert f"the loss on `clean` is {ends(clean['iapr22'])} on iapr22 and {ends(clean['coco18'])} on r18" in findings
    gains = [over("coco18", "TVDB-I1", "database", bits, "text_to_image")[0] for bits in LENGTHS]
    assert all(value < 0 for value in gains)
    assert f"everywhere beyond zero, and that gain {ends(gains)}." in findings


def test_the_mean_of_the_regions_is_ahead_as_often_as_is_said(findings):
    places = [
        (folder, "TVDB-I2", gallery, bits, way)
        for folder in ("coco18", "iapr22")
        for gallery in ("clean", "database")
        for bits in LENGTHS
        for way in DIRECTIONS
    ]
    found = {place: over(*place) for place in places}
    r18, iapr22 = (
        [mean for (of, _, _, bits, _), (mean, _) in found.items() if (of, bits) == (folder, 64)]
        for folder in ("coco18", "iapr22")
    )
    assert f"by {ends(r18)} on r18 and by {ends(iapr22)} on iapr22, every interval beyond zero" in findings
    ahead = [place for place, (_, (low, _)) in found.items() if low > 0]
    (behind,) = (place for place, (_, (_, high)) in found.items() if high < 0)
    assert {(folder, 64) for folder in ("coco18", "iapr22")} <= {(place[0], place[3]) for place in ahead}
    assert (
        f"of all {len(places)} comparisons the mean is ahead beyond its interval in {len(ahead)}, the LSTM in"
        in findings
    )
    assert behind == ("coco18", "TVDB-I2", "database", 32, "text_to_image")
    lead, seeds = -found[behind][0], max(seeds_apart("coco18", "r18").values())
    assert f"at 32 bits ({fine(lead)}, about as much as seeds differ by)" in findings
    assert short(lead) == short(seeds)


def test_readers_of_words_are_as_near_as_is_said(findings):
    found = {
        (row, folder, gallery, bits, way): over(folder, row, gallery, bits, way)[0]
        for row in ("TVDB-T1", "TVDB-T2")
        for folder in ("coco18", "iapr22")
        for gallery in ("clean", "database")
        for bits in LENGTHS
        for way in DIRECTIONS
    }
    most = short(max(map(abs, found.values())))
    assert f"at every length both are within {most} of the text-CNN" in findings
    bag = found["TVDB-T1", "coco18", "database", 128, "image_to_text"]
    assert f"of the bag of words by {short(-bag)} for pictures of r18 on `database` at 128 bits" in findings
    lstm = found["TVDB-T2", "iapr22", "database", 128, "text_to_image"]
    assert f"and by {short(-lstm)} for sentences of iapr22 on `database` at 128 bits" in findings


def courses():
    """The epochs of each training of figure 5, by dataset, routine and update, as `epochs.jsonl` keeps them."""
    found = {}
    for folder in ("coco18", "iapr22"):
        shown = json.loads((RESULTS / "reproduce" / folder / "figure5.json").read_text())["trainings"]
        kept = cells_of(RESULTS / "reproduce" / folder / "epochs.jsonl")
        for line in shown:
            (epochs,) = (
                one["epochs"] for one in kept if all(line[name] == one[name] for name in ("settings", "bits", "seed"))
            )
            routine, update = line["row"].removeprefix("TVDB").removeprefix("-").split(", ")
            found[folder, routine, update] = epochs
    return found


def first_within(epochs, direction, reach):
    """The first epoch that is as near to the best one."""
    best = max(epoch[direction] for epoch in epochs)
    return next(epoch["epoch"] for epoch in epochs if epoch[direction] >= best - reach)


def test_routines_need_as_many_epochs_as_is_said(findings):
    found = courses()

    def after(folder, routine, update, reach=0.0):
        return [first_within(found[folder, routine, update], direction, reach) for direction in DIRECTIONS]

    tvdb, e1, e2 = (after("iapr22", routine, "spectral") for routine in ("", "E1", "E2"))
    said = "On iapr22 TVDB is best after {} / {} epochs, E1 after {} / {} and E2 after {} / {}, in the order"
    assert said.format(*tvdb, *e1, *e2) in findings
    assert all(one < of_e1 < of_e2 for one, of_e1, of_e2 in zip(tvdb, e1, e2, strict=True))
    tvdb, e1, e2 = (after("coco18", routine, "spectral") for routine in ("", "E1", "E2"))
    assert "the best epochs go both ways ({} / {}, {} / {} and {} / {})".format(*tvdb, *e1, *e2) in findings
    assert [one < other for one, other in zip(tvdb, e2, strict=True)] == [True, False]
    tvdb, e1, e2 = (after("coco18", routine, "spectral", 0.01) for routine in ("", "E1", "E2"))
    assert tvdb == e1
    assert "E2 gets there after {} / {}, TVDB and E1 after {} / {}, and on iapr22".format(*e2, *tvdb) in findings
    tvdb, e1, e2 = (after("iapr22", routine, "spectral", 0.01) for routine in ("", "E1", "E2"))
    assert "on iapr22 E2 after {} / {}, E1 after {} / {}, TVDB after {} / {}.".format(*e2, *e1, *tvdb) in findings
    of_r18 = [epoch for routine in ("", "E1", "E2") for epoch in after("coco18", routine, "gram")]
    assert f"`gram` it is not so: on r18 all three are best after {min(of_r18)} to {max(of_r18)}," in findings
    tvdb, e1, e2 = (after("iapr22", routine, "gram") for routine in ("", "E1", "E2"))
    assert "on iapr22 TVDB after {} / {}, E1 after {} / {}, E2 after {} / {}.".format(*tvdb, *e1, *e2) in findings


def along(folder, name, line):
    """MAP of a line of a sweep at 64 bits, by gallery and direction, and in it by the value that varies."""
    found = {at: {} for at in PLACES}
    for (row, gallery, _, direction), number in numbers_of(folder, name).items():
        of, _, value = row.rpartition(", ")
        if of == line:
            found[gallery, direction][float(value.rpartition("=")[2])] = number["map_all"]
    return found


def ranges(scores, *, last):
    """Between what MAP lies up to a value, at each place."""
    upto = [[score for value, score in of.items() if value <= last] for of in scores.values()]
    return [max(of) - min(of) for of in upto]


TASKS = {"coco18": "r18", "iapr22": "all"}


def test_eta_moves_map_as_far_as_is_said(findings):
    spectral, gram, printed = (
        {folder: along(folder, "eta", update) for folder in TASKS} for update in ("spectral", "gram", "printed")
    )
    seeds = {folder: seeds_apart(folder, rule) for folder, rule in TASKS.items()}
    most = max(width for of in (spectral, gram) for scores in of.values() for width in ranges(scores, last=0.1))
    assert (
        f"neither `spectral` nor `gram` moves by more than {short(most)}, in either direction and gallery" in findings
    )
    r18, iapr22 = (fine(max(seeds[folder].values())) for folder in TASKS)
    assert f"three seeds differ by up to {r18} on r18 and {iapr22} on iapr22. At 1" in findings
    falls = {(folder, *at): of[1e-4] - of[1] for folder in TASKS for at, of in spectral[folder].items()}
    assert len(falls) == 8
    assert all(fall > seeds[folder][tuple(at)] for (folder, *at), fall in falls.items())
    assert "by more than seeds differ by in all eight places" in findings
    on_clean = [fall for (_, gallery, _), fall in falls.items() if gallery == "clean"]
    place = ("clean", "image_to_text")
    pictures, of_seeds = fine(falls["iapr22", *place]), fine(seeds["iapr22"][place])
    said = f"by {ends(on_clean)} ({pictures} for pictures of iapr22, where seeds differ by {of_seeds})"
    assert f"on `clean` {said}" in findings
    pictures = [short(falls[folder, "database", "image_to_text"]) for folder in ("iapr22", "coco18")]
    sentences = [
        f"from {short(of[1e-4])} to {short(of[1])}"
        for of in (spectral[folder]["database", "text_to_image"] for folder in ("iapr22", "coco18"))
    ]
    said = "for pictures by {} on iapr22 and {} on r18, and for sentences {} and {}"
    assert said.format(*pictures, *sentences) in findings
    assert f"at 1 `spectral` loses up to {short(max(falls.values()))}, at 10 everything" in findings
    chances = {folder: numbers_of(folder, "eta") for folder in TASKS}
    for folder, (row, eta) in product(TASKS, (("spectral", 10), ("printed", 0))):
        for at, of in (spectral if row == "spectral" else printed)[folder].items():
            chance = chances[folder][f"{row}, eta=10", at[0], 64, at[1]]["chance"]
            assert all(abs(score - chance) < 0.0005 for value, score in of.items() if value >= eta)
    most = max(width for scores in gram.values() for width in ranges(scores, last=10))
    assert f"`gram` does not mind, by {short(most)} at most along all values" in findings


def test_k_moves_the_lstm_as_far_as_is_said(findings):
    lstm = {folder: along(folder, "k", "LSTM") for folder in TASKS}
    seeds = {folder: seeds_apart(folder, rule) for folder, rule in TASKS.items()}
    over_worst = {
        (folder, *at): of[0] - min(of.values())
        for folder in TASKS
        for at, of in lstm[folder].items()
        if at != ("database", "text_to_image")
    }
    assert all(max(of, key=of.get) == 0 for s in lstm.values() for at, of in s.items() if (*at,) != PLACES[-1])
    on_clean = [value for (_, gallery, _), value in over_worst.items() if gallery == "clean"]
    r18, iapr22 = (short(over_worst[folder, "database", "image_to_text"]) for folder in TASKS)
    assert f"at its best on `clean`, {ends(on_clean)} above its worst K, and on" in findings
    assert f"on `database` for pictures, {r18} and {iapr22} above it." in findings
    some = {(folder, *at): [of[k] for k in (5, 10, 20, 40)] for folder in TASKS for at, of in lstm[folder].items()}
    assert f"it moves by up to {short(max(max(of) - min(of) for of in some.values()))}, upwards for" in findings
    for (_, _, direction), of in some.items():
        assert (of == sorted(of)) == (direction == "text_to_image")
        assert of.index(max(of)) != 2  # K = 20
    assert "of numbers of regions the paper's 20 is nowhere its best" in findings
    pictures = [lstm["coco18"][gallery, "image_to_text"] for gallery in ("clean", "database")]
    assert all(min(of, key=of.get) == 20 for of in pictures)
    behind = [short(of[10] - of[20]) for of in pictures]
    apart = [fine(seeds["coco18"][gallery, "image_to_text"]) for gallery in ("clean", "database")]
    said = "the worst of all five in both galleries, {} and {} behind K = 10, where seeds differ by {} and {};"
    assert said.format(*behind, *apart) in findings
    ahead = [
        short(of[40] - of[20]) for of in (lstm["iapr22"][gallery, "text_to_image"] for gallery in ("clean", "database"))
    ]
    apart = [fine(seeds["iapr22"][gallery, "text_to_image"]) for gallery in ("clean", "database")]
    said = "K = 40 is ahead of it by {} on `clean` and {} on `database`, where seeds differ by {} and {}."
    assert said.format(*ahead, *apart) in findings


def test_k_moves_the_mean_and_sentences_of_the_training_items_as_far_as_is_said(findings):
    lstm, mean = ({folder: along(folder, "k", row) for folder in TASKS} for row in ("LSTM", "mean"))
    most = max(ranges({at: of for at, of in mean["coco18"].items() if at[0] == "clean"}, last=40))
    assert f"The mean of the regions moves by {short(most)} at most on `clean` of r18." in findings
    leads = []
    for (_, direction), of in mean["iapr22"].items():
        assert sorted(of, key=of.get)[-2:] == [20, 0]
        leads += [short(of[20] - max(of[k] for k in (5, 10, 40)))] if direction == "image_to_text" else []
    assert leads[0] == leads[1]
    assert f"and of numbers of them best at 20, for pictures by {leads[0]}." in findings
    gains = [
        {k: score - of[0] for k, score in of.items()}
        for of in (scores["database", "text_to_image"] for scores in (lstm["coco18"], mean["coco18"], lstm["iapr22"]))
    ]
    of_lstm, of_mean, of_iapr22 = (short(max(gain.values())) for gain in gains)
    said = (
        f"by up to {of_lstm} (LSTM) and {of_mean} (mean) on r18, and with the LSTM on iapr22 by {of_iapr22}, at K = 40"
    )
    assert said in findings
    assert [k for k, gain in gains[2].items() if gain > 0] == [40]


def test_updates_take_as_long_as_is_said(findings):
    times = []
    for folder in ("coco18", "iapr22"):
        times += json.loads((RESULTS / "reproduce" / folder / "time.json").read_text())["times"]

    def most(name, on_gpu, *updates):
        of_machine = [line for line in times if (line["machine"]["device"] != "cpu") == on_gpu]
        return max(line["seconds"][name] for line in of_machine if not updates or line["update"] in updates)

    assert "On two cores of a CPU a batch takes less than two milliseconds" in findings
    assert most("batch", False) < 0.002
    assert {line["machine"]["cores"] for line in times if line["machine"]["device"] == "cpu"} == {2}
    assert "an update of the whole training set a fifth of a second at most" in findings
    assert most("first", False) <= 0.2
    assert "from labels alone, which N keeps, up to a second (`gram`)" in findings
    assert round(most("start", False), 1) == 1.0
    assert "2.3 ms at most under `spectral` and `relaxed`, 11 ms under `gram`;" in findings
    assert round(1000 * most("batch", True, "spectral", "relaxed"), 1) == 2.3
    assert round(1000 * most("batch", True, "gram")) == 11
    assert "On a GPU a batch takes longer except under `printed`:" in findings
    for update in ("spectral", "relaxed", "gram"):
        least = min(x["seconds"]["batch"] for x in times if x["update"] == update and x["machine"]["device"] != "cpu")
        assert least > most("batch", False, update)
    assert most("batch", True, "printed") < 1.1 * most("batch", False, "printed")
    assert "an update of the whole set takes .03 s at most, and codes from labels alone .2 s." in findings
    assert round(most("first", True), 2) == 0.03
    assert round(most("start", True), 1) == 0.2


def test_updates_at_the_size_of_coco_take_as_long_as_is_said(findings):
    recorded = json.loads((RESULTS.parent / "benchmarks/results/whole_set.json").read_text())
    figures, ratios = recorded["figures"], recorded["ratios"]
    spectral, relaxed, gram, printed = (
        figures["seconds"][update] for update in ("spectral", "relaxed", "gram", "printed")
    )
    assert (figures["items"], figures["label_sets"]) == (50_000, 23_291)
    alone = f"it takes {spectral['start']:.1f} s under `spectral` on the GPU, {relaxed['start']:.1f} s under `relaxed`"
    few = [f"{seconds['start']:.2f}".removeprefix("0") for seconds in (gram, printed)]
    assert f"{alone}, {few[0]} s under `gram` and {few[1]} s under `printed`" in findings
    pairs = [f"{seconds['all pairs']['seconds']:.3f}".removeprefix("0") for seconds in (gram, printed)]
    factors = [f"{ratios[f'vs_all_pairs_{update}']:.1f}" for update in ("gram", "printed")]
    assert f"a factor of {factors[0]} under `gram` and of {factors[1]} under `printed`: between all" in findings
    assert f"between all pairs an update takes {pairs[0]} and {pairs[1]} s on the same GPU" in findings
    assert gram["all pairs"]["equal_bits"] == printed["all pairs"]["equal_bits"] == 1


def test_a_step_on_a_gpu_takes_as_much_longer_by_its_update_as_is_said(findings):
    measured = json.loads((RESULTS.parent / "benchmarks/results/training.json").read_text())["figures"]
    assert (measured["sizes"]["batch"], measured["sizes"]["bits"]) == (512, 128)
    step = {name: median(512_000 / rate for rate in rates) for name, rates in measured["pairs_a_second"].items()}
    more = [step[f"tvdb-lstm{update}"] - step["bare tvdb-lstm"] for update in ("", ", gram", ", printed")]
    spectral, gram, printed = (f"{milliseconds:.1f}".removeprefix("0") for milliseconds in more)
    said = f"takes {spectral} ms more than that of its bare networks under `spectral`, {gram} ms more under `gram` and "
    assert f"{said}{printed} ms under `printed`" in findings


def test_tvdb_and_its_peers_are_as_far_from_the_papers_numbers_as_is_said(findings):
    found = {place: n["map_all"] - n["paper"] for place, n in numbers_of("iapr22", "table1").items() if n["paper"]}
    picture, sentence = (found[BEST, "database", 64, way] for way in DIRECTIONS)
    assert "TVDB: above it by a hundredth for sentences and .03 below for pictures, at 64 bits." in findings
    assert (round(sentence, 2), round(picture, 2)) == (0.01, -0.03)
    peers = {row for row, *_ in found} - {*OURS}
    higher = [row for row in peers if all(apart > 0 for (of, *_), apart in found.items() if of == row)]
    assert (len(peers), len(higher)) == (15, 11)
    assert "Of fifteen peers eleven are above their printed numbers at every length" in findings


def test_what_trials_beyond_the_edges_brought_dvsh_is_as_said(findings):
    said, chosen, beyond = words_of(RESULTS / "README.md"), {}, []
    for dataset in ("coco18", "iapr22"):
        beyond += cells_of(RESULTS / dataset / "beyond.jsonl")
        for cell in packed_cells(RESULTS / dataset / "comparison.jsonl"):
            if (cell["method"], cell["bits"]) == ("dvsh", 64):
                chosen[cell["rule"]] = max(tried["mean"] for tried in cell["tuning"]["tried"])
    assert "sixteen trials of DVSH" in said
    assert ({trial["method"] for trial in beyond}, len(beyond)) == ({"dvsh"}, 16)
    of = {rule: [trial for trial in beyond if trial["rule"] == rule] for rule in chosen}
    assert {rule: len(trials) for rule, trials in of.items()} == {"r18": 8, "r17": 7, "all": 1}
    best = {rule: max(trials, key=lambda trial: trial["mean"]) for rule, trials in of.items()}
    assert best["r18"]["settings"] == {"learning_rate": 0.001, "mu_c": 0.05}
    assert min(trial["settings"]["mu_c"] for trial in of["r18"] if trial["settings"]["learning_rate"] == 0.001) == 0.05
    assert f"at its rate, has {short(best['r18']['mean'])} where {short(chosen['r18'])} was the best" in said
    more = short(best["r18"]["mean"] - chosen["r18"])
    assert f"DVSH's on r18 could bring {more} more on validation items" in findings
    assert best["r17"]["settings"]["mu_c"] == 0.1
    r17 = f"has {short(best['r17']['mean'])} (`mu_c` .1) and the chosen one {short(chosen['r17'])}, which is less"
    assert r17 in said
    assert f"`mu_c` .05, has {short(best['all']['mean'])}, and the chosen one {short(chosen['all'])}." in said


def test_labels_like_those_of_coco_have_as_many_sets_as_is_said(findings):
    measured = json.loads((RESULTS.parent / "benchmarks/results/training.json").read_text())
    n_sets = measured["figures"]["labels"]["label_sets"]
    assert f"there are {n_sets:,} label sets, and one such matrix has {4 * n_sets**2 / 1e9:.1f} GB" in findings
    assert f"with {n_sets:,}, as 50,000 items with labels like COCO's have" in words_of(
        RESULTS.parent / "docs/training.md"
    )


def test_the_model_that_comes_along_finds_as_many_published_photographs_as_the_readme_says():
    wanted = {"model": "shipped", "pictures": "published", "bits": 128, "gallery": 1000, "mode": "hamming"}
    wanted |= {"direction": "text_to_image", "part": "query"}
    cells = [c for c in cells_of(RESULTS / "photo/cells.jsonl") if all(c.get(k) == v for k, v in wanted.items())]
    coco18, iapr22 = (f"{c['recall_at_10']:.2f}".lstrip("0") for c in sorted(cells, key=lambda c: c["dataset"]))
    page = words_of(RESULTS.parent / "README.md")
    assert f"among the first ten for {coco18} of coco18's sentences and {iapr22} of iapr22's" in page
    assert "of the photographs as they were published, not of thumbnails" in page


def test_as_many_trials_of_tvdb_are_recorded_as_is_said():
    cells = [cell for name in ("coco18", "iapr22") for cell in packed_cells(RESULTS / name / "choices.jsonl")]
    a_trial = ("rule", "method", "settings", "proposer", "seed", "bits")
    trials = {json.dumps([cell[name] for name in a_trial], sort_keys=True) for cell in cells}
    rules = {cell["rule"] for cell in cells}
    said = f"these are the {len(trials)} trials of `choices.jsonl`, {len(trials) // len(rules)} a task"
    assert said in words_of(RESULTS / "README.md")


def compared():
    """The cells of every method on the same features, each side with codes of its own."""
    for dataset in ("coco18", "iapr22", "scenes"):
        text = lzma.decompress((RESULTS / dataset / "comparison.jsonl.xz").read_bytes())
        cells = map(json.loads, text.splitlines())
        yield from (cell | {"dataset": dataset} for cell in cells if cell.get("codes") == "separate")


PHOTOGRAPHS = {"r18", "r17", "iapr22"}
# What README.md says of choices at an edge, and what stands behind it: methods, setting, value, what was tried, tasks.
LOW, HIGH, RATES = (0.0003, 0.001), (0.001, 0.003), (0.0003, 0.001, 0.003)
EDGES = [
    (
        "DSPH's at the upper edge of what was tried, .003 of .001 and .003, on every task;",
        [({"dsph"}, "learning_rate", 0.003, HIGH, {*PHOTOGRAPHS, "scenes"})],
    ),
    (
        "of .0003, .001 and .003 the lowest, .0003, for CM-NN on r18, r17 and iapr22, for DVSH on r17 and iapr22, for"
        " DNH-C on r18 and iapr22.",
        [
            ({"cm-nn"}, "learning_rate", 0.0003, RATES, PHOTOGRAPHS),
            ({"dvsh"}, "learning_rate", 0.0003, RATES, {"r17", "iapr22"}),
            ({"dnh-c"}, "learning_rate", 0.0003, RATES, {"r18", "iapr22"}),
        ],
    ),
    (
        "The other setting, on r18, r17 and iapr22: CM-NN's `margin` .25, the lowest of .25, .5 and 1; DVSH's `mu_c`"
        " .2, the lower of .2 and .5; DNH-C's `epsilon` .5, the upper of .4 and .5.",
        [
            ({"cm-nn"}, "margin", 0.25, (0.25, 0.5, 1.0), PHOTOGRAPHS),
            ({"dvsh"}, "mu_c", 0.2, (0.2, 0.5), PHOTOGRAPHS),
            ({"dnh-c"}, "epsilon", 0.5, (0.4, 0.5), PHOTOGRAPHS),
        ],
    ),
    (
        "CorrAE's `alpha` on r18 and r17: .4, the highest of .1, .2 and .4.",
        [({"corrae"}, "alpha", 0.4, (0.1, 0.2, 0.4), {"r18", "r17"})],
    ),
    (
        "On `scenes` two rates were tried for each, so that all are edges: the upper, .001 of .0003 and .001, for DCMH,"
        " DVSH and DNH-C, the lower, .001 of .001 and .003, for CM-NN and CorrAE.",
        [
            ({"dcmh", "dvsh", "dnh-c"}, "learning_rate", 0.001, LOW, {"scenes"}),
            ({"cm-nn", "corrae"}, "learning_rate", 0.001, HIGH, {"scenes"}),
        ],
    ),
]


def test_choices_lie_at_an_edge_of_what_was_tried_where_it_is_said_and_nowhere_else():
    found = set()
    for cell in (cell for cell in compared() if "tuning" in cell):
        task = cell["rule"] if cell["dataset"] == "coco18" else cell["dataset"]
        for name, value in cell["tuning"]["chosen"].items():
            tried = tuple(sorted({one["settings"][name] for one in cell["tuning"]["tried"]}))
            if not isinstance(value, str) and value in (tried[0], tried[-1]):  # words have no order
                found.add((cell["method"], name, value, tried, task))
    told = [line for _, lines in EDGES for line in lines]
    assert found == {(method, *edge, task) for methods, *edge, tasks in told for method in methods for task in tasks}
    page = words_of(RESULTS / "README.md")
    assert [words for words, _ in EDGES if words not in page] == []
    assert "No other number that was chosen lies at an edge." in page


def test_forms_of_regions_gain_and_lose_on_queries_as_is_said():
    page = words_of(RESULTS / "README.md")
    lines = {}
    for dataset in ("coco18", "iapr22"):
        for line in cells_of(RESULTS / dataset / "regions.jsonl"):
            lines[line["rule"], line["form"], line["place"]] = line
    ahead = {place: line["over_whole"] for place, line in lines.items() if line["interval"][0] > 0}
    on_clean = {place[:2]: gain for place, gain in ahead.items() if place[2] == "clean/text_to_image"}
    assert on_clean.keys() == {("r18", "vote, yolox"), ("r17", "vote, yolox")}
    assert f"with YOLOX's regions for sentences, by {ends(on_clean.values())}, and" in page
    pictures = {place[:2]: gain for place, gain in ahead.items() if place[2] == "clean/image_to_text"}
    assert pictures.keys() == {("r17", "vote, grid")}
    assert f"with those of `grid` for pictures of r17, by {short(pictures['r17', 'vote, grid'])};" in page
    iapr22 = [line for place, line in lines.items() if place[0] == "all" and place[2].startswith("clean/")]
    assert all(line["interval"][1] < 0 for line in iapr22)
    assert f"every form is behind on iapr22 by {ends(line['over_whole'] for line in iapr22)}." in page
    gains = {place[:2]: gain for place, gain in ahead.items() if place[2] == "database/text_to_image"}
    by = {kind: {place: gain for place, gain in gains.items() if place[1].startswith(kind)} for kind in ("vote", "max")}
    assert by["vote"].keys() == {*product(("r18", "r17", "all"), ("vote, grid", "vote, yolox"))}
    assert by["max"].keys() == {*product(("r17", "all"), ("max, grid", "max, yolox"))}
    vote, largest = (ends(gains.values()) for gains in by.values())
    assert f"gain beyond the interval by `vote` everywhere, {vote}, and by `max` on r17 and iapr22, {largest}." in page


def test_the_detector_of_experiments_is_named_as_where_its_proposals_were_judged():
    digest = json.loads((RESULTS / "rpn.json").read_text())["digests"]["teacher"]
    page = words_of(RESULTS / "README.md")
    assert f"YOLOX-Nano, trained on COCO train2017: SHA-256 `{digest}`; Apache-2.0" in page


def test_dcmh_is_ahead_on_clean_where_it_is_said_to_be_and_nowhere_else():
    found = {}
    for cell in (cell for cell in compared() if cell["gallery"] == "clean" and cell["method"] in ("dcmh", "tvdb")):
        place = cell["dataset"], cell["rule"], cell["bits"], cell["direction"]
        found[cell["method"], place] = cell["map_all"], cell["map_500"]["value"]
    pairs = {place: (found["dcmh", place], found["tvdb", place]) for method, place in found if method == "dcmh"}
    assert all(dcmh[0] < tvdb[0] for dcmh, tvdb in pairs.values())
    ahead = {place: (dcmh[1], tvdb[1]) for place, (dcmh, tvdb) in pairs.items() if dcmh[1] > tvdb[1]}
    dcmh, tvdb = ahead.pop(("iapr22", "all", 128, "image_to_text"))
    page = words_of(RESULTS / "README.md")
    assert f"for picture queries of iapr22 at 128 bits ({short(dcmh)} against {short(tvdb)})" in page
    dcmh, tvdb = ahead.pop(("scenes", "all", 16, "text_to_image"))
    assert f"and, by {short(dcmh - tvdb)}, for sentences of `scenes` at 16" in page
    assert ahead == {}
