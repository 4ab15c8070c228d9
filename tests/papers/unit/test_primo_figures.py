"""PRIMO's figures on haplotypes: what is kept of the replicates, and what counts as reproduced."""

import math

import numpy as np
import pandas as pd
import pytest
import yaml

from dpgrs.study.settings import resolve
from dpgrs_papers.experiments import (
    primo_ablations,
    primo_fig2,
    primo_fig4,
    primo_fig5,
    primo_path,
    primo_sgd,
    sgd_settings,
)
from dpgrs_papers.experiments.frame import Verdict
from dpgrs_papers.experiments.plots import styled
from dpgrs_papers.experiments.primo_fits import FIXED, FIXED_PENALTY, OWN, PATH, PEEKED, TERMS, best_of_path
from dpgrs_papers.experiments.primo_haplotypes import BOUNDS
from dpgrs_papers.experiments.primo_tables import label
from study_runs import REPOSITORY

GAUSS, PROJECTED = ("paper", "reusecov-gauss", "full"), ("paper", "reusecov-proj", "feature")
RIDGE, SGD = ("none", "ridge", "none"), ("ours", "dp-sgd", "full")
COUNTS = (1, 10, 100)


def rows_of(lines, *, part="linear", size=9):
    """Make rows of one replicate of (line, which, penalty) to R^2 by the number of outcomes."""
    rows = []
    for ((terms, method, protection), which, penalty), found in lines.items():
        own = {"part": part, "replicate": 1, "terms": terms, "method": method, "protection": protection}
        own |= {"which": which, "penalty": penalty, "n_variants": size}
        own["epsilon"] = math.nan if protection == "none" else 5.0
        for count, r2 in zip(COUNTS, found, strict=True):
            rows.append(own | {"n_outcomes": count, "r2": r2, "mse": 1 - r2})
    return pd.DataFrame(rows)


def lines_of(gauss, projected, *, at_fixed=((-1, -2, -9), (-1, -1, -2)), sgd=None):
    lines = {(RIDGE, PATH, 1.0): (0.5, 0.5, 0.5), (RIDGE, PATH, 0.1): (0.4, 0.4, 0.4)}
    for line, best, fixed in zip((GAUSS, PROJECTED), (gauss, projected), at_fixed, strict=True):
        lines |= {(line, PATH, 0.1): fixed, (line, PATH, 1.0): best}
    return lines if sgd is None else lines | {(SGD, OWN, math.nan): sgd}


def test_fig2__keeps_the_fixed_penalty_beside_the_best_and_none_of_ridge():
    table = primo_fig2.summarise(rows_of(lines_of((0.3, 0.2, 0.1), (0.2, 0.2, 0.2), sgd=(0.4, 0, 0))), {})
    r2 = table.set_index(["method", "which", "n_outcomes"])["r2"].sort_index()
    assert r2["reusecov-gauss", FIXED].to_list() == [-1, -2, -9]
    assert r2["reusecov-gauss", PEEKED].to_list() == [0.3, 0.2, 0.1]
    assert set(r2["ridge"].index.get_level_values("which")) == {PEEKED}
    numbers = primo_fig2.compare(table, {}).set_index("line")
    assert list(numbers) == ["l = 1", "l = 10", "l = 100"]
    assert numbers.loc[label(*GAUSS, FIXED)].to_list() == [-1, -2, -9]
    assert numbers.loc["DP-SGD"].to_list() == [0.4, 0, 0]
    with styled():
        assert set(primo_fig2.draw(table, {})) == {"whole", "zoomed"}


@pytest.mark.parametrize(
    ("at_fixed", "sgd", "verdict"),
    [
        # Of the paper: Gauss below 0, projection above it and DP-SGD behind both, at one penalty.
        (((0.3, 0.1, -9), (0.2, 0.2, 0.1)), (0.4, 0.1, -1), Verdict.REPRODUCED),
        (((0.3, 0.1, -9), (0.2, 0.2, -0.1)), (0.4, 0.1, -1), Verdict.WITH_DIFFERENCE),
        (((0.3, 0.1, 0.01), (0.2, 0.2, 0.1)), (0.4, 0.1, -1), Verdict.WITH_DIFFERENCE),
        (((0.3, 0.1, -9), (0.2, 0.2, 0.1)), (0.4, 0.4, -1), Verdict.WITH_DIFFERENCE),
    ],
)
def test_fig2__judge_by_both_penalties_and_dp_sgd(at_fixed, sgd, verdict):
    lines = lines_of((0.31, 0.15, 0.05), (0.25, 0.25, 0.22), at_fixed=at_fixed, sgd=sgd)
    found, reason = primo_fig2.judge(primo_fig2.summarise(rows_of(lines), {}), {})
    assert found == verdict
    assert "at the best lambda Gauss (full) goes from 0.31 to 0.05, feature projection from 0.25" in reason
    assert "above Gauss from l = 10 on; at the fixed one" in reason


