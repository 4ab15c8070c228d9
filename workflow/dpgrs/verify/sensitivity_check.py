"""Compute again how far a unit can move each statistic, using only the public inputs of a statement.

The squares are of one row, by the theorems of the proof pages; they share no code with what made the claims.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpgrs.statement.draws import CASES, COUNT, CROSS, GENOME, GRAM, KENDALL, KNOWN, MOMENTS, REUSECOV
from dpgrs.statement.methods import PROVED, stated_method, steers_rows
from dpgrs.types import Neighbours, Protection, Rows, Unit
from dpgrs.verify.draw_check import MOMENT_NORM
from dpgrs.verify.entry_check import ROW_NORM, SUMS_OF_ACCURACY, choices_of
from dpgrs.verify.input_check import OUTCOME_BOUND, OUTCOME_NORM, RESIDUAL_BOUND

# Public inputs have six digits, and a square is of up to the fourth power of one.
SIX_DIGITS = Fraction(1, 40_000)
# To which sums of a genome are rounded down.
SUM_STEP = Fraction(1, 2**30)
# The weight of squares among the drawn second moments; products of two entries have 7.
SQUARE_WEIGHT = 5
# The program claims what the theorem gives of sums over all variants and, whatever the method, of choices and
# along a map of a genome; of others it may claim more.
EXACT = (COUNT.statistic, KNOWN, CASES, GRAM.statistic, CROSS)
ALWAYS_EXACT = (GENOME, MOMENTS, KENDALL.statistic)


@dataclass(frozen=True)
class Row:
    """The public terms of a row."""

    gap: int  # how far apart two values of a column can be
    is_replaced: bool  # whether neighbours have another row in its place
    protection: Protection
    inputs: dict[str, Fraction]  # the public inputs that are numbers

    @property
    def is_clipped(self) -> bool:
        return ROW_NORM in self.inputs

    def square(self, n_columns: int) -> Fraction:
        """Return the largest squared norm of a row of so many columns."""
        largest = Fraction(n_columns * self.gap**2)
        return min(self.inputs[ROW_NORM] ** 2, largest) if self.is_clipped else largest / 4

    def outcome_square(self, n_outcomes: int) -> Fraction:
        """Return the largest squared norm of a row of so many outcomes."""
        square = n_outcomes * self.inputs[OUTCOME_BOUND] ** 2
        return min(square, self.inputs[OUTCOME_NORM] ** 2) if OUTCOME_NORM in self.inputs else square


def sensitivity_problems(statement: dict[str, Any], *, n_columns: int) -> list[str]:
    """Find draws that can move further than their statement claims, or with another proof than theirs.

    `n_columns` are variants and covariates. Of methods of other packages nothing is known, and nothing is
    checked.
    """
    guarantee, problems = statement["guarantee"], []
    if statement["method"] not in PROVED:
        return []
    rows, unit = Rows(guarantee["rows"]), Unit(guarantee["unit"])
    if rows == Rows.PEOPLE and unit == Unit.HAPLOTYPE:
        return ["the unit must be a person where a row is one"]
    row = Row(
        gap=1 if rows == Rows.HAPLOTYPES else 2,
        is_replaced=guarantee["neighbours"] == Neighbours.REPLACE_ONE,
        protection=Protection(guarantee["protection"]),
        inputs=_numbers(statement["public_inputs"]),
    )
    rows_of_unit = 2 if (rows, unit) == (Rows.HAPLOTYPES, Unit.PERSON) else 1
    chosen = choices_of(statement)
    for mechanism in statement["mechanisms"]:
        name = mechanism["statistic"]
        if name not in BY_STATISTIC:
            continue  # nothing of a bundle is made of it
        square, page = BY_STATISTIC[name]
        if steers_rows(statement["method"]) and name == "cross product":
            page = "steered"
        elif row.is_clipped and name == "gram":
            page = "clipped_gram"
        least = (
            square(row, chosen.get(mechanism["outcome"], n_columns), mechanism["entries"]) * rows_of_unit**2
        )
        claimed = Fraction(mechanism["sensitivity"]) ** 2
        is_of_sums = {*stated_method(statement["method"]).draws} <= {*REUSECOV}
        is_exact = name in ALWAYS_EXACT or (name in EXACT and is_of_sums)
        if claimed < least * (1 - SIX_DIGITS) or (is_exact and claimed > least * (1 + SIX_DIGITS)):
            claim = (
                f"{'' if is_exact else 'at least '}{float(least) ** 0.5:.6g}, got {mechanism['sensitivity']}"
            )
            problems.append(f"the sensitivity of {name} must be {claim}")
        if mechanism["proof"] != (proof := f"docs/proofs/{page}.md"):
            problems.append(f"the proof of {name} must be {proof}, got {mechanism['proof']}")
    return problems


def _numbers(inputs: list[dict[str, Any]]) -> dict[str, Fraction]:
    """Return the values that are numbers, of bounds and norms."""
    names = (ROW_NORM, OUTCOME_NORM, OUTCOME_BOUND, RESIDUAL_BOUND, MOMENT_NORM)
    return {public["name"]: Fraction(public["value"]) for public in inputs if public["name"] in names}


def _count(row: Row, n_columns: int, entries: int) -> Fraction:
    """Bound counts, of which a row moves each by 1."""
    return Fraction(entries)


def _gram(row: Row, n_columns: int, entries: int) -> Fraction:
    """Bound the triangle of X'X with the intercept x = 1/2, squares included if these are released."""
    d, R2 = n_columns, row.square(n_columns)
    if not row.is_clipped:
        if row.gap == 1:
            return Fraction((d + 1) ** 2 // 4, 4) if row.is_replaced else Fraction(d * (d + 1), 32)
        added = Fraction(d * (2 * d + 3), 4)
        return max(added, Fraction(d**2 + d // 2)) if row.is_replaced else added
    n_full, remainder = divmod(R2, row.gap**2)
    fourths = n_full * row.gap**4 + remainder**2
    if not row.is_replaced:
        return (R2**2 + fourths) / 2 + R2 / 4
    near = min(R2, Fraction(1, 4))
    return R2**2 + R2 / 2 + near / 2 - near**2 + min(fourths, Fraction(d * row.gap**4, 2))


def _cross_product(row: Row, n_columns: int, entries: int) -> Fraction:
    """Bound X'Y by the norms of the rows of X and Y."""
    moved = row.square(n_columns) * (4 if row.is_replaced else 1)
    if row.protection == Protection.FEATURE:
        moved = min(moved, Fraction(n_columns * row.gap**2))
    return moved * row.outcome_square(entries // n_columns)


def _genome_sums(row: Row, n_columns: int, entries: int) -> Fraction:
    """Bound sums of clipped rows, each of which was rounded down to its step."""
    moved = row.inputs[ROW_NORM] * row.inputs[OUTCOME_NORM] * (2 if row.is_replaced else 1)
    # The root is rounded down to a unit, which is far below six digits of a step.
    return (moved + SUM_STEP * math.isqrt(entries)) ** 2


def _genome_moments(row: Row, n_columns: int, entries: int) -> Fraction:
    """Bound weighted second moments by the norm of a row's; those of two rows are at no obtuse angle."""
    return (SQUARE_WEIGHT * row.inputs[MOMENT_NORM]) ** 2 * (2 if row.is_replaced else 1)


def _smallest_eigenvalue(row: Row, n_columns: int, entries: int) -> Fraction:
    return row.square(n_columns) ** 2


def _accuracy(row: Row, n_columns: int, entries: int) -> Fraction:
    B, C = row.inputs[OUTCOME_BOUND], row.inputs[RESIDUAL_BOUND]
    return entries // SUMS_OF_ACCURACY * (C**4 + B**4 + B**2)


def _kendall(row: Row, n_columns: int, entries: int) -> Fraction:
    """Bound a score: its correlation with the outcome, and one with a variant that was chosen before."""
    return Fraction(3 if row.is_replaced else 2) ** 2


# By statistic: the squared sensitivity of a row and the page of its proof.
BY_STATISTIC = {
    "count": (_count, "count"),
    "outcome counts": (_count, "count"),
    "case counts": (_count, "count"),
    "gram": (_gram, "gram"),
    "cross product": (_cross_product, "cross_product"),
    GENOME: (_genome_sums, "genome"),
    MOMENTS: (_genome_moments, "genome_moments"),
    "smallest eigenvalue": (_smallest_eigenvalue, "smallest_eigenvalue"),
    "accuracy": (_accuracy, "accuracy"),
    KENDALL.statistic: (_kendall, "kendall"),
}
