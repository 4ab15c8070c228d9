"""Commands on the quality of genotypes, for benchmarks alone: they look at single people."""

import click

from dpgrs.cli_options import CLASSES, FiniteRange, output, path_argument, seed, variant_filters


@click.command()
@path_argument("stores", nargs=-1, required=True)
@click.option("--populations", type=click.Path(), help="Table of sample and population.")
@click.option("--maf", type=FiniteRange(0, 0.5), required=True, help="Smallest frequency.")
@variant_filters
@seed
@output
def summarise_genotypes(stores, classes, **options):
    """Measure heterozygosity, F_ST, principal components and linkage of a benchmark's people."""
    from dpgrs.steps import qc

    qc.summarise_genotypes(stores, **options, classes=classes or CLASSES)


COMMANDS = (summarise_genotypes,)
