"""The command line: one verb per step of the workflow. Heavy imports wait until a verb runs."""

import json
import os
import sys
import traceback

import click

import dpgrs
from dpgrs.cli_ledger import key, ledger, plan, release
from dpgrs.cli_options import (
    AT_LEAST_1,
    NOT_NEGATIVE,
    NOT_ONE,
    POSITIVE,
    SHARE,
    choice,
    counts,
    events,
    outcome_bound,
    output,
    path_argument,
    path_option,
    penalty,
    processes,
    request_terms,
    seed,
    settings,
    several,
    sizes,
    trial,
)
from dpgrs.errors import DpgrsError
from dpgrs.methods import METHODS
from dpgrs.types import Rows

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Verbs(click.Group):
    """A group whose verbs report what the user can mend in one line, and the rest with a traceback on -vv."""

    def invoke(self, context):
        try:
            return super().invoke(context)
        except DpgrsError as error:
            fail(context, error, exit_code=error.exit_code)
        except (OSError, MemoryError) as error:
            fail(context, error or type(error).__name__, exit_code=1)


def fail(context, error, *, exit_code):
    """Print an error, each of its lines with the name of the program, and end; with -vv its traceback too."""
    if context.params["verbose"] > 1:
        traceback.print_exc()
    for line in str(error).splitlines():
        click.echo(f"dpgrs: {line}", err=True)
    sys.exit(exit_code)


def echo_counts(counts):
    """Print counts as JSON on standard error, which the rules keep as a log."""
    click.echo(json.dumps(counts), err=True)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(dpgrs.__version__, prog_name="dpgrs")
