import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.stats import norm

from dpgrs.errors import UsageError
from dpgrs.linalg.clipped_statistics import frequency_rows
from dpgrs.linalg.coding import GENOTYPE_STEP
from dpgrs.linalg.row_centred import centred_rows
from dpgrs.linalg.statistics import coded_rows, cross_product, gram
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import private_cross_product, private_statistics
from dpgrs.privacy.accounting.accountant import gdp_delta, gdp_mu
from dpgrs.privacy.audit.parts import Silence
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.privacy.sensitivity import gram_sensitivity
from dpgrs_papers.methods.sketch import (
    SketchRequest,
    base_terms,
    private_sketch,
    private_sketched_gram,
    sampled_gram,
    sketched_gram,
)
from random_cohorts import half_coded, random_alleles, random_bits
from refused import refused

D, N_HAPLOTYPES = 7, 200


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


@pytest.mark.parametrize("q", [1e-6, 0.01, 0.3, 0.9])
@pytest.mark.parametrize("epsilon", [1e-8, 1e-5, 0.1, 0.5, 5.0, 50.0])
def test_base_terms__are_rounded_down(epsilon, q):
    epsilon0 = base_terms(epsilon, 1e-6, sampling_rate=q)[0]
    with localcontext(prec=60):
        assert (1 + Decimal(q) * (Decimal(epsilon0).exp() - 1)).ln() <= Decimal(epsilon)


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
    assert (1 - 1e-6) * delta < gdp_delta(terms.budget["cross"], epsilon) <= delta
    epsilon0, delta0 = base_terms(*terms.shares["gram"], sampling_rate=n_chosen / N_HAPLOTYPES)
    assert (1 - 1e-6) * delta0 < gdp_delta(terms.budget["gram"], epsilon0) <= delta0


def test_budget__paper_needs_more_noise():
    gdp, paper = request().budget, request(accounting="paper").budget
    assert paper["gram"] < gdp["gram"]
    assert paper["cross"] < gdp["cross"]


def test_noise_sd__of_everybody_is_that_of_reusecov():
    terms = {"accounting": "paper", "gram_share": 0.3}
    sketch = request(n_chosen=N_HAPLOTYPES, **terms)
    known = {name: getattr(sketch, name) for name in ("rows", "unit", "neighbours", "outcome_bound")}
    plain = PrivacyRequest(n_variants=D, n_outcomes=3, epsilon=1.0, delta=1e-6, **known, **terms)
    assert sketch.noise_sd == pytest.approx(plain.noise_sd, rel=1e-9)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_sketched_gram__is_that_of_the_chosen_rows(rows):
    alleles = random_alleles(300, N_HAPLOTYPES)
    X = half_coded(alleles, rows=rows)
    is_chosen = chosen(len(X), 33)
    options = {"n_haplotypes": N_HAPLOTYPES, "rows": rows}
    G = sketched_gram(random_bits(300, N_HAPLOTYPES), is_chosen, **options)
    np.testing.assert_array_equal(G / 4, X[is_chosen].T @ X[is_chosen])


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("coding", ["half", "frequency", "row-centred"])
def test_sampled_gram__is_of_the_rows_of_a_request(rows, coding):
    bits, frequency = random_bits(D, N_HAPLOTYPES), np.linspace(0.1, 0.9, D)
    options = {"n_haplotypes": N_HAPLOTYPES, "rows": rows}
    X, step = coded_rows(bits, **options), 1.0
    if coding == "frequency":
        X, step = frequency_rows(bits, frequency, row_norm=0.9, **options), GENOTYPE_STEP
    elif coding == "row-centred":
        X, step = centred_rows(np.int16(2**12) * coded_rows(bits, **options).T), GENOTYPE_STEP
    X, is_chosen = X * step, chosen(len(X), 33)
    own = {"coding": coding} | ({"row_norm": 0.9} if coding == "frequency" else {})
    terms = request(rows=rows, unit="person", **own)
    G = sampled_gram(bits, is_chosen, n_haplotypes=N_HAPLOTYPES, request=terms, frequency=frequency)
    np.testing.assert_array_equal(G[:-1, :-1] * terms.gram_step, X[is_chosen].T @ X[is_chosen])
    assert G[-1, -1] * terms.gram_step == 33 / 4


