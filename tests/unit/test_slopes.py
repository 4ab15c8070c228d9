"""Every fit divides X'Y, and its noise, by what public constants say that the clips leave of effects."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled
from dpgrs.linalg.attenuation import clip_slopes
from dpgrs.linalg.denoising import noisy_spectrum
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import coded_rows, cross_product, gram
from dpgrs.methods.blup import fit_blup
from dpgrs.methods.blup_model import prior_moments
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.mechanisms import mechanism_named
from dpgrs.methods.penalties import evidence_penalty
from dpgrs.methods.planning import expected_ridge
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import private_statistics
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.study.training_data import TrainingData
from outcome_files import write_outcomes
from random_cohorts import random_bits
from step_settings import settings_for
from step_studies import N_VARIANTS, Study

D, N_PEOPLE, BOUND, H2 = 6, 400, 3.0, 0.4
SLOPES = np.array([0.38, 0.87, 1.0])
OPTIONS = {"n_haplotypes": 2 * N_PEOPLE, "rows": "people"}
BITS = random_bits(D, 2 * N_PEOPLE)
X = coded_rows(BITS, **OPTIONS)
X_C = X - X.mean(axis=0)
Y = np.random.default_rng(8).standard_normal((3, D)) @ X_C.T
Y = Y / Y.std(axis=1, keepdims=True) * H2**0.5
Y += np.random.default_rng(9).standard_normal(Y.shape) * (1 - H2) ** 0.5
SUMS = gram(BITS, **OPTIONS), cross_product(BITS, grid_outcomes(Y, bound=BOUND), **OPTIONS), N_PEOPLE


def asked(protection="full", **changes):
    terms = {"rows": "people", "n_variants": D, "n_outcomes": 3, "outcome_bound": BOUND, "epsilon": 8.0}
    terms |= {"delta": 1e-6, "protection": protection}
    return PrivacyRequest(**terms | {"neighbours": "replace-one"} | changes)


@pytest.mark.parametrize(
    ("method", "protection", "rule"),
    [
        ("reusecov-gauss", "full", "fixed"),
        ("reusecov-gauss", "full", "evidence"),
        *(("blup", protection, "fixed") for protection in ("full", "label", "feature")),
    ],
)
def test_fit_released__of_attenuated_sums_is_the_fit_of_whole_ones(method, protection, rule):
    request = asked(protection, epsilon=10_000.0)
    whole = private_statistics(*SUMS, request=request, noise=BenchmarkNoise(1))
    known = {"request": request, "terms": FitTerms(penalty=0.1, rule=rule)}
    known |= {"outcomes": Y} if protection == "feature" else {}
    expected = fit_released(method, whole, **known).weights
    if protection == "feature":
        # The model is of outcomes as they were clipped: these were not.
        found = fit_released(method, replace(whole, slopes=SLOPES), **known).weights
        np.testing.assert_allclose(found * SLOPES[:, np.newaxis], expected, rtol=1e-12)
        return
    seen = replace(whole, cross=whole.cross * SLOPES[:, np.newaxis], slopes=SLOPES)
    np.testing.assert_allclose(fit_released(method, seen, **known).weights, expected, atol=1e-4)


def test_fit_blup__noise_is_divided_too():
    """Of a given heritability each outcome is fitted by itself, with more noise where its slope is less."""
    terms = {"gram_sd": 3.0, "heritability": H2}
    together = fit_blup(X_C.T @ X_C, Y @ X_C, N_PEOPLE, cross_sd=20.0, slopes=SLOPES, **terms)
    for number, slope in enumerate(SLOPES):
        own = (Y[[number]] @ X_C / slope, N_PEOPLE)
        alone = fit_blup(X_C.T @ X_C, *own, cross_sd=20.0 / slope, **terms)
        np.testing.assert_allclose(together.weights[[number]], alone.weights, rtol=1e-12)
        np.testing.assert_allclose(together.standard_errors[[number]], alone.standard_errors, rtol=1e-12)


def test_prior_moments__noise_of_missing_and_clipped_outcomes():
    spectrum = noisy_spectrum(X_C.T @ X_C, gram_sd=3.0)
    known = {"inflation": 2.0, "heritabilities": np.array([H2])}
    seen = prior_moments(spectrum, N_PEOPLE, cross_sd=10.0, slope=0.5, **known)
    plain = prior_moments(spectrum, N_PEOPLE, cross_sd=20.0, **known)
    np.testing.assert_allclose(seen.variance, plain.variance, rtol=1e-12)


def test_evidence_penalty__of_one_slope_is_that_of_more_noise():
    sums, slopes = (X_C.T @ X_C, Y @ X_C, N_PEOPLE), np.full(3, 0.5)
    seen = evidence_penalty(*sums, gram_sd=3.0, cross_sd=10.0, slopes=slopes)
    halved = (sums[0], 2 * sums[1], N_PEOPLE)
    assert seen == pytest.approx(evidence_penalty(*halved, gram_sd=3.0, cross_sd=20.0), rel=1e-6)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("reusecov-statistics", "reusecov-gauss"),
        ("adassp-statistics", "adassp"),
        ("naive-statistics", "naive"),
        ("naive-fits", "naive"),
    ],
)
def test_draw__slopes_reach_the_fit_and_no_noise(name, method):
    """Ridge is linear in X'Y."""
    mechanism, request, terms = mechanism_named(name), asked(), FitTerms(penalty=0.1)
    own = {"penalty": 0.1} if name == "naive-fits" else {}
    weights = []
    for slopes in (None, SLOPES):
        options = {"request": request, "noise": BenchmarkNoise(1), "outcome_names": ["a", "b", "c"]}
        drawn = mechanism.draw(*SUMS, slopes=slopes, **options, **own)
        weights.append(fit_released(method, drawn, request=request, terms=terms).weights)
    np.testing.assert_allclose(weights[1] * SLOPES[:, np.newaxis], weights[0], rtol=1e-9)


