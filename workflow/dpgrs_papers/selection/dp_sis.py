"""DP-SIS [1]_: the features that go most with an outcome, chosen in private by |x_j'y|.

Scores are exact integers: genotypes in `half` coding, columns of a table clipped at public bounds, outcomes
clipped at a public bound, all on public grids. `Scaling.PAPER` centres and scales by the data's own mean and
maximum instead, for which no sensitivity holds; it is here to reproduce figures, and is not private.

References
----------
.. [1] Swope, R. et al. (2024). Feature selection from differentially private correlations. AISec.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.genotypes.blocks import map_in_parts, variant_blocks
from dpgrs.linalg.coding import CROSS_STEP, OUTCOME_STEP
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import cross_product, is_fractional, outcome_parts
from dpgrs.privacy.accounting.events import SubsetEvent
from dpgrs.privacy.noise.canonical_lipschitz import seeded_set
from dpgrs.selection.chooser import Chooser
from dpgrs.types import Neighbours, Protection, Rows, Unit
from dpgrs_papers.selection.sensitivity import sis_sensitivity
from dpgrs_papers.selection.top_k import top_k
from dpgrs_papers.types import Scaling

if TYPE_CHECKING:
    from dpgrs.io.stored_genotypes import StoredGenotypes
    from dpgrs.methods.chosen_requests import ScreenedRequest
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.selection.screening_data import ScreeningData

# Its name in ledgers and statements, beside those of other draws.
SIS_STATISTIC = "products with the outcome"
ENTRY_STEP = 2.0**-15  # one unit of an entry of a table, which lies between -1 and 1
TABLE_STEP = ENTRY_STEP * OUTCOME_STEP
PAPER_STEP = 2.0**-20
LARGEST_EXACT = 2**53
NOT_PRIVATE = "not private"


@dataclass(frozen=True)
class SisScores:
    """Scores of features, with the terms that their sensitivity follows from."""

    values: np.ndarray  # (n_outcomes, n_features) int64, |x_j'y| in units of `step`
    step: float  # a power of 2
    entry_bound: float  # public bound b on the entries of x
    outcome_bound: float  # public bound B on the entries of y
    rows: Rows

    def of_outcome(self, outcome: int) -> "SisScores":
        """Return the scores for one outcome, by its index: `values` is then (n_features,)."""
        return replace(self, values=self.values[outcome])


@dataclass(frozen=True, kw_only=True)
class SisRequest:
    """The public terms of a choice."""

    epsilon: float  # of the whole set
    n_choices: int  # features chosen
    unit: Unit = Unit.PERSON
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    protection: Protection = Protection.FULL
    gamma: float = 0.5  # in [0, 1), see `NoiseSource.choose_set`

    @property
    def epsilon_of_choices(self) -> float:
        """The cost of the set: epsilon."""
        return self.epsilon

    @property
    def family(self) -> str:
        """The family of the event of a set."""
        return SubsetEvent.family


@dataclass(frozen=True)
class PaperChoice:
    """A choice by scores that the data have scaled: not private, and without an event."""

    chosen: np.ndarray  # (n_choices,) int64, ascending
    scaling: Scaling = Scaling.PAPER
    status: str = NOT_PRIVATE


def genotype_sis_scores(
    bits: "np.ndarray | StoredGenotypes",
    Y: np.ndarray,
    *,
    n_haplotypes: int,
    rows: Rows | str,
    outcome_bound: float,
    is_selected: np.ndarray | None = None,
    n_threads: int = 1,
) -> SisScores:
    """Score variants in `half` coding.

    Bits are (n_variants, n_words) uint64; outcomes are (n_outcomes, n_rows) float64, publicly standardised,
    NaN if missing, which counts as 0. They are clipped at a public bound and rounded towards 0. Selected rows
    are (n_rows,) bool, None takes all; the number of threads changes no score.
    """
    options = {"n_haplotypes": n_haplotypes, "rows": rows, "is_selected": is_selected}
    values = np.empty((len(Y), len(bits)), dtype=np.int64)
    for columns, block in variant_blocks(bits):
        for outcome_slice in outcome_parts(len(Y), n_haplotypes=n_haplotypes):
            gridded = grid_outcomes(Y[outcome_slice], bound=outcome_bound)
            sums = map_in_parts(
                lambda some, gridded=gridded: cross_product(some, gridded, **options)[:, :-1],
                block,
                n_threads=n_threads,
            )
            np.abs(sums, out=values[outcome_slice, columns])
    entry_bound = 0.5 if Rows(rows) == Rows.HAPLOTYPES else 1.0
    return SisScores(values, CROSS_STEP, entry_bound, outcome_bound, Rows(rows))


def table_sis_scores(
    X: np.ndarray, Y: np.ndarray, *, column_bounds: float | np.ndarray, outcome_bound: float
) -> SisScores:
    """Score the columns of a table, each in units of its bound: entries are between -1 and 1.

    X is (n_rows, n_features) float64, a row a person, publicly centred; NaN if missing, which counts as 0.
    Entries are clipped at the public `column_bounds`, a number or (n_features,), divided by them and rounded
    towards 0. Outcomes are as in `genotype_sis_scores`. More rows than sums are exact for are refused.
    """
    bounds = np.asarray(column_bounds, dtype=np.float64)
    if not np.all((bounds > 0) & np.isfinite(bounds)):
        raise UsageError(
            "column-bounds-not-positive",
            "`column_bounds` must be finite numbers above 0, got others. Give public bounds.",
        )
    gridded = grid_outcomes(Y, bound=outcome_bound)
    largest_rows = int(LARGEST_EXACT * TABLE_STEP / outcome_bound)
    if len(X) > largest_rows:
        raise UsageError(
            "too-many-rows",
            f"Rows with outcomes up to {outcome_bound:g} must be at most {largest_rows} for exact sums. "
            "Lower `outcome_bound`.",
        )
    entries = np.trunc(np.nan_to_num(np.clip(X, -bounds, bounds) / bounds) / ENTRY_STEP)
    # No partial sum is beyond 2^53: BLAS is exact, whatever its order.
    sums = (gridded.astype(np.float64) @ entries).astype(np.int64)
    return SisScores(np.abs(sums), TABLE_STEP, 1.0, outcome_bound, Rows.PEOPLE)


def private_sis(
    scores: SisScores, *, request: SisRequest, noise: "NoiseSource", name: str = "features"
) -> tuple[np.ndarray, SubsetEvent]:
    """Choose the features of the highest scores at once, by the canonical Lipschitz mechanism.

    Parameters
    ----------
    scores : SisScores of one outcome.
    request : SisRequest
    noise : NoiseSource
    name : str, of the chosen things.

    Returns
    -------
    chosen : (n_choices,) int64, ascending.
    event : SubsetEvent

    Privacy
    -------
    Unit and neighbours as requested. Every score moves by at most b B under add-remove, twice that under
    replace-one: docs/proofs/canonical_lipschitz.md. A SubsetEvent, epsilon-DP. Public: the request, the
    bounds, grids and features. Not covered: bounds or a coding that were taken from the data.

    Raises
    ------
    UsageError
        As `NoiseSource.choose_set` and `sis_sensitivity`.
    """
    claim = sis_sensitivity(
        rows=scores.rows,
        neighbours=request.neighbours,
        unit=request.unit,
        protection=request.protection,
        entry_bound=scores.entry_bound,
        outcome_bound=scores.outcome_bound,
    )
    return noise.choose_set(
        scores.values,
        name=name,
        step=scores.step,
        sensitivity=claim,
        epsilon=request.epsilon,
        n_choices=request.n_choices,
        gamma=request.gamma,
    )


def paper_sis_scores(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Score columns as the paper does: centred by the mean and divided by the largest entry of the data.

    X is (n_rows, n_features); scores are (n_features,) float64, 0 for a constant column.
    """
    centred = [values - values.mean(axis=0) for values in (np.asarray(X), np.asarray(y))]
    largest = [np.abs(values).max(axis=0) for values in centred]
    entries, outcome = (
        values / np.where(bound > 0, bound, 1) for values, bound in zip(centred, largest, strict=True)
    )
    return np.abs(outcome @ entries)


