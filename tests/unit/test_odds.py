"""How likely odds move by more than e^epsilon: the theorem of docs/proofs/odds.md, by brute force."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.accountant import (
    LARGEST_MU,
    gdp_delta,
    gdp_mu,
    odds_chance,
    right_share,
    right_share_of_terms,
)
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.verify.claim_check import Loss, chance_bound, right_guesses
from refused import refused

CASES = [(0.5, 1e-6), (1.0, 1e-6), (2.0, 1e-6), (5.0, 1e-6), (1.0, 1e-4), (0.3, 0.01)]


def normal_chance(mu, epsilon):
    """Return the chance for normal noise that is seen as it is."""
    return float(ndtr(-epsilon / mu + mu / 2))


def cell_masses(edges, shift):
    """Return what N(shift, 1) puts between edges; accurate in both tails."""
    low, high = edges[:-1] - shift, edges[1:] - shift
    return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def chance_of(first, second, epsilon):
    """Return P(loss > epsilon) and P(loss < -epsilon) under the first of two laws on the same cells."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(first) - np.log(second)
    return first[loss > epsilon].sum(), first[loss < -epsilon].sum()


def merged(masses, labels):
    return np.bincount(labels, weights=masses, minlength=labels.max() + 1)


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_odds_chance__holds_whatever_is_done_with_the_result(epsilon, delta):
    mu = gdp_mu(epsilon, delta)
    chance, rng = odds_chance(mu, epsilon), np.random.default_rng(1)
    edges = np.r_[-np.inf, np.linspace(-9, 9, 4001), np.inf]
    first, second = cell_masses(edges, mu), cell_masses(edges, 0.0)
    assert first.sum() == pytest.approx(1, abs=1e-12)
    ranks = np.arange(len(first))
    for cells in (2, 5, 40, 400, 4002):
        for labels in (rng.integers(0, cells, len(first)), ranks * cells // len(ranks), ranks % cells):
            above, below = chance_of(merged(first, labels), merged(second, labels), epsilon)
            assert above <= chance
            assert below <= chance * math.exp(-epsilon)
            twice, _ = chance_of(merged(first, labels), merged(second, labels), epsilon + math.log(2))
            assert twice <= 2 * delta


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_odds_chance__is_attained_by_one_bit(epsilon, delta):
    """Published is whether the noisy number is beyond a threshold: more than normal noise shows as it is."""
    mu = gdp_mu(epsilon, delta)
    threshold = brentq(lambda c: log_ndtr(mu - c) - log_ndtr(-c) - epsilon, -9.0, 60.0, xtol=1e-12)
    chance = odds_chance(mu, epsilon)
    assert chance * (1 - 1e-6) <= ndtr(mu - threshold) <= chance
    assert 1.5 * normal_chance(mu, epsilon) < chance < math.e * normal_chance(mu, epsilon)


def test_odds_chance__rounds_that_stop_beat_normal_noise_and_not_the_bound():
    """Two rounds, of which the second is spent only while odds have not moved far enough."""
    epsilon, mu = 1.0, gdp_mu(1.0, 1e-6)
    first, second = mu * math.sqrt(0.9), mu * math.sqrt(0.1)
    losses = np.linspace(first**2 / 2 - 9 * first, epsilon, 20_001)
    density = np.exp(-((losses - first**2 / 2) ** 2) / (2 * first**2)) / (first * math.sqrt(2 * math.pi))
    later = ndtr((second**2 / 2 - (epsilon - losses)) / second)
    stopped = normal_chance(first, epsilon) + np.trapezoid(density * later, losses)
    assert 1.05 * normal_chance(mu, epsilon) < stopped < odds_chance(mu, epsilon)
    # However many rounds there are: Brownian motion passes epsilon before mu^2 is spent.
    passed = normal_chance(mu, epsilon) + math.exp(epsilon) * ndtr(-epsilon / mu - mu / 2)
    assert stopped < passed < odds_chance(mu, epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_odds_chance__holds_for_any_two_statements_about_a_replaced_unit(epsilon, delta):
    """Statements are mixtures of values; whatever value is true."""
    mu, rng = gdp_mu(epsilon, delta), np.random.default_rng(2)
    values = np.linspace(-mu / 2, mu / 2, 7)
    edges = np.linspace(-9, 9, 3001)
    laws = np.array([cell_masses(edges, value) for value in values])
    chance = odds_chance(mu, epsilon)
    for _ in range(50):
        ours, theirs = rng.dirichlet(np.full(7, 0.3), size=2) @ laws
        for truth in laws:
            assert truth[ours > math.exp(epsilon) * theirs].sum() <= chance


@pytest.mark.parametrize("pure", [0.1, 0.7])
def test_odds_chance__of_both_parts_is_that_of_what_the_pure_part_leaves(pure):
    """Randomised response beside normal noise, seen as they are and by their product alone."""
    epsilon, mu = 1.0 + pure, gdp_mu(1.0, 1e-6)
    edges = np.r_[-np.inf, np.linspace(-9, 9, 4001), np.inf]
    likely = 1 / (1 + math.exp(-pure))
    first = np.concatenate([likely * cell_masses(edges, mu), (1 - likely) * cell_masses(edges, mu)])
    second = np.concatenate([(1 - likely) * cell_masses(edges, 0.0), likely * cell_masses(edges, 0.0)])
    chance = float(Cost(Fraction(mu) ** 2, Fraction(pure)).odds_chance(Fraction(epsilon)))
    assert chance == pytest.approx(odds_chance(mu, 1.0), rel=1e-9)
    threshold = np.linspace(3, 5, 200)
    bits = [np.tile(edges[:-1] > place, 2) for place in threshold]
    above = [chance_of(merged(first, bit), merged(second, bit), epsilon)[0] for bit in bits]
    assert max(*above, chance_of(first, second, epsilon)[0]) <= chance
    assert Cost(Fraction(0), Fraction(pure)).odds_chance(Fraction(pure)) == 0
    assert Cost(Fraction(mu) ** 2, Fraction(pure)).odds_chance(Fraction(pure) / 2) == 1


@pytest.mark.parametrize("mu", [1e-9, 1e-3, 0.1, 0.2367, 1.0, 5.0, 10.0, 20.0, 100.0])
@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 1.0, 5.0, 60.0, 300.0, 1e4])
def test_odds_chance__is_rounded_up_and_close_to_other_arithmetic(mu, epsilon):
    chance, exact = odds_chance(mu, epsilon), float(chance_bound(Fraction(mu) ** 2, Fraction(epsilon)))
    assert max(exact, 1e-30) <= chance <= 1
    if 1e-25 < exact < 0.5:  # beyond, thresholds lie where t would be below 0
        assert chance == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize(
    ("mu", "epsilon"),
    [(0.0059, 0.0649), (1.0811, 1.0), (4.9535, 5.3367), (12.7178, 195.331), (140.0, 10570.0)],
)
def test_odds_chance__is_the_smallest_that_any_place_gives(mu, epsilon):
    distances = epsilon * np.geomspace(1e-4, 1, 5000)
    bounds = [gdp_delta(mu, epsilon - distance) / -math.expm1(-distance) for distance in distances.tolist()]
    assert odds_chance(mu, epsilon) == pytest.approx(min(1, *bounds), rel=2e-6)


