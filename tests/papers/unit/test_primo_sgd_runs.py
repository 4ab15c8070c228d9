"""DP-SGD of PRIMO's figures 2 and 6: what l runs cost together, and what counts as reproduced."""

import math

import numpy as np
import pandas as pd
import pytest

from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs_papers.experiments import primo_sgd_runs
from dpgrs_papers.experiments.frame import Verdict
from dpgrs_papers.experiments.plans import Form, read_plans
from dpgrs_papers.experiments.primo_fits import OWN, PATH
from dpgrs_papers.experiments.primo_sgd_runs import (
    BATCHES,
    HAPLOTYPES,
    JOINT,
    MNIST,
    RUNS,
    WAYS,
    BatchRequest,
)
from dpgrs_papers.methods.dp_sgd import SgdRequest, gradient_sensitivity
from study_runs import REPOSITORY

PUBLIC = {"rows": "haplotypes", "unit": "haplotype", "n_variants": 100, "outcome_bound": 3.0, "delta": 1e-6}
GAUSS, PROJECTED = ("reusecov-gauss", "full"), ("reusecov-proj", "feature")


def zcdp_epsilon(rho, delta):
    """The epsilon of rho-zCDP at delta, by Renyi divergences of orders 2 to 64."""
    orders = np.arange(2, 65)
    return (rho * orders + np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)).min()


@pytest.mark.parametrize("n_runs", [1, 10, 1000])
@pytest.mark.parametrize(("epsilon", "steps"), [(5.0, 25), (1.0, 100)])
@pytest.mark.parametrize(("request_type", "rate"), [(SgdRequest, WAYS[RUNS][1]), (BatchRequest, 0.1)])
def test_runs__of_an_lth_of_rho_each_cost_the_stated_epsilon_together(
    request_type, rate, n_runs, epsilon, steps
):
    terms = {"accounting": WAYS[RUNS][0], "sampling_rate": rate, "steps": steps, "epsilon": epsilon}
    request = request_type(**PUBLIC, **terms, n_outcomes=n_runs)
    deviation = request.noise_multiplier * gradient_sensitivity(request).value  # of each entry of a gradient
    clip = request.clip_steps * OUTCOME_STEP  # all that a row changes of one run's gradient
    rho_of_run = steps * clip**2 / (2 * deviation**2)
    rho = n_runs * rho_of_run + request.budget["count"] ** 2 / 2
    assert zcdp_epsilon(rho, PUBLIC["delta"]) == pytest.approx(epsilon, rel=1e-4)


def test_sgd_terms__are_eight_settings_of_each_way():
    plans = read_plans(REPOSITORY / "config" / "experiments" / "experiments.yaml", Form.CUT)
    settings = plans["primo_sgd_runs"].settings
    for part, ways in ((HAPLOTYPES, {RUNS}), (MNIST, {RUNS, JOINT})):
        terms = primo_sgd_runs.sgd_terms(settings[part]["sgd"])
        assert len(terms) == 8 * len(ways)
        for way in ways:
            one_way = [one for name, one in terms.items() if name.startswith(way)]
            assert len(one_way) == 8
            assert all(one["privacy"]["accounting"] == [WAYS[way][0]] for one in one_way)
            assert {one["regression"]["sgd"]["sampling_rate"] for one in one_way} == {WAYS[way][1]}


def rows_of(part, runs, gauss, projected):
    """Make rows of one replicate: two settings of each way, and ReuseCov and ridge at one penalty."""
    lines = [
        ("none", "ridge", "none", PATH, 1.0, (0.5, 0.5)),
        ("paper", *GAUSS, PATH, 1.0, gauss),
        ("paper", *PROJECTED, PATH, 1.0, projected),
        (f"{RUNS}: 25 steps", "dp-sgd", "full", OWN, math.nan, (runs[0], runs[1] - 0.3)),
        (f"{RUNS}: 100 steps", "dp-sgd", "full", OWN, math.nan, (runs[0] - 0.3, runs[1])),
        (f"{JOINT}: 100 steps", "dp-sgd", "full", OWN, math.nan, (0.45, 0.44)),
    ]
    columns = ["terms", "method", "protection", "which", "penalty"]
    return [
        dict(zip(columns, line, strict=True))
        | {"part": part, "replicate": 1, "n_variants": 9, "n_outcomes": count, "r2": value, "mse": 1 - value}
        | {"epsilon": math.nan if line[0] == "none" else 5.0}
        for *line, r2 in lines
        for count, value in zip((1, 10), r2, strict=True)
    ]


@pytest.mark.parametrize(
    ("haplotypes", "batches", "mnist", "verdict"),
    [
        # Behind projection beyond one outcome; ahead of Gauss at one, by less at ten.
        ((0.3, 0.1), (0.3, 0.1), (0.4, 0.2), Verdict.REPRODUCED),
        ((0.3, 0.25), (0.3, 0.1), (0.4, 0.2), Verdict.WITH_DIFFERENCE),
        ((0.3, 0.1), (0.3, 0.25), (0.4, 0.2), Verdict.WITH_DIFFERENCE),
        ((0.3, 0.1), (0.3, 0.1), (0.4, 0.4), Verdict.WITH_DIFFERENCE),
        ((0.3, 0.1), (0.3, 0.1), (0.2, 0.1), Verdict.WITH_DIFFERENCE),
    ],
)
def test_summary__keeps_the_best_setting_of_each_cell_and_is_judged_by_it(
    haplotypes, batches, mnist, verdict
):
    rows = rows_of(HAPLOTYPES, haplotypes, (0.2, 0.1), (0.2, 0.2))
    rows += rows_of(MNIST, mnist, (0.25, 0.15), (0.2, 0.2))
    own = [row for row in rows_of(BATCHES, batches, (0, 0), (0, 0)) if row["terms"].startswith(RUNS)]
    rows += [row | {"terms": row["terms"].replace(RUNS, BATCHES), "mse": math.nan} for row in own]
    table = primo_sgd_runs.summarise(pd.DataFrame(rows), {})
    runs = table[(table["part"] == HAPLOTYPES) & (table["terms"] == RUNS)].set_index("n_outcomes")
    assert runs["r2"].to_dict() == {1: haplotypes[0], 10: haplotypes[1]}
    assert runs["setting"].to_dict() == {1: "25 steps", 10: "100 steps"}
    assert primo_sgd_runs.judge(table, {})[0] == verdict
    numbers = primo_sgd_runs.compare(table, {}).set_index(["part", "line"])
    line = "DP-SGD, a run for each outcome, zCDP, tuned (peeked)"
    assert numbers.loc[(HAPLOTYPES, line)].to_list() == list(haplotypes)
    assert numbers.loc[(MNIST, line)].to_list() == list(mnist)
