import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import ComposedDpEvent, GaussianDpEvent, SelfComposedDpEvent
from dp_accounting.rdp import RdpAccountant
from scipy.stats import norm

from dpgrs.errors import UsageError
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.linalg.coding import CALL_STEP, CROSS_STEP, OUTCOME_STEP
from dpgrs.linalg.outcome_grid import LARGEST_BOUND, LARGEST_OUTCOME, grid_outcomes
from dpgrs.linalg.statistics import coded_rows
from dpgrs.privacy.accounting.accountant import gdp_delta
from dpgrs.privacy.accounting.composition import NUMERIC_ERROR
from dpgrs.privacy.audit.parts import Silence
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs_papers.methods import dp_sgd
from dpgrs_papers.methods.dp_sgd import (
    LARGEST_PREDICTION,
    WEIGHT_STEP,
    SgdRequest,
    gradient_sensitivity,
    gradient_sums,
    largest_coefficients,
    on_weight_grid,
    private_sgd,
    sampled_noise_multiplier,
)
from random_cohorts import random_bits
from refused import refused

D, L, N_HAPLOTYPES = 4, 3, 120
ENTRIES = {"haplotypes": (-1, 1), "people": (-2, 0, 2)}


class NotedParts(Silence):
    def __init__(self):
        super().__init__()
        self.parts = []

    def of(self, *part):
        self.parts.append(part)
        return super().of(*part)


def request(**options):
    defaults = {"rows": "haplotypes", "unit": "haplotype", "n_variants": D, "n_outcomes": L}
    defaults |= {"outcome_bound": 9.0, "epsilon": 1.0, "delta": 1e-6, "steps": 3, "sampling_rate": 1.0}
    return SgdRequest(**defaults | options)


def cohort(d=D, rows="haplotypes"):
    X = coded_rows(random_bits(d, N_HAPLOTYPES), n_haplotypes=N_HAPLOTYPES, rows=rows)
    rng = np.random.default_rng(2)
    return X, rng.standard_normal((L, d)) @ X.T + rng.standard_normal((L, len(X)))


def run(terms, *, noise=None, sample=None, d=D):
    X, Y = cohort(d, terms.rows)
    n_units = len(X) // (2 if terms.rows == "haplotypes" and terms.unit == "person" else 1)
    everybody = np.ones(n_units, dtype=bool)
    gridded = grid_outcomes(Y, bound=terms.outcome_bound)
    return private_sgd(
        X, gridded, request=terms, noise=noise or BenchmarkNoise(1), sample=sample or (lambda _: everybody)
    )


@pytest.mark.parametrize(
    ("rows", "unit", "square"), [("haplotypes", "haplotype", 1 / 4), ("people", "person", 1)]
)
def test_private_sgd__is_gradient_descent_without_noise(rows, unit, square):
    terms = request(steps=50, clip=100.0, learning_rate=1.5, rows=rows, unit=unit)
    X, Y = cohort(rows=rows)
    U = np.column_stack([X, np.full(len(X), 0.5)])
    W = np.zeros((L, D + 1))
    for _ in range(50):
        W -= 1.5 / (D * square + 1 / 4) / len(X) * (W @ U.T - Y) @ U
    result = run(terms, noise=Silence())
    np.testing.assert_allclose(result.fit.weights, W[:, :-1], atol=1e-4)
    np.testing.assert_allclose(result.fit.predict(X), W @ U.T, atol=1e-4)


