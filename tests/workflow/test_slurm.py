"""The demo through a real SLURM on this machine: same bytes, and errors that arrive on the console."""

import contextlib
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from release_studies import RELEASE, bundle, copied_site, released_site
from slurm_cluster import SlurmCluster, missing_requirement
from study_runs import REPOSITORY, SMALL, results, run

DEMO = {"study": "demo"}
MISSING = missing_requirement()
pytestmark = [pytest.mark.slurm, pytest.mark.skipif(MISSING is not None, reason=f"SLURM: {MISSING}")]

# The profile as it is shipped; `every_process` asks for the jobs more often.
THROUGH_SLURM = ("--workflow-profile", REPOSITORY / "workflow" / "profiles" / "slurm")


@pytest.fixture
def folder():
    """A folder whose path is short enough for SLURM's sockets."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as path:
        yield Path(path)


@pytest.fixture
def cluster(folder, monkeypatch):
    """A running SLURM that the commands of this test reach."""
    cluster = SlurmCluster(folder)
    with cluster as env:
        for name in ("PATH", "SLURM_CONF", "USER"):
            monkeypatch.setenv(name, env[name])
        yield cluster


def test_slurm__same_bytes_as_local_run(cluster, tmp_path):
    local, through_slurm = tmp_path / "local", tmp_path / "slurm"
    run(local, DEMO)
    console = run(through_slurm, DEMO, *THROUGH_SLURM).stdout

    expected, found = results(local, "demo"), results(through_slurm, "demo")
    assert list(found) == list(expected)
    assert [name for name in expected if found[name] != expected[name]] == []

    jobs = cluster.finished_jobs()
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    # Run time and memory are those of the rules, not the defaults of the cluster (all of the node, no limit).
    assert {job["TimeLimit"] for job in jobs} >= {"10", "60", "240"}
    assert all(f"mem={memory}" in {job["Tres"].split(",")[1] for job in jobs} for memory in ("500M", "2000M"))
    # Both trials of a step went into one sbatch.
    assert "Submitted array job" in console
    assert "2" in {job.get("ArrayTaskId") for job in jobs}


def test_slurm__release_is_a_replay_of_a_local_one(cluster, tmp_path):
    """No executor may change an exact statistic: the ledger would refuse it, or it would be drawn anew."""
    (tmp_path / "site").mkdir()
    with released_site(tmp_path / "site", RELEASE, people=80) as site:
        copy = copied_site(site, tmp_path / "copy")
        run(copy, RELEASE, *THROUGH_SLURM)
        assert bundle(copy, "release") == bundle(site, "release")
        assert (copy / "ledger.jsonl").read_bytes() == (site / "ledger.jsonl").read_bytes()
    assert {job["JobState"] for job in cluster.finished_jobs()} == {"COMPLETED"}


def test_slurm__failed_job_shows_its_log(cluster, tmp_path):
    too_large = SMALL | {"panel": {"size": 1_000_000}}
    process = run(tmp_path, too_large, *THROUGH_SLURM, check=False)
    assert process.returncode == 1
    assert "`panel.size` must be at most" in process.stdout
    assert "Traceback" not in process.stdout
    assert not (tmp_path / "results" / "small" / "private" / "panel.zarr").exists()
    assert [job["JobState"] for job in cluster.finished_jobs()].count("FAILED") == 1


def test_cluster__leaves_no_process_behind_on_failure(folder):
    def fail():
        with SlurmCluster(folder) as env:
            subprocess.run(["sbatch", "--output=/dev/null", "--wrap=sleep 600"], env=env, check=True)
            assert len(processes_that_know(folder)) >= 3
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    # The process of a job ends a moment after the controller has noted its end.
    deadline = time.monotonic() + 10
    while processes_that_know(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_that_know(folder) == []


def test_cluster__raise_on_a_path_too_long_for_its_sockets(tmp_path):
    long = tmp_path / ("a" * 80)
    long.mkdir()
    with pytest.raises(ValueError, match="must have a shorter path"), SlurmCluster(long):
        pass


def processes_that_know(folder):
    """Return the ids of the running processes with `folder` in their environment."""
    known = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if str(folder).encode() in environ.read_bytes():
                known.append(int(environ.parent.name))
    return known
