"""The command line: one verb per step of the workflow. Heavy imports wait until a verb runs."""

import atexit
import gc
import json
import os
import sys
import traceback

import click

import dpgrs
from dpgrs.cli_covariates import COMMANDS as COVARIATES
from dpgrs.cli_fetch import COMMANDS as FETCHING
from dpgrs.cli_ledger import key, ledger, plan, release
from dpgrs.cli_options import (
    AT_LEAST_1,
    CLASSES,
    NOT_ONE,
    NOT_ZERO,
    POSITIVE,
    SHARE,
    FiniteRange,
    choice,
    counts,
    covariates,
    events,
    linkage_limit,
    outcome_bound,
    outcome_budget,
    output,
    path_argument,
    path_option,
    penalty,
    people_counts,
    qc,
    request_terms,
    seed,
    several,
    sizes,
    trial,
    variant_filters,
)
from dpgrs.cli_people import COMMANDS as PEOPLE
from dpgrs.cli_qc import COMMANDS as QUALITY
from dpgrs.cli_release import COMMANDS
from dpgrs.cli_report import COMMANDS as REPORTING
from dpgrs.cli_screening import COMMANDS as SCREENING
from dpgrs.cli_store import store
from dpgrs.cli_tabular import tabular
from dpgrs.errors import DpgrsError, shown
from dpgrs.methods import BASELINES, METHODS
from dpgrs.types import Bounds, Penalty, Rows

OUT_OF_MEMORY = (
    "Memory ran out. Ask for fewer variants or outcomes, or run it where there is more memory; on a cluster "
    "ask for it with `--set-resources RULE:mem_mb=N`."
)
NO_THREAD = "can't start new thread"  # Python's words where memory lacks for its stack
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Verbs(click.Group):
    """A group whose verbs report what the user can mend in one line, and the rest with a traceback on -vv."""

    def invoke(self, context):
        try:
            return super().invoke(context)
        except DpgrsError as error:
            fail(context, error, exit_code=error.exit_code)
        except OSError as error:
            fail(context, words_of(error), exit_code=1)
        except MemoryError:
            # Not its own words, which may tell how many people there are.
            fail(context, OUT_OF_MEMORY, exit_code=1)
        except RuntimeError as error:
            if str(error) != NO_THREAD:
                raise
            fail(context, OUT_OF_MEMORY, exit_code=1)


def words_of(error):
    """Return what the operating system says was wrong, and of which path."""
    if error.filename is None or error.strerror is None:
        return str(error) or type(error).__name__
    path = shown(str(error.filename), n_characters=200)
    return f"`{path}`: {error.strerror}. Correct the path, or mend what lies there."


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
    # Imports make a million objects and no garbage: fewer looks for it, and none at the end, save 0.4 s.
    gc.set_threshold(10_000, 50)
    atexit.register(gc.freeze)
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
@path_argument("genotypes", nargs=-1, required=True)
@click.option("--chromosome", required=True, help="Contig to read, with or without `chr`.")
@click.option("--phased", type=click.Choice(["required", "any"]), default="required", help="Phase of calls.")
@click.option("--keep-filtered", is_flag=True, help="Keep records whose FILTER is neither PASS nor `.`.")
@click.option("--known-ref", is_flag=True, help="Refuse provisional REF: INFO/PR, .bed.")
@click.option("--field", type=click.Choice(["GT", "DS"]), default="GT", help="Calls, or dosages of people.")
@click.option("--people", type=click.Path(), help="List of the people to take, one id a line; default: all.")
@click.option("--genome-build", type=click.Choice(["GRCh37", "GRCh38"]), help="Positions must be of it.")
@click.option("--threads", type=AT_LEAST_1, default=2, show_default=True, help="Threads that read a VCF.")
@path_option("--output", "Where to write the haplotype store.")
@click.pass_obj
def ingest_chromosome(context, genotypes, output, **options):
    """Read one chromosome of a VCF, a BCF, a .bed or a .pgen, or of its parts, into a haplotype store."""
    from dpgrs.io import ingest

    progress = False if context["quiet"] else None
    echo_counts(ingest.ingest_chromosome(genotypes, store=output, progress=progress, **options))


