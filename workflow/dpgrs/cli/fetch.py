"""The commands that fetch public files; no other command uses the network."""

import json
from typing import Any

import click

from dpgrs.cli.options import output


@click.command()
@click.argument("url")
@click.option("--manifest", required=True, help="File or address of the publisher's list of checksums.")
@output
@click.pass_obj
def fetch(context: dict[str, Any], url: str, manifest: str, output: str) -> None:
    """Fetch a public file, resumed where it broke off; it appears only with the right checksum."""
    from dpgrs.fetching.files import fetch_file

    fetched = fetch_file(url, manifest=manifest, output=output, progress=not context["quiet"])
    click.echo(json.dumps(fetched), err=True)


@click.command()
@click.argument("url")
@output
@click.pass_obj
def fetch_manifest(context: dict[str, Any], url: str, output: str) -> None:
    """Fetch a publisher's list of checksums."""
    from dpgrs.fetching import files

    fetched = files.fetch_manifest(url, output=output, progress=not context["quiet"])
    click.echo(json.dumps(fetched), err=True)


COMMANDS = (fetch, fetch_manifest)
