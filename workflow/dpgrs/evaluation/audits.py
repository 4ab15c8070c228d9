"""Audit cases of accuracy on held-out rows: the worst neighbours of docs/proofs/accuracy.md.

No number that a row adds is negative, so one row more moves every sum up. A row in the place of another has
the outcome that the other lacks and lacks the one that it has: as many sums fall as rise, and noise that
repeats itself cancels in the score.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.evaluation.private_metrics import (
    SQUARE_STEP,
    WEIGHT_STEP,
    AccuracyRequest,
    accuracy_sums,
    private_accuracy,
)
from dpgrs.linalg.norms import budget_groups
from dpgrs.methods.audits.sums import DELTA, EPSILON, TERMS
from dpgrs.privacy.audit.audit import (
    HAPLOTYPE,
    PERSON,
    TWO_HAPLOTYPES,
    AuditCase,
    GaussianLoss,
)
from dpgrs.privacy.audit.parts import AuditedDraw, log_likelihood_ratio
from dpgrs.types import Accounting, Neighbours, Rows, Unit

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource

N_OTHERS = 10  # rows
FAR = 50.0  # beyond any bound of an outcome
# Outcomes of a member on the far side of their predictions, by the signs of its genotypes.
GENOTYPES = np.array([-1, 1])
WEIGHTS = np.array([[3.0, -1.0, 0.25], [-3.0, 1.0, 0.25]])  # the prediction at x = 0 last
MEMBER, FIRST_ALONE, SECOND_ALONE = (FAR, -FAR), (FAR, np.nan), (np.nan, -FAR)


@dataclass(frozen=True)
class HeldOutSums:
    """The input of the mechanism."""

    n_rows: int
    sums: np.ndarray  # (3, n_outcomes) int64, from `accuracy_sums`


def accuracy_cases() -> list[AuditCase]:
    """Return the cases of accuracy, with one budget and with one for each outcome."""
    added = {"neighbours": Neighbours.ADD_REMOVE, "pair": (MEMBER, None)}
    replaced = {"neighbours": Neighbours.REPLACE_ONE, "pair": (FIRST_ALONE, SECOND_ALONE)}
    paper = {"accounting": Accounting.PAPER}
    return [
        _case(**added, **PERSON),
        _case(**added, **TWO_HAPLOTYPES, **paper, residual_bound=2.0),
        _case(**replaced, **HAPLOTYPE, outcome_bound=2.0),
        _case(**replaced, **PERSON, **paper, residual_bound=4.0),
        _case(**replaced, **TWO_HAPLOTYPES, n_budgets=2),
    ]


def _case(
    *,
    pair: tuple[Any, Any],
    outcome_bound: float = 3.0,
    residual_bound: float = 3.0,
    accounting: Accounting = Accounting.GDP,
    n_budgets: int = 1,
    **request_fields: Any,
) -> AuditCase:
    """Build the case of two held-out halves, of which one has the first member and the other the second."""
    request = AccuracyRequest(
        n_outcomes=len(WEIGHTS) // n_budgets,
        outcome_bound=outcome_bound,
        residual_bound=residual_bound,
        epsilon=EPSILON[accounting],
        delta=DELTA,
        accounting=accounting,
        **request_fields,
    )
    first, second = (_sum_up(member, request) for member in pair)
    # Each budget has a draw of its own.
    budgets = budget_groups(len(WEIGHTS), n_shared=request.n_outcomes)
    draws = tuple(
        AuditedDraw("accuracy", (first.sums[:, group], second.sums[:, group]), request.noise_sd / SQUARE_STEP)
        for group in budgets
    )
    return AuditCase(
        mechanism=private_accuracy.__name__,
        terms={
            **{name: str(getattr(request, name)) for name in TERMS},
            "budget": "joint" if n_budgets == 1 else "separate",
        },
        pair=(first, second),
        claim=GaussianLoss(math.sqrt(n_budgets) * request.mu, delta=DELTA),
        run=partial(_release, request=request, budgets=budgets),
        score=partial(log_likelihood_ratio, parts=draws),
        parts=draws,
    )


def _release(
    exact: HeldOutSums, noise: "NoiseSource", *, request: AccuracyRequest, budgets: Sequence[slice]
) -> list[np.ndarray]:
    sums, _ = private_accuracy(exact.sums, request=request, noise=noise)
    return [sums[:, group] for group in budgets]


def _sum_up(outcomes: tuple[float, float] | None, request: AccuracyRequest) -> HeldOutSums:
    """Sum up ten rows, and one more unit with these outcomes, or nobody."""
    is_haplotype = request.rows == Rows.HAPLOTYPES
    n_rows = 0 if outcomes is None else 2 if is_haplotype and request.unit == Unit.PERSON else 1
    signs = np.vstack([np.ones((N_OTHERS, 2)), np.tile(GENOTYPES, (n_rows, 1))])
    Y = np.hstack([np.zeros((2, N_OTHERS)), np.tile(np.reshape(outcomes or MEMBER, (2, 1)), n_rows)])
    sums = accuracy_sums(
        Y,
        signs / 2 if is_haplotype else signs,
        np.int64(WEIGHTS / WEIGHT_STEP),
        outcome_bound=request.outcome_bound,
        residual_bound=request.residual_bound,
    )
    return HeldOutSums(len(signs), sums)
