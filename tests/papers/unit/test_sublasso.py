"""SubLasso and two-stage: what one unit changes, by brute force and by attack; a defect; choices."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpgrs.errors import UsageError
from dpgrs.privacy.digests import data_digest
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs_papers.experiments.errata_choices import equal_groups
from dpgrs_papers.selection.sensitivity import votes_sensitivity
from dpgrs_papers.selection.sublasso import (
    LARGEST_NUMBER,
    Ballot,
    assign_groups,
    choose_by_votes,
    count_votes,
    group_votes,
    number_of_groups,
    private_sublasso,
)
from refused import refused

RNG = np.random.default_rng(0)
N_UNITS, D, CAUSAL = 400, 30, [3, 11, 27]
X = RNG.integers(0, 3, (N_UNITS, D)).astype(float)
Y = X[:, CAUSAL] @ [1.0, -1.0, 1.0] + RNG.standard_normal(N_UNITS)
NAMES = [f"sample {i}" for i in range(N_UNITS)]
TERMS = {"k": 3, "rule": "two-stage", "seed": 1}
PRIVATE = {**TERMS, "unit_keys": NAMES, "epsilon": 50.0, "n_low": N_UNITS}


def claim(**terms):
    return votes_sensitivity(unit="person", **terms).value


# What one unit changes.

ROWS = np.array(list(itertools.product([0.0, 1.0], repeat=3)))  # two features and an outcome


def all_votes(groups, ballot):
    """Return the votes of all data sets of units in these groups: (8, ..., 8, 2)."""
    places = list(itertools.product(range(len(ROWS)), repeat=len(groups)))
    tables = (ROWS[list(place)] for place in places)
    options = {"n_groups": 2, "k": 1, "ballot": ballot}
    votes = [group_votes(table[:, :2], table[:, 2], np.array(groups), **options) for table in tables]
    return np.array(votes).reshape(*[len(ROWS)] * len(groups), 2)


@pytest.mark.parametrize("ballot", Ballot)
def test_votes_sensitivity__is_attained(ballot):
    """Three units, the last of which is added, replaced in its group, or replaced by one of another group."""
    worst = {"added": 0, "in place": 0, "by name": 0}
    for others in [(0, 0), (0, 1)]:
        without, *replaced = (all_votes(groups, ballot) for groups in [others, (*others, 0), (*others, 1)])
        of_one, of_other = replaced
        found = {
            "added": np.abs(of_one - without[:, :, np.newaxis]).max(),
            "in place": np.ptp(of_one, axis=2).max(),
            "by name": np.abs(of_one[:, :, :, np.newaxis] - of_other[:, :, np.newaxis]).max(),
        }
        worst = {name: max(worst[name], found[name]) for name in worst}
    replaced = {"neighbours": "replace-one"}
    # A Lasso of one row keeps nothing: three units are too few to move two groups.
    by_name = worst["by name"] + (ballot == Ballot.SUPPORT)
    assert worst | {"by name": by_name} == {
        "added": claim(neighbours="add-remove"),
        "in place": claim(**replaced, is_by_place=True),
        "by name": claim(**replaced),
    }
    assert claim(**replaced, protection="label") == claim(**replaced, protection="feature") == 1


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    ballot=st.sampled_from(Ballot),
    data=st.data(),
    n_units=st.integers(2, 24),
    n_groups=st.integers(1, 6),
    rows_per_unit=st.integers(1, 2),
)
def test_count_votes__one_unit_changes_one_group(ballot, data, n_units, n_groups, rows_per_unit):
    outcomes = st.sampled_from([-1.0, 0.0, 0.5, 3.0, np.nan, np.inf])
    shape = (n_units + 1, rows_per_unit)
    X = data.draw(hnp.arrays(float, (*shape, 5), elements=st.sampled_from([0.0, 1.0, 2.0])))
    y = data.draw(hnp.arrays(float, shape, elements=outcomes))
    k, seed = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 99))

    def votes(units, keys):
        options = {"k": k, "n_groups": n_groups, "seed": seed, "rows_per_unit": rows_per_unit}
        counted = count_votes(X[units].reshape(-1, 5), y[units].ravel(), keys, ballot=ballot, **options)
        assert ballot == Ballot.SUPPORT or counted.sum() == k * n_groups
        return counted

    names = [f"sample {i}" for i in range(n_units + 1)]
    *others, leaving, joining = range(n_units + 1)
    first, second = [*others, leaving], [*others, joining]
    both = votes(first, names[:-1])
    without = votes(others, names[:-2])
    renamed = votes(second, [*names[:-2], names[-1]])
    assert np.abs(both - without).max() <= claim(neighbours="add-remove")
    assert np.abs(both - renamed).max() <= claim(neighbours="replace-one")
    # The same name, as under label protection, or the same place.
    assert np.abs(both - votes(second, names[:-1])).max() <= 1
    assert np.abs(votes(first, None) - votes(second, None)).max() <= 1
    np.testing.assert_array_equal(votes(first[::-1], names[:-1][::-1]), both)


def test_group_votes__every_group_is_fitted_by_itself():
    """What is far out in one group, or in how many rows, is nothing to the others."""
    options = {"n_groups": 8, "k": 3}
    groups = assign_groups(NAMES, n_groups=8, seed=1)
    spread = np.where(groups == 5, 1e4, 1.0)[:, np.newaxis]
    rows, y = (X + RNG.standard_normal(X.shape)) * spread ** np.arange(D).clip(max=2), Y * spread[:, 0]

    def votes(is_chosen):
        return group_votes(rows[is_chosen], y[is_chosen], groups[is_chosen], **options)

    none = votes(groups < 0)
    own = [votes(groups == group) - none for group in range(8)]
    assert all(one.any() for one in own)
    np.testing.assert_array_equal(votes(groups >= 0), none + sum(own))


# Equal groups of shuffled rows: where the size of a group jumps, one row more changes every group.


def test_group_votes__move_by_one_unlike_those_of_equal_groups():
    table = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 0]], dtype=float)
    X, y = table[:, :2], table[:, 2]
    published = [group_votes(X[:n], y[:n], equal_groups(n, 2), n_groups=2, k=1) for n in (5, 6)]
    assert [votes.tolist() for votes in published] == [[2, 0], [0, 2]]
    for groups in map(np.array, itertools.product(range(2), repeat=6)):
        ours = [group_votes(X[:n], y[:n], groups[:n], n_groups=2, k=1) for n in (5, 6)]
        assert np.abs(ours[0] - ours[1]).max() <= 1


# Groups.


@pytest.mark.parametrize(
    ("n_low", "rule", "rows_per_unit", "expected"),
    [
        (103.7, "sublasso", 1, 20),
        (103.7, "sublasso", 2, 41),
        (103.7, "two-stage", 1, 10),
        (103.7, "two-stage", 2, 14),
        (2.5, "two-stage", 9, 2),
        (-7.0, "sublasso", 1, 1),
        (-7.0, "two-stage", 2, 1),
        (0, "two-stage", 1, 1),
        (1e18, "sublasso", 1, LARGEST_NUMBER),
    ],
)
def test_number_of_groups(n_low, rule, rows_per_unit, expected):
    assert number_of_groups(n_low, 5, rule=rule, rows_per_unit=rows_per_unit) == expected


def test_assign_groups__by_the_own_name_the_seed_and_the_number():
    groups = assign_groups(NAMES, n_groups=7, seed=1)
    assert set(groups.tolist()) == set(range(7))
    np.testing.assert_array_equal(assign_groups(NAMES[1:], n_groups=7, seed=1), groups[1:])
    for others in (assign_groups(NAMES, n_groups=7, seed=2), assign_groups(NAMES, n_groups=14, seed=1) // 2):
        assert np.mean(others != groups) > 0.5


def test_group_votes__fixed_votes_begin_at_the_group_s_share_of_the_features():
    groups, missing = np.arange(3), np.full(N_UNITS, np.nan)
    assert group_votes(X[:3, :7], missing[:3], groups, n_groups=3, k=1).tolist() == [1, 0, 1, 0, 1, 0, 0]
    groups = assign_groups(NAMES, n_groups=D, seed=1)
    assert group_votes(X, missing, groups, n_groups=D, k=3).tolist() == [3] * D


# Choices.


@pytest.mark.parametrize(("rule", "n_low"), [("sublasso", 60), ("two-stage", N_UNITS)])
def test_private_sublasso__chooses_what_most_groups_would(rule, n_low):
    """Twenty groups of twenty rows each."""
    options = PRIVATE | {"rule": rule, "n_low": n_low}
    chosen, event = private_sublasso(X, Y, noise=BenchmarkNoise(1), **options)
    assert sorted(chosen.tolist()) == CAUSAL
    assert chosen.dtype == np.int64
    assert (event.epsilon, event.family) == (50, "choice")
    assert event.sensitivity == Sensitivity(1.0, "linf", "add-remove", "person", "votes/1")


def test_choose_by_votes__is_the_same_without_noise():
    private, _ = private_sublasso(X, Y, noise=BenchmarkNoise(1), **PRIVATE | {"epsilon": 1e6})
    chosen = choose_by_votes(X, Y, **TERMS, unit_keys=NAMES)
    # All groups vote for all of them: which of these comes first is chance.
    assert sorted(chosen.tolist()) == sorted(private.tolist()) == CAUSAL


def test_private_sublasso__noise_drowns_votes_at_a_small_budget():
    chosen = [
        private_sublasso(X, Y, noise=BenchmarkNoise(1, i), **PRIVATE | {"epsilon": 1e-3})[0].tolist()
        for i in range(20)
    ]
    assert np.mean([sorted(one) == CAUSAL for one in chosen]) < 0.2


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"unit_keys": None}, "`unit_keys` must be the units' own names under add-remove, got none"),
        ({"rows_per_unit": 3}, "must be of whole units of 3 with a key each. Pass all rows and keys."),
        ({"rows_per_unit": 0}, "`rows_per_unit` must be at least 1, got 0"),
        ({"rule": "all"}, "`rule` must be one of sublasso, two-stage, got all"),
        ({"n_low": np.nan}, "`n_low` must be a finite number of units, got nan"),
        ({"protection": "label"}, "must be replace-one under label protection"),
        ({"epsilon": 0.0}, "0"),
    ],
)
def test_private_sublasso__raise_on_terms(terms, message):
    with pytest.raises(UsageError, match=message) as error:
        private_sublasso(X, Y, noise=BenchmarkNoise(1), **PRIVATE | terms)
    assert str(N_UNITS) not in str(error.value)


# Releases.


def choose_after_count(noise):
    """Choose in as many groups as a noisy count allows: what is voted on hangs on noise drawn before."""
    count = Sensitivity(1.0, "l1", "add-remove", "person", "count/1")
    options = {"name": "count", "step": 1.0, "sensitivity": count, "epsilon": 0.5}
    noisy, _ = noise.laplace(np.int64(N_UNITS), **options)
    return private_sublasso(X, Y, noise=noise, **PRIVATE | {"n_low": float(noisy)})[0].tolist()


def test_private_sublasso__releases_draw_it_after_a_noisy_count_on_named_data():
    made_of = data_digest(X, Y, np.array(NAMES))
    rehearsal = Rehearsal()
    choose_after_count(rehearsal.on(made_of))

    def source():
        return ReleaseNoise(StudyKey(bytes(32)), draws=rehearsal.draws, requests={(): ("r1", "i1")})

    first, again = (choose_after_count(source().on(made_of)) for _ in range(2))
    assert sorted(first) == CAUSAL
    assert first == again
    with refused("noise-not-reserved"):
        choose_after_count(source())
