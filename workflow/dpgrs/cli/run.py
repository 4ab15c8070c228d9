"""Whole studies: the workflow from where the package has its rules."""

import os
import shutil
import sys
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import click

from dpgrs.errors import UsageError

SHIPPED = ("config/*.yaml", "workflow/profiles/*/config.yaml")
FOR_SNAKEMAKE = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


@click.command("run", context_settings=FOR_SNAKEMAKE)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF SNAKEMAKE]...")
def run(options):
    """Run a study in this folder, such as dpgrs run --cores 2 --configfile my-study.yaml."""
    run_snakemake(*options)


@click.command("demo", context_settings=FOR_SNAKEMAKE)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF SNAKEMAKE]...")
def demo(options):
    """Run the demo study in this folder on all cores: simulated people, about a minute on two cores."""
    run_snakemake("--cores", "all", *options)


@click.command("init")
def init():
    """Put the shipped configurations and profiles into this folder, to start studies of your own from."""
    from dpgrs.study.code import SNAKEFILE

    root = SNAKEFILE.parents[1]
    files = [path.relative_to(root) for pattern in SHIPPED for path in sorted(root.glob(pattern))]
    if there := next((path for path in files if path.exists()), None):
        raise UsageError(f"`{there}` is there already. Run `dpgrs init` in a new folder.")
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, path)
    click.echo("\n".join(map(str, files)))


def run_snakemake(*options):
    """Become Snakemake, with the rules of this clone or installation; settings are those of `options`.

    Raises
    ------
    UsageError
        If a configuration cannot be read, or a profile is missing, of which Snakemake would say nothing.
    """
    from dpgrs.study.code import SNAKEFILE

    require_files(options)
    if find_spec("snakemake") is None:
        raise ModuleNotFoundError("Snakemake is not installed", name="snakemake")
    # Of no module in the folder where it runs (-P).
    command = [sys.executable, "-P", "-m", "snakemake", "--snakefile", str(SNAKEFILE), *options]
    os.execv(sys.executable, command)


def require_files(options):
    """Look at the configurations and the workflow's profile that options of Snakemake name."""
    from dpgrs.study.settings_files import read_settings

    for path in _values(options, "--configfile", "--configfiles"):
        # What can be read but once, as a pipe, is Snakemake's to read.
        if Path(path).is_file() or not Path(path).exists():
            read_settings(path)
    for path in _values(options, "--workflow-profile"):
        if path != "none" and not Path(path).is_dir():
            raise UsageError(
                f"`--workflow-profile` must be a folder or `none`, got `{path}`, which is not there. Correct "
                "the path; `dpgrs init` puts `workflow/profiles/slurm` into a folder."
            )


def _values(options, *names):
    """Return the values of options, each behind its name or behind ``=``."""
    found = []
    for place, option in enumerate(options):
        name, has_value, value = option.partition("=")
        if name in names:
            behind = takewhile(lambda one: not one.startswith("-"), options[place + 1 :])
            found += [value] if has_value else behind
    return found
