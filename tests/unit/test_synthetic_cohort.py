"""Made-up cohorts: their moments are those of rows drawn one by one."""

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import column_moments, grid_frequency
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.synthetic_cohort import noisy_statistics, require_domain, synthetic_cohort

P = np.array([0.05, 0.1, 0.3, 0.5, 0.9])
N_COHORTS = 150


def request_of(*, rows="haplotypes", n_outcomes=3, **terms):
    common = {"outcome_bound": 3.0, "epsilon": 1.0, "delta": 1e-6}
    return PrivacyRequest(rows, len(P), n_outcomes, **common | terms)


def alleles(rows):
    return 1 if rows == "haplotypes" else 2


def clipped_rows(rows, row_norm, *, n_rows=100_000):
    """Return rows about their public means, and the same rows clipped."""
    n_alleles = alleles(rows)
    x = np.random.default_rng(1).binomial(n_alleles, P, (n_rows, len(P))) - n_alleles * P
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return x, x * np.minimum(1, row_norm / np.maximum(norms, row_norm))


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_synthetic_cohort__rows_are_clipped(rows):
    row_norm = 0.8 * np.sqrt(alleles(rows))
    request = request_of(rows=rows, coding="frequency", row_norm=row_norm)
    cohort = synthetic_cohort(request, n_rows=10**9, frequency=P, number=0)
    x, z = clipped_rows(rows, row_norm)
    assert (x != z).any(axis=1).mean() > 0.4
    np.testing.assert_allclose(np.diag(cohort.gram)[:-1], (z**2).mean(axis=0), rtol=0.04)
    np.testing.assert_allclose(2 * cohort.gram[-1, :-1], z.mean(axis=0), atol=0.005)
    np.testing.assert_allclose(np.diag(cohort.slope), (z * x).mean(axis=0), rtol=0.04)
    by_row = (cohort.root @ cohort.root.T).diagonal()[:-1]
    np.testing.assert_allclose(by_row, (z**2).mean(axis=0), rtol=0.04)
    np.testing.assert_allclose(cohort.coded_mean, 0, atol=1e-3)


def test_synthetic_cohort__row_of_one_variant_is_clipped_exactly():
    request = PrivacyRequest("haplotypes", 1, 1, 3.0, 1.0, 1e-6, coding="frequency", row_norm=0.2)
    gram = synthetic_cohort(request, n_rows=10**12, frequency=np.array([0.05]), number=0).gram
    # Of alleles 0 and 1, at -0.05 and 0.95 about their mean.
    np.testing.assert_allclose(gram[0, 0], 0.95 * 0.05**2 + 0.05 * 0.2**2, rtol=1e-4)
    np.testing.assert_allclose(2 * gram[0, 1], 0.95 * -0.05 + 0.05 * 0.2, rtol=1e-4)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_synthetic_cohort__norms_that_no_row_reaches_move_the_zero_alone(rows):
    model = {"n_rows": 50, "frequency": P, "number": 0}
    half = synthetic_cohort(request_of(rows=rows), **model)
    tight = synthetic_cohort(request_of(rows=rows, coding="frequency", row_norm=100.0), **model)
    np.testing.assert_allclose(2 * tight.gram[-1, :-1], 2 * half.gram[-1, :-1] - tight.origin, atol=1e-3)
    np.testing.assert_allclose(tight.coded_mean, half.mean - tight.origin)
    assert np.abs(half.gram[-1, :-1] * 2 - half.mean).max() > 0.01


@pytest.mark.parametrize(("n_outcomes", "norm"), [(1, 1.0), (3, 1.5)])
def test_synthetic_cohort__outcomes_are_clipped(n_outcomes, norm):
    tight = {"coding": "frequency", "row_norm": 100.0, "n_outcomes": n_outcomes}
    model = {"n_rows": 1000, "frequency": P, "number": 0}
    plain = synthetic_cohort(request_of(**tight), **model)
    clipped = synthetic_cohort(request_of(outcome_norm=norm, **tight), **model)
    y = np.random.default_rng(2).standard_normal((100_000, n_outcomes))
    factor = np.minimum(1, norm / np.linalg.norm(y, axis=1, keepdims=True))
    np.testing.assert_array_equal(clipped.gram, plain.gram)
    np.testing.assert_allclose(clipped.slope, (factor * y**2).mean() * plain.slope, rtol=0.02)
    square = ((factor * y) ** 2).mean()
    np.testing.assert_allclose(clipped.root, np.sqrt(square) * plain.root, rtol=0.02)


