import math

import numpy as np
import pytest
from scipy.stats import norm

from dpgrs.errors import UsageError
from dpgrs.privacy.accountant import gdp_delta, gdp_mu
from dpgrs.privacy.noise import BenchmarkNoise, NoiseSource
from dpgrs.privacy.sensitivity import gram_sensitivity
from dpgrs.regression.sketch import SketchRequest, base_terms, private_sketched_gram, sketched_gram
from dpgrs.regression.statistics import gram
from random_cohorts import half_coded, random_alleles, random_bits

D, N_HAPLOTYPES = 7, 200


class NoNoise(NoiseSource):
    source = "benchmark"

    def _draw(self, statistic, event):
        return statistic, event


def request(**options):
    defaults = {"rows": "haplotypes", "unit": "haplotype", "n_variants": D, "n_outcomes": 3}
    defaults |= {"outcome_bound": 3.0, "neighbours": "replace-one", "epsilon": 1.0, "delta": 1e-6}
    return SketchRequest(**defaults | {"n_units": N_HAPLOTYPES, "n_chosen": 50} | options)


def chosen(n_units, n_chosen):
    return np.random.default_rng(3).permutation(n_units) < n_chosen


@pytest.mark.parametrize("q", [1e-3, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", [1e-4, 0.5, 5.0, 50.0])
def test_base_terms__are_the_inverse_of_the_amplification(epsilon, q):
    epsilon0, delta0 = base_terms(epsilon, 1e-6, sampling_rate=q)
    amplified = epsilon0 + math.log(q + (1 - q) * math.exp(-epsilon0))
    assert amplified == pytest.approx(epsilon, rel=1e-7)
    assert 1e-6 * (1 - 1e-11) < q * delta0 <= 1e-6
    assert epsilon0 >= epsilon * (1 - 1e-11)


@pytest.mark.parametrize(("epsilon", "delta", "q"), [(1e4, 1e-6, 1e-3), (800.0, 0.3, 1e-6), (1.0, 0.9, 0.5)])
def test_base_terms__stay_in_the_domain_of_the_accountant(epsilon, delta, q):
    assert gdp_mu(*base_terms(epsilon, delta, sampling_rate=q)) > 0


def mixture_delta(q, base, first, second, epsilon):
    """Return delta(epsilon) of (1-q) N(base) + q N(first) against the same with the second, by quadrature."""
    x = np.linspace(-15, 25, 20_001)
    p, r = ((1 - q) * norm.pdf(x, base) + q * norm.pdf(x, centre) for centre in (first, second))
    return np.trapezoid(np.maximum(p - math.exp(epsilon) * r, 0), x)


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (2.0, 1e-4)])
def test_amplification__holds_and_is_attained(epsilon, delta, q):
    """Whoever takes the replaced unit's place in the sample is a neighbour of both, at most mu away."""
    mu = gdp_mu(*base_terms(epsilon, delta, sampling_rate=q))
    deltas = [mixture_delta(q, base, 0.0, mu, epsilon) for base in np.linspace(0, mu, 9)]
    assert max(deltas) <= delta * (1 + 1e-4)
    assert max(deltas) == pytest.approx(delta, rel=1e-4)


