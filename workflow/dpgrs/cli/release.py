"""Commands of a release, one verb per step: what is charged, measured, bundled and shown."""

import click

from dpgrs.cli.options import (
    JSON_OBJECT,
    POSITIVE,
    covariates,
    events,
    output,
    path_argument,
    path_option,
    processes,
    request_terms,
)
from dpgrs.methods.registry import RELEASED


@click.command()
@path_argument("statistics")
@path_argument("outcomes")
@path_option("--sites", "Public sites.")
@path_option("--ledger", "Ledger of the dataset; it is charged.")
@click.option(
    "--identity", type=JSON_OBJECT, required=True, help="Public settings that define the data, JSON."
)
@click.option("--method", type=click.Choice(RELEASED), default=RELEASED[0], help="Whose statistics to draw.")
@click.option("--loadings", type=click.Path(), help="Public loadings of principal components.")
@request_terms
@events
@output
def release_statistics(statistics, outcomes, **options):
    """Release statistics with secret noise, charged to the ledger before it is drawn."""
    from dpgrs.steps import noise

    noise.release_statistics(statistics, outcomes, **options)


@click.command()
@path_argument("noisy")
@path_argument("outcomes")
@path_argument("weights")
@path_argument("seconds")
@path_option("--accuracy", "Where to write the noisy sums behind the metrics.")
@click.option("--epsilon", type=POSITIVE, help="Privacy loss of the metrics; default: withhold them.")
@click.option("--residual-bound", type=POSITIVE, help="Public bound of every residual.")
@click.option("--fit", type=JSON_OBJECT, help="Public settings of the fit, JSON.")
@click.option("--panel", type=click.Path(), help="Panel, to measure on the people held out.")
@click.option("--sites", type=click.Path(), help="Public sites.")
@click.option("--ledger", type=click.Path(), help="Ledger of the dataset; it is charged.")
@click.option("--identity", type=JSON_OBJECT, help="Public settings that define the data, JSON.")
@covariates
@click.option("--loadings", type=click.Path(), help="Public loadings of principal components.")
@events
@output
def release_metrics(
    noisy, outcomes, weights, seconds, output, accuracy, events, covariates, loadings, **charge
):
    """Measure a release on people held out, at a charge, or withhold its metrics."""
    from dpgrs.steps import accuracy as step

    written = {"output": output, "accuracy": accuracy, "events": events}
    given = [name for name, value in charge.items() if value is not None]
    if not given:
        step.withhold_metrics(noisy, outcomes, weights, seconds, **written)
    elif len(given) < len(charge):
        raise click.UsageError(
            "Give all or none of: --epsilon, --residual-bound, --fit, --panel, --sites, --ledger and "
            "--identity."
        )
    else:
        charge |= {"covariates": covariates, "loadings": loadings}
        step.release_metrics(noisy, outcomes, weights, seconds, **written, **charge)


@click.command()
@path_argument("noisy")
@path_argument("outcomes")
@path_argument("weights")
@path_argument("seconds")
@path_option("--panel", "Panel of the public people.")
@path_option("--ledger", "Ledger of the dataset; it is read.")
@click.option("--fit", type=JSON_OBJECT, required=True, help="Public settings of the fit, JSON.")
@covariates
@events
@path_option("--accuracy", "Where to write the numbers behind the metrics.")
@output
def public_metrics(noisy, outcomes, weights, seconds, **options):
    """Measure a release on public people, at no cost."""
    from dpgrs.steps import accuracy

    accuracy.public_metrics(noisy, outcomes, weights, seconds, **options)


@click.command()
@path_argument("bundle")
@path_argument("sites")
@path_argument("metrics")
@processes
@output
def render_release_report(bundle, sites, metrics, **options):
    """Write the pages of a release, from its bundle and public files alone."""
    from dpgrs.steps import release_report

    release_report.render_release_report(bundle, sites, metrics, **options)


@click.command("write-release")
@path_argument("settings")
@path_argument("sites")
@path_argument("noisy")
@path_argument("accuracy")
@click.option("--audit", type=click.Path(), help="Audits of the mechanisms, from `dpgrs audit --json`.")
@click.option("--loadings", type=click.Path(), help="Public loadings of principal components.")
@output
def write_bundle(settings, sites, noisy, accuracy, **options):
    """Write the bundle of a release."""
    from dpgrs.steps.release import write_release

    write_release(settings, sites, noisy, accuracy, **options)


COMMANDS = (release_statistics, release_metrics, public_metrics, write_bundle, render_release_report)
