"""Experiments on tables: columns of a set that follow from another, counts of leads, seconds of methods."""

import numpy as np
import pandas as pd
import pytest

from dpgrs_papers.experiments import kendall_tables, tukey_time
from dpgrs_papers.tabular.feature_tables import FeatureTable
from experiment_runs import rows_of_replicate


def test_with_ratios__has_rooms_and_people_of_a_household():
    features = ["income", "total_rooms", "total_bedrooms", "population", "households"]
    X = np.array([[3.0, 880, 129, 322, 126], [8.0, 7099, 1106, 2401, 1138]])
    table = FeatureTable(X, np.zeros(2), features, "price", frozenset(), "houses.csv")
    found = kendall_tables.with_ratios(table).X
    np.testing.assert_allclose(found[0], [3, 880 / 126, 129 / 126, 322, 322 / 126])
    np.testing.assert_allclose(found[1], [8, 7099 / 1138, 1106 / 1138, 2401, 2401 / 1138])
    assert table.X[0, 1] == 880


def test_leads_of_kendall__counts_sets_and_no_model_leads_nothing():
    medians = {"a": (0.3, 0.2), "b": (0.1, 0.2), "c": (-np.inf, -np.inf), "d": (-1.0, -np.inf)}
    rows = [
        {"part": part, "k": 5, "reading": "ours", "method": name, "median": median}
        for part, both in medians.items()
        for name, median in zip(("k-tukey", "l-tukey"), both, strict=True)
    ]
    assert kendall_tables.leads_of_kendall(pd.DataFrame(rows)) == {(5, "ours"): 2}


def test_tukey_time__has_the_seconds_of_each_method():
    settings = {"seed": 1, "methods": {"models": [300], "steps": [5]}}
    rows = rows_of_replicate(tukey_time, "methods", settings)
    steps = ["least squares", "AdaSSP", "Tukey, 300 models", "DP-SGD, 5 steps"]
    assert rows["step"].tolist() == steps
    table = tukey_time.summarise(rows, settings)
    numbers = tukey_time.compare(table, settings)
    assert numbers["step"].tolist() == steps
    assert (numbers["seconds"].astype(float) > 0).all()
    assert numbers["exponent"].isna().all()


@pytest.mark.parametrize("k", [5, 10])
def test_printed__has_a_number_for_each_method(k):
    assert {len(values) for values in kendall_tables.PRINTED[k].values()} == {len(kendall_tables.COMPARED)}
