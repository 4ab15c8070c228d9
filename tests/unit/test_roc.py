import numpy as np
import pytest
from scipy.stats import binomtest, norm
from sklearn.metrics import roc_auc_score

from dpgrs.evaluation.intervals import advantage, area_under_curve, true_positive_rate


def two_sides(n_members, n_others, *, shift, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(n_members) + shift, rng.standard_normal(n_others)


def folds(*sides):
    return [np.arange(len(side)) % 2 for side in sides]


def cross_fitted(members, others):
    member_folds, other_folds = folds(members, others)
    return advantage(members, others, member_folds=member_folds, other_folds=other_folds)


def test_area_under_curve__equals_scikit_learn_with_ties():
    members, others = (np.round(side, 1) for side in two_sides(70, 40, shift=0.5))
    is_member = np.repeat([1, 0], [70, 40])
    expected = roc_auc_score(is_member, np.concatenate([members, others]))
    assert area_under_curve(members, others).value == pytest.approx(expected)


def test_area_under_curve__interval_is_that_of_delong():
    members, others = two_sides(30, 20, shift=0.7)
    wins = (members[:, np.newaxis] > others) + 0.5 * (members[:, np.newaxis] == others)
    error = np.sqrt(wins.mean(axis=1).var(ddof=1) / 30 + wins.mean(axis=0).var(ddof=1) / 20)
    estimate = area_under_curve(members, others)
    assert estimate.high - estimate.value == pytest.approx(1.959964 * error)
    assert estimate.value - estimate.low == pytest.approx(1.959964 * error)


def test_area_under_curve__interval_covers_the_truth():
    truth = norm.cdf(1 / np.sqrt(2))
    estimates = [area_under_curve(*two_sides(60, 60, shift=1.0, seed=seed)) for seed in range(400)]
    covered = np.mean([low <= truth <= high for _, low, high in estimates])
    assert 0.92 < covered < 0.98


def test_area_under_curve__perfect_separation_has_an_interval():
    estimate = area_under_curve(np.arange(50) + 100.0, np.arange(20) + 0.0)
    assert (estimate.value, estimate.high) == (1.0, 1.0)
    assert estimate.low == pytest.approx(0.025 ** (1 / 20))


def test_advantage__finds_what_normal_scores_offer():
    truth = 2 * norm.cdf(0.5) - 1
    estimate = cross_fitted(*two_sides(20_000, 20_000, shift=1.0))
    assert estimate.value == pytest.approx(truth, abs=0.02)
    assert estimate.low < truth < estimate.high


def test_advantage__of_guessing_is_zero_on_average():
    sides = [two_sides(50, 50, shift=0.0, seed=seed) for seed in range(300)]
    found = np.array([cross_fitted(*pair).value for pair in sides])
    assert abs(found.mean()) < 4 * found.std() / np.sqrt(300)
    # A threshold sought and tried on the same targets would have flattered the attacker.
    flattered = [
        max(np.mean(pair[0] > t) - np.mean(pair[1] > t) for t in np.concatenate(pair)) for pair in sides
    ]
    assert np.mean(flattered) > 0.1


def test_advantage__interval_comes_from_exact_ones():
    members, others = np.array([3.0, 4.0, 5.0, 6.0, 0.0, 0.1]), np.array([0.2, 0.3, 0.9, 0.9])
    estimate = cross_fitted(members, others)
    options = {"confidence_level": 0.975, "method": "exact"}
    tpr, fpr = binomtest(4, 6).proportion_ci(**options), binomtest(0, 4).proportion_ci(**options)
    assert estimate.value == pytest.approx(4 / 6)
    assert estimate.low == pytest.approx(tpr.low - fpr.high)
    assert estimate.high == pytest.approx(tpr.high - fpr.low)


def test_true_positive_rate__counts_above_the_allowed_false_alarms():
    members, others = two_sides(300, 500, shift=1.5)
    tpr, fpr = true_positive_rate(members, others, fpr=0.01)
    threshold = np.sort(others)[-6]
    assert fpr == 0.01
    assert np.sum(others > threshold) == 5
    count = int(np.sum(members > threshold))
    expected = binomtest(count, 300).proportion_ci(0.95, method="exact")
    assert tpr == pytest.approx((count / 300, expected.low, expected.high))


@pytest.mark.parametrize("n_others", [1, 3, 99])
def test_true_positive_rate__few_others_allow_one_false_alarm(n_others):
    members, others = two_sides(40, n_others, shift=1.0)
    _, fpr = true_positive_rate(members, others, fpr=0.01)
    assert fpr == 1 / n_others
