from dataclasses import replace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.public_random import generator
from dpgrs_papers.experiments import primo_bounds as experiment
from dpgrs_papers.experiments.primo_formulas import (
    Setting,
    feature_excess,
    gauss_excess,
    label_excess,
    leading_excess,
    projection_error,
    sketch_excess,
)
from refused import refused

SETTING = Setting(
    n_rows=10**6, n_variants=30, n_outcomes=20, row_norm=1.5, outcome_bound=0.5, weights_norm=4.0
)
NOISE = {"gram_sd": 20.0, "cross_sd": 30.0}
SKETCH = NOISE | {"n_chosen": 10**4}
BOUNDS = [
    (gauss_excess, NOISE),
    (feature_excess, NOISE),
    (label_excess, {"cross_sd": 30.0}),
    (sketch_excess, SKETCH),
]


@pytest.mark.parametrize(
    ("protection", "n", "d", "l"),
    [("full", -1, 0.5, -1), ("full", -1, 0.5, 0), ("feature", -0.5, 0.25, -0.5), ("label", -0.5, 0, -0.25)],
)
def test_leading_excess__has_the_exponents_of_the_table(protection, n, d, l):  # noqa: E741
    # One of the two terms alone: with a bound of outcomes that is tiny or huge.
    bound = 1e-9 if (protection, l) == ("full", -1) else 1e9
    setting = replace(SETTING, outcome_bound=bound)
    before = leading_excess(protection, setting, epsilon=1.0)
    for name, exponent in {"n_rows": n, "n_variants": d, "n_outcomes": l}.items():
        more = replace(setting, **{name: 16 * getattr(setting, name)})
        assert leading_excess(protection, more, epsilon=1.0) == pytest.approx(16**exponent * before)
    assert leading_excess(protection, setting, epsilon=16.0) == pytest.approx(16**n * before)


@pytest.mark.parametrize(
    ("protection", "constants"), [("full", (16, 8)), ("feature", (16, 8)), ("label", (8,))]
)
def test_bounds__at_large_sizes_are_the_leading_terms_times_constants(protection, constants):
    """With noise as of the sensitivities R^2 and 2 R C, one standard deviation over epsilon each."""
    count, epsilon = 10**8, 0.01
    setting = replace(SETTING, n_rows=10**9, n_variants=10**10, n_outcomes=count, weights_norm=3e4)
    noise = {"cross_sd": 2 * setting.row_norm * setting.outcome_bound * count**0.5 / epsilon}
    if protection != "label":
        noise["gram_sd"] = setting.row_norm**2 / epsilon
    bound = {"full": gauss_excess, "feature": feature_excess, "label": label_excess}[protection]
    of_gram = setting.n_variants**0.5 * (setting.row_norm * setting.weights_norm) ** 2
    of_gram /= count * setting.n_rows * epsilon
    leading = leading_excess(protection, setting, epsilon=epsilon)
    parts = (leading,) if protection == "label" else (of_gram, leading - of_gram)
    expected = sum(constant * part for constant, part in zip(constants, parts, strict=True))
    assert bound(setting, **noise).excess == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("bound", "noise"), BOUNDS)
def test_bounds__are_least_at_their_penalty(bound, noise):
    """g and e follow from two norms of weights, as the penalty is 2 g + e/||W*||."""
    w = SETTING.weights_norm
    found, other = bound(SETTING, **noise), bound(replace(SETTING, weights_norm=2 * w), **noise)
    e = 2 * w * (found.penalty - other.penalty)
    twice_g = found.penalty - e / w
    penalties = found.penalty * np.geomspace(0.5, 2, 101)
    cells = SETTING.n_rows * SETTING.n_outcomes
    excess = (e + (twice_g + penalties) * w) ** 2 / (cells * penalties)
    assert excess.argmin() == 50
    assert excess.min() == pytest.approx(found.excess)
    assert e > 0
    assert twice_g == pytest.approx(0, abs=1e-9) if bound is label_excess else twice_g > 0


@pytest.mark.parametrize(("bound", "noise"), BOUNDS)
def test_bounds__rise_with_noise_and_certainty_and_fall_with_rows(bound, noise):
    before = bound(SETTING, **noise).excess
    for name in noise:
        more = bound(SETTING, **noise | {name: 2 * noise[name]}).excess
        assert more < before if name == "n_chosen" else more > before
    assert bound(SETTING, **noise, chance=1e-6).excess > before
    assert bound(replace(SETTING, weights_norm=5.0), **noise).excess > before
    assert bound(replace(SETTING, n_rows=2 * 10**6), **noise).excess < before


def test_sketch_excess__is_gauss_for_many_rows_chosen_and_keeps_a_floor_otherwise():
    chances = {"chance": 0.06}
    plain = gauss_excess(SETTING, **NOISE, chance=0.04).excess  # as the sketch, 0.02 for each noise
    assert sketch_excess(SETTING, **NOISE | {"n_chosen": 10**16}, **chances).excess == pytest.approx(
        plain, rel=1e-3
    )
    ends = [sketch_excess(replace(SETTING, n_rows=n), **SKETCH).excess for n in (10**12, 10**15)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-3)
    quarter = sketch_excess(replace(SETTING, n_rows=10**15), **SKETCH | {"n_chosen": 4 * 10**4}).excess
    assert ends[1] / quarter == pytest.approx(2, rel=0.05)


