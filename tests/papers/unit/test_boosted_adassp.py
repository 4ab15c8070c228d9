import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpgrs.errors import UsageError
from dpgrs.linalg.statistics import LARGEST_ROWS
from dpgrs.methods.adassp import LARGEST_VARIANTS
from dpgrs.privacy.accounting.accountant import gdp_epsilon
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs_papers.methods import boosted_adassp
from dpgrs_papers.methods.boosted_adassp import (
    RESIDUAL_STEP,
    ROW_STEP,
    WEIGHT_STEP,
    BoostedRequest,
    clip_rows,
    private_boosted_adassp,
    residual_sums,
)
from refused import refused

REQUEST = BoostedRequest(epsilon=2.0, delta=1e-5)
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.integers(0, 2, (4000, 5)) - 0.5, np.ones(4000)])
WEIGHTS = np.array([0.5, -0.3, 0.2, 0.0, -0.6, 0.1])
Y = X @ WEIGHTS + 0.3 * RNG.standard_normal(4000)

entries = st.one_of(st.floats(-2, 2), st.sampled_from([0.0, 1.0, 0.6, 0.8, 1e-9, 1e40, math.inf, math.nan]))


@given(arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=entries))
def test_clip_rows__norm_of_at_most_1_exactly(rows):
    clipped = clip_rows(rows)
    for row, short in zip(rows, clipped, strict=True):
        assert sum(Fraction(value) ** 2 for value in short) <= 1
        assert (short / ROW_STEP == np.rint(short / ROW_STEP)).all()
        if np.isfinite(row).all():
            expected = row / max(1.0, float(np.linalg.norm(row)))
            np.testing.assert_allclose(short, expected, atol=1.01 * ROW_STEP)
        else:
            assert not short.any()


def exact_sums(rows, outcomes, W, *, clip_steps, is_missing):
    """Sum in fractions, one row after the other."""
    sums = [0] * rows.shape[1]
    for row, outcome, missing in zip(rows, outcomes, is_missing, strict=True):
        prediction = sum(int(x) * int(w) for x, w in zip(row, W, strict=True))
        residual = Fraction(int(outcome)) - Fraction(
            prediction, int(RESIDUAL_STEP / (ROW_STEP * WEIGHT_STEP))
        )
        cut = 0 if missing else int(max(-clip_steps, min(clip_steps, residual)))
        sums = [total + cut * int(x) for total, x in zip(sums, row, strict=True)]
    return sums


@pytest.mark.parametrize("size", [1e3, 2.0**36])
def test_residual_sums__are_exact(size, monkeypatch):
    rng = np.random.default_rng(1)
    rows = clip_rows(rng.standard_normal((50, 7))) / ROW_STEP
    W = rng.standard_normal(7)
    W = np.trunc(W * size / np.linalg.norm(W))
    outcomes = np.trunc(rng.standard_normal(50) * 2.0**20)
    options = {"clip_steps": 2**21, "is_missing": rng.random(50) < 0.2}
    sums = residual_sums(rows, outcomes, W, **options)
    assert sums.tolist() == exact_sums(rows, outcomes, W, **options)
    monkeypatch.setattr(boosted_adassp, "ROW_BLOCK", 3)
    assert residual_sums(rows, outcomes, W, **options).tolist() == sums.tolist()


def test_steps__keep_all_numbers_exact():
    clip, weights = REQUEST.clip, boosted_adassp.LARGEST_WEIGHTS
    block, outcome = boosted_adassp.ROW_BLOCK, boosted_adassp.LARGEST_OUTCOME
    for step in (ROW_STEP, RESIDUAL_STEP, WEIGHT_STEP):
        assert math.frexp(step)[0] == 0.5
    assert (weights + outcome) / (ROW_STEP * WEIGHT_STEP) < 2**53
    assert block * max(1 / ROW_STEP, clip / RESIDUAL_STEP) / ROW_STEP < 2**53
    assert LARGEST_ROWS * max(1 / ROW_STEP, clip / RESIDUAL_STEP) / ROW_STEP < 2**62


