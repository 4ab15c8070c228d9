"""Audit cases of AdaSSP: a member whose row is orthogonal to everyone else's."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.methods.adassp import (
    AdasspRequest,
    adassp_request,
    eigenvalue_error,
    eigenvalue_step,
    private_adassp,
    private_smallest_eigenvalue,
)
from dpgrs.methods.audits.cohorts import N_OTHERS, ExactStatistics
from dpgrs.methods.audits.rows import (
    ADDED,
    CLIPPED,
    COUNTED,
    GDP,
    HAPLOTYPE,
    PAPER,
    PERSON,
    REPLACED,
    TWO_HAPLOTYPES,
    noisy_parts,
    normal_case,
    request_terms,
    sums_with,
)
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.types import Coding

if TYPE_CHECKING:
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.privacy.noise.base import NoiseSource

# The row of this member is orthogonal to everyone else's, and all of it is in the smallest eigenvalue.
CROSSING = ((1, 1), (1, -1))


def adassp_cases() -> "list[AuditCase]":
    """Return the cases of AdaSSP and of its smallest eigenvalue."""
    return [
        _smallest_eigenvalue(**TWO_HAPLOTYPES, **ADDED, **GDP, epsilon=15.0),
        _smallest_eigenvalue(**HAPLOTYPE, **REPLACED, **PAPER, epsilon=40.0),
        _adassp(**TWO_HAPLOTYPES, **ADDED, **GDP),
        _smallest_eigenvalue(**PERSON, **REPLACED, **GDP, **CLIPPED, row_norm=2.0, epsilon=15.0),
        _adassp(**HAPLOTYPE, **ADDED, **PAPER),
        _adassp(**TWO_HAPLOTYPES, **ADDED, **GDP, **COUNTED),
        _adassp(**TWO_HAPLOTYPES, **ADDED, **GDP, **CLIPPED, row_norm=1.0),
    ]


def _smallest_eigenvalue(**fields: Any) -> "AuditCase":
    request = AdasspRequest(**request_terms(CROSSING, **fields))

    def run(exact: ExactStatistics, noise: "NoiseSource") -> list:
        return [private_smallest_eigenvalue(exact.gram, request=request, noise=noise)[0]]

    pair = _crossed_pair(request)
    return normal_case(private_smallest_eigenvalue, request, pair=pair, run=run, mu=_eigenvalue_mu(request))


def _adassp(**fields: Any) -> "AuditCase":
    request = PrivacyRequest(**request_terms(CROSSING, **fields))
    split = adassp_request(request)

    def run(exact: ExactStatistics, noise: "NoiseSource") -> list:
        options = {"request": request, "noise": noise, "observed": exact.observed}
        statistics = private_adassp(exact.gram, exact.cross, exact.n_rows, **options)
        return [*noisy_parts(statistics, request), statistics.smallest_eigenvalue]

    names = ("count", "observed", "gram", "cross")
    mu = math.hypot(*(split.budget[name] for name in names), _eigenvalue_mu(split))
    return normal_case(private_adassp, request, pair=_crossed_pair(request), run=run, mu=mu)


def _eigenvalue_mu(request: PrivacyRequest) -> float:
    """Return the eigenvalue's mu that the pair shows: less than claimed, as it allows for rounding."""
    per_row = request.n_variants / 4 if request.row_norm is None else request.row_norm**2
    moved = per_row * request.rows_per_unit
    step = eigenvalue_step(request.n_variants, rows=request.rows, row_norm=request.row_norm)
    slack = 2 * eigenvalue_error(step, row_norm=request.row_norm)
    return request.budget["eigenvalue"] * moved / (moved + slack)


def _crossed_pair(request: PrivacyRequest) -> tuple[Any, ...]:
    """Return sums with the crossing member and without; under replace-one, with one more of the others."""
    member, other, other_alleles = CROSSING[0], (1, -1), np.tile([[0, 1], [1, 0]], N_OTHERS // 2)
    if request.coding == Coding.FREQUENCY:
        # Both alleles have a frequency of 0, and the others have one of them each.
        member, other, other_alleles = (1, -1), (-1, 1), np.tile([[0], [1]], N_OTHERS)
    second = None if request.has_private_count else (other, CROSSING[1])
    return tuple(sums_with(unit, request, others=other_alleles) for unit in ((member, CROSSING[1]), second))
