"""SubLasso and two-stage: which rows a group's Lasso is given, how many groups there are, what is charged.

A Lasso that notes what it is given takes the place of the real one.
"""

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs_papers.selection import sublasso
from dpgrs_papers.selection.lasso import STANDARD, LassoTerms
from dpgrs_papers.selection.sublasso import (
    VotesRequest,
    assign_groups,
    choose_by_votes,
    count_votes,
    group_votes,
    private_sublasso,
)
from dpgrs_papers.selection.votes import TwoStage
from dpgrs_papers.types import LassoScaling
from refused import refused
from screening_cohorts import voting_cohort

N_UNITS, D = 100, 7
NAMES = [f"sample {i}" for i in range(N_UNITS)]
TERMS = {"k": 3, "rule": "two-stage", "seed": 1}
every_unit = pytest.mark.parametrize("rows_per_unit", [1, 2])


@pytest.fixture
def fits(monkeypatch):
    """What the Lasso is given: rows of X and of y."""
    noted = []

    def note(X, y, **terms):
        noted.append((X, y))
        return np.zeros(X.shape[1])

    monkeypatch.setattr(sublasso, "lasso_coefficients", note)
    return noted


def numbered_rows(rows_per_unit):
    """Return X and y of which every entry is the number of its row."""
    y = np.arange(float(N_UNITS * rows_per_unit))
    return np.tile(y[:, np.newaxis], D), y


@every_unit
@pytest.mark.parametrize("names", [NAMES, None])
def test_count_votes__a_group_has_all_rows_of_its_units_in_an_order_of_their_own(fits, names, rows_per_unit):
    """By name, or by place where there are no names: not as others of the table have it."""
    X, y = numbered_rows(rows_per_unit)
    options = {"k": 3, "n_groups": 4, "seed": 1, "rows_per_unit": rows_per_unit}
    count_votes(X, y, names, **options)
    groups = assign_groups(names or [str(i) for i in range(N_UNITS)], n_groups=4, seed=1)
    for group, (own_X, own_y) in enumerate(fits):
        units = sorted(np.flatnonzero(groups == group), key=lambda unit: NAMES[unit] if names else unit)
        expected = [unit * rows_per_unit + row for unit in units for row in range(rows_per_unit)]
        assert own_y.tolist() == expected
        assert (own_X == own_y[:, np.newaxis]).all()
    assert len(fits) == 4


def test_count_votes__without_units_are_of_groups_without_rows(fits):
    X, y = numbered_rows(1)
    options = {"k": 3, "n_groups": 4, "seed": 1, "rows_per_unit": 1}
    assert count_votes(X[:0], y[:0], [], **options).sum() == 12
    assert [own.size for own, _ in fits] == [0] * 4


def test_group_votes__are_for_the_largest_absolute_coefficients_or_all_that_are_not_0(monkeypatch):
    """Whatever the order in which a group has the features; of equal ones the first in it."""
    size = np.array([0.0, -5.0, 0.0, 2.0, -3.0, 0.0, 1.0])
    monkeypatch.setattr(sublasso, "lasso_coefficients", lambda X, y, **terms: size[X[0].astype(int)])
    X, groups = np.tile(np.arange(D), (N_UNITS, 1)), np.arange(N_UNITS) % 5
    votes = group_votes(X, np.zeros(N_UNITS), groups, n_groups=5, k=3)
    assert votes.tolist() == [0, 5, 0, 5, 5, 0, 0]
    kept = group_votes(X, np.zeros(N_UNITS), groups, n_groups=5, k=1, ballot="support")
    assert kept.tolist() == [0, 5, 0, 5, 5, 0, 5]
    *all_but_two, last, one_more = group_votes(X, np.zeros(N_UNITS), groups, n_groups=5, k=5).tolist()
    assert (all_but_two[1], all_but_two[3], all_but_two[4], one_more) == (5, 5, 5, 5)
    # One of three that are 0, by each group.
    assert all_but_two[0] + all_but_two[2] + last == 5


@pytest.mark.parametrize(("lasso", "first"), [(STANDARD, 0), (LassoTerms(1e-5, LassoScaling.RAW), 1)])
def test_group_votes__the_unit_of_a_column_decides_in_a_raw_lasso(lasso, first):
    """In units of a thousandth the largest coefficient is that of the column that counts less."""
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((200, 4)) * [1, 1e-3, 1, 1], np.arange(200) % 4
    y = X @ [2.0, 1000.0, 0, 0]
    assert group_votes(X, y, groups, n_groups=4, k=1, lasso=lasso).tolist() == [
        4 * (j == first) for j in range(4)
    ]


@every_unit
def test_choices__have_groups_by_the_number_of_rows(fits, rows_per_unit):
    X, y = numbered_rows(rows_per_unit)
    terms = TERMS | {"unit_keys": NAMES, "rows_per_unit": rows_per_unit}
    n_groups = {1: 10, 2: 14}[rows_per_unit]  # the root of 100, and of 200
    choose_by_votes(X, y, **terms)
    assert len(fits) == n_groups
    private_sublasso(X, y, **terms, epsilon=1.0, n_low=N_UNITS, noise=BenchmarkNoise(1))
    assert len(fits) == 2 * n_groups


