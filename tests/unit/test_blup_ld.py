"""BLUP on public linkage disequilibrium: the formula, the mismatch, and a budget without a Gram matrix."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.linalg.public_ld import PublicLd
from dpgrs.linalg.steering import Steering
from dpgrs.methods.blup import OutcomesSeen
from dpgrs.methods.blup_ld import (
    MISMATCHES,
    LdRequest,
    _drawn_gram,
    blup_ld,
    fit_blup_ld,
    ld_request,
    shared_fit,
)
from dpgrs.methods.blup_model import HERITABILITIES, beta_priors
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics, private_statistics
from dpgrs.methods.steered_mechanisms import SteeredProducts
from dpgrs.methods.sum_mechanisms import SharedStatistics
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.statement.findings import FEW_ROWS, misfit_in_words, mismatch_in_words
from dpgrs.study.fit_identity import output_digests
from dpgrs.types import Coding, Penalty
from refused import refused

N, D = 300, 8


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def correlated(rng, n, *, strength, d=D):
    """Return rows whose columns go together with their neighbours."""
    X = rng.standard_normal((n, d))
    for column in range(1, d):
        X[:, column] = strength * X[:, column - 1] + np.sqrt(1 - strength**2) * X[:, column]
    return X


def ld_of(X):
    places = {"contig": np.full(X.shape[1], "1"), "position": np.arange(X.shape[1])}
    return public_ld(X, **places, rows_per_person=1)


def outcomes_of(rng, X, *, n_outcomes, h2=0.5):
    effects = rng.standard_normal((n_outcomes, X.shape[1]))
    genetic = effects @ X.T
    genetic /= genetic.std(axis=1, keepdims=True)
    return np.sqrt(h2) * genetic + np.sqrt(1 - h2) * rng.standard_normal(genetic.shape)


def request_of(**terms):
    known = {"rows": "haplotypes", "n_variants": D, "n_outcomes": 2, "outcome_bound": 3.0}
    known |= {"coding": Coding.FREQUENCY, "row_norm": 2.0, "outcome_norm": 1.8, "epsilon": 2, "delta": 1e-6}
    return PrivacyRequest(**known | terms)


def densely(ld, V, n, *, cross_sd, mismatch, h2):
    """Return effects and the log-likelihood of every outcome by plain algebra, from the whole matrices."""
    spectrum = ld.spectrum(n)
    U, a = spectrum.vectors, spectrum.first ** (1 + mismatch.steepness)
    a = a / a.sum() * spectrum.first.sum()
    by_chance = spectrum.second / spectrum.first - spectrum.first
    A = (U * a) @ U.T
    B = (U * (a**2 + a * by_chance + mismatch.chance * a * spectrum.trace)) @ U.T
    t2, s2 = h2 * n / spectrum.trace, 1 - h2
    covariance = t2 * B + s2 * A + cross_sd**2 * np.eye(len(a))
    effects = t2 * V @ np.linalg.solve(covariance, A)
    squares = (V * np.linalg.solve(covariance, V.T).T).sum(axis=1)
    return effects, -0.5 * (np.linalg.slogdet(covariance)[1] + squares)


@pytest.mark.parametrize("heritability", [0.3, None])
def test_fit_blup_ld__is_the_plain_formula_averaged_over_mismatches(rng, heritability):
    ld, X = ld_of(correlated(rng, 100, strength=0.8)), correlated(rng, N, strength=0.1)
    V, cross_sd = outcomes_of(rng, X, n_outcomes=4) @ X + 5 * rng.standard_normal((4, D)), 5.0
    found, mismatch = fit_blup_ld(ld, V, N, cross_sd=cross_sd, heritability=heritability)
    grid = HERITABILITIES if heritability is None else np.array([heritability])
    priors, by_mismatch = beta_priors(tuple(grid)), []
    for one in MISMATCHES:
        effects, likelihood = zip(
            *(densely(ld, V, N, cross_sd=cross_sd, mismatch=one, h2=h2) for h2 in grid), strict=True
        )
        likelihood = np.exp(np.array(likelihood, dtype=np.longdouble).T)
        of_outcomes = likelihood @ priors
        joint = np.prod(of_outcomes, axis=0)
        posterior = likelihood * (joint / joint.sum() / of_outcomes @ priors.T)
        by_mismatch.append((joint.sum(), np.einsum("jh,hjd->jd", posterior, np.array(effects))))
    evidence, weights = (np.array(values) for values in zip(*by_mismatch, strict=True))
    chance, steepness = np.transpose(MISMATCHES)
    # No steepness has 0.9 of the prior, and of what is told no chance has half of it; the rest is even.
    prior = np.where(steepness == 0, 0.9, 0.1 / 5)
    shares = prior * evidence / (prior @ evidence)
    wanted = np.tensordot(shares, weights, axes=1).astype(float)
    np.testing.assert_allclose(found.weights, wanted, rtol=1e-4, atol=1e-9)
    told = prior * np.where(chance == 0, 0.5, 0.5 / 12)
    assert mismatch == MISMATCHES[np.argmax(told * evidence)]
    assert mismatch.chance > 0
    assert found.standard_errors is None


def test_fit_blup_ld__undoes_clips_and_missing_rows(rng):
    ld, X = ld_of(correlated(rng, 100, strength=0.5)), correlated(rng, N, strength=0.5)
    V = outcomes_of(rng, X, n_outcomes=3) @ X
    plain, _ = fit_blup_ld(ld, V, N, cross_sd=2.0, heritability=0.5)
    slopes, inflation = np.array([1.0, 0.5, 1.0]), np.array([1.0, 1.0, 1.0])
    found, _ = fit_blup_ld(
        ld, V * slopes[:, np.newaxis], N, cross_sd=2.0, heritability=0.5, slopes=slopes, inflation=inflation
    )
    np.testing.assert_allclose(found.weights[[0, 2]], plain.weights[[0, 2]], rtol=0.01)
    # Its noise is twice as large, so that it is shrunk more.
    assert np.linalg.norm(found.weights[1]) < np.linalg.norm(plain.weights[1])
    missing, _ = fit_blup_ld(ld, V / 2, N, cross_sd=2.0, heritability=0.5, inflation=np.full(3, 2.0))
    assert (np.linalg.norm(missing.weights, axis=1) < np.linalg.norm(plain.weights, axis=1)).all()


def test_fit_blup_ld__tells_another_population_by_its_mismatch(rng):
    """Of a panel with more linkage disequilibrium, or with less; the right one has neither."""
    found = {}
    for cohort, panel in ((0.2, 0.2), (0.2, 0.9), (0.8, 0.3)):
        X = correlated(rng, 2000, strength=cohort, d=30)
        V = outcomes_of(rng, X, n_outcomes=20) @ X
        ld = ld_of(correlated(rng, 2000, strength=panel, d=30))
        _, found[cohort, panel] = fit_blup_ld(ld, V, len(X), cross_sd=20.0)
    right, more, less = found.values()
    assert right == (pytest.approx(0, abs=0.01), 0)
    assert more.chance > 0.01
    assert less.steepness > 0


def test_fit_blup_ld__of_a_panel_with_less_linkage_predicts_all_the_same(rng):
    """By squares alone it would put effects onto directions that are far longer than the panel says."""
    X, new = (correlated(rng, 2000, strength=0.8, d=30) for _ in range(2))
    effects = rng.standard_normal((20, 30))
    effects /= np.sqrt(2 * (effects @ (X.T @ X / len(X)) * effects).sum(axis=1, keepdims=True))
    Y = effects @ X.T + np.sqrt(0.5) * rng.standard_normal((20, len(X)))
    fit, _ = fit_blup_ld(ld_of(correlated(rng, 2000, strength=0.3, d=30)), Y @ X, len(X), cross_sd=20.0)
    truth = effects @ new.T
    assert ((fit.weights @ new.T - truth) ** 2).mean() < 0.7 * (truth**2).mean()


def test_fit_blup_ld__gives_nothing_where_public_genotypes_do_not_vary():
    ld = PublicLd(np.array([0]), (np.zeros((D, D)),), np.empty((0, D)), 10)
    found, mismatch = fit_blup_ld(ld, np.ones((2, D)), 10, cross_sd=1.0)
    assert (found.weights == 0).all()
    assert mismatch == (0, 0)


@pytest.mark.parametrize("wrong", [{"n": 0}, {"cross_sd": -1.0}, {"heritability": 1.0}])
def test_fit_blup_ld__raise_on_terms_out_of_their_domain(rng, wrong):
    terms = {"n": 10, "cross_sd": 1.0, "heritability": None} | wrong
    with pytest.raises(UsageError):
        fit_blup_ld(ld_of(correlated(rng, 20, strength=0.5)), np.ones((1, D)), terms.pop("n"), **terms)


def test_ld_request__leaves_all_but_counts_to_x_y():
    request = request_of()
    terms = ld_request(request)
    assert asdict(terms) == asdict(request)
    assert terms.budget["gram"] == 0
    assert terms.noise_sd["gram"] == 0
    assert terms.budget["count"] == pytest.approx(request.budget["count"])
    assert terms.budget["cross"] > request.budget["cross"]
    whole = np.hypot(terms.budget["cross"], terms.budget["count"])
    assert whole == pytest.approx(
        np.hypot(np.hypot(*(request.budget[name] for name in ("gram", "cross"))), request.budget["count"])
    )


def test_private_statistics__without_a_gram_matrix_draws_none(rng):
    request = ld_request(request_of(counts_outcomes=True))
    cross, observed = rng.integers(-9, 9, (2, D + 1)), np.array([20, 25])
    noisy = private_statistics(None, cross, 30, request=request, noise=BenchmarkNoise(1), observed=observed)
    assert noisy.gram is None
    assert [event.statistic for event in noisy.events] == ["count", "outcome counts", "cross product"]
    with refused("statistics-shape", error=UsageError):
        private_statistics(
            None, cross[:, 1:], 30, request=request, noise=BenchmarkNoise(1), observed=observed
        )


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_outputs__of_another_number_of_rows_or_cross_product_are_others(neighbours):
    request = request_of(neighbours=neighbours)
    turned = Steering(np.eye(D), np.arange(D), np.zeros(D))
    drawn = NoisyStatistics(None, np.ones((2, D)), N, steering=turned)
    others = ({"n": N + 1}, {"cross": drawn.cross * 2}, {"steering": replace(turned, matrix=2 * np.eye(D))})
    found, of_rows, of_cross, of_matrix = (
        output_digests(SteeredProducts().outputs(one, ("a", "b"), request))
        for one in (drawn, *(replace(drawn, **other) for other in others))
    )
    assert set(found.values()).isdisjoint(of_rows.values())
    for other in (of_cross, of_matrix):
        assert found["outcomes", "a", "b"] != other["outcomes", "a", "b"]


def test_steered_products__of_a_benchmark_have_noise_of_their_own():
    assert SteeredProducts().key(None) not in {(), SharedStatistics().key(None)}


def test_steered_products__fit_by_the_noise_that_was_drawn(rng):
    """A file says no more than the request of the study: the budget is that without X'X all the same."""
    ld, request = ld_of(correlated(rng, 100, strength=0.5)), request_of()
    V = outcomes_of(rng, correlated(rng, N, strength=0.5), n_outcomes=2)[:, :D]
    terms, noisy = FitTerms(0.0, Penalty.FIXED, ld={D: ld}), NoisyStatistics(None, V, N)
    fit = fit_released("blup-ld", noisy, request=request, terms=terms)
    found, _ = fit_blup_ld(ld, V, N, cross_sd=ld_request(request).noise_sd["cross"])
    np.testing.assert_array_equal(fit.weights, found.weights)


