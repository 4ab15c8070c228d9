"""Replicates of DP-SIS against two-stage: data, truth, what is measured, and what counts as reproduced."""

import math

import numpy as np
import pandas as pd
import pytest

from dpgrs.public_random import generator
from dpgrs_papers.experiments import dp_sis, dp_sis_replicate, dp_sis_table1
from dpgrs_papers.experiments.dp_sis_replicate import KNOWN, PAPER, PUBLIC, SYNTHETIC, VOTING
from dpgrs_papers.experiments.frame import Verdict
from dpgrs_papers.experiments.plots import styled
from experiment_runs import rows_of_replicate

SETTINGS = {"seed": 1, "epsilons": [0.1, 400.0], "k_of_sets": 10}
RNG = np.random.default_rng(0)


@pytest.fixture
def sorlie(tmp_path):
    """A made-up set in the form of the real ones: features 3 and 8 tell the classes, in no order of names."""
    classes, y = np.array(["c", "a", "b"]), np.arange(60) % 3
    X = RNG.standard_normal((60, 30)).astype(np.float32) / 2
    rank = np.array([2, 0, 1])[y]
    X[:, 3] += rank
    X[:, 8] -= rank
    np.savez(tmp_path / "sorlie.npz", X=X, y=y.astype(np.int16), classes=classes)
    return tmp_path / "sorlie.npz"


def test_load__codes_are_in_the_order_of_names(sorlie):
    assert dp_sis_replicate.load("sorlie", [sorlie]).y[:3].tolist() == [2, 0, 1]


def test_synthetic__eight_features_make_the_outcome_and_replicates_differ():
    first, again, other = (
        dp_sis_replicate.load(SYNTHETIC, [], seed=1, replicate=replicate) for replicate in (1, 1, 2)
    )
    assert first.X.shape == (100, 2000)
    assert np.count_nonzero(first.weights) == 8
    assert np.abs(first.weights[first.weights != 0]).min() >= 4 * math.log(100) / 10
    assert np.std(first.y - first.X @ first.weights) == pytest.approx(math.sqrt(1.5), rel=0.4)
    np.testing.assert_array_equal(first.y, again.y)
    assert (first.y != other.y).all()
    # Its outcome is within the public bound, all but always.
    many = [dp_sis_replicate.synthetic(generator(2, replicate)).y for replicate in range(30)]
    assert np.mean(np.abs(many) > dp_sis_replicate.LARGEST_SYNTHETIC) < 0.05


def test_public_scores__hang_on_no_other_row(sorlie):
    """One row more moves every score by at most the sensitivity, also where the row is far out."""
    data = dp_sis_replicate.load("sorlie", [sorlie])
    far = data._replace(X=np.vstack([data.X, np.full(30, 1e6)]), y=np.append(data.y, 2))
    scores, moved = (dp_sis_replicate.public_scores("sorlie", one) for one in (data, far))
    assert scores.outcome_bound == moved.outcome_bound == 1.0
    moves = np.abs(moved.values - scores.values) * scores.step
    assert moves.max() <= scores.entry_bound * scores.outcome_bound
    assert moves.max() > 0.9


def test_known_scores__choose_by_correlation_where_nothing_is_clipped(sorlie):
    data = dp_sis_replicate.load("sorlie", [sorlie])
    assert set(np.argsort(dp_sis_replicate.known_scores(data).values)[-2:]) == {3, 8}


def test_run_replicate__without_noise_and_with_much_privacy(sorlie):
    rows = pd.DataFrame(dp_sis_replicate.run_replicate("sorlie", 1, SETTINGS, [sorlie]))
    assert rows.groupby("method")["k"].unique().map(list).to_dict() == {
        **{method: [5, 3, 10] for method in (PUBLIC, KNOWN, PAPER)},
        **{method: [5, 3] for method in VOTING},
    }
    found = rows.set_index(["method", "k", "epsilon"]).sort_index()
    for method in (PUBLIC, KNOWN, PAPER):
        assert found.loc[(method, 3, math.inf), ["top", "great", "good"]].tolist() == [1, 1, 1]
        # The same scores, nearly without noise.
        assert found.loc[(method, 3, 400.0), "found_max"] == found.loc[(method, 3, math.inf), "found_max"]
    # Both that tell the classes are found, and count as two of three.
    assert (found.xs((3, math.inf), level=("k", "epsilon"))["found_max"] >= 2 / 3 - 1e-9).all()
    again = pd.DataFrame(dp_sis_replicate.run_replicate("sorlie", 1, SETTINGS, [sorlie]))
    pd.testing.assert_frame_equal(rows, again)


