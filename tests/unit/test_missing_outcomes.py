"""Outcomes that are missing for some people: private weights are as large as those without privacy."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.linalg.coding import OUTCOME_STEP, count_known
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import coded_rows, cross_product, gram
from dpgrs.methods.blup import fit_blup
from dpgrs.methods.blup_model import HERITABILITIES, beta_priors, heritability_posterior
from dpgrs.methods.chosen import fit_chosen, private_chosen_statistics
from dpgrs.methods.chosen_exactly import fit_chosen_exactly
from dpgrs.methods.chosen_requests import ScreeningTerms, screened_request
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.ols import fit_ridge
from dpgrs.methods.penalties import evidence_penalty
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import SMALLEST_KNOWN, private_outcome_counts, private_statistics
from dpgrs.preflight.checks import problems
from dpgrs.privacy.noise.sources import BenchmarkNoise, NoiseSource
from dpgrs.study.released import load_released
from dpgrs.study.settings import resolve
from random_cohorts import random_bits
from refused import refused
from screening_cohorts import HUGE, N_VARIANTS, NAMES, cohort
from step_studies import NAMES as STUDY_NAMES
from step_studies import Study

D, N_PEOPLE, BOUND = 5, 3000, 4.0
MISSING = np.array([0.0, 0.3, 0.5])
FROM_SUMS = ["reusecov-gauss", "reusecov-ellipsoid", "blup", "naive", "adassp"]


def known_outcomes():
    """Return X'X, X'Y and three outcomes of mean 0, which are missing for more and more people."""
    bits, options = random_bits(D, 2 * N_PEOPLE), {"n_haplotypes": 2 * N_PEOPLE, "rows": "people"}
    rng = np.random.default_rng(6)
    X = coded_rows(bits, **options)
    Y = rng.standard_normal((len(MISSING), D)) @ (X - X.mean(axis=0)).T
    Y = np.sqrt(0.5) * Y / Y.std(axis=1, keepdims=True) + np.sqrt(0.5) * rng.standard_normal(Y.shape)
    Y[rng.random(Y.shape) < MISSING[:, np.newaxis]] = np.nan
    Y -= np.nanmean(Y, axis=1, keepdims=True)
    gridded = grid_outcomes(Y, bound=BOUND)
    Y = np.where(np.isnan(Y), np.nan, gridded * OUTCOME_STEP)
    return gram(bits, **options), cross_product(bits, gridded, **options), Y


SUMS = known_outcomes()
KNOWN = count_known(SUMS[2])
EXACT = fit_ridge(*SUMS[:2], N_PEOPLE, n_observed=KNOWN, penalty=0.0).weights


def request(**changes):
    terms = {"rows": "people", "n_variants": D, "n_outcomes": len(MISSING), "outcome_bound": BOUND}
    return PrivacyRequest(**terms | {"epsilon": 1.0, "delta": 1e-6, "counts_outcomes": True} | changes)


def fit(method, *, key=0, noise=None, **changes):
    """Draw and fit by the mechanism of a method, with a lambda of 0."""
    asked, mechanism = request(**changes), mechanism_of(method)
    options = {"request": asked, "noise": noise or BenchmarkNoise(2, key), "observed": KNOWN}
    drawn = mechanism.draw(*SUMS[:2], N_PEOPLE, **options)
    return fit_released(method, drawn, request=asked, terms=FitTerms(0.0)).weights


def slopes(weights, exact=EXACT):
    """Return what part of exact weights other ones have, for each outcome."""
    return np.vecdot(weights, exact) / np.vecdot(exact, exact)


@pytest.mark.parametrize("method", FROM_SUMS)
def test_fits__weights_are_not_shrunk_by_missing_outcomes(method):
    counted, uncounted = (slopes(fit(method, epsilon=1e4, counts_outcomes=value)) for value in (True, False))
    np.testing.assert_allclose(counted, 1, atol=0.02)
    # What it was before rows were counted.
    np.testing.assert_allclose(uncounted, 1 - MISSING, atol=0.04)


@pytest.mark.parametrize("method", FROM_SUMS)
def test_fits__at_a_usual_epsilon_they_are_closer(method):
    errors = {
        value: np.mean(
            [(fit(method, key=key, epsilon=5.0, counts_outcomes=value) - EXACT)[2] ** 2 for key in range(8)]
        )
        for value in (True, False)
    }
    assert errors[True] < 0.6 * errors[False]


@pytest.mark.parametrize("method", ["reusecov-gauss", "reusecov-proj", "blup"])
@pytest.mark.parametrize("protection", ["label", "feature"])
def test_fits__of_one_public_side(method, protection):
    """Where outcomes are public, so are the rows on which they are known, and nothing is drawn for them."""
    asked = request(protection=protection, neighbours="replace-one", epsilon=1e4)
    noisy = private_statistics(*SUMS[:2], N_PEOPLE, request=asked, noise=BenchmarkNoise(2), observed=KNOWN)
    is_drawn = "outcome counts" in [event.statistic for event in noisy.events]
    assert is_drawn == (noisy.observed is not None) == (protection == "label")
    public = {"outcomes": SUMS[2]} if protection == "feature" else {}
    found = fit_released(method, noisy, request=asked, terms=FitTerms(0.0), **public)
    np.testing.assert_allclose(slopes(found.weights), 1, atol=0.05)


def test_fits__of_chosen_variants():
    data, rest = cohort(missing=0.4), {"rows": "people", "outcome_bound": BOUND, "gram_share": 0.5}
    chosen = np.tile(np.arange(N_VARIANTS), (len(NAMES), 1))
    exact = fit_chosen_exactly(data, chosen).weights
    for is_counted, share in [(True, 1.0), (False, 0.6)]:
        terms = {"n_variants": N_VARIANTS, "n_outcomes": len(NAMES), "counts_outcomes": is_counted}
        asked = screened_request(
            PrivacyRequest(**HUGE, **terms, **rest), ScreeningTerms(n_choices=N_VARIANTS, share=0.1)
        )
        drawn = private_chosen_statistics(
            data, chosen, request=asked.statistics, noise=BenchmarkNoise(1), outcome_names=NAMES
        )
        options = {"request": asked.statistics, "terms": FitTerms(0.0), "n_variants": N_VARIANTS}
        found = fit_chosen(drawn, "blup", **options).weights
        np.testing.assert_allclose(slopes(found, exact), share, atol=0.1)


class CountsTooHigh(NoiseSource):
    """No noise, but for 300 rows on which each outcome is not known."""

    def _draw(self, statistic, event):
        return statistic + int(300 / event.step) * (event.statistic == "outcome counts"), event


@pytest.mark.parametrize("method", ["reusecov-gauss", "naive", "adassp"])
def test_fits__know_the_rows_of_an_outcome_by_its_noisy_count_alone(method):
    found = fit(method, noise=CountsTooHigh(), epsilon=1e4)
    np.testing.assert_allclose(slopes(found), KNOWN / np.minimum(KNOWN + 300, N_PEOPLE), atol=1e-3)


@pytest.mark.parametrize("method", ["blup", "naive", "adassp"])
def test_draw__counts_have_noise_of_their_claim(method):
    drawn = [
        mechanism_of(method).draw(
            *SUMS[:2], N_PEOPLE, request=request(), noise=BenchmarkNoise(3, key), observed=KNOWN
        )
        for key in range(100)
    ]
    noise = np.array([one.observed - KNOWN for one in drawn])
    sd = {event.sigma for event in drawn[0].events if event.statistic == "outcome counts"}
    # sqrt(3) rows at a hundredth of mu^2, of all together or each at a third of that. 300 draws: to 20 %.
    assert list(sd) == pytest.approx([np.sqrt(3) * 42.2], rel=0.01)
    assert noise.std() == pytest.approx(*sd, rel=0.2)
    assert abs(noise.mean()) < 0.3 * min(sd)


def test_private_outcome_counts__few_rows_are_as_many_as_noise_can_tell():
    asked = request()
    few = np.zeros(20_000, dtype=np.int64)
    noisy, event = private_outcome_counts(few, request=asked, noise=BenchmarkNoise(1))
    assert noisy.min() == SMALLEST_KNOWN * asked.noise_sd["observed"]
    # Noise alone is beyond three standard deviations in 27 of 20,000 draws.
    assert 10 < np.count_nonzero(noisy > noisy.min()) < 60
    assert asked.noise_sd["observed"] == pytest.approx(event.sigma)
    sure, _ = private_outcome_counts(few, request=request(epsilon=1e4), noise=BenchmarkNoise(1))
    assert sure.min() == 1


def test_private_outcome_counts__noise_of_several_hardly_falls_on_one_sum_twice():
    many = np.full(3000, 100_000)
    noisy, _ = private_outcome_counts(many, request=request(), noise=BenchmarkNoise(1))
    assert len(set(noisy.reshape(-1, 3).sum(axis=1))) > 990
    exact, _ = private_outcome_counts(many, request=request(), noise=CountsTooHigh())
    np.testing.assert_array_equal(exact, many + 300)


def sums_of_known_rows(*, n=400, d=12, n_outcomes=2, seed=7):
    """Return X'X of all rows, X'y of those on which outcomes are known, the effects, means and n/n_j."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) / np.sqrt(d) + np.linspace(-0.3, 0.4, d)
    means, centred = X.mean(axis=0), X - X.mean(axis=0)
    theta = rng.standard_normal((n_outcomes, d)) * np.sqrt(0.5 * n / (centred**2).sum())
    Y = theta @ centred.T + np.sqrt(0.5) * rng.standard_normal((n_outcomes, n))
    shares = np.resize([0.3, 0.6], n_outcomes)[:, np.newaxis]
    is_known = rng.random(Y.shape) >= shares
    return centred.T @ centred, (Y * is_known) @ X, theta, means, n / is_known.sum(axis=1)


