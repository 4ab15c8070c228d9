import numpy as np
import pytest

from dpgrs.genotypes.bits import pack
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import coded_rows, cross_product, gram
from dpgrs.methods.ols import fit_gblup, fit_ridge
from random_cohorts import random_alleles

OPTIONS = {"n_haplotypes": 300, "rows": "haplotypes"}


def statistics(alleles, Y):
    bits = pack(alleles)
    return gram(bits, **OPTIONS), cross_product(bits, Y, **OPTIONS), 300


def outcomes(n_outcomes=2):
    return grid_outcomes(np.random.default_rng(5).standard_normal((n_outcomes, 300)), bound=3.0)


def test_fit_ridge__constant_and_repeated_variants_get_the_smallest_norm():
    alleles, Y = random_alleles(4, 300), outcomes()
    plain = fit_ridge(*statistics(alleles, Y), penalty=0.0)
    with_odd = np.vstack([alleles, alleles[:1], np.ones((1, 300), dtype=np.uint8)])
    odd = fit_ridge(*statistics(with_odd, Y), penalty=0.0)
    halved = plain.weights[:, 0] / 2
    np.testing.assert_allclose(odd.weights[:, 0], halved)
    np.testing.assert_allclose(odd.weights[:, 4], halved)
    np.testing.assert_allclose(odd.weights[:, 1:4], plain.weights[:, 1:])
    np.testing.assert_allclose(odd.weights[:, 5], 0, atol=1e-12)


def test_fit_ridge__variants_without_variance_predict_the_mean():
    alleles, Y = np.ones((3, 300), dtype=np.uint8), outcomes()
    fit = fit_ridge(*statistics(alleles, Y), penalty=0.0)
    prediction = fit.predict(coded_rows(pack(alleles), **OPTIONS))
    np.testing.assert_allclose(prediction, np.repeat(Y.mean(axis=1)[:, np.newaxis], 300, axis=1) * 2.0**-16)


def test_fit_ridge__tends_to_ols_and_to_the_mean():
    data = statistics(random_alleles(4, 300), outcomes())
    none, small, large = (fit_ridge(*data, penalty=penalty).weights for penalty in (0.0, 1e-12, 1e12))
    np.testing.assert_allclose(small, none, rtol=1e-8)
    np.testing.assert_allclose(large, 0, atol=1e-10)


@pytest.mark.parametrize("share", [0, 0.3])
def test_fit_gblup__finds_the_penalty_that_predicts_new_rows_best(share):
    """Between nothing and all: the fixed penalties that are better on the true effects are hardly better."""
    rng, alleles = np.random.default_rng(3), random_alleles(60, 300)
    X = coded_rows(pack(alleles), **OPTIONS)
    effects = rng.standard_normal((20, 60))
    signal = effects @ (X - X.mean(axis=0)).T
    scale = np.sqrt(0.3) / signal.std(axis=1, keepdims=True)
    Y = signal * scale + np.sqrt(0.7) * rng.standard_normal(signal.shape) + 0.2
    Y[rng.random(Y.shape) < share] = np.nan
    data = statistics(alleles, grid_outcomes(Y, bound=6.0))
    n_observed = np.isfinite(Y).sum(axis=1)

    def error(fit):
        return ((fit.weights - effects * scale) ** 2).mean()

    fit = fit_gblup(*data, n_observed=n_observed)
    penalties = np.geomspace(1e-4, 10, 25)
    fixed = [error(fit_ridge(*data, penalty=one, n_observed=n_observed)) for one in penalties]
    assert error(fit) < 1.03 * min(fixed)
    assert error(fit) < 0.8 * error(fit_ridge(*data, n_observed=n_observed, penalty=0.0))
    assert 0 < np.argmin(fixed) < len(penalties) - 1
    np.testing.assert_allclose(fit.intercept, np.nanmean(Y, axis=1), atol=1e-4)


def test_fit_ridge__an_outcome_does_not_depend_on_the_others():
    alleles, Y = random_alleles(4, 300), outcomes(5)
    together = fit_ridge(*statistics(alleles, Y), penalty=0.1)
    alone = fit_ridge(*statistics(alleles, Y[3:4]), penalty=0.1)
    np.testing.assert_allclose(together.weights[3:4], alone.weights, rtol=1e-12)


def test_fit_ridge__duplicated_rows_change_nothing():
    gram_, cross, n_rows = statistics(random_alleles(4, 300), outcomes())
    once, twice = (fit_ridge(k * gram_, k * cross, k * n_rows, penalty=0.1) for k in (1, 2))
    np.testing.assert_allclose(twice.weights, once.weights, rtol=1e-12)
    np.testing.assert_allclose(twice.intercept, once.intercept, rtol=1e-12)


def test_fit_ridge__missing_outcomes_do_not_shrink_the_fit():
    rng = np.random.default_rng(8)
    alleles = random_alleles(3, 20_000)
    options = {"n_haplotypes": 20_000, "rows": "haplotypes"}
    X = coded_rows(pack(alleles), **options)
    Y = 1.0 + X @ np.array([0.8, -0.5, 0.3])[:, np.newaxis] + 0.1 * rng.standard_normal((20_000, 1))
    Y = Y.T
    Y[0, rng.random(20_000) < 0.3] = np.nan
    cross = cross_product(pack(alleles), grid_outcomes(Y, bound=5.0), **options)
    n_observed = np.isfinite(Y).sum(axis=1)
    fit = fit_ridge(gram(pack(alleles), **options), cross, 20_000, n_observed=n_observed, penalty=0.0)
    np.testing.assert_allclose(fit.weights, [[0.8, -0.5, 0.3]], atol=0.05)
    assert fit.intercept == pytest.approx(np.nanmean(Y), abs=1e-4)


def test_fit_ridge__outcome_never_observed():
    gram_, cross, n_rows = statistics(random_alleles(4, 300), np.zeros((1, 300), dtype=np.int64))
    fit = fit_ridge(gram_, cross, n_rows, penalty=0.1, n_observed=np.array([0]))
    np.testing.assert_array_equal(fit.weights, np.zeros((1, 4)))
    np.testing.assert_array_equal(fit.intercept, [0.0])


def test_fit_ridge__outcome_of_one_known_row_has_its_mean():
    alleles, Y = random_alleles(4, 300), np.zeros((1, 300), dtype=np.int64)
    Y[0, 7] = 3 * 2**16
    fit = fit_ridge(*statistics(alleles, Y), penalty=0.1, n_observed=np.array([1]))
    assert fit.intercept == pytest.approx([3.0])
