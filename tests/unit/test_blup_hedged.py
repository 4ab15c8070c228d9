"""BLUP weighed between a noisy Gram matrix and a public one: unbiased estimates, and what follows."""

import numpy as np
import pytest

from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.methods.blup import OutcomesSeen
from dpgrs.methods.blup_hedged import (
    DRAWS,
    THINNING,
    Judged,
    _linearly,
    best_share,
    fit_blup_hedged,
    gram_spread,
    judged_beside,
)
from dpgrs.methods.blup_ld import OverMismatches, fit_blup_ld
from dpgrs.methods.blup_shared import fit_blup_shared
from dpgrs.statement.findings import share_in_words

N, D, OUTCOMES = 400, 12, 6


def population(strength, *, reverse=False):
    """Return the covariance of columns that go together with their neighbours, of either sign."""
    places = np.arange(D)
    signs = np.where(places % 2 if reverse else places >= 0, 1.0, -1.0)
    return strength ** np.abs(places - places[:, np.newaxis]) * np.outer(signs, signs)


def symmetric(rng, sd):
    upper = np.triu(sd * rng.standard_normal((D, D)))
    return upper + np.triu(upper, 1).T


def cohort(rng, covariance, *, gram_sd, cross_sd, n_outcomes=OUTCOMES):
    """Draw exact and noisy statistics of outcomes of h2 = 0.5; return also the effects."""
    X = rng.multivariate_normal(np.zeros(D), covariance, N)
    effects = rng.standard_normal((n_outcomes, D))
    effects *= np.sqrt(0.5 / np.einsum("ji,ik,jk->j", effects, covariance, effects))[:, np.newaxis]
    Y = effects @ X.T + np.sqrt(0.5) * rng.standard_normal((n_outcomes, N))
    G, noise = X.T @ X, symmetric(rng, gram_sd)
    cross = Y @ X + cross_sd * rng.standard_normal((n_outcomes, D))
    return G, G + noise, cross, effects


def variant_set(rng, covariance, n_rows=400):
    X = rng.multivariate_normal(np.zeros(D), covariance, n_rows)
    return public_ld(X, contig=np.full(D, "1"), position=np.arange(D), rows_per_person=1)


def explained(weights, effects, G):
    """Return what weights explain of outcomes, by the exact statistics: what is estimated."""
    return (2 * (weights @ G * effects).sum(axis=1) - (weights @ G * weights).sum(axis=1)) / N


@pytest.mark.parametrize("reverse", [False, True])
def test_judged__is_unbiased_for_a_public_fit_that_fits_or_not(reverse):
    """Over 300 cohorts: within 5 standard errors of the mean; the wrong one loses 0.5 and more."""
    rng, errors = np.random.default_rng(3), []
    wrong = variant_set(rng, population(0.7, reverse=reverse))
    for _ in range(300):
        G, noisy, cross, effects = cohort(rng, population(0.7), gram_sd=30, cross_sd=15)
        seen = OutcomesSeen.of(cross, wrong.spectrum(N), N, cross_sd=15, heritability=0.5)
        judged = Judged(seen, *_linearly(seen))
        errors.append(np.mean(judged.explained(noisy) - explained(judged.weights, effects, G)))
    error = np.std(errors) / np.sqrt(len(errors))
    assert error < 0.03
    assert abs(np.mean(errors)) < 5 * error


