"""Commands that bring results together: tables of trials, pages of a benchmark, records of a run."""

import click

from dpgrs.cli_options import covariates, output, path_argument, processes, settings


@click.command()
@path_argument("tables", nargs=-1, required=True)
@output
def collect_tables(tables, output):
    """Join the tables of all trials."""
    from dpgrs.steps import collect

    collect.collect_tables(tables, output=output)


@click.command()
@path_argument("metrics")
@path_argument("population_metrics")
@path_argument("panel")
@path_argument("outcomes")
@path_argument("statistics")
@path_argument("weights")
@settings
@click.option("--attacks", type=click.Path(), help="Table of attacks.")
@click.option("--choices", type=click.Path(), help="Variants that were chosen.")
@click.option("--people", type=click.Path(), help="Counts of people who were left out, JSON.")
@click.option("--people-counts", type=click.Path(), multiple=True, help="Counts of people in tables.")
@click.option("--qc", type=click.Path(), help="Table of what became of all variants.")
@click.option("--genotypes", type=click.Path(), help="Summary of the genotypes; with --qc it gets a page.")
@covariates
@processes
@output
def render_report(**options):
    """Write the pages of a benchmark: the overview and one page per outcome."""
    from dpgrs.steps import report

    report.render_report(**options)


@click.command()
@click.argument("settings", metavar="JSON")
@output
def write_settings(settings, output):
    """Record the resolved settings of a study."""
    from dpgrs.io.files import write_text

    write_text(output, f"{settings}\n")


@click.command()
@settings
@click.option("--metrics", "outputs", type=click.Path(), multiple=True, help="Results to digest.")
@output
def write_provenance(settings, outputs, output):
    """Record versions, commit, command, settings and digests of a run."""
    from dpgrs.io.json_files import read_json, write_json
    from dpgrs.provenance import provenance

    write_json(output, provenance(read_json(settings), outputs))


COMMANDS = (collect_tables, render_report, write_settings, write_provenance)
