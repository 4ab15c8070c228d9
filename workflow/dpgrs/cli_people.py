"""Commands about the people of a study: who is in it, and what of them is left when it ends."""

import click

from dpgrs.cli_options import POSITIVE, output, path_argument


@click.command()
@path_argument("genotypes", nargs=-1, required=True)
@click.option("--keep", type=click.Path(), help="List of ids: nobody else is taken.")
@click.option("--remove", type=click.Path(), help="List of ids to leave out.")
@click.option("--consent", type=click.Path(), help="Table of ids and consent codes.")
@click.option("--consent-column", default="consent", show_default=True, help="Its column of codes.")
@click.option("--allow", multiple=True, help="Consent code that lets a person in; may be repeated.")
@click.option("--related", type=click.Path(), help="List of ids to leave out, or table of related pairs.")
@click.option(
    "--kinship", type=POSITIVE, default=0.0884, show_default=True, help="Above it a pair is related."
)
@click.option("--counts", type=click.Path(), help="Where to write counts by reason, JSON; not in a release.")
@output
def choose_people(genotypes, **options):
    """Choose the people of a study by lists of ids, consent and kinship."""
    from dpgrs.steps import people

    people.choose_study_people(genotypes, **options)


@click.command()
@path_argument("study")
@click.option("--remove", is_flag=True, help="Remove what is listed.")
def closeout(study, remove):
    """List, or remove, what a study derived from single people; STUDY is results/NAME.

    Bundle, statement, report, public files, settings, provenance and the ledger stay.
    """
    from dpgrs.steps import closeout as step

    derived, own = step.list_derived(study)
    for path in derived:
        click.echo(path)
    if remove:
        step.close_out(study)
    if derived:
        click.echo(f"{'Removed' if remove else 'Add --remove to remove'} all of these.", err=True)
    else:
        click.echo("Nothing derived from single people is left.", err=True)
    if own:
        click.echo(f"Your own files stay; whether they may is up to you: {', '.join(own)}", err=True)


COMMANDS = (choose_people, closeout)
