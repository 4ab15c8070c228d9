"""Audit cases of boosted AdaSSP: one round, with a member whose row is orthogonal to all others."""

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.methods.audits.sums import DELTA, EPSILON, TERMS
from dpgrs.privacy.audit.audit import AuditCase, GaussianLoss
from dpgrs.privacy.audit.parts import log_likelihood_ratio, parts_of
from dpgrs.privacy.digests import data_digest
from dpgrs.types import Accounting, Neighbours, Rows, Unit
from dpgrs_papers.methods.audits.tukey import ExactRows
from dpgrs_papers.methods.boosted_adassp import (
    EIGENVALUE_STEP,
    LARGEST_OUTCOME,
    BoostedRequest,
    private_boosted_adassp,
)

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource

N_OTHERS = 10  # units
MEMBER, OTHER = (1.0, 0.0), (0.0, 1.0)


def boosted_cases() -> list[AuditCase]:
    """Return the cases: a member more, with one row or two, and one in the place of another."""
    return [
        _case(Neighbours.ADD_REMOVE, Unit.PERSON, Rows.HAPLOTYPES, Accounting.GDP),
        _case(Neighbours.ADD_REMOVE, Unit.PERSON, Rows.PEOPLE, Accounting.PAPER),
        _case(Neighbours.REPLACE_ONE, Unit.HAPLOTYPE, Rows.HAPLOTYPES, Accounting.PAPER),
    ]


def _case(neighbours: Neighbours, unit: Unit, rows: Rows, accounting: Accounting) -> AuditCase:
    request = BoostedRequest(
        epsilon=EPSILON[accounting],
        delta=DELTA,
        neighbours=neighbours,
        unit=unit,
        rows_per_unit=2 if (unit, rows) == (Unit.PERSON, Rows.HAPLOTYPES) else 1,
        accounting=accounting,
        rounds=1,
    )
    is_added = neighbours == Neighbours.ADD_REMOVE
    pair = _rows(MEMBER, request), _rows(None if is_added else OTHER, request)
    # What the pair does not show: the step for floating point, and of a round that its rows are no opposites.
    eigenvalue = request.rows_per_unit / (request.rows_per_unit + EIGENVALUE_STEP)
    shown = {"eigenvalue": eigenvalue, "gram": 1.0, "round": 1.0 if is_added else math.sqrt(1 / 2)}
    mu = math.hypot(*(request.budget[name] * share for name, share in shown.items()))
    run = partial(_run, request=request)
    audited_draws = parts_of(run, pair)
    return AuditCase(
        mechanism=private_boosted_adassp.__name__,
        terms={
            **dict(zip(TERMS, map(str, (neighbours, unit, rows, accounting)), strict=True)),
            "budget": "joint",
        },
        pair=pair,
        claim=GaussianLoss(mu, delta=DELTA),
        run=run,
        score=partial(log_likelihood_ratio, parts=audited_draws),
        parts=audited_draws,
    )


def _run(exact: ExactRows, noise: "NoiseSource", *, request: BoostedRequest) -> list[np.ndarray]:
    """Return the noisy numbers, one array for every draw."""
    noise = noise.on(data_digest(exact.X, exact.y))
    fit = private_boosted_adassp(exact.X, exact.y, request=request, noise=noise)
    return [np.array(fit.smallest_eigenvalue), fit.gram[np.triu_indices(2)], fit.sums[0]]


def _rows(member: tuple[float, float] | None, request: BoostedRequest) -> ExactRows:
    """Return the rows of others, whose outcomes are 0, and of one more unit or nobody."""
    n_others, n_own = N_OTHERS * request.rows_per_unit, request.rows_per_unit * (member is not None)
    X = np.repeat([OTHER, member or OTHER], [n_others, n_own], axis=0)
    return ExactRows(len(X), X, np.repeat([0.0, LARGEST_OUTCOME], [n_others, n_own]))
