"""Commands of those who answer for a dataset: the study key and the ledger."""

import json
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any

import click

from dpgrs.cli.options import AT_LEAST_1, FiniteRange, account_terms, path_argument

# A plan of so many variants takes several seconds a request.
SLOW_PLAN, SECONDS_UNTIL_PROGRESS = 1000, 5


@click.group()
def key() -> None:
    """The secret study key, in the file that DPGRS_STUDY_KEY names."""


@key.command("create")
def create_key() -> None:
    """Make the study key, once."""
    from dpgrs.privacy.noise.study_key import create_study_key

    click.echo(
        f"Made the study key {create_study_key()}. Keep a copy: a lost key costs every replay. Show it to "
        "nobody: who has it can take the noise off every release."
    )


@click.group()
def ledger() -> None:
    """Privacy budgets of a dataset, and what its releases have cost."""


@ledger.command("init")
@path_argument("path")
@click.option(
    "--accession",
    required=True,
    help="Accession or cohort without a version: phs000688, not phs000688.v1.p1.",
)
@click.option("--consent", required=True, help="Consent group, as in `dataset.consent` of the study.")
@click.option(
    "--people-at-most",
    type=click.IntRange(1, 10**10),
    help="Public bound on the people in all versions of the dataset; delta must be at most one over it.",
)
@account_terms
def init_ledger(
    path: str,
    protection: str,
    unit: str,
    neighbours: str,
    **options: Any,  # consent, accession, people at most and the budget
) -> None:
    """Begin the ledger of a dataset, with one account."""
    from dpgrs.privacy.ledger.entries import Account
    from dpgrs.privacy.ledger.ledger import start_ledger
    from dpgrs.reporting.ledger import describe_account

    account = Account(protection, unit, neighbours)
    book = start_ledger(path, account=account, **options)
    dataset = f"{options['accession']}, consent group {options['consent']}"
    click.echo(f"Made the ledger {path} of {dataset}. {describe_account(book, account)}")


@ledger.command("add-account")
@path_argument("path")
@account_terms
def add_account(
    path: str,
    protection: str,
    unit: str,
    neighbours: str,
    beyond_20: str | None,
    **options: str | None,  # of the budget
) -> None:
    """Open one more account in a ledger."""
    from dpgrs.privacy.ledger.entries import Account, make_budget
    from dpgrs.privacy.ledger.ledger import Ledger
    from dpgrs.reporting.ledger import describe_account

    account, ledger = Account(protection, unit, neighbours), Ledger(path)
    ledger.open_account(account, make_budget(**options), beyond_20=beyond_20)
    click.echo(f"Opened an account in the ledger {path}. {describe_account(ledger.read(), account)}")


@ledger.command("show")
@path_argument("path")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def show_ledger(path: str, is_json: bool) -> None:
    """Show accounts and requests."""
    from dpgrs.reporting.ledger import describe_ledger, summarise_ledger

    click.echo(json.dumps(summarise_ledger(path), indent=2) if is_json else describe_ledger(path))


@ledger.command("verify")
@path_argument("path")
def verify_ledger_file(path: str) -> None:
    """Read a ledger again by another route, and add its costs up anew."""
    from dpgrs.privacy.ledger.verify import verify_ledger

    click.echo(json.dumps(verify_ledger(path)))


@ledger.command("repair")
@path_argument("path")
def repair_ledger(path: str) -> None:
    """Cut off a torn last line, on which nothing was drawn."""
    from dpgrs.privacy.ledger.hash_chain import repair

    click.echo(json.dumps({"bytes_cut": repair(path)}))


@click.command()
@path_argument("path", metavar="CONFIG")
@click.option(
    "--config", "changes", multiple=True, metavar="KEY=VALUE", help="Setting to change. May be repeated."
)
@click.option(
    "--people",
    type=AT_LEAST_1,
    help="Assumed number of people; default: `cohort.planned_people`, or of a simulated cohort.",
)
@click.option(
    "--heritability",
    "heritabilities",
    type=FiniteRange(0, 1),
    multiple=True,
    help="Assumed share of variance that the variants explain; default: as configured. May be repeated.",
)
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def plan(
    context: dict[str, Any],
    path: str,
    changes: tuple[str, ...],
    is_json: bool,
    **assumed: Any,  # people and heritabilities
) -> None:
    """Estimate the privacy cost and accuracy of a study, before any private data are read.

    CONFIG is a file or a stream: `/dev/stdin`, `<(...)`.
    """
    from dpgrs.planning.plan import plan_study
    from dpgrs.reporting.plan import plan_as_text
    from dpgrs.study.settings_files import read_settings

    progress = iter if context["quiet"] else _with_progress
    planned = plan_study(read_settings(path, changes=changes), progress=progress, **assumed)
    click.echo(json.dumps(planned, indent=2) if is_json else plan_as_text(planned))


def _with_progress(requests: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the requests of a plan; where they take long, print the cost of each before its R2 is known."""
    from dpgrs.reporting.plan import answer
    from dpgrs.statement.method_choice import MOST_PLANNED

    begin = monotonic()
    for request in requests:
        is_slow = SLOW_PLAN <= request["n_variants"] <= MOST_PLANNED
        if is_slow or monotonic() - begin > SECONDS_UNTIL_PROGRESS:
            click.echo(f"{answer(request)} Working out what R2 to expect.", err=True)
        yield request


@click.group()
def release() -> None:
    """Check the bundle of a release, or prepare its submission."""


@release.command("verify")
@path_argument("directory")
@click.option(
    "--reference",
    type=click.Path(),
    help="Folder `public` of the study: score its public people by the weights, and compare the sums.",
)
@click.option(
    "--ld",
    type=click.Path(),
    help="File `truncated_ld.npz` beside the bundle: compare the effects of single variants with it.",
)
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def verify_bundle(directory: str, reference: str | None, ld: str | None, is_json: bool) -> None:
    """Check a bundle offline: digests, formats, privacy arithmetic, statistics, R^2 on public people."""
    from dpgrs.verify.bundle import verdict, verify_release

    report = verify_release(directory, reference=reference, ld=ld)
    # The program's own fits are loaded for a bundle in which nothing is wrong.
    from dpgrs.release.open_release import refits

    report |= {"refits": refits(directory)}
    click.echo(json.dumps(report, indent=2) if is_json else verdict(report))


@release.command("submission")
@path_argument("directory")
@click.option(
    "--output",
    type=click.Path(),
    default="submission.xlsx",
    show_default=True,
    help="Workbook to write; a .txt beside it lists what you must add.",
)
def submit_bundle(directory: str, output: str) -> None:
    """Fill the PGS Catalog's submission template from a bundle, and list what only the curator knows."""
    from dpgrs.release.submission import write_submission

    click.echo(f"Wrote {output}.\n{write_submission(directory, output).notes}", nl=False)
