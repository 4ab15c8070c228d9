"""Arguments and options that more than one command takes."""

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import click

from dpgrs.types import Neighbours, Protection, Unit


def choice(enum: type[StrEnum]) -> click.Choice:
    """Return the type of an option whose values are the members of an enumeration."""
    return click.Choice([member.value for member in enum])


def path_argument(
    name: str,
    **options: Any,  # as of `click.argument`
) -> Callable[[Callable], Callable]:
    """Return the decorator of an argument that is a path."""
    return click.argument(name, type=click.Path(), **options)


def path_option(
    name: str,
    help: str,
    **options: Any,  # as of `click.option`
) -> Callable[[Callable], Callable]:
    """Return the decorator of an option that is needed and is a path."""
    return click.option(name, type=click.Path(), required=True, help=help, **options)


class FiniteRange(click.FloatRange):
    """The type of an option that is a number in a range; click's own lets nan pass, as beyond no limit."""

    def convert(self, text: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:
        """Read the number, or end as click does on a wrong value."""
        number = super().convert(text, parameter, context)
        if not math.isfinite(number):
            self.fail(f"{text} is not a finite number.", parameter, context)
        return number


AT_LEAST_1 = click.IntRange(min=1)
SHARE = FiniteRange(0, 1, min_open=True, max_open=True)
output = path_option("--output", "Where to write the result.")


def account_terms(command: Callable) -> Callable:
    """Options that define an account and what it allows."""
    return _with(
        command,
        click.option("--protection", type=choice(Protection), required=True, help="The private data."),
        click.option("--unit", type=choice(Unit), required=True, help="Whose data one unit covers."),
        click.option("--neighbours", type=choice(Neighbours), required=True, help="Which data sets compare."),
        click.option("--epsilon", help="Total epsilon of all releases together; exact text."),
        click.option("--delta", default="1e-6", show_default=True, help="Delta of that total; exact text."),
        click.option("--mu-squared", help="Limit of the Gaussian counter; exact text."),
        click.option("--pure-epsilon", default="0", show_default=True, help="Limit of the pure counter."),
        click.option(
            "--beyond-20",
            metavar="REASON",
            help="Why a person may lose more than epsilon 20 in all; the ledger keeps and shows the reason.",
        ),
    )


def people_terms(command: Callable) -> Callable:
    """Options of the commands that make many people from few."""
    return _with(
        command,
        click.option("--people", type=AT_LEAST_1, required=True, help="How many people to make."),
        click.option(
            "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Same seed, same bytes."
        ),
        click.option(
            "--populations",
            type=click.Path(),
            help="Table of the samples' populations, which are kept apart.",
        ),
        click.option("--table", type=click.Path(), help="Where to write the populations of the new people."),
        click.option(
            "--threads",
            type=AT_LEAST_1,
            default=2,
            show_default=True,
            help="Threads; the result does not depend on them.",
        ),
    )


def _with(command: Callable, *options: Callable[[Callable], Callable]) -> Callable:
    for option in reversed(options):
        command = option(command)
    return command
