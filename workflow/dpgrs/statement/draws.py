"""The draws that a release of a method makes, by statistic."""

from enum import StrEnum
from typing import NamedTuple

GAUSSIAN, CHOICE, SUBSET = "gaussian", "choice", "subset"


class Scope(StrEnum):
    """The outcomes that a draw serves; of a single outcome a statement tells nothing apart."""

    ALL = "all outcomes"
    EACH = "each outcome by itself"
    BUDGET = "all outcomes or each"  # as they share a budget or not


class Draws(NamedTuple):
    """Draws of a statistic that a release needs."""

    statistic: str
    scope: Scope
    family: str = GAUSSIAN  # of the noise


COUNT, GRAM = Draws("count", Scope.ALL), Draws("gram", Scope.ALL)
KNOWN, CASES = "outcome counts", "case counts"
CROSS, EIGENVALUE = "cross product", "smallest eigenvalue"
GENOME, MOMENTS = "genome sums", "genome moments"
ACCURACY = Draws("accuracy", Scope.BUDGET)
OF_OUTCOMES = tuple(Draws(statistic, Scope.BUDGET) for statistic in (KNOWN, CROSS, CASES))
REUSECOV, WITHOUT_GRAM = (COUNT, GRAM, *OF_OUTCOMES), (COUNT, *OF_OUTCOMES)
WITH_EIGENVALUE = (*REUSECOV, Draws(EIGENVALUE, Scope.ALL))
SEPARATE = (COUNT, *(Draws(statistic, Scope.EACH) for statistic in (KNOWN, "gram", CROSS)))
KENDALL = Draws("Kendall's correlations", Scope.EACH, CHOICE)
OF_GENOME = (COUNT, Draws(MOMENTS, Scope.ALL), Draws(KNOWN, Scope.BUDGET), Draws(GENOME, Scope.BUDGET))