def test_judged_beside__is_nearly_unbiased_where_the_matrix_that_was_fitted_is_not():
    rng, thinned, plain, apart = np.random.default_rng(4), [], [], []
    terms = {"cross_sd": 15, "heritability": 0.5}
    ld = variant_set(rng, population(0.7))
    for _ in range(60):
        G, noisy, cross, effects = cohort(rng, population(0.7), gram_sd=40, cross_sd=15)
        fit = fit_blup_shared(noisy, cross, N, gram_sd=40, **terms)
        true = explained(fit.weights, effects, G).sum()
        public = Judged(*_of_public(ld, cross, terms))
        of_own, between = judged_beside(public, noisy, cross, N, gram_sd=40, **terms)
        thinned.append((of_own - true) / OUTCOMES)
        v = public.weights - fit.weights
        apart.append((between - (v @ G * v).sum() / N) / OUTCOMES)
        # By the matrix from which they are, weights seem to explain more.
        w = fit.weights
        plain.append(-np.mean((w @ noisy * w).sum(axis=1) - (w @ G * w).sum(axis=1)) / N)
    error = np.std(thinned) / np.sqrt(len(thinned))
    assert error < 0.01
    # The fit that is judged has a quarter more noise on its matrix: it explains a little less, and is
    # a little further from the public one.
    assert -0.03 - 5 * error < np.mean(thinned) < 5 * error
    error = np.std(apart) / np.sqrt(len(apart))
    assert error < 0.01
    assert -5 * error < np.mean(apart) < 0.03 + 5 * error
    assert np.mean(plain) != pytest.approx(0, abs=0.01)


def test_spread__is_that_of_products_with_noise():
    rng = np.random.default_rng(5)
    G, noisy, cross, _ = cohort(rng, population(0.0), gram_sd=0.0, cross_sd=15)
    seen = OutcomesSeen.of(
        cross, variant_set(rng, population(0.0), 10**5).spectrum(N), N, cross_sd=15, heritability=0.5
    )
    judged = Judged(seen, *_linearly(seen))
    weights = rng.standard_normal(cross.shape)
    variance = 0.5 * np.einsum("ji,ik,jk->", weights, G, weights) + 15**2 * np.sum(weights**2)
    assert judged.spread(weights, noisy) == pytest.approx(2 * np.sqrt(variance) / N, rel=0.02)


def test_gram_spread__is_that_of_quadratic_forms_of_noise():
    """By 4,000 draws: within 5 standard errors, some 6 %; without the thinned part it is a third less."""
    rng, spreads = np.random.default_rng(9), []
    public, own = rng.standard_normal((2, OUTCOMES, D))
    for _ in range(4000):
        first, *others = (symmetric(rng, 3.0) for _ in range(1 + DRAWS))
        of_own = [(own @ (first - noise / np.sqrt(THINNING)) * own).sum() for noise in others]
        spreads.append((public @ first * public).sum() - np.mean(of_own))
    error = 1 / np.sqrt(2 * len(spreads))
    assert gram_spread(public, own, gram_sd=3.0) == pytest.approx(np.std(spreads), rel=5 * error)
    assert gram_spread(public, own, gram_sd=0.0) == 0


def test_best_share__is_where_an_average_explains_most():
    rng = np.random.default_rng(10)
    G, _, _, effects = cohort(rng, population(0.6), gram_sd=0, cross_sd=0)
    for first, second in ((0.1, 0.3), (0.3, 0.1), (0.5, 0.0), (0.0, 0.5)):
        own, public = (effects + scale * rng.standard_normal(effects.shape) for scale in (first, second))
        v = public - own
        between = (v @ G * v).sum() / N
        difference = (explained(public, effects, G) - explained(own, effects, G)).sum()
        shares = np.linspace(0, 1, 1001)
        of_averages = [explained(own + share * v, effects, G).sum() for share in shares]
        assert best_share(difference, between) == pytest.approx(shares[np.argmax(of_averages)], abs=1e-3)


@pytest.mark.parametrize("between", [0.0, -1.0])
def test_best_share__goes_by_the_better_one_where_noise_hides_that_they_differ(between):
    assert best_share(0.1, between) == 1
    assert best_share(-0.1, between) == 0


