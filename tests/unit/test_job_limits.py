"""Jobs that would ask for more memory or run time than one may are named before any job."""

import os
import re

import pytest

from dpgrs.preflight.checks import problems
from dpgrs.study import job_limits
from dpgrs.study.job_limits import LONGEST_JOB, jobs_above
from dpgrs.study.settings import resolve

LARGE = {
    "cohort": {"simulation": {"people": 200_000}},
    "variants": {"size": 20_000},
    "outcomes": {"count": 500},
    "methods": ["k-blup", "ridge"],
}
CHARGED = {"mode": "release", "evaluation": {"metrics": "charged"}}


def lines(limit, **raw):
    found = problems(resolve(LARGE | raw | {"scale": {"memory_per_job": limit}}))
    return [line for line in found if "memory_per_job" in line]


def test_memory_limit__names_the_jobs_that_would_ask_for_more():
    above = jobs_above(resolve(LARGE), 10_000)
    assert {"draw", "attack-replicate", "choose-exactly"} <= {*above} < {*jobs_above(resolve(LARGE), 0)}
    assert min(above.values()) > 10_000
    (line,) = lines(10_000)
    assert line.startswith(
        f"`scale.memory_per_job` must be {max(above.values()):,} or more, as jobs ask for: "
    )
    assert re.findall(r"`([a-z-]+)` [0-9,]+[,.]", line.split("ask for: ")[1] + ".") == [*above]
    assert lines(max(above.values())) == lines(None) == []


def test_memory_limit__of_the_machine_holds_unless_another_is_stated():
    config = resolve(LARGE)
    most = max(jobs_above(config, 0).values())
    (line,) = problems(config, memory_mb=10_000)
    assert line.startswith("Jobs ask for more memory than the 10,000 MB that they can have here: ")
    assert f"`draw` {jobs_above(config, 10_000)['draw']:,}" in line
    assert problems(config, memory_mb=most) == problems(config) == []
    stated = resolve(LARGE | {"scale": {"memory_per_job": most}})
    assert problems(stated, memory_mb=10_000) == []


@pytest.mark.parametrize(("limit", "expected"), [("5000000", 5), ("max", None), (str(10**18), None)])
def test_machine_memory__is_that_of_the_machine_or_its_control_group(tmp_path, monkeypatch, limit, expected):
    n_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    monkeypatch.setattr(job_limits, "CONTROL_GROUP", tmp_path / "memory.max")
    assert job_limits.machine_memory_mb() == n_bytes // 10**6
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    assert job_limits.machine_memory_mb() == (expected or n_bytes // 10**6)


def test_memory_limit__of_what_a_mechanism_reads():
    of_sums, of_rows = (
        jobs_above(resolve(LARGE | {"methods": own}), 0)["draw"] for own in (["ridge"], ["tukey"])
    )
    assert of_rows != of_sums


@pytest.mark.parametrize(
    ("raw", "there", "absent"),
    [
        ({"methods": ["k-blup"]}, {"choose-exactly"}, {"compute-statistics", "attack-replicate"}),
        ({"methods": ["ridge"]}, {"compute-statistics", "attack-replicate"}, {"choose-exactly"}),
        (CHARGED | {"methods": ["k-blup"]}, {"measure-release"}, {"choose-exactly", "evaluate-replicate"}),
        ({"mode": "release", "methods": ["blup"]}, {"write-release"}, {"measure-release", "render-report"}),
    ],
)
def test_memory_limit__of_the_jobs_that_a_study_has(raw, there, absent):
    found = {*jobs_above(resolve(LARGE | raw), 0)}
    assert there <= found
    assert not absent & found


def test_runtime_limit__names_the_jobs_that_would_ask_for_more():
    config = resolve({"variants": {"size": 100_000}, "methods": "blup"})
    above = jobs_above(config, LONGEST_JOB, resource="runtime")
    assert {*above} == {"draw", "fit-weights"}
    (line,) = problems(config, runtime_minutes=LONGEST_JOB)
    message = "Jobs ask for more run time than the 30 days that they can have: `draw` 1,274 days"
    assert line.startswith(message)
    assert f"`--resources runtime={max(above.values())}`" in line
    assert problems(config, runtime_minutes=max(above.values())) == problems(config) == []
    (line,) = problems(resolve({"methods": "blup"}), runtime_minutes=10)
    assert "the 10 minutes that they can have: `make-variants` 12 minutes," in line