def test_sketch_excess__solves_the_bernstein_inequality_of_a_sample():
    chance, d, rows = 0.03, SETTING.n_variants, SKETCH["n_chosen"]
    plain = gauss_excess(SETTING, **NOISE, chance=0.02).penalty
    off = (sketch_excess(SETTING, **SKETCH, chance=chance).penalty - plain) / 2
    # A row's share of the sum is at most this, and its variance over the sample is at most its square.
    largest = SETTING.n_rows * SETTING.row_norm**2 / rows
    exponents = [t**2 / 2 / (rows * largest**2 + largest * t / 3) for t in (off, 0.97 * off)]
    tails = [2 * d * np.exp(-exponent) for exponent in exponents]
    assert tails[0] <= chance / 3 < tails[1]


def test_projection_error__is_the_same_for_both_where_as_many_points_move():
    setting = replace(SETTING, n_outcomes=SETTING.n_variants)
    errors = [projection_error(setting, protection=side, cross_sd=1.0) for side in ("feature", "label")]
    assert errors[0] == errors[1]
    fewer = [projection_error(SETTING, protection=side, cross_sd=1.0) for side in ("feature", "label")]
    assert fewer[0] > fewer[1]


def test_gauss_excess__takes_norms_that_noise_has():
    """The bounds on both norms of noise hold with chance 1e-12, and are no more than twice what comes."""
    draws, d, count = generator(1, "primo bounds"), 100, 40
    setting = replace(SETTING, n_variants=d, n_outcomes=count)
    # ||W*|| so large that the penalty is 2 g, or so small that it is e/||W*||.
    penalties = [
        gauss_excess(replace(setting, weights_norm=w), gram_sd=1.0, cross_sd=1.0, chance=4e-12).penalty
        for w in (1e12, 1e-12)
    ]
    g, e = penalties[0] / 2, penalties[1] * 1e-12
    for _ in range(20):
        upper = np.triu(draws.standard_normal((d, d)))
        spectral = np.abs(np.linalg.eigvalsh(upper + np.triu(upper, 1).T)).max()
        assert g / 2 < spectral < g
        assert e / 2 < np.linalg.norm(draws.standard_normal((count, d))) < e


@pytest.mark.parametrize("is_near", [True, False])
@pytest.mark.parametrize("theorem", [1, 3, 4, 6])
def test_measure__bounds_hold_for_what_mechanisms_do(theorem, is_near):
    for epsilon in (1.0, 100.0):
        case = experiment.Case(theorem, 2**13, 8, 16, epsilon)
        found = experiment.measure(case, is_near=is_near)
        assert 0 < found["measured"] < found["bound"]
        assert not is_near or found["bound"] < 60 * found["measured"]
        assert found.get("error", 0) < found.get("error_bound", 1)


def test_measure__near_eigenvalues_lose_more_and_many_outcomes_are_projected():
    case = experiment.Case(1, 2**15, 8, 4, 4.0)
    near, far = (experiment.measure(case, is_near=is_near) for is_near in (True, False))
    assert near["measured"] / near["bound"] > 3 * far["measured"] / far["bound"]
    found = experiment.measure(experiment.Case(3, 2**10, 8, 128, 1.0), is_near=False)
    assert found["error"] < 0.2 * found["unprojected"]


def test_bound__of_a_sketch_supposes_the_noise_of_its_release(monkeypatch):
    """At so small an epsilon X'X is off by noise, whose size 2,080 entries show."""
    case = experiment.Case(6, 2**12, 64, 1, 0.01)
    monkeypatch.setattr(experiment, "sketch_excess", lambda setting, **noise: noise)
    bits, Y, G, V = experiment.cohort(case.n, case.d, case.l, 1 / 4, case.seed)
    matrix, _ = experiment.release(case, bits, Y, G, V)
    errors = (matrix - G[:-1, :-1] * experiment.GRAM_STEP)[np.triu_indices(case.d)]
    noise = case.bound(1.0)
    assert errors.std() == pytest.approx(noise["gram_sd"], rel=0.1)
    assert noise["n_chosen"] == case.n / 8


def test_rows_needed__are_where_the_bound_begins_to_tell():
    case = experiment.Case(4, 1, 16, 4, 1.0)
    needed = experiment.rows_needed(case)
    excess = [case._replace(n=round(n)).bound(2.0).excess for n in (needed, needed / 1.02)]
    assert excess[0] <= 1 / 4 < excess[1]


@pytest.mark.parametrize("name", list(vars(SETTING)))
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_setting__raises_on_numbers_that_are_none(name, value):
    with refused("not-positive", name, value, error=UsageError):
        replace(SETTING, **{name: value})


@pytest.mark.parametrize(("bound", "noise"), BOUNDS)
def test_bounds__raise_on_noise_and_chances_out_of_range(bound, noise):
    for name in noise:
        with refused("not-positive", name, error=UsageError):
            bound(SETTING, **noise | {name: 0.0})
    for chance in (0.0, 1.0, 1.5):
        with refused("chance-out-of-range", "`chance`", error=UsageError):
            bound(SETTING, **noise, chance=chance)


def test_bounds__raise_on_another_protection():
    with refused("protection-unknown", error=UsageError):
        leading_excess("none", SETTING, epsilon=1.0)
    with refused("protection-unknown", error=UsageError):
        projection_error(SETTING, protection="full", cross_sd=1.0)
    with refused("not-positive", "`epsilon`", error=UsageError):
        leading_excess("full", SETTING, epsilon=0.0)
