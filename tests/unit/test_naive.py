import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.accountant import gdp_mu, paper_noise_multiplier
from dpgrs.privacy.noise import BenchmarkNoise, NoiseSource
from dpgrs.regression.naive import _even_part, private_separate_fits, separate_request
from dpgrs.regression.ols import fit_ridge
from dpgrs.regression.requests import PrivacyRequest
from dpgrs.regression.reusecov import fit_reusecov
from dpgrs.regression.statistics import coded_rows, cross_product, gram, grid_outcomes
from random_cohorts import random_bits

D, L, N_HAPLOTYPES = 5, 4, 200
RIDGE = partial(fit_reusecov, penalty=0.05)


class NoNoise(NoiseSource):
    source = "benchmark"

    def _draw(self, statistic, event):
        return statistic, event


def statistics(d=D, n_outcomes=L):
    bits, options = random_bits(d, N_HAPLOTYPES), {"n_haplotypes": N_HAPLOTYPES, "rows": "haplotypes"}
    X = coded_rows(bits, **options)
    rng = np.random.default_rng(4)
    Y = rng.standard_normal((n_outcomes, d)) @ X.T + rng.standard_normal((n_outcomes, len(X)))
    # Whole quarters in pairs of opposite sign: the outcomes' means are 0 on their grid.
    half = np.round(Y[:, ::2] * 4) / 4
    Y = np.hstack([half, -half])
    return gram(bits, **options), cross_product(bits, grid_outcomes(Y, bound=9.0), **options), len(X)


def request(**options):
    defaults = {"rows": "haplotypes", "n_variants": D, "n_outcomes": L, "outcome_bound": 9.0}
    return PrivacyRequest(**defaults | {"epsilon": 1.0, "delta": 1e-6} | options)


def release(noise=None, fit=RIDGE, **options):
    terms = request(**options)
    exact = statistics(terms.n_variants)
    return private_separate_fits(*exact, request=terms, noise=noise or BenchmarkNoise(1), fit=fit)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n_outcomes", [1, 7, 1000])
def test_budget__gdp_adds_up_to_the_whole(n_outcomes, neighbours):
    budget = separate_request(request(n_outcomes=n_outcomes, neighbours=neighbours, gram_share=0.3)).budget
    fits = n_outcomes * (budget["gram"] ** 2 + budget["cross"] ** 2)
    total = gdp_mu(1.0, 1e-6)
    assert math.sqrt(budget["count"] ** 2 + fits) == pytest.approx(total, rel=1e-12)
    assert budget["gram"] ** 2 / fits * n_outcomes == pytest.approx(0.3, rel=1e-12)
    assert budget["count"] == pytest.approx(0.1 * total if neighbours == "add-remove" else 0.0)


@pytest.mark.parametrize("accounting", ["gdp", "paper"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_budget__of_one_outcome_is_that_of_reusecov(accounting, neighbours):
    terms = request(n_outcomes=1, accounting=accounting, neighbours=neighbours, gram_share=0.3)
    assert separate_request(terms).budget == pytest.approx(terms.budget, rel=1e-9)


@pytest.mark.parametrize(("times", "is_basic"), [(2, True), (10, True), (1000, False)])
def test_even_part__the_better_of_basic_and_advanced_composition(times, is_basic):
    epsilon, delta = _even_part(0.9, 9e-7, times)
    if is_basic:
        assert (epsilon, delta) == (0.9 / times, 9e-7 / times)
    else:
        slope = math.sqrt(2 * times * math.log(1 / 4.5e-7))
        total = slope * epsilon + times * epsilon * math.expm1(epsilon)
        assert 0.9 * (1 - 1e-8) < total <= 0.9
        assert times * delta == pytest.approx(4.5e-7)
    # An outcome of basic composition alone would never have less noise.
    assert paper_noise_multiplier(epsilon, delta) <= paper_noise_multiplier(0.9 / times, 9e-7 / times)


@pytest.mark.parametrize("epsilon", [1e-4, 1e4])
def test_even_part__extreme_budgets(epsilon):
    part, _ = _even_part(epsilon, 1e-12, 10**6)
    assert 0 < part < epsilon


def test_private_separate_fits__is_ridge_without_noise():
    exact = statistics()
    plain = fit_ridge(*exact, penalty=0.05)
    result = release(NoNoise())
    np.testing.assert_allclose(result.fit.weights, plain.weights, rtol=0, atol=1e-8)
    X = coded_rows(random_bits(D, 64, seed=1), n_haplotypes=64, rows="haplotypes")
    np.testing.assert_allclose(result.fit.predict(X), plain.predict(X), rtol=0, atol=1e-8)


def test_private_separate_fits__events_are_all_that_is_spent():
    result = release()
    assert [event.statistic for event in result.shared_events] == ["count"]
    assert [event.statistic for event in result.outcome_events] == ["gram", "cross product"]
    assert [event.entries for event in result.outcome_events] == [D * (D + 1) // 2, D]
    assert len(result.events) == 1 + 2 * L
    assert math.hypot(*(event.mu for event in result.events)) <= gdp_mu(1.0, 1e-6) * (1 + 1e-15)


def test_private_separate_fits__every_outcome_has_noise_of_its_own():
    grams, counts = [], []

    def fit(noisy):
        grams.append(noisy.gram[np.triu_indices(D + 1, k=1)])
        counts.append(noisy.n)
        return RIDGE(noisy)

    release(fit=fit)
    assert len({entry for G in grams for entry in G}) > L * D * (D + 1) // 2 * 0.9
    assert len(set(counts)) == 1


def test_private_separate_fits__separate_budgets_leave_other_outcomes_alone():
    G, V, n = statistics()
    options = {"request": request(n_outcomes=1), "noise": BenchmarkNoise(1), "fit": RIDGE}
    whole = private_separate_fits(G, V, n, outcome_names=list("abcd"), **options)
    part = private_separate_fits(G, V[[3, 1]], n, outcome_names=["d", "b"], **options)
    np.testing.assert_array_equal(part.fit.weights, whole.fit.weights[[3, 1]])
    assert part.outcome_events == whole.outcome_events


@pytest.mark.parametrize(
    "options", [{"n_variants": 300}, {"epsilon": 1e-3, "delta": 1e-12}, {"epsilon": 1e4}]
)
@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_private_separate_fits__finite(options, penalty):
    result = release(fit=partial(fit_reusecov, penalty=penalty), **options)
    assert np.isfinite(result.fit.weights).all()
    assert np.isfinite(result.fit.intercept).all()


def test_private_separate_fits__raise_on_other_shapes():
    terms = request(n_outcomes=3)
    with pytest.raises(UsageError, match="must be of 5 variants and 3 outcomes a budget, got 5 and 4"):
        private_separate_fits(*statistics(), request=terms, noise=BenchmarkNoise(1), fit=RIDGE)
    wrong = replace(request(), n_variants=6)
    with pytest.raises(UsageError, match="must be of 6 variants"):
        private_separate_fits(*statistics(), request=wrong, noise=BenchmarkNoise(1), fit=RIDGE)