@pytest.mark.parametrize(
    ("name", "gram_sd", "reverse", "low", "high"),
    [("right", 60.0, False, 0.4, 1), ("wrong", 5.0, True, 0, 0)],
)
def test_fit_blup_hedged__shares_by_what_each_explains(name, gram_sd, reverse, low, high):
    rng = np.random.default_rng(6)
    _, noisy, cross, _ = cohort(rng, population(0.8), gram_sd=gram_sd, cross_sd=10)
    ld = variant_set(rng, population(0.8, reverse=reverse))
    terms = {"cross_sd": 10, "heritability": 0.5}
    fit = fit_blup_hedged(noisy, cross, N, ld=ld, gram_sd=gram_sd, **terms)
    own = fit_blup_shared(noisy, cross, N, gram_sd=gram_sd, **terms).weights
    public, _ = fit_blup_ld(ld, cross, N, **terms)
    blend = own + fit.public_share * (public.weights - own)
    np.testing.assert_allclose(fit.weights, blend, rtol=1e-12, atol=1e-14)
    assert fit.standard_errors is None
    judged = Judged(*_of_public(ld, cross, terms))
    of_own, between = judged_beside(judged, noisy, cross, N, gram_sd=gram_sd, **terms)
    by_cross = judged.spread(judged.weights - own, noisy)
    by_gram = gram_spread(judged.weights, own, gram_sd=gram_sd) / N
    surely = judged.explained(noisy).sum() - of_own - np.sqrt(by_cross**2 + by_gram**2)
    assert fit.public_share == pytest.approx(best_share(surely, between))
    assert low <= fit.public_share <= high


def _of_public(ld, cross, terms):
    seen = OutcomesSeen.of(cross, ld.spectrum(N), N, **terms)
    return seen, *OverMismatches(seen).average(_linearly)


def test_fit_blup_hedged__shares_causes_on_public_genotypes_only_where_its_own_fit_does(monkeypatch):
    rng, asked = np.random.default_rng(21), []
    _, noisy, cross, _ = cohort(rng, population(0.8), gram_sd=10, cross_sd=10, n_outcomes=40)
    ld, terms = variant_set(rng, population(0.8)), {"gram_sd": 10, "cross_sd": 10}

    def fit(self, *, may_share):
        asked.append(may_share)
        return fit_of(self, may_share=may_share)

    fit_of = OverMismatches.fit
    monkeypatch.setattr(OverMismatches, "fit", fit)
    fit_blup_hedged(noisy, cross, N, ld=ld, **terms)
    one_cause = np.outer(rng.standard_normal(40), cross[0])
    fit_blup_hedged(noisy, one_cause + 10 * rng.standard_normal(cross.shape), N, ld=ld, **terms)
    assert asked == [False, True]


def test_fit_blup_hedged__without_public_variation_is_the_own_fit():
    rng = np.random.default_rng(7)
    _, noisy, cross, _ = cohort(rng, population(0.5), gram_sd=20, cross_sd=10, n_outcomes=1)
    nothing = public_ld(np.zeros((5, D)), contig=np.full(D, "1"), position=np.arange(D), rows_per_person=1)
    fit = fit_blup_hedged(noisy, cross, N, ld=nothing, gram_sd=20, cross_sd=10)
    own = fit_blup_shared(noisy, cross, N, gram_sd=20, cross_sd=10)
    assert fit.public_share == 0
    np.testing.assert_array_equal(fit.weights, own.weights)


def test_fit_blup_hedged__noise_that_hides_the_genotypes_leaves_the_public_fit():
    rng = np.random.default_rng(8)
    _, noisy, cross, _ = cohort(rng, population(0.8), gram_sd=0, cross_sd=10)
    hidden = noisy - 10**5 * np.eye(D)  # of a trace below 0: nothing is seen
    ld = variant_set(rng, population(0.8))
    fit = fit_blup_hedged(hidden, cross, N, ld=ld, gram_sd=10**4, cross_sd=10)
    assert np.isfinite(fit.weights).all()
    assert 0 <= fit.public_share <= 1


def test_share_in_words():
    assert "has a share of 0.25 in the weights" in share_in_words(np.array(0.25))