def test_found__a_coefficient_of_0_is_no_truth():
    size = np.array([0.0, 3.0, 0.0, 2.0])
    found = dp_sis_replicate._shares_found(np.array([0, 1, 2]), {"max": size}, 3)
    assert found == {"found_max": 1 / 3}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (range(10), (1, 1, 1)),
        ([*range(9), 10], (0, 1, 1)),
        ([*range(9), 11], (0, 0, 1)),
        ([*range(1, 10), 10], (0, 0, 0)),
        ([*range(9), 15], (0, 0, 0)),
    ],
)
def test_closeness__top_great_and_good_of_ten(chosen, expected):
    found = dp_sis_replicate._closeness(np.array(chosen), -np.arange(30), 10)
    assert tuple(found.values()) == expected


def table_of(leads):
    """Make a table in which the paper's DP-SIS finds as much more than two-stage as told, by part."""
    rows = []
    for part, lead in leads.items():
        for method in (PAPER, PUBLIC, KNOWN, *VOTING):
            for place, k in enumerate(
                (*dp_sis_replicate.sizes_of(part, 500), *(10,) * (method not in VOTING))
            ):
                end = dp_sis.TOPS.get((part, place), 0.5)
                for epsilon in (1.0, 12.0, 20.0, math.inf):
                    found = end if method == PAPER else end - lead
                    sets = dict.fromkeys(("top", "great", "good"), 0.5)
                    truth = {f"found_{dp_sis.truth_of(part)}": found}
                    terms = {"part": part, "method": method, "k": k, "epsilon": epsilon}
                    rows += [terms | {"replicate": replicate} | truth | sets for replicate in (1, 2)]
    return dp_sis.summarise(pd.DataFrame(rows), SETTINGS)


@pytest.mark.parametrize(
    ("leads", "verdict", "said"),
    [
        ({"sorlie": 0.2, SYNTHETIC: 0.1}, Verdict.REPRODUCED, "nowhere behind"),
        (
            {"sorlie": 0.0, SYNTHETIC: 0.1},
            Verdict.WITH_DIFFERENCE,
            "larger epsilon (sorlie, k = 5: inf for 1;",
        ),
        ({"sorlie": 0.2, "west": -0.1}, Verdict.WITH_DIFFERENCE, "behind two-stage on west, k = 5"),
    ],
)
def test_judge__by_what_the_paper_says(leads, verdict, said):
    table = table_of(leads)
    found, reason = dp_sis.judge(table, SETTINGS)
    assert found == verdict
    assert said in reason
    assert "not private as claimed" in reason
    numbers = dp_sis.compare(table, SETTINGS)
    assert len(numbers) == 2 * len(leads)
    with styled():
        assert set(dp_sis.draw(table, SETTINGS)) == {"accuracy", "lead", "sets"}


def test_judge__of_curves_that_end_elsewhere():
    table = table_of({"sorlie": 0.2})
    verdict, reason = dp_sis.judge(table.assign(found=table["found"] - 0.1), SETTINGS)
    assert verdict == Verdict.WITH_DIFFERENCE
    assert "(sorlie, k = 5: 0.30 for 0.4; sorlie, k = 6: 0.25 for 0.35)" in reason


def test_clearly_ahead__at_two_epsilons_that_follow_each_other():
    table = table_of({"sorlie": 0.2})
    assert dp_sis.clearly_ahead(table, "sorlie", 5) == 1
    for behind, expected in (([12.0], 20.0), ([1.0], 12.0), ([20.0], 1.0), ([12.0, 20.0], math.inf)):
        is_moved = (table["method"] == PAPER) & table["epsilon"].isin(behind)
        moved = table.assign(found=table["found"] - 0.3 * is_moved)
        assert dp_sis.clearly_ahead(moved, "sorlie", 5) == expected


def test_orders__of_classes_leave_out_those_that_are_turned_round():
    assert list(dp_sis_table1.orders(2)) == [(0, 1)]
    assert len(list(dp_sis_table1.orders(4))) == 12


def test_table_1__of_a_made_up_set(sorlie):
    settings = {"most_orders": 12}
    rows = rows_of_replicate(dp_sis_table1, "sorlie", settings, files=[sorlie])
    assert len(rows) == 3 * 9
    # Features 3 and 8 are classes in the order of names.
    best = rows.sort_values("r2").groupby(["X", "y"]).last()["order"]
    assert best["sd", "sd"] == "names"
    table = dp_sis_table1.summarise(rows, settings)
    assert dp_sis_table1.judge(table, settings)[0] == Verdict.NOT_HERE
    exact = table.assign(paper=table["r2"])
    assert dp_sis_table1.judge(exact, settings)[0] == Verdict.REPRODUCED
    assert dp_sis_table1.compare(table, settings)["R² of the paper"].tolist() == ["0.9300"]