@pytest.mark.parametrize("unit", ["haplotype", "person"])
def test_private_sgd__takes_only_the_units_of_the_sample(unit):
    is_chosen = np.random.default_rng(1).random(N_HAPLOTYPES // (2 if unit == "person" else 1)) < 0.3
    steps = []
    terms = request(unit=unit, sampling_rate=0.3, steps=1, accounting="paper")
    result = run(terms, noise=Silence(), sample=lambda step: steps.append(step) or is_chosen)
    assert steps == [0]
    assert result.n == N_HAPLOTYPES
    X, Y = cohort()
    is_row_chosen = np.repeat(is_chosen, 2) if unit == "person" else is_chosen
    U = np.column_stack([X, np.full(len(X), 0.5)])[is_row_chosen]
    # From weights of 0, with residuals of at most 1, over as many rows as are expected.
    gradient = np.clip(-Y[:, is_row_chosen], -1, 1) @ U
    expected = -gradient / terms.row_norm_squared / (0.3 * N_HAPLOTYPES)
    np.testing.assert_allclose(result.fit.weights, expected[:, :-1], atol=1e-4)


def test_private_sgd__parts_are_the_genotypes_and_the_outcomes_of_each_budget():
    noise = NotedParts()
    run(request(n_outcomes=1, steps=1), noise=noise)
    assert noise.parts == [("genotypes",), *[("outcomes", str(number)) for number in range(L)]]


@pytest.mark.parametrize("learning_rate", [1.0, 1e9])
def test_private_sgd__weights_are_whole_steps_below_the_cut(learning_rate):
    weights = run(request(learning_rate=learning_rate)).fit.weights / WEIGHT_STEP
    np.testing.assert_array_equal(weights, np.rint(weights))
    assert 0 < np.abs(weights).max() <= LARGEST_PREDICTION / (2 * (D + 1))


def test_private_sgd__events_and_noise_of_every_step_and_budget():
    result = run(request(n_outcomes=1))
    assert isinstance(result.events, tuple)
    names = [event.statistic for event in result.events]
    assert names == ["count", *[f"gradients, step {step}" for step in range(3) for _ in range(L)]]
    assert {event.mu for event in result.events[1:]} == {1 / request(n_outcomes=1).noise_multiplier}
    assert {event.entries for event in result.events[1:]} == {D + 1}
    # Equal noise for all outcomes would show as equal weights of equal data.
    X, Y = cohort()
    same = grid_outcomes(np.tile(Y[:1], (L, 1)), bound=9.0)
    everybody = np.ones(len(X), dtype=bool)
    fit = private_sgd(
        X, same, request=request(n_outcomes=1), noise=BenchmarkNoise(1), sample=lambda _: everybody
    ).fit
    assert len(set(fit.weights[:, 0])) == L


@pytest.mark.parametrize(("delta", "least"), [(1e-6, 0.97), (1.4e-13, 0.5)])
def test_noise_multiplier__of_steps_on_all_rows_is_the_closed_form(delta, least):
    asked = request(delta=delta)
    spent = math.hypot(asked.budget["count"], math.sqrt(asked.steps) / asked.noise_multiplier)
    certain = delta - NUMERIC_ERROR * (10 + asked.steps)
    assert least * certain < gdp_delta(spent, asked.epsilon) <= certain


def test_noise_multiplier__of_the_paper_is_by_renyi_divergences():
    asked = request(accounting="paper")
    steps = SelfComposedDpEvent(GaussianDpEvent(asked.noise_multiplier), asked.steps)
    event = ComposedDpEvent([GaussianDpEvent(1 / asked.budget["count"]), steps])
    assert 0.99 < RdpAccountant().compose(event).get_epsilon(1e-6) <= 1.0
    assert asked.noise_multiplier > request().noise_multiplier


def test_sampled_noise_multiplier__of_one_step_is_the_exact_law_of_a_mixture():
    epsilon, delta, q = 1.0, 1e-3, 0.5
    terms = {"steps": 1, "sampling_rate": q, "mu_count": 1e-5, "accounting": "gdp"}
    multiplier = sampled_noise_multiplier(epsilon, delta, **terms)
    x = np.linspace(-15, 20, 20_001)
    without = norm.pdf(x)
    with_one = (1 - q) * without + q * norm.pdf(x, 1 / multiplier)
    excesses = [with_one - math.e * without, without - math.e * with_one]
    lost = max(np.trapezoid(np.maximum(excess, 0), x) for excess in excesses)
    assert 0.98 * delta < lost <= delta


def released(row, y, W, rows):
    """Return what one row, in half units, adds to the sums, in the units of the sensitivity."""
    T = np.array([[*row, 1]], dtype=np.int8)
    terms = request(rows=rows, unit="haplotype" if rows == "haplotypes" else "person", n_variants=len(row))
    gridded = grid_outcomes(np.reshape(y, (-1, 1)), bound=9.0)
    return gradient_sums(T, gridded, W, clip_steps=terms.clip_steps) * CROSS_STEP


@pytest.mark.parametrize(("rows", "d"), [("haplotypes", 3), ("people", 2)])
@pytest.mark.parametrize("n_outcomes", [1, 2])
def test_gradient_sensitivity__is_attained(rows, d, n_outcomes):
    """Row norms 1 and 1.5 are whole, so that the clip divided by them is on the grid."""
    rng = np.random.default_rng(0)
    weights = [on_weight_grid(scale * rng.standard_normal((n_outcomes, d + 1))) for scale in (0, 1e5, 1e9)]
    largest = max(
        np.linalg.norm(released(row, y, W, rows))
        for row in itertools.product(ENTRIES[rows], repeat=d)
        for y in itertools.product([-9.0, -0.3, math.nan, 1e6], repeat=n_outcomes)
        for W in weights
    )
    unit = "haplotype" if rows == "haplotypes" else "person"
    terms = request(rows=rows, unit=unit, n_variants=d, n_outcomes=n_outcomes)
    assert largest == pytest.approx(gradient_sensitivity(terms).value, rel=1e-12)
    assert largest <= gradient_sensitivity(terms).value


def test_gradient_sensitivity__of_a_person_with_two_haplotype_rows():
    row, person = (gradient_sensitivity(request(unit=unit)).value for unit in ("haplotype", "person"))
    assert person == pytest.approx(2 * row, rel=1e-15)
    assert gradient_sensitivity(request()).proof == "docs/proofs/dp_sgd.md"


@pytest.mark.parametrize(("clip_steps", "n_outcomes"), [(55418265, 195), (39309591, 261)])
def test_gradient_sensitivity__is_no_less_where_float64_rounds_down(clip_steps, n_outcomes):
    exact = n_outcomes * (clip_steps * Fraction(OUTCOME_STEP)) ** 2
    terms = request(clip=clip_steps * OUTCOME_STEP, n_outcomes=n_outcomes)
    assert Fraction(gradient_sensitivity(terms).value) ** 2 >= exact


@pytest.mark.parametrize("clip_steps", [1, 12345, 2**26])
def test_largest_coefficients__exactly(clip_steps):
    squares = np.arange(1, 3000)
    largest = largest_coefficients(squares.astype(float), clip_steps=clip_steps)
    exact = [math.isqrt(4 * clip_steps**2 // int(square)) for square in squares]
    np.testing.assert_array_equal(largest, exact)


def test_largest_coefficients__exactly_where_a_square_root_is_rounded_up():
    """Of the numbers of Pell m^2 - 2 c^2 = 1: 4 c^2/2 = m^2 - 1 has the root m in float64."""
    m, c = 3, 2
    while c < 2**27:
        m, c = 3 * m + 4 * c, 2 * m + 3 * c
    assert int(math.sqrt(m**2 - 1)) == m
    assert largest_coefficients(np.array([2.0]), clip_steps=c).tolist() == [m - 1]


ROWS = {CALL_STEP: [-2, 0, 2], DOSAGE_STEP: [-4096, -4095, -17, 0, 1, 2730, 4096]}


@pytest.mark.parametrize("row_step", ROWS)
def test_gradient_sums__equal_fractions_for_any_block(monkeypatch, row_step):
    rng = np.random.default_rng(3)
    n, d = 11, 5
    whole = int(1 / row_step)
    T = np.column_stack([rng.choice(ROWS[row_step], size=(n, d)), np.full(n, whole // 2)]).astype(np.int16)
    Y = grid_outcomes(3 * rng.standard_normal((L, n)), bound=4.0)
    W = on_weight_grid(1e7 * rng.standard_normal((L, d + 1)), row_step=row_step)
    clip_steps = 2**16
    expected = np.zeros((L, d + 1), dtype=np.int64)
    for k, i in itertools.product(range(L), range(n)):
        prediction = sum(int(w) * int(t) for w, t in zip(W[k], T[i], strict=True)) * Fraction(WEIGHT_STEP)
        residual = prediction / whole / Fraction(OUTCOME_STEP) - int(Y[k, i])
        bound = math.isqrt((whole * clip_steps) ** 2 // int((T[i].astype(int) ** 2).sum()))
        expected[k] += int(max(-bound, min(bound, residual))) * T[i].astype(np.int64)
    for size in (1, 4, 100):
        monkeypatch.setattr(dp_sgd, "ROW_BLOCK", size)
        sums = gradient_sums(T, Y, W, clip_steps=clip_steps, row_step=row_step)
        np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("row_step", ROWS)
@pytest.mark.parametrize("clip", [None, OUTCOME_STEP, LARGEST_BOUND])
def test_gradient_sums__of_a_row_are_within_the_clip(row_step, clip):
    """Also at the largest of all numbers, where squares are beyond 64 bits."""
    rng = np.random.default_rng(4)
    d, whole = 3, int(1 / row_step)
    terms = request(rows="people", unit="person", n_variants=d, clip=clip)
    Y = grid_outcomes(np.array([[-1e6], [0.0], [1e6]]), bound=LARGEST_BOUND)
    for row in itertools.product([-whole, 0, rng.integers(1, whole + 1)], repeat=d):
        T = np.array([[*row, whole // 2]], dtype=np.int16)
        W = on_weight_grid(rng.choice([0, 1e5, 1e20]) * rng.standard_normal((3, d + 1)), row_step=row_step)
        steps = {"clip_steps": terms.clip_steps, "row_step": row_step}
        sums = gradient_sums(T, Y, W, **steps).astype(object)
        assert max((sums**2).sum(axis=1)) <= (terms.clip_steps * whole) ** 2


@pytest.mark.parametrize("row_step", ROWS)
def test_private_sgd__fractions_that_are_calls_give_the_fit_of_calls(row_step):
    terms = request(steps=20, clip=100.0, rows="people", unit="person")
    X, Y = cohort(rows="people")
    options = {"request": terms, "noise": Silence(), "sample": lambda _: np.ones(len(X), dtype=bool)}
    gridded = grid_outcomes(Y, bound=terms.outcome_bound)
    found = private_sgd(X, gridded, row_step=row_step, **options).fit
    np.testing.assert_allclose(found.weights, private_sgd(X, gridded, **options).fit.weights, atol=1e-4)


@pytest.mark.parametrize("row_step", ROWS)
def test_on_weight_grid__keeps_predictions_exact(row_step):
    whole = int(1 / row_step)
    W = on_weight_grid(np.array([[1e300, -1e300, 0.4, np.inf]]), row_step=row_step)
    assert whole * np.abs(W).sum() <= LARGEST_PREDICTION
    assert W[0, 2] == 0
    cut = on_weight_grid(np.full((1, 5), 1e300), row_step=row_step)
    np.testing.assert_array_equal(cut, np.full((1, 5), LARGEST_PREDICTION // (5 * whole)))


def test_limits__keep_residuals_exact():
    assert (OUTCOME_STEP / WEIGHT_STEP).is_integer()
    scale = int(OUTCOME_STEP / (WEIGHT_STEP * DOSAGE_STEP))
    assert LARGEST_PREDICTION + LARGEST_OUTCOME * scale < 2**53  # in float64


def test_clip_steps__are_of_a_row_and_at_most_of_the_largest_bound():
    assert request(n_variants=3).clip_steps * OUTCOME_STEP == 1.0
    assert request(n_variants=2, rows="people", unit="person").clip_steps * OUTCOME_STEP == 1.5
    assert request(n_variants=3, clip=OUTCOME_STEP).clip_steps == 1
    assert request(n_variants=3, clip=2.9 * OUTCOME_STEP).clip_steps == 2
    assert request(n_variants=10**8).clip_steps * OUTCOME_STEP == LARGEST_BOUND


@pytest.mark.parametrize(
    "terms",
    [{"epsilon": 1e-3}, {"epsilon": 1e4}, {"delta": 1e-20}, {"learning_rate": 1e9}, {"clip": 1e3}],
)
@pytest.mark.parametrize("d", [D, 200])
def test_private_sgd__finite(terms, d):
    result = run(request(**terms, n_variants=d), d=d)
    assert np.isfinite(result.fit.weights).all()


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        *(
            (name, value, "field-out-of-domain")
            for name, values in {
                "steps": [0],
                "sampling_rate": [0.0, 1.1],
                "clip": [0.0, 1001.0],
                "learning_rate": [math.inf, 0.0],
            }.items()
            for value in values
        ),
        ("neighbours", "replace-one", "neighbours-not-add-remove"),
    ],
)
def test_request__raise_on_terms(name, value, code):
    with refused(code, name, value, error=UsageError):
        request(**{name: value})


def test_private_sgd__raise_on_other_shapes():
    with refused("statistics-shape", "got 4", error=UsageError):
        run(request(n_variants=5))
