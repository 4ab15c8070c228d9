"""The frontier of methods on two halves of real people: one case, run twice."""

import pandas as pd
import pytest

from study_runs import load_experiment

pytestmark = [pytest.mark.experiments, pytest.mark.realdata, pytest.mark.nightly]


def test_frontier__of_matched_halves(real_data, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    frontier = load_experiment("frontier")
    arguments = [str(real_data), "matched-1", "--size", "100", "--count", "10"]
    assert frontier.main(arguments) == 0
    first = capfd.readouterr()
    r2 = pd.read_csv(frontier.TABLE, sep="\t").set_index(["method", "epsilon"])["r2"]
    # As measured: 0.310 and 0.367, of ten outcomes.
    assert r2["blup-ld", 1] > r2["blup", 1] + 0.02
    assert frontier.main(arguments) == 0
    second = capfd.readouterr()
    assert "Nothing to be done" in second.err
    assert second.out == first.out
