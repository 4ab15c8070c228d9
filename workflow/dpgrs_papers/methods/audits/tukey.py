"""Audit cases of the Tukey mechanism: its count, its check and its draw, at neighbours that show all of each.

Models lie in a few places of one coordinate, so that one or two regions have all the volume and it is known
exactly what the check and the draw lose (docs/measurements/audits.md).
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.privacy.audit.audit import AuditCase, PureLoss, RangeLoss
from dpgrs.types import Neighbours
from dpgrs_papers.methods.lower_count import count_margin, private_lower_count
from dpgrs_papers.methods.tukey import STEP, Status, TukeyRequest, private_deep_point, private_tukey

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs_papers.methods.tukey import TukeyFit

DELTA = 1e-3
# The budgets of the audited steps.
COUNT_EPSILON, CHECK_EPSILON, DRAW_EPSILON = 2.0, 2.0, 4.0
N_UNITS = 40
# Numbers of models: the safe steps of neighbours lie on both sides of what must be exceeded; no check fails.
N_CHECKED, N_DRAWN = 64, 100
# Between two places lie so many points of the grid that the places themselves do not count.
SIDE = 2**40


@dataclass(frozen=True)
class ExactModels:
    """The input of the check and the draw."""

    n_rows: int  # public
    models: np.ndarray  # (n_models, d) float64 of whole numbers


@dataclass(frozen=True)
class ExactRows:
    """The input of the count."""

    n_rows: int
    X: np.ndarray  # (n_rows, d) float64
    y: np.ndarray  # (n_rows,) float64


def tukey_cases() -> list[AuditCase]:
    """Return the cases of the count, by itself and as the first of all steps, of the check and the draw."""
    # Someone more or less, and the guess is the second where the count is no higher than the second's own.
    pair = _rows(N_UNITS), _rows(N_UNITS - 1)
    second = N_UNITS - 1 - count_margin(COUNT_EPSILON)
    count = _case_terms(Neighbours.ADD_REMOVE, step="count") | {
        "pair": pair,
        "claim": PureLoss(COUNT_EPSILON),
    }
    # Half of the models on either side, or one more on one: every depth is one less.
    divided, uneven = (_models({0: left, SIDE: N_CHECKED - left}) for left in (32, 31))
    # Two intervals, of which the left is one deeper, or the right.
    left, right = (_models({0: left, SIDE: 1, 2 * SIDE: N_DRAWN - 1 - left}) for left in (50, 49))
    deep = partial(AuditCase, mechanism=private_deep_point.__name__)
    replaced = Neighbours.REPLACE_ONE
    return [
        AuditCase(
            **count,
            mechanism=private_lower_count.__name__,
            run=_run_count,
            score=lambda number: second + 0.5 - number,
        ),
        AuditCase(
            **count,
            mechanism=private_tukey.__name__,
            run=_run_all,
            # One coefficient: there are as many models as units, rounded down.
            score=lambda fit: np.floor(second) + 0.5 - fit.n_models,
        ),
        deep(
            **_case_terms(replaced, step="check"),
            pair=(uneven, divided),
            claim=PureLoss(CHECK_EPSILON),
            run=partial(_run_deep, epsilon=2 * CHECK_EPSILON),
            score=lambda fit: 1 if fit.status == Status.RELEASED else -1,
        ),
        deep(
            **_case_terms(replaced, step="draw"),
            pair=(left, right),
            claim=RangeLoss(DRAW_EPSILON),
            run=partial(_run_deep, epsilon=2 * DRAW_EPSILON),
            score=lambda fit: -1 if fit.weights is None else fit.weights[0] - SIDE * STEP,
        ),
    ]


def _run_count(exact: ExactRows, noise: "NoiseSource") -> float:
    request = _request(Neighbours.ADD_REMOVE, epsilon=COUNT_EPSILON)
    return private_lower_count(exact.n_rows, epsilon=COUNT_EPSILON, request=request, noise=noise)[0]


def _run_all(exact: ExactRows, noise: "NoiseSource") -> "TukeyFit":
    request = _request(Neighbours.ADD_REMOVE, epsilon=2 * COUNT_EPSILON, count_share=0.5)
    return private_tukey(exact.X, exact.y, request=request, noise=noise)


def _run_deep(exact: ExactModels, noise: "NoiseSource", *, epsilon: float) -> "TukeyFit":
    request = _request(Neighbours.REPLACE_ONE, epsilon=epsilon)
    return private_deep_point(exact.models, epsilon=epsilon, request=request, noise=noise)


def _request(neighbours: Neighbours, **fields: Any) -> TukeyRequest:
    return TukeyRequest(delta=DELTA, neighbours=neighbours, rows_per_coefficient=1.0, **fields)


def _case_terms(neighbours: Neighbours, *, step: str) -> dict[str, dict[str, str]]:
    return {"terms": {"neighbours": str(neighbours), "unit": "person", "rows": "people", "budget": step}}


def _rows(n_rows: int) -> ExactRows:
    return ExactRows(n_rows, np.ones((n_rows, 1)), np.zeros(n_rows))


def _models(counts: dict[int, int]) -> ExactModels:
    """Return models of one coefficient, so many at each position."""
    positions = np.array(list(counts), dtype=np.float64)
    return ExactModels(N_UNITS, np.repeat(positions, list(counts.values()))[:, np.newaxis])
