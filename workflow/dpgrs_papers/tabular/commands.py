"""The commands for plain tables."""

import json
import math
from collections.abc import Callable
from typing import Any

import click

from dpgrs.cli.options import SHARE, choice, path_option
from dpgrs.types import Neighbours, Selection
from dpgrs_papers.tabular.table_methods import tabular_methods
from dpgrs_papers.types import DepthCheck, LassoScaling, TableSelector


def _shown(*names: str, help: str, **options: Any) -> Callable:
    """Return the decorator of an option whose default the help shows."""
    return click.option(*names, help=help, show_default=True, **options)


# Ranges that depend on the table, or would let nan pass, are checked with it, and refused in one line.
@click.command()
@path_option("--csv", "Table with names in its first line; commas, tabs or semicolons, plain or gzipped.")
@click.option("--target", help="Column of outcomes; default: the last column that is not dropped.")
@click.option("--one-hot", default="", help="Columns of labels, by commas; each level becomes a feature.")
@click.option("--drop", default="", help="Columns to leave out, by commas, such as sample ids.")
@click.option("--method", type=click.Choice(tabular_methods()), required=True, help="Method to fit.")
@_shown("--k", type=int, default=5, help="Number of features that k-, l- and s- methods choose.")
@_shown("--epsilon", type=float, default=round(math.log(3), 4), help="Privacy loss of one replicate in all.")
@_shown("--delta", type=float, default=1e-5, help="Delta of (epsilon, delta).")
@_shown(
    "--replicates", type=click.IntRange(1, 10_000), default=10, help="Random splits, each with own noise."
)
@_shown("--seed", type=click.IntRange(min=0), default=1, help="Public seed of splits and noise.")
@_shown("--neighbours", type=choice(Neighbours), default="add-remove", help="Data sets compared.")
@_shown("--count-share", type=float, default=0.05, help="Share of epsilon for the number of rows.")
@_shown("--screening-share", type=float, default=0.05, help="Share of epsilon to choose features.")
@click.option(
    "--rows-per-coefficient",
    type=float,
    help="Mean rows of a Tukey model for each of its coefficients; default: 1 to 2, by the number of rows.",
)
@_shown("--check", type=choice(DepthCheck), default="tight", help="Check of the Tukey mechanism.")
@_shown("--law", type=choice(Selection), default="permute-and-flip", help="Noise of private choices.")
@_shown("--lasso-penalty", type=float, default=0.1, help="Penalty of the Lasso of an l- method.")
@_shown("--lasso-scaling", type=choice(LassoScaling), default="standardised", help="Columns of that Lasso.")
@_shown("--test-share", type=SHARE, default=0.1, help="Share of rows to test on.")
@click.option("--scale", help="Table of public column, centre, scale; `data`: the rows' own, not private.")
@click.option(
    "--ranges", type=click.Path(), help="Table of public column, low, high, for a study of the table."
)
@click.option("--set", "settings", multiple=True, help="KEY=VALUE, a setting of that study; can be repeated.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def tabular(
    csv: str, one_hot: str, drop: str, lasso_penalty: float, lasso_scaling: str, is_json: bool, **options: Any
) -> None:
    """Try private regression, with or without a private choice of features, on a plain table."""
    from dpgrs_papers.selection.lasso import LassoTerms
    from dpgrs_papers.tabular.replicates import as_text, caveats, run_tabular

    options["lasso"] = LassoTerms(lasso_penalty, LassoScaling(lasso_scaling))
    result = run_tabular(csv, one_hot=_names(one_hot), drop=_names(drop), **options)
    for line in caveats(result):
        click.echo(line, err=True)
    click.echo(json.dumps(result, indent=2, allow_nan=False) if is_json else as_text(result))


@click.command("choose")
@path_option("--csv", "Table, as for `tabular`.")
@click.option("--target", help="Column of outcomes; default: the last column that is not dropped.")
@click.option("--one-hot", default="", help="Columns of labels, by commas; each level becomes a feature.")
@click.option("--drop", default="", help="Columns to leave out, by commas, such as sample ids.")
@click.option("--selector", type=choice(TableSelector), required=True, help="How features are chosen.")
@_shown("--k", type=int, default=5, help="Features to choose.")
@_shown("--epsilon", type=float, default=1.0, help="Privacy loss of all k together.")
@click.option(
    "--bounds", help="For sis: table of public column, centre, scale; `data`: the rows' own, not private."
)
@_shown("--replicates", type=click.IntRange(1, 10_000), default=10, help="Choices, each with own noise.")
@_shown("--seed", type=click.IntRange(min=0), default=1, help="Public seed of the noise.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def choose_features(csv: str, one_hot: str, drop: str, is_json: bool, **options: Any) -> None:
    """Try a private choice of features by DP-SIS or two-stage on a plain table."""
    from dpgrs_papers.tabular.table_choices import as_text, caveats, choose_from_table

    result = choose_from_table(csv, one_hot=_names(one_hot), drop=_names(drop), **options)
    for line in caveats(result):
        click.echo(line, err=True)
    click.echo(json.dumps(result, indent=2, allow_nan=False) if is_json else as_text(result))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
