"""The selectors of studies: each chooses variants for one outcome, in private and, as its twin, exactly."""

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

from dpgrs.screening.dp_kendall import greedy_kendall, private_kendall
from dpgrs.screening.dp_sis import private_sis
from dpgrs.screening.top_k import top_k
from dpgrs.types import Selector

# Its name in ledgers and statements, beside those of other draws.
SIS_STATISTIC = "products with the outcome"


class SelectorFunctions(NamedTuple):
    """How a selector chooses for an outcome, by its number.

    Attributes
    ----------
    private : function of a ScreeningData and the number; request, noise and outcome_bound by name. It returns
        the chosen variants and the event.
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


SELECTORS = MappingProxyType(
    {
        Selector.KENDALL: SelectorFunctions(_private_by_kendall, _by_kendall),
        Selector.SIS: SelectorFunctions(_private_by_sis, _by_sis),
    }
)
