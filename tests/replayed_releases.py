"""Releases of neighbouring cohorts with the same draws: all that is published must be equal, byte by byte.

The base release runs the commands that Snakemake would run and records its draws. That of a neighbour runs
those of them again that read private files, in one process, and gets these draws back.
"""

import json
import pickle
import re
import shlex
import shutil
import stat
import subprocess
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from dpgrs.privacy.age_files import create_age_key
from dpgrs.privacy.noise.study_key import VARIABLE
from every_process.replayed_draws import FROM, INTO
from kinds_of_releases import STUDY, Kind
from neighbouring_cohorts import Cohort, base_cohort, neighbour, write_public
from release_studies import make_key, make_ledger
from study_runs import environment, run, warm_python_of_tests

RESULTS = f"results/{STUDY}"
# Of a release by the sums of two centres: the study of the one whose cohort has neighbours.
CENTRE, SUMS, OF_CENTRES = "south", "sums.npz", ("python", "-m", "dpgrs", "centre")
STUDIES = (RESULTS, f"results/{CENTRE}")
# In the order of the data.
VERBS = (
    *("ingest-chromosome", "choose-people", "choose-sites", "make-variants", "make-loadings"),
    *("match-effects", "measure-ld"),
    *("make-covariates", "make-outcomes", "draw covariate-regression", "adjust-outcomes"),
    *("compute-statistics", "take-sums", "measure-people", "sum-genome"),
    *("write-settings", "draw", "fit-weights"),
    *("measure-release", "write-release", "render-release-report", "write-provenance"),
)
N_REFERENCE, DRAWS = 40, "draws"
UNCHARGED = 2  # entries of a ledger with one account, to which nothing was charged
# What may differ between neighbours, and why.
MAY_DIFFER = {
    r"cohort/\w+\.tsv: .*": "counts of people, for the operator",
    r"\[?\w{3} \w{3} +\d+ [\d:]{8} \d{4}\]?|\d{4}-\d\d-\d\d[ T][\d:.]+": "dates",
    r"Elapsed time: .*": "the time that a run takes",
    r"\b[0-9a-f]{64}\b": "the digest of encrypted sums, whose key is drawn for each file",
    r"Workflow ID: .*": "drawn by Snakemake for each run",
}
# Of Snakemake's records: times, and an address in the memory of its process.
TIMES = ("starttime", "endtime", "job_hash")
# Inputs, what is private, and what the tests themselves write.
PRIVATE = (*(f"{study}/private" for study in STUDIES), "cohort/")
HIDDEN = (*PRIVATE, ".snakemake", "cohort", "public", "key", DRAWS, SUMS, "commands.json")
# Refusals by conditions that the statement lists: they may depend on the data, and come before a charge.
REFUSALS = ("must have values for at least", "of mean 0 and standard deviation 1")


@dataclass(frozen=True)
class Run:
    """One release.

    Attributes
    ----------
    folder : Path
    status : int, its exit status.
    said : str, what it said on the console.
    """

    folder: Path
    status: int
    said: str

    @property
    def refusal(self):
        """The refusal among the conditions by which it ended before any charge; None if there was none."""
        logs, n_entries = logs_of(self.folder), len((self.folder / "ledger.jsonl").read_text().splitlines())
        is_early = self.status and n_entries == UNCHARGED
        return next((words for words in REFUSALS if is_early and words in logs), None)

    def published(self):
        """Return what anybody may see: a dict of path to mode and content, and of the console."""
        found = {}
        for path in (self.folder, *sorted(self.folder.rglob("*"))):
            name, content = path.relative_to(self.folder).as_posix(), None
            if name.startswith(HIDDEN):
                continue
            if path.is_file():
                content = path.read_bytes()
            found[name] = stat.S_IMODE(path.stat().st_mode), content
        return found | {"exit status": self.status, "console": self.on_console()}

    def on_console(self):
        """Return the lines of the console, sorted, as jobs may run in any order, without what may differ."""
        said = self.said.replace(str(self.folder), ".")
        for pattern, reason in MAY_DIFFER.items():
            said = re.sub(pattern, f"({reason})", said)
        return sorted(said.splitlines())

    def draws(self):
        """Return the records of its draws, a dict by name."""
        return {path.name: pickle.loads(path.read_bytes()) for path in (self.folder / DRAWS).iterdir()}


