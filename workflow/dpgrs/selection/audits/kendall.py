"""Audit cases of DPKendall: its first choice, a later one, and both, at neighbours that move scores furthest.

The guess is by the last feature: whether it was chosen. It leads on the second input, by as far as one unit
can take it back; on the first it is level (permute-and-flip, whose loss is largest there) or as far behind
(Gumbel). Other rows are many and carry few values, so that a pair of scores moves by nearly all that is
claimed; `error_rates` are exact, from the scores themselves (docs/measurements/audits.md).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.dosages import LARGEST_DOSAGE, STEPS_PER_ALLELE
from dpgrs.privacy.audit.audit import (
    FRACTIONAL,
    HAPLOTYPE,
    PERSON,
    TWO_HAPLOTYPES,
    AuditCase,
    PureLoss,
    RangeLoss,
)
from dpgrs.privacy.digests import data_digest
from dpgrs.selection.dp_kendall import KendallRequest, TablePairs, genotype_pairs, private_kendall
from dpgrs.selection.kendall_rounds import RoundScores
from dpgrs.types import Neighbours, PairKernel, Rows, Selection, Unit

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.selection.dp_kendall import GenotypePairs

# The loss of the audited choices, pure or by ranges, at which 4,000 draws show most.
LOSS = {Selection.PERMUTE_AND_FLIP: 2.0, Selection.GUMBEL: 4.0}
# Of so many rows, two features of SHARE carriers should have one in common: with none they go against each
# other, and with one they do not.
SHARE = 64
N_OTHERS = SHARE**2
# Rows of a large outcome, those among them that carry a feature which is always chosen first, and as many of
# a small outcome. All others have the same, so a feature of carriers among them goes with nothing.
TOP, LEADERS = slice(0, 8), slice(8, 8 + SHARE)
BOTTOM = slice(100, 100 + LEADERS.stop)
SPREAD, OTHERS_SPREAD = slice(200, 400), slice(400, 600)


@dataclass(frozen=True)
class ExactRows:
    """The input of the mechanism."""

    n_rows: int
    outcome: np.ndarray  # (n_rows,) float64
    features: np.ndarray  # (n_features, n_rows) float64, 0 or the range of a row; int16 of fractional ones
    request: KendallRequest

    @cached_property
    def digest(self) -> str:
        """The digest of the data that features are chosen by."""
        return data_digest(self.outcome, self.features)

    @cached_property
    def pairs(self) -> "GenotypePairs | TablePairs":
        """The Kendall scores."""
        rows = self.request.rows
        if self.request.against_outcome == PairKernel.SIGN:
            pairs = TablePairs(self.features, self.outcome, rows=rows)
            # They are the same in every draw.
            pairs.feature_scores = cache(pairs.feature_scores)
            return pairs
        n_alleles = 1 if rows == Rows.HAPLOTYPES else 2
        is_fractional = self.features.dtype == np.int16
        genotypes = self.features if is_fractional else pack(np.repeat(self.features > 0, n_alleles, axis=1))
        sizes = {"n_haplotypes": n_alleles * self.n_rows, "rows": rows}
        (pairs,) = genotype_pairs(genotypes, self.outcome[np.newaxis], **sizes)
        return pairs


@dataclass(frozen=True)
class PureChoice(PureLoss):
    """A claim of (epsilon, 0)-DP, with the law of a guess."""

    law: Callable[[float], tuple[float, float]]  # alpha and beta with noise too small by a factor

    def error_rates(self, factor: float = 1.0) -> tuple[float, float]:
        """Return alpha and beta of the guess by whether the last feature was chosen."""
        return self.law(factor)


@dataclass(frozen=True)
class RangeChoice(RangeLoss):
    """A claim of a range, with the law of a guess, as in `PureChoice`."""

    law: Callable[[float], tuple[float, float]]

    def error_rates(self, factor: float = 1.0) -> tuple[float, float]:
        """Return alpha and beta of the guess by whether the last feature was chosen."""
        return self.law(factor)


CLAIMS = {Selection.PERMUTE_AND_FLIP: PureChoice, Selection.GUMBEL: RangeChoice}


def kendall_cases() -> list[AuditCase]:
    """Return the cases of genotypes, of tables without a public range, and of fractional rows of both."""
    gumbel = {"law": Selection.GUMBEL}
    return [
        _first_added(**HAPLOTYPE),
        _first_added(**PERSON, **gumbel),
        _first_replaced(**TWO_HAPLOTYPES),
        _first_replaced(**HAPLOTYPE, **gumbel),
        _second_added(**PERSON),
        _second_added(**HAPLOTYPE, **gumbel),
        _second_replaced(**HAPLOTYPE),
        _second_replaced(**PERSON, **gumbel),
        _both_added(**TWO_HAPLOTYPES),
        _table_first_added(**PERSON),
        _table_first_added(**PERSON, **gumbel),
        _table_first_replaced(**PERSON),
        _table_first_replaced(**PERSON, **gumbel),
        _table_second_replaced(**PERSON),
        _table_second_replaced(**PERSON, **gumbel),
        _second_added(**PERSON, is_fractional=True),
        _table_first_added(**PERSON, is_fractional=True),
        _fractional_table_replaced(**PERSON),
    ]


def _first_added(**options: Any) -> AuditCase:
    """Add carriers of the smallest outcome: the first feature goes from 0 to 1, the last one falls by 1."""
    request = _request(Neighbours.ADD_REMOVE, **options)
    other_rows = _other_rows(2)
    other_rows.carry(1, TOP, _copies(request) * (1 if _is_gumbel(request) else 2))
    return _case("first choice", request, other_rows, rows=[(-2, (1, 1)), None])


def _first_replaced(**options: Any) -> AuditCase:
    """Turn their outcomes round: the first feature goes from 0 to 2, the last one falls by 2."""
    request = _request(Neighbours.REPLACE_ONE, **options)
    other_rows = _other_rows(2)
    other_rows.carry(0, TOP, _copies(request))
    other_rows.carry(1, BOTTOM, _copies(request) * (1 if _is_gumbel(request) else 3))
    return _case("first choice", request, other_rows, rows=[(2, (1, 1)), (-2, (1, 1))])


def _second_added(*, is_fractional: bool = False, **options: Any) -> AuditCase:
    """Add carriers of all: the middle feature leaves the first chosen and joins the outcome.

    Of fractional genotypes rows that carry the last one carry an odd number of steps.
    """
    request = _request(Neighbours.ADD_REMOVE, n_choices=2, **options)
    other_rows = _other_rows(3)
    other_rows.carry(0, LEADERS, SHARE)
    other_rows.carry(1, SPREAD, _copies(request) * SHARE)
    other_rows.carry(2, TOP, _copies(request) * (1 if _is_gumbel(request) else 3))
    if is_fractional:
        other_rows.features[2, TOP] = 3 / 8 + np.resize([1, -1], 8) / LARGEST_DOSAGE  # 3 in all
    rows = [(-2, (1, 1, 1)), None]
    return _case("second choice", request, other_rows, rows=rows, is_fractional=is_fractional)


def _second_replaced(**options: Any) -> AuditCase:
    """Turn their outcomes round, and let them carry the first chosen."""
    request = _request(Neighbours.REPLACE_ONE, n_choices=2, **options)
    other_rows = _other_rows(3)
    other_rows.carry(0, LEADERS, SHARE)
    other_rows.carry(1, SPREAD, SHARE)
    other_rows.carry(1, TOP, 1)
    other_rows.carry(2, BOTTOM, 1 if _is_gumbel(request) else 4)
    return _case("second choice", request, other_rows, rows=[(2, (1, 1, 1)), (-2, (0, 1, 1))])


def _both_added(**options: Any) -> AuditCase:
    """Add carriers of all: each of the first two leaves the other and joins the outcome."""
    request = _request(Neighbours.ADD_REMOVE, n_choices=2, n_audited=2, **options)
    other_rows = _other_rows(3)
    other_rows.carry(0, SPREAD, SHARE)
    other_rows.carry(1, OTHERS_SPREAD, _copies(request) * SHARE)
    other_rows.carry(2, TOP, 5)
    return _case("both choices", request, other_rows, rows=[(-2, (1, 1, 1)), None])


def _table_first_added(*, is_fractional: bool = False, **options: Any) -> AuditCase:
    """Add a row that is discordant with all others for the last feature; the first feature was a constant."""
    request = _request(Neighbours.ADD_REMOVE, kernel=PairKernel.SIGN, **options)
    order = np.arange(3.0 if _is_gumbel(request) else 5.0)
    other_rows = _OtherRows(order, np.array([0 * order, order]))
    rows = [(9, (9, -9)), None]
    return _case("table, first choice", request, other_rows, rows=rows, is_fractional=is_fractional)


def _table_first_replaced(**options: Any) -> AuditCase:
    """Move a row of the largest outcome: the first feature goes from 0 to 2, the last one falls by 2."""
    request = _request(Neighbours.REPLACE_ONE, kernel=PairKernel.SIGN, **options)
    other_rows = _other_rows(2)
    other_rows.carry(0, TOP, 1)
    other_rows.carry(1, TOP, 1 if _is_gumbel(request) else 3)
    return _case("table, first choice", request, other_rows, rows=[(2, (1, -1)), (2, (-1, 1))])


def _table_second_replaced(**options: Any) -> AuditCase:
    """Move a row that is largest by the outcome and by the first chosen."""
    request = _request(Neighbours.REPLACE_ONE, kernel=PairKernel.SIGN, n_choices=2, **options)
    other_rows = _other_rows(3)
    other_rows.carry(0, LEADERS, SHARE)
    other_rows.features[0, 0] = -1  # goes against the first chosen, with the outcome
    other_rows.carry(1, TOP, 1)
    other_rows.carry(2, TOP, 1 if _is_gumbel(request) else 5)
    return _case("table, second choice", request, other_rows, rows=[(2, (2, 1, -1)), (2, (2, -1, 1))])


def _fractional_table_replaced(**options: Any) -> AuditCase:
    """Move a row beyond all others: the first feature goes from 2 to 0, the last one from 2 to 4."""
    request = _request(Neighbours.REPLACE_ONE, kernel=PairKernel.SIGN, **options)
    order = np.arange(7.0)
    other_rows = _OtherRows(
        order, np.array([[3, 2, 1, 0, 4, 6, 5], order])
    )  # 7 and 21 concordant less discordant
    rows = [(9, (9, -9)), (9, (-9, 9))]
    return _case("table, first choice", request, other_rows, rows=rows, is_fractional=True)


@dataclass(frozen=True)
class _OtherRows:
    """The rows of both inputs: outcome (n_rows,), features (n_features, n_rows) that are filled in."""

    outcome: np.ndarray
    features: np.ndarray

    def carry(self, feature: int, rows: slice, n_carriers: int) -> None:
        """Let the first of some rows carry a feature."""
        self.features[feature, rows][:n_carriers] = 1


def _other_rows(n_features: int) -> _OtherRows:
    other_rows = _OtherRows(np.zeros(N_OTHERS), np.zeros((n_features, N_OTHERS)))
    other_rows.outcome[TOP] = other_rows.outcome[LEADERS] = 1
    other_rows.outcome[BOTTOM] = -1
    return other_rows


def _request(
    neighbours: Neighbours,
    *,
    law: Selection = Selection.PERMUTE_AND_FLIP,
    kernel: PairKernel | None = None,
    n_choices: int = 1,
    n_audited: int = 1,
    **options: Any,
) -> KendallRequest:
    """Return a request with `LOSS` in the audited choices."""
    kernels = {} if kernel is None else {"against_outcome": kernel, "against_feature": kernel}
    epsilon = LOSS[law] * n_choices / n_audited
    return KendallRequest(
        n_choices=n_choices, epsilon=epsilon, law=law, neighbours=neighbours, **kernels, **options
    )


def _case(
    step: str,
    request: KendallRequest,
    other_rows: _OtherRows,
    *,
    rows: Sequence[tuple | None],
    is_fractional: bool = False,
) -> AuditCase:
    """Build the case of the other rows and one unit of (outcome, features), or none."""
    inputs = [_with_unit(other_rows, row, request) for row in rows]
    if is_fractional:
        inputs = [
            replace(exact_rows, features=_fractions(exact_rows.features, request)) for exact_rows in inputs
        ]
    is_gumbel = _is_gumbel(request)
    return AuditCase(
        mechanism=private_kendall.__name__,
        terms={
            **{name: str(getattr(request, name)) for name in ("neighbours", "unit", "rows")},
            "budget": f"{step}, {request.law}",
            **(FRACTIONAL if is_fractional else {}),
        },
        pair=tuple(inputs),
        claim=CLAIMS[request.law](LOSS[request.law], partial(_error_rates, inputs)),
        run=_choose,
        score=partial(_guess, last=len(other_rows.features) - 1),
        is_for_releases=not (is_gumbel or is_fractional),
    )


def _with_unit(other_rows: _OtherRows, row: tuple | None, request: KendallRequest) -> ExactRows:
    n_copies = 0 if row is None else _copies(request)
    y, x = row or (0, np.zeros(len(other_rows.features)))
    outcome = np.append(other_rows.outcome, np.full(n_copies, float(y)))
    features = np.hstack([other_rows.features, np.tile(np.reshape(x, (-1, 1)), n_copies)])
    if request.against_outcome == PairKernel.BOUNDED and request.rows == Rows.PEOPLE:
        features = 2 * features
    return ExactRows(len(outcome), outcome, features, request)


def _fractions(features: np.ndarray, request: KendallRequest) -> np.ndarray:
    """Put genotypes of 0 to 2 on the grid of dosages; columns of a table are in steps already."""
    if request.against_outcome == PairKernel.BOUNDED:
        features = np.rint((features - 1) * STEPS_PER_ALLELE)
    return features.astype(np.int16)


def _copies(request: KendallRequest) -> int:
    """Return how many rows a unit has."""
    return 2 if (request.rows, request.unit) == (Rows.HAPLOTYPES, Unit.PERSON) else 1


def _is_gumbel(request: KendallRequest) -> bool:
    return request.law == Selection.GUMBEL


def _choose(exact: ExactRows, noise: "NoiseSource") -> np.ndarray:
    return private_kendall(exact.pairs, request=exact.request, noise=noise.on(exact.digest))[0]


def _guess(chosen: np.ndarray, *, last: int) -> int:
    return 1 if last in chosen else -1


def _error_rates(inputs: list[ExactRows], factor: float) -> tuple[float, float]:
    first, second = (_chance_of_last(exact, factor) for exact in inputs)
    return first, 1 - second


def _chance_of_last(exact: ExactRows, factor: float) -> float:
    """Return the probability that the last feature is chosen, with noise too small by a factor."""
    request = exact.request
    score = RoundScores(exact.pairs, first_factor=request.first_factor)
    rate = factor * request.epsilon / request.n_choices / (2 * request.claim.value)
    law = _gumbel_law if _is_gumbel(request) else _permute_and_flip_law
    last = len(exact.features) - 1

    def chance(chosen: list[int]) -> float:
        if len(chosen) == request.n_choices:
            return 0.0
        scores, unit = score(np.array(chosen, dtype=np.int64))
        left = [number for number in range(last + 1) if number not in chosen]
        odds = law(np.exp(rate * float(unit) * (scores[left] - scores[left].max())))
        continuations = zip(odds[:-1], left[:-1], strict=True)
        return odds[-1] + sum(
            probability * chance([*chosen, number]) for probability, number in continuations
        )

    return float(chance([]))


def _gumbel_law(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()


def _permute_and_flip_law(heads: np.ndarray) -> list[float]:
    """Integrate heads_j prod (1 - t heads_i) over t: the time of a visit, uniform, for each candidate."""
    return [
        float(head * np.polyval(np.polyint(np.poly1d(_misses(np.delete(heads, number)))), 1))
        for number, head in enumerate(heads)
    ]


def _misses(heads: np.ndarray) -> np.ndarray:
    """Return the coefficients of prod (1 - t heads), highest first."""
    coefficients = np.ones(1)
    for head in heads:
        coefficients = np.convolve(coefficients, [-head, 1.0])
    return coefficients
