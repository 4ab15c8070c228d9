import math
from dataclasses import replace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import coded_rows, cross_product, gram
from dpgrs.methods.ols import fit_ridge
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.separate_statistics import even_part
from dpgrs.privacy.accounting.accountant import gdp_epsilon, gdp_mu, paper_noise_multiplier
from dpgrs.privacy.audit.parts import Silence
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs_papers.methods.naive import collect, fit_separately, private_separate_statistics, separate_request
from random_cohorts import random_bits
from refused import refused

D, L, N_HAPLOTYPES = 5, 4, 200


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


def release(noise=None, **options):
    terms = request(**options)
    exact = statistics(terms.n_variants)
    return list(private_separate_statistics(*exact, request=terms, noise=noise or BenchmarkNoise(1)))


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
@pytest.mark.parametrize("counts_outcomes", [False, True])
def test_budget__of_one_outcome_is_that_of_reusecov(accounting, neighbours, counts_outcomes):
    relation = {"accounting": accounting, "neighbours": neighbours, "counts_outcomes": counts_outcomes}
    terms = request(n_outcomes=1, gram_share=0.3, count_share=0.2, **relation)
    assert separate_request(terms).budget | {"cases": 0.0} == pytest.approx(terms.budget, rel=1e-9)


@pytest.mark.parametrize(("times", "is_basic"), [(2, True), (10, True), (1000, False)])
def test_even_part__the_better_of_basic_and_advanced_composition(times, is_basic):
    epsilon, delta = even_part(0.9, 9e-7, times)
    if is_basic:
        assert (epsilon, delta) == (0.9 / times, 9e-7 / times)
    else:
        slope = math.sqrt(2 * times * math.log(1 / 4.5e-7))
        total = slope * epsilon + times * epsilon * math.expm1(epsilon)
        assert 0.9 * (1 - 1e-8) < total <= 0.9
        assert times * delta == pytest.approx(4.5e-7)
    # An outcome of basic composition alone would never have less noise.
    assert paper_noise_multiplier(epsilon, delta) <= paper_noise_multiplier(0.9 / times, 9e-7 / times)


@pytest.mark.parametrize("times", [2, 10**6])
@pytest.mark.parametrize("epsilon", [1e-4, 1e4])
def test_even_part__extreme_budgets(epsilon, times):
    part, _ = even_part(epsilon, 1e-12, times)
    assert 0 < part < epsilon


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3])
def test_even_part__advanced_composition_is_used_up_however_small(epsilon):
    part, _ = even_part(epsilon, 1e-6, 1000)
    total = math.sqrt(2000 * math.log(2e6)) * part + 1000 * part * math.expm1(part)
    assert epsilon * (1 - 1e-8) < total <= epsilon


def test_fit_separately__is_ridge_without_noise():
    exact = statistics()
    plain = fit_ridge(*exact, penalty=0.05)
    fit = fit_separately(release(Silence()), penalty=0.05)
    assert fit.means.shape == (L, D)
    np.testing.assert_allclose(fit.weights, plain.weights, rtol=0, atol=1e-8)
    X = coded_rows(random_bits(D, 64, seed=1), n_haplotypes=64, rows="haplotypes")
    np.testing.assert_allclose(fit.predict(X), plain.predict(X), rtol=0, atol=1e-8)


def test_fit_separately__origin_moves_what_is_predicted_from():
    drawn, origin = release(), np.linspace(-0.3, 0.4, D)
    X = coded_rows(random_bits(D, 64, seed=1), n_haplotypes=64, rows="haplotypes")
    here, there = (fit_separately(drawn, penalty=0.05, origin=zero) for zero in (None, origin))
    np.testing.assert_allclose(there.predict(X + origin), here.predict(X), rtol=0, atol=1e-12)


def test_collect__holds_all_and_fits_the_same():
    drawn, origin = release(), np.linspace(-0.3, 0.4, D)
    together = collect(iter(drawn), L)
    for number, (one, again) in enumerate(zip(drawn, together.by_outcome(), strict=True)):
        np.testing.assert_array_equal(one.gram, together.gram[number])
        np.testing.assert_array_equal(one.cross, again.cross)
    first, second = (
        fit_separately(statistics, penalty=0.05, origin=origin)
        for statistics in (drawn, together.by_outcome())
    )
    np.testing.assert_array_equal(first.weights, second.weights)
    assert [event.statistic for event in together.events] == ["count", *["gram", "cross product"] * L]
    assert together.events == sum((one.events for one in drawn), ())


