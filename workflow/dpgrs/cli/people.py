"""Commands about the people of a study: who is in it, and what of them is left when it ends."""

import click

from dpgrs.cli.options import path_argument


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


COMMANDS = (closeout,)
