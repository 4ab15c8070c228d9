"""Commands that bring results together: tables of trials, pages of a benchmark, records of a run."""

import click

from dpgrs.cli.options import output, settings


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
    from dpgrs.study.provenance import provenance

    write_json(output, provenance(read_json(settings), outputs))


COMMANDS = (write_settings, write_provenance)
