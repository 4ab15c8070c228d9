"""Whole studies: the workflow from where the package has its rules."""

import os
import sys
from importlib.util import find_spec

import click

FOR_SNAKEMAKE = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


@click.command("run", context_settings=FOR_SNAKEMAKE)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF SNAKEMAKE]...")
def run(options):
    """Run a study in this folder, such as dpgrs run --cores 2 --configfile my-study.yaml."""
    run_snakemake(*options)


@click.command("demo", context_settings=FOR_SNAKEMAKE)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF SNAKEMAKE]...")
def demo(options):
    """Run the demo study in this folder on all cores: simulated people, about two minutes."""
    run_snakemake("--cores", "all", *options)


def run_snakemake(*options):
    """Become Snakemake, with the rules of this clone or installation; settings are those of `options`."""
    from dpgrs.study.code import SNAKEFILE

    if find_spec("snakemake") is None:
        raise ModuleNotFoundError("Snakemake is not installed", name="snakemake")
    # Of no module in the folder where it runs (-P).
    command = [sys.executable, "-P", "-m", "snakemake", "--snakefile", str(SNAKEFILE), *options]
    os.execv(sys.executable, command)