@pytest.mark.parametrize(
    ("projected", "verdict"),
    [((0.3, 0.1, 0.0), Verdict.REPRODUCED), ((0.3, 0.1, 0.2), Verdict.WITH_DIFFERENCE)],
)
def test_fig4__judge_by_the_lead_of_gauss_and_the_growth_of_its_ratio(projected, verdict):
    gauss = (0.4, 0.3, 0.1)
    rows = [rows_of(lines_of(gauss, projected), size=size) for size in (4, 9)]
    table = primo_fig4.summarise(pd.concat(rows), {})
    found, reason = primo_fig4.judge(table, {})
    assert found == verdict
    assert f"in {6 if verdict == Verdict.REPRODUCED else 4} of 6 cells" in reason
    numbers = primo_fig4.compare(table, {}).set_index("line")
    cell = "n = 2,504, d = 9, l = 100"
    assert numbers.loc[label(*GAUSS, PEEKED), cell] == pytest.approx(math.log(0.9 / 0.5))
    assert numbers.loc[label(*GAUSS, FIXED), cell] == pytest.approx(math.log(10 / 0.5))
    with styled():
        assert set(primo_fig4.draw(table, {})) == {"ratio_l", "ratio_d"}


def test_fig4__copies_are_told_apart_by_their_number_and_judged_by_the_most():
    settings = {"copies": {"copies-50000": 50_000}}
    rows = [rows_of(lines_of((0.4, 0.3, 0.1), (0.3, 0.2, 0.2)))]
    rows.append(rows_of(lines_of((0.49, 0.48, 0.47), (0.48, 0.47, 0.46)), part="copies-50000"))
    table = primo_fig4.summarise(pd.concat(rows), settings)
    assert table.groupby("part")["people"].first().to_dict() == {"linear": 2504, "copies-50000": 50_000}
    found, reason = primo_fig4.judge(table, settings)
    assert found == Verdict.REPRODUCED
    assert "at the real n Gauss" in reason
    assert "at 50,000 copies of people Gauss" in reason
    assert "n = 50,000, d = 9, l = 10" in primo_fig4.compare(table, settings).columns
    with styled():
        drawn = primo_fig4.draw(table, settings)
    assert set(drawn) == {"ratio_l", "ratio_d", "copies-50000_l", "copies-50000_d", "people"}


def test_path__keeps_all_penalties_and_marks_the_best_of_each_cell():
    lines = lines_of((0.3, 0.2, 0.05), (0.2, 0.2, 0.1), sgd=(0.4, 0, 0))
    lines |= {((*GAUSS[:2], "feature"), PATH, 0.1): (0.1, 0.1, 0.1)}
    table = primo_path.summarise(rows_of(lines), {})
    # Gauss under feature protection and what has no path are left out.
    assert set(zip(table["method"], table["protection"], strict=True)) == {
        GAUSS[1:],
        PROJECTED[1:],
        RIDGE[1:],
    }
    gauss = table[table["method"] == "reusecov-gauss"].set_index(["penalty", "n_outcomes"])
    assert gauss["is_best"].to_dict() == {(p, count): p == 1.0 for p in (0.1, 1.0) for count in COUNTS}
    numbers = primo_path.compare(table, {}).set_index(["line", "lambda"])
    assert numbers.loc[("ReuseCovGauss", "0.1"), "epsilon 5, d = 9, l = 100"] == -9
    assert numbers.loc[("Ridge", "1"), "epsilon 5, d = 9, l = 1"] == 0.5
    found, reason = primo_path.judge(table, {})
    assert found == Verdict.BEYOND
    assert "ReuseCovGauss: best at lambda from 1 to 1, and below 0 at 0.1 in 3 of 3 cells" in reason
    with styled():
        axes = primo_path.draw(table, {})["r2"].figure.axes
    titles = [axis.get_title("left") for axis in axes]
    assert titles == [f"ε = 5, d = 9, l = {count}" for count in COUNTS]
    words = [axes[0].xaxis.get_major_formatter()(tick, 0) for tick in axes[0].get_xticks()]
    assert words == ["0.001", "0.1", "10", "1,000"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("tight", "blup", "full", OWN), "BLUP, tight bounds"),
        (("public", "blup-ld", "full", OWN), "BLUP on public LD, half of the people"),
        (("ours", "blup", "full", OWN), "BLUP"),
    ],
)
def test_label__says_by_which_terms(line, words):
    assert label(*line) == words


def test_fig2__best_of_ours_has_a_panel_of_its_own():
    lines = lines_of((0.3, 0.2, 0.1), (0.2, 0.2, 0.2), sgd=(0.4, 0, 0))
    lines |= {(("tight", "blup", "full"), OWN, math.nan): (0.45, 0.44, 0.4)}
    lines |= {(("public", "blup-ld", "full"), OWN, math.nan): (0.43, 0.42, 0.38)}
    table = primo_fig2.summarise(rows_of(lines), {})
    numbers = primo_fig2.compare(table, {}).set_index("line")
    assert numbers.loc["BLUP, tight bounds"].to_list() == [0.45, 0.44, 0.4]
    with styled():
        drawn = primo_fig2.draw(table, {})["zoomed"].figure
    shown = {
        axis.get_title("left"): [line.get_ydata().tolist() for line in axis.lines] for axis in drawn.axes
    }
    assert [0.43, 0.42, 0.38] in shown["ours, tight bounds"]
    assert [0.43, 0.42, 0.38] not in shown["ours"]
    assert [0.5, 0.5, 0.5] in shown["ours, tight bounds"]


