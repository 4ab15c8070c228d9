"""Commands of several centres and their coordinator: exact sums leave a centre encrypted, and are added."""

import click

from dpgrs.cli.options import path_argument, path_option


@click.group()
def centre() -> None:
    """Several centres, one release: sums of each centre, encrypted to a coordinator who adds them."""


@centre.command("key")
@path_argument("path", metavar="FILE")
def create_key(path: str) -> None:
    """Make the coordinator's key pair in a new file, as `age-keygen` does."""
    from dpgrs.privacy.age_files import create_age_key

    click.echo(
        f"Public key: {create_age_key(path)}. Give it to the centres by a way on which nobody can replace it."
    )


@centre.command("export")
@path_argument("study", metavar="STUDY")
@click.option("--name", required=True, help="Public name of the centre: letters, digits, `_` and `-`.")
@click.option("--to", "public_key", required=True, help="Public key of the coordinator, `age1...`.")
def export(study: str, name: str, public_key: str) -> None:
    """Encrypt the exact sums of a centre; STUDY is results/NAME, with `cohort.part: true`.

    Writes STUDY/private/NAME.age.
    """
    from dpgrs.steps import export_sums as step

    path, digest = step.export(study, name=name, public_key=public_key)
    click.echo(f"Wrote {path}. Send it, and tell its SHA-256 by another way: {digest}")


@centre.command("combine")
@path_argument("exports", metavar="EXPORT...", nargs=-1, required=True)
@path_option("--key", "File of the key pair that the exports were encrypted to.")
@path_option("--output", "Where to write the sums, exact and in the clear: for `cohort.sums`.")
def combine(exports: tuple[str, ...], key: str, output: str) -> None:
    """Add the sums of centres, each in once; nothing is drawn or charged."""
    from dpgrs.steps import export_sums as step

    for name, path, digest in step.combine(exports, key=key, output=output):
        click.echo(f"{name}: {path}, SHA-256 {digest}")
    click.echo(f"Wrote {output}. Compare each SHA-256 with what its centre says, before a release takes it.")