def paper_sis(X: np.ndarray, y: np.ndarray, *, request: SisRequest, noise: "NoiseSource") -> PaperChoice:
    """Choose as the paper does: only to reproduce its figures."""
    return choose_by_paper_scores(paper_sis_scores(X, y), request=request, noise=noise)


def choose_by_paper_scores(scores: np.ndarray, *, request: SisRequest, noise: "NoiseSource") -> PaperChoice:
    """Choose by the paper's scores and its sensitivity of 1, which is wrong; refused in a release.

    Of the request epsilon, n_choices and gamma count.
    """
    stream_key = request.epsilon, request.n_choices, request.gamma
    generator = noise.generator("set of features by scores in the paper's scaling", *stream_key)
    scores = np.rint(scores / PAPER_STEP).astype(np.int64)
    if not 1 <= request.n_choices <= len(scores):
        raise UsageError(
            "number-of-choices",
            f"`n_choices` must be from 1 to {len(scores)} features, got {request.n_choices}. Change it.",
        )
    chosen = seeded_set(
        generator,
        scores,
        epsilon=Fraction(request.epsilon),
        sensitivity=1 / Fraction(PAPER_STEP),
        n_choices=request.n_choices,
        gamma=Fraction(request.gamma),
    )
    return PaperChoice(chosen)


