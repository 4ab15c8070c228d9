"""Audit cases of regressions on covariates: a unit whose row is as long as the norms of the request let it.

Nobody else has outcomes or covariates beside the intercept. A unit in the place of another has the opposite
outcomes, so that C'Y moves furthest, or the outcome that the other lacks.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.linalg.covariate_regression import RegressionSums, regression_sums, with_intercept
from dpgrs.linalg.covariates import covariate_units
from dpgrs.linalg.outcome_grid import LARGEST_BOUND
from dpgrs.methods.audits.cohorts import copied_columns, request_outcomes
from dpgrs.methods.audits.sums import DELTA, EPSILON, TERMS, term_text, tight_norms
from dpgrs.methods.covariate_regression import (
    CovariateRequest,
    exact_vector,
    private_covariate_regression,
)
from dpgrs.privacy.audit.audit import HAPLOTYPE, PERSON, TWO_HAPLOTYPES, AuditCase, GaussianLoss
from dpgrs.privacy.audit.parts import AuditedDraw, log_likelihood_ratio
from dpgrs.types import Accounting, Coding, Neighbours, Protection

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource

N_OTHERS = 10  # rows
MEMBER, OPPOSITE, FIRST_ALONE, SECOND_ALONE = (1, -1), (-1, 1), (1, math.nan), (math.nan, -1)
NAMED = ("protection", "n_covariates", "counts_outcomes")


@dataclass(frozen=True)
class CohortSums(RegressionSums):
    """The input of the mechanism."""

    n_rows: int


def covariate_cases() -> list[AuditCase]:
    """Return the cases of regressions on one or several covariates, with counts of known rows and without."""
    added = {"neighbours": Neighbours.ADD_REMOVE, "pair": (MEMBER, None)}
    replaced = {"neighbours": Neighbours.REPLACE_ONE, "pair": (MEMBER, OPPOSITE)}
    counted, paper = {"counts_outcomes": True}, {"accounting": Accounting.PAPER}
    return [
        _case(**added, **PERSON, n_covariates=2),
        _case(**added, **TWO_HAPLOTYPES, **paper, n_covariates=1, **counted),
        _case(**replaced, **HAPLOTYPE, n_covariates=1),
        _case(**replaced, **PERSON, n_covariates=3, protection=Protection.LABEL),
        _case(
            neighbours=Neighbours.REPLACE_ONE,
            pair=(FIRST_ALONE, SECOND_ALONE),
            **TWO_HAPLOTYPES,
            n_covariates=1,
            **counted,
        ),
    ]


def _case(
    *,
    pair: tuple[Any, Any],
    n_covariates: int,
    accounting: Accounting = Accounting.GDP,
    **fields: Any,
) -> AuditCase:
    request = CovariateRequest(
        n_variants=0,
        n_outcomes=len(MEMBER),
        outcome_bound=3.0,
        epsilon=EPSILON[accounting],
        accounting=accounting,
        delta=DELTA,
        coding=Coding.FREQUENCY,
        n_covariates=n_covariates,
        covariate_bound=3.0,
        covariate_share=0.8,
        # Longer than any row, so that the longest is on the grid.
        **tight_norms(4.0, n_shared=len(MEMBER)),
        **fields,
    )
    sums = tuple(_sums_with(outcomes, request) for outcomes in pair)
    sd = request.claim.value / request.budget["covariates"]
    everybody = slice(0, len(MEMBER))
    vectors = [exact_vector(exact, everybody, request) * request.cross_step for exact in sums]
    draws = (AuditedDraw("covariates", vectors, sd),)
    # The distance between this pair, which is at most the claim.
    moved = float(np.linalg.norm(np.subtract(*vectors)))
    return AuditCase(
        mechanism=private_covariate_regression.__name__,
        terms={
            **{name: str(getattr(request, name)) for name in TERMS},
            "budget": "joint",
            **{
                name: term_text(getattr(request, name)) for name in NAMED if name in {*fields, "n_covariates"}
            },
        },
        pair=sums,
        claim=GaussianLoss(moved / sd, delta=DELTA),
        run=partial(_run, request=request),
        score=partial(log_likelihood_ratio, parts=draws),
        parts=draws,
    )


def _run(exact: RegressionSums, noise: "NoiseSource", *, request: CovariateRequest) -> list:
    names = [str(number) for number in range(len(exact.cross))]
    vectors, _ = private_covariate_regression(exact, request=request, noise=noise, outcome_names=names)
    return [vectors[0] * request.cross_step]


def _sums_with(outcomes: Any, request: CovariateRequest) -> CohortSums:
    """Sum ten rows, and those of one unit more, whose covariates are as large as they can be."""
    n_copies = 0 if outcomes is None else request.rows_per_unit
    Z = np.tile(np.repeat([0.0, request.covariate_bound], [N_OTHERS, n_copies]), (request.n_covariates, 1))
    options = {"bound": request.covariate_bound, "rows": request.rows}
    units = with_intercept(covariate_units(Z, **options), **options)
    missing = np.full((len(MEMBER), N_OTHERS), np.nan)
    values = np.hstack([missing, copied_columns(np.multiply(outcomes or MEMBER, LARGEST_BOUND), n_copies)])
    sums = request_outcomes(values, request)
    summed = regression_sums(units, sums, ~np.isnan(values), row_norm=request.row_norm)
    return CohortSums(**vars(summed), n_rows=units.shape[1])