@pytest.mark.parametrize("protection", ["full", "label"])
@pytest.mark.parametrize("counts_outcomes", [False, True])
def test_noisy_statistics__draws_what_the_request_draws(protection, counts_outcomes):
    terms = {"epsilon": 100.0, "counts_outcomes": counts_outcomes, "protection": protection}
    neighbours = "add-remove" if protection == "full" else "replace-one"
    request = request_of(neighbours=neighbours, **terms)
    cohort = synthetic_cohort(request, n_rows=5000, frequency=P, number=0)
    first, other = (noisy_statistics(request, cohort, n_outcomes=7, key=("x", key)) for key in (0, 1))
    np.testing.assert_allclose(first.gram, cohort.gram * 5000, atol=5)
    assert (first.gram == other.gram).all() == (protection == "label")
    assert first.n == pytest.approx(5000, abs=8)
    assert (first.observed is not None) == counts_outcomes
    if counts_outcomes:
        np.testing.assert_allclose(first.observed, np.full(7, 5000), atol=15)
        assert (first.observed != other.observed).any()
    assert first.cross.shape == (7, len(P))
    assert not first.cross.any()


def test_noisy_statistics__counts_rows_with_noise_and_knows_the_zero_of_the_coding():
    request = request_of(coding="frequency", row_norm=100.0)
    cohort = synthetic_cohort(request, n_rows=5000, frequency=P, number=0)
    draws = [noisy_statistics(request, cohort, n_outcomes=1, key=(key,)) for key in range(5)]
    assert len({draw.n for draw in draws}) > 1
    zero = column_moments(grid_frequency(P), rows="haplotypes")[0]
    assert (zero != column_moments(P, rows="haplotypes")[0]).any()
    np.testing.assert_array_equal(draws[0].origin, zero)


def test_require_domain__ends_are_inside():
    ends = np.array([0.0, 1.0, 0.5, 0.0, 1.0])
    for heritability in (0, 1):
        require_domain(request_of(), n_rows=1, frequency=ends, heritability=heritability)
    good = {"n_rows": 1, "frequency": ends, "heritability": 0.5}
    for wrong in ({"frequency": ends - 0.1}, {"frequency": ends + 0.1}, {"heritability": -0.1}):
        (name,) = wrong
        with pytest.raises(UsageError, match=f"`{name}` must be"):
            require_domain(request_of(), **good | wrong)


@pytest.mark.parametrize("n_rows", [2, 4, 8])
@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_synthetic_cohort__means_and_correlations_scatter_as_those_of_rows(rows, n_rows):
    frequency, n_alleles = np.array([0.3, 0.4, 0.5, 0.6, 0.7]), alleles(rows)
    population, variance = column_moments(frequency, rows=rows)
    squares, correlations, determinants = [], [], []
    for number in range(N_COHORTS):
        cohort = synthetic_cohort(request_of(rows=rows), n_rows=n_rows, frequency=frequency, number=number)
        np.testing.assert_allclose(cohort.gram, cohort.gram.T)
        assert cohort.gram[-1, -1] == 1 / 4
        means = 2 * cohort.gram[-1, :-1]
        # X'(X - population)/n, and X'X/n again.
        of_effects = cohort.gram[:-1, :-1] - np.outer(means, population)
        np.testing.assert_allclose(cohort.slope[:-1], of_effects, atol=1e-12)
        np.testing.assert_allclose(cohort.root @ cohort.root.T, cohort.gram, atol=1e-12)
        covariance = cohort.gram[:-1, :-1] - np.outer(means, means)
        seen = means / n_alleles + 0.5
        own = n_alleles * seen * (1 - seen)
        np.testing.assert_allclose(np.diag(covariance), own, atol=1e-12)
        squares.append((means - population) ** 2 / variance)
        varies = own > 0
        scale = np.sqrt(np.outer(own, own))[np.ix_(varies, varies)]
        correlation = covariance[np.ix_(varies, varies)] / scale
        correlations.append(correlation[np.triu_indices(len(scale), k=1)] ** 2)
        if varies.all():
            determinants.append(np.linalg.det(correlation))
    assert np.mean(squares) == pytest.approx(1 / n_rows, rel=0.15)
    assert np.concatenate(correlations).mean() == pytest.approx(1 / (n_rows - 1), rel=0.12)
    # Of normal columns that are independent.
    expected = np.prod(1 - np.arange(1, len(P)) / (n_rows - 1))
    assert np.mean(determinants) == pytest.approx(expected, rel=0.2, abs=1e-9)