def test_fit_blup__equals_dense_conditioning_on_rescaled_sums():
    n, h2, sd = 400, 0.5, 6.0
    gram, cross, _, means, inflation = sums_of_known_rows(n=n)
    found = fit_blup(
        gram, cross, n, gram_sd=0.0, cross_sd=sd, means=means, heritability=h2, inflation=inflation
    )
    t2, identity = h2 * n / np.trace(gram), np.eye(len(gram))
    for number, r in enumerate(inflation):
        # Rows count r times or not at all: r - 1 is the variance of that.
        of_cross = t2 * gram @ gram + (1 - h2 + r - 1) * gram
        of_cross += r * n * np.outer(means, means) + (r * sd) ** 2 * identity
        gain = t2 * gram @ np.linalg.inv(of_cross)
        np.testing.assert_allclose(found.weights[number], r * cross[number] @ gain.T, rtol=1e-6)
        deviation = np.sqrt(np.diag(t2 * identity - gain @ gram * t2))
        np.testing.assert_allclose(found.standard_errors[number], deviation, rtol=1e-6)


def test_fit_blup__estimates_the_heritability_by_rescaled_sums():
    n, sd = 400, 6.0
    gram, cross, _, _, inflation = sums_of_known_rows(n=n)
    found = fit_blup(gram, cross, n, gram_sd=0.0, cross_sd=sd, inflation=inflation)
    log_likelihood = [
        [
            multivariate_normal(
                np.zeros(len(gram)),
                h2 * n / np.trace(gram) * gram @ gram + (r - h2) * gram + (r * sd) ** 2 * np.eye(len(gram)),
            ).logpdf(r * own)
            for h2 in HERITABILITIES
        ]
        for r, own in zip(inflation, cross, strict=True)
    ]
    posterior = heritability_posterior(np.array(log_likelihood), beta_priors(tuple(HERITABILITIES)))
    np.testing.assert_allclose(found.heritability, posterior @ HERITABILITIES, rtol=1e-6)


