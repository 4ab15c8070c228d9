"""A small release in shards, run once whole, and runs of it that something is done to.

All are under the clock of the tests: a charge has one id, and its noise is the same bytes, in any folder.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dpgrs.io.files import remove
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.ledger.verify import verify_ledger
from release_studies import SHORT_RELEASE, bundle, copied_site
from study_runs import DRAWN_INTO, command, environment, run

STUDY = SHORT_RELEASE | {"study": "reliability", "scale": {"rows_per_shard": 64}}
PEOPLE = 150  # three shards
RESULTS = Path("results", STUDY["study"])
REPLICATE = RESULTS / "private" / "replicate1"
# In this order, without what hangs on the release alone.
MADE = (
    REPLICATE / "outcomes.zarr",
    REPLICATE / "statistics.npz",
    REPLICATE / "drawn",
    REPLICATE / "weights.npz",
    REPLICATE / "accuracy.npz",
    *(RESULTS / name for name in ("metrics.tsv", "release", "report", "figures")),
)
LEDGER = ("ledger.jsonl", "ledger.jsonl.head")
NOTES = "drawn.jsonl"  # in the folder of a run: every draw of noise
NEW = "new"  # the folder of the ledger as it was before any charge
VARIABLES = {DRAWN_INTO: NOTES}
MOMENT, LOOK = 0.01, 0.1  # seconds between two looks for a file, and at all processes


class Job(NamedTuple):
    """A job of the whole run.

    Attributes
    ----------
    name : str, of its log without the ending, such as ``compute_statistics/1.2``.
    seconds : float, that it took.
    """

    name: str
    seconds: float


def keep_ledger(folder):
    """Keep the ledger of a site in which nothing was released yet."""
    (folder / NEW).mkdir()
    for name in LEDGER:
        shutil.copy2(folder / name, folder / NEW / name)


def put_back_ledger(folder):
    """Put the ledger back that `keep_ledger` kept."""
    for name in LEDGER:
        shutil.copy2(folder / NEW / name, folder / name)


class Whole:
    """The whole run, and what a broken one must come to.

    Parameters
    ----------
    folder : pathlib.Path, of a site as of `released_site`, made with `keep_ledger` and `VARIABLES`.

    Attributes
    ----------
    folder : pathlib.Path
    jobs : list of Job, in the order of their ends.
    """

    def __init__(self, folder):
        self.folder = folder
        files = sorted(_tables(folder), key=lambda path: path.stat().st_mtime)
        self.jobs = [Job(_name(folder, path), _seconds(path)) for path in files]
        self._bundle = bundle(folder, STUDY["study"])
        self._requests = Ledger(folder / LEDGER[0]).read().requests
        self._drawn = _drawn(folder)

    def job(self, name):
        """Return a job by its name."""
        return next(job for job in self.jobs if job.name == name)

    def new(self, folder):
        """Copy the site as it was before the run; return its folder."""
        copied_site(self.folder, folder)
        (folder / NOTES).unlink()
        put_back_ledger(folder)
        return folder

    def done(self, folder):
        """Copy the site as it is after the run, with all times of files; return its folder."""
        return shutil.copytree(self.folder, folder)

    def differences(self, folder):
        """Return what is not as after the whole run, a list of str: bundle, charges and noise."""
        found, files, book = [], bundle(folder, STUDY["study"]), Ledger(folder / LEDGER[0]).read()
        others = sorted(name for name, content in self._bundle.items() if files.get(name) != content)
        if others or len(files) != len(self._bundle):
            found.append(f"other bytes in {', '.join(others) or 'further files'}")
        if list(book.requests) != list(self._requests):
            found.append(f"{len(book.requests)} charges in place of {len(self._requests)}, or others")
        if set(book.outputs) != set(book.requests):
            found.append("a charge is not complete")
        verify_ledger(folder / LEDGER[0])
        if not set(_drawn(folder)) <= set(self._drawn):
            found.append("other noise was drawn")
        return found

    def n_drawn(self, folder):
        """Return how often the noise of a run was drawn."""
        return max(_drawn(folder).values(), default=0)


def _tables(folder):
    return (folder / RESULTS / "private" / "benchmarks").rglob("*.tsv")


def _name(folder, path):
    return path.relative_to(folder / RESULTS / "private" / "benchmarks").with_suffix("").as_posix()


def _seconds(path):
    return float(path.read_text().splitlines()[1].split("\t")[0])


def _drawn(folder):
    """Count the draws of a folder by request, statistic and digest of the noisy numbers."""
    notes = folder / NOTES
    lines = notes.read_text().splitlines() if notes.exists() else []
    return Counter(tuple(sorted(json.loads(line).items())) for line in lines)


def rerun(folder, *arguments, **variables):
    """Run the study as a user would; return the exit status and what is on the console."""
    process = run(folder, STUDY, *arguments, check=False, variables=VARIABLES | variables)
    return process.returncode, process.stdout


class Running:
    """A run that goes on beside this process, in a process group of its own.

    Parameters
    ----------
    folder : pathlib.Path
    *arguments : str, of Snakemake.
    largest_file : int or None, of bytes that the system lets it write into a file.
    """

    def __init__(self, folder, *arguments, largest_file=None):
        self._logs = folder / RESULTS / "private" / "logs"
        # So that a log is a job that has begun.
        remove(self._logs)
        self._process = subprocess.Popen(
            command(folder, STUDY, *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment() | VARIABLES,
            process_group=0,
            preexec_fn=None if largest_file is None else lambda: _allow(largest_file),
        )

    def wait_for(self, job, share=0.0):
        """Wait for a job, and a share of its seconds or its end; where it is done already, for any job."""
        table = self._logs.with_name("benchmarks") / f"{job.name}.tsv"
        awaited = "*.log" if table.exists() else f"{job.name}.log"
        while not any(self._logs.glob(f"**/{awaited}")) and self._process.poll() is None:
            time.sleep(MOMENT)
        end = time.monotonic() + share * job.seconds
        while time.monotonic() < end and not table.exists():
            time.sleep(MOMENT)

    def jobs(self):
        """Return the process id of each step that runs now, a dict by the name of the job."""
        found = {}
        for process in _group(self._process.pid):
            with suppress(OSError):  # it has ended since
                words = (process / "cmdline").read_bytes().split(b"\0")
                log = (process / "fd" / "2").readlink()
                if b"dpgrs" in words and log.is_relative_to(self._logs):
                    found[log.relative_to(self._logs).with_suffix("").as_posix()] = int(process.name)
        return found

    def end_job(self, wanted):
        """End a job by SIGKILL, or, where it does not run any more, the next one; return its name or None."""
        while self._process.poll() is None:
            running = self.jobs()
            for name in (wanted, *running):
                if name in running:
                    with suppress(ProcessLookupError):
                        os.kill(running[name], signal.SIGKILL)
                        return name
            time.sleep(LOOK)
        return None

    def end_snakemake(self):
        """End Snakemake alone by SIGKILL: its jobs go on."""
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def end_all(self):
        """End Snakemake and all its jobs by SIGKILL; return the names of the jobs that ran."""
        running = list(self.jobs())
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        return running

    def wait_for_others(self):
        """Wait for jobs whose Snakemake was ended."""
        while any(True for _ in _group(self._process.pid)):
            time.sleep(LOOK)

    def finish(self):
        """Wait for the end; return the exit status and what is on the console."""
        console, _ = self._process.communicate()
        return self._process.returncode, console


def _group(leader):
    """Yield the folders in /proc of the processes of a group that have not ended."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                state, _, group = (process / "stat").read_text().rpartition(")")[2].split()[:3]
                if int(group) == leader and state != "Z":
                    yield process


def _allow(n_bytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def take_away(folder, output):
    """Remove what a job made, and all that is made from it, without which Snakemake does not ask for it."""
    for path in MADE[MADE.index(output) :]:
        remove(folder / path)


def flip(path, place):
    """Flip a bit of a file, at a share of its length, as a disk does it: its times stay."""
    content, status = bytearray(path.read_bytes()), path.stat()
    content[int(place * len(content))] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def move_times(folder, seconds):
    """Move the times of all files below a folder."""
    for path in [folder, *folder.rglob("*")]:
        status = path.stat()
        moved = (status.st_atime_ns, status.st_mtime_ns + round(seconds * 1e9))
        os.utime(path, ns=moved)
