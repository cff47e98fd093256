"""Seconds of an update: the least of several, and a power only of times that have one."""

import numpy as np
import pytest

from deepbinaries.experiments.paper import update_times
from deepbinaries.experiments.paper.timing import growth
from deepbinaries.experiments.paper.update_times import measure

LABELS = np.eye(4, dtype=bool)[np.arange(12) % 4]


@pytest.mark.parametrize("update", ["printed", "gram", "spectral", "relaxed"])
def test_the_least_of_the_repeats_counts_for_each_kind_of_time(monkeypatch, update):
    # Of three repeats the first is slow, as the first of a process is, and the last was disturbed.
    lasts = iter([9.0, 1.0, 5.0, 9.0, 2.0, 5.0, 9.0, 3.0, 5.0, 9.0, 4.0, 5.0])
    began_and_ended = iter([time for last in lasts for time in (0.0, last)])
    monkeypatch.setattr(update_times.time, "perf_counter", lambda: next(began_and_ended))
    found = measure(update, 0.3, LABELS, bits=8, batch=4, repeats=3, lasting=0, device="cpu")
    assert found == {"seconds": {"batch": 1.0, "first": 2.0, "again": 3.0, "start": 4.0}, "label_sets": 4}


def test_repeats_go_on_until_they_have_lasted(monkeypatch):
    # A disturbance outlasts three repeats; of the batch alone, each other work is long enough.
    lasts = iter([0.3, 0.3, 0.3, 0.1, 0.2, *(3 * [1.0] + 3 * [2.0] + 3 * [3.0])])
    began_and_ended = iter([time for last in lasts for time in (0.0, last)])
    monkeypatch.setattr(update_times.time, "perf_counter", lambda: next(began_and_ended))
    found = measure("printed", 0.3, LABELS, bits=8, batch=4, repeats=3, lasting=1.1, device="cpu")
    assert found["seconds"] == {"batch": 0.1, "first": 1.0, "again": 2.0, "start": 3.0}


def test_the_first_update_of_a_set_finds_out_who_is_similar_each_time(monkeypatch):
    asked, by_label_set = [], update_times.by_label_set
    monkeypatch.setattr(update_times, "by_label_set", lambda labels: (asked.append(1), by_label_set(labels))[1])
    measure("spectral", 0.3, LABELS, bits=8, batch=4, repeats=3, lasting=0, device="cpu")
    assert len(asked) == 1 + 3  # what is known from then on, and each of the first times


@pytest.mark.parametrize(
    ("seconds", "power"),
    [([1, 2, 4], 1.0), ([1, 4, 16], 2.0), ([1, 4, 3], None), ([2, 2, 2], None), ([4, 2, 1], None), ([1, 2], None)],
)
def test_times_that_do_not_rise_have_no_power(seconds, power):
    assert growth([10, 20, 40][: len(seconds)], seconds) == (None if power is None else pytest.approx(power))
