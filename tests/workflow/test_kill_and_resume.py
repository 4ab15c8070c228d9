"""A run that is killed leaves nothing that the next run would take for whole."""

import os
import signal
import subprocess
import time

import pytest

from study_runs import SMALL, command, environment, results, run


@pytest.mark.faults
@pytest.mark.parametrize(
    "first_output",
    ["private/store/21.zarr", "private/trial1/drawn/reusecov-statistics.npz", "metrics.tsv"],
)
def test_kill__resume_gives_the_results_of_an_undisturbed_run(tmp_path, first_output):
    settings = SMALL | {"trials": 1}
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    run(undisturbed, settings)

    process = subprocess.Popen(
        command(killed, settings),
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while not (killed / "results" / "small" / first_output).exists():
            assert process.poll() is None, "The run ended before it could be killed."
            time.sleep(0.005)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    run(killed, settings, "--unlock")
    run(killed, settings)
    expected, resumed = results(undisturbed, "small"), results(killed, "small")
    assert list(resumed) == list(expected)
    assert [name for name in expected if resumed[name] != expected[name]] == []