@dataclass(frozen=True)
class Base:
    """A cohort and its release.

    Attributes
    ----------
    kind : Kind
    site : Path of a folder with what is public, and the ledger as it is before any release.
    cohort : Cohort
    commands : list of the commands that may read private files, as lists of words.
    run : Run
    """

    kind: Kind
    site: Path
    cohort: Cohort
    commands: list
    run: Run

    def neighbour(self, rng, folder):
        """Make the release of a random neighbour with the same draws; return it and what the neighbour is."""
        cohort, words = neighbour(self.cohort, rng, **self.kind.relation)
        return release(self.site, folder, cohort, self.commands, draws=self.run.folder / DRAWS), words

    def with_leak(self, folder, *, without):
        """Release the cohort again, as where a leak is planted, but for one verb, with draws of its own."""
        commands = [words for words in self.commands if without not in words]
        return replace(self, commands=commands, run=release(self.site, folder, self.cohort, commands))


def make_base(folder, kind, *, seed):
    """Release a random cohort by the settings of a kind, in a folder of its own beside what is public."""
    site, cohort = prepare(folder / "site", kind), replace(base_cohort(seed), form=kind.form)
    cohort.write(site)
    commands = commands_of_centres(site, kind) if kind.has_centres else []
    commands += private_commands(site, kind.settings(site))
    (site / SUMS).unlink(missing_ok=True)
    made = release(site, folder / "base", cohort, commands)
    assert made.status == 0, logs_of(made.folder)
    return Base(kind, site, cohort, commands, made)


def private_commands(site, settings):
    """Return the commands of a study that may read private files, in order; run those of public inputs."""
    planned = run(site, settings, "--dry-run", "--printshellcmds", cores=1).stdout
    found = re.findall(r"^Shell command: (python .*?2> \S+)$", planned, re.DOTALL | re.MULTILINE)
    commands = sorted(map(shlex.split, found), key=place_of_command)
    run_steps(site, [words for words in commands if is_public(words)], check=True)
    return [words for words in commands if not is_public(words)]


def place_of_command(words):
    """Return where a command stands among `VERBS`: a regression on covariates is drawn before sums."""
    _, _, _, verb, *others = words
    named = [f"{verb} {word}" for word in others if f"{verb} {word}" in VERBS]
    return VERBS.index((named or [verb])[0])


def commands_of_centres(site, kind):
    """Make the sums of two centres; return the commands that do so for the cohort of the second."""
    # Of other people: the same sums twice are refused.
    base_cohort(0, prefix="n", n_people=50).write(site / "north")
    key = site / "key" / "coordinator.key"
    to, log = create_age_key(key), f"results/{CENTRE}/private/logs/sums.log"
    for name, folder in (("north", "north/"), (CENTRE, "")):
        commands = private_commands(site, kind.of_centre(name, folder))
        commands.append([*OF_CENTRES, "export", f"results/{name}", "--name", name, "--to", to, "2>", log])
        run_steps(site, commands, check=True)
    shutil.copy(site / "results/north/private/north.age", site)
    exports = ["north.age", f"results/{CENTRE}/private/{CENTRE}.age"]
    commands.append([*OF_CENTRES, "combine", *exports, "--key", str(key), "--output", SUMS, "2>", log])
    run_steps(site, commands[-1:], check=True)
    return commands


def prepare(folder, kind):
    """Write what is public, key and ledger; return the folder."""
    folder.mkdir(parents=True)
    write_public(folder, n_reference=N_REFERENCE)
    make_key(folder)
    make_ledger(folder / "ledger.jsonl", **kind.account)
    return folder


def is_public(words):
    """Tell whether a command writes public inputs; those may read nothing private."""
    writes_public = words[words.index("--output") + 1].split("/")[2:3] == ["public"]
    assert not (writes_public and any(word.startswith(PRIVATE) for word in words[:-1])), words
    return writes_public


