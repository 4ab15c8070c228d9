"""The command that applies scores to people."""

import json
from typing import Any

import click

from dpgrs.cli.options import AT_LEAST_1, FiniteRange, path_argument, path_option


@click.command()
@path_argument("target", nargs=-1, required=True)
@click.option(
    "--score",
    "scores",
    type=click.Path(),
    multiple=True,
    required=True,
    help="Bundle of a release, scoring file as of the PGS Catalog, or folder of such. May be repeated.",
)
@path_option("--output", "Folder to write.")
@click.option("--genome-build", help="GRCh37 or GRCh38, of the target, where its header does not say it.")
@click.option(
    "--frequencies", type=click.Path(), help="Public frequencies, such as the `sites.tsv` of a study."
)
@click.option("--field", type=click.Choice(["GT", "DS"]), default="GT", help="Calls, or dosages.")
@click.option(
    "--min-matched",
    type=FiniteRange(0, 1),
    default=0.75,
    show_default=True,
    help="Least share of a score's variants that must be in the target.",
)
@click.option(
    "--duplicates",
    type=click.Choice(["refuse", "first", "sum"]),
    default="refuse",
    show_default=True,
    help="If a score lists a variant twice: refuse it, count the first row, or count all rows.",
)
@click.option("--drop-ambiguous", is_flag=True, help="Leave A/T and C/G out, rather than take them as given.")
@click.option("--match-only", is_flag=True, help="Write the match of each variant, and score nobody.")
@click.option(
    "--reference",
    type=click.Path(),
    multiple=True,
    help="Public panel, as TARGET or a store of a study: adds Z, Z_norm1 and Z_norm2. May be repeated.",
)
@click.option(
    "--components",
    type=AT_LEAST_1,
    default=4,
    show_default=True,
    help="Principal components of the reference that adjust scores.",
)
@click.option("--populations", type=click.Path(), help="Table of `sample` and `population`, for the page.")
@click.option(
    "--threads",
    type=AT_LEAST_1,
    default=2,
    show_default=True,
    help="Threads; the result does not depend on them.",
)
@click.option("--json", "is_json", is_flag=True, help="Print the summary as JSON.")
def score(
    target: tuple[str, ...],
    scores: tuple[str, ...],
    drop_ambiguous: bool,
    match_only: bool,
    reference: tuple[str, ...],
    is_json: bool,
    **options: Any,  # as of `score_people`
) -> None:
    """Score the people of TARGET: VCF (or BCF, VCF Zarr), PLINK or BGEN, one file or several.

    The folder holds scores.tsv.gz, a row for each person; match.tsv.gz, what became of each variant;
    summary.json; with a reference reference.tsv.gz, its own people; and report/index.html, distributions,
    which figures/ holds as SVG.
    """
    from dpgrs.genotypes.compiled import numba
    from dpgrs.scoring.writing import notes
    from dpgrs.steps.score import score_people

    if numba is None:
        click.echo("Without numba and pyarrow this takes longer: pip install 'dpgrs[score]'", err=True)
    options |= {"keeps_ambiguous": not drop_ambiguous, "only_match": match_only}
    summary = score_people(target, scores, reference=list(reference) or None, **options)
    if is_json:
        click.echo(json.dumps(summary, indent=2))
    else:
        for line in notes(summary):
            click.echo(line)
