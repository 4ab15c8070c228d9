"""Choices by votes: groups of people fit a Lasso each, how many groups by a private count and a rule."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.types import Rows
from dpgrs_papers.methods.lower_count import private_lower_count
from dpgrs_papers.selection.sublasso import GroupRule, VotesRequest, choose_by_votes, private_sublasso

if TYPE_CHECKING:
    from dpgrs.methods.chosen_requests import ScreenedRequest
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.selection.screening_data import ScreeningData

GROUP_SEED = 0  # of the public hash that puts people into groups


def choose_privately(
    data: "ScreeningData", number: int, *, request: VotesRequest, noise: "NoiseSource", outcome_bound: float
) -> tuple:
    """Choose for one outcome of a study, by its number; return the variants and all events."""
    keys, events, n_low = data.unit_keys(request.rows_per_unit), [], request.n_low
    if n_low is None:
        n_low = len(keys)
    if request.has_private_count:
        count_options = {"epsilon": request.count_epsilon, "request": request, "noise": noise}
        n_low, *events = private_lower_count(n_low, **count_options)
    chosen, event = private_sublasso(
        data.rows_by_index,
        data.Y[number, data.is_training],
        k=request.n_choices,
        epsilon=request.epsilon,
        n_low=n_low,
        rule=request.rule,
        seed=GROUP_SEED,
        noise=noise,
        unit_keys=keys,
        neighbours=request.neighbours,
        unit=request.unit,
        protection=request.protection,
        rows_per_unit=request.rows_per_unit,
        lasso=request.lasso,
        law=request.law,
    )
    return chosen, *events, event


def choose_exactly(
    data: "ScreeningData", number: int, *, n_choices: int, outcome_bound: float, rule: GroupRule
) -> np.ndarray:
    """Choose without noise."""
    # People, whatever the unit of the private twin.
    per_person = 2 if data.rows == Rows.HAPLOTYPES else 1
    y, keys = data.Y[number, data.is_training], data.unit_keys(per_person)
    vote_options = {"rule": rule, "seed": GROUP_SEED, "rows_per_unit": per_person}
    return choose_by_votes(data.rows_by_index, y, k=n_choices, unit_keys=keys, **vote_options)


def make_request(screened: "ScreenedRequest", *, rule: GroupRule, **options: Any) -> VotesRequest:
    """Return the request for one outcome of a study."""
    count_epsilon = screened.epsilon_of_one(screened.share_of_count)
    return VotesRequest(count_epsilon=count_epsilon, rule=rule, **options, **screened.relation)


def sublasso_of_table(table_request: Any, **options: Any) -> VotesRequest:
    """Return the request for a plain table, by its TableRequest: with epsilon and n_low."""
    options |= {
        "neighbours": table_request.neighbours,
        "lasso": table_request.lasso,
        "law": table_request.law,
    }
    return VotesRequest(n_choices=table_request.k, rule=GroupRule.SUBLASSO, **options)


two_stage_exactly = partial(choose_exactly, rule=GroupRule.TWO_STAGE)
asked_of_two_stage = partial(make_request, rule=GroupRule.TWO_STAGE)
sublasso_exactly = partial(choose_exactly, rule=GroupRule.SUBLASSO)
asked_of_sublasso = partial(make_request, rule=GroupRule.SUBLASSO)