@pytest.mark.parametrize("accounting", ["gdp", "paper"])
def test_budget__of_fits_together_is_what_was_asked_for(accounting):
    request = replace(REQUEST, accounting=accounting, n_fits=5)
    mu = math.sqrt(5 * (2 * request.budget["gram"] ** 2 + 100 * request.budget["round"] ** 2))
    assert gdp_epsilon(mu, REQUEST.delta) <= 2.0
    if accounting == "gdp":
        assert gdp_epsilon(mu, REQUEST.delta) == pytest.approx(2.0, rel=1e-9)


def test_sensitivities__cover_rows_of_norm_1_and_are_attained():
    """Rows on the sphere and signs of residuals, all pairs."""
    angles = np.linspace(0, np.pi, 37)
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    upper = np.triu_indices(2)
    squares = np.array([np.outer(row, row)[upper] for row in rows])
    pushes = np.vstack([rows, -rows])
    added = REQUEST.sensitivities
    replaced = replace(REQUEST, neighbours="replace-one").sensitivities
    assert np.linalg.norm(squares, axis=1).max() == pytest.approx(added["gram"].value)
    assert np.linalg.norm(pushes, axis=1).max() == pytest.approx(added["round"].value)
    for moved, claim in ((squares, replaced["gram"]), (pushes, replaced["round"])):
        largest = max(np.linalg.norm(one - two) for one, two in itertools.combinations(moved, 2))
        assert largest == pytest.approx(claim.value)
        assert largest <= claim.value * (1 + 1e-15)
    two_rows = replace(REQUEST, rows_per_unit=2).sensitivities
    for name in ("gram", "round"):
        assert two_rows[name].value == 2 * added[name].value
    assert 1 < added["eigenvalue"].value < two_rows["eigenvalue"].value - 0.99


@pytest.mark.parametrize("accounting", ["gdp", "paper"])
@pytest.mark.parametrize("rounds", [1, 100])
def test_private_boosted_adassp__events_are_within_the_budget(accounting, rounds):
    request = replace(REQUEST, accounting=accounting, rounds=rounds)
    events = private_boosted_adassp(X, Y, request=request, noise=BenchmarkNoise(1)).events
    assert len(events) == 2 + rounds
    mu = math.sqrt(sum((event.sensitivity.value / event.sigma) ** 2 for event in events))
    assert gdp_epsilon(mu, 1e-5) <= 2.0 * (1 + 1e-9)
    if accounting == "gdp":
        assert gdp_epsilon(mu, 1e-5) == pytest.approx(2.0, rel=1e-6)


def test_private_boosted_adassp__finds_least_squares_of_clipped_rows():
    rows = clip_rows(X)
    request = replace(REQUEST, epsilon=1000.0, clip=4.0)
    fit = private_boosted_adassp(X, Y, request=request, noise=BenchmarkNoise(1))
    expected = np.linalg.lstsq(rows, Y)[0]
    np.testing.assert_allclose(rows @ fit.weights, rows @ expected, atol=0.02)
    np.testing.assert_allclose(fit.gram, rows.T @ rows, atol=2)
    assert fit.smallest_eigenvalue == pytest.approx(np.linalg.eigvalsh(rows.T @ rows)[0], abs=2)


@pytest.mark.parametrize("n_rows", [0, 30])
def test_private_boosted_adassp__weights_stay_finite_in_noise(n_rows):
    request = replace(REQUEST, epsilon=0.01)
    fit = private_boosted_adassp(X[:n_rows], Y[:n_rows], request=request, noise=BenchmarkNoise(1))
    assert np.linalg.norm(fit.weights) <= boosted_adassp.LARGEST_WEIGHTS


