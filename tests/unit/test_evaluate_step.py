"""The step that measures fits on the test rows, a part of the people at a time."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpgrs.evaluation.binary_metrics import TOO_FEW_FOR_TENTHS
from dpgrs.evaluation.intervals import added_r2, area_under_curve
from dpgrs.evaluation.metrics import TERMS, mse, r_squared
from dpgrs.evaluation.rows import joined_rows
from dpgrs.genotypes.bits import pack
from dpgrs.io.files import write_table
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import save_labelled
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.linalg.statistics import coded_rows
from dpgrs.steps import evaluate_replicate as step
from dpgrs.study import score_measures
from random_cohorts import random_alleles
from step_settings import settings_for
from variant_sets import variants_in_memory

N_PEOPLE, N_VARIANTS, NAMES = 150, 6, ("a", "b", "c")
PREVALENCE, SCALE = 0.4, np.sqrt(0.4 * 0.6)
POPULATIONS = np.array(["YRI", "CEU", "CHB"])[np.arange(N_PEOPLE) % 3]
PRIVATE = {"method": "blup", "protection": "full", "neighbours": "add-remove", "unit": "person"}
PRIVATE |= {"accounting": "gdp", "epsilon": 1.0, "delta": 1e-6, "reported": True}
FREE = dict.fromkeys(TERMS) | {"method": "gblup", "protection": "none", "reported": True}


@pytest.fixture(params=["haplotypes", "people"])
def replicate(request, tmp_path, monkeypatch):
    """Files of a replicate, its X and Y, and a function that measures it and returns both tables."""
    rows = request.param
    rng = np.random.default_rng(0)
    bits = pack(random_alleles(N_VARIANTS, 2 * N_PEOPLE))
    n_haplotypes = 2 * N_PEOPLE
    X = coded_rows(bits, n_haplotypes=n_haplotypes, rows=rows)
    Y = rng.standard_normal((3, N_VARIANTS)) @ X.T + rng.standard_normal((3, len(X)))
    Y[0, ::7] = np.nan
    rows_a_person = len(X) // N_PEOPLE
    Y[2] = ((Y[2] > 0) - PREVALENCE) / SCALE
    # Both haplotypes of a person have that person's outcome.
    Y = np.repeat(Y[:, ::rows_a_person], rows_a_person, axis=1)
    is_training = np.repeat(np.arange(N_PEOPLE) % 4 > 0, rows_a_person)
    known = {"prevalence": np.array([np.nan, np.nan, PREVALENCE])}
    Outcomes(NAMES, {N_VARIANTS: Y}, {}, is_training, rows, **known).save(tmp_path / "outcomes.zarr")
    sample_id = np.array([f"P{number}" for number in range(N_PEOPLE)])
    variant_set = variants_in_memory(
        bits, n_haplotypes=n_haplotypes, sample_id=sample_id, of_size=lambda size: np.arange(size)
    )
    monkeypatch.setattr(step, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
    write_table(tmp_path / "who.tsv", pd.DataFrame({"sample": sample_id, "population": POPULATIONS}))
    fits = {
        count: LinearFit(rng.normal(size=(count, N_VARIANTS)), np.full(N_VARIANTS, 0.1), np.arange(count))
        for count in (1, 3)
    }
    labelled = [
        (label | {"n_variants": N_VARIANTS, "n_outcomes": count}, fits[count].arrays())
        for label, count in ((FREE, 3), (PRIVATE, 1), (PRIVATE, 3))
    ]
    save_labelled(tmp_path / "weights.npz", labelled)
    write_table(tmp_path / "seconds.tsv", pd.DataFrame({"seconds": [1.0, 2.0, 3.0]}))

    def measure(at_a_time=N_PEOPLE):
        monkeypatch.setattr(step, "people_at_a_time", lambda n_entries: at_a_time)
        tables = {name: tmp_path / f"{name}.tsv" for name in ("metrics", "population_metrics", "measures")}
        places = [tmp_path / name for name in ("outcomes.zarr", "weights.npz", "seconds.tsv")]
        settings = settings_for("evaluate-replicate", outcomes={"count": [1, 3]})
        step.evaluate_replicate(
            settings, "variant_set", *places, replicate=1, populations=tmp_path / "who.tsv", **tables
        )
        return [pd.read_csv(path, sep="\t") for path in tables.values()]

    return SimpleNamespace(measure=measure, X=X, Y=Y, is_training=is_training, fits=fits)


def of_people(replicate, fit, is_selected):
    """Return outcomes of selected people and what a fit predicts of them: of one row, or of both together."""
    rows_a_person = len(replicate.X) // N_PEOPLE
    X = (replicate.X[is_selected] - fit.means).reshape(-1, rows_a_person, N_VARIANTS).sum(axis=1)
    predicted = fit.intercept[:, np.newaxis] + fit.weights @ X.T
    return replicate.Y[: len(predicted), is_selected][:, ::rows_a_person], predicted


def test_evaluate_replicate__measures_every_fit_on_the_test_people(replicate):
    metrics, _, _ = replicate.measure()
    is_test, n_rows = ~replicate.is_training, np.count_nonzero(replicate.is_training)
    assert metrics["n_rows"].unique().tolist() == [n_rows]
    assert metrics.groupby("method").size().to_dict() == {"blup": 4, "gblup": 4}
    mean = np.nanmean(replicate.Y[:, replicate.is_training], axis=1)
    for method, count in (("gblup", 1), ("gblup", 3), ("blup", 1), ("blup", 3)):
        own = metrics[(metrics["method"] == method) & (metrics["n_outcomes"] == count)]
        # Without privacy one fit is that of all numbers of outcomes.
        Y, predicted = of_people(replicate, replicate.fits[3 if method == "gblup" else count], is_test)
        Y, predicted = Y[:count], predicted[:count]
        np.testing.assert_allclose(own["mse"], mse(Y, predicted))
        np.testing.assert_allclose(own["r2"], r_squared(Y, predicted, training_mean=mean[:count]))
        of_gblup = mse(*of_people(replicate, replicate.fits[3], is_test))
        np.testing.assert_allclose(own["mse_nonprivate"], of_gblup[:count])


def test_evaluate_replicate__populations_are_measured_about_their_own_mean(replicate):
    _, found, _ = replicate.measure()
    assert set(found["n_outcomes"]) == {3}
    groups = np.repeat(POPULATIONS, len(replicate.X) // N_PEOPLE)
    for name in ("CEU", "CHB", "YRI"):
        is_own = ~replicate.is_training & (groups == name)
        own = found[(found["population"] == name) & (found["method"] == "blup")]
        Y, predicted = of_people(replicate, replicate.fits[3], is_own)
        assert own["n_rows"].unique().tolist() == [Y.shape[1]]
        expected = r_squared(Y, predicted, training_mean=np.nanmean(Y, axis=1))
        np.testing.assert_allclose(own["r2"], expected)


def test_evaluate_replicate__parts_of_the_people_change_nothing_but_last_digits(replicate):
    whole, parts = replicate.measure(), replicate.measure(64)
    for one, other in zip(whole, parts, strict=True):
        pd.testing.assert_frame_equal(one, other, rtol=1e-12)


@pytest.mark.parametrize("at_a_time", [1, 2, 4])
def test_evaluate_replicate__measures_hang_on_no_number_of_scores_in_memory(
    replicate, monkeypatch, at_a_time
):
    """Fits are cut, and several are measured together."""
    *_, whole = replicate.measure()
    n_units = np.count_nonzero(~replicate.is_training) // (len(replicate.X) // N_PEOPLE)
    monkeypatch.setattr(score_measures, "MOST_SCORES", at_a_time * n_units)
    *_, found = replicate.measure()
    assert len(whole)
    pd.testing.assert_frame_equal(found, whole, rtol=1e-12)


@pytest.mark.parametrize("means", ["of all", "of each"])
@pytest.mark.parametrize("rows_of_unit", [1, 2])
def test_measured_people__predictions_of_units_with_covariates(rows_of_unit, means):
    """Of two columns of a table, the same on both haplotypes of a person, and a component, which is not."""
    rng, size, n = np.random.default_rng(3), 4, 10
    X = rng.normal(size=(n * rows_of_unit, size + 3))
    X[:, size : size + 2] = np.repeat(X[::rows_of_unit, size : size + 2], rows_of_unit, axis=0)
    own = rng.normal(size=(3, size + 3))
    fit = LinearFit(rng.normal(size=own.shape), own if means == "of each" else own[0], rng.normal(size=3))
    people = object.__new__(score_measures.MeasuredPeople)
    vars(people).update(_rows_of_unit=rows_of_unit, _size=size, _of_table=slice(size, size + 2))
    constants, slopes = people._of_covariates(fit)
    units = X.reshape(n, rows_of_unit, -1).sum(axis=1)
    found = units[:, :size] @ fit.weights[:, :size].T + constants + units[:, size:] @ slopes.T
    wanted = fit.predict(X).T.reshape(n, rows_of_unit, 3).sum(axis=1)
    if rows_of_unit == 2:  # a table's covariates count once
        table = slice(size, size + 2)
        wanted -= ((X[::2, np.newaxis] - fit.means) * fit.weights)[:, :, table].sum(axis=2)
    np.testing.assert_allclose(found, wanted)


def test_evaluate_replicate__measures_of_the_largest_design_are_of_people(replicate):
    _, _, found = replicate.measure()
    is_test, rows_a_person = ~replicate.is_training, len(replicate.X) // N_PEOPLE
    assert set(zip(found["method"], found["outcome"], strict=True)) == set(product(("blup", "gblup"), NAMES))
    assert set(found["n_outcomes"]) == {3}
    of_people = (
        (replicate.X[is_test] @ replicate.fits[3].weights.T).T.reshape(3, -1, rows_a_person).sum(axis=-1)
    )
    Y = replicate.Y[:, is_test][:, ::rows_a_person]
    own = found[found["method"] == "blup"].set_index(["outcome", "measure"])
    for outcome, name in enumerate(NAMES):
        known = np.isfinite(Y[outcome])
        assert own.loc[(name, "n"), "value"] == known.sum()
        expected = added_r2(Y[outcome, known], of_people[outcome, known])
        np.testing.assert_allclose(
            own.loc[(name, "r2_added"), ["value", "low", "high"]].astype(float), expected
        )
    of_c = own.loc["c"]
    is_case = Y[2] > 0
    assert of_c.loc["cases", "value"] == is_case.sum()
    expected = area_under_curve(of_people[2, is_case], of_people[2, ~is_case])
    np.testing.assert_allclose(of_c.loc["auc", ["value", "low", "high"]].astype(float), expected)
    assert of_c.loc["calibration", "note"] == TOO_FEW_FOR_TENTHS
    assert "auc" not in own.loc["b"].index


def test_evaluate_replicate__of_chosen_variants_reads_these_alone(replicate, tmp_path, monkeypatch):
    rng, chosen = np.random.default_rng(4), np.array([[1, 4], [0, 4], [1, 2]])
    weights = np.zeros((3, N_VARIANTS))
    np.put_along_axis(weights, chosen, rng.normal(size=chosen.shape), axis=1)
    fit = LinearFit(weights, rng.normal(size=N_VARIANTS), np.arange(3.0))
    label = PRIVATE | {"method": "k-blup", "n_variants": N_VARIANTS, "n_outcomes": 3}
    write_table(tmp_path / "seconds.tsv", pd.DataFrame({"seconds": [1.0]}))
    widths = []
    for module in (step, score_measures):
        monkeypatch.setattr(module, "joined_rows", widely(widths, joined_rows))

    def measured(fit):
        widths.clear()
        save_labelled(tmp_path / "weights.npz", [(label, fit.arrays())])
        return replicate.measure()

    whole = measured(fit)
    assert set(widths) == {N_VARIANTS}
    for one, other in zip(measured(replace(fit, chosen=chosen)), whole, strict=True):
        assert len(one)
        pd.testing.assert_frame_equal(one, other, rtol=1e-12)
    assert set(widths) == {4}


def widely(widths, function):
    """Return a function that notes how wide what it returns is."""

    def noted(*arguments, **options):
        found = function(*arguments, **options)
        widths.append(found.shape[1])
        return found

    return noted
