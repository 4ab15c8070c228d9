"""Arguments and options that more than one command takes."""

import json
import math

import click

from dpgrs.types import Accounting, Neighbours, Protection, Rows, Unit


def choice(enum):
    """Return the type of an option whose values are the members of an enumeration."""
    return click.Choice([member.value for member in enum])


def path_argument(name, **options):
    """Return the decorator of an argument that is a path."""
    return click.argument(name, type=click.Path(), **options)


def several(*names, help, **options):
    """Return the decorator of an option that is needed and may be repeated."""
    return click.option(*names, required=True, multiple=True, help=f"{help} May be repeated.", **options)


def path_option(name, help, **options):
    """Return the decorator of an option that is needed and is a path."""
    return click.option(name, type=click.Path(), required=True, help=help, **options)


class JsonObject(click.ParamType):
    """The type of an option that is a JSON object: a dict."""

    name = "json"

    def convert(self, value, parameter, context):
        """Read the text, or end as click does on a wrong value."""
        try:
            found = value if isinstance(value, dict) else json.loads(value)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            self.fail("must be a JSON object, as the workflow gives it.", parameter, context)
        return found


class FiniteRange(click.FloatRange):
    """The type of an option that is a number in a range; click's own lets nan pass, as beyond no limit."""

    def convert(self, value, parameter, context):
        """Read the number, or end as click does on a wrong value."""
        number = super().convert(value, parameter, context)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", parameter, context)
        return number


AT_LEAST_1 = click.IntRange(min=1)
JSON_OBJECT = JsonObject()
SHARE = FiniteRange(0, 1, min_open=True, max_open=True)
NOT_ONE = FiniteRange(0, 1, max_open=True)
NOT_ZERO = FiniteRange(0, 1, min_open=True)
POSITIVE = FiniteRange(min=0, min_open=True)
CLASSES = ("snp", "indel")
KEPT = click.Choice(["drop", "keep"])
NOT_NEGATIVE = FiniteRange(min=0)

# Options that more than one verb takes.
output = path_option("--output", "Where to write the result.")
seed = click.option("--seed", type=click.IntRange(min=0), required=True, help="Public seed.")
trial = click.option("--trial", type=AT_LEAST_1, required=True, help="Number of the trial, from 1.")
sizes = several("--size", "sizes", type=AT_LEAST_1, help="Panel size.")
counts = click.option(
    "--count", "counts", type=AT_LEAST_1, multiple=True, help="Number of outcomes; may be repeated."
)
penalty = click.option(
    "--penalty", type=NOT_NEGATIVE, required=True, help="lambda of the ridge penalty, per row."
)
processes = click.option("--processes", type=AT_LEAST_1, default=1, help="Processes that draw outcome pages.")
events = path_option("--events", "Where to write what was drawn, JSON.")
qc = click.option("--qc", type=click.Path(), help="Where to write what became of all variants.")
settings = path_option("--settings", "The resolved configuration, JSON.")
outcome_bound = click.option(
    "--outcome-bound", type=FiniteRange(), required=True, help="Public bound of every outcome."
)

covariates = click.option("--covariates", type=click.Path(), help="Covariates, further columns of X.")
outcome_budget = click.option(
    "--outcome-budget",
    type=click.Choice(["joint", "separate"]),
    default="joint",
    help="Whether outcomes share epsilon, or each has its own.",
)


def request_terms(command):
    """Options that say what is asked for of statistics, and what it may cost."""
    return _with(
        command,
        sizes,
        counts,
        several("--protection", "protections", type=choice(Protection), help="What is private."),
        click.option("--neighbours", type=choice(Neighbours), required=True, help="Data sets compared."),
        click.option("--unit", type=choice(Unit), required=True, help="Whose data are protected."),
        several("--accounting", "accountings", type=choice(Accounting), help="How a budget becomes noise."),
        several("--epsilon", "epsilons", type=POSITIVE, help="Privacy loss."),
        click.option("--delta", type=SHARE, required=True, help="Delta of (epsilon, delta)."),
        click.option("--gram-share", type=SHARE, help="Share of X'X beside the count; a rule without."),
        click.option("--count-share", type=SHARE, required=True, help="Share of each kind of count of rows."),
        click.option("--counts-outcomes", is_flag=True, help="Count the rows on which outcomes are known."),
        outcome_budget,
    )


def people_counts(command):
    """Options of who must be in a table, and of where to write how many are."""
    return _with(
        command,
        click.option(
            "--least-share",
            type=FiniteRange(0, 1),
            default=0.5,
            show_default=True,
            help="Of people and of ids that must be in both, and of people with a value.",
        ),
        click.option("--people-counts", type=click.Path(), help="Where to write counts; for the operator."),
    )


def variant_filters(command):
    """Options that say which variants may enter a panel, measured on stores."""
    return _with(
        command,
        click.option("--missing", type=FiniteRange(0, 1), default=1.0, help="Largest share unknown."),
        click.option("--hwe", type=FiniteRange(0, 0.5), default=0.0, help="Least mid-p of the test."),
        click.option("--ambiguous", type=KEPT, default="drop", show_default=True, help="A/T and C/G SNPs."),
        click.option("--multiallelic", type=KEPT, default="drop", show_default=True, help="Of one position."),
        click.option("--class", "classes", type=click.Choice(CLASSES), multiple=True, help="Default: both."),
    )


def linkage_limit(command):
    """Options that keep variants of a panel apart."""
    return _with(
        command,
        click.option("--ld-r2", type=FiniteRange(0, 1), help="Largest r^2 of two; default: any."),
        click.option("--ld-window", type=POSITIVE, default=250.0, show_default=True, help="Kilobases of it."),
        click.option("--rows", type=choice(Rows), default="haplotypes", help="What is compared by it."),
    )


def account_terms(command):
    """Options that define an account and what it allows."""
    return _with(
        command,
        click.option("--protection", type=choice(Protection), required=True, help="What is private."),
        click.option("--unit", type=choice(Unit), required=True, help="Whose data one unit covers."),
        click.option("--neighbours", type=choice(Neighbours), required=True, help="Which data sets compare."),
        click.option("--epsilon", help="Total epsilon of all releases together; exact text."),
        click.option("--delta", default="1e-6", show_default=True, help="Delta of that total; exact text."),
        click.option("--mu-squared", help="Limit of the Gaussian counter; exact text."),
        click.option("--pure-epsilon", default="0", show_default=True, help="Limit of the pure counter."),
    )


def _with(command, *options):
    for option in reversed(options):
        command = option(command)
    return command
