"""A run that is killed leaves nothing that the next run would take for whole."""

import os
import signal
import subprocess
import time

import pytest

from nightly import at_night
from study_runs import SMALL, command, environment, results, run

SETTINGS = SMALL | {"replicates": 1}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The results of an undisturbed run."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run(folder, SETTINGS)
    return results(folder, "small")


@pytest.mark.faults
@pytest.mark.parametrize(
    "first_output",
    [
        at_night("private/store/21.zarr"),
        "private/replicate1/drawn/reusecov-statistics.npz",
        at_night("metrics.tsv"),
    ],
)
def test_kill__resume_gives_the_results_of_an_undisturbed_run(expected, tmp_path, first_output):
    process = subprocess.Popen(
        command(tmp_path, SETTINGS),
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while not (tmp_path / "results" / "small" / first_output).exists():
            assert process.poll() is None, "The run ended before it could be killed."
            time.sleep(0.005)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    run(tmp_path, SETTINGS, "--unlock")
    run(tmp_path, SETTINGS)
    resumed = results(tmp_path, "small")
    assert list(resumed) == list(expected)
    assert [name for name in expected if resumed[name] != expected[name]] == []