@pytest.mark.parametrize(
    ("terms", "value"),
    [
        ({"neighbours": "add-remove"}, 1.0),
        ({"neighbours": "replace-one"}, 2.0),
        ({"neighbours": "replace-one", "unit_keys": None}, 1.0),
        ({"neighbours": "replace-one", "protection": "label"}, 1.0),
    ],
)
@pytest.mark.parametrize("unit", ["haplotype", "person"])
def test_private_sublasso__is_charged_by_what_a_unit_changes(fits, terms, value, unit):
    X, y = numbered_rows(1)
    options = TERMS | {"unit_keys": NAMES, "epsilon": 1.0, "n_low": N_UNITS, "unit": unit} | terms
    _, event = private_sublasso(X, y, noise=BenchmarkNoise(1), **options)
    claim = event.sensitivity
    assert (claim.value, claim.neighbours, claim.unit) == (value, terms["neighbours"], unit)
    assert event.statistic == "votes of two-stage"


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"k": D + 1}, "`k` must be between 1 and the 7 features, got 8"),
        ({"unit_keys": NAMES[1:]}, "must be of whole units of 1 with a key each"),
    ],
)
def test_choices__raise_on_terms_before_any_fit(fits, terms, message):
    X, y = numbered_rows(1)
    terms = TERMS | {"unit_keys": NAMES} | terms
    with pytest.raises(UsageError, match=message):
        choose_by_votes(X, y, **terms)
    with pytest.raises(UsageError, match=message):
        private_sublasso(X, y, **terms, epsilon=1.0, n_low=N_UNITS, noise=BenchmarkNoise(1))
    assert fits == []


# Of a study.


def ask(rows, unit, **terms):
    relation = {"rows": rows, "neighbours": "add-remove", "unit": unit}
    own = {"n_choices": 2, "rule": "two-stage", "epsilon": 0.5, "count_epsilon": 0.25}
    return VotesRequest(**own | relation | terms)


@pytest.mark.parametrize(
    ("rows", "unit", "rows_per_unit"),
    [("haplotypes", "person", 2), ("haplotypes", "haplotype", 1), ("people", "person", 1)],
)
@pytest.mark.parametrize("protection", ["full", "label"])
def test_two_stage__asks_for_what_the_study_does(fits, rows, unit, rows_per_unit, protection):
    data = voting_cohort(rows)
    assert ask(rows, unit).rows_per_unit == rows_per_unit
    options = {"noise": BenchmarkNoise(1), "outcome_bound": 3.0}
    relation = {"neighbours": "replace-one", "protection": protection, "count_epsilon": 0.0}
    private = TwoStage().choose
    chosen, event = private(data, 1, request=ask(rows, unit, **relation), **options)
    assert (len(chosen), event.n_choices, event.epsilon) == (2, 2, 0.5)
    assert (event.sensitivity.neighbours, event.sensitivity.unit) == ("replace-one", unit)
    assert event.sensitivity.value == {"full": 2.0, "label": 1.0}[protection]
    n_rows = data.is_training.sum()
    assert len(fits) == int(np.sqrt(n_rows))
    # All rows of a unit are in one group.
    groups = [set(own) for _, own in fits]
    assert sum(map(len, groups)) == n_rows
    y = data.Y[1, data.is_training]
    for first in range(0, n_rows, rows_per_unit):
        assert any(set(y[first : first + rows_per_unit]) <= group for group in groups)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_two_stage__without_noise_has_groups_of_people(fits, rows):
    data = voting_cohort(rows)
    chosen = TwoStage().choose_exactly(data, 1, n_choices=2, outcome_bound=3.0)
    assert len(chosen) == 2
    n_rows, per_person = data.is_training.sum(), {"haplotypes": 2, "people": 1}[rows]
    assert len(fits) == int(np.sqrt(n_rows))
    y, groups = data.Y[1, data.is_training], [set(own) for _, own in fits]
    for first in range(0, n_rows, per_person):
        assert any(set(y[first : first + per_person]) <= group for group in groups)


def test_two_stage__without_noise_has_the_groups_of_its_private_twin(fits):
    data, terms = voting_cohort("people"), {"outcome_bound": 3.0}
    TwoStage().choose_exactly(data, 1, n_choices=2, **terms)
    request = ask("people", "person", neighbours="replace-one", count_epsilon=0.0)
    TwoStage().choose(data, 1, request=request, noise=BenchmarkNoise(1), **terms)
    outcomes = [own.tolist() for _, own in fits]
    half = len(outcomes) // 2
    assert outcomes[:half] == outcomes[half:]


def test_two_stage__has_groups_by_the_noisy_count_where_it_is_private(fits):
    """Lowered by a margin that is more than all people at a small budget."""
    data, request = voting_cohort("people"), ask("people", "person", count_epsilon=0.01)
    options = {"request": request, "noise": BenchmarkNoise(1), "outcome_bound": 3.0}
    _, count, choice = TwoStage().choose(data, 0, **options)
    assert len(fits) == 1
    assert (count.epsilon, count.sensitivity.value, count.statistic) == (0.01, 1.0, "count of units")
    assert (choice.epsilon, choice.sensitivity.value) == (0.5, 1.0)


def test_two_stage__raise_where_a_private_count_has_no_budget(fits):
    options = {"request": ask("people", "person", count_epsilon=0.0), "noise": BenchmarkNoise(1)}
    with refused("share-not-positive", error=UsageError):
        TwoStage().choose(voting_cohort("people"), 0, outcome_bound=3.0, **options)
    assert fits == []
