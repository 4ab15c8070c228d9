import numpy as np
import pandas as pd
import pytest

from dpgrs.io.files import write_table
from dpgrs.reporting.accuracy import Accuracy, mean, replicate_means, summary, to_array
from dpgrs.reporting.data import ReportData, read_metrics
from refused import refused
from report_data import make_report_data


@pytest.fixture(scope="module")
def data():
    return make_report_data(n_outcomes=3, replicates=2)


def select(metrics, fit, **values):
    values |= {"method": fit.method, "accounting": fit.accounting}
    chosen = np.all([metrics[name] == value for name, value in values.items()], axis=0)
    epsilon = metrics["epsilon"]
    return metrics[chosen & (epsilon.isna() if fit.epsilon is None else epsilon == fit.epsilon)]


def test_accuracy__every_cell_is_its_row(data):
    shuffled = data.metrics.sample(frac=1, random_state=1)

    accuracy = Accuracy.of(shuffled, outcomes=data.outcomes, replicates=2)

    assert accuracy.r2.shape == (8, 3, 2)
    for place, fit in enumerate(accuracy.fits):
        for (i, name), replicate in ((pair, t) for pair in enumerate(data.outcomes) for t in (1, 2)):
            row = select(data.metrics, fit, outcome=name, replicate=replicate, n_variants=24, n_outcomes=3)
            assert accuracy.r2[place, i, replicate - 1] == row["r2"].item()
            assert accuracy.mse[place, i, replicate - 1] == row["mse"].item()


def test_to_array__absent_rows_are_nan_and_unknown_labels_are_left_out():
    table = pd.DataFrame({"a": ["x", "y", "z"], "b": [1, 2, 1], "value": [1.0, 2.0, 3.0]})

    array = to_array(table, "value", {"a": ["y", "x"], "b": [1, 2]})

    np.testing.assert_array_equal(array, [[np.nan, 2.0], [1.0, np.nan]])


def test_mean__without_values_is_nan_and_gives_no_warning():
    values = np.array([[1.0, np.nan], [3.0, np.nan]])

    np.testing.assert_array_equal(mean(values, axis=0), [2.0, np.nan])
    assert mean(values) == 2.0
    assert np.isnan(mean(np.array([])))


def test_replicate_means__is_the_mean_over_outcomes(data):
    fits, points = replicate_means(data.metrics)

    row = points.query("n_variants == 12 and n_outcomes == 3 and replicate == 2 and fit == 3")
    expected = select(data.metrics, fits[3], n_variants=12, n_outcomes=3, replicate=2)
    assert row["r2"].item() == pytest.approx(expected["r2"].mean())


def test_summary__matches_pandas_and_begins_with_the_largest_design(data):
    rows = summary(data.metrics)

    assert (rows[0]["n_variants"], rows[0]["n_outcomes"]) == (24, 3)
    assert len(rows) == 2 * 2 * 8
    for row in rows:
        expected = select(
            data.metrics, row["fit"], n_variants=row["n_variants"], n_outcomes=row["n_outcomes"]
        )
        quartiles = expected["r2"].quantile([0.25, 0.5, 0.75]).tolist()
        assert [row["q1"], row["median"], row["q3"]] == pytest.approx(quartiles)
        free = data.metrics[data.metrics["protection"] == "none"]
        free = free[(free["n_variants"] == row["n_variants"]) & (free["n_outcomes"] == row["n_outcomes"])]
        best = free.groupby("method")["mse"].mean().min()
        assert row["mse_ratio"] == pytest.approx(expected["mse"].mean() / best)
        assert row["missing"] == 0


def test_summary__withheld_values_are_counted_and_change_no_ratio(data):
    metrics = data.metrics.assign(mse_nonprivate=1.0, mse=2.0)
    withheld = (metrics["outcome"] == data.outcomes[0]) & (metrics["method"] == "gblup")
    metrics.loc[withheld, ["r2", "mse"]] = np.nan

    row = next(row for row in summary(metrics) if row["fit"].method == "gblup")

    assert row["missing"] == 2
    assert row["mse_ratio"] == 2.0
    only_nothing = next(
        row for row in summary(metrics) if row["fit"].method == "gblup" and row["n_outcomes"] == 1
    )
    assert np.isnan(only_nothing["mean"])
    assert np.isnan(only_nothing["mse_ratio"])


def test_read_metrics__names_stay_text_and_missing_numbers_are_nan(tmp_path, data):
    renamed = data.metrics.assign(outcome=data.metrics["outcome"].replace(dict.fromkeys(data.outcomes, "NA")))
    renamed.loc[0, "outcome"] = "007"
    renamed.loc[1, "r2"] = np.nan
    write_table(tmp_path / "metrics.tsv", renamed)

    read = read_metrics(tmp_path / "metrics.tsv")

    assert read["outcome"].tolist() == renamed["outcome"].tolist()
    assert read["accounting"].tolist() == renamed["accounting"].tolist()
    assert np.isnan(read.loc[1, "r2"])
    np.testing.assert_allclose(read["epsilon"], renamed["epsilon"])


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"outcomes": ("a", "a", "b")}, ("outcome-name-twice", "`outcomes`")),
        ({"outcomes": ("a", "b", "c")}, ("metrics-of-other-outcomes", "`metrics`")),
        ({"effects": np.zeros((3, 5))}, ("report-array-shape", "`effects`")),
    ],
)
def test_report_data__raise_on_parts_that_do_not_fit(data, changes, fault):
    with refused(*fault):
        ReportData(**vars(data) | changes)


def test_summary__errors_are_those_of_the_best_fit_without_privacy_on_the_same_rows():
    cells = {("ols", 1): 3.0, ("ols", 2): 1.0, ("s", 1): 1.5, ("s", 2): 1.5, ("blup", 1): 3.0}
    metrics = pd.DataFrame(
        [
            {
                "method": name,
                "protection": "full" if name == "blup" else "none",
                "mse": error,
                "replicate": replicate,
            }
            for (name, replicate), error in cells.items()
        ]
    ).assign(accounting="", epsilon=np.nan, outcome="a", n_variants=1, n_outcomes=1, status="ok", r2=0.0)
    metrics.loc[4, ["accounting", "epsilon"]] = ["gdp", 1.0]

    def ratios(gblup):
        return {row["fit"].method: row["mse_ratio"] for row in summary(metrics.assign(mse_nonprivate=gblup))}

    assert ratios(9.0) == {"ols": 2 / 1.5, "s": 1.0, "blup": 2.0}
    # GBLUP counts where it is not among the methods, too.
    assert ratios(0.5) == {"ols": 4.0, "s": 3.0, "blup": 6.0}
