"""Whole studies: the workflow from where the package has its rules."""

import os
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import NoReturn

import click

from dpgrs.errors import UsageError

SHIPPED = ("config/*.yaml", "workflow/profiles/*/config.yaml")
FOR_SNAKEMAKE = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


@click.command("run", context_settings=FOR_SNAKEMAKE)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF SNAKEMAKE]...")
def run(options: tuple[str, ...]) -> None:
    """Run a study in this folder, such as dpgrs run --cores 2 --configfile my-study.yaml."""
    run_snakemake(*options)


@click.command("demo", context_settings=FOR_SNAKEMAKE)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF SNAKEMAKE]...")
def demo(options: tuple[str, ...]) -> None:
    """Run the demo study in this folder on all cores: simulated people, about a minute on two cores."""
    run_snakemake("--cores", "all", *options)


@click.command("init")
def init() -> None:
    """Put the shipped configurations and profiles into this folder, to start studies of your own from."""
    from dpgrs.study.code import SNAKEFILE

    root = SNAKEFILE.parents[1]
    files = [path.relative_to(root) for pattern in SHIPPED for path in sorted(root.glob(pattern))]
    if there := next((path for path in files if path.exists()), None):
        raise UsageError("file-exists", f"`{there}` is there already. Run `dpgrs init` in a new folder.")
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, path)
    click.echo("\n".join(map(str, files)))


def run_snakemake(*options: str) -> NoReturn:
    """Become Snakemake, with the rules of this clone or installation; settings are in `options`.

    A configuration that cannot be read, and a missing profile, which Snakemake would not report, are a
    UsageError.
    """
    from dpgrs.study.code import SNAKEFILE

    require_files(options)
    if find_spec("snakemake") is None:
        raise ModuleNotFoundError("Snakemake is not installed", name="snakemake")
    # -P: no module comes from the folder where it runs.
    command = [sys.executable, "-P", "-m", "snakemake", "--snakefile", str(SNAKEFILE), *options]
    os.execv(sys.executable, command)


def require_files(options: Sequence[str]) -> None:
    """Refuse configurations and profiles that options of Snakemake name and that cannot be read."""
    from dpgrs.study.settings_files import read_settings

    for path in _option_values(options, "--configfile", "--configfiles"):
        # Only Snakemake reads a pipe, which can be read only once.
        if Path(path).is_file() or not Path(path).exists():
            read_settings(path)
    for path in _option_values(options, "--workflow-profile"):
        if path != "none" and not Path(path).is_dir():
            raise UsageError(
                "profile-missing",
                f"`--workflow-profile` must be a folder or `none`, got `{path}`, which is not there. Correct "
                "the path; `dpgrs init` puts `workflow/profiles/slurm` into a folder.",
            )


def _option_values(options: Sequence[str], *names: str) -> list[str]:
    """Return the values of options, each behind its name or behind ``=``."""
    listed = []
    for index, option in enumerate(options):
        name, has_value, text = option.partition("=")
        if name in names:
            behind = takewhile(lambda word: not word.startswith("-"), options[index + 1 :])
            listed += [text] if has_value else behind
    return listed
