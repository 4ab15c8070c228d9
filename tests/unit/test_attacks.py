"""Attacks where their success is known: closed forms, memorised rows, pure noise, bounds that must hold."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm
from sklearn.covariance import ledoit_wolf
from sklearn.linear_model import Ridge

from dpgrs.evaluation.attacks import (
    PENALTIES,
    Reference,
    Targets,
    advantage_bound,
    area_bound,
    gram_scores,
    residual_scores,
    statistics_scores,
    true_positive_bound,
    weights_scores,
)
from dpgrs.evaluation.intervals import advantage, area_under_curve
from dpgrs.linalg.linear_fit import LinearFit, centred_gram, ridge_weights
from dpgrs.privacy.accounting.accountant import gdp_delta
from dpgrs.privacy.sensitivity import cross_sensitivity, gram_sensitivity


def population(n_rows, n_variants, n_outcomes, *, seed, rows="haplotypes", heritability=0.5):
    """Draw rows of independent variants of frequency 1/2, and outcomes of the same effects in every draw."""
    rng = np.random.default_rng([seed, 1])
    copies = 1 if rows == "haplotypes" else 2
    X = rng.integers(0, 2, (copies, n_rows, n_variants)).sum(axis=0) - copies / 2
    theta = np.random.default_rng(99).standard_normal((n_outcomes, n_variants))
    explained = heritability / (n_variants * copies / 4)
    Y = np.sqrt(explained) * theta @ X.T + np.sqrt(1 - heritability) * rng.standard_normal(
        (n_outcomes, n_rows)
    )
    return X, Y


def with_intercept(X):
    return np.column_stack([X, np.full(len(X), 0.5)])


def study(n_rows, n_variants, n_outcomes, *, m, seed=0, rows="haplotypes"):
    """Return members, others, a reference of m rows, and the members' exact statistics and least squares."""
    members, others, known = (
        population(count, n_variants, n_outcomes, seed=10 * seed + place, rows=rows)
        for place, count in enumerate((n_rows, n_rows, m))
    )
    gram = with_intercept(members[0]).T @ with_intercept(members[0])
    G_c, means = centred_gram(gram, n_rows)
    cross = members[1] @ (members[0] - means)
    return SimpleNamespace(
        members=members,
        others=others,
        reference=Reference.of(*known, rows=rows),
        gram=gram,
        cross=cross,
        ols=LinearFit(ridge_weights(G_c, cross, n_rows, penalty=0.0), means, members[1].mean(axis=1)),
        n=n_rows,
    )


def both_sides(attack, data):
    return [attack(Targets(*side, data.reference)) for side in (data.members, data.others)]


def area(attack, data):
    return area_under_curve(*both_sides(attack, data)).value


def gram_attack(data, gram=None, **options):
    gram = data.gram if gram is None else gram
    return lambda targets: gram_scores(targets, gram, data.n, **options)


def statistics_attack(data, gram=None, cross=None, **options):
    gram, cross = data.gram if gram is None else gram, data.cross if cross is None else cross
    return lambda targets: statistics_scores(targets, gram, cross, data.n, **options)


def weights_attack(data, fit=None, penalty=0.0):
    return lambda targets: weights_scores(targets, fit or data.ols, data.n, penalty=penalty)


def released_entries(X, rows):
    """Return the released entries of every z z', written out, and where they stand."""
    Z = with_intercept(X)
    i, j = np.triu_indices(Z.shape[1], k=1 if rows == "haplotypes" else 0)
    if rows == "people":
        i, j = i[:-1], j[:-1]
    return Z[:, i] * Z[:, j], (i, j)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("sigma", [0.0, 3.0])
def test_gram_scores__equal_the_likelihood_ratio_written_out(rows, sigma):
    data = study(30, 5, 1, m=25, rows=rows)
    gram = data.gram + np.triu(np.random.default_rng(3).standard_normal(data.gram.shape) * sigma, 1)
    gram = np.triu(gram) + np.triu(gram, 1).T
    (X, Y), m = data.others, 25

    known, entries = released_entries(data.reference.X, rows)
    covariance, _ = ledoit_wolf(known)
    C = data.n * (1 + data.n / m) * covariance + sigma**2 * np.eye(len(covariance))
    mean, released = data.n * known.mean(axis=0), gram[entries]
    shifts = released_entries(X, rows)[0] - known.mean(axis=0)
    outside = multivariate_normal(mean, C, allow_singular=True)
    expected = [outside.logpdf(released - shift) - outside.logpdf(released) for shift in shifts]

    found = gram_scores(Targets(X, Y, data.reference), gram, data.n, sigma=sigma)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_gram_scores__area_is_the_closed_form_of_an_orthogonal_design():
    # All entries of z z' are uncorrelated with one variance, so that the ratio is N(+-q/2, q).
    n, d, m = 200, 30, 800
    areas = [area(gram_attack(data), data) for data in (study(n, d, 1, m=m, seed=seed) for seed in range(4))]
    q = d * (d + 1) / 2 / (n * (1 + n / m))
    assert np.mean(areas) == pytest.approx(norm.cdf(np.sqrt(q / 2)), abs=0.03)


