"""Audit cases of steered statistics: a unit whose rows have the largest norm after steering.

The directions of steered rows depend on earlier draws. The audited number of X'Y is therefore its position
between the two inputs, along the directions of the draw: 0 and 1 without noise. The noise of every entry is
audited beside it. An audit fails if the map is not the one that the released numbers give.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import pack
from dpgrs.linalg.clipped_statistics import clipped_gram, frequency_rows
from dpgrs.linalg.outcome_grid import LARGEST_BOUND
from dpgrs.linalg.public_ld import PublicLd
from dpgrs.linalg.steering import SteerableRows
from dpgrs.methods.audits.cohorts import request_outcomes
from dpgrs.methods.audits.sums import DELTA, EPSILON, TERMS, tight_norms
from dpgrs.methods.blup_ld import LdRequest
from dpgrs.methods.reusecov import NoisyStatistics, noisy_entries
from dpgrs.methods.steered import SteeredRequest, private_steered_statistics, steering_of
from dpgrs.privacy.audit.audit import HAPLOTYPE, PERSON, TWO_HAPLOTYPES, AuditCase, GaussianLoss
from dpgrs.privacy.audit.parts import AuditedDraw, log_likelihood_ratio
from dpgrs.privacy.digests import data_digest
from dpgrs.privacy.noise.base import NoiseSource
from dpgrs.privacy.sensitivity import count_sensitivity
from dpgrs.types import Accounting, Coding, Neighbours, Rows, Unit

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest

# With these sizes and rare alleles, every noisy Gram matrix shows directions along which the unit is far out.
N_VARIANTS, N_OTHERS, RARITY = 4, 400, 10
OUTCOMES, OTHER_OUTCOMES = (1, -1), (-1, 1)
FAR = LARGEST_BOUND  # beyond any bound


@dataclass(frozen=True)
class ExactRows:
    """The input: the number of rows, their X'X and the rows themselves."""

    n_rows: int
    gram: np.ndarray
    rows: SteerableRows


def steered_cases() -> list[AuditCase]:
    """Return the cases of steered statistics, by a Gram matrix of their own and by a public one."""
    added, replaced = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
    paper = {"accounting": Accounting.PAPER}
    return [
        _case(SteeredRequest, added, **HAPLOTYPE, gram_share=0.4),
        _case(SteeredRequest, added, **PERSON, **paper, gram_share=0.4),
        _case(LdRequest, added, **TWO_HAPLOTYPES),
        _case(LdRequest, replaced, **HAPLOTYPE, **paper),
        _case(LdRequest, replaced, **PERSON),
    ]


def _case(
    kind: Any, neighbours: Neighbours, *, accounting: Accounting = Accounting.GDP, **fields: Any
) -> AuditCase:
    row_norm = 2.0 if Rows(fields["rows"]) == Rows.HAPLOTYPES else 4.0  # the norm of a row of all alleles
    request = kind(
        n_variants=N_VARIANTS,
        n_outcomes=len(OUTCOMES),
        outcome_bound=3.0,
        epsilon=EPSILON[accounting],
        delta=DELTA,
        accounting=accounting,
        neighbours=neighbours,
        coding=Coding.FREQUENCY,
        **tight_norms(row_norm, n_shared=len(OUTCOMES)),
        **fields,
    )
    is_replaced = neighbours == Neighbours.REPLACE_ONE
    pair = _rows_with(OUTCOMES, request), _rows_with(OTHER_OUTCOMES if is_replaced else None, request)
    moved = request.cross_claim.value
    exact = np.zeros((2, 1 + len(OUTCOMES) * N_VARIANTS))
    exact[1, 0] = 1.0
    draws = [AuditedDraw("cross", exact, request.noise_sd["cross"] / moved)]
    if request.has_private_gram:
        both = [_entries(cohort.gram * request.gram_step, request) for cohort in pair]
        draws.insert(0, AuditedDraw("gram", both, request.noise_sd["gram"]))
    if request.has_private_count:
        sd = count_sensitivity(**request.relation).value / request.budget["count"]
        draws.insert(0, AuditedDraw("count", [cohort.n_rows for cohort in pair], sd))
    mu = np.linalg.norm([request.budget[draw.name] for draw in draws])
    return AuditCase(
        mechanism=private_steered_statistics.__name__,
        terms={
            **{name: str(getattr(request, name)) for name in TERMS},
            "budget": "joint",
            "coding": str(request.coding),
            **({} if request.has_gram else {"gram": "none"}),
        },
        pair=pair,
        claim=GaussianLoss(float(mu), delta=DELTA),
        run=partial(_run, audited=[draw.name for draw in draws], pair=pair, request=request),
        score=partial(log_likelihood_ratio, parts=tuple(draws)),
        parts=tuple(draws),
    )