@click.option("-v", "--verbose", count=True, help="Say more; -vv shows the traceback of an error.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.pass_context
def main(context, verbose, quiet):
    """Differentially private genomic risk scores: the steps of the workflow, one verb each."""
    # Results must not depend on the number of cores. Numpy, which reads these, is loaded by the verbs.
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    context.obj = {"quiet": quiet}


@main.command()
@path_argument("directory")
@several("--chromosome", "chromosomes", help="Chromosome.")
@click.option("--model", required=True, help="Demographic model of stdpopsim's catalogue.")
@click.option("--people", type=AT_LEAST_1, required=True, help="Number of people.")
@click.option("--length", type=AT_LEAST_1, required=True, help="Bases simulated per chromosome.")
@click.option("--reference", type=click.Path(), help="Folder for a second cohort that is public.")
@click.option("--reference-people", type=AT_LEAST_1, default=1000, help="People of the second cohort.")
@seed
def simulate_cohort(directory, **options):
    """Simulate phased VCFs of people under a published demographic model."""
    from dpgrs.simulation import cohorts

    cohorts.simulate_cohort(directory, **options)


@main.command()
@path_argument("vcf")
@click.option("--chromosome", required=True, help="Contig to read, with or without `chr`.")
@click.option("--phased", type=click.Choice(["required", "any"]), default="required", help="Phase of calls.")
@click.option("--keep-filtered", is_flag=True, help="Keep records whose FILTER is neither PASS nor `.`.")
@path_option("--output", "Where to write the haplotype store.")
@click.pass_obj
def ingest_chromosome(context, vcf, output, **options):
    """Read one chromosome of a VCF into a haplotype store."""
    from dpgrs.io import ingest

    progress = False if context["quiet"] else None
    echo_counts(ingest.ingest_chromosome(vcf, store=output, progress=progress, **options))


@main.command("choose-sites")
@path_argument("stores", nargs=-1)
@several("--chromosome", "chromosomes", help="Chromosome, in genome order.")
@click.option("--sites", type=click.Path(), help="Table of public sites; default: those of the stores.")
@click.option("--frequencies", type=click.Path(), help="Table of public frequencies of the sites.")
@click.option("--size", type=AT_LEAST_1, required=True, help="Number of sites.")
@click.option("--maf", type=click.FloatRange(0, 0.5), required=True, help="Smallest public frequency.")
@seed
@output
def choose_sites(stores, **options):
    """Choose the sites of a release from public tables or stores."""
    from dpgrs.steps import panel

    panel.choose_public_sites(stores, **options)


@main.command()
@path_argument("stores", nargs=-1, required=True)
@click.option("--sites", type=click.Path(), help="Public sites of a release; they are taken as they are.")
@click.option("--size", type=AT_LEAST_1, help="Number of variants of the largest panel, without --sites.")
@click.option("--maf", type=click.FloatRange(0, 0.5), help="Smallest minor allele frequency, likewise.")
@click.option("--seed", type=click.IntRange(min=0), help="Public seed, likewise.")
@output
def make_panel(stores, sites, size, maf, seed, output):
    """Choose the variants of the study from haplotype stores."""
    from dpgrs.steps import panel

    if sites is None and None in (size, maf, seed):
        raise click.UsageError("Give --sites, or --size, --maf and --seed.")
    chosen = {"size": size, "maf": maf, "seed": seed} if sites is None else {"sites": sites}
    echo_counts(panel.make_panel(stores, output=output, **chosen))


@main.command()
@path_argument("panel")
@trial
@click.option("--rows", type=choice(Rows), required=True, help="What a row of the genotypes is.")
@sizes
@click.option("--count", type=AT_LEAST_1, help="Number of outcomes; default: all columns of the table.")
@click.option(
    "--heritability",
    type=click.FloatRange(0, 1),
    required=True,
    help="Share of variance explained by the panel.",
)
@click.option(
    "--causal-share", type=float, required=True, help="Share of the panel's variants with an effect."
)
@click.option("--test-share", type=NOT_ONE, required=True, help="Share of people kept for testing.")
@click.option("--table", type=click.Path(), help="Table of real outcomes; default: simulate.")
@click.option("--is-release", is_flag=True, help="Let every row depend on itself alone.")
@seed
@output
def make_outcomes(panel, **options):
    """Simulate or read outcomes, and split people into training and test rows."""
    from dpgrs.steps import outcomes

    outcomes.make_outcomes(panel, **options)


@main.command()
@path_argument("panel")
@path_argument("outcomes")
@outcome_bound
@output
def compute_statistics(panel, outcomes, **options):
    """Sum the exact statistics X'X and X'Y of the training rows."""
    from dpgrs.steps import statistics

    statistics.compute_statistics(panel, outcomes, **options)


@main.command()
@path_argument("statistics")
@path_argument("outcomes")
@trial
@request_terms
@seed
@events
@output
def add_noise(statistics, outcomes, **options):
    """Draw seeded noise for a benchmark, one set per budget, panel size and number of outcomes."""
    from dpgrs.steps import noise

    noise.add_noise(statistics, outcomes, **options)


@main.command()
@path_argument("statistics")
@path_argument("outcomes")
@path_option("--sites", "Public sites.")
@path_option("--ledger", "Ledger of the dataset; it is charged.")
@click.option("--identity", required=True, help="Public settings that define the data, JSON.")
@request_terms
@events
@output
def release_statistics(statistics, outcomes, identity, **options):
    """Release statistics with secret noise, charged to the ledger before it is drawn."""
    from dpgrs.steps import noise

    noise.release_statistics(statistics, outcomes, identity=json.loads(identity), **options)


@main.command()
@path_argument("noisy")
@click.option("--statistics", type=click.Path(), help="Exact statistics, for fits without privacy.")
@several("--method", "methods", type=click.Choice(list(METHODS)), help="Method.")
@penalty
@path_option("--seconds", "Where to write the time that each fit took.")
@output
def fit_weights(noisy, **options):
    """Fit the weights of all outcomes from statistics."""
    from dpgrs.steps import fit

    fit.fit_weights(noisy, **options)


@main.command()
@path_argument("panel")
@path_argument("outcomes")
@path_argument("weights")
@path_argument("seconds")
@trial
@counts
@click.option("--populations", type=click.Path(), help="Table of sample and population.")
@path_option("--metrics", "Where to write the metrics.")
@path_option("--population-metrics", "Where to write the metrics by population.")
def evaluate_trial(panel, outcomes, weights, seconds, **options):
    """Score the test rows and measure R^2 and error."""
    from dpgrs.steps import evaluate

    evaluate.evaluate_trial(panel, outcomes, weights, seconds, **options)


@main.command()
@path_argument("panel")
@path_argument("outcomes")
@path_argument("statistics")
@path_argument("noisy")
@path_argument("weights")
@trial
@counts
@penalty
@seed
@output
def attack_trial(panel, outcomes, statistics, noisy, weights, **options):
    """Infer who was trained on, from statistics and weights; for benchmarks alone."""
    from dpgrs.steps import attack

    attack.attack_trial(panel, outcomes, statistics, noisy, weights, **options)


@main.command()
@path_argument("noisy")
@path_argument("outcomes")
@path_argument("weights")
@path_argument("seconds")
@path_option("--accuracy", "Where to write the noisy sums behind the metrics.")
@click.option("--epsilon", type=POSITIVE, help="Privacy loss of the metrics; default: withhold them.")
@click.option("--residual-bound", type=POSITIVE, help="Public bound of every residual.")
@click.option("--penalty", type=NOT_NEGATIVE, help="lambda of the fit.")
@click.option("--panel", type=click.Path(), help="Panel, to measure on the people held out.")
@click.option("--sites", type=click.Path(), help="Public sites.")
@click.option("--ledger", type=click.Path(), help="Ledger of the dataset; it is charged.")
@click.option("--identity", help="Public settings that define the data, JSON.")
@events
@output
def release_metrics(noisy, outcomes, weights, seconds, output, accuracy, events, **charge):
    """Measure a release on people held out, at a charge, or withhold its metrics."""
    from dpgrs.steps import accuracy as step

    written = {"output": output, "accuracy": accuracy, "events": events}
    given = [name for name, value in charge.items() if value is not None]
    if not given:
        step.withhold_metrics(noisy, outcomes, weights, seconds, **written)
    elif len(given) < len(charge):
        raise click.UsageError(
            "Give all or none of: --epsilon, --residual-bound, --penalty, --panel, --sites, --ledger and "
            "--identity."
        )
    else:
        charge["identity"] = json.loads(charge["identity"])
        step.release_metrics(noisy, outcomes, weights, seconds, **written, **charge)


@main.command()
@path_argument("noisy")
@path_argument("outcomes")
@path_argument("weights")
@path_argument("seconds")
@path_option("--panel", "Panel of the public people.")
@path_option("--ledger", "Ledger of the dataset; it is read.")
@penalty
@events
@path_option("--accuracy", "Where to write the numbers behind the metrics.")
@output
def public_metrics(noisy, outcomes, weights, seconds, **options):
    """Measure a release on public people, at no cost."""
    from dpgrs.steps import accuracy

    accuracy.public_metrics(noisy, outcomes, weights, seconds, **options)


@main.command()
@path_argument("tables", nargs=-1, required=True)
@output
def collect_tables(tables, output):
    """Join the tables of all trials."""
    from dpgrs.steps import collect

    collect.collect_tables(tables, output=output)


@main.command()
@path_argument("metrics")
@path_argument("population_metrics")
@path_argument("panel")
@path_argument("outcomes")
@path_argument("weights")
@settings
@click.option("--attacks", type=click.Path(), help="Table of attacks.")
@processes
@output
def render_report(**options):
    """Write the pages of a benchmark: the overview and one page per outcome."""
    from dpgrs.steps import report

    report.render_report(**options)


@main.command()
@path_argument("bundle")
@path_argument("sites")
@path_argument("metrics")
@processes
@output
def render_release_report(bundle, sites, metrics, **options):
    """Write the pages of a release, from its bundle and public files alone."""
    from dpgrs.steps import release_report

    release_report.render_release_report(bundle, sites, metrics, **options)


@main.command()
@settings
@click.option("--metrics", "outputs", type=click.Path(), multiple=True, help="Results to digest.")
@output
def write_provenance(settings, outputs, output):
    """Record versions, commit, command, settings and digests of a run."""
    from dpgrs.steps import report

    report.write_provenance(settings, outputs, output=output)


@main.command("write-release")
@path_argument("settings")
@path_argument("sites")
@path_argument("noisy")
@path_argument("accuracy")
@click.option("--audit", type=click.Path(), help="Audits of the mechanisms, from `dpgrs audit --json`.")
@output
def write_bundle(settings, sites, noisy, accuracy, **options):
    """Write the bundle of a release."""
    from dpgrs.steps.release import write_release

    write_release(settings, sites, noisy, accuracy, **options)


@main.command("audit")
@click.option("--mechanism", "mechanisms", multiple=True, help="Name of a private_* function; default: all.")
@click.option("--draws", type=AT_LEAST_1, default=4000, show_default=True, help="Draws of each input.")
@click.option("--confidence", type=SHARE, default=0.999999, show_default=True, help="Of an observed loss.")
@click.option("--mode", type=click.Choice(["release", "benchmark"]), default="release", help="Whose noise.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the noise.")
@click.option("--json", "is_json", is_flag=True, help="For programs.")
@click.pass_obj
def audit_mechanisms(context, mechanisms, mode, seed, is_json, **options):
    """Run mechanisms on worst-case neighbours: the privacy loss that is claimed, and what is seen."""
    from dpgrs.steps import audit

    cases, with_noise = audit.choose_cases(mechanisms), audit.seeded_noise(seed, mode=mode)
    with click.progressbar(cases, label="Audits", file=sys.stderr, hidden=context["quiet"]) as bar:
        findings = [audit.run_audit(case, with_noise, **options) for case in bar]
    click.echo(json.dumps(findings, indent=2) if is_json else audit.as_table(findings))
    audit.require_within_claims(findings)


main.add_command(key)
main.add_command(ledger)
main.add_command(plan)
main.add_command(release)
