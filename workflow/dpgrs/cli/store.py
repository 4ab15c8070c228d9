"""Commands on haplotype stores."""

import click

from dpgrs.cli.options import path_argument


@click.group()
def store():
    """Haplotype stores, which `ingest-chromosome` writes."""


@store.command("verify")
@path_argument("store")
@path_argument("vcfs", nargs=-1, required=True, metavar="VCF...")
def verify_store(store, vcfs):
    """Read the VCF or BCF of a store, or its parts, again by other code, and compare every bit."""
    from dpgrs.io.store_check import check_store

    found = check_store(store, vcfs)
    click.echo(
        f"{store} holds what {', '.join(vcfs)} says: {found['n_variants']:,} variants of "
        f"{found['n_samples']:,} people, every site, every allele, and the counts."
    )
