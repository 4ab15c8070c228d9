"""Every method on released statistics: limits without noise, and no accident on odd data."""

import numpy as np
import pytest

from dpgrs.methods import FROM_STATISTICS, METHODS
from dpgrs.privacy.noise import BenchmarkNoise, NoiseSource
from dpgrs.regression.fits import FitTerms, fit_released
from dpgrs.regression.ols import fit_ols, fit_ridge
from dpgrs.regression.requests import PrivacyRequest
from dpgrs.regression.reusecov import private_statistics
from dpgrs.regression.statistics import OUTCOME_STEP, coded_rows, cross_product, gram, grid_outcomes
from random_cohorts import random_bits

D, L, N_HAPLOTYPES, BOUND = 6, 3, 400, 9.0
CASES = [(method, str(side)) for method in FROM_STATISTICS for side in METHODS[method].protections]
every_fit = pytest.mark.parametrize(("method", "protection"), CASES)


class NoNoise(NoiseSource):
    def gaussian(self, statistic, **_):
        return np.asarray(statistic), None


class Cohort:
    """Exact statistics of random haplotypes and heritable outcomes of mean 0 and variance below 1."""

    def __init__(self, *, d=D, n_outcomes=L, spoil=lambda bits, Y: None):
        bits, options = random_bits(d, N_HAPLOTYPES), {"n_haplotypes": N_HAPLOTYPES, "rows": "haplotypes"}
        rng = np.random.default_rng(4)
        X = coded_rows(bits, **options)
        Y = rng.standard_normal((n_outcomes, d)) @ (X - X.mean(axis=0)).T
        Y += rng.standard_normal(Y.shape)
        Y = 0.9 * (Y - Y.mean(axis=1, keepdims=True)) / Y.std(axis=1, keepdims=True)
        spoil(bits, Y)
        gridded = grid_outcomes(Y, bound=BOUND)
        # Private fits take it for granted that outcomes have mean 0: here they have, to the last bit.
        gridded[:, 0] -= gridded.sum(axis=1)
        self.Y = np.where(np.isnan(Y), np.nan, gridded * OUTCOME_STEP)
        self.gram, self.cross = gram(bits, **options), cross_product(bits, gridded, **options)

    def request(self, protection, **changes):
        terms = {"rows": "haplotypes", "n_variants": len(self.gram) - 1, "n_outcomes": len(self.Y)}
        terms |= {"outcome_bound": BOUND, "epsilon": 1.0, "delta": 1e-6, "protection": protection}
        return PrivacyRequest(**terms | {"neighbours": "replace-one"} | changes)

    def fit(self, method, protection, *, noise=None, terms=None, **changes):
        request = self.request(protection, **changes)
        noise = noise or BenchmarkNoise(1)
        noisy = private_statistics(self.gram, self.cross, N_HAPLOTYPES, request=request, noise=noise)
        public = {"outcomes": self.Y} if protection == "feature" else {}
        terms = terms or FitTerms(penalty=0.1)
        return fit_released(method, noisy, request=request, terms=terms, **public)


@pytest.mark.parametrize("is_joint", [False, True])
@pytest.mark.parametrize(("method", "protection"), [case for case in CASES if case[0] != "blup"])
def test_fits__without_noise_they_are_ridge_and_ols(method, protection, is_joint):
    cohort = Cohort()
    exact = cohort.gram, cohort.cross, N_HAPLOTYPES
    known = {"n_observed": np.full(L, N_HAPLOTYPES)}
    for penalty, expected in [
        (0.1, fit_ridge(*exact, penalty=0.1, **known)),
        (0.0, fit_ols(*exact, **known)),
    ]:
        terms = FitTerms(penalty=penalty, is_joint=is_joint)
        fit = cohort.fit(method, protection, noise=NoNoise(), terms=terms)
        np.testing.assert_allclose(fit.weights, expected.weights, rtol=1e-8)
        assert not fit.intercept.any()


def test_fits__label_with_a_huge_budget_is_ridge():
    cohort = Cohort()
    expected = fit_ridge(
        cohort.gram, cohort.cross, N_HAPLOTYPES, penalty=0.1, n_observed=np.full(L, N_HAPLOTYPES)
    )
    fit = cohort.fit("reusecov-gauss", "label", epsilon=10_000.0)
    np.testing.assert_allclose(fit.weights, expected.weights, atol=2e-2)


@every_fit
def test_fits__a_budget_of_next_to_nothing_still_gives_numbers(method, protection):
    fit = Cohort().fit(method, protection, epsilon=1e-3)
    assert np.isfinite(fit.weights).all()
    assert np.isfinite(fit.means).all()


def make_constant(bits, Y):
    bits[0] = 0
    Y[0] = 0


@every_fit
def test_fits__constant_variants_and_outcomes_are_no_accident(method, protection):
    assert np.isfinite(Cohort(spoil=make_constant).fit(method, protection).weights).all()


@every_fit
def test_fits__more_variants_than_rows(method, protection):
    fit = Cohort(d=N_HAPLOTYPES + 50, n_outcomes=2).fit(method, protection, epsilon=50.0)
    assert fit.weights.shape == (2, N_HAPLOTYPES + 50)
    assert np.isfinite(fit.weights).all()


@pytest.mark.parametrize("rule", ["adassp", "evidence"])
def test_fits__penalties_that_follow_the_noise_shrink(rule):
    cohort = Cohort()
    terms = FitTerms(penalty=0.0, rule=rule)
    fixed, shrunk = (
        cohort.fit("reusecov-gauss", "full", terms=given, epsilon=0.05) for given in (FitTerms(0.0), terms)
    )
    assert np.linalg.norm(shrunk.weights) < 0.5 * np.linalg.norm(fixed.weights)


def test_fits__projections_shorten_what_noise_made_too_long():
    cohort = Cohort()
    for method, protection in [
        ("reusecov-proj", "label"),
        ("reusecov-proj", "feature"),
        ("reusecov-ellipsoid", "full"),
    ]:
        plain, projected = (
            cohort.fit(name, protection, terms=FitTerms(penalty=10.0)) for name in ("reusecov-gauss", method)
        )
        assert np.linalg.norm(projected.weights) < 0.9 * np.linalg.norm(plain.weights)


def test_blup__standard_errors_where_they_are_calibrated():
    cohort = Cohort()
    stated = FitTerms(penalty=0.0, heritability=0.5)
    assert cohort.fit("blup", "label").standard_errors.shape == (L, D)
    assert cohort.fit("blup", "full").standard_errors is None
    assert (cohort.fit("blup", "full", terms=stated).standard_errors > 0).all()
    assert cohort.fit("blup", "feature", terms=stated).standard_errors is None


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_fits__public_outcomes_tell_how_many_are_known(missing):
    """Zeros for missing outcomes shrink weights; where outcomes are public the fit scales them up again."""

    def hide(bits, Y):
        Y[:, : int(missing * N_HAPLOTYPES)] = np.nan

    cohort = Cohort(spoil=hide)
    fit = cohort.fit("reusecov-gauss", "feature", noise=NoNoise(), terms=FitTerms(penalty=0.0))
    observed = np.full(L, N_HAPLOTYPES - int(missing * N_HAPLOTYPES))
    expected = fit_ols(cohort.gram, cohort.cross, N_HAPLOTYPES, n_observed=observed)
    slopes = [
        np.vdot(fit.weights[i], expected.weights[i]) / np.vdot(*[expected.weights[i]] * 2) for i in range(L)
    ]
    assert slopes == pytest.approx([1.0] * L, abs=0.1)