def _run(
    exact: ExactRows,
    noise: NoiseSource,
    *,
    audited: Sequence[str],
    pair: Sequence[Any],
    request: SteeredRequest,
) -> list:
    """Draw, and return the numbers of the audited parts."""
    rows, ld = exact.rows, None
    if not request.has_gram:
        # No direction is at a right angle to the unit's row.
        linkage = np.diag([0.04, 0.05, 0.06, 0.07]) + 0.01
        ld = PublicLd(np.array([0]), (linkage,), np.empty((0, N_VARIANTS)), 100)
    options = {"request": request, "noise": noise, "ld": ld, "digest": data_digest(rows.genotypes)}
    gram = exact.gram if request.has_gram else None
    statistics = private_steered_statistics(gram, rows, exact.n_rows, **options)
    _require_released_map(statistics, request, ld)
    sums = {id(cohort): cohort.rows.sums(statistics.steering)[:, :-1] * request.cross_step for cohort in pair}
    first, second = sums.values()
    towards = second - first
    squares = np.vdot(towards, towards)
    # A draw without directions, as in a rehearsal, has an S without information: its position is midway.
    position = np.vdot(statistics.cross - first, towards) / squares if squares else 0.5
    numbers = {"cross": np.append(position, statistics.cross - sums[id(exact)]), "count": statistics.n}
    if request.has_private_gram:
        numbers["gram"] = _entries(statistics.gram, request)
    return [numbers[name] for name in audited]


def _require_released_map(statistics: NoisyStatistics, request: SteeredRequest, ld: PublicLd | None) -> None:
    """Fail unless rows were steered only by public or released numbers."""
    steering = steering_of(statistics.gram, statistics.n, request=request, ld=ld)
    pairs = zip(astuple(steering), astuple(statistics.steering), strict=True)
    if not all(np.array_equal(expected, used) for expected, used in pairs):
        raise DpgrsError(
            "steered-by-another-map",
            "Rows must be turned by the map that the released numbers give, and were by another: "
            "private_steered_statistics is not private. Release nothing with it, and report this.",
        )


def _entries(gram: np.ndarray, request: "PrivacyRequest") -> np.ndarray:
    return gram[noisy_entries(N_VARIANTS, rows=request.rows, coding=request.coding)]


def _rows_with(outcomes: Any, request: SteeredRequest) -> ExactRows:
    """Return the rows of 200 people, and of one unit more, who carries all alleles, with these outcomes."""
    n_copies = 0 if outcomes is None else 1 if request.unit == Unit.HAPLOTYPE else 2
    n_alleles = 1 if Rows(request.rows) == Rows.HAPLOTYPES else 2
    alleles = np.zeros((N_VARIANTS, N_OTHERS + n_copies), dtype=int)
    alleles[:, :N_OTHERS] = np.arange(N_OTHERS) % RARITY == np.arange(N_VARIANTS)[:, np.newaxis]
    alleles[:, N_OTHERS:] = 1
    n_haplotypes = alleles.shape[1]
    Y = np.zeros((len(OUTCOMES), n_haplotypes // n_alleles))
    Y[:, N_OTHERS // n_alleles :] = np.reshape(outcomes or 0.0, (-1, 1)) * FAR
    bits, rare = pack(alleles), np.zeros(N_VARIANTS)
    options = {"n_haplotypes": n_haplotypes, "rows": request.rows}
    gram = clipped_gram(frequency_rows(bits, rare, row_norm=request.row_norm, **options))
    everybody, bounds = np.ones(Y.shape[1], dtype=bool), (request.row_bound, request.outcome_bound)
    row_arguments = (bits, request_outcomes(Y, request), n_haplotypes, request.rows)
    return ExactRows(Y.shape[1], gram, SteerableRows(*row_arguments, everybody, *bounds, rare))
