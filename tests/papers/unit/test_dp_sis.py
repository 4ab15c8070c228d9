"""DP-SIS: scores by their definition, the claim by all small inputs, and what the paper's scaling does."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpgrs.errors import UsageError
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.privacy.noise.canonical_lipschitz import seeded_set
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal
from dpgrs_papers.selection.dp_sis import (
    PAPER_STEP,
    SisRequest,
    SisScores,
    genotype_sis_scores,
    paper_sis,
    paper_sis_scores,
    private_sis,
    table_sis_scores,
)
from dpgrs_papers.selection.sensitivity import sis_sensitivity
from dpgrs_papers.selection.top_k import top_k
from dpgrs_papers.types import Scaling
from kendall_pairs import packed
from refused import refused
from row_enumeration import RELATIONS, UNIT_OF_A_ROW

BOUND = 2.0
LEVELS = (-50.0, -1.0, 0.0, 2.0, np.nan)
GENOTYPES = {"haplotypes": (0, 1), "people": (0, 1, 2), "table": (-3.0, 0.0, 0.5, 1.0, np.nan)}
ENTRY_BOUNDS = {"haplotypes": 0.5, "people": 1.0, "table": 1.0}
RNG = np.random.default_rng(0)
kinds = pytest.mark.parametrize("kind", list(GENOTYPES))


def scores_of(X, Y, kind):
    """Score all features (n_features, n_rows) for all outcomes (n_outcomes, n_rows), in real units."""
    if kind == "table":
        scores = table_sis_scores(X.T, Y, column_bounds=1.0, outcome_bound=BOUND)
    else:
        bits, options = packed(X, kind)
        scores = genotype_sis_scores(bits, Y, **options, outcome_bound=BOUND)
    assert scores.entry_bound == ENTRY_BOUNDS[kind]
    return scores.values * scores.step


def by_definition(X, Y, kind):
    coded = np.nan_to_num(np.clip(X, -1, 1)) if kind == "table" else X - ENTRY_BOUNDS[kind]
    return np.abs(np.nan_to_num(np.clip(Y, -BOUND, BOUND)) @ coded.T)


@kinds
def test_scores__equal_the_definition(kind):
    """All numbers lie on the grids, so the sums are equal to the last bit."""
    X = RNG.choice(GENOTYPES[kind], (30, 50))
    Y = RNG.choice([*LEVELS, 0.25], (3, 50))
    np.testing.assert_array_equal(scores_of(X, Y, kind), by_definition(X, Y, kind))


def test_scores__of_selected_rows_and_one_outcome():
    bits, options = packed(RNG.integers(0, 2, (4, 20)), "haplotypes")
    keep, Y = RNG.random(20) < 0.5, RNG.standard_normal((2, 20))
    some = genotype_sis_scores(bits, Y, **options, outcome_bound=BOUND, is_selected=keep)
    assert keep.any()
    missing = genotype_sis_scores(bits, np.where(keep, Y, np.nan), **options, outcome_bound=BOUND)
    np.testing.assert_array_equal(some.values, missing.values)
    assert some.of_outcome(1).values.tolist() == some.values[1].tolist()


def test_table_sis_scores__are_in_units_of_each_bound():
    X, y = RNG.standard_normal((40, 3)), RNG.standard_normal((1, 40))
    one = table_sis_scores(X, y, column_bounds=np.array([4.0, 4.0, 0.5]), outcome_bound=3.0)
    entries = np.clip(X / [4, 4, 0.5], -1, 1)
    np.testing.assert_allclose(one.values * one.step, np.abs(y @ entries), rtol=0, atol=40 * 3 * 2**-14)


def test_table_sis_scores__are_exact_sums_of_entries_cut_to_their_grids():
    X, y = RNG.uniform(-1.2, 1.2, (40, 3)), RNG.uniform(-2.5, 2.5, (1, 40))
    scores = table_sis_scores(X, y, column_bounds=1.0, outcome_bound=BOUND)
    outcomes = grid_outcomes(y, bound=BOUND)[0].tolist()
    entries = [[int(min(max(x, -1), 1) * 2**15) for x in column] for column in X.T]
    expected = [abs(sum(a * b for a, b in zip(own, outcomes, strict=True))) for own in entries]
    assert scores.values.tolist() == [expected]


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan, np.inf, np.array([1.0, 0.0])])
def test_table_sis_scores__raise_on_bounds(bound):
    with refused("column-bounds-not-positive", "`column_bounds`", error=UsageError):
        table_sis_scores(np.ones((3, 2)), np.ones((1, 3)), column_bounds=bound, outcome_bound=3.0)


def test_table_sis_scores__raise_where_sums_are_not_exact():
    with refused("too-many-rows", "4194", error=UsageError):
        table_sis_scores(np.ones((4195, 1)), np.ones((1, 4195)), column_bounds=1.0, outcome_bound=1000.0)
    y = np.full((1, 4194), 1000.0)
    largest = table_sis_scores(np.ones((4194, 1)), y, column_bounds=1.0, outcome_bound=1000.0)
    assert largest.values * largest.step == 4_194_000


# The claim


def worst_changes(kind, n_rows, n_last=1):
    """Return how far the last rows move a score if they are added, replaced, or replaced in x or y alone."""

    def all_scores(n):
        X, Y = (np.array(list(itertools.product(v, repeat=n))) for v in (GENOTYPES[kind], LEVELS))
        return scores_of(X, Y, kind)

    b, a = len(GENOTYPES[kind]) ** n_last, len(LEVELS) ** n_last
    after = all_scores(n_rows).reshape(len(LEVELS) ** (n_rows - n_last), a, -1, b)
    before = all_scores(n_rows - n_last) if n_rows > n_last else np.zeros((1, 1))
    return {
        "add-remove": np.abs(after - before.reshape(len(after), 1, -1, 1)).max(),
        "replace-one": np.ptp(after, axis=(1, 3)).max(),
        "feature": np.ptp(after, axis=3).max(),
        "label": np.ptp(after, axis=1).max(),
    }


def claims(kind, *, unit=None, outcome_bound=BOUND):
    rows = "people" if kind == "table" else kind
    options = {
        "rows": rows,
        "unit": unit or UNIT_OF_A_ROW[rows],
        "entry_bound": ENTRY_BOUNDS[kind],
        "outcome_bound": outcome_bound,
    }
    full = {name: sis_sensitivity(neighbours=name, **options).value for name in RELATIONS}
    relaxed = {
        name: sis_sensitivity(neighbours="replace-one", protection=name, **options).value
        for name in ("feature", "label")
    }
    return full | relaxed


@kinds
@pytest.mark.parametrize("n_rows", [2, 3])
def test_sis_sensitivity__is_attained(kind, n_rows):
    assert worst_changes(kind, n_rows) == claims(kind)


def test_sis_sensitivity__of_a_person_with_two_haplotype_rows_is_attained():
    claimed = claims("haplotypes", unit="person")
    assert claimed == {name: 2 * value for name, value in claims("haplotypes").items()}
    assert worst_changes("haplotypes", 4, n_last=2) == claimed


@settings(deadline=None, derandomize=True, max_examples=60)
@given(data=st.data(), n_rows=st.integers(1, 60), bound=st.floats(0.01, 900))
def test_sis_sensitivity__holds_for_more_rows_and_any_bounds(data, n_rows, bound):
    """Two last rows, of which the first data set has one, the second the other, and the third neither."""
    X = data.draw(hnp.arrays(float, (n_rows + 2, 2), elements=st.floats(-5, 5)))
    y = data.draw(hnp.arrays(float, (1, n_rows + 2), elements=st.floats(-1e3, 1e3)))
    column_bounds = data.draw(hnp.arrays(float, 2, elements=st.floats(0.1, 4)))
    options = {"column_bounds": column_bounds, "outcome_bound": bound}
    scores = [
        table_sis_scores(np.delete(X, last, axis=0), np.delete(y, last, axis=1), **options)
        for last in (-1, -2, [-1, -2])
    ]
    first, second, neither = (each.values * each.step for each in scores)
    claimed = claims("table", outcome_bound=bound)
    assert np.abs(first - neither).max() <= claimed["add-remove"]
    assert np.abs(first - second).max() <= claimed["replace-one"]


def test_sis_sensitivity__terms(repository):
    options = {"rows": "people", "unit": "person", "entry_bound": 1.0}
    claim = sis_sensitivity(neighbours="add-remove", outcome_bound=0.1, **options)
    assert (claim.value, claim.norm) == (0.1, "linf")
    assert (repository / claim.proof).is_file()
    with refused("neighbours-not-replace-one", error=UsageError):
        sis_sensitivity(neighbours="add-remove", protection="label", outcome_bound=1.0, **options)
    with refused("not-positive", "`outcome_bound`", "got 0", error=UsageError):
        sis_sensitivity(neighbours="add-remove", outcome_bound=0.0, **options)


# The choice


def test_private_sis__charges_the_claim_of_the_scores_and_finds_the_best():
    X = np.sign(RNG.standard_normal((2000, 30)))
    y = (X[:, [3, 17, 21]].sum(axis=1) / 3)[np.newaxis]
    scores = table_sis_scores(X, y, column_bounds=1.0, outcome_bound=1.0).of_outcome(0)
    request = SisRequest(epsilon=2.0, n_choices=3, neighbours="replace-one")
    chosen, event = private_sis(scores, request=request, noise=BenchmarkNoise(1))
    assert chosen.tolist() == sorted(top_k(scores.values, 3).tolist()) == [3, 17, 21]
    assert (event.family, event.sensitivity.value, event.epsilon, event.n_choices) == ("subset", 2.0, 2.0, 3)
    assert event.sensitivity.neighbours == "replace-one"
    assert event.cost.pure_epsilon == 2


@pytest.mark.parametrize("gamma", [0.0, 0.25])
def test_private_sis__is_drawn_named_and_claimed_as_requested(gamma):
    """A person of two haplotype rows moves a score by twice what one row does."""
    scores = SisScores(np.arange(10), 2.0**-17, 0.5, 3.0, "haplotypes")
    for unit, sensitivity in (("haplotype", 1.5), ("person", 3.0)):
        request = SisRequest(epsilon=1.0, n_choices=2, gamma=gamma, unit=unit)
        _, event = private_sis(scores, request=request, noise=Rehearsal(), name="products")
        assert (event.gamma, event.statistic, event.family) == (gamma, "products", request.family)
        assert (request.epsilon_of_choices, event.sensitivity.value) == (event.epsilon, sensitivity)
    with refused("neighbours-not-replace-one", error=UsageError):
        private_sis(scores, request=replace(request, protection="label"), noise=Rehearsal())


# The paper centres and scales by the data's own mean and maximum and says that the sensitivity is 1.


def outlier():
    """Return 101 rows of which the last stands out; without it the feature is the outcome."""
    X = np.append(np.tile([1.0, -1.0], 50), 99.0)[:, np.newaxis]
    return X, np.append(X[:-1, 0], 0.0)


def test_paper_scores__one_record_moves_them_by_more_than_one():
    X, y = outlier()
    with_it, without = paper_sis_scores(X, y)[0], paper_sis_scores(X[:-1], y[:-1])[0]
    assert without == 100.0
    assert with_it < 2
    public = [
        table_sis_scores(X[rows], y[np.newaxis, rows], column_bounds=1.0, outcome_bound=1.0)
        for rows in (slice(None), slice(-1))
    ]
    first, second = (each.values[0, 0] * each.step for each in public)
    assert abs(first - second) <= 1


def test_paper_scores__centre_and_scale_each_column_by_itself():
    X = np.array([[0.0, 10.0], [0.25, 30.0], [0.5, 20.0]])
    # Less their means and over the largest: -1, 0, 1 and -1, 1, 0, and -2/3, -1/3, 1 of the outcome.
    assert paper_sis_scores(X, [1.0, 2.0, 6.0]).tolist() == pytest.approx([5 / 3, 1 / 3])


def test_paper_scores__of_a_constant_column_are_zero():
    assert paper_sis_scores(np.ones((5, 2)), np.arange(5)).tolist() == [0, 0]


def test_paper_sis__is_not_private_and_is_drawn_in_benchmarks_alone():
    X = np.sign(RNG.standard_normal((500, 20)))
    y = X[:, 4] + X[:, 11]
    request = SisRequest(epsilon=5.0, n_choices=2)
    choice = paper_sis(X, y, request=request, noise=BenchmarkNoise(1))
    assert choice.chosen.tolist() == [4, 11]
    assert (choice.status, choice.scaling) == ("not private", Scaling.PAPER)
    assert not hasattr(choice, "event")
    with refused("benchmark-noise-only", error=UsageError):
        paper_sis(X, y, request=request, noise=Rehearsal())
    one = paper_sis(X, y + X[:, 4], request=replace(request, n_choices=1), noise=BenchmarkNoise(1))
    assert one.chosen.tolist() == [4]
    everything = replace(request, n_choices=20)
    assert paper_sis(X, y, request=everything, noise=BenchmarkNoise(1)).chosen.tolist() == [*range(20)]
    for n_choices in (0, 21):
        with refused("number-of-choices", "`n_choices`", n_choices, error=UsageError):
            paper_sis(X, y, request=replace(request, n_choices=n_choices), noise=BenchmarkNoise(1))


def test_paper_sis__noise_drowns_scores_at_a_small_budget():
    X, request = np.sign(RNG.standard_normal((500, 20))), SisRequest(epsilon=1e-3, n_choices=2)
    drawn = [paper_sis(X, X[:, 4], request=request, noise=BenchmarkNoise(i)).chosen for i in range(10)]
    assert len({tuple(chosen) for chosen in drawn}) > 5


def test_paper_sis__draws_by_the_paper_s_sensitivity_of_1(monkeypatch):
    """In units of the grid of its scores; each request from a stream of its own."""
    seen = []

    def spy(generator, scores, **terms):
        seen.append((generator.random(), terms))
        return seeded_set(generator, scores, **terms)

    monkeypatch.setattr("dpgrs_papers.selection.dp_sis.seeded_set", spy)
    X = np.sign(RNG.standard_normal((50, 6)))
    first = SisRequest(epsilon=5.0, n_choices=2)
    changes = ({}, {}, {"epsilon": 4.0}, {"n_choices": 3}, {"gamma": 0.25})
    for change in changes:
        paper_sis(X, X[:, 1], request=replace(first, **change), noise=BenchmarkNoise(1))
    assert {terms["sensitivity"] for _, terms in seen} == {1 / Fraction(PAPER_STEP)}
    (one, _), (again, _), *others = seen
    assert one == again
    assert len({one, *(draw for draw, _ in others)}) == 4
