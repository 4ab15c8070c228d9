"""Experiments on the PRIMO paper's figures: ReuseCov along a path of penalties, and DP-SGD over a grid."""

import shutil

import numpy as np
import pandas as pd
import pytest

from dpgrs.evaluation.metrics import mse, r_squared
from dpgrs.experiments.primo_fits import TestRows
from dpgrs.io.panel import Panel
from dpgrs.io.trials import Outcomes, load_labelled
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.study import training_data
from draws import draw_all
from step_settings import settings_for
from step_studies import N_VARIANTS, Study
from study_runs import REPOSITORY, load_experiment

GRID = {"protections": ["full", "feature"], "accountings": ["paper"], "epsilons": [8.0], "delta": 1e-5}
GRID |= {"sizes": [N_VARIANTS], "counts": [2], "neighbours": "replace-one", "unit": "person"}
METHODS = ["ridge", "reusecov-gauss", "reusecov-proj"]


@pytest.fixture
def experiment(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "config" / "experiments")
    return load_experiment("primo")


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study of which every fifth person is to be tested on."""
    study = Study(tmp_path, monkeypatch)
    outcomes = Outcomes.load(tmp_path / "outcomes.npz")
    outcomes.is_training[::5] = False
    outcomes.save(tmp_path / "outcomes.npz")
    return study


def test_test_rows__tell_errors_as_predictions_do():
    draws = np.random.default_rng(1)
    X, Y, mean = draws.standard_normal((50, 4)), draws.standard_normal((3, 50)), draws.standard_normal(3)
    fit = LinearFit(draws.standard_normal((2, 4)), draws.standard_normal(4), draws.standard_normal(2))
    r2, error = TestRows(X, Y, mean).errors(fit)
    np.testing.assert_allclose(r2, r_squared(Y[:2], fit.predict(X), training_mean=mean[:2]))
    np.testing.assert_allclose(error, mse(Y[:2], fit.predict(X)))


@pytest.mark.parametrize("bounds", ["worst-case", "paper"])
def test_path_of_trial__has_the_fits_of_the_study_at_its_penalty(experiment, study, tmp_path, bounds):
    config = study.settings("naive", bounds=bounds) | {"mode": "benchmark"}
    statistics = study.sum_up(config, count=2)
    drawn = draw_all(tmp_path, METHODS, statistics=statistics, **GRID)
    weights, outcomes = tmp_path / "weights.npz", Outcomes.load(tmp_path / "outcomes.npz")
    regression = {"lambda": 0.3, "joint_projection": True}
    options = {"statistics": statistics, "outcomes": tmp_path / "outcomes.npz", "output": weights}
    settings = settings_for("fit-weights", methods=METHODS, regression=regression)
    fit_weights(settings, drawn.values(), **options, seconds=tmp_path / "seconds.tsv")
    (tmp_path / "drawn").mkdir()
    for path in drawn.values():
        shutil.copy(path, tmp_path / "drawn")
    regression |= {"lambda_from": "fixed", "heritability": None, "lambda": 100.0}
    terms = {"methods": METHODS, "outcomes": {"count": [2]}, "regression": regression}
    panel = training_data.Panel.open("panel")
    assert panel is not Panel
    path = experiment.path_of_trial(tmp_path, terms, panel=panel, penalties=[0.1, 0.3])
    found = {(row["method"], row["protection"]): row["r2"] for row in path if row["penalty"] == 0.3}
    expected = {}
    is_test, X = ~outcomes.is_training, study.X[~outcomes.is_training]
    Y, training = outcomes.values[N_VARIANTS][:2], outcomes.is_training
    for label, arrays in load_labelled(weights):
        fit = LinearFit(**arrays)
        predicted = LinearFit(fit.weights[:2], fit.means, fit.intercept[:2]).predict(X)
        r2 = r_squared(Y[:, is_test], predicted, training_mean=Y[:, training].mean(axis=1))
        expected[label["method"], label["protection"]] = r2.mean()
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected)


def test_lines__name_the_best_as_peeked_beside_the_fixed(experiment, tmp_path):
    cell = {"epsilon": 5.0, "n_variants": 4}
    path = [
        {"method": method, "protection": kind, "n_outcomes": n, "penalty": penalty, "r2": r2, "mse": 1 - r2}
        | (cell if kind == "full" else cell | {"epsilon": np.nan})
        for n in (1, 10)
        for method, kind, found in (("ridge", "none", (0.5, 0.4)), ("reusecov-gauss", "full", (-3.0, 0.1)))
        for penalty, r2 in zip((0.1, 10.0), found, strict=True)
    ]
    others = [{"method": "naive", "protection": "full", "n_outcomes": 1, "r2": -9.0, "mse": 10.0} | cell]
    table = experiment.lines(pd.DataFrame(path), pd.DataFrame(others), fixed=0.12)
    own = table[(table["method"] == "reusecov-gauss") & (table["n_outcomes"] == 1)].set_index("which")
    assert own.loc["fixed", "r2"] == -3.0
    assert (own.loc["peeked", "r2"], own.loc["peeked", "penalty"]) == (0.1, 10.0)
    assert own.loc["peeked", "log_ratio"] == pytest.approx(np.log(0.9 / 0.5))
    _, _, first, second = experiment.in_markdown(table)
    assert first == "| 5, 4, 1 | -3 (0.100 at 10) | (0.500 at 0.1) | -9 |"
    assert second.startswith("| 5, 4, 10 | ")
    experiment.draw(table, tmp_path / "lines.png")
    assert (tmp_path / "lines.png").read_bytes().startswith(b"\x89PNG")


def test_tuned__is_a_quantile_of_the_grid(experiment):
    sgd = load_experiment("primo_sgd")
    found = [({"steps": number}, float(number)) for number in np.random.default_rng(3).permutation(21)]
    assert sgd.tuned(found, 1.0) == ({"steps": 20}, 20.0)
    assert sgd.tuned(found, 0.9) == ({"steps": 18}, 18.0)