def release(site, folder, cohort, commands, *, draws=None):
    """Release a cohort in a new folder, by what is public in another; draws of a folder are replayed."""
    folder.mkdir()
    for path in site.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    (folder / "public").symlink_to(site / "public")
    cohort.write(folder)
    parts = ("public", "private/made/public", "private/made/settings")
    for name in (f"{one}/{part}" for one in STUDIES for part in parts):
        if (site / name).exists():
            make_closed((folder / name).parent)
            shutil.copytree(site / name, folder / name)
    (folder / DRAWS).mkdir()
    variables = {INTO: str(folder / DRAWS), VARIABLE: str(site / "key" / "study.key")}
    if draws is not None:
        variables[FROM] = str(draws)
    done = run_steps(folder, commands, **variables)
    return Run(folder, done.returncode, done.stdout)


def run_steps(folder, commands, *, check=False, **variables):
    """Run commands in a folder, one after the other in one process; return it with what it said."""
    variables = {VARIABLE: str(folder / "key" / "study.key")} | variables
    for path in (word for words in commands for word in words if word.startswith("results/")):
        make_closed((folder / path).parent)
    (folder / "commands.json").write_text(json.dumps(commands))
    program, warm = warm_python_of_tests(())
    done = subprocess.run(
        [program, "-m", "steps_in_turn", "commands.json"],
        cwd=folder,
        env=environment() | variables | warm,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        umask=0o077,
    )
    assert not (check and done.returncode), done.stdout + logs_of(folder)
    return done


def make_closed(folder):
    """Make a folder and those that it is in, as Snakemake does in a release."""
    if not folder.exists():
        make_closed(folder.parent)
        folder.mkdir(mode=0o700)


def whole_release(folder, kind, cohort):
    """Release a cohort by Snakemake in a new folder, with its records and its console."""
    cohort.write(prepare(folder, kind))
    (folder / DRAWS).mkdir()
    done = run(folder, kind.settings(folder), cores=1, check=False)
    return Run(folder, done.returncode, done.stdout)


def logs_of(folder):
    """Return what all jobs of a release logged."""
    return "".join(path.read_text() for path in folder.rglob("*.log"))


def differences(base, other):
    """List what differs between all that two releases published, and which draws."""
    ours, theirs = base.published(), other.published()
    names = ours.keys() | theirs.keys()
    found = [name for name in sorted(names) if ours.get(name, "absent") != theirs.get(name, "absent")]
    if base.draws().keys() != other.draws().keys():
        found.append("draws")
    return found


def records(folder):
    """Return what Snakemake noted of each job: its mode, each key but times, a dict by file and key."""
    found = {}
    for path in sorted((folder / ".snakemake" / "metadata").iterdir()):
        found[path.name, "mode"] = stat.S_IMODE(path.stat().st_mode)
        record = json.loads(path.read_text())
        found |= {(path.name, key): value for key, value in record.items() if key not in TIMES}
    return found


def excess(base, other):
    """Return how far exact statistics lie apart at most, in sensitivities of their draws, squared."""
    ours, theirs = base.draws(), other.draws()
    return max(
        (_apart(ours[name], theirs[name]) for name in ours.keys() & theirs.keys()), default=Fraction(0)
    )


def _apart(one, other):
    assert len(one["exact"]) == len(other["exact"])
    distance = DISTANCES[one["norm"]]
    return max(
        distance(np.abs(_in_units(ours) - _in_units(theirs))) / Fraction(one["value"]) ** 2
        for ours, theirs in zip(one["exact"], other["exact"], strict=True)
    )


def _in_units(recorded):
    """Return an exact statistic in the units of its sensitivity."""
    values, unit = recorded
    return np.array([int(value) * unit for value in np.ravel(values)], dtype=object)


DISTANCES = {
    "l1": lambda apart: apart.sum() ** 2,
    "l2": lambda apart: (apart**2).sum(),
    "linf": lambda apart: apart.max() ** 2,
}