@main.command("choose-sites")
@path_argument("stores", nargs=-1)
@several("--chromosome", "chromosomes", help="Chromosome, in genome order.")
@click.option("--sites", type=click.Path(), help="Table of public sites; default: those of the stores.")
@click.option("--frequencies", type=click.Path(), help="Table of public frequencies of the sites.")
@click.option("--size", type=AT_LEAST_1, required=True, help="Number of sites.")
@click.option("--maf", type=FiniteRange(0, 0.5), required=True, help="Smallest public frequency.")
@variant_filters
@linkage_limit
@seed
@qc
@output
def choose_sites(stores, classes, **options):
    """Choose the sites of a release from public tables or stores."""
    from dpgrs.steps import panel

    panel.choose_public_sites(stores, **options, classes=classes or CLASSES)


@main.command()
@path_argument("stores", nargs=-1, required=True)
@click.option("--sites", type=click.Path(), help="Public sites of a release; they are taken as they are.")
@click.option("--size", type=AT_LEAST_1, help="Number of variants of the largest panel, without --sites.")
@click.option("--maf", type=FiniteRange(0, 0.5), help="Smallest minor allele frequency, likewise.")
@click.option("--seed", type=click.IntRange(min=0), help="Public seed, likewise.")
@variant_filters
@linkage_limit
@qc
@output
def make_panel(stores, sites, size, maf, seed, output, classes, **options):
    """Choose the variants of the study from haplotype stores.

    A list of public sites is taken as it is: without --sites alone the other options say what may enter.
    """
    from dpgrs.steps import panel

    if sites is None and None in (size, maf, seed):
        raise click.UsageError("Give --sites, or --size, --maf and --seed.")
    options |= {"size": size, "maf": maf, "seed": seed, "classes": classes or CLASSES}
    chosen = options if sites is None else {"sites": sites}
    echo_counts(panel.make_panel(stores, output=output, **chosen))


@main.command()
@path_argument("panel")
@trial
@click.option("--rows", type=choice(Rows), required=True, help="What a row of the genotypes is.")
@sizes
@click.option("--count", type=AT_LEAST_1, help="Number of outcomes; default: all columns of the table.")
@click.option(
    "--heritability",
    type=FiniteRange(0, 1),
    required=True,
    help="Share of variance explained by the panel.",
)
@click.option(
    "--causal-share", type=FiniteRange(), required=True, help="Share of the panel's variants with an effect."
)
@click.option("--test-share", type=NOT_ONE, required=True, help="Share of people kept for testing.")
@click.option("--table", type=click.Path(), help="Table of real outcomes; default: simulate.")
@click.option("--scales", type=click.Path(), help="Table of the public constants that standardise them.")
@click.option("--is-release", is_flag=True, help="Let every row depend on itself alone.")
@people_counts
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
@counts
@click.option("--bounds", type=choice(Bounds), default="worst-case", help="What rows are clipped at.")
@click.option("--genotype-clip", type=POSITIVE, default=1.0, help="Of tight bounds, times the mean norm.")
@click.option("--outcome-clip", type=POSITIVE, default=1.05, help="Likewise, of outcomes.")
@outcome_budget
@click.option("--count-clips", is_flag=True, help="Count what is clipped; for benchmarks alone.")
@covariates
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
@path_argument("noisy")
@click.option("--statistics", type=click.Path(), help="Exact statistics, for fits without privacy.")
@several("--method", "methods", type=click.Choice(list(METHODS)), help="Method.")
@penalty
@click.option("--penalty-rule", type=choice(Penalty), default="fixed", help="Where lambda comes from.")
@click.option("--heritability", type=SHARE, help="Stated for BLUP; default: estimate it.")
@click.option("--is-joint", is_flag=True, help="Project all outcomes into one ball.")
@click.option("--outcomes", type=click.Path(), help="Outcomes, which feature protection takes as public.")
@click.option(
    "--drawn", type=click.Path(), multiple=True, help="Weights to be handed on, of methods that draw."
)
@path_option("--seconds", "Where to write the time that each fit took.")
@output
def fit_weights(noisy, **options):
    """Fit the weights of all outcomes from statistics."""
    from dpgrs.steps import fit

    fit.fit_weights(noisy, **options)


