"""How far one unit can move a statistic: the exact worst case, each with its proof page.

Everything here holds for `half` coding with the intercept column x = 1/2 and is in units of x. A square is an
exact fraction; its root is rounded up, so that no claim lies below the truth.
"""

from dataclasses import dataclass
from fractions import Fraction

from dpgrs.errors import UsageError
from dpgrs.privacy.exact_numbers import root_above
from dpgrs.types import Neighbours, Rows, Unit


@dataclass(frozen=True)
class Sensitivity:
    """A claim: between neighbours the statistic differs by at most `value` in `norm`.

    Attributes
    ----------
    value : float, never below the true worst case.
    norm : str, ``l2``.
    neighbours : Neighbours
    unit : Unit
    proof : str, path of the proof page in the repository.
    """

    value: float
    norm: str
    neighbours: Neighbours
    unit: Unit
    proof: str


def gram_sensitivity(n_variants, *, rows, neighbours, unit):
    """Bound the entries of X'X that are released, the intercept column included.

    Haplotypes: the strict upper triangle, as the diagonal is n/4. People: the upper triangle without the
    intercept's diagonal entry, which is n/4.

    Parameters
    ----------
    n_variants : int
    rows : Rows
    neighbours : Neighbours
    unit : Unit, ``person`` for two haplotype rows a person.

    Returns
    -------
    Sensitivity

    Raises
    ------
    UsageError
        If the unit is a haplotype while a row is a person, here and in all functions below.
    """
    d = n_variants
    squares = {
        (Rows.HAPLOTYPES, Neighbours.ADD_REMOVE): Fraction(d * (d + 1), 32),
        (Rows.HAPLOTYPES, Neighbours.REPLACE_ONE): Fraction((d + 1) ** 2 // 4, 4),
        (Rows.PEOPLE, Neighbours.ADD_REMOVE): Fraction(d * (2 * d + 3), 4),
        (Rows.PEOPLE, Neighbours.REPLACE_ONE): max(Fraction(d * d + d // 2), Fraction(d * (2 * d + 3), 4)),
    }
    square = squares[Rows(rows), Neighbours(neighbours)]
    return _claim(square, rows=rows, neighbours=neighbours, unit=unit, proof="docs/proofs/gram.md")


def cross_sensitivity(n_variants, n_outcomes, *, rows, neighbours, unit, outcome_bound):
    """Bound X'Y in Frobenius norm, without its intercept column, which is not released.

    R B sqrt(l) under add-remove and twice that under replace-one, with R = sqrt(d)/2 for haplotypes and
    R = sqrt(d) for people.

    Parameters
    ----------
    n_variants, n_outcomes : int
    rows : Rows
    neighbours : Neighbours
    unit : Unit
    outcome_bound : float, public bound B on every entry of Y.

    Returns
    -------
    Sensitivity
    """
    row_norm_squared = Fraction(n_variants, 4 if Rows(rows) == Rows.HAPLOTYPES else 1)
    distance = 2 if Neighbours(neighbours) == Neighbours.REPLACE_ONE else 1
    square = row_norm_squared * n_outcomes * (distance * Fraction(outcome_bound)) ** 2
    return _claim(square, rows=rows, neighbours=neighbours, unit=unit, proof="docs/proofs/cross_product.md")


def count_sensitivity(*, rows, neighbours, unit):
    """Bound the number of rows: 1 under add-remove.

    Raises
    ------
    UsageError
        Under replace-one, where neighbours have equally many rows and the count is public.
    """
    if Neighbours(neighbours) == Neighbours.REPLACE_ONE:
        raise UsageError(
            f"`privacy.neighbours` must be {Neighbours.ADD_REMOVE} for a private count, got {neighbours}. "
            "The count is public under replace-one: use it as it is."
        )
    return _claim(Fraction(1), rows=rows, neighbours=neighbours, unit=unit, proof="docs/proofs/count.md")


def accuracy_sensitivity(n_outcomes, *, rows, neighbours, unit, outcome_bound, residual_bound):
    """Bound the sums of squared residuals, of squared outcomes and of outcome_bound for every one observed.

    sqrt(l (C^4 + B^4 + B^2)) under either relation: what a row adds is never negative, so that one row in the
    place of another moves no sum further than one row more.

    Parameters
    ----------
    n_outcomes : int, l.
    rows : Rows
    neighbours : Neighbours
    unit : Unit
    outcome_bound, residual_bound : float, public bounds B and C on the absolute values.

    Returns
    -------
    Sensitivity
    """
    B, C = Fraction(outcome_bound), Fraction(residual_bound)
    square = n_outcomes * (C**4 + B**4 + B**2)
    return _claim(square, rows=rows, neighbours=neighbours, unit=unit, proof="docs/proofs/accuracy.md")


def _claim(row_square, *, rows, neighbours, unit, proof):
    square = row_square * _rows_per_unit(rows, unit) ** 2
    return Sensitivity(root_above(square), "l2", Neighbours(neighbours), Unit(unit), proof)


def _rows_per_unit(rows, unit):
    """Return how many rows a unit owns: it moves a statistic so many times as far (triangle inequality)."""
    if Rows(rows) == Rows.HAPLOTYPES:
        return 2 if Unit(unit) == Unit.PERSON else 1
    if Unit(unit) == Unit.HAPLOTYPE:
        raise UsageError(
            f"`privacy.unit` must be {Unit.PERSON} where a row is a person, got {unit}. "
            f"Set it to {Unit.PERSON}, or `cohort.rows` to {Rows.HAPLOTYPES}."
        )
    return 1
