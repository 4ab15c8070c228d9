"""Commands about the people of a study: who is in it, and which of their files its end leaves."""

import click

from dpgrs.cli.options import path_argument


@click.command()
@path_argument("study")
@click.option("--remove", is_flag=True, help="Remove the listed files.")
def closeout(study: str, remove: bool) -> None:
    """List, or remove, what a study derived from single people; STUDY is results/NAME.

    Bundle, statement, report, public files, settings, provenance and the ledger stay.
    """
    from dpgrs.steps import closeout as step

    derived, own_files = step.list_derived(study)
    for path in derived:
        click.echo(path)
    if remove:
        step.close_out(study)
    if derived:
        click.echo(f"{'Removed' if remove else 'Add --remove to remove'} all of these.", err=True)
    else:
        click.echo("Nothing derived from single people is left.", err=True)
    if own_files:
        click.echo(f"Your own files stay; whether they may is up to you: {', '.join(own_files)}", err=True)


@click.command("compare-people")
@path_argument("cohort", nargs=-1, required=True)
@click.option(
    "--reference",
    type=click.Path(),
    multiple=True,
    required=True,
    help="Genotype file of the public reference. May be repeated.",
)
def compare_people(cohort: tuple[str, ...], reference: tuple[str, ...]) -> None:
    """Count people of a COHORT who are in a public reference, by genotypes and whatever their ids.

    COHORT is one or several genotype files; one long chromosome of both is enough. Counts are printed for the
    operator only, and nothing is written. A release compares ids only, and does not run this comparison.
    """
    from dpgrs.io.same_people import count_same_people

    for line in count_same_people(cohort, reference).in_words():
        click.echo(line)


COMMANDS = (closeout, compare_people)