def study_scores(data: "ScreeningData", outcome_bound: float) -> SisScores:
    """Return the scores of every outcome of a study, clipped at a public bound: all are scored at once."""
    key = ("sis", outcome_bound)
    if key not in data.kept:
        data.kept[key] = _scores_of(data, outcome_bound)
    return data.kept[key]


def _scores_of(data: "ScreeningData", outcome_bound: float) -> SisScores:
    if is_fractional(data.genotypes):
        Y = data.Y[:, data.is_training]
        return table_sis_scores(data.training_rows, Y, column_bounds=1.0, outcome_bound=outcome_bound)
    return genotype_sis_scores(
        data.genotypes,
        data.Y,
        n_haplotypes=data.n_haplotypes,
        rows=data.rows,
        outcome_bound=outcome_bound,
        is_selected=data.is_training,
        n_threads=data.n_threads,
    )


class Sis(Chooser):
    """Choices by DP-SIS."""

    def request(self, screened: "ScreenedRequest", **options: Any) -> SisRequest:
        # The rows are those of the scores.
        return SisRequest(neighbours=screened.neighbours, unit=screened.unit, **options)

    def choose(
        self,
        data: "ScreeningData",
        number: int,
        *,
        request: SisRequest,
        noise: "NoiseSource",
        outcome_bound: float,
    ) -> tuple[np.ndarray, SubsetEvent]:
        scores = study_scores(data, outcome_bound).of_outcome(number)
        return private_sis(scores, request=request, noise=noise, name=SIS_STATISTIC)

    def choose_exactly(
        self, data: "ScreeningData", number: int, *, n_choices: int, outcome_bound: float
    ) -> np.ndarray:
        return top_k(study_scores(data, outcome_bound).values[number], n_choices)

    def choose_as_paper(
        self,
        data: "ScreeningData",
        number: int,
        *,
        request: SisRequest,
        noise: "NoiseSource",
        outcome_bound: float,
    ) -> tuple[np.ndarray]:
        y = data.Y[number, data.is_training]
        is_known = ~np.isnan(y)
        return (paper_sis(data.training_rows[is_known], y[is_known], request=request, noise=noise).chosen,)

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs_papers.selection.audits.sis import sis_cases

        return sis_cases()
