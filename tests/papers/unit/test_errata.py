"""The experiment of published defects: losses of events, recipes that draw by their law, and its table."""

import math

import numpy as np
import pandas as pd
import pytest

from dpgrs.public_random import generator
from dpgrs_papers.experiments import errata, errata_choices, errata_sums
from dpgrs_papers.experiments.errata_defect import loss_of_chances
from dpgrs_papers.experiments.errata_replicate import DEFECTS, run_replicate
from dpgrs_papers.experiments.frame import Verdict
from dpgrs_papers.experiments.plans import Form, read_plans
from experiment_runs import SNAKEFILE

SETTINGS = {"seed": 1, "draws": {"published": 2000, "ours": 20}}


def test_loss_of_chances__is_that_of_the_event_or_its_opposite_either_way():
    for chances in ((0.2, 0.4), (0.4, 0.2), (0.8, 0.6), (0.6, 0.8)):
        assert loss_of_chances(*chances) == pytest.approx(math.log(2))
    assert loss_of_chances(0.2, 0.5, delta=0.1) == pytest.approx(math.log(2))
    assert loss_of_chances(0.0, 0.1, delta=0.1) == 0
    assert loss_of_chances(0.0, 0.11, delta=0.1) == math.inf


@pytest.mark.parametrize("make", [errata_choices.groups_of_rows, errata_choices.tied_ranks])
def test_choices__published_lead_each_way_and_lose_by_it(make):
    defect = make()
    shares = [defect.published(generator(1, int(side)), 2000, side).mean() for side in (False, True)]
    # The loss is that of the shares where both were seen; 2,000 draws leave a factor of 2.
    assert abs(shares[0] - shares[1]) > 0.2
    assert defect.exact[0] > math.log(max(shares) / max(min(shares), 1 / 2000)) - math.log(2)
    assert defect.exact[1] < defect.epsilon < defect.exact[0]


def test_float_noise__published_bits_are_those_of_one_input_alone():
    defect = errata_sums.float_noise()
    shares = [defect.published(generator(2, int(side)), 20_000, side).mean() for side in (False, True)]
    assert shares[0] == 0
    # The noise is within 1/2 in a tenth of the draws, and has finer bits in most of these.
    assert 0.03 < shares[1] < 0.1


def test_run_replicate__hangs_on_its_number_and_counts_both_inputs():
    first, again, other = (
        run_replicate("squares-intercept", replicate, SETTINGS, []) for replicate in (1, 1, 2)
    )
    assert first == again != other
    assert [row["draws"] for row in first] == [2000, 20]


def test_summarise__adds_up_replicates_and_judge_names_what_of_ours_exceeds():
    counts = {"draws": 1000, "false_first": 0, "false_second": 0}
    rows = [
        {"part": "squares", "replicate": replicate, "recipe": recipe, **counts}
        for replicate in (1, 2)
        for recipe in ("published", "ours")
    ]
    table = errata.summarise(pd.DataFrame(rows), SETTINGS)
    assert table["draws"].tolist() == [2000, 2000]
    # No wrong guess of 2,000: ln((1 - 0.0072)/0.0072) by Clopper and Pearson, for ours as well.
    bound = 1 - (1e-6 / 2) ** (1 / 2000)
    np.testing.assert_allclose(table["observed"], math.log((1 - bound - 1e-6) / bound), rtol=1e-9)
    verdict, reason = errata.judge(table, SETTINGS)
    assert verdict == Verdict.BEYOND
    assert "1 of 1 published recipes" in reason
    assert "squares loses more than it claims" in reason


def test_plan__has_every_defect_as_a_part():
    plans = read_plans(SNAKEFILE.with_name("experiments.yaml"), Form.CUT)
    assert list(plans["errata"].part_files) == list(DEFECTS)
