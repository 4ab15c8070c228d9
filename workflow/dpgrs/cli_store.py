"""Commands on haplotype stores."""

import click

from dpgrs.cli_options import path_argument


@click.group()
def store():
    """Haplotype stores, which `ingest-chromosome` writes."""


@store.command("verify")
@path_argument("store")
@path_argument("vcf")
def verify_store(store, vcf):
    """Read the VCF of a store again by other code, and compare every bit."""
    from dpgrs.io.store_check import check_store

    found = check_store(store, vcf)
    click.echo(
        f"{store} holds what {vcf} says: {found['n_variants']:,} variants of {found['n_samples']:,} people, "
        "every site, every allele, and the counts."
    )
