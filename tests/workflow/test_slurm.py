"""Studies through a real SLURM on this machine: same bytes, and errors that arrive on the console.

A job through SLURM starts Snakemake twice, so each study has the fewest that show what is to be seen.
"""

import contextlib
import gzip
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from dpgrs.simulation.cohorts import simulate_cohort
from dpgrs.study.resources import resources_of
from dpgrs.study.settings import resolve
from dpgrs.study.shape import Shape
from release_studies import SHORT_RELEASE, bundle, copied_site, released_site
from slurm_cluster import SlurmCluster, missing_requirement
from study_runs import REPOSITORY, SMALL, STOP_AT, command, environment, results, run

ONE = {"chromosomes": ["21"]}
STUDY = SMALL | {"cohort": SMALL["cohort"] | ONE, "variants": {"size": 10}, "outcomes": {"count": 3}}
MISSING = missing_requirement()
pytestmark = [pytest.mark.slurm, pytest.mark.skipif(MISSING is not None, reason=f"SLURM: {MISSING}")]

# The profile as it is shipped; `every_process` asks for the jobs more often.
THROUGH_SLURM = ("--workflow-profile", REPOSITORY / "workflow" / "profiles" / "slurm")


def submit(folder, study, *arguments, check=True):
    """Run a study through SLURM, whose jobs are processes that it limits and ends."""
    return run(folder, study, *THROUGH_SLURM, *arguments, check=check, is_warm=False)


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


@pytest.mark.nightly
def test_slurm__same_bytes_as_local_run(cluster, tmp_path):
    local, through_slurm = tmp_path / "local", tmp_path / "slurm"
    run(local, STUDY)
    submit(through_slurm, STUDY)

    expected, found = results(local, "small"), results(through_slurm, "small")
    assert list(found) == list(expected)
    assert [name for name in expected if found[name] != expected[name]] == []

    jobs = cluster.finished_jobs()
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    # Run time and memory are those of the rules, not the defaults of the cluster (all of the node, no limit).
    assert asked("make-variants", STUDY) in {of_job(job) for job in jobs}
    # Cohort and store, variant set, summary of genotypes, report, and all steps of a replicate for each of
    # two.
    assert len(jobs) == 6


@pytest.mark.nightly
def test_slurm__shards_cut_off_and_resumed_have_the_same_bytes_as_a_local_run_in_one(cluster, tmp_path):
    """Their sum is cancelled once; in the next run, which makes nothing else, the node's daemon is killed."""
    # Seven whole words of people.
    cohort = STUDY["cohort"] | {"simulation": {"people": 224, "length": 100_000}}
    study, sums = STUDY | {"cohort": cohort}, "results/small/private/replicate1/statistics.npz"
    local, through_slurm = tmp_path / "local", tmp_path / "slurm"
    run(local, study, "--", sums)
    shutil.copytree(local, through_slurm)
    (through_slurm / sums).unlink()

    arguments = (through_slurm, study | {"scale": {"rows_per_shard": 64}}, *THROUGH_SLURM, "--", sums)
    at = {STOP_AT: "dpgrs.steps.add_statistics.added"}
    with started(*arguments, variables=at) as process:
        wait_for_a_stopped_process(cluster.folder, process)
        subprocess.run(["scancel", "--user=root"], check=True)
        console, _ = process.communicate()
    assert process.returncode == 1
    assert "(rule_add_statistics/1): cancelled. Run again" in console
    assert sorted(job["JobState"] for job in cluster.finished_jobs()) == ["CANCELLED"] + ["COMPLETED"] * 7

    with started(*arguments, variables=at) as process:
        stopped = wait_for_a_stopped_process(cluster.folder, process)
        cluster.kill_and_restart_node()
        os.kill(stopped, signal.SIGCONT)
        console, _ = process.communicate()
    assert process.returncode == 0, console
    assert [job["JobState"] for job in cluster.finished_jobs()][8:] == ["COMPLETED"]
    assert (through_slurm / sums).read_bytes() == (local / sums).read_bytes()

    (through_slurm / sums).unlink()
    submit(through_slurm, study | {"scale": {"rows_per_shard": 256}}, "--", sums)
    assert [job["JobState"] for job in cluster.finished_jobs()][9:] == ["COMPLETED"] * 3
    assert (through_slurm / sums).read_bytes() == (local / sums).read_bytes()