@main.command()
@path_argument("panel")
@path_argument("outcomes")
@path_argument("statistics")
@trial
@several("--method", "methods", type=click.Choice(BASELINES), help="Method.")
@request_terms
@penalty
@click.option("--tukey-count-share", type=SHARE, default=0.05, help="Of the rows of the Tukey mechanism.")
@click.option("--rows-per-coefficient", type=POSITIVE, default=2.0, help="Of one of its models.")
@click.option("--sketch-share", type=NOT_ZERO, default=0.5, help="Share of the units in a sketch's sample.")
@seed
@output
def fit_baselines(panel, outcomes, statistics, **options):
    """Fit methods that draw noise of their own, in a benchmark."""
    from dpgrs.steps import baselines

    baselines.fit_baselines(panel, outcomes, statistics, **options)


@main.command()
@path_argument("panel")
@path_argument("outcomes")
@path_argument("weights")
@path_argument("seconds")
@trial
@counts
@click.option("--populations", type=click.Path(), help="Table of sample and population.")
@covariates
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
@covariates
@seed
@output
def attack_trial(panel, outcomes, statistics, noisy, weights, **options):
    """Infer who was trained on, from statistics and weights; for benchmarks alone."""
    from dpgrs.steps import attack

    attack.attack_trial(panel, outcomes, statistics, noisy, weights, **options)


@main.command("audit")
@click.option("--mechanism", "mechanisms", multiple=True, help="Name of a private_* function; default: all.")
@click.option("--of-releases", is_flag=True, help="Leave out what a release cannot draw.")
@click.option("--draws", type=AT_LEAST_1, default=4000, show_default=True, help="Draws of each input.")
@click.option("--confidence", type=SHARE, default=0.999999, show_default=True, help="Of an observed loss.")
@click.option("--mode", type=click.Choice(["release", "benchmark"]), default="release", help="Whose noise.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the noise.")
@click.option("--json", "is_json", is_flag=True, help="For programs.")
@click.option("--markdown", "is_markdown", is_flag=True, help="A table for a page; no single statistics.")
@click.option("--output", type=click.Path(), help="File to write as JSON, in place of standard output.")
@click.pass_obj
def audit_mechanisms(context, mechanisms, of_releases, mode, seed, is_json, is_markdown, output, **options):
    """Run mechanisms on worst-case neighbours: the privacy loss that is claimed, and what is seen."""
    from dpgrs.io.json_files import write_json
    from dpgrs.steps import audit

    cases = audit.choose_cases(mechanisms, of_releases=of_releases)
    with click.progressbar(cases, label="Audits", file=sys.stderr, hidden=context["quiet"]) as bar:
        findings = [audit.run_audit(case, audit.noise_of(case, seed, mode=mode), **options) for case in bar]
    if output:
        write_json(output, findings)
    else:
        lay_out = audit.as_markdown if is_markdown else audit.as_table
        click.echo(json.dumps(findings, indent=2) if is_json else lay_out(findings))
    audit.require_within_claims(findings)


for command in (key, ledger, plan, release, store, tabular):
    main.add_command(command)
for command in (*FETCHING, *PEOPLE, *COVARIATES, *COMMANDS, *SCREENING, *QUALITY, *REPORTING):
    main.add_command(command)