def test_gram_scores__people_who_were_not_summed_cannot_be_told_apart():
    data = study(300, 40, 1, m=500)
    other = study(300, 40, 1, m=2, seed=1)
    assert area(gram_attack(data, gram=other.gram), data) == pytest.approx(0.5, abs=0.06)


def test_gram_scores__constant_variants_say_nothing():
    X, Y = np.full((6, 3), 0.5), np.zeros((1, 6))
    Z, targets = with_intercept(X), Targets(X, Y, Reference.of(X, Y, rows="haplotypes"))
    np.testing.assert_array_equal(gram_scores(targets, Z.T @ Z, 6), np.zeros(6))


def test_residual_scores__area_is_the_closed_form_of_an_orthogonal_design():
    n, d, n_outcomes, m = 1000, 50, 60, 1000
    h, g = d / n, d / m
    outside = np.array([[1 + h / (1 - h), 1], [1, 1 + g]])
    inside = np.diag([1 - h, 1]) @ outside @ np.diag([1 - h, 1])
    # For many outcomes the sums are normal, of one variance, equal to the gap of means: Jeffreys' divergence.
    pairs = np.linalg.solve(outside, inside), np.linalg.solve(inside, outside)
    divergence = n_outcomes / 2 * (np.trace(pairs[0]) + np.trace(pairs[1]) - 4)
    expected = norm.cdf(np.sqrt(divergence / 2))
    assert 0.7 < expected < 0.97
    data = study(n, d, n_outcomes, m=m)
    assert area(statistics_attack(data), data) == pytest.approx(expected, abs=0.03)
    # The weights alone tell as much: only the leverages must be guessed.
    assert area(weights_attack(data), data) == pytest.approx(expected, abs=0.03)


def test_weights_scores__overfitted_least_squares_gives_everybody_away():
    data = study(80, 75, 5, m=150)
    assert area(weights_attack(data), data) > 0.99


def test_weights_scores__weights_of_noise_say_nothing():
    data = study(400, 20, 30, m=300)
    noise = LinearFit(np.random.default_rng(5).standard_normal((30, 20)), data.ols.means, np.zeros(30))
    assert area(weights_attack(data, fit=noise, penalty=0.1), data) == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("noise_share", [1.0, 0.0])
@pytest.mark.parametrize("attack", ["statistics", "weights"])
def test_private_releases__stay_below_the_bound_and_exact_ones_exceed_it(attack, noise_share):
    n, d, n_outcomes, mu, bound = 200, 60, 40, 0.5, 4.0
    data = study(n, d, n_outcomes, m=200)
    rng = np.random.default_rng(8)
    relation = {"rows": "haplotypes", "neighbours": "add-remove", "unit": "haplotype"}
    gram_sigma = noise_share * gram_sensitivity(d, **relation).value / mu
    cross_sigma = noise_share * cross_sensitivity(d, n_outcomes, outcome_bound=bound, **relation).value / mu
    upper = np.triu(gram_sigma * rng.standard_normal((d + 1, d + 1)), k=1)
    gram = data.gram + upper + upper.T
    cross = data.cross + cross_sigma * rng.standard_normal((n_outcomes, d))
    if attack == "statistics":
        scores = statistics_attack(data, gram, cross, gram_sigma=gram_sigma, cross_sigma=cross_sigma)
    else:
        G_c, means = centred_gram(gram, n)
        fit = LinearFit(ridge_weights(G_c, cross, n, penalty=0.001), means, np.zeros(n_outcomes))
        scores = weights_attack(data, fit, penalty=0.001)
    members, others = both_sides(scores, data)
    folds = np.arange(n) % 2
    found = advantage(members, others, member_folds=folds, other_folds=folds)
    assert (found.low > advantage_bound(np.hypot(mu, mu))) == (noise_share == 0.0)


