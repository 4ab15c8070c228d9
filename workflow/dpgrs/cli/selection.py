"""Commands of private screening: they choose variants, and fit the chosen ones."""

import click

from dpgrs.cli.options import (
    AT_LEAST_1,
    JSON_OBJECT,
    POSITIVE,
    SHARE,
    choice,
    events,
    outcome_bound,
    output,
    path_argument,
    path_option,
    request_terms,
    seed,
    several,
    trial,
)
from dpgrs.methods.registry import FROM_ROWS, METHODS, SCREENED
from dpgrs.types import Bounds, Composition, Scaling, Selection

methods = several("--method", "methods", type=click.Choice(SCREENED), help="Method.")


def screening_terms(command):
    """Options that say how variants are chosen."""
    for option in (
        click.option("--votes-count-share", type=SHARE, default=0.05, help="Of the people that vote."),
        click.option("--composition", type=choice(Composition), default="basic", help="How losses add up."),
        click.option("--law", type=choice(Selection), default="permute-and-flip", help="Law of a choice."),
        click.option("--share", type=SHARE, required=True, help="Share of epsilon for choosing."),
        click.option("--choices", "n_choices", type=AT_LEAST_1, required=True, help="Variants to choose."),
        click.option("--genotype-clip", type=POSITIVE, default=1.0, help="Of tight bounds, as a factor."),
        click.option("--bounds", type=choice(Bounds), default="worst-case", help="What rows are clipped at."),
    ):
        command = option(command)
    return command


@click.command()
@path_argument("panel")
@path_argument("outcomes")
@trial
@methods
@screening_terms
@click.option("--scaling", type=choice(Scaling), default="public", help="Of DP-SIS; paper is not private.")
@outcome_bound
@request_terms
@seed
@events
@output
def screen_variants(panel, outcomes, sizes, **options):
    """Choose variants for each outcome, in a benchmark."""
    from dpgrs.steps import screening

    screening.screen_variants(panel, outcomes, sizes=sizes, **options)


@click.command()
@path_argument("panel")
@path_argument("outcomes")
@path_argument("choices")
@trial
@methods
@click.option("--heritability", type=SHARE, help="Stated for BLUP; default: estimate it.")
@click.option("--count-share", type=SHARE, default=0.05, help="Of the number of rows of the Tukey mechanism.")
@click.option("--rows-per-coefficient", type=POSITIVE, default=2.0, help="Of one of its models.")
@seed
@output
def fit_screened(panel, outcomes, choices, **options):
    """Fit the variants that were chosen, in a benchmark."""
    from dpgrs.steps import screening

    screening.fit_screened(panel, outcomes, choices, **options)


@click.command()
@path_argument("panel")
@path_argument("outcomes")
@path_option("--sites", "Public sites.")
@path_option("--ledger", "Ledger of the dataset; it is charged.")
@click.option(
    "--identity", type=JSON_OBJECT, required=True, help="Public settings that define the data, JSON."
)
@click.option("--method", type=click.Choice(FROM_ROWS), required=True, help="Method.")
@screening_terms
@outcome_bound
@request_terms
@events
@output
def release_chosen(panel, outcomes, n_choices, share, law, composition, votes_count_share, **options):
    """Release what is drawn from rows, of chosen variants or all, with secret noise that is charged first."""
    from dpgrs.methods.chosen_requests import ScreeningTerms
    from dpgrs.steps import release_chosen as step

    terms = ScreeningTerms(
        n_choices=n_choices,
        share=share,
        selector=METHODS[options["method"]].selector,
        law=law,
        composition=composition,
        count_share=votes_count_share,
    )
    step.release_chosen(panel, outcomes, terms=terms, **options)


COMMANDS = (screen_variants, fit_screened, release_chosen)