def test_expected_ridge__undoes_the_clip_of_an_outcome():
    """Effects are those of an outcome that is hardly clipped, and the noise of X'Y is divided as they are."""
    terms = {"n_outcomes": 1, "coding": "frequency", "row_norm": 1.5, "gram_share": 0.5}
    model = {"n_rows": 1500, "frequency": np.full(D, 0.3), "penalty": 0.2, "heritability": H2}
    fits, slopes, noise = [], [], []
    for norm in (1.5, 6.0):
        request = asked(outcome_norm=norm, **terms)
        fits.append(expected_ridge(request, **model))
        slopes.append(clip_slopes([math.nan], bound=BOUND, norm=norm, n_shared=1).item())
        noise.append(fits[-1].noise_sd_cross * slopes[-1] / request.noise_sd["cross"])
    assert 0.86 < slopes[0] / slopes[1] < 0.88
    assert fits[0].weight_sd == pytest.approx(fits[1].weight_sd, rel=0.05)
    assert noise[0] == pytest.approx(noise[1])


TOGETHER = (1 + 1 / 6) * math.sqrt(3)


@pytest.mark.parametrize(
    ("method", "protection", "budget", "norm"),
    [
        ("blup", "full", "joint", TOGETHER),
        ("blup", "label", "joint", TOGETHER),
        ("blup", "feature", "joint", TOGETHER),
        ("blup", "full", "separate", 1.5),
        ("blup", "full", "joint", None),
        ("k-blup", "full", "joint", None),
    ],
)
def test_slopes__are_of_the_norm_that_clips_and_of_public_prevalence(
    tmp_path, monkeypatch, method, protection, budget, norm
):
    study = Study(tmp_path, monkeypatch)
    path, prevalence = tmp_path / "outcomes.zarr", np.array([math.nan, 0.05, 0.3])
    outcomes = Outcomes.load(path).of_rows(slice(None))
    write_outcomes(path, replace(outcomes, prevalence=prevalence))
    bounds = "tight" if norm else "worst-case"
    privacy = {"bounds": bounds, "outcome_budget": budget, "protection": protection}
    config = study.settings(method, pure_epsilon="1", **privacy)
    expected = clip_slopes(prevalence, bound=3.0, norm=norm, n_shared=3 if norm == TOGETHER else 1)
    if protection == "full":
        ((label, arrays),) = load_labelled(study.release(config))
        assert label["request"]["outcome_norm"] == (pytest.approx(norm) if norm else None)
        np.testing.assert_array_equal(arrays["slopes"], expected)
        return
    data = TrainingData(
        tmp_path / "outcomes.zarr", statistics=study.sum_up(config), variant_set="variant_set"
    )
    request = replace(asked(protection), n_variants=N_VARIANTS)
    terms = {"method": None, "data": data, "n_outcomes": 3}
    mechanism, settings = mechanism_named("reusecov-statistics"), settings_for("draw", config)
    request = mechanism.asked(request, settings=settings, **terms)
    np.testing.assert_array_equal(data.slopes(request, 3), expected)
