"""Regressions on covariates: their sums, claim and effects, and outcomes less their part."""

import itertools
import json
import math
from dataclasses import asdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import norm

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import GENOTYPE_STEP, OUTCOME_STEP
from dpgrs.linalg.covariate_regression import (
    EFFECT_STEP,
    EXPLAINED,
    LARGEST_EFFECT,
    PRODUCT_STEP,
    SQUARE_STEP,
    RegressionSums,
    exact_effects,
    explained_part,
    on_effect_grid,
    regression_effects,
    regression_sums,
    with_intercept,
)
from dpgrs.linalg.covariates import covariate_units
from dpgrs.linalg.norms import SPREAD, outcome_norm, row_norm_of
from dpgrs.linalg.outcome_grid import clipped_outcomes, grid_outcomes
from dpgrs.methods.covariate_mechanism import CovariateRegression, covariate_request
from dpgrs.methods.covariate_regression import (
    LARGEST_SHARE,
    SMALLEST_SHARE,
    CovariateRequest,
    covariate_effects,
    default_share,
    exact_vector,
    expected_loss,
    private_covariate_regression,
)
from dpgrs.methods.genome_sums import GenomeRequest
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.accounting.accountant import gdp_mu
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal
from dpgrs.privacy.sensitivity import covariate_regression_sensitivity
from dpgrs.study.settings import resolve
from refused import refused
from row_enumeration import RELATIONS

ONE = round(1 / GENOTYPE_STEP)
BOUND = 3.0


def request(n_covariates=2, n_outcomes=1, **terms):
    known = {"rows": "people", "covariate_bound": BOUND}
    row_norm = row_norm_of(np.empty(0), factor=1.0, n_covariates=n_covariates + 1, **known)
    own = {"row_norm": row_norm, "outcome_norm": outcome_norm(n_outcomes, factor=1.05, bound=BOUND)}
    own |= known | {"n_variants": 0, "n_outcomes": n_outcomes, "n_covariates": n_covariates}
    own |= {"outcome_bound": BOUND, "epsilon": 1.0, "delta": 1e-6, "coding": "frequency"}
    return CovariateRequest(**own | {"covariate_share": 0.25} | terms)


