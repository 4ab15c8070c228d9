"""Commands of the experiments of the papers, as `config/experiments/Snakefile` calls them."""

import json

import click

from dpgrs.cli.options import AT_LEAST_1, path_argument


@click.group()
def experiment():
    """Figures and tables of the papers, one trial at a time."""


@experiment.command("trial")
@click.argument("name")
@click.argument("part")
@click.argument("trial", type=AT_LEAST_1)
@path_argument("files", nargs=-1)
@click.option("--settings", required=True, help="Seed and grid, as JSON.")
@click.option("--output", type=click.Path(), required=True, help="Table to write.")
def run_one_trial(name, part, trial, files, settings, output):
    """Run one trial of one part, on the FILES of that part."""
    from dpgrs.experiments.results import run_trial

    run_trial(name, part, trial, settings=json.loads(settings), files=files, output=output)


@experiment.command("gather")
@click.argument("name")
@path_argument("folder")
@click.option("--terms", required=True, help="Parts, trials, seed and grid, as JSON.")
def gather_trials(name, folder, terms):
    """Write table, figures, page and summary of the trials in a FOLDER."""
    from dpgrs.experiments.results import gather

    gather(name, folder=folder, terms=json.loads(terms))