def test_fit_blup__intervals_cover_the_effects_of_outcomes_that_are_missing():
    n, sd = 400, 6.0
    gram, cross, theta, means, inflation = sums_of_known_rows(n=n, n_outcomes=300)
    cross += sd * np.random.default_rng(8).standard_normal(cross.shape)
    terms = {"gram_sd": 0.0, "cross_sd": sd, "means": means, "heritability": 0.5}
    for factor, low, high in [(inflation, 0.93, 0.97), (None, 0.0, 0.9)]:
        found = fit_blup(gram, cross, n, inflation=factor, **terms)
        covered = np.mean(np.abs(found.weights - theta) < 1.96 * found.standard_errors)
        assert low < covered < high


def test_evidence_penalty__grows_with_what_is_missing():
    n = 400
    gram, cross, _, means, inflation = sums_of_known_rows(n=n)
    terms = {"gram_sd": 0.0, "cross_sd": 6.0, "means": means}
    # The same rescaled sums, of fewer and fewer rows.
    rescaled = cross * inflation[:, np.newaxis]

    def penalty(*factors):
        factors = np.array(factors)
        return evidence_penalty(gram, rescaled / factors[:, np.newaxis], n, inflation=factors, **terms)

    assert np.isclose(penalty(1.0, 1.0), evidence_penalty(gram, rescaled, n, **terms), rtol=1e-9)
    assert penalty(1.0, 1.0) < penalty(1.0, 3.0) < penalty(3.0, 3.0)