def vector(asked, units, Y):
    """Return what one row, units (K,) and outcomes (l,), adds to the vector, in real units."""
    y = grid_outcomes(np.reshape(Y, (-1, 1)), bound=BOUND, row_norm=asked.outcome_norm)
    c = np.array(units, dtype=np.int16)[:, np.newaxis]
    sums = regression_sums(c, y, ~np.isnan(np.reshape(Y, (-1, 1))), row_norm=asked.row_norm)
    return exact_vector(sums, slice(0, len(Y)), asked) * asked.cross_step


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("row_norm", [1.0, 1.5, 2.0])
def test_sensitivity__holds_for_all_pairs_of_rows(neighbours, row_norm):
    asked = request(2, 2, row_norm=row_norm, neighbours=neighbours, counts_outcomes=True)
    entries, values = (-ONE, 0, ONE // 3, ONE), (-5.0, 0.75, 5.0, math.nan)
    rows = [
        vector(asked, (asked.intercept, *c), y)
        for c in itertools.product(entries, repeat=2)
        for y in itertools.product(values, repeat=2)
    ]
    distances = [np.linalg.norm(one) for one in rows]
    if neighbours == "replace-one":
        distances = [np.linalg.norm(one - other) for one, other in itertools.combinations(rows, 2)]
    assert max(distances) <= asked.claim.value


@pytest.mark.parametrize("counts", [False, True])
def test_sensitivity__of_one_row_is_attained(counts):
    """All entries as large as they can be: the intercept's, too, at a bound of one standard deviation."""
    asked = request(2, 1, row_norm=2.0, covariate_bound=1.0, outcome_norm=BOUND, counts_outcomes=counts)
    assert asked.intercept == ONE
    moved = np.linalg.norm(vector(asked, (ONE, ONE, -ONE), (7.0,)))
    assert moved == pytest.approx(asked.claim.value, rel=1e-12)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@settings(deadline=None, derandomize=True, max_examples=150)
@given(data=st.data(), size=st.integers(1, 6), row_norm=st.floats(0.05, 3), n_outcomes=st.integers(1, 3))
def test_sensitivity__holds_for_any_rows_on_the_grid(rows, data, size, row_norm, n_outcomes):
    largest = ONE if rows == "people" else ONE // 2
    unit = "person" if rows == "people" else "haplotype"
    terms = {"rows": rows, "unit": unit, "row_norm": row_norm, "counts_outcomes": True}
    entry = st.integers(-largest, largest) | st.sampled_from([-largest, largest])
    value = st.floats(-4, 4) | st.sampled_from([-BOUND, BOUND, math.nan])
    for neighbours in RELATIONS:
        asked = request(size, n_outcomes, neighbours=neighbours, **terms)
        row, other = (
            vector(
                asked,
                (asked.intercept, *data.draw(st.lists(entry, min_size=size, max_size=size))),
                data.draw(st.lists(value, min_size=n_outcomes, max_size=n_outcomes)),
            )
            for _ in range(2)
        )
        moved = row if neighbours == "add-remove" else row - other
        assert np.linalg.norm(moved) <= asked.claim.value


def test_sensitivity__by_hand():
    options = {"rows": "people", "unit": "person", "row_norm": 1.5, "outcome_norm": 2, "outcome_bound": 3}
    options |= {"intercept": 0.5, "square_weight": Fraction(1, 2), "known_weight": Fraction(3)}
    added = covariate_regression_sensitivity(4, 5, neighbours="add-remove", **options)
    fourths = 2 * 1 + 0.25**2  # of a square of 2.25
    counts = 5 * 9 / 16
    assert added.value**2 == pytest.approx((2.25**2 + fourths) / 8 + 2.25 * 4 + counts)
    replaced = covariate_regression_sensitivity(4, 5, neighbours="replace-one", **options)
    # C^2/a^2 is 16, beyond R^2: the same c with opposite outcomes.
    assert replaced.value**2 == pytest.approx(min(fourths, 2) / 4 + 4 * 2.25 * 4 + counts)
    heavy = covariate_regression_sensitivity(
        4, 5, neighbours="replace-one", **options | {"square_weight": Fraction(2)}
    )
    assert heavy.value**2 == pytest.approx(4 * (2.25**2 - 1 + 2) + 8 * (2.25 + 1) + counts)


def test_sensitivity__a_person_of_two_rows_moves_twice_as_far():
    terms = {"rows": "haplotypes", "row_norm": 0.5}
    of_row, of_person = (request(2, 2, unit=unit, **terms).claim.value for unit in ("haplotype", "person"))
    assert of_person == pytest.approx(2 * of_row, rel=1e-15)


def test_weights__have_the_least_noise_and_leave_counts_an_eighth():
    """Of the squared sensitivity of C'Y; weights are whole numbers of steps."""
    counted, plain = (request(3, 2, counts_outcomes=counts) for counts in (True, False))
    ratio = plain.square_weight * PRODUCT_STEP / SQUARE_STEP * plain.row_norm / plain.outcome_norm
    assert ratio**4 == pytest.approx(2 * 0.1 * 4 / 2, rel=0.15)
    added = counted.claim.value**2 - plain.claim.value**2
    assert added == pytest.approx((plain.row_norm * plain.outcome_norm) ** 2 / 8, rel=0.05)


def cohort(n, k, n_outcomes, *, explained=0.3, seed=1):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((k, n)) + 0.4
    beta = rng.standard_normal((n_outcomes, k))
    beta *= np.sqrt(explained) / np.linalg.norm(beta, axis=1, keepdims=True)
    Y = 0.3 + beta @ Z + rng.standard_normal((n_outcomes, n)) * np.sqrt(1 - explained)
    units = with_intercept(covariate_units(Z, bound=BOUND, rows="people"), bound=BOUND, rows="people")
    return units, Y, beta @ Z + 0.3


def summed(asked, units, Y):
    bounds = {"bound": BOUND, "norm": asked.outcome_norm, "n_shared": asked.n_outcomes}
    return regression_sums(units, clipped_outcomes(Y, **bounds), ~np.isnan(Y), row_norm=asked.row_norm)


def test_sums__are_those_of_the_rows_one_by_one():
    asked = request(3, 2)
    units, Y, _ = cohort(500, 3, 2)
    Y[1, ::7] = np.nan
    assert (units[0] == asked.intercept).all()
    whole = summed(asked, units, Y)
    order = np.random.default_rng(2).permutation(500)
    parts = [summed(asked, units[:, part], Y[:, part]) for part in np.array_split(order, 11)]
    for name in ("gram", "cross", "known"):
        np.testing.assert_array_equal(getattr(whole, name), sum(getattr(part, name) for part in parts))
    assert whole.gram.dtype == whole.cross.dtype == np.int64
    # Clipped outcomes are used again: no sum changes them.
    clipped = clipped_outcomes(Y, bound=BOUND, norm=asked.outcome_norm, n_shared=2)
    kept = clipped.copy()
    regression_sums(units, clipped, ~np.isnan(Y), row_norm=asked.row_norm)
    np.testing.assert_array_equal(clipped, kept)
    # Long rows are shrunk to the norm, with their outcomes.
    lengths = np.linalg.norm(units * GENOTYPE_STEP, axis=0)
    factors = np.minimum(1, asked.row_norm / lengths)
    assert (factors < 1).any()
    y = clipped_outcomes(Y, bound=BOUND, norm=asked.outcome_norm, n_shared=2) * OUTCOME_STEP
    expected = (factors * y) @ (factors * units * GENOTYPE_STEP).T
    np.testing.assert_allclose(whole.cross * PRODUCT_STEP, expected, atol=500 * 2e-4)


def test_effects__without_noise_are_those_of_least_squares():
    units, Y, part = cohort(40_000, 4, 2)
    asked = request(4, 2, row_norm=10.0, outcome_norm=100.0, outcome_bound=50.0)
    Y_units = clipped_outcomes(Y, bound=50.0, norm=100.0, n_shared=2)
    sums = regression_sums(units, Y_units, ~np.isnan(Y), row_norm=asked.row_norm)
    real = RegressionSums(sums.gram * SQUARE_STEP, sums.cross * PRODUCT_STEP, sums.known * SQUARE_STEP)
    found = regression_effects(real, square_sd=1e-9, cross_sd=1e-9, slopes=np.ones(2))
    np.testing.assert_allclose(found, exact_effects(units, Y), rtol=0.01, atol=0.002)
    # Values beyond the bound of covariates are far off.
    assert np.median(np.abs(explained_part(units, found) - part)) < 0.02


def test_effects__with_noise_lose_about_what_is_expected():
    units, Y, part = cohort(20_000, 4, 2)
    asked = request(4, 2, epsilon=3.0, covariate_share=0.05)
    options = {"request": asked, "noise": BenchmarkNoise(1), "outcome_names": ["a", "b"]}
    vectors, events = private_covariate_regression(summed(asked, units, Y), **options)
    assert [event.statistic for event in events] == ["covariate regression"]
    found = covariate_effects(vectors, request=asked, slopes=np.full(2, 0.85))
    loss = (explained_part(units, found) - part).var(axis=1).mean()
    expected = expected_loss(5, 2, share=0.05, mu=gdp_mu(3.0, 1e-6), n_rows=20_000)
    assert loss < 10 * expected + 0.003


@pytest.mark.parametrize("size", [400, 4000])
def test_effects__are_a_posterior_mean_of_one_direction_at_a_time(size):
    """Of a noisy C'C with a direction that is only noise, and of an outcome that few rows have."""
    rng, square_sd, cross_sd = np.random.default_rng(6), 3.0, 20.0
    U = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    gram, slopes = U @ np.diag([-5.0, 40.0, 900.0]) @ U.T, np.array([0.5, 0.8])
    sums = RegressionSums(gram, rng.standard_normal((2, 3)) * size, gram[0, 0] * np.array([0.5, 1.25]))
    eigenvalues, U = np.linalg.eigh(gram)
    posterior, means = [], []
    for explained in EXPLAINED:
        log_likelihood, mean = 0.0, np.zeros((2, 3))
        for outcome, factor in enumerate([2 / 0.5, 1 / 0.8]):
            for k, G in enumerate(np.maximum(eigenvalues, 2 * math.sqrt(3) * square_sd)):
                V = factor * sums.cross[outcome] @ U[:, k]
                prior = explained * G**2
                variance = prior + (factor * cross_sd) ** 2 + G
                log_likelihood += norm.logpdf(V, scale=math.sqrt(variance))
                mean[outcome] += prior / variance * V / G * U[:, k]
        posterior.append(log_likelihood)
        means.append(mean)
    expected = np.tensordot(softmax(posterior), means, axes=1)
    found = regression_effects(sums, square_sd=square_sd, cross_sd=cross_sd, slopes=slopes)
    np.testing.assert_allclose(found, expected, atol=EFFECT_STEP)
    assert not np.any(found / EFFECT_STEP % 1)


def test_effects__are_put_on_a_grid_within_bounds():
    found = on_effect_grid(np.array([0.3, 1e300, -1e300, np.nan]))
    assert found.tolist() == [round(0.3 / EFFECT_STEP) * EFFECT_STEP, LARGEST_EFFECT, -LARGEST_EFFECT, 0.0]
    units, Y, _ = cohort(50, 2, 1)
    assert not np.any(exact_effects(units, Y) / EFFECT_STEP % 1)


def test_effects__of_an_outcome_that_is_mostly_missing_are_scaled_up():
    units, Y, _ = cohort(20_000, 2, 2, seed=3)
    half = Y.copy()
    half[1, ::2] = np.nan
    asked = request(2, 2, epsilon=8.0, counts_outcomes=True)
    options = {"request": asked, "noise": BenchmarkNoise(1), "outcome_names": ["a", "b"]}
    whole, part = (
        covariate_effects(
            private_covariate_regression(summed(asked, units, values), **options)[0],
            request=asked,
            slopes=np.ones(2),
        )
        for values in (Y, half)
    )
    np.testing.assert_allclose(part[1], whole[1], atol=0.15)


def test_effects__where_noise_is_all_there_is_stay_small():
    asked = request(3, 2, epsilon=0.1, covariate_share=0.03)
    sums = RegressionSums(np.zeros((4, 4), np.int64), np.zeros((2, 4), np.int64), np.zeros(2, np.int64))
    for seed in range(20):
        options = {"request": asked, "noise": BenchmarkNoise(seed), "outcome_names": ["a", "b"]}
        vectors, _ = private_covariate_regression(sums, **options)
        found = covariate_effects(vectors, request=asked, slopes=np.ones(2))
        assert np.isfinite(found).all()
        assert np.abs(found).max() < 3


def test_effects__are_estimated_by_the_noise_that_sums_have(monkeypatch):
    asked, noisy = request(2, 2), []
    zeros = [np.zeros(shape, dtype=np.int64) for shape in ((3, 3), (2, 3), 2)]

    def estimate(sums, **noise):
        noisy.append((sums.gram[np.triu_indices(3)] / noise["square_sd"], sums.cross / noise["cross_sd"]))
        return np.zeros((2, 3))

    monkeypatch.setattr("dpgrs.methods.covariate_regression.regression_effects", estimate)
    for seed in range(200):
        options = {"request": asked, "noise": BenchmarkNoise(seed), "outcome_names": ["a", "b"]}
        vectors, _ = private_covariate_regression(RegressionSums(*zeros), **options)
        covariate_effects(vectors, request=asked, slopes=np.ones(2))
    assert [np.std(draws) for draws in zip(*noisy, strict=True)] == pytest.approx([1, 1], rel=0.1)


def test_explained_part__is_exact_and_of_each_row_by_itself():
    units, _, _ = cohort(300, 5, 3)
    effects = on_effect_grid(np.random.default_rng(4).normal(size=(3, 6)) * 100)
    found = explained_part(units, effects)
    alone = np.hstack([explained_part(units[:, i : i + 1], effects) for i in range(300)])
    np.testing.assert_array_equal(found, alone)
    exact = sum(Fraction(effects[1, j]) * int(units[j, 7]) for j in range(6)) * Fraction(GENOTYPE_STEP)
    assert Fraction(found[1, 7]) == exact
    assert not np.any(effects / EFFECT_STEP % 1)


def test_share__is_the_smallest_that_keeps_the_loss_low():
    mu = gdp_mu(1.0, 1e-6)
    assert default_share(15, 10, mu=mu, n_rows=None) == SMALLEST_SHARE
    assert default_share(3, 10, mu=mu, n_rows=380_000) == SMALLEST_SHARE
    assert default_share(131, 10, mu=mu, n_rows=1350) == LARGEST_SHARE
    share = default_share(15, 10, mu=mu, n_rows=20_000)
    assert SMALLEST_SHARE < share < LARGEST_SHARE
    assert expected_loss(15, 10, share=share, mu=mu, n_rows=20_000) == pytest.approx(0.001, rel=0.05)


def test_loss__by_hand():
    loss = expected_loss(5, 2, share=0.5, mu=2.0, n_rows=100)
    noise = 5**2 * 2 / (0.5 * 2**2 * 100**2)
    assert loss == pytest.approx(1.44 * (1 + SPREAD / 2) ** 2 * (1 + math.sqrt(0.125)) ** 2 * noise)


def test_budget__regression_and_rest_add_up_to_the_whole():
    terms = {"rows": "people", "n_variants": 5, "n_outcomes": 3, "outcome_bound": 3.0, "epsilon": 1.0}
    whole = PrivacyRequest(**terms, delta=1e-6, counts_outcomes=True, case_share=0.1)
    rest = PrivacyRequest(**terms, delta=1e-6, counts_outcomes=True, case_share=0.1, covariate_share=0.2)
    before = request(2, 3, covariate_share=0.2).budget["covariates"]
    total = sum(Fraction(mu) ** 2 for mu in whole.budget.values())
    spent = sum(Fraction(mu) ** 2 for mu in rest.budget.values()) + Fraction(before) ** 2
    assert abs(spent / total - 1) < Fraction(1, 10**12)
    assert spent <= Fraction(gdp_mu(1.0, 1e-6)) ** 2
    assert rest.key != whole.key


@pytest.mark.parametrize(
    ("methods", "left"), [(["blup"], 1), (["blup", "k-blup"], 0.7), (["k-blup", "s-blup", "s-ols"], 0.7)]
)
def test_request__of_a_study_has_what_choices_leave_and_norms_of_its_own_rows(methods, left):
    """Of several methods the least; one that is not private chooses for nothing."""
    covariates = {"file": "covariates.tsv", "scales": "scales.tsv", "bound": 2.0}
    study = {"study": "s", "methods": methods, "covariates": covariates}
    study |= {"screening": {"size": 3, "share": 0.3, "composition": "zcdp"}}
    study |= {"privacy": {"genotype_clip": 1.25, "outcome_clip": 1.5}}
    terms = {"rows": "people", "n_variants": 10, "n_outcomes": 2, "outcome_bound": BOUND, "epsilon": 2.0}
    shares = {"case_share": 0.1, "covariate_share": 0.2, "ld_share": 0.3}
    whole = PrivacyRequest(**terms, **shares, delta=1e-6, counts_outcomes=True)
    asked = covariate_request(whole, n_covariates=3, settings=resolve(study))
    assert (asked.epsilon, asked.delta) == pytest.approx((2.0 * left, 1e-6 * left))
    # Of the intercept and three covariates, at most 1 each, and of two outcomes.
    assert asked.row_norm == pytest.approx(1.25 * math.sqrt(4 / 2.0**2), abs=GENOTYPE_STEP)
    assert asked.outcome_norm == pytest.approx(1.5 * math.sqrt(2))
    kept = asdict(whole) | {"n_variants": 0, "n_covariates": 3, "covariate_bound": 2.0, "coding": "frequency"}
    kept |= {"case_share": None, "ld_share": None}
    changed = ("epsilon", "delta", "row_norm", "outcome_norm")
    assert asdict(asked) == kept | {name: getattr(asked, name) for name in changed}
    assert CovariateRegression().request(json.loads(json.dumps(asdict(asked)))) == asked
    # Terms that only sums of a genome have are left out.
    norms = {"coding": "frequency", "outcome_norm": 1.5, "row_norm": 1.0}
    of_genome = GenomeRequest(**asdict(whole) | norms, n_directions=5)
    assert covariate_request(of_genome, n_covariates=3, settings=resolve(study)) == asked


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        ({"protection": "feature", "neighbours": "replace-one"}, "covariates-first-under-feature-protection"),
        ({"covariate_share": None}, "covariate-regression-incomplete"),
        ({"outcome_norm": None}, "covariate-regression-incomplete"),
        ({"covariate_share": 1.0}, "share-out-of-range"),
    ],
)
def test_request__is_refused(terms, code):
    with refused(code, error=UsageError):
        request(**terms)