def test_private_separate_statistics__events_are_all_that_is_spent():
    drawn = release()
    names = [[event.statistic for event in one.events] for one in drawn]
    assert names == [["count", "gram", "cross product"], *[["gram", "cross product"]] * (L - 1)]
    assert [event.entries for event in drawn[1].events] == [D * (D + 1) // 2, D]
    spent = math.hypot(*(event.mu for one in drawn for event in one.events))
    assert spent <= gdp_mu(1.0, 1e-6) * (1 + 1e-15)


def test_private_separate_statistics__every_outcome_has_noise_of_its_own():
    drawn = release()
    entries = {entry for one in drawn for entry in one.gram[np.triu_indices(D + 1, k=1)]}
    assert len(entries) > L * D * (D + 1) // 2 * 0.9
    assert len({one.n for one in drawn}) == 1


def test_private_separate_statistics__separate_budgets_leave_other_outcomes_alone():
    G, V, n = statistics()
    options = {"request": request(n_outcomes=1), "noise": BenchmarkNoise(1)}
    whole = list(private_separate_statistics(G, V, n, outcome_names=list("abcd"), **options))
    part = list(private_separate_statistics(G, V[[3, 1]], n, outcome_names=["d", "b"], **options))
    for one, same in zip(part, (whole[3], whole[1]), strict=True):
        np.testing.assert_array_equal(one.gram, same.gram)
        np.testing.assert_array_equal(one.cross, same.cross)
    assert part[1].events == whole[1].events


@pytest.mark.parametrize(
    "options", [{"n_variants": 300}, {"epsilon": 1e-3, "delta": 1e-12}, {"epsilon": 1e4}]
)
@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_fit_separately__finite(options, penalty):
    fit = fit_separately(release(**options), penalty=penalty)
    assert np.isfinite(fit.weights).all()
    assert np.isfinite(fit.intercept).all()


def test_private_separate_statistics__claims_of_clipped_rows():
    """As ReuseCov's for one outcome: a norm of all outcomes together counts where it is below the bound."""
    norms = {"coding": "frequency", "row_norm": 1.25, "outcome_norm": 2.0}
    terms = request(outcome_bound=3.0, **norms)
    zeros = np.zeros((D + 1, D + 1), dtype=np.int64), np.zeros((L, D + 1), dtype=np.int64)
    drawn = list(private_separate_statistics(*zeros, 9, request=terms, noise=BenchmarkNoise(1)))
    gram, cross = drawn[1].events
    assert gram.sensitivity == terms.gram_claim
    assert gram.entries == (D + 1) * (D + 2) // 2 - 1
    assert cross.sensitivity.value == pytest.approx(2 * 1.25 * 2.0)  # a person has two rows
    wider = replace(terms, outcome_norm=20.0)
    (_, cross) = list(private_separate_statistics(*zeros, 9, request=wider, noise=BenchmarkNoise(1)))[
        1
    ].events
    assert cross.sensitivity.value == pytest.approx(2 * 1.25 * 3.0)


@pytest.mark.parametrize("n_outcomes", [1, 5, 200])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (2.0, 1e-6), (20.0, 1e-4)])
def test_budget__paper_composition_is_within_the_exact_loss(epsilon, delta, n_outcomes):
    """A release's bundle is held against the exact loss of all draws, whichever accounting set the noise."""
    budget = separate_request(
        request(epsilon=epsilon, delta=delta, accounting="paper", n_outcomes=n_outcomes)
    ).budget
    fits = n_outcomes * (budget["gram"] ** 2 + budget["cross"] ** 2)
    assert gdp_epsilon(math.sqrt(budget["count"] ** 2 + fits), delta) <= epsilon


@pytest.mark.parametrize("epsilon", [0.25, 4.0])
def test_budget__paper_composition_gives_the_count_its_share_of_epsilon_and_delta(epsilon):
    asked = request(epsilon=epsilon, accounting="paper", gram_share=0.3, count_share=0.1, n_outcomes=3)
    parts = [math.sqrt(0.1), *(math.sqrt(0.9 * share) for share in (0.0, 0.3, 0.7))]
    paid = parts[0] / sum(parts)
    expected = 1 / paper_noise_multiplier(paid * epsilon, paid * 1e-6)
    assert separate_request(asked).budget["count"] == pytest.approx(expected, rel=1e-12)


def test_private_separate_statistics__raise_on_other_shapes():
    terms = request(n_outcomes=3)
    with refused("statistics-shape", "got 5", error=UsageError):
        next(private_separate_statistics(*statistics(), request=terms, noise=BenchmarkNoise(1)))
    wrong = replace(request(), n_variants=6)
    with refused("statistics-shape", error=UsageError):
        next(private_separate_statistics(*statistics(), request=wrong, noise=BenchmarkNoise(1)))
    G, V, n = statistics()
    for gram_, cross in [(G[1:, 1:], V[:, 1:]), (G, V[:, 1:]), (G, V[:0])]:
        with refused("statistics-shape", error=UsageError):
            next(private_separate_statistics(gram_, cross, n, request=request(), noise=BenchmarkNoise(1)))
    counted = request(counts_outcomes=True)
    with refused("counts-shape", "`observed`", error=UsageError):
        next(private_separate_statistics(G, V, n, request=counted, noise=BenchmarkNoise(1)))
