"""The experiment that holds the theorems of the screening papers against what is measured."""

import math

import numpy as np
import pytest

from dpgrs.selection.merge_sort import sign_scores
from dpgrs_papers.experiments import screening_theorems as theorems
from subset_laws import all_sets, law

# A normal deviate is beyond it once in 10^9 draws.
FAR = 6.1


@pytest.mark.parametrize(
    ("beta", "sigma", "noise"),
    [
        ((1, 1, 1), (1, 1, 1), 1),
        ((1, 0.2, 0.2), (1, 1, 1), 0.1),
        ((1, -0.5), (1, 2), 1),
        ((3, 1), (10, 1), 1),
    ],
)
def test_arctan_law__is_what_kendalls_tau_is(beta, sigma, noise):
    n = 20_000
    rng = np.random.default_rng(0)
    features, y, _ = theorems.linear_model(rng, n, beta=beta, sigma=sigma, noise=noise)
    expected = theorems.arctan_law(beta, sigma, noise)
    measured = sign_scores(features, y) / (n * (n - 1) / 2)
    assert np.all(np.abs(measured - expected) < FAR * theorems.tau_error(expected, n))
    # Other laws would be seen: half the angle, or a noise of half the size.
    for wrong in (expected / 2, theorems.arctan_law(np.array(beta) * 1.2, sigma, noise / 2)):
        assert np.any(np.abs(measured - wrong) > FAR * theorems.tau_error(expected, n))


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_tau_error__is_the_spread_of_kendalls_tau(beta):
    n, repeats, rng = 50, 2_000, np.random.default_rng(1)
    X = rng.standard_normal((repeats, n))
    Y = beta * X + rng.standard_normal((repeats, n))
    taus = [sign_scores(x[np.newaxis], y).item() / (n * (n - 1) / 2) for x, y in zip(X, Y, strict=True)]
    (tau,) = theorems.arctan_law([beta], 1, 1)
    assert np.std(taus) == pytest.approx(theorems.tau_error(tau, n), rel=FAR / math.sqrt(2 * repeats))


@pytest.mark.parametrize("epsilon", [None, 1.0])
@pytest.mark.parametrize(("b", "is_copied"), [(0.2, True), (0.3, True), (0.4, False)])
def test_counterexample__a_copy_is_third_where_effects_are_unequal(b, is_copied, epsilon):
    largest, smallest, _ = theorems.arctan_law((1, b, b), 1, 0.1)
    assert (largest - 1 / 2 > smallest) == is_copied
    model = {"beta": (1, b, b), "noise": 0.1, "copies": 2}
    features, y, causes = theorems.linear_model(np.random.default_rng(2), 20_000, **model)
    chosen = theorems.choose(features, y, 3, epsilon=epsilon)
    assert theorems.is_copied(chosen, causes) == is_copied
    assert theorems.is_recovered(chosen, causes) != is_copied


@pytest.mark.parametrize("epsilon", [None, 1.0])
def test_recovery__each_once_where_effects_are_equal(epsilon):
    model = {"beta": (1, -1, 1, 1), "noise": 1, "copies": 2, "n_unrelated": 6}
    for repeat in range(3):
        features, y, causes = theorems.linear_model(np.random.default_rng(repeat), 10_000, **model)
        assert theorems.is_recovered(theorems.choose(features, y, 4, epsilon=epsilon), causes)


def test_rows_needed__are_too_few_for_weak_effects_even_without_noise():
    k, d, angle, rows = 2, 10, 0.03, []
    model = {"beta": [math.tan(angle)] * k, "noise": 1, "copies": 1, "n_unrelated": 6}
    few = round(30 * theorems.rows_needed(k, d, 10.0, angle))
    many = few + round(4 * math.log(d * k / theorems.ETA) / angle**2)
    for n in (few, many):
        rows += theorems.shares(theorems.is_recovered, n, k, [{}], seed=0, repeats=20, **model).tolist()
    assert rows[0] < 1 / 2
    assert rows[1] > 9 / 10


def test_is_recovered__asks_for_every_cause_once():
    causes = np.array([0, 1, 0, -1])
    assert theorems.is_recovered(np.array([2, 1]), causes)
    assert not any(theorems.is_recovered(np.array(one), causes) for one in ([0, 2], [0, 3], [3, 1]))


@pytest.mark.parametrize(("gap", "gamma"), [(2.0, 0.5), (8.0, 0.5), (8.0, 0.9), (20.0, 0.5)])
def test_set_chances__are_below_and_at_the_law_of_all_sets(gap, gamma):
    n, k = 7, 3
    bound, exact = theorems.set_chances(gap, gamma, len(all_sets(n, k)))
    chances = law(np.where(np.arange(n) < k, gap, 0.0), k, rate=1 / 2, gamma=gamma)
    assert chances[all_sets(n, k).index((0, 1, 2))] == pytest.approx(exact, rel=1e-9)
    assert bound <= exact


@pytest.mark.parametrize("name", theorems.CLAIMS)
def test_claims__hold_but_for_unequal_and_weak_effects(name):
    settings = {
        "seed": 1,
        "rows": 20_000,
        "repeats": 100,
        "sample_sizes": [100, 1_000],
        "angles": [0.5, 0.05],
    }
    rows = theorems.run_replicate(name, 1, settings, [])
    found = {row["holds"] for row in rows}
    assert ("no" in found) == (name in {"counterexample", "root"})
    assert "yes" in found
    assert rows == theorems.run_replicate(name, 1, settings, [])
