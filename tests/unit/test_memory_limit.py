"""Jobs that would ask for more memory than one may are named before any job."""

import re

import pytest

from dpgrs.preflight.checks import problems
from dpgrs.study.memory_limit import jobs_above
from dpgrs.study.settings import resolve

LARGE = {
    "cohort": {"simulation": {"people": 200_000}},
    "panel": {"size": 20_000},
    "outcomes": {"count": 500},
    "methods": ["k-blup", "ridge"],
}
CHARGED = {"mode": "release", "evaluation": {"metrics": "charged"}}


def lines(limit, **raw):
    found = problems(resolve(LARGE | raw | {"scale": {"memory_per_job": limit}}))
    return [line for line in found if "memory_per_job" in line]


def test_memory_limit__names_the_jobs_that_would_ask_for_more():
    above = jobs_above(resolve(LARGE), 10_000)
    assert {"draw", "attack-trial", "choose-exactly"} <= {*above} < {*jobs_above(resolve(LARGE), 0)}
    assert min(above.values()) > 10_000
    (line,) = lines(10_000)
    assert line.startswith(
        f"`scale.memory_per_job` must be {max(above.values()):,} or more, as jobs ask for: "
    )
    assert re.findall(r"`([a-z-]+)` [0-9,]+[,.]", line.split("ask for: ")[1] + ".") == [*above]
    assert lines(max(above.values())) == lines(None) == []


def test_memory_limit__of_what_a_mechanism_reads():
    of_sums, of_rows = (
        jobs_above(resolve(LARGE | {"methods": own}), 0)["draw"] for own in (["ridge"], ["tukey"])
    )
    assert of_rows != of_sums


@pytest.mark.parametrize(
    ("raw", "there", "absent"),
    [
        ({"methods": ["k-blup"]}, {"choose-exactly"}, {"compute-statistics", "attack-trial"}),
        ({"methods": ["ridge"]}, {"compute-statistics", "attack-trial"}, {"choose-exactly"}),
        (CHARGED | {"methods": ["k-blup"]}, {"measure-release"}, {"choose-exactly", "evaluate-trial"}),
        ({"mode": "release", "methods": ["blup"]}, {"write-release"}, {"measure-release", "render-report"}),
    ],
)
def test_memory_limit__of_the_jobs_that_a_study_has(raw, there, absent):
    found = {*jobs_above(resolve(LARGE | raw), 0)}
    assert there <= found
    assert not absent & found