@pytest.mark.parametrize("largest", [2.0**12, 2.0**-6])
def test_private_boosted_adassp__weights_are_shortened_after_every_round(largest, monkeypatch):
    """Predictions are exact in float64 for weights of norm 4096 alone."""
    seen, honest = [], boosted_adassp.residual_sums

    def residual_sums(rows, outcomes, W, **options):
        seen.append(W)
        return honest(rows, outcomes, W, **options)

    monkeypatch.setattr(boosted_adassp, "LARGEST_WEIGHTS", largest)
    monkeypatch.setattr(boosted_adassp, "residual_sums", residual_sums)
    # As if X'X had hardly been there: each round is far too long a step.
    monkeypatch.setattr(boosted_adassp, "_ridge_inverse", lambda G, *, penalty: 1e4 * np.eye(len(G)))
    fit = private_boosted_adassp(X, Y, request=replace(REQUEST, rounds=5), noise=BenchmarkNoise(1))
    for W in [*seen[1:], fit.weights / WEIGHT_STEP]:
        np.testing.assert_array_equal(W, np.trunc(W))
        # Cut towards zero, entry by entry, from exactly this length.
        assert -np.sqrt(len(W)) <= np.linalg.norm(W) - largest / WEIGHT_STEP <= 1e-9 / WEIGHT_STEP
    first, second = fit.sums[0], seen[1]
    np.testing.assert_allclose(second / np.linalg.norm(second), first / np.linalg.norm(first), atol=1e-4)


def test_private_boosted_adassp__missing_outcomes_add_nothing():
    outcomes, rows = Y.copy(), X.copy()
    outcomes[::2] = np.nan
    fit = private_boosted_adassp(rows, outcomes, request=REQUEST, noise=BenchmarkNoise(1))
    rows[::2] *= -1  # their place in X'X is the same
    again = private_boosted_adassp(rows, outcomes, request=REQUEST, noise=BenchmarkNoise(1))
    np.testing.assert_array_equal(fit.weights, again.weights)


def test_private_boosted_adassp__published_noise_is_not_split_over_rounds():
    """One public snapshot takes mu for the noise of every round, where sqrt(T)/mu is needed."""
    mu = REQUEST.budget["gram"]  # as large as all rounds together
    *_, event = private_boosted_adassp(X, Y, request=REQUEST, noise=BenchmarkNoise(1)).events
    published = mu * REQUEST.clip
    assert event.sigma == pytest.approx(math.sqrt(REQUEST.rounds) / mu * REQUEST.clip)
    assert published < event.sigma / 50
    assert gdp_epsilon(math.sqrt(REQUEST.rounds) / published, REQUEST.delta) > 50 * REQUEST.epsilon


def test_private_boosted_adassp__noise_of_the_gram_matrix_is_symmetric():
    fit = private_boosted_adassp(X, Y, request=REQUEST, noise=BenchmarkNoise(1))
    np.testing.assert_array_equal(fit.gram, fit.gram.T)
    noise = fit.gram - clip_rows(X).T @ clip_rows(X)
    assert len(set(np.round(noise[np.triu_indices(6)], 6))) == 21


def test_penalty__falls_as_the_smallest_eigenvalue_rises():
    """One public snapshot adds the eigenvalue, so that the best data are shrunk the most."""
    penalties = [boosted_adassp._penalty(eigenvalue, 1.0, 2.0, d=6) for eigenvalue in (0.0, 10.0, 1e6)]
    assert penalties[0] > penalties[1] > penalties[2] == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rounds", 0),
        ("n_fits", 0),
        ("rows_per_unit", 0),
        ("clip", 0.0),
        ("clip", RESIDUAL_STEP / 2),
        ("clip", 1e3),
    ],
)
def test_request__raise_on_terms(name, value):
    with refused("field-out-of-domain", name, value, error=UsageError):
        replace(REQUEST, **{name: value})


@pytest.mark.parametrize("shape", [(4, LARGEST_VARIANTS + 1), (5, 2)])
def test_private_boosted_adassp__raise_on_shapes(shape):
    with refused("boosted-rows-shape", error=UsageError):
        private_boosted_adassp(np.zeros(shape), np.zeros(4), request=REQUEST, noise=BenchmarkNoise(1))


def test_private_boosted_adassp__raise_on_more_rows_than_the_proof_has():
    rows = np.broadcast_to(0.0, (LARGEST_ROWS + 1, 1))
    with refused("too-many-rows", LARGEST_ROWS, error=UsageError):
        private_boosted_adassp(rows, rows[:, 0], request=REQUEST, noise=BenchmarkNoise(1))