@pytest.mark.parametrize(("source", "missing"), [("simulate", "none"), ("file", "counted")])
def test_resolve__outcomes_of_a_table_may_be_missing(source, missing):
    config = resolve({"outcomes": {"source": source}})
    assert config.outcomes.missing == missing
    assert config.outcomes.are_counted == (source == "file")
    assert resolve({"outcomes": {"source": source, "missing": "none"}}).outcomes.missing == "none"


def test_check__both_counts_leave_something():
    raw = {"outcomes": {"missing": "counted"}, "privacy": {"count_share": 0.5}}
    (line,) = problems(resolve(raw))
    assert line.startswith("`privacy.count_share` must be below 0.5, as rows and known outcomes are both")
    assert problems(resolve(raw | {"privacy": {"count_share": 0.5, "neighbours": "replace-one"}})) == []
    assert problems(resolve(raw | {"outcomes": {"missing": "none"}})) == []


@pytest.mark.parametrize(
    ("method", "budget"),
    [("reusecov-gauss", "separate"), ("adassp", "joint")],
)
def test_release__counts_are_charged_stated_and_replayed(tmp_path, monkeypatch, method, budget):
    study = Study(tmp_path, monkeypatch)
    study.hide_outcomes()
    config = study.settings(method, missing="counted", outcome_budget=budget)
    noisy = study.release(config)
    first, files, statement = noisy.read_bytes(), study.bundle(config, noisy), study.statement()
    owners = [one["outcome"] for one in statement["mechanisms"] if one["statistic"] == "outcome counts"]
    assert owners == ([None] if method == "adassp" else list(STUDY_NAMES))
    assert statement["data_domain"]["missing_outcomes"] == "counted"
    assert any("over those on which it is known" in step for step in statement["post_processing"])
    before = study.ledger(config).path.read_bytes()
    noisy.unlink()
    assert study.release(config).read_bytes() == first
    assert study.bundle(config, noisy) == files
    assert study.ledger(config).path.read_bytes() == before
    ((label, arrays),) = load_labelled(noisy)
    save_labelled(study.root / "forged.npz", [(label, arrays | {"observed": arrays["observed"] + 1})])
    with refused("statistics-not-charged"):
        load_released(study.root / "forged.npz", study.ledger(config).read())


def test_fit_blup__counts_of_other_outcomes_change_no_byte_of_weights():
    rng = np.random.Generator(np.random.PCG64(11))
    d, n_outcomes = 200, 40
    X, cross = rng.standard_normal((3 * d, d)), 200 * rng.standard_normal((n_outcomes, d))
    terms = {"gram_sd": 30.0, "cross_sd": 20.0, "heritability": 0.3}
    others = [
        np.ones(n_outcomes),
        1 + np.arange(n_outcomes) / 100,
        np.where(np.arange(n_outcomes) > 9, 1.5, 1),
    ]
    found = {
        fit_blup(X.T @ X, cross, 3 * d, inflation=inflation, **terms).weights[0].tobytes()
        for inflation in others
    }
    assert len(found) == 1
