"""The selectors of studies: each chooses variants for one outcome, in private and, as its twin, exactly."""

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

from dpgrs.privacy.lower_count import private_lower_count
from dpgrs.selection.dp_kendall import greedy_kendall, private_kendall
from dpgrs.selection.dp_sis import private_sis
from dpgrs.selection.sublasso import GroupRule, choose_by_votes, private_sublasso
from dpgrs.selection.top_k import top_k
from dpgrs.types import Rows, Selector

# Its name in ledgers and statements, beside those of other draws.
SIS_STATISTIC = "products with the outcome"
GROUP_SEED = 0  # of the public hash that puts people into groups


class SelectorFunctions(NamedTuple):
    """How a selector chooses for an outcome, by its number.

    Attributes
    ----------
    private : function of a ScreeningData and the number; request, noise and outcome_bound by name. It returns
        the chosen variants and the events.
    exact : the same without noise; n_choices and outcome_bound by name. It returns the chosen variants.
    """

    private: Callable
    exact: Callable


def _private_by_kendall(data, number, *, request, noise, outcome_bound):
    return private_kendall(data.pairs[number], request=request, noise=noise)


def _by_kendall(data, number, *, n_choices, outcome_bound):
    return greedy_kendall(data.pairs[number], n_choices=n_choices)


def _private_by_sis(data, number, *, request, noise, outcome_bound):
    scores = data.sis_scores(outcome_bound).of_outcome(number)
    return private_sis(scores, request=request, noise=noise, name=SIS_STATISTIC)


def _by_sis(data, number, *, n_choices, outcome_bound):
    return top_k(data.sis_scores(outcome_bound).values[number], n_choices)


def _private_by_votes(data, number, *, request, noise, outcome_bound):
    keys, events = data.unit_keys(request.rows_per_unit), []
    n_low = len(keys)
    if request.has_private_count:
        terms = {"epsilon": request.count_epsilon, "request": request, "noise": noise}
        n_low, *events = private_lower_count(n_low, **terms)
    chosen, event = private_sublasso(
        data.training_rows,
        data.Y[number, data.is_training],
        k=request.n_choices,
        epsilon=request.epsilon,
        n_low=n_low,
        rule=GroupRule.TWO_STAGE,
        seed=GROUP_SEED,
        noise=noise,
        unit_keys=keys,
        neighbours=request.neighbours,
        unit=request.unit,
        protection=request.protection,
        rows_per_unit=request.rows_per_unit,
    )
    return chosen, *events, event


def _by_votes(data, number, *, n_choices, outcome_bound):
    # People, whatever the unit of the private twin.
    per_person = 2 if data.rows == Rows.HAPLOTYPES else 1
    y, keys = data.Y[number, data.is_training], data.unit_keys(per_person)
    terms = {"rule": GroupRule.TWO_STAGE, "seed": GROUP_SEED, "rows_per_unit": per_person}
    return choose_by_votes(data.training_rows, y, k=n_choices, unit_keys=keys, **terms)


SELECTORS = MappingProxyType(
    {
        Selector.KENDALL: SelectorFunctions(_private_by_kendall, _by_kendall),
        Selector.SIS: SelectorFunctions(_private_by_sis, _by_sis),
        Selector.TWO_STAGE: SelectorFunctions(_private_by_votes, _by_votes),
    }
)