def test_mechanism__refuses_sums_of_other_sizes():
    sums = RegressionSums(np.zeros((4, 4), np.int64), np.zeros((1, 4), np.int64), np.zeros(1, np.int64))
    with refused("covariate-sums-shape", error=UsageError):
        private_covariate_regression(sums, request=request(), noise=BenchmarkNoise(1), outcome_names=["a"])


@pytest.mark.parametrize("counts", [False, True])
def test_mechanism__is_a_vector_for_each_budget_which_zeros_draw_and_files_keep(counts):
    """Two outcomes with budgets of their own."""
    mechanism, asked, drawn = CovariateRegression(), request(2, 1, counts_outcomes=counts), []
    units, Y, _ = cohort(100, 2, 2)
    exact = {"sums": summed(asked, units, Y), "slopes": np.array([0.5, 0.9])}
    options = {"request": asked, "outcome_names": ("a", "b")}
    for known in (exact, mechanism.zeros(asked, 2)):
        noise = Rehearsal()
        mechanism.draw(**known, **options, noise=noise)
        drawn.append({part: [event for event, _ in draws] for part, draws in noise.draws.items()})
    assert drawn[0] == drawn[1]
    assert list(drawn[0]) == [("outcomes", "a"), ("outcomes", "b")]
    released = mechanism.draw(**exact, **options, noise=BenchmarkNoise(1))
    assert released.vectors.shape == (2, 6 + 3 + counts)
    estimated = covariate_effects(released.vectors, request=asked, slopes=exact["slopes"])
    np.testing.assert_array_equal(released.effects, estimated)
    outputs = mechanism.outputs(released, ("a", "b"), asked)
    assert list(outputs) == [("outcomes", "a"), ("outcomes", "b")]
    for number, numbers in enumerate(outputs.values()):
        np.testing.assert_array_equal(numbers[0], released.vectors[number])
        np.testing.assert_array_equal(numbers[1], released.effects[[number]])
    label = {"events": [event.as_dict() for event in released.events]}
    restored = mechanism.restore(label, mechanism.arrays(released))
    np.testing.assert_equal(vars(restored), vars(released))
    assert len(restored.events) == 2


@pytest.mark.parametrize("protection", ["full", "label", "feature"])
def test_mechanism__is_of_private_outcomes(protection):
    terms = {"rows": "people", "n_variants": 5, "n_outcomes": 1, "outcome_bound": BOUND, "epsilon": 1.0}
    asked = PrivacyRequest(**terms, delta=1e-6, protection=protection, neighbours="replace-one")
    assert CovariateRegression().serves(None, asked) == (protection != "feature")
    assert CovariateRegression().key(None) == ("covariate-regression",)
