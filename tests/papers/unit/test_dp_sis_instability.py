"""DP-SIS's instability experiment: votes of blocks, and what counts as reproduced."""

import numpy as np

from dpgrs_papers.experiments import dp_sis_instability as instability
from dpgrs_papers.experiments.frame import Verdict
from experiment_runs import rows_of_replicate

SETTINGS = {"seed": 1, "repeats": 1, "repeats_of_readings": 1}


def test_votes__are_of_groups_and_find_a_clear_feature():
    X = np.random.default_rng(3).standard_normal((40, 12))
    for is_raw in (False, True):
        supports, largest = instability.votes(X, 4 * X[:, 7], np.arange(40) // 10, is_raw=is_raw)
        assert supports[7] == largest[7] == 4
        assert largest.sum() == 4 * 5


def test_correlations__are_those_of_numpy():
    X = np.random.default_rng(4).standard_normal((100, 6))
    y = X @ [1, 2, 0, 0, -3, 0.5]
    expected = np.abs([np.corrcoef(x, y)[0, 1] for x in X.T])
    found = instability.correlations(X, y)
    np.testing.assert_allclose(found / found.max(), expected / expected.max(), atol=1e-3)


def test_replicate__counts_five_features_a_data_set_and_judges():
    rows = rows_of_replicate(instability, "W1", SETTINGS)
    sums = rows.groupby(["reading", "method"])["taken"].sum()
    assert (sums == 5).all()
    table = instability.summarise(rows, SETTINGS)
    assert set(instability.compare(table, SETTINGS)["reading"]) == {instability.STATED, *instability.READINGS}
    other = table.assign(share=np.where(table["method"].str.startswith("SIS"), 0.0, 1.0))
    assert instability.judge(other, SETTINGS)[0] == Verdict.WITH_DIFFERENCE
    assert instability.judge(other.assign(share=1 - other["share"] / 2), SETTINGS)[0] == Verdict.REPRODUCED
