"""The command line: one verb per step of the workflow. Heavy imports wait until a verb runs."""

import json
import os
import sys
import traceback

import click

import dpgrs
from dpgrs.errors import DpgrsError
from dpgrs.types import Accounting, Neighbours, Protection, Rows, Unit


def choice(enum):
    return click.Choice([member.value for member in enum])


def path_argument(name, **options):
    return click.argument(name, type=click.Path(), **options)


def several(*names, help, **options):
    return click.option(*names, required=True, multiple=True, help=f"{help} May be repeated.", **options)


def path_option(name, help, **options):
    return click.option(name, type=click.Path(), required=True, help=help, **options)


ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
METHODS = ("ols", "ridge", "reusecov-gauss")
AT_LEAST_1 = click.IntRange(min=1)
SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
POSITIVE = click.FloatRange(min=0, min_open=True)
NOT_NEGATIVE = click.FloatRange(min=0)

# Options that more than one verb takes.
output = path_option("--output", "Where to write the result.")
seed = click.option("--seed", type=click.IntRange(min=0), required=True, help="Public seed.")
trial = click.option("--trial", type=AT_LEAST_1, required=True, help="Number of the trial, from 1.")
sizes = several("--size", "sizes", type=AT_LEAST_1, help="Panel size.")
counts = click.option(
    "--count", "counts", type=int, multiple=True, help="Number of outcomes; may be repeated."
)
settings = path_option("--settings", "The resolved configuration, JSON.")
outcome_bound = click.option(
    "--outcome-bound", type=float, required=True, help="Public bound of every outcome."
)


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
    if context.params["verbose"] > 1:
        traceback.print_exc()
    for line in str(error).splitlines():
        click.echo(f"dpgrs: {line}", err=True)
    sys.exit(exit_code)


def echo_counts(counts):
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


@main.command()
@path_argument("stores", nargs=-1, required=True)
@click.option("--size", type=AT_LEAST_1, required=True, help="Number of variants of the largest panel.")
@click.option("--maf", type=click.FloatRange(0, 0.5), required=True, help="Smallest minor allele frequency.")
@seed
@output
def make_panel(stores, **options):
    """Choose the variants of the study from haplotype stores."""
    from dpgrs.steps import panel

    echo_counts(panel.make_panel(stores, **options))


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
@click.option("--test-share", type=SHARE, required=True, help="Share of people kept for testing.")
@click.option("--table", type=click.Path(), help="Table of real outcomes; default: simulate.")
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
@trial
@sizes
@counts
@several("--protection", "protections", type=choice(Protection), help="What is private.")
@click.option("--neighbours", type=choice(Neighbours), required=True, help="Data sets that are compared.")
@click.option("--unit", type=choice(Unit), required=True, help="Whose data are protected.")
@several("--accounting", "accountings", type=choice(Accounting), help="How a budget becomes noise.")
@several("--epsilon", "epsilons", type=POSITIVE, help="Privacy loss.")
@click.option("--delta", type=SHARE, required=True, help="Chance beside epsilon.")
@click.option("--gram-share", type=SHARE, required=True, help="Share of X'X in what the count leaves.")
@click.option("--count-share", type=SHARE, required=True, help="Share of the number of rows.")
@seed
@output
def add_noise(statistics, **options):
    """Release noisy statistics, one set per budget, panel size and number of outcomes."""
    from dpgrs.steps import noise

    noise.add_noise(statistics, **options)


@main.command()
@path_argument("statistics")
@path_argument("noisy")
@several("--method", "methods", type=click.Choice(METHODS), help="Method.")
@click.option("--penalty", type=NOT_NEGATIVE, required=True, help="lambda of the ridge penalty, per row.")
@path_option("--seconds", "Where to write the time that each fit took.")
@output
def fit_weights(statistics, noisy, **options):
    """Fit the weights of all outcomes from statistics."""
    from dpgrs.steps import fit

    fit.fit_weights(statistics, noisy, **options)


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
@click.option("--processes", type=AT_LEAST_1, default=1, help="Processes that draw outcome pages.")
@output
def render_report(**options):
    """Write the overview and one page per outcome."""
    from dpgrs.steps import report

    report.render_report(**options)


@main.command()
@settings
@click.option("--metrics", "outputs", type=click.Path(), multiple=True, help="Results to digest.")
@output
def write_provenance(settings, outputs, output):
    """Record versions, commit, command, settings and digests of a run."""
    from dpgrs.steps import report

    report.write_provenance(settings, outputs, output=output)


def account_terms(command):
    """Options that define an account and what it allows."""
    options = [
        click.option("--protection", type=choice(Protection), required=True, help="What is private."),
        click.option("--unit", type=choice(Unit), required=True, help="Whose data one unit covers."),
        click.option("--neighbours", type=choice(Neighbours), required=True, help="Which data sets compare."),
        click.option("--epsilon", help="Total epsilon of all releases together; exact text."),
        click.option("--delta", default="1e-6", show_default=True, help="Delta of that total; exact text."),
        click.option("--mu-squared", help="Limit of the Gaussian counter; exact text."),
        click.option("--pure-epsilon", default="0", show_default=True, help="Limit of the pure counter."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@main.group()
def key():
    """The secret study key, in the file that DPGRS_STUDY_KEY names."""


@key.command("create")
def create_key():
    """Make the study key, once."""
    from dpgrs.privacy.study_key import create_study_key

    click.echo(create_study_key())


@main.group()
def ledger():
    """What the releases of a dataset have cost, and what they may."""


@ledger.command("init")
@path_argument("path")
@click.option("--accession", required=True, help="Accession or cohort, without a version.")
@click.option("--consent", required=True, help="Consent group.")
@account_terms
def init_ledger(path, protection, unit, neighbours, **options):
    """Begin the ledger of a dataset, with one account."""
    from dpgrs.privacy.ledger import start_ledger
    from dpgrs.privacy.ledger_entries import Account

    start_ledger(path, account=Account(protection, unit, neighbours), **options)


@ledger.command("add-account")
@path_argument("path")
@account_terms
def add_account(path, protection, unit, neighbours, **options):
    """Open one more account in a ledger."""
    from dpgrs.privacy.ledger import Ledger
    from dpgrs.privacy.ledger_entries import Account, make_budget

    Ledger(path).open_account(Account(protection, unit, neighbours), make_budget(**options))


@ledger.command("show")
@path_argument("path")
@click.option("--json", "is_json", is_flag=True, help="For programs.")
def show_ledger(path, is_json):
    """Show accounts and requests."""
    from dpgrs.privacy.ledger_report import describe_ledger, summarise_ledger

    click.echo(json.dumps(summarise_ledger(path), indent=2) if is_json else describe_ledger(path))


@ledger.command("verify")
@path_argument("path")
def verify_ledger_file(path):
    """Read a ledger again by another route, and add its costs up anew."""
    from dpgrs.privacy.ledger_verify import verify_ledger

    click.echo(json.dumps(verify_ledger(path)))


@ledger.command("repair")
@path_argument("path")
def repair_ledger(path):
    """Cut off a torn last line, on which nothing was drawn."""
    from dpgrs.privacy.hash_chain import repair

    click.echo(json.dumps({"bytes_cut": repair(path)}))