def test_blup_ld__fits_in_the_coding_of_the_statistics(rng):
    ld, X = ld_of(correlated(rng, 100, strength=0.5)), correlated(rng, N, strength=0.5)
    V, origin = outcomes_of(rng, X, n_outcomes=2) @ X, np.linspace(-0.4, 0.3, D)
    request = LdRequest(**asdict(request_of()))
    terms = FitTerms(0.0, Penalty.FIXED, ld={D: ld})
    known = {"origin": origin, "slopes": np.array([0.9, 0.9]), "observed": np.array([N, N // 2])}
    noisy = NoisyStatistics(None, V, N, **known)
    fit = blup_ld(noisy, request=request, terms=terms)
    known = {"cross_sd": request.noise_sd["cross"], "slopes": noisy.slopes, "inflation": np.array([1, 2])}
    found, mismatch = fit_blup_ld(ld, V, N, **known)
    np.testing.assert_array_equal(fit.weights, found.weights)
    np.testing.assert_array_equal(fit.means, origin)
    assert tuple(fit.mismatch) == mismatch
    stated = blup_ld(noisy, request=request, terms=replace(terms, heritability=0.9))
    assert not np.array_equal(stated.weights, fit.weights)


def test_fit_blup_ld__sees_no_mismatch_where_nothing_is_to_be_seen(rng):
    """Of outcomes without effects, behind much noise, at most one in twenty-five is told to misfit."""
    ld, told = ld_of(correlated(rng, 200, strength=0.5)), 0
    for _ in range(75):
        V = 20 * rng.standard_normal((1, D))
        told += bool(misfit_in_words([{"mismatch": np.array(fit_blup_ld(ld, V, N, cross_sd=20.0)[1])}]))
    assert told <= 3


def test_misfit_in_words__warns_by_the_median_of_all_fits():
    small, large, steep = ({"mismatch": np.array(one)} for one in ((0.5 / FEW_ROWS, 0), (0.04, 0), (0, 0.5)))
    assert misfit_in_words([{}, small]) == misfit_in_words([]) == []
    assert misfit_in_words([small, small, large]) == []
    (line,) = misfit_in_words([small, large, large, {}])
    assert "as much as those of 25 random rows" in line
    assert "less linkage" not in line
    (line,) = misfit_in_words([steep])
    assert "cohort's: they have less linkage disequilibrium. They may be" in line
    assert "of 25 random rows" in mismatch_in_words(large["mismatch"])
    assert "less linkage disequilibrium." in mismatch_in_words(steep["mismatch"])
    words = mismatch_in_words(np.zeros(2))
    assert "No difference" in words
    assert "does not say that there is none" in words


def shared_outcomes(rng, X, *, n_outcomes, rank):
    """Return outcomes whose effects have few causes in common; of rank 0 none."""
    effects = rng.standard_normal((n_outcomes, X.shape[1]))
    if rank:
        effects = rng.standard_normal((n_outcomes, rank)) @ rng.standard_normal((rank, X.shape[1]))
    genetic = effects @ X.T
    genetic /= genetic.std(axis=1, keepdims=True)
    return genetic, np.sqrt(0.5) * (genetic + rng.standard_normal(genetic.shape))


@pytest.mark.parametrize("rank", [0, 2])
def test_fit_blup_ld__learns_from_other_outcomes_where_they_share_causes(rng, rank):
    X, new = (correlated(rng, 2000, strength=0.6, d=20) for _ in range(2))
    ld = ld_of(new)
    _, Y = shared_outcomes(rng, X, n_outcomes=60, rank=rank)
    V = Y @ X + 150 * rng.standard_normal((60, 20))
    found, _ = fit_blup_ld(ld, V, 2000, cross_sd=150.0)
    some = range(0, 60, 4)
    alone = [fit_blup_ld(ld, V[[number]], 2000, cross_sd=150.0)[0].weights[0] for number in some]
    truth = (Y @ np.linalg.pinv(X).T)[some]
    errors = ((found.weights[some] - truth) ** 2).mean(), ((np.array(alone) - truth) ** 2).mean()
    error, error_alone = errors
    if rank:
        assert error < 0.6 * error_alone
    else:
        assert error == pytest.approx(error_alone, rel=0.15)
    # In whatever order they stand.
    again, _ = fit_blup_ld(ld, V[::-1], 2000, cross_sd=150.0)
    np.testing.assert_allclose(again.weights[::-1], found.weights, rtol=1e-6, atol=1e-9)


def test_fit_blup_ld__what_a_small_panel_does_not_tell_is_not_taken_for_shared_causes(rng):
    """It is the same for all outcomes: a law without it let nearly all of such replicates pass."""
    passed = 0
    for _ in range(8):
        X, panel = correlated(rng, 2000, strength=0.6, d=20), correlated(rng, 60, strength=0.6, d=20)
        _, Y = shared_outcomes(rng, X, n_outcomes=100, rank=0)
        V = Y @ X + 20 * rng.standard_normal((100, 20))
        spectrum = ld_of(panel).spectrum(2000)
        seen = OutcomesSeen.of(V, spectrum, 2000, cross_sd=20.0)
        passed += shared_fit(seen) is not None
    assert passed == 0


def test_drawn_gram__is_eigenvalues_and_symmetric_chance(rng):
    a, chance = rng.random((2, D))
    found = _drawn_gram(np.random.default_rng(4), a, chance)
    sd = np.sqrt(np.outer(a, a) * (chance + chance[:, np.newaxis]))
    upper = np.triu(np.random.default_rng(4).standard_normal((D, D)) * sd)
    np.testing.assert_array_equal(found, np.diag(a) + upper + np.triu(upper, 1).T)


def in_blocks(rng, n, *, d=4000, of_block=200, step=4, strength=0.5):
    """Return all columns, in blocks of neighbours that go together, and every fourth of them."""
    X = np.concatenate(
        [correlated(rng, n, strength=strength, d=of_block) for _ in range(d // of_block)], axis=1
    )
    return X, X[:, ::step]


def test_fit_blup_ld__is_calibrated_where_the_panel_matches_and_causal_variants_are_missing(rng):
    """An average over mismatches takes the missing causal variants for one, and shrinks weights tenfold."""
    theta = rng.standard_normal(4000)
    (X, shown), (new_X, new), (_, panel) = (in_blocks(rng, n) for n in (8000, 2000, 1500))
    theta *= np.sqrt(0.5) / (X @ theta).std()
    y, new_y = (rows @ theta + np.sqrt(0.5) * rng.standard_normal(len(rows)) for rows in (X, new_X))
    places = {"contig": np.repeat(np.arange(20), 50).astype(str), "position": np.arange(1000) * 10_000}
    ld, cross_sd = public_ld(panel, **places, rows_per_person=1), 40.0
    V = (y @ shown)[np.newaxis] + cross_sd * rng.standard_normal((1, 1000))
    accuracy = {}
    for is_matched in (False, True):
        fit, _ = fit_blup_ld(ld, V, len(X), cross_sd=cross_sd, is_matched=is_matched)
        prediction = new @ fit.weights[0]
        slope = new_y @ prediction / (prediction @ prediction)
        accuracy[is_matched] = slope, 1 - ((new_y - prediction) ** 2).sum() / (new_y**2).sum()
    assert accuracy[True][0] == pytest.approx(1, abs=0.2), accuracy
    assert accuracy[True][1] > accuracy[False][1], accuracy
