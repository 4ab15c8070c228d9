"""Commands on haplotype stores."""

import sys
from collections.abc import Callable
from typing import Any

import click

from dpgrs.cli.options import FiniteRange, path_argument, people_terms


@click.group()
def store() -> None:
    """Haplotype stores, which `ingest-chromosome` writes."""


@store.command("verify")
@path_argument("store")
@path_argument("genotypes", nargs=-1, required=True, metavar="FILE...")
def verify_store(store: str, genotypes: tuple[str, ...]) -> None:
    """Read the genotype files of a store again by other code, and compare every bit.

    FILE is a VCF, BCF, .bed, .pgen or .bgen; several are the parts of a chromosome.
    """
    from dpgrs.io.store_check import check_store

    counts = check_store(store, genotypes)
    click.echo(
        f"{store} holds what {', '.join(genotypes)} says: {counts['n_variants']:,} variants of "
        f"{counts['n_samples']:,} people, every site, every allele, and the counts."
    )


@store.command("resample")
@path_argument("store")
@path_argument("output")
@people_terms
@click.option(
    "--map", "genetic_map", type=click.Path(), help="Table of `position` and `cM`; default 1 cM/Mb."
)
@click.option(
    "--effective-size",
    type=FiniteRange(0, min_open=True),
    default=10_000.0,
    show_default=True,
    help="The larger, the shorter the stretches that are copied.",
)
@click.option(
    "--mutation",
    type=FiniteRange(0, 1, max_open=True),
    help="Chance of another allele; default Li and Stephens'.",
)
@click.pass_obj
def resample(
    context: dict[str, Any],
    store: str,
    output: str,
    table: str | None,
    genetic_map: str | None,
    effective_size: float,
    mutation: float | None,
    **options: Any,  # people, seed, populations and threads
) -> None:
    """Make many people from the few of a STORE: mosaics of their haplotypes, as private as these are."""
    from dpgrs.simulation.resampling import CopyingModel, resample_store

    options |= {"model": CopyingModel(effective_size, mutation), "genetic_map": genetic_map}
    make_people(context, resample_store, store, output, table, options)


def make_people(
    context: dict[str, Any],
    make: Callable[..., Any],  # makes the store, and returns a table of its people
    store: str,
    output: str,
    table: str | None,
    options: dict[str, Any],
) -> None:
    """Make a store of people with a progress bar, and their table if there is to be one."""
    from dpgrs.io.files import write_table
    from dpgrs.io.haplotype_store import HaplotypeStore

    n_variants = HaplotypeStore.open(store).n_variants
    options["n_threads"] = options.pop("threads")
    with click.progressbar(
        length=n_variants, label="Variants", file=sys.stderr, hidden=context["quiet"]
    ) as bar:
        populations = make(store, output, tell=bar.update, **options)
    if table:
        write_table(table, populations)
