"""Check the weights of covariates in a bundle, and a regression on them, against its statement.

No arithmetic is shared with what made the claim of the regression.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from dpgrs.statement.draws import Draws, Scope
from dpgrs.statement.methods import stated_method
from dpgrs.statement.words import COVARIATES_INPUT
from dpgrs.types import Missing, Neighbours, Rows
from dpgrs.verify.folder_check import file_digest, read_rows

FILE, LOADINGS = "covariate_weights.tsv", "pca_loadings.tsv"
COLUMNS = ["outcome", "covariate", "weight", "centre", "scale", "bound"]
STATED_LOADINGS = "loadings of principal components"
BOUND, SCALES = "bound of covariates", "centre and scale of covariates"
FIRST_COMPONENT = "PC1"  # columns of a table come before it
MOST_UNSURE = 10  # columns with the scale of a 0/1 covariate that need be none


def covariate_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """List the errors in the weights of covariates."""
    stated = stated_values(statement, COVARIATES_INPUT)
    if bool(stated) != (FILE in files):
        return [f"{FILE} must be there if and only if the statement names covariates"]
    if not stated:
        return [f"{LOADINGS} must not be there without covariates"] if LOADINGS in files else []
    header, *lines = read_rows(files[FILE])
    if header != COLUMNS or any(len(line) != len(COLUMNS) for line in lines):
        return [f"{FILE} must have the columns {', '.join(COLUMNS)}"]
    names = list(dict.fromkeys(line[1] for line in lines))
    outcomes = statement["data_domain"]["outcomes"]
    problems = []
    if [line[:2] for line in lines] != [[outcome, name] for outcome in outcomes for name in names]:
        problems.append(f"{FILE} must have a line for every outcome and covariate, in their order")
    if ", ".join(names) != stated[0]:
        problems.append(f"{FILE} must hold the covariates of the statement, {stated[0]}")
    if not all(_is_sound(line[2:]) for line in lines):
        problems.append(f"{FILE} must hold finite numbers, scales and bounds above 0")
    elif not problems:
        problems += _constant_problems(statement, lines[: len(names)])
    constants = {(name, *numbers) for _, name, _, *numbers in lines}
    digests = [file_digest(files[LOADINGS])] if LOADINGS in files else []
    if stated_values(statement, STATED_LOADINGS) != digests:
        problems.append(f"{LOADINGS} must be there with the digest in the public inputs, or in neither")
    if len(constants) != len(names):
        problems.append(f"{FILE} must give a covariate the same centre, scale and bound for every outcome")
    return problems


def _constant_problems(statement: dict[str, Any], lines: list[list[str]]) -> list[str]:
    """Compare bound, centres and scales, of one outcome's lines, with the public inputs.

    Columns of a table come first, and have constants of the curator; components are scaled by their loadings.
    """
    names = [name for _, name, *_ in lines]
    constants = [(float(centre), float(scale)) for *_, centre, scale, _ in lines]
    # Columns of a table may have the names of components.
    ends = {len(names), *(index for index, name in enumerate(names) if name == FIRST_COMPONENT)}
    of_table = [end for end in ends if {*constants[end:]} <= {(0.0, 1.0)}]
    candidates = [dict(zip(names[:end], constants[:end], strict=True)) for end in of_table]
    stated = stated_values(statement, SCALES)
    is_right = {
        BOUND: all(
            stated_values(statement, BOUND) == [f"{float(line[-1]):g} standard deviations"] for line in lines
        ),
        SCALES: any(
            stated in [[digest] for digest in _digests(candidate)] if candidate else not stated
            for candidate in candidates
        ),
    }
    return [f"{FILE} must have the {name} as stated" for name, holds in is_right.items() if not holds]


def _digests(constants: dict[str, tuple[float, float]]) -> Iterator[str]:
    """Yield the digests that centres and scales may have: the table does not say which are 0/1."""
    may_be = [name for name, (p, scale) in constants.items() if 0 < p < 1 and scale == math.sqrt(p * (1 - p))]
    for kinds in product([True, False], repeat=min(len(may_be), MOST_UNSURE)):
        is_binary = dict.fromkeys(may_be, True) | dict(zip(may_be, kinds, strict=False))
        values = {name: [*constant, is_binary.get(name, False)] for name, constant in constants.items()}
        yield hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def stated_inputs(statement: dict[str, Any]) -> dict[str, str]:
    """Return the values of the public inputs, by name."""
    return {public["name"]: public["value"] for public in statement["public_inputs"]}


def stated_values(statement: dict[str, Any], name: str) -> list[str]:
    """Return the values of the public inputs of one name."""
    return [public["value"] for public in statement["public_inputs"] if public["name"] == name]


def _is_sound(cells: list[str]) -> bool:
    try:
        weight, centre, scale, bound = map(float, cells)
    except ValueError:
        return False
    return all(map(math.isfinite, (weight, centre, scale, bound))) and scale > 0 and bound > 0


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
    return any(name in INPUTS for name in stated_inputs(statement))


def regression_problems(statement: dict[str, Any], *, covariates: list[str]) -> list[str]:
    """Check size, sensitivity and proof of the draws of a regression, if there are any.

    `covariates` are the names of those that the bundle has weights of.
    """
    stated = stated_inputs(statement)
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
