"""ReuseCov along a path of penalties, as PRIMO's figures have it, beside the fits of a study."""

from itertools import chain

import numpy as np
import pytest

from dpgrs.evaluation.metrics import mse, r_squared
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Statistics, load_labelled
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.mechanisms import mechanism_of_file, request_of
from dpgrs.methods.registry import METHODS as REGISTRY
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.study import training_data
from dpgrs.study.training_rows import public_outcomes
from dpgrs_papers.experiments.primo_fits import TestRows, released_path, ridge_path, rows_to_test_on
from draws import draw_all
from outcome_files import changed_outcomes
from step_settings import settings_for
from step_studies import N_VARIANTS, Study

GRID = {"protections": ["full", "feature"], "accountings": ["paper"], "epsilons": [8.0], "delta": 1e-5}
GRID |= {"sizes": [N_VARIANTS], "counts": [2], "neighbours": "replace-one", "unit": "person"}
METHODS = ["ridge", "reusecov-gauss", "reusecov-proj"]


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study of which every fifth person is to be tested on."""
    study = Study(tmp_path, monkeypatch)
    with changed_outcomes(tmp_path / "outcomes.zarr") as outcomes:
        outcomes.is_training[::5] = False
    return study


def test_test_rows__tell_errors_as_predictions_do():
    draws = np.random.default_rng(1)
    X, Y, mean = draws.standard_normal((50, 4)), draws.standard_normal((3, 50)), draws.standard_normal(3)
    fit = LinearFit(draws.standard_normal((2, 4)), draws.standard_normal(4), draws.standard_normal(2))
    r2, error = TestRows(X, Y, mean).errors(fit)
    np.testing.assert_allclose(r2, r_squared(Y[:2], fit.predict(X), training_mean=mean[:2]))
    np.testing.assert_allclose(error, mse(Y[:2], fit.predict(X)))


@pytest.mark.parametrize("bounds", ["worst-case", "paper"])
def test_path__has_the_fits_of_the_study_at_its_penalty(study, tmp_path, bounds):
    config = study.settings("naive", bounds=bounds).changed(mode="benchmark")
    statistics = study.sum_up(config, count=2)
    drawn = draw_all(tmp_path, METHODS, statistics=statistics, **GRID)
    weights, outcomes = tmp_path / "weights.npz", Outcomes.load(tmp_path / "outcomes.zarr")
    regression = {"lambda": 0.3, "joint_projection": True}
    options = {"statistics": statistics, "outcomes": tmp_path / "outcomes.zarr", "output": weights}
    settings = settings_for("fit-weights", methods=METHODS, regression=regression)
    fit_weights(settings, drawn.values(), **options, seconds=tmp_path / "seconds.tsv")
    test = {N_VARIANTS: rows_to_test_on(training_data.VariantSet.open("variant_set"), N_VARIANTS, outcomes)}
    path = list(ridge_path(Statistics.load(statistics), test, counts=[2], penalties=[0.1, 0.3]))
    regression |= {"lambda_from": "fixed", "heritability": None, "lambda": 100.0}
    for label, arrays in chain.from_iterable(map(load_labelled, drawn.values())):
        request = request_of(label)
        known = {"request": request, "outcomes": public_outcomes(outcomes, request, count=2)}
        known |= {"regression": regression, "penalties": [0.1, 0.3]}
        noisy = mechanism_of_file(label).restore(label, arrays)
        for method in METHODS[1:]:
            if request.protection in REGISTRY[method].protections:
                path += released_path(noisy, test, method=method, **known)
    found = {(row["method"], row["protection"]): row["r2"] for row in path if row["penalty"] == 0.3}
    expected = {}
    is_test, X = ~outcomes.is_training, study.X[~outcomes.is_training]
    Y, training = outcomes.values[N_VARIANTS][:2], outcomes.is_training
    for label, arrays in load_labelled(weights):
        if not label["reported"]:
            continue
        fit = LinearFit.of(arrays)
        predicted = LinearFit(fit.weights[:2], fit.means, fit.intercept[:2]).predict(X)
        r2 = r_squared(Y[:, is_test], predicted, training_mean=Y[:, training].mean(axis=1))
        expected[label["method"], label["protection"]] = r2.mean()
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected)