def test_scores__do_not_depend_on_the_order_of_rows_or_outcomes():
    data = study(60, 8, 5, m=40)
    X, Y = data.others
    rng = np.random.default_rng(1)
    rows, known, outcomes = rng.permutation(60), rng.permutation(40), rng.permutation(5)
    reference = Reference.of(data.reference.X[known], data.reference.Y[outcomes][:, known], rows="haplotypes")
    fit = LinearFit(data.ols.weights[outcomes], data.ols.means, data.ols.intercept[outcomes])
    for attack, moved in (
        (gram_attack(data), gram_attack(data)),
        (statistics_attack(data), statistics_attack(data, cross=data.cross[outcomes])),
        (weights_attack(data), weights_attack(data, fit)),
    ):
        expected = attack(Targets(X, Y, data.reference))
        found = moved(Targets(X[rows], Y[outcomes][:, rows], reference))
        np.testing.assert_allclose(found, expected[rows], rtol=1e-8, atol=1e-8)


def test_residual_scores__are_likelihood_ratios_of_the_two_residuals():
    data = study(60, 4, 3, m=30)
    X, Y = data.others
    leverage = np.linspace(0.01, 0.5, 60)
    found = residual_scores(Targets(X, Y, data.reference), data.ols, leverage)
    expected = np.zeros(60)
    r, q = Y - data.ols.predict(X), Y - data.reference.fit.predict(X)
    r_known = data.reference.Y - data.ols.predict(data.reference.X)
    for j in range(3):
        pairs = np.stack([r_known[j], data.reference.residuals[j]])
        S = pairs @ pairs.T / 30
        for i in range(60):
            shrink = np.diag([1 - leverage[i], 1])
            z = [r[j, i], q[j, i]]
            inside, outside = multivariate_normal([0, 0], shrink @ S @ shrink), multivariate_normal([0, 0], S)
            expected[i] += inside.logpdf(z) - outside.logpdf(z)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_residual_scores__missing_outcomes_are_left_out():
    data = study(60, 4, 3, m=30)
    X, Y = data.others
    holes, known = Y.copy(), data.reference.Y.copy()
    holes[2, :20] = np.nan
    leverage, targets = np.full(60, 0.1), Targets(X, Y, data.reference)
    expected = residual_scores(targets, data.ols, leverage)
    found = residual_scores(Targets(X, holes, data.reference), data.ols, leverage)
    two = LinearFit(data.ols.weights[:2], data.ols.means, data.ols.intercept[:2])
    np.testing.assert_allclose(found[20:], expected[20:])
    np.testing.assert_allclose(found[:20], residual_scores(targets, two, leverage)[:20])
    # An outcome that the reference never shows, or that never varies, counts for nothing.
    for nothing in (np.nan, 0.0):
        known[2] = nothing
        reference = Reference.of(data.reference.X, known, rows="haplotypes")
        flat = LinearFit(data.ols.weights * [[1], [1], [0]], data.ols.means, np.zeros(3))
        assert np.isfinite(residual_scores(Targets(X, holes, reference), flat, leverage)).all()


def test_reference__residuals_are_those_of_refits_without_the_row():
    X, Y = population(25, 6, 2, seed=4)
    reference = Reference.of(X, Y, rows="haplotypes")

    def refitted(penalty):
        residuals = np.empty_like(Y)
        for i in range(25):
            kept = np.arange(25) != i
            # With the means of all rows, as the shrinkage of the intercept is none.
            model = Ridge(alpha=25 * penalty).fit(X[kept], Y[:, kept].T)
            residuals[:, i] = Y[:, i] - model.predict(X[i : i + 1])[0]
        return residuals

    errors = [(refitted(penalty) ** 2).sum() for penalty in PENALTIES]
    best = PENALTIES[int(np.argmin(errors))]
    np.testing.assert_allclose(reference.residuals, refitted(best), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(reference.fit.predict(X), Ridge(alpha=25 * best).fit(X, Y.T).predict(X).T)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_bounds__are_those_of_the_trade_off_curve(mu):
    # TPR - FPR is at most the total variation, which is delta at epsilon = 0.
    assert advantage_bound(mu) == pytest.approx(gdp_delta(mu, 0.0), rel=1e-6)
    assert area_bound(mu) == pytest.approx(quad(lambda fpr: true_positive_bound(mu, fpr), 0, 1)[0], abs=1e-6)
    fpr = np.linspace(0.001, 0.999, 999)
    assert np.max(true_positive_bound(mu, fpr) - fpr) == pytest.approx(advantage_bound(mu), abs=1e-4)
