"""Boosted AdaSSP (Tang et al. 2023): one noisy X'X, many noisy sums of clipped residuals.

All statistics are exact integers and all noise is normal noise on their grids. The sums of a round depend
on the noise of the rounds before it, so a release draws on named data (docs/proofs/boosted_adassp.md).

References
----------
.. [1] Tang, Aydore, Kearns, Rho, Roth, Wang, Wang, Wu (2023). Improved differentially private regression via
   gradient boosting. arXiv 2303.03451.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError, require_domains
from dpgrs.linalg.statistics import LARGEST_ROWS
from dpgrs.methods.adassp import CAUTION, FAILURE, LARGEST_VARIANTS, eigenvalue_steps
from dpgrs.methods.separate_statistics import even_part
from dpgrs.privacy.accounting.accountant import split_budget
from dpgrs.privacy.accounting.exact_numbers import root_above
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.types import Accounting, Neighbours, Unit

if TYPE_CHECKING:
    from dpgrs.privacy.accounting.events import GaussianEvent
    from dpgrs.privacy.noise.base import NoiseSource

LAW = "boosted_adassp/1"
# Rows of norm 1, outcomes and residuals, and weights lie on these grids.
ROW_STEP, RESIDUAL_STEP, WEIGHT_STEP = 2.0**-16, 2.0**-12, 2.0**-24
EIGENVALUE_STEP = 2.0**-12
LARGEST_WEIGHTS = 2.0**12  # their norm, so that predictions are exact in float64
LARGEST_OUTCOME = 2.0**6
LARGEST_ENTRY = 1e50
ROW_BLOCK = 4096  # rows in memory at a time
ROUNDS, CLIP = 100, 1.0  # as in the paper


@dataclass(frozen=True, kw_only=True)
class BoostedRequest:
    """The public terms of boosted AdaSSP; none is tuned on the data."""

    epsilon: float  # of all fits together
    delta: float  # of all fits together
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: Unit = Unit.PERSON
    rows_per_unit: int = 1  # 2 for the haplotypes of a person
    accounting: Accounting = Accounting.GDP
    rounds: int = ROUNDS
    clip: float = CLIP  # largest residual; rounded down to a multiple of `RESIDUAL_STEP`
    n_fits: int = 1  # fits that share (epsilon, delta), of which this is one

    def __post_init__(self) -> None:
        require_domains(
            self,
            ("rows_per_unit", "at least 1", self.rows_per_unit >= 1),
            ("rounds", "at least 1", self.rounds >= 1),
            ("n_fits", "at least 1", self.n_fits >= 1),
            (
                "clip",
                f"at least {RESIDUAL_STEP:g} and at most {LARGEST_OUTCOME:g}",
                RESIDUAL_STEP <= self.clip <= LARGEST_OUTCOME,
            ),
        )

    @cached_property
    def budget(self) -> dict[str, float]:
        """The mu of ``eigenvalue``, ``gram`` and a ``round``: a third of mu^2 for all rounds."""
        names, accounting = ("eigenvalue", "gram", "cross"), {"accounting": self.accounting}
        if Accounting(self.accounting) == Accounting.GDP:
            shares = (1 / (3 * self.n_fits),) * 3 * self.n_fits
            mus = split_budget(self.epsilon, self.delta, shares=shares, **accounting)[:3]
        else:
            fit_budget = even_part(self.epsilon, self.delta, self.n_fits)
            mus = split_budget(*fit_budget, shares=(1 / 3,) * 3, **accounting)
        budget = dict(zip(names, mus, strict=True))
        return budget | {"round": math.nextafter(budget.pop("cross") / math.sqrt(self.rounds), 0)}

    @property
    def clip_steps(self) -> int:
        """The clip in units of `RESIDUAL_STEP`."""
        return int(self.clip / RESIDUAL_STEP)

    @cached_property
    def sensitivities(self) -> dict[str, Sensitivity]:
        """The claims of ``eigenvalue``, ``gram`` and ``round``."""
        is_added = Neighbours(self.neighbours) == Neighbours.ADD_REMOVE
        rows, clip = Fraction(self.rows_per_unit), self.clip_steps * Fraction(RESIDUAL_STEP)
        squares = {
            # With half a step for the error of floating point in either eigenvalue.
            "eigenvalue": (rows + Fraction(EIGENVALUE_STEP)) ** 2,
            "gram": rows**2 * (1 if is_added else 2),
            "round": (rows * clip) ** 2 * (1 if is_added else 4),
        }
        relation = Neighbours(self.neighbours), Unit(self.unit), LAW
        return {name: Sensitivity(root_above(square), "l2", *relation) for name, square in squares.items()}


@dataclass(frozen=True)
class BoostedFit:
    """The results of boosted AdaSSP, and their cost."""

    weights: np.ndarray  # (d,) float64, for rows that are clipped to norm 1 as `clip_rows` does
    smallest_eigenvalue: float  # noisy
    gram: np.ndarray  # (d, d) float64, noisy
    sums: np.ndarray  # (rounds, d) float64, noisy
    events: tuple  # GaussianEvents, in this order


def private_boosted_adassp(
    X: np.ndarray, y: np.ndarray, *, request: BoostedRequest, noise: "NoiseSource"
) -> BoostedFit:
    """Fit clipped residuals again and again by one noisy X'X.

    In each of T rounds W rises by (G~ + lambda I)^-1 (X' clip(y - X W) + noise), with AdaSSP's lambda.

    Parameters
    ----------
    X : (n_rows, d), with a column of ones where an intercept is wanted.
    y : (n_rows,). Where it is missing the residual is 0.
    request : BoostedRequest
    noise : NoiseSource; in a release that of `NoiseSource.on` all data, as only the first round depends on
        no noise.

    Returns
    -------
    BoostedFit

    Privacy
    -------
    Unit and neighbours as requested. Sensitivities `BoostedRequest.sensitivities`:
    docs/proofs/boosted_adassp.md. A GaussianEvent for the smallest eigenvalue, one for X'X and one for every
    round are together (epsilon, delta)-DP. Public: d and the request. Not covered: relatives.

    Raises
    ------
    UsageError
        If the rows have no outcome each, more than `LARGEST_VARIANTS` numbers, or are more than
        `LARGEST_ROWS`.
    """
    if X.ndim != 2 or y.shape != X.shape[:1] or X.shape[1] > LARGEST_VARIANTS:
        raise UsageError(
            "boosted-rows-shape",
            f"The rows must have an outcome each and at most {LARGEST_VARIANTS} numbers. Pass fewer columns.",
        )
    if len(X) > LARGEST_ROWS:
        raise UsageError("too-many-rows", f"The claims hold for at most {LARGEST_ROWS} rows. Split the rows.")
    rows = np.rint(clip_rows(X) / ROW_STEP)
    steps = {"eigenvalue": EIGENVALUE_STEP, "gram": ROW_STEP**2, "round": ROW_STEP * RESIDUAL_STEP}

    def draw(statistic: np.ndarray, kind: str, name: str) -> "tuple[np.ndarray, GaussianEvent]":
        options = {
            "sensitivity": request.sensitivities[kind],
            "mu": request.budget[kind],
            "step": steps[kind],
        }
        noisy, event = noise.gaussian(statistic, name=name, **options)
        return noisy * steps[kind], event

    gram = _gram(rows)
    smallest = eigenvalue_steps(gram * ROW_STEP**2, step=EIGENVALUE_STEP)
    eigenvalue, first = draw(smallest, "eigenvalue", "boosted smallest eigenvalue")
    upper = np.triu_indices(len(gram))
    G, (entries, second) = np.empty(gram.shape), draw(gram[upper], "gram", "boosted gram")
    G[upper] = G.T[upper] = entries
    inverse = _ridge_inverse(G, penalty=_penalty(eigenvalue, first.sigma, second.sigma, d=len(G)))
    W, sums, events = np.zeros(len(G)), [], [first, second]
    outcomes, is_missing = _gridded(y), np.isnan(y)
    for number in range(request.rounds):
        exact = residual_sums(rows, outcomes, W, clip_steps=request.clip_steps, is_missing=is_missing)
        noisy, event = draw(exact, "round", f"boosted residuals, round {number + 1}")
        W = _on_weight_grid(W + inverse @ noisy / WEIGHT_STEP)
        sums.append(noisy)
        events.append(event)
    return BoostedFit(W * WEIGHT_STEP, float(eigenvalue), G, np.array(sums), tuple(events))


def clip_rows(X: np.ndarray) -> np.ndarray:
    """Shorten rows to a norm of 1 and round them towards zero to `ROW_STEP`, each by itself.

    A row with a value that is not finite counts as zeros. The result is (n_rows, d) float64, whole multiples
    of `ROW_STEP` with norms of at most 1.
    """
    X = np.asarray(X, dtype=np.float64)
    is_finite = np.isfinite(X).all(axis=1, keepdims=True)
    X = np.where(is_finite, np.clip(X, -LARGEST_ENTRY, LARGEST_ENTRY), 0.0)
    norms = np.sqrt(np.sum(X**2, axis=1, keepdims=True))
    return np.trunc(X / np.maximum(norms, 1.0) / ROW_STEP) * ROW_STEP


def residual_sums(
    rows: np.ndarray, outcomes: np.ndarray, W: np.ndarray, *, clip_steps: int, is_missing: np.ndarray
) -> np.ndarray:
    """Sum clipped residuals times rows in exact integers, (d,) int64 in units of ROW_STEP RESIDUAL_STEP.

    All are whole float64 numbers: rows, of norm at most 1, in units of `ROW_STEP`, outcomes and `clip_steps`
    in units of `RESIDUAL_STEP`, and weights in units of `WEIGHT_STEP`, from `_on_weight_grid`. The residual
    of a missing row is 0.
    """
    sums = np.zeros(rows.shape[1], dtype=np.int64)
    scale = RESIDUAL_STEP / (ROW_STEP * WEIGHT_STEP)  # units of a prediction in one of an outcome
    for start in range(0, len(rows), ROW_BLOCK):
        block = slice(start, start + ROW_BLOCK)
        # Integers below 2^53 throughout: exact in float64, whatever the order of the sums in BLAS.
        residuals = (outcomes[block] * scale - rows[block] @ W) / scale
        clipped = np.trunc(np.clip(residuals, -clip_steps, clip_steps)) * ~is_missing[block]
        sums += (clipped @ rows[block]).astype(np.int64)
    return sums


def _gram(rows: np.ndarray) -> np.ndarray:
    """Sum x x' in exact integers, in units of ROW_STEP^2."""
    sums = np.zeros((rows.shape[1],) * 2, dtype=np.int64)
    for start in range(0, len(rows), ROW_BLOCK):
        block = rows[start : start + ROW_BLOCK]
        sums += (block.T @ block).astype(np.int64)
    return sums


def _gridded(y: np.ndarray) -> np.ndarray:
    bounded = np.clip(np.nan_to_num(y), -LARGEST_OUTCOME, LARGEST_OUTCOME)
    return np.trunc(bounded / RESIDUAL_STEP)


def _penalty(eigenvalue: float | np.ndarray, eigenvalue_sd: float, gram_sd: float, *, d: int) -> float:
    """Return AdaSSP's ridge penalty, see `AdasspStatistics.penalty`."""
    lowered = max(0.0, eigenvalue - CAUTION * eigenvalue_sd)
    return max(0.0, math.sqrt(d * math.log(2 * d**2 / FAILURE)) * gram_sd - lowered)


def _ridge_inverse(G: np.ndarray, *, penalty: float) -> np.ndarray:
    """Invert G + penalty I; negative eigenvalues, which only noise can cause, count as 0."""
    eigenvalues, vectors = np.linalg.eigh(G)
    raised = np.maximum(eigenvalues, 0.0) + penalty
    inverse = np.divide(1.0, raised, out=np.zeros_like(raised), where=raised > 0)
    return (vectors * inverse) @ vectors.T


def _on_weight_grid(W: np.ndarray) -> np.ndarray:
    """Cut weights in units of `WEIGHT_STEP` to whole ones, and shorten them: predictions stay exact."""
    largest = LARGEST_WEIGHTS / WEIGHT_STEP
    return np.trunc(W * min(1.0, largest / max(float(np.linalg.norm(W)), 1.0)))
