"""Audit cases of sets that DP-SIS chooses in a study."""

from typing import TYPE_CHECKING

import numpy as np

from dpgrs.methods.audits.chosen import CHOICE_EPSILON, choice_case, one_outcome
from dpgrs.methods.audits.rows import ADDED, TWO_HAPLOTYPES
from dpgrs.types import Rows
from dpgrs_papers.selection.dp_sis import SisRequest

if TYPE_CHECKING:
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.types import Unit

# Every row counts alike: few rows, with outcomes beyond the bound.
N_OTHERS, OUTCOME_BOUND = 8, 3.0


def chosen_cases() -> "list[AuditCase]":
    """Return the case: a member more, with two rows."""
    return [_sets(**TWO_HAPLOTYPES)]


def _sets(*, rows: Rows, unit: "Unit") -> "AuditCase":
    """Take out a person who raises only the product of the first variant: then both are level."""
    request = SisRequest(n_choices=1, epsilon=2 * CHOICE_EPSILON, unit=unit, **ADDED)
    n_copies = 2 if rows == Rows.HAPLOTYPES else 1
    x, y = np.ones((2, N_OTHERS + n_copies), dtype=bool), np.full((1, N_OTHERS + n_copies), 2 * OUTCOME_BOUND)
    x[1, N_OTHERS:] = False
    pair = (one_outcome(x[:, :end], y[:, :end], rows) for end in (None, N_OTHERS))
    options = {"pair": pair, "claimed": request.gamma * request.epsilon, "sign": -1, "budget": "a set"}
    named = {"selector": "sis", "outcome_bound": OUTCOME_BOUND}
    return choice_case(request, rows, **options, **named)