def test_slurm__job_beyond_its_memory_is_killed_and_the_console_says_so(cluster, tmp_path):
    """Less than Python alone takes."""
    little = ("--set-resources", "simulate_cohort:mem_mb=100", "--until", "simulate_cohort")
    process = submit(tmp_path, STUDY, *little, check=False)
    assert process.returncode == 1
    assert "): more memory was taken than asked for. `--retries 2` tries twice more" in process.stdout
    assert [job["JobState"] for job in cluster.finished_jobs()] != ["COMPLETED"]


def test_slurm__release_is_a_replay_of_a_local_one(cluster, tmp_path):
    """No executor may change an exact statistic: the ledger would refuse it, or it would be drawn anew."""
    (tmp_path / "site").mkdir()
    with released_site(tmp_path / "site", SHORT_RELEASE, people=80) as site:
        copy = copied_site(site, tmp_path / "copy")
        # Quotes within `--config` get through every shell.
        other = SHORT_RELEASE | {"variants": SHORT_RELEASE["variants"] | {"size": 19}}
        submit(copy, other, "--config", 'variants={"size": 20}')
        assert bundle(copy, "release") == bundle(site, "release")
        assert (copy / "ledger.jsonl").read_bytes() == (site / "ledger.jsonl").read_bytes()
    assert {job["JobState"] for job in cluster.finished_jobs()} == {"COMPLETED"}


def test_slurm__failed_job_shows_its_log(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the size of the study is read from its files
    simulate_cohort(tmp_path / "cohort", chromosomes=["21"], people=20, length=50_000, seed=1)
    text = gzip.decompress((tmp_path / "cohort" / "21.vcf.gz").read_bytes())
    (tmp_path / "cohort.vcf.gz").write_bytes(gzip.compress(text)[:-40])
    cohort = ONE | {"source": "vcf", "vcf": "cohort.vcf.gz"}
    study = STUDY | {"cohort": cohort}
    process = submit(tmp_path, study, "--retries", "1", check=False)
    assert process.returncode == 1
    assert "`cohort.vcf.gz` is truncated or damaged" in process.stdout
    assert "Traceback" not in process.stdout
    assert not (tmp_path / "results" / "small" / "private" / "store" / "21.zarr").exists()
    jobs = cluster.finished_jobs()
    assert [job["JobState"] for job in jobs] == ["FAILED", "FAILED"]
    # The second attempt asks for half as much again.
    attempts = [asked("ingest-chromosome", study, threads=2, attempt=attempt) for attempt in (1, 2)]
    assert [of_job(job) for job in jobs] == attempts


def test_slurm__failed_step_of_a_replicate_shows_its_log(cluster, tmp_path):
    """Other steps share its job: the console names the one."""
    study = STUDY | {"replicates": 1}
    run(tmp_path, study, "--until", "make_variants")
    chunk = tmp_path / "results/small/private/variants.zarr/haplotypes/0.0"
    content = bytearray(chunk.read_bytes())
    content[-1] ^= 1
    with chunk.open("r+b") as file:
        file.write(content)
    process = submit(tmp_path, study, check=False)
    assert process.returncode == 1
    assert "parts are missing or damaged" in process.stdout
    assert "Traceback" not in process.stdout


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


def asked(verb, study, *, threads=1, attempt=1):
    """Return the memory, in MB, and the minutes that the rule of a verb asks for on a cluster."""
    found = resources_of(verb, Shape(resolve(study)), is_on_cluster=lambda: True)
    return found["mem_mb"](None, threads, attempt), found["runtime"](None, attempt)


def of_job(job):
    """Return the memory, in MB, and the minutes that a finished job had asked for."""
    number, unit = re.search(r"mem=([\d.]+)([MG])", job["Tres"]).groups()
    return float(number) * {"M": 1, "G": 1024}[unit], int(job["TimeLimit"])


@contextlib.contextmanager
def started(folder, settings, *arguments, variables):
    """Start a study in the background, its console joined; a failure of the test ends it."""
    process = subprocess.Popen(
        command(folder, settings, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment() | variables,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_a_stopped_process(folder, started):
    """Return the id of a process of a cluster's jobs that has stopped itself."""
    while started.poll() is None:
        for known in processes_that_know(folder):
            with contextlib.suppress(OSError):  # it ended meanwhile
                if re.search(r"(?m)^State:\tT", Path(f"/proc/{known}/status").read_text()):
                    return known
        time.sleep(0.1)
    raise AssertionError(started.stdout.read())


def processes_that_know(folder):
    """Return the ids of the running processes with `folder` in their environment."""
    known = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if str(folder).encode() in environ.read_bytes():
                known.append(int(environ.parent.name))
    return known