@pytest.mark.parametrize("gram_share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("n_chosen", [1, 50, N_HAPLOTYPES])
def test_budget__the_two_steps_add_up(n_chosen, gram_share):
    terms = request(n_chosen=n_chosen, gram_share=gram_share)
    for place, whole in enumerate([1.0, 1e-6]):
        total = terms.shares["gram"][place] + terms.shares["cross"][place]
        assert whole * (1 - 1e-11) < total <= whole
    epsilon, delta = terms.shares["cross"]
    assert gdp_delta(terms.budget["cross"], epsilon) <= delta
    epsilon0, delta0 = base_terms(*terms.shares["gram"], sampling_rate=n_chosen / N_HAPLOTYPES)
    assert gdp_delta(terms.budget["gram"], epsilon0) <= delta0


def test_budget__paper_needs_more_noise():
    gdp, paper = request().budget, request(accounting="paper").budget
    assert paper["gram"] < gdp["gram"]
    assert paper["cross"] < gdp["cross"]


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_sketched_gram__is_that_of_the_chosen_rows(rows):
    alleles = random_alleles(300, N_HAPLOTYPES)
    X = half_coded(alleles, rows=rows)
    is_chosen = chosen(len(X), 33)
    options = {"n_haplotypes": N_HAPLOTYPES, "rows": rows}
    G = sketched_gram(random_bits(300, N_HAPLOTYPES), is_chosen, **options)
    np.testing.assert_array_equal(G / 4, X[is_chosen].T @ X[is_chosen])


def test_private_sketched_gram__scales_the_sample_up():
    """Everybody is in two samples that split the cohort: without noise their mean is X'X."""
    terms = request(n_chosen=N_HAPLOTYPES // 2)
    is_chosen, bits = chosen(N_HAPLOTYPES, N_HAPLOTYPES // 2), random_bits(D, N_HAPLOTYPES)
    options = {"n_haplotypes": N_HAPLOTYPES, "request": terms, "noise": NoNoise()}
    halves = [private_sketched_gram(bits, sample, **options)[0] for sample in (is_chosen, ~is_chosen)]
    exact = gram(bits, n_haplotypes=N_HAPLOTYPES, rows="haplotypes") / 4
    np.testing.assert_allclose(np.mean(halves, axis=0), exact, rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.diag(halves[0]), N_HAPLOTYPES / 4)


def test_private_sketched_gram__samples_people_with_both_haplotypes():
    bits, n_people = random_bits(D, N_HAPLOTYPES), N_HAPLOTYPES // 2
    terms = request(unit="person", n_units=n_people, n_chosen=30)
    is_chosen = chosen(n_people, 30)
    options = {"n_haplotypes": N_HAPLOTYPES, "request": terms}
    G, event = private_sketched_gram(bits, is_chosen, noise=NoNoise(), **options)
    rows = np.repeat(is_chosen, 2)
    exact = sketched_gram(bits, rows, n_haplotypes=N_HAPLOTYPES, rows="haplotypes") / 4
    np.testing.assert_allclose(G * 0.3, exact, rtol=0, atol=1e-8)
    claim = gram_sensitivity(D, rows="haplotypes", neighbours="replace-one", unit="person")
    assert event.sensitivity == claim
    assert event.mu == terms.budget["gram"]


@pytest.mark.parametrize("options", [{"epsilon": 1e-3, "delta": 1e-12}, {"epsilon": 1e4}, {"n_chosen": 1}])
def test_private_sketched_gram__finite(options):
    terms = request(**options)
    is_chosen = chosen(N_HAPLOTYPES, terms.n_chosen)
    G, _ = private_sketched_gram(
        random_bits(D, N_HAPLOTYPES),
        is_chosen,
        n_haplotypes=N_HAPLOTYPES,
        request=terms,
        noise=BenchmarkNoise(1),
    )
    assert np.isfinite(G).all()
    np.testing.assert_array_equal(G, G.T)


def test_request__raise_on_add_remove():
    with pytest.raises(UsageError, match="must be replace-one for a sketch, got add-remove"):
        request(neighbours="add-remove")


@pytest.mark.parametrize("n_chosen", [0, N_HAPLOTYPES + 1])
def test_request__raise_on_size(n_chosen):
    with pytest.raises(UsageError, match=f"must be of 1 to 200 units, got {n_chosen}"):
        request(n_chosen=n_chosen)


@pytest.mark.parametrize(("n_units", "n_chosen"), [(N_HAPLOTYPES, 49), (N_HAPLOTYPES // 2, 50)])
def test_private_sketched_gram__raise_on_another_sample(n_units, n_chosen):
    with pytest.raises(UsageError, match="must be 50 of 200 units"):
        private_sketched_gram(
            random_bits(D, N_HAPLOTYPES),
            chosen(n_units, n_chosen),
            n_haplotypes=N_HAPLOTYPES,
            request=request(),
            noise=NoNoise(),
        )
