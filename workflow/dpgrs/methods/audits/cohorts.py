"""Exact statistics of the cohorts that audits of sums compare: ten people, and a unit more or another."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.linalg.clipped_statistics import clipped_statistics
from dpgrs.linalg.coding import count_cases, count_known
from dpgrs.linalg.components import components_of
from dpgrs.linalg.covariates import covariate_units
from dpgrs.linalg.outcome_grid import LARGEST_BOUND, clipped_outcomes
from dpgrs.linalg.row_centred import row_centred_statistics
from dpgrs.linalg.statistics import cross_product, gram
from dpgrs.types import Coding, Rows

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest

N_OTHERS = 20  # haplotypes of the other people


@dataclass(frozen=True)
class ExactStatistics:
    """The input of a mechanism: sums over all rows."""

    n_rows: int
    gram: np.ndarray  # (n_variants + 1, n_variants + 1) int64 in units of the request's `gram_step`
    cross: np.ndarray  # (n_outcomes, n_variants + 1) int64 in units of its `cross_step`
    observed: np.ndarray  # (n_outcomes,) int64, rows on which each outcome is known
    # (n_outcomes,) int64, rows on which each is above 0; None where nothing counts them.
    cases: np.ndarray | None = None


def sum_up(member: Any, n_copies: int, request: "PrivacyRequest", loadings: np.ndarray) -> ExactStatistics:
    """Return the ExactStatistics of ten people, and of one more unit of `n_copies` haplotypes."""
    genotypes, outcomes = member
    haplotypes_per_row = 1 if request.rows == Rows.HAPLOTYPES else 2
    n_others, n_rows = N_OTHERS // haplotypes_per_row, n_copies // haplotypes_per_row
    other_alleles = np.arange(N_OTHERS) >> np.arange(request.n_variants)[:, np.newaxis] & 1
    alleles = np.hstack([other_alleles, copied_columns(np.greater(genotypes, 0), n_copies)])
    Y = np.hstack(
        [np.zeros((len(outcomes), n_others)), copied_columns(np.multiply(outcomes, LARGEST_BOUND), n_rows)]
    )
    covariates = None
    if request.n_covariates:
        # The member's covariates are as large as they can be.
        Z = np.tile(np.repeat([0.0, 1.0], [n_others, n_rows]), (request.n_covariates, 1))
        bound = request.covariate_bound
        covariates = covariate_units(Z * bound, bound=bound, rows=request.rows)
    if loadings is not None:
        Y = components_of(Y, loadings, bound=request.outcome_bound)
    options = {"n_haplotypes": alleles.shape[1], "request": request, "covariates": covariates}
    sums = sum_rows(pack(alleles), request_outcomes(Y, request), **options)
    return ExactStatistics(Y.shape[1], *sums, count_known(Y), count_cases(Y))


def sum_rows(
    bits: np.ndarray,
    outcomes: np.ndarray,
    *,
    n_haplotypes: int,
    request: "PrivacyRequest",
    covariates: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Sum X'X and X'Y of all rows in the coding of a request, where alleles have public frequencies of 0."""
    options = {"n_haplotypes": n_haplotypes, "rows": request.rows}
    if request.coding == Coding.FREQUENCY:
        options |= {"row_norm": request.row_norm, "covariates": covariates}
        return clipped_statistics(bits, np.zeros(request.n_variants), outcomes, **options)
    if request.coding == Coding.ROW_CENTRED:
        everybody = np.ones(outcomes.shape[1], dtype=bool)
        return row_centred_statistics(bits, outcomes, is_selected=everybody, **options)
    return gram(bits, **options), cross_product(bits, outcomes, **options)


def request_outcomes(Y: np.ndarray, request: "PrivacyRequest") -> np.ndarray:
    """Clip outcomes by the bounds of a request, (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`."""
    norms = {"bound": request.outcome_bound, "norm": request.outcome_norm}
    return clipped_outcomes(Y, n_shared=request.n_outcomes, **norms)


def copied_columns(values: np.ndarray, n_copies: int) -> np.ndarray:
    """Return `n_copies` equal columns: (n_values, n_copies)."""
    return np.tile(np.reshape(values, (-1, 1)), n_copies)
