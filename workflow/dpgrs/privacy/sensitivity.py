"""How far one unit can move a statistic: proven bounds, whose proof pages say where they are attained.

Everything here but Kendall's correlations has the intercept column x = 1/2 and is in units of x.
Without a `row_norm` it holds for `half` coding; with one, for `frequency` coding with every row of genotypes
clipped at that norm. A square is an exact fraction; its root is rounded up, so no claim is below the truth.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.exact_numbers import root_above
from dpgrs.types import Neighbours, PairKernel, Protection, Rows, Unit

# The page that proves each claim. An id enters keys of noise and identities of requests: it stays, whatever
# the page is called, and a claim or statistic that changes gets the next number (docs/development.md).
PROOFS = {
    "accuracy/1": "docs/proofs/accuracy.md",
    "boosted_adassp/1": "docs/proofs/boosted_adassp.md",
    "clipped_gram/1": "docs/proofs/clipped_gram.md",
    "count/1": "docs/proofs/count.md",
    "covariate_regression/1": "docs/proofs/covariate_regression.md",
    "cross_product/1": "docs/proofs/cross_product.md",
    "dp_sgd/1": "docs/proofs/dp_sgd.md",
    "genome/1": "docs/proofs/genome.md",
    "genome_moments/1": "docs/proofs/genome_moments.md",
    "gram/1": "docs/proofs/gram.md",
    "kendall/1": "docs/proofs/kendall.md",
    "outcome_counts/1": "docs/proofs/count.md",
    "sis/1": "docs/proofs/canonical_lipschitz.md",
    "smallest_eigenvalue/1": "docs/proofs/smallest_eigenvalue.md",
    "steered/1": "docs/proofs/steered.md",
    "tukey/1": "docs/proofs/tukey.md",
    "votes/1": "docs/proofs/votes.md",
}


@dataclass(frozen=True)
class Sensitivity:
    """A claim: between neighbours the statistic differs by at most `value` in `norm`."""

    value: float  # never below the true worst case
    norm: str  # ``l2``, or ``linf`` for scores of which a choice is made: by how much each may differ
    neighbours: Neighbours
    unit: Unit
    law: str  # id of the claim, one of `PROOFS`

    def __post_init__(self) -> None:
        if self.law not in PROOFS:
            raise UsageError(
                "claim-unknown",
                f"The id of a claim must be one of {', '.join(PROOFS)}, got {self.law}. "
                "Enter its proof page.",
            )

    @property
    def proof(self) -> str:
        """Path of the proof page in the repository."""
        return PROOFS[self.law]


def gram_sensitivity(
    n_variants: int,
    *,
    rows: Rows | str,
    neighbours: Neighbours | str,
    unit: Unit | str,
    row_norm: float | None = None,
    is_whole: bool = False,
) -> Sensitivity:
    """Bound the entries of X'X that are released, the intercept column included.

    Haplotypes in `half` coding: the strict upper triangle, as the diagonal is n/4. Otherwise the upper
    triangle without the intercept's diagonal entry, which is n/4.

    Parameters
    ----------
    unit : ``person`` for two haplotype rows a person.
    row_norm : > 0, public bound R on the genotypes of a row in `frequency` coding; None for `half`.
    is_whole : whether the Frobenius norm of X'X without the intercept is bounded, R^2 under add-remove and
        sqrt(2) R^2 under replace-one, as the PRIMO paper does: looser.

    Raises
    ------
    UsageError
        Here and below: if the unit is a haplotype but rows are people, or a norm is not finite and above 0.

    Examples
    --------
    >>> round(gram_sensitivity(100, rows="people", neighbours="add-remove", unit="person").value, 2)
    71.24
    """
    if row_norm is not None or is_whole:
        if is_whole:
            n_rows = 1 if Neighbours(neighbours) == Neighbours.ADD_REMOVE else 2
            square = n_rows * _row_square(n_variants, rows=rows, row_norm=row_norm) ** 2
        else:
            square = _clipped_gram_square(n_variants, rows=rows, neighbours=neighbours, row_norm=row_norm)
        return _claim(square, rows=rows, neighbours=neighbours, unit=unit, law="clipped_gram/1")
    d = n_variants
    squares = {
        (Rows.HAPLOTYPES, Neighbours.ADD_REMOVE): Fraction(d * (d + 1), 32),
        (Rows.HAPLOTYPES, Neighbours.REPLACE_ONE): Fraction((d + 1) ** 2 // 4, 4),
        (Rows.PEOPLE, Neighbours.ADD_REMOVE): Fraction(d * (2 * d + 3), 4),
        (Rows.PEOPLE, Neighbours.REPLACE_ONE): max(Fraction(d * d + d // 2), Fraction(d * (2 * d + 3), 4)),
    }
    square = squares[Rows(rows), Neighbours(neighbours)]
    return _claim(square, rows=rows, neighbours=neighbours, unit=unit, law="gram/1")


def cross_sensitivity(
    n_variants: int,
    n_outcomes: int,
    *,
    rows: Rows | str,
    neighbours: Neighbours | str,
    unit: Unit | str,
    outcome_bound: float,
    protection: Protection | str = Protection.FULL,
    row_norm: float | None = None,
    outcome_norm: float | None = None,
) -> Sensitivity:
    """Bound X'Y in Frobenius norm, without its intercept column, which is not released.

    With R and C the largest norms of a row of X and of Y, and D the largest distance of two rows of X:

    - full: R C under add-remove, 2 R C under replace-one;
    - feature: C D, at most 2 R C;
    - label: 2 R C.

    Parameters
    ----------
    neighbours : replace-one if protection is not full.
    outcome_bound : public bound B on every entry of Y.
    protection : full, feature or label.
    row_norm : > 0, public bound on the norm of a row of X; None for `half` coding. Under label protection it
        may be the largest norm of the public X, rounded up, in either coding.
    outcome_norm : > 0, public bound on the norm of a row of Y; None for B sqrt(l). Under feature protection
        it may be the largest norm of the public Y, rounded up.

    Raises
    ------
    UsageError
        Under add-remove with feature or label protection, or if the protection is none.

    Examples
    --------
    >>> cross_sensitivity(1, 4, rows="people", neighbours="add-remove", unit="person", outcome_bound=2).value
    4.0
    """
    size = _row_square(n_variants, rows=rows, row_norm=row_norm)
    C_squared = n_outcomes * Fraction(outcome_bound) ** 2
    if outcome_norm is not None:
        C_squared = min(C_squared, positive("outcome_norm", outcome_norm) ** 2)
    moved = {
        Protection.FULL: 4 * size if Neighbours(neighbours) == Neighbours.REPLACE_ONE else size,
        Protection.FEATURE: min(4 * size, Fraction(n_variants * _entry_range(rows) ** 2)),
        Protection.LABEL: 4 * size,
    }
    check_protection(protection, neighbours)
    square = moved[Protection(protection)] * C_squared
    return _claim(square, rows=rows, neighbours=neighbours, unit=unit, law="cross_product/1")


def genome_sensitivity(
    n_directions: int,  # K
    n_outcomes: int,  # l
    *,
    rows: Rows | str,  # people
    neighbours: Neighbours | str,
    unit: Unit | str,
    row_norm: float,  # > 0, public bound R on the norm of a person's row, over all chromosomes
    outcome_norm: float,  # > 0, public bound C on the norm of a person's outcomes
    step: float,  # > 0, of S
) -> Sensitivity:
    """Bound S, sums of products of two clipped rows, each rounded down to a multiple of a step.

    R C + step sqrt(K l) under add-remove, 2 R C + step sqrt(K l) under replace-one, for K directions and l
    outcomes: two numbers rounded down lie at most a step further apart than before.
    """
    if Rows(rows) != Rows.PEOPLE:
        raise UsageError(
            "genome-rows", f"`cohort.rows` must be {Rows.PEOPLE} for sums of a genome, got {rows}. Change it."
        )
    n_rows = 1 if Neighbours(neighbours) == Neighbours.ADD_REMOVE else 2
    moved = n_rows * positive("row_norm", row_norm) * positive("outcome_norm", outcome_norm)
    rounded = positive("step", step) * Fraction(root_above(Fraction(n_directions * n_outcomes)))
    return _claim((moved + rounded) ** 2, rows=rows, neighbours=neighbours, unit=unit, law="genome/1")


def genome_moments_sensitivity(
    *,
    rows: Rows | str,  # people
    neighbours: Neighbours | str,
    unit: Unit | str,
    moment_norm: float,  # > 0, public bound D
    square_weight: int,  # > 0, a
    product_weight: int,  # > 0, b
) -> Sensitivity:
    """Bound second moments within LD blocks, squares times a and products of two directions times b.

    a D under add-remove, sqrt(2) a D under replace-one, for weights with b^2 <= 2 a^2 and rows whose
    sum of |u_b|^4 over blocks is at most D^2. Other weights are refused.
    """
    if Rows(rows) != Rows.PEOPLE:
        raise UsageError(
            "genome-rows", f"`cohort.rows` must be {Rows.PEOPLE} for sums of a genome, got {rows}. Change it."
        )
    if not 0 < product_weight**2 <= 2 * square_weight**2:
        raise UsageError(
            "moment-weights",
            f"Weights a and b of second moments must have b^2 <= 2 a^2, got {square_weight} and "
            f"{product_weight}. Raise the weight of squares.",
        )
    n_rows = 1 if Neighbours(neighbours) == Neighbours.ADD_REMOVE else 2
    square = n_rows * (square_weight * positive("moment_norm", moment_norm)) ** 2
    return _claim(square, rows=rows, neighbours=neighbours, unit=unit, law="genome_moments/1")


def covariate_regression_sensitivity(
    n_columns: int,  # entries of a row of C, its intercept among them
    n_outcomes: int,
    *,
    rows: Rows | str,
    neighbours: Neighbours | str,
    unit: Unit | str,
    row_norm: float,  # > 0, public bound on the norm of a row of C
    outcome_norm: float,  # > 0, public bound on the norm of a row of Y
    outcome_bound: float,  # public bound on every entry of Y
    intercept: float,  # > 0, the entry of the intercept, of which `known` sums squares
    square_weight: float | Fraction,  # a > 0
    known_weight: float | Fraction = 0,  # h >= 0; 0 if nothing is counted
) -> Sensitivity:
    """Bound the vector [a upper(C'C), C'Y, h known] of a regression of outcomes on covariates."""
    largest = Fraction(_entry_range(rows), 2) ** 2
    R_squared = min(positive("row_norm", row_norm) ** 2, n_columns * largest)
    C_squared = min(
        positive("outcome_norm", outcome_norm) ** 2,
        n_outcomes * positive("outcome_bound", outcome_bound) ** 2,
    )
    n_largest, remainder = divmod(R_squared, largest)
    M = n_largest * largest**2 + remainder**2
    a_squared = positive("square_weight", square_weight) ** 2
    if Neighbours(neighbours) == Neighbours.ADD_REMOVE:
        square = a_squared * (R_squared**2 + M) / 2 + R_squared * C_squared
    else:
        t = min(R_squared, C_squared / a_squared)
        square = a_squared * (R_squared**2 - t**2 + min(M, n_columns * largest**2 / 2))
        square += 2 * C_squared * (R_squared + t)
    square += n_outcomes * (Fraction(known_weight) * min(Fraction(intercept) ** 2, largest)) ** 2
    return _claim(square, rows=rows, neighbours=neighbours, unit=unit, law="covariate_regression/1")


def largest_row_norm(n_variants: int, *, rows: Rows | str, row_norm: float | None = None) -> float:
    """Return the largest norm of a row of X, a float that is not above it; parameters as above."""
    square = _row_square(n_variants, rows=rows, row_norm=row_norm)
    root = math.sqrt(square)
    return root if Fraction(root) ** 2 <= square else math.nextafter(root, 0)


def smallest_eigenvalue_sensitivity(
    n_variants: int,
    *,
    rows: Rows | str,
    neighbours: Neighbours | str,
    unit: Unit | str,
    row_norm: float | None = None,
    # >= 0, public: how far the computed number can lie from the eigenvalue, by floating point and by any
    # rounding that the proof page does not show to be free. It counts twice, whatever the unit.
    error: float = 0.0,
) -> Sensitivity:
    """Bound the smallest eigenvalue of X'X: the largest squared norm of a row, under either relation."""
    if not 0 <= error < math.inf:
        raise UsageError(
            "eigenvalue-error-out-of-range",
            f"`error` must be a finite number >= 0, got {error}. Bound it from public numbers.",
        )
    size = _row_square(n_variants, rows=rows, row_norm=row_norm)
    moved = rows_per_unit(rows, unit) * size + 2 * Fraction(error)
    claimed = root_above(moved**2)
    return Sensitivity(claimed, "l2", Neighbours(neighbours), Unit(unit), "smallest_eigenvalue/1")


def count_sensitivity(*, rows: Rows | str, neighbours: Neighbours | str, unit: Unit | str) -> Sensitivity:
    """Bound the number of rows: 1 under add-remove.

    It is refused under replace-one: neighbours have equally many rows there, and the count is public.
    """
    if Neighbours(neighbours) == Neighbours.REPLACE_ONE:
        raise UsageError(
            "count-is-public",
            f"`privacy.neighbours` must be {Neighbours.ADD_REMOVE} for a private count, got {neighbours}. "
            "The count is public under replace-one: use it as it is.",
        )
    return _claim(Fraction(1), rows=rows, neighbours=neighbours, unit=unit, law="count/1")


def outcome_counts_sensitivity(
    n_outcomes: int,  # l
    *,
    rows: Rows | str,
    neighbours: Neighbours | str,
    unit: Unit | str,
) -> Sensitivity:
    """Bound the numbers of rows on which outcomes are known, or 1: sqrt(l) under either relation.

    A row adds 0 or 1 to each count: a row that replaces another moves none further than one row more.
    """
    square = Fraction(n_outcomes)
    return _claim(square, rows=rows, neighbours=neighbours, unit=unit, law="outcome_counts/1")


def accuracy_sensitivity(
    n_outcomes: int,  # l
    *,
    rows: Rows | str,
    neighbours: Neighbours | str,
    unit: Unit | str,
    outcome_bound: float,  # public bound B on the absolute values of outcomes
    residual_bound: float,  # public bound C on the absolute values of residuals
) -> Sensitivity:
    """Bound the sums of squared residuals, of squared outcomes and of outcome_bound for every one observed.

    sqrt(l (C^4 + B^4 + B^2)) under either relation: a row never adds a negative number, so that a row that
    replaces another moves no sum further than one row more.
    """
    B, C = Fraction(outcome_bound), Fraction(residual_bound)
    square = n_outcomes * (C**4 + B**4 + B**2)
    return _claim(square, rows=rows, neighbours=neighbours, unit=unit, law="accuracy/1")


def kendall_sensitivity(
    kernel: PairKernel | str,
    *,
    rows: Rows | str,
    neighbours: Neighbours | str,
    unit: Unit | str,
    # Under label protection features are public, and how they correlate with each other needs a claim only
    # because rows without an outcome take no part.
    protection: Protection | str = Protection.FULL,
) -> Sensitivity:
    """Bound Kendall's correlation of two values of a row in the scale tau^ = S/(n - 1), for each score.

    | kernel  | add-remove | replace-one | replace-one, feature protection |
    | ------- | ---------- | ----------- | ------------------------------- |
    | bounded | 1          | 2           | 1                               |
    | product | 1          | 1           | 1                               |
    | sign    | 3/2        | 2           | 2                               |

    Add-remove with feature or label protection is refused, and so is no protection.
    """
    check_protection(protection, neighbours)
    add_remove, replace_one, feature = {
        PairKernel.BOUNDED: (1.0, 2.0, 1.0),
        PairKernel.PRODUCT: (1.0, 1.0, 1.0),
        PairKernel.SIGN: (1.5, 2.0, 2.0),
    }[PairKernel(kernel)]
    moved = replace_one if Neighbours(neighbours) == Neighbours.REPLACE_ONE else add_remove
    if Protection(protection) == Protection.FEATURE:
        moved = feature
    value = rows_per_unit(rows, unit) * moved
    return Sensitivity(value, "linf", Neighbours(neighbours), Unit(unit), "kendall/1")


def _clipped_gram_square(
    n_variants: int, *, rows: Rows | str, neighbours: Neighbours | str, row_norm: float | None
) -> Fraction:
    """Return the bound of docs/proofs/clipped_gram.md, whose names these are."""
    R_squared, b_squared = _row_square(n_variants, rows=rows, row_norm=row_norm), _entry_range(rows) ** 2
    n_largest, remainder = divmod(R_squared, b_squared)
    M = n_largest * b_squared**2 + remainder**2
    if Neighbours(neighbours) == Neighbours.ADD_REMOVE:
        return (R_squared**2 + M) / 2 + R_squared / 4
    s = min(R_squared, Fraction(1, 4))
    return R_squared**2 + R_squared / 2 + s / 2 - s**2 + min(M, Fraction(n_variants * b_squared**2, 2))


def _row_square(n_variants: int, *, rows: Rows | str, row_norm: float | None) -> Fraction:
    """Return the largest squared norm of a row of genotypes, exactly."""
    largest = n_variants * _entry_range(rows) ** 2
    if row_norm is None:
        return Fraction(largest, 4)  # `half` coding: entries up to half their range on either side of 0
    return min(positive("row_norm", row_norm) ** 2, Fraction(largest))


def _entry_range(rows: Rows | str) -> int:
    """Return how far apart two entries of one variant can be, in any coding: also the bound of an entry."""
    return 1 if Rows(rows) == Rows.HAPLOTYPES else 2


def positive(name: str, value: float | Fraction) -> Fraction:
    """Return a public bound as a fraction; one that is not a finite number above 0 is refused."""
    if not 0 < value < math.inf:
        raise UsageError(
            "not-positive", f"`{name}` must be a finite number above 0, got {value}. Give a public bound."
        )
    return Fraction(value)


def check_protection(protection: Protection | str, neighbours: Neighbours | str) -> None:
    """Refuse a protection without noise, and add-remove if one side of the rows is public."""
    if Protection(protection) == Protection.NONE:
        raise UsageError(
            "protection-missing",
            f"`privacy.protection` must be {Protection.FULL}, {Protection.FEATURE} or {Protection.LABEL} for "
            f"a sensitivity, got {protection}. Without protection there is no noise to scale.",
        )
    is_relaxed = Protection(protection) != Protection.FULL
    if is_relaxed and Neighbours(neighbours) == Neighbours.ADD_REMOVE:
        raise UsageError(
            "neighbours-not-replace-one",
            f"`privacy.neighbours` must be {Neighbours.REPLACE_ONE} under {protection} protection, got "
            f"{neighbours}. What is public there shows every row: set it to {Neighbours.REPLACE_ONE}.",
        )


def _claim(
    row_square: Fraction,
    *,
    rows: Rows | str,
    neighbours: Neighbours | str,
    unit: Unit | str,
    law: str,
) -> Sensitivity:
    square = row_square * rows_per_unit(rows, unit) ** 2
    return Sensitivity(root_above(square), "l2", Neighbours(neighbours), Unit(unit), law)


def rows_per_unit(rows: Rows | str, unit: Unit | str) -> int:
    """Return how many rows a unit owns: it moves a statistic so many times as far (triangle inequality).

    A haplotype as the unit is refused if a row is a person.
    """
    if Rows(rows) == Rows.HAPLOTYPES:
        return 2 if Unit(unit) == Unit.PERSON else 1
    if Unit(unit) == Unit.HAPLOTYPE:
        raise UsageError(
            "unit-not-person",
            f"`privacy.unit` must be {Unit.PERSON} where a row is a person, got {unit}. "
            f"Set it to {Unit.PERSON}, or `cohort.rows` to {Rows.HAPLOTYPES}.",
        )
    return 1
