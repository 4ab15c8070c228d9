"""Shared fixtures. The path of the public real data stands here and nowhere else."""

import gc
import gzip
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dpgrs.cli.main import ONE_THREAD
from dpgrs.privacy.ledger import hash_chain
from every_process.stopped_clock import StoppedClock

REPOSITORY = Path(__file__).resolve().parents[1]
REAL_DATA = Path(os.environ.get("DPGRS_TEST_DATA", REPOSITORY.parent / "shared" / "data"))

# Before numpy is loaded: the threads of its libraries, many in each worker, mostly wait for each other.
os.environ.update(dict.fromkeys(ONE_THREAD, "1"))

# The same examples in every run, and none refused because the machine was busy.
settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


def pytest_addoption(parser):
    """Let `make golden` write the table of `tests/contract/test_golden_releases.py`."""
    parser.addoption("--write-goldens", action="store_true", help="write digests of new releases or versions")


@pytest.fixture(scope="session", autouse=True)
def stopped_clock():
    """All ledgers have one time, which enters the ids of requests: noise is the same in every run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hash_chain, "datetime", StoppedClock)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_disks():
    """Let nothing in this process wait until a disk has written: a ledger's entry does so thrice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def repository():
    """The checkout's root folder."""
    return REPOSITORY


@pytest.fixture(scope="session")
def real_data():
    """The folder of public real data; the test skips where it is absent."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"no real data at {REAL_DATA}; set DPGRS_TEST_DATA to the folder that holds 1kg/")
    return REAL_DATA


@pytest.fixture
def write(tmp_path):
    """Write a table and return its path."""

    def write(text, name="table.tsv"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Let no garbage collection walk through what is collected: all of it stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave ratios of speed to the night. Begin with runs through SLURM: they mostly wait, and longest."""
    for item in items:
        if item.path.parent == REPOSITORY / "tests" / "benchmarks":
            item.add_marker(pytest.mark.nightly)
    items.sort(key=lambda item: item.get_closest_marker("slurm") is None)


def pytest_sessionfinish(session):
    """Fail where a test skipped although everything is said to be installed (CI)."""
    # Where tests run side by side, workers have no reporter: the process that started them has all results.
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("DPGRS_NO_SKIPS") and reporter and reporter.stats.get("skipped"):
        reporter.write_line("DPGRS_NO_SKIPS is set, but tests were skipped.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
