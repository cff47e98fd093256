"""The benchmark of the server measures what it says, with wrk and without."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import server


@pytest.mark.parametrize("client", ["our own", "wrk"])
def test_a_small_run_has_no_errors_and_answers_of_one_size(tmp_path, monkeypatch, capsys, client):
    if client == "our own":
        monkeypatch.setattr(server.shutil, "which", lambda _: None)
    monkeypatch.setattr(server, "CONNECTIONS", (2,))
    (cell,) = server.beside_bare("codes", *server.make_codes(tmp_path, 500), tmp_path, seconds=1, rounds=1)
    assert cell["errors"] == {"ours": 0, "bare": 0}
    assert cell["ours"]["requests"] > 20
    ours, bare = map(int, [word for word in capsys.readouterr().out.replace(",", "").split() if word.isdigit()][:2])
    assert abs(ours - bare) < 0.1 * bare
