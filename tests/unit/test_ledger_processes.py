"""The ledger under kill -9 and under studies that use it at once, with real processes."""

import json
import os
import subprocess
import sys

import pytest

import ledger_processes
from dpgrs.privacy.ledger.verify import verify_ledger
from ledger_requests import ACCOUNT, new_ledger
from study_runs import REPOSITORY

N_STUDIES, N_RELEASES, N_AFFORDABLE = 3, 4, 9


def start(*arguments):
    paths = os.pathsep.join(str(REPOSITORY / folder) for folder in ("workflow", "tests"))
    return subprocess.Popen(
        [sys.executable, ledger_processes.__file__, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
    )


@pytest.fixture(scope="module")
def reruns():
    """What was found after a release was killed at each step, and after it was made again."""
    with start("kill_everywhere") as process:
        printed, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(printed)


def test_kill__steps_are_many_and_of_all_kinds(reruns):
    assert len(reruns) > 50
    assert {bool(found["drawn"]) for found in reruns} == {True, False}
    assert sum(found["cut"] > 0 for found in reruns) == 4  # dataset, account, reserved, completed


def test_kill__what_was_drawn_was_reserved_before(reruns):
    assert all(found["reserved"] == found["drawn"] for found in reruns if found["drawn"])


def test_kill__rerun_replays_and_costs_nothing(reruns):
    for found in reruns:
        assert found["spent"] == "1/4", found
        assert found["counts"] == {"entries": 4, "reserved": 1, "completed": 1}
        assert found["draws"] == found["requests"]  # one id, hence one noise
        assert set(found["drawn"]) <= set(found["requests"])


def test_kill__torn_write_names_the_way_out_and_the_rest_reads_on(reruns):
    for found in reruns:
        assert (found["cut"] > 0) == ("ledger repair" in (found["error"] or ""))
        assert found["cut"] == 0 or found["how"] == "torn"


def test_two_studies__share_one_budget(tmp_path):
    # One shared release of mu^2 = 1/100 and N_AFFORDABLE more.
    ledger = new_ledger(tmp_path, mu_squared=f"{(1 + N_AFFORDABLE)}/100")
    studies = [start("compete", ledger.path, f"study{i}", N_RELEASES) for i in range(N_STUDIES)]
    for study in studies:
        assert study.stdout.readline() == "ready\n"
    for study in studies:
        study.stdin.write("go\n")
        study.stdin.flush()
    results = [json.loads(study.communicate()[0]) for study in studies]
    ids = [request for result in results for request in result["ids"]]
    assert len({result["shared"] for result in results}) == 1
    assert len(set(ids)) == len(ids) == N_AFFORDABLE
    assert sum(result["refusals"] for result in results) == N_STUDIES * N_RELEASES - N_AFFORDABLE
    book = ledger.read()
    assert book.spent(ACCOUNT) == book.budgets[ACCOUNT].limit
    assert verify_ledger(ledger.path)["reserved"] == 1 + N_AFFORDABLE