def test_odds_chance__limits():
    mu = gdp_mu(1.0, 1e-6)
    assert odds_chance(0, 0) == odds_chance(0, 5.0) == 0
    assert odds_chance(mu, 0) == odds_chance(mu, -1.0) == odds_chance(0, -1.0) == 1
    assert odds_chance(1e-12, 1.0) == odds_chance(1e-9, 1.0)
    assert odds_chance(LARGEST_MU, 1e4) == 1
    # Here places that differ in their last digit lie on either side of epsilon.
    assert odds_chance(40.831143365164046, 2.2267607065481188e-13) == 1
    chances = [odds_chance(mu, epsilon) for epsilon in (0.2, 0.5, 1.0, 2.0)]
    assert chances == sorted(chances, reverse=True)
    assert all(
        chance > gdp_delta(mu, epsilon) for chance, epsilon in zip(chances, (0.2, 0.5, 1, 2), strict=True)
    )


@pytest.mark.parametrize(
    ("mu", "epsilon"),
    [(-1.0, 1.0), (-1.0, 0.0), (1.0, math.inf), (1.0, -math.inf), (1.0, math.nan), (2e4, 1.0), (2e4, 0.0)],
)
def test_odds_chance__raise_on_arguments(mu, epsilon):
    with refused("budget-out-of-range", error=UsageError):
        odds_chance(mu, epsilon)


def share_of_right(first, second):
    """Return how often the better guess is right between two laws on the same cells, at even odds."""
    return np.maximum(first, second).sum() / 2


@pytest.mark.parametrize(("mu", "pure"), [(0.448, 0.0), (1.02, 0.0), (0.3, 0.2), (0.05, 1.5), (2.0, 3.0)])
def test_right_share__is_attained_and_holds_whatever_is_done_with_the_result(mu, pure):
    """Randomised response beside normal noise: cells of both, and these merged by random rules."""
    edges = np.r_[-np.inf, np.linspace(-9, 9 + mu, 40_001), np.inf]
    first, second = cell_masses(edges, mu), cell_masses(edges, 0.0)
    told = 1 / (1 + math.exp(-pure))
    first, second = (np.r_[p * law, (1 - p) * law] for p, law in ((told, first), (1 - told, second)))
    share, rng = right_share(mu, pure), np.random.default_rng(2)
    assert share == pytest.approx(share_of_right(first, second), abs=1e-7)
    for cells in (2, 40, 4000):
        labels = rng.integers(0, cells, len(first))
        assert share_of_right(merged(first, labels), merged(second, labels)) <= share
    loss = Loss(Fraction(mu) ** 2, Fraction(pure))
    assert float(right_guesses(loss)) == pytest.approx(100 * share, rel=1e-8)
    assert right_guesses(loss) <= Cost(loss.mu_squared, loss.pure).right_guesses == math.ceil(100 * share)


def test_right_share__ends():
    assert right_share(0.0) == 0.5
    assert right_share(0.0, math.log(3)) == pytest.approx(0.75)
    assert right_share(100.0) == right_share(0.0, 800.0) == 1.0
    assert (Cost().right_guesses, right_guesses(Loss())) == (50, 50)
    with refused("budget-out-of-range", "pure_epsilon", "got -1", error=UsageError):
        right_share(1.0, -1)


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_right_share__of_terms_is_attained_and_covers_normal_noise(epsilon, delta):
    """The worst (epsilon, delta) laws have four results: two that tell all, and randomised response."""
    told = (1 - delta) / (1 + math.exp(-epsilon))
    first, second = np.array([delta, told, 1 - delta - told, 0]), np.array([0, 1 - delta - told, told, delta])
    for one, other in ((first, second), (second, first)):
        assert np.maximum(one - math.exp(epsilon) * other, 0).sum() == pytest.approx(delta, rel=1e-6)
    share = right_share_of_terms(epsilon, delta)
    assert share == pytest.approx(share_of_right(first, second), abs=1e-8)
    assert right_share(gdp_mu(epsilon, delta)) < share
