"""How a plan counts outcomes: from their table, from their constants, or as told."""

from pathlib import Path

import pytest

from dpgrs.errors import UsageError
from dpgrs.planning.plan import plan_study
from dpgrs.reporting.plan import plan_as_text
from dpgrs.study.settings_files import read_settings

SMALL = ("variants={size: 8}", "privacy={epsilon: 2, protection: full}")
RELEASE = ("mode=release", "cohort={rows: people}", *SMALL)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Work in a folder of its own, with a configuration that says nothing."""
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text("study: tiny\n")


def plan_of(*changes):
    return plan_study(read_settings("study.yaml", changes=changes), people=1000)


def test_plan_study__outcomes_of_a_table_are_counted_from_its_first_line():
    Path("y.tsv").write_text("FID\tIID\ta\tb\nnot\tread\tat\tall\n")
    table = "outcomes={source: file, file: y.tsv, count: null}"
    plan = plan_of(*SMALL, table)
    assert plan["requests"][0]["n_outcomes"] == 2
    assert "outcomes" not in plan["assumptions"]
    Path("y.tsv").write_text("sample\n")
    with pytest.raises(UsageError, match=r"`outcomes.file`: `y.tsv` must have at least one outcome column"):
        plan_of(*SMALL, table)


@pytest.mark.parametrize("mode", [SMALL, RELEASE])
def test_plan_study__outcomes_that_are_not_there_yet_are_counted_from_their_constants(mode):
    Path("s.tsv").write_text("outcome\tcentre\tscale\na\t0\t1\nb\t0\t1\nc\t0\t1\n")
    table = "outcomes={source: file, file: absent.tsv, scales: s.tsv, count: null}"
    plan = plan_of(*mode, table)
    assert plan["requests"][0]["n_outcomes"] == 3
    assert plan["assumptions"]["outcomes"] == "3, the lines of s.tsv"
    assert "rows to train on; outcomes: 3, the lines of s.tsv; allele frequencies" in " ".join(
        plan_as_text(plan).split()
    )
    Path("s.tsv").write_text("outcome\tcentre\n")
    with pytest.raises(
        UsageError, match=r"`outcomes.count` must be the number of outcomes that you plan for"
    ):
        plan_of(*mode, table)


def test_plan_study__outcomes_that_nothing_lists_must_be_counted_by_hand():
    with pytest.raises(UsageError) as caught:
        plan_of(*RELEASE, "outcomes={source: file, file: absent.tsv, scales: absent.tsv, count: null}")
    assert str(caught.value).splitlines()[0] == (
        "`outcomes.count` must be the number of outcomes that you plan for, as neither `outcomes.file` nor "
        "`outcomes.scales` is there to count them, got null. Say it: --config 'outcomes={count: 10}'"
    )
    plan = plan_of(*RELEASE, "outcomes={source: file, file: absent.tsv, count: 2}")
    assert plan["requests"][0]["n_outcomes"] == 2


def test_plan_study__counts_of_known_outcomes_are_drawn_shown_and_cost_accuracy():
    outcomes = "outcomes={{count: 3, missing: {}}}"
    (none,), (counted,) = (plan_of(*SMALL, outcomes.format(m))["requests"] for m in ("none", "counted"))
    drawn = {one["statistic"]: one for one in counted["mechanisms"]}
    assert list(drawn) == ["count", "gram", "outcome counts", "cross product"]
    assert drawn["outcome counts"]["share"] == pytest.approx(0.01)
    assert drawn["outcome counts"]["entries"] == 3
    assert counted["whole_study"]["ledger"] == pytest.approx(none["whole_study"]["ledger"])
    (before,), (after,) = (
        [one for one in request["expected"] if one["method"] == "reusecov-gauss"]
        for request in (none, counted)
    )
    assert after["r2_without_noise"] == before["r2_without_noise"]
    share = "privacy={epsilon: 1, case_share: 0.2}"
    cases = plan_of(*RELEASE, "outcomes={count: 3, prevalence: 0.1}", share)
    drawn = {one["statistic"]: one for one in cases["requests"][0]["mechanisms"]}
    assert drawn["case counts"]["entries"] == 3
    assert drawn["case counts"]["share"] == pytest.approx(drawn["cross product"]["share"] / 4)
    assert "case counts    rows on which each 0/1 outcome is 1" in plan_as_text(cases)
    text = plan_as_text(plan_of(*SMALL, outcomes.format("counted")))
    assert "outcome counts  rows on which each outcome is known" in text
    assert "outcome counts" not in plan_as_text(plan_of(*SMALL, outcomes.format("none")))
