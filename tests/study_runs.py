"""Running the workflow in a scratch folder and comparing what it made."""

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pandas as pd
import yaml

from dpgrs.cli.main import ONE_THREAD
from warm_python import warm_python

REPOSITORY = Path(__file__).resolve().parents[1]
SNAKEFILE = REPOSITORY / "workflow" / "Snakefile"
SNAKEMAKE = Path(sys.executable).with_name("snakemake")
EVERY_PROCESS = REPOSITORY / "tests" / "every_process"

# Variables that change every process, read in `every_process/sitecustomize.py`.
KILL_AT, FULL_AT, STOP_AT = "DPGRS_TEST_KILL_AT", "DPGRS_TEST_FULL_AT", "DPGRS_TEST_STOP_AT"
DRAWN_INTO, CLOCK_OFF = "DPGRS_TEST_DRAWN_INTO", "DPGRS_TEST_CLOCK_OFF"
# What works in a fork of a warm Python too.
WARM = {KILL_AT, FULL_AT, DRAWN_INTO}

# By time, or by how a study was cut into jobs.
OF_RUNS = ("logs/", "benchmarks/", "made/settings/", "made/replicate1/shards/", "made/replicate2/shards/")
TIMED = ("provenance.json", ".snakemake_timestamp")

# A study of a few seconds that takes every step.
SMALL = {
    "study": "small",
    "cohort": {"chromosomes": ["21", "22"], "simulation": {"people": 90, "length": 100_000}},
    "variants": {"size": [10, 25]},
    "outcomes": {"count": [1, 3]},
    "methods": ["ols", "gblup", "reusecov-gauss", "blup"],
    "privacy": {"protection": ["full"], "accounting": ["gdp", "paper"]},
    "replicates": 2,
}


def command(folder, settings, *arguments, cores=2):
    """Return the command line that runs a study in `folder`, with its settings in a file there."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "study.yaml"
    config.write_text(yaml.safe_dump(settings))
    fixed = ["--snakefile", SNAKEFILE, "--directory", folder, "--configfile", config]
    return [SNAKEMAKE, *fixed, "--cores", str(cores), *arguments]


def run(folder, settings, *arguments, cores=2, check=True, is_warm=True, variables=None, packages=()):
    """Run a study as a user without an activated environment would; return the completed process.

    Standard output and error are joined, as on a console. `variables` are added to the environment. What they
    change but for `WARM`, and what is measured, is run without a warm Python (`warm_python.py`). `packages`
    are folders of packages that are installed beside dpgrs.
    """
    given = command(folder, settings, *arguments, cores=cores)
    is_warm = is_warm and not (variables or {}).keys() - WARM
    process = on_console(given, is_warm=is_warm, variables=variables, packages=tuple(packages))
    if check:
        assert process.returncode == 0, process.stdout
    return process


def on_console(command, *, is_warm, variables=None, folder=None, packages=()):
    """Run a command line that begins with `SNAKEMAKE`; return the completed process, its streams joined.

    It starts in `folder`, or in the folder of the tests; `packages` are as of `run`.
    """
    variables = environment(packages) | (variables or {})
    if is_warm and not variables.keys() & {STOP_AT, CLOCK_OFF}:
        program, found = warm_python_of_tests(packages)
        command, variables = [program, "-m", "snakemake", *command[1:]], variables | found
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(command, **streams, text=True, env=variables, check=False, cwd=folder)


def load_experiment(name):
    """Load a script of `config/experiments` as a module."""
    path = REPOSITORY / "config" / "experiments" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def environment(packages=()):
    """Return the environment without what an activated virtual environment or pytest adds.

    The first folder on PYTHONPATH makes the noise of a release a function of the code; see `every_process`.
    """
    added = ("PYTHON", "VIRTUAL_ENV", "COVERAGE", *ONE_THREAD)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(added)}
    own = str(Path(sys.executable).parent)
    kept["PATH"] = os.pathsep.join(part for part in kept["PATH"].split(os.pathsep) if part != own)
    return kept | {"PYTHONPATH": os.pathsep.join(map(str, [EVERY_PROCESS, *packages]))}


@cache
def warm_python_of_tests(packages):
    """Start one for this process, with the packages of a step and others, on one thread."""
    variables = environment((*packages, REPOSITORY / "workflow")) | dict.fromkeys(ONE_THREAD, "1")
    # What a test asks for now is for its own forks.
    return warm_python({name: value for name, value in variables.items() if name not in WARM})


def results(folder, study):
    """Return all results of a study as a dict of relative path to content, without what tells of time.

    Left out: logs, benchmarks, notes on shards, provenance.json, Snakemake's time stamps, digests, and every
    column `seconds`.
    """
    root = folder / "results" / study
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        is_timed = path.name in TIMED or name.removeprefix("private/").startswith(OF_RUNS)
        is_timeless = not is_timed and path.suffix != ".sha256"
        if path.is_file() and is_timeless:
            found[name] = _without_seconds(path) if path.suffix == ".tsv" else path.read_bytes()
    return found


def figures_reported(folder, settings, report, *targets):
    """Return, of each category of the report that Snakemake makes of a study, the file names and captions."""
    run(folder, settings, *targets, "--report", str(report))
    page = report.read_text()
    found, _ = json.JSONDecoder().raw_decode(page, page.index("{", page.index('var results = {"')))
    categories = {}
    for path, one in found.items():
        categories.setdefault(Path(path).parent.name, {})[one["name"]] = one["caption"]
    return categories


def _without_seconds(path):
    table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    return table.drop(columns="seconds", errors="ignore").to_csv(sep="\t")