def test_private_sketched_gram__of_clipped_rows_claims_what_they_move():
    terms = request(coding="frequency", row_norm=0.9)
    options = {"n_haplotypes": N_HAPLOTYPES, "request": terms, "frequency": np.full(D, 0.3)}
    _, event = private_sketched_gram(
        random_bits(D, N_HAPLOTYPES), chosen(N_HAPLOTYPES, 50), noise=Silence(), **options
    )
    relation = {"rows": "haplotypes", "neighbours": "replace-one", "unit": "haplotype"}
    assert event.sensitivity == gram_sensitivity(D, row_norm=0.9, **relation)


def test_private_sketched_gram__scales_the_sample_up():
    """Everybody is in two samples that split the cohort: without noise their mean is X'X."""
    terms = request(n_chosen=N_HAPLOTYPES // 2)
    is_chosen, bits = chosen(N_HAPLOTYPES, N_HAPLOTYPES // 2), random_bits(D, N_HAPLOTYPES)
    options = {"n_haplotypes": N_HAPLOTYPES, "request": terms, "noise": Silence()}
    halves = [private_sketched_gram(bits, sample, **options)[0] for sample in (is_chosen, ~is_chosen)]
    exact = gram(bits, n_haplotypes=N_HAPLOTYPES, rows="haplotypes") / 4
    np.testing.assert_allclose(np.mean(halves, axis=0), exact, rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.diag(halves[0]), N_HAPLOTYPES / 4)


def test_private_sketched_gram__samples_people_with_both_haplotypes():
    bits, n_people = random_bits(D, N_HAPLOTYPES), N_HAPLOTYPES // 2
    terms = request(unit="person", n_units=n_people, n_chosen=30)
    is_chosen = chosen(n_people, 30)
    options = {"n_haplotypes": N_HAPLOTYPES, "request": terms}
    G, event = private_sketched_gram(bits, is_chosen, noise=Silence(), **options)
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


def some_rows(*, rows):
    """Return bits, X'Y of three outcomes and options for the people of about half of the rows."""
    bits = random_bits(D, N_HAPLOTYPES)
    is_selected = np.repeat(chosen(N_HAPLOTYPES // 2, 43), 2 if rows == "haplotypes" else 1)
    options = {"n_haplotypes": N_HAPLOTYPES, "rows": rows, "is_selected": is_selected}
    Y = np.random.default_rng(4).integers(-9, 9, size=(3, len(is_selected)))
    return bits, cross_product(bits, Y, **options), options


@pytest.mark.parametrize("n_outcomes", [3, 1])
@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_private_sketch__of_everybody_is_that_of_reusecov_but_for_noise(rows, n_outcomes):
    bits, V, options = some_rows(rows=rows)
    terms = request(rows=rows, unit="person", n_units=43, n_chosen=43, n_outcomes=n_outcomes)
    n_rows, known = int(options["is_selected"].sum()), {"request": terms, "noise": Silence()}
    plain = private_statistics(gram(bits, **options), V, n_rows, **known)
    del options["rows"]
    noisy = private_sketch(bits, V, chosen(43, 43), **options, **known)
    np.testing.assert_allclose(noisy.gram, plain.gram, rtol=1e-14)
    np.testing.assert_array_equal(noisy.cross, plain.cross)
    assert (noisy.n, noisy.events) == (n_rows, plain.events)


def test_private_sketch__noise_is_of_the_request_and_of_the_parts_of_a_release():
    """At a sample of a tenth the noise is scaled up with the sum; X'Y has that of its half of the budget."""
    bits, V, options = some_rows(rows="haplotypes")
    terms = request(unit="haplotype", n_units=86, n_chosen=9, n_outcomes=1)
    del options["rows"]
    drawn = [
        private_sketch(bits, V, chosen(86, 9), request=terms, noise=noise, **options)
        for noise in [Silence(), *(BenchmarkNoise(1, replicate) for replicate in range(300))]
    ]
    upper = np.triu_indices(D + 1, k=1)
    G = [noisy.gram - drawn[0].gram for noisy in drawn[1:]]
    C = [noisy.cross - drawn[0].cross for noisy in drawn[1:]]
    sd = terms.noise_sd
    # 8,400 and 6,300 draws: within 5 standard errors.
    assert np.std([noise[upper] for noise in G]) == pytest.approx(sd["gram"] * 86 / 9, rel=0.04)
    assert np.std(C) == pytest.approx(sd["cross"], rel=0.045)
    assert [event.statistic for event in drawn[1].events] == ["gram"] + ["cross product"] * 3
    source = BenchmarkNoise(1, 0)
    known = {"request": terms, "noise": source.of("genotypes"), **options}
    np.testing.assert_array_equal(drawn[1].gram, private_sketched_gram(bits, chosen(86, 9), **known)[0])
    last, _ = private_cross_product(V[2:], request=terms, noise=source.of("outcomes", "2"))
    np.testing.assert_array_equal(drawn[1].cross[2:], last)


def test_private_sketch__people_are_in_it_with_both_haplotypes_of_the_selected_rows():
    bits, V, options = some_rows(rows="haplotypes")
    terms = request(unit="person", n_units=43, n_chosen=11)
    is_chosen, is_selected = chosen(43, 11), options["is_selected"]
    known = {"n_haplotypes": N_HAPLOTYPES, "request": terms, "noise": Silence(), "is_selected": is_selected}
    first, again = (private_sketch(bits, V, is_chosen, **known, n_threads=count) for count in (1, 3))
    X = half_coded(random_alleles(D, N_HAPLOTYPES), rows="haplotypes")
    people = X.reshape(-1, 2, D + 1)[is_selected[::2]][is_chosen]
    np.testing.assert_allclose(first.gram * 11 / 43, sum(rows.T @ rows for rows in people), atol=1e-9)
    np.testing.assert_array_equal(first.gram, again.gram)
    np.testing.assert_array_equal(first.cross, V[:, :-1] * terms.cross_step)
    assert first.n == 86


def test_private_sketch__raise_on_statistics_or_rows_of_others():
    bits, V, options = some_rows(rows="haplotypes")
    known = {"n_haplotypes": N_HAPLOTYPES, "noise": Silence()}
    selected = options["is_selected"]
    terms = request(unit="person", n_units=43, n_chosen=11)
    with refused("statistics-shape", "got 7", error=UsageError):
        private_sketch(bits, V[:2], chosen(43, 11), request=terms, is_selected=selected, **known)
    for wrong in [(bits[1:], V), (bits, V[:, 1:])]:
        with refused("statistics-shape", error=UsageError):
            private_sketch(*wrong, chosen(43, 11), request=terms, is_selected=selected, **known)
    terms = request(unit="person", n_units=44, n_chosen=11)
    with refused("selected-rows-differ", error=UsageError):
        private_sketch(bits, V, chosen(44, 11), request=terms, is_selected=selected, **known)


@pytest.mark.parametrize(
    ("terms", "fault"),
    [
        ({"neighbours": "add-remove"}, ("neighbours-not-replace-one", "got add-remove")),
        ({"protection": "label"}, ("sketch-protection",)),
    ],
)
def test_request__raise_on_what_the_sums_or_the_proof_are_not_of(terms, fault):
    with refused(*fault, error=UsageError):
        request(**terms)


@pytest.mark.parametrize("n_chosen", [0, N_HAPLOTYPES + 1])
def test_request__raise_on_size(n_chosen):
    with refused("sample-size", "200", n_chosen, error=UsageError):
        request(n_chosen=n_chosen)


@pytest.mark.parametrize(("n_units", "n_chosen"), [(N_HAPLOTYPES, 49), (N_HAPLOTYPES // 2, 50)])
def test_private_sketched_gram__raise_on_another_sample(n_units, n_chosen):
    with refused("sample-not-as-requested", "200", error=UsageError):
        private_sketched_gram(
            random_bits(D, N_HAPLOTYPES),
            chosen(n_units, n_chosen),
            n_haplotypes=N_HAPLOTYPES,
            request=request(),
            noise=Silence(),
        )