@pytest.mark.parametrize(
    ("network", "verdict"),
    [((0.1, 0.2, 0.2), Verdict.REPRODUCED), ((0.1, 0.05, 0.2), Verdict.WITH_DIFFERENCE)],
)
def test_fig5__judge_by_the_order(network, verdict):
    gauss = (0.3, 0.1, 0.0)
    rows = [rows_of(lines_of(gauss, (0.2, 0.2, 0.2))), rows_of(lines_of(gauss, network), part="network")]
    table = primo_fig5.summarise(pd.concat(rows), {})
    assert primo_fig5.judge(table, {})[0] == verdict
    numbers = primo_fig5.compare(table, {}).set_index("line")
    assert numbers.loc[label(*PROJECTED, PEEKED), "network, l = 1"] == 0.1
    with styled():
        assert set(primo_fig5.draw(table, {})) == {"r2"}


def test_ablations__change_one_term_alone_and_then_all():
    steps, paper = primo_ablations.steps(), primo_ablations.PAPER_TERMS
    flat = {
        name: {(section, key): str(value) for section, own in terms.items() for key, value in own.items()}
        for name, terms in steps.items()
    }
    changed = {
        name: {key for key in terms if terms[key] != flat[primo_ablations.PAPER][key]}
        for name, terms in flat.items()
    }
    assert [len(changed[name]) for name in primo_ablations.ALONE] == [1] * 5
    assert [len(changed[name]) for name in primo_ablations.UP_TO] == [2, 3, 4, 5]
    assert set.union(*(changed[name] for name in primo_ablations.ALONE)) == changed[primo_ablations.TIGHT]
    assert steps[primo_ablations.PAPER] == paper
    for terms in steps.values():
        assert resolve(terms).privacy.neighbours == terms["privacy"]["neighbours"]


def test_ablations__say_what_each_change_brings():
    lines, gauss = {(RIDGE, PATH, 1.0): (0.5, 0.5, 0.5)}, GAUSS[1:]
    for place, name in enumerate(primo_ablations.steps()):
        r2 = 0.1 + place / 100
        lines |= {((name, *gauss), PATH, penalty): (r2, r2, r2 - penalty) for penalty in (0.1, 0.01)}
        if "up to" in name or name == primo_ablations.TIGHT:
            lines |= {((name, "blup", "full"), OWN, math.nan): (0.4, 0.4, 0.4)}
    table = primo_ablations.summarise(rows_of(lines), {})
    reason = primo_ablations.judge(table, {})[1]
    for said in (
        "0.097 by the paper's terms",
        "bounds alone +0.010",
        "a ball for each alone +0.050",
        "0.197 within",
    ):
        assert said in reason
    numbers = primo_ablations.compare(table, {})
    assert (numbers["lambda"] == "lambda 0.1").sum() == 2
    with styled():
        assert set(primo_ablations.draw(table, {})) == {"one_by_one"}


def test_sgd__says_where_the_best_touches_an_edge_of_the_grid():
    settings = {"steps": [25, 100, 400], "clip": [0.5, 1.0, 2.0], "learning_rate": [1.0, 4.0]}
    grid = pd.MultiIndex.from_product(settings.values(), names=sgd_settings.SETTING).to_frame(index=False)
    best = (grid == [100, 0.5, 4.0]).all(axis=1)
    rows = pd.concat(
        [
            grid.assign(n_outcomes=1, r2=np.where(best, 0.4 + replicate / 10, 0.1), replicate=replicate)
            for replicate in (1, 2)
        ]
    )
    table = primo_sgd.summarise(rows, settings)
    (row,) = primo_sgd.compare(table, settings).to_dict("records")
    assert row["tuned"] == pytest.approx(0.55)
    assert row["default"] == row["90 % tuned"] == pytest.approx(0.1)
    assert (row["tuned to"], row["at an edge"]) == ("100 steps, clip 0.5, rate 4", "clip, learning rate")
    assert "0.100, 0.550 and 0.100 at l = 1" in primo_sgd.judge(table, settings)[1]
    with styled():
        assert set(primo_sgd.draw(table, settings)) == {"settings"}


def test_best_of_path__leaves_the_fixed_penalty_out_unless_asked():
    table = best_of_path(rows_of(lines_of((0.3, 0.2, 0.1), (0.2, 0.2, 0.2))))
    assert set(table["which"]) == {PEEKED}


def test_shipped_study__has_the_papers_terms_as_the_experiments_have():
    shipped = resolve(yaml.safe_load((REPOSITORY / "config" / "primo_paper.yaml").read_text()))
    terms = {section: dict(own) for section, own in TERMS["paper"].items()}
    terms["privacy"] |= {"bounds": BOUNDS["paper"], "unit": "haplotype"}
    terms["regression"] |= {"lambda": FIXED_PENALTY}
    for section, own in terms.items():
        values = shipped.as_dict()[section]
        assert {name: values[name] for name in own} == own
