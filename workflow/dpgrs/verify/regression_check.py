"""Check a regression on covariates: its draw, size and sensitivity, from the public inputs of a statement.

It shares no arithmetic with what made the claim.
"""

import re
from fractions import Fraction
from typing import Any

from dpgrs.statement.methods import stated_method
from dpgrs.types import Missing, Neighbours, Rows
from dpgrs.verify.covariate_check import BOUND
from dpgrs.verify.draw_check import Draws, Scope

REGRESSION = Draws("covariate regression", Scope.BUDGET)
REGRESSION_NORM = "norm of a row of the regression on covariates"
REGRESSION_OUTCOMES = "norm of its row of outcomes"
REGRESSION_WEIGHTS = "weights of its squares and counts"
INPUTS = (REGRESSION_NORM, REGRESSION_OUTCOMES, REGRESSION_WEIGHTS)
PAGE = "docs/proofs/covariate_regression.md"
STEP = Fraction(1, 2**12)  # of the grid of X
UNIT = Fraction(1, 16)  # steps of C'Y by those of C'C
# Public inputs have six digits, and a square is of up to the fourth power of one.
SIX_DIGITS = Fraction(1, 40_000)


def is_adjusted(statement: dict[str, Any]) -> bool:
    """Return whether outcomes were adjusted by a regression on covariates before all else."""
    return any(public["name"] in INPUTS for public in statement["public_inputs"])


def regression_problems(statement: dict[str, Any], *, covariates: list[str]) -> list[str]:
    """Check size, sensitivity and proof of the draws of a regression, if there are any.

    `covariates` are the names of those that the bundle has weights of.
    """
    stated = {public["name"]: public["value"] for public in statement["public_inputs"]}
    if not is_adjusted(statement):
        method = stated_method(statement["method"])
        if covariates and not (method and method.takes_covariates):
            return [f"{statement['method']} must have a regression on its covariates before it"]
        return []
    if not covariates or not {*INPUTS} <= stated.keys():
        return [f"a regression on covariates must have covariates, and the public inputs {', '.join(INPUTS)}"]
    draws = [draw for draw in statement["mechanisms"] if draw["statistic"] == REGRESSION.statistic]
    n_columns, outcomes = len(covariates) + 1, statement["data_domain"]["outcomes"]
    is_counted = statement["data_domain"]["missing_outcomes"] == Missing.COUNTED
    squares, counts = map(int, stated[REGRESSION_WEIGHTS].split(" and "))
    if squares < 1 or (counts > 0) != is_counted:
        return [f"the {REGRESSION_WEIGHTS} must be above 0, the second where known outcomes are counted"]
    problems = []
    for draw in draws:
        n_outcomes = len(outcomes) if draw["outcome"] is None else 1
        entries = n_columns * (n_columns + 1) // 2 + n_outcomes * (n_columns + is_counted)
        if draw["entries"] != entries:
            problems.append(f"the {REGRESSION.statistic} must be {entries} numbers, got {draw['entries']}")
        square = _square(statement, stated, n_columns, n_outcomes, (squares * UNIT, counts * UNIT))
        off = Fraction(draw["sensitivity"]) ** 2 / square - 1
        if abs(off) > SIX_DIGITS:
            claim = f"{float(square) ** 0.5:.6g}, got {draw['sensitivity']}"
            problems.append(f"the sensitivity of the {REGRESSION.statistic} must be {claim}")
        if draw["proof"] != PAGE:
            problems.append(f"the proof of the {REGRESSION.statistic} must be {PAGE}, got {draw['proof']}")
    return problems


def _square(
    statement: dict[str, Any],
    stated: dict[str, str],
    n_columns: int,
    n_outcomes: int,
    weights: tuple[Fraction, Fraction],
) -> Fraction:
    """Bound the squared change of the weighted C'C, C'Y and the weighted counts that one unit can cause."""
    guarantee, (a, h) = statement["guarantee"], weights
    is_haplotype = guarantee["rows"] == Rows.HAPLOTYPES
    largest = Fraction(1, 2 if is_haplotype else 1)  # entry of a row
    scale = largest / Fraction(re.match(r"\S+", stated[BOUND])[0])
    intercept = min(scale // STEP * STEP, largest)
    x = min(Fraction(stated[REGRESSION_NORM]) ** 2, n_columns * largest**2)
    bound = Fraction(stated["outcome bound"])
    y = min(Fraction(stated[REGRESSION_OUTCOMES]) ** 2, n_outcomes * bound**2)
    n_full = x // largest**2
    fourths = n_full * largest**4 + (x - n_full * largest**2) ** 2
    if guarantee["neighbours"] == Neighbours.ADD_REMOVE:
        moved = x * y + a**2 * (x**2 + fourths) / 2
    else:
        # By the cosine of two rows of C, at the worst of which the sum is largest.
        t = min(x, y / a**2)
        moved = 2 * y * (x + t) + a**2 * (x**2 - t**2 + min(fourths, n_columns * largest**4 / 2))
    moved += n_outcomes * h**2 * intercept**4
    is_twice = is_haplotype and guarantee["unit"] == "person"
    return moved * (4 if is_twice else 1)
