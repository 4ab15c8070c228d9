"""Every method on released statistics: limits without noise, and no accident on odd data."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.denoising import denoised_means
from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.projection import project_ellipsoid, project_feature, project_label
from dpgrs.linalg.statistics import coded_rows, cross_product, gram
from dpgrs.methods.blup import fit_blup, fit_blup_public_outcomes
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.ols import fit_ridge
from dpgrs.methods.penalties import adassp_penalty, evidence_penalty
from dpgrs.methods.public_effects import PublicEffects
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics, fit_reusecov, private_statistics
from dpgrs.privacy.audit.parts import Silence
from dpgrs.privacy.noise.sources import BenchmarkNoise
from random_cohorts import random_bits

FROM_STATISTICS = methods_that("is_post_processing")

D, L, N_HAPLOTYPES, BOUND = 6, 3, 400, 9.0
CASES = [(method, str(side)) for method in FROM_STATISTICS for side in METHODS[method].protections]
every_fit = pytest.mark.parametrize(("method", "protection"), CASES)


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
        public = coded_rows(bits, **options)[::2]
        places = {"contig": np.full(d, "1"), "position": np.arange(d)}
        self.ld = public_ld(public - public.mean(axis=0), **places, rows_per_person=1)
        self.gram, self.cross = gram(bits, **options), cross_product(bits, gridded, **options)

    def request(self, protection, **changes):
        terms = {"rows": "haplotypes", "n_variants": len(self.gram) - 1, "n_outcomes": len(self.Y)}
        terms |= {"outcome_bound": BOUND, "epsilon": 1.0, "delta": 1e-6, "protection": protection}
        return PrivacyRequest(**terms | {"neighbours": "replace-one"} | changes)

    def release(self, request, noise=None):
        noise = noise or BenchmarkNoise(1)
        return private_statistics(self.gram, self.cross, N_HAPLOTYPES, request=request, noise=noise)

    def fit(self, method, protection, *, noise=None, terms=None, **changes):
        request = self.request(protection, **changes)
        noisy = self.release(request, noise)
        public = {"outcomes": self.Y} if protection == "feature" else {}
        terms = replace(terms or FitTerms(penalty=0.1), ld={request.n_variants: self.ld})
        return fit_released(method, noisy, request=request, terms=terms, **public)


@pytest.mark.parametrize("is_joint", [False, True])
@pytest.mark.parametrize(("method", "protection"), [case for case in CASES if "blup" not in case[0]])
def test_fits__without_noise_they_are_ridge_and_ols(method, protection, is_joint):
    cohort = Cohort()
    exact = cohort.gram, cohort.cross, N_HAPLOTYPES
    known = {"n_observed": np.full(L, N_HAPLOTYPES)}
    for penalty, expected in [
        (0.1, fit_ridge(*exact, penalty=0.1, **known)),
        (0.0, fit_ridge(*exact, **known, penalty=0.0)),
    ]:
        terms = FitTerms(penalty=penalty, is_joint=is_joint)
        fit = cohort.fit(method, protection, noise=Silence(), terms=terms)
        np.testing.assert_allclose(fit.weights, expected.weights, rtol=1e-8)
        assert not fit.intercept.any()


def make_constant(bits, Y):
    bits[0] = 0
    Y[0] = 0


@every_fit
@pytest.mark.parametrize(
    ("options", "epsilon"),
    [({}, 1e-3), ({"spoil": make_constant}, 1.0), ({"d": N_HAPLOTYPES + 50, "n_outcomes": 2}, 50.0)],
    ids=["hardly a budget", "constant variants and outcomes", "more variants than rows"],
)
def test_fits__are_finite(method, protection, options, epsilon):
    cohort = Cohort(**options)
    fit = cohort.fit(method, protection, epsilon=epsilon)
    assert fit.weights.shape == (len(cohort.Y), len(cohort.gram) - 1)
    assert np.isfinite(fit.weights).all()
    assert np.isfinite(fit.means).all()


@pytest.mark.parametrize("rule", ["adassp", "evidence"])
def test_fits__penalties_that_follow_the_noise_shrink(rule):
    cohort = Cohort()
    terms = FitTerms(penalty=0.0, rule=rule)
    fit = partial(cohort.fit, "reusecov-gauss", "full", epsilon=0.05)
    shares = []
    for seed in range(9):
        noise = BenchmarkNoise(seed)
        fixed, shrunk = (fit(terms=given, noise=noise).weights for given in (FitTerms(0.0), terms))
        shares.append(np.linalg.norm(shrunk) / np.linalg.norm(fixed))
    assert np.median(shares) < 0.5


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
    fit = cohort.fit("reusecov-gauss", "feature", noise=Silence(), terms=FitTerms(penalty=0.0))
    observed = np.full(L, N_HAPLOTYPES - int(missing * N_HAPLOTYPES))
    expected = fit_ridge(cohort.gram, cohort.cross, N_HAPLOTYPES, n_observed=observed, penalty=0.0)
    slopes = [
        np.vdot(fit.weights[i], expected.weights[i]) / np.vdot(*[expected.weights[i]] * 2) for i in range(L)
    ]
    assert slopes == pytest.approx([1.0] * L, abs=0.1)


KNOWN_ROWS = N_HAPLOTYPES / np.array([1, 2, 4])


@pytest.mark.parametrize("is_joint", [False, True])
@pytest.mark.parametrize(
    ("method", "protection", "project"),
    [("reusecov-proj", "label", project_label), ("reusecov-ellipsoid", "full", project_ellipsoid)],
)
def test_fits__projections_hold_outcomes_to_a_mean_square_of_1_where_they_are_known(
    method, protection, project, is_joint
):
    # Each outcome has a ball of its own unless one is asked for.
    cohort, terms = Cohort(), FitTerms(penalty=0.1, **{"is_joint": True} if is_joint else {})
    request = cohort.request(protection)
    noisy = replace(cohort.release(request), observed=KNOWN_ROWS)
    cross = project(noisy.cross, noisy.gram[:-1, :-1], np.sqrt(KNOWN_ROWS), joint=is_joint)
    assert np.linalg.norm(cross) < 0.9 * np.linalg.norm(noisy.cross)
    fit = fit_released(method, noisy, request=request, terms=terms)
    np.testing.assert_allclose(
        fit.weights, fit_reusecov(replace(noisy, cross=cross), penalty=0.1).weights, rtol=1e-9
    )


P = np.array([0.1, 0.5])
TIGHT = {"coding": "frequency", "row_norm": 1.0}
COVARIATES = {"n_covariates": 1, "covariate_bound": 4.0}


@pytest.mark.parametrize(
    ("rows", "terms", "mean_squares"),
    [
        pytest.param("haplotypes", {}, [1 / 4, 1 / 4], id="halves"),
        pytest.param("people", {}, [1, 1], id="at most one"),
        pytest.param("haplotypes", TIGHT, P * (1 - P), id="variances of haplotypes"),
        pytest.param("people", TIGHT, 2 * P * (1 - P), id="variances of people"),
        # A standard deviation of a covariate is 1/2 or 1 over the bound.
        pytest.param("haplotypes", TIGHT | COVARIATES, [*P * (1 - P), 1 / 64], id="covariate of haplotypes"),
        pytest.param("people", TIGHT | COVARIATES, [*2 * P * (1 - P), 1 / 16], id="covariate of people"),
    ],
)
@pytest.mark.parametrize("is_joint", [False, True])
def test_fits__projections_hold_columns_to_their_public_mean_squares(rows, terms, mean_squares, is_joint):
    n, d = 50, len(mean_squares)
    common = {"n_outcomes": L, "outcome_bound": BOUND, "epsilon": 1.0, "delta": 1e-6}
    request = PrivacyRequest(rows, len(P), protection="feature", neighbours="replace-one", **common | terms)
    rng = np.random.default_rng(2)
    Y, cross = rng.standard_normal((L, n)), 100 * rng.standard_normal((L, d))
    origin = np.append((1 if rows == "haplotypes" else 2) * (P - 0.5), np.zeros(d - len(P)))
    noisy = NoisyStatistics(n * np.eye(d + 1) / 4, cross, n, origin=origin if terms else None)
    fit = fit_released(
        "reusecov-proj", noisy, request=request, terms=FitTerms(1.0, is_joint=is_joint), outcomes=Y
    )
    projected = project_feature(cross, Y, np.sqrt(n * np.array(mean_squares)), joint=is_joint)
    expected = fit_reusecov(replace(noisy, cross=projected), penalty=1.0)
    np.testing.assert_allclose(fit.weights, expected.weights, rtol=1e-9)


def test_fits__public_outcomes_known_once_or_never_count_as_one_row():
    def hide(bits, Y):
        Y[0], Y[1, 1:] = np.nan, np.nan

    cohort = Cohort(spoil=hide)
    request = cohort.request("feature")
    noisy = cohort.release(request)
    fit = fit_released("reusecov-gauss", noisy, request=request, terms=FitTerms(0.1), outcomes=cohort.Y)
    expected = fit_reusecov(replace(noisy, observed=np.array([1, 1, N_HAPLOTYPES])), penalty=0.1)
    np.testing.assert_array_equal(fit.weights, expected.weights)


def centred(noisy, means):
    return noisy.gram[:-1, :-1] - noisy.n * np.outer(means, means)


@pytest.mark.parametrize("protection", ["full", "feature", "label"])
@pytest.mark.parametrize("rule", ["adassp", "evidence"])
def test_fits__penalties_are_by_the_noise_that_was_drawn(rule, protection):
    cohort, stated = Cohort(), 0.3
    request = cohort.request(protection)
    noisy = replace(cohort.release(request), observed=None if protection == "feature" else KNOWN_ROWS)
    sd = {"gram": 0.0} | {event.statistic: event.sigma for event in noisy.events}
    means = denoised_means(noisy.gram, noisy.n, gram_sd=sd["gram"])
    known = {"gram_sd": sd["gram"], "cross_sd": sd["cross product"], "means": means}
    penalties = {
        # By what noise does to eigenvalues, where there is any.
        "adassp": adassp_penalty(D, gram_sd=sd["gram"], n=noisy.n) if sd["gram"] else stated,
        "evidence": evidence_penalty(
            centred(noisy, means), noisy.cross, noisy.n, inflation=noisy.inflation, **known
        ),
    }
    options = {"request": request, "outcomes": cohort.Y if protection == "feature" else None}
    found, expected = (
        fit_released("reusecov-gauss", noisy, terms=terms, **options)
        for terms in (FitTerms(stated, rule=rule), FitTerms(penalties[rule]))
    )
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-6)


@pytest.mark.parametrize("heritability", [None, 0.3])
@pytest.mark.parametrize("protection", ["full", "feature", "label"])
def test_blup__knows_the_noise_that_was_drawn(protection, heritability):
    cohort = Cohort()
    request = cohort.request(protection)
    noisy = replace(cohort.release(request), observed=None if protection == "feature" else KNOWN_ROWS)
    sd = {"gram": 0.0} | {event.statistic: event.sigma for event in noisy.events}
    means = denoised_means(noisy.gram, noisy.n, gram_sd=sd["gram"])
    known = {"gram_sd": sd["gram"], "cross_sd": sd["cross product"], "means": means}
    known |= {"heritability": heritability, "inflation": noisy.inflation}
    public = {"outcomes": cohort.Y} if protection == "feature" else {}
    fit = fit_released(
        "blup", noisy, request=request, terms=FitTerms(0.1, heritability=heritability), **public
    )
    method = fit_blup_public_outcomes if public else fit_blup
    expected = method(centred(noisy, means), noisy.cross, noisy.n, **known, **public)
    np.testing.assert_allclose(fit.weights, expected.weights, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(fit.means, means, rtol=1e-9, atol=1e-12)
    assert not fit.intercept.any()


REGRESSIONS = [
    {"lambda": 0.1, "lambda_from": rule, "heritability": h2, "joint_projection": is_joint}
    for rule, h2, is_joint in product(("fixed", "evidence"), (None, 0.5), (False, True))
]


@pytest.mark.parametrize("has_effects", [False, True])
@every_fit
def test_fits__join_outcomes_only_where_they_say_so(method, protection, has_effects):
    """Other draws of one outcome, in a budget of its own, move all that is told of others there alone."""
    cohort, moved, joined = Cohort(), [], []
    request = cohort.request(protection, n_outcomes=1)
    noisy = cohort.release(request)
    others = replace(noisy, cross=noisy.cross * np.array([[1], [1], [-3]]))
    public = {"outcomes": cohort.Y} if protection == "feature" else {}
    effects = PublicEffects(np.ones((1, D)), np.array([False]), np.ones((L, 1), dtype=bool))
    known = {"ld": {request.n_variants: cohort.ld}, "effects": effects if has_effects else None}
    for regression in REGRESSIONS:
        terms = FitTerms.of(regression, **known)
        fits = [fit_released(method, one, request=request, terms=terms, **public) for one in (noisy, others)]
        first, second = ({name: told_of_two(one) for name, one in fit.arrays().items()} for fit in fits)
        moved.append(first != second)
        joined.append(
            METHODS[method].pools_outcomes(regression, protection=protection, has_effects=has_effects)
        )
        assert joined[-1] or not moved[-1]
    assert any(moved) == any(joined)


def told_of_two(array):
    """Return the bytes of what a fit tells of the first two outcomes, or of all of them together."""
    return (array[:2] if array.shape[:1] == (L,) else array).tobytes()
