"""Commands that make covariates, one verb per step."""

import click

from dpgrs.cli_options import AT_LEAST_1, POSITIVE, choice, output, path_argument, people_counts
from dpgrs.types import Rows

rows = click.option("--rows", type=choice(Rows), required=True, help="What a row of the genotypes is.")


@click.command("make-loadings")
@path_argument("panel")
@rows
@click.option("--components", "n_components", type=AT_LEAST_1, required=True, help="Number of components.")
@output
def make_loadings(panel, **options):
    """Find the principal components of public people."""
    from dpgrs.steps import loadings

    loadings.make_loadings(panel, **options)


@click.command("make-covariates")
@path_argument("panel")
@rows
@click.option("--bound", type=POSITIVE, required=True, help="Public bound in standard deviations.")
@click.option("--table", type=click.Path(), help="Table of covariates.")
@click.option("--column", "names", multiple=True, help="Column of the table to use. May be repeated.")
@click.option("--scales", type=click.Path(), help="Table of the public constants that standardise them.")
@click.option("--loadings", type=click.Path(), help="Loadings of principal components, from make-loadings.")
@click.option("--is-release", is_flag=True, help="Say of a failure that it depends on private data.")
@people_counts
@output
def make_covariates(panel, table, scales, names, loadings, **options):
    """Standardise, clip and round covariates, and project genotypes on principal components."""
    if table is None and loadings is None:
        raise click.UsageError("Give --table with --scales and --column, --loadings, or both.")
    if (table is None) != (scales is None) or (table is None) != (not names):
        raise click.UsageError("Give all or none of: --table, --scales and --column.")
    from dpgrs.steps import covariates

    covariates.make_covariates(panel, table=table, scales=scales, names=names, loadings=loadings, **options)


COMMANDS = (make_loadings, make_covariates)
