"""Audit cases of screening in a study: choices by outcome, and statistics of the chosen variants."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.methods.audits.rows import (
    ADDED,
    CLIPPED,
    COUNTED,
    GDP,
    HAPLOTYPE,
    PAPER,
    PERSON,
    TWO_HAPLOTYPES,
    cohort_rows,
    normal_case,
    request_terms,
)
from dpgrs.methods.audits.sums import LONG_MEMBER, MEMBER, TERMS, tight_norms
from dpgrs.methods.chosen import private_choices, private_chosen_statistics
from dpgrs.methods.chosen_requests import ScreenedRequest, ScreeningTerms
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import noisy_entries
from dpgrs.privacy.audit.audit import AuditCase, PureLoss
from dpgrs.selection.dp_kendall import KendallRequest
from dpgrs.selection.screening_data import ScreeningData
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource

CHOICE_EPSILON = 2.0
# With this many rows a correlation moves by all but two thousandths of the claim.
N_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Chosen:
    """The input of a mechanism that screens."""

    n_rows: int
    data: ScreeningData


def chosen_cases() -> list[AuditCase]:
    """Return the cases: a member more, with one row or two."""
    return [
        _choices(**HAPLOTYPE),
        _choices(**TWO_HAPLOTYPES),
        _choices(**PERSON),
        _statistics(**TWO_HAPLOTYPES, **ADDED, **GDP, count_share=0.1),
        _statistics(**TWO_HAPLOTYPES, **ADDED, **GDP, **COUNTED),
        _statistics(**HAPLOTYPE, **ADDED, **PAPER, **CLIPPED, **tight_norms(2.0, n_shared=1)),
    ]


def _choices(**unit: Any) -> AuditCase:
    """Build a pair without carriers of the smallest outcome: the leading variant falls level."""
    request = KendallRequest(n_choices=1, epsilon=CHOICE_EPSILON, **unit, **ADDED)
    n_copies = 2 if unit == TWO_HAPLOTYPES else 1
    pair = (_carriers(n_copies, request.rows, is_whole=is_whole) for is_whole in (True, False))
    options = {"pair": pair, "claimed": CHOICE_EPSILON, "sign": 1, "budget": "joint"}
    return choice_case(request, request.rows, **options)


def choice_case(
    request: Any,
    rows: Rows,
    *,
    pair: Sequence[Chosen],
    claimed: Any,
    sign: int,
    budget: float,
    **options: Any,
) -> AuditCase:
    """Build a case of one choice between two variants, between which one unit decides."""

    def run(exact: Chosen, noise: "NoiseSource") -> list:
        return private_choices(exact.data, request=request, noise=noise, outcome_names=["a"], **options)[0][
            0, 0
        ]

    return AuditCase(
        mechanism=private_choices.__name__,
        # Choices have no accounting; the budget is of the one outcome.
        terms={
            **{name: str(getattr(request, name)) for name in TERMS[:2]},
            "rows": str(rows),
            "accounting": "",
            "budget": budget,
        },
        pair=tuple(pair),
        claim=PureLoss(claimed),
        run=run,
        score=lambda number: sign * (0.5 - number),
    )


def _carriers(n_copies: int, rows: Rows, *, is_whole: bool) -> Chosen:
    """Return rows in which one variant correlates with the outcome as much as the other does against it.

    A whole cohort has one more unit, `n_copies` rows of the smallest outcome that carry both.
    """
    n_carriers = 2 * n_copies
    x, y = np.zeros((2, N_ROWS + n_copies), dtype=bool), np.zeros((1, N_ROWS + n_copies))
    x[0, :n_carriers], y[0, :n_carriers] = True, 1.0
    x[1, n_carriers : 2 * n_carriers], y[0, n_carriers : 2 * n_carriers] = True, -1.0
    x[:, N_ROWS:], y[0, N_ROWS:] = True, -2.0
    if not is_whole:
        x, y = x[:, :N_ROWS], y[:, :N_ROWS]
    return one_outcome(x, y, rows)


def one_outcome(x: np.ndarray, y: np.ndarray, rows: Rows) -> Chosen:
    """Return rows that are all used for training: people with two equal alleles, or haplotypes."""
    alleles = x if rows == Rows.HAPLOTYPES else np.repeat(x, 2, axis=1)
    data = ScreeningData(pack(alleles), y, np.ones(y.shape[1], dtype=bool), alleles.shape[1], rows)
    return Chosen(y.shape[1], data)


def _statistics(**fields: Any) -> AuditCase:
    """Build a case in which all variants are chosen, with the sums of a study without screening."""
    member = LONG_MEMBER if "coding" in fields else MEMBER
    of_all = PrivacyRequest(**request_terms(member, **fields))
    screening = ScreeningTerms(n_choices=of_all.n_variants, share=0.01)
    request = ScreenedRequest(**asdict(of_all), screening=screening)
    names = [str(number) for number in range(of_all.n_outcomes)]
    chosen = np.tile(np.arange(of_all.n_variants), (of_all.n_outcomes, 1))
    entries = noisy_entries(of_all.n_variants, rows=of_all.rows, coding=of_all.coding)
    options = {"request": request.statistics, "outcome_names": names}
    options |= {"frequency": np.zeros(of_all.n_variants)}

    def run(exact: Chosen, noise: "NoiseSource") -> list:
        statistics = private_chosen_statistics(exact.data, chosen, noise=noise, **options)
        noisy_numbers = [statistics.n]
        for outcome_statistics in statistics.by_outcome():
            counts = [] if outcome_statistics.observed is None else [outcome_statistics.observed]
            noisy_numbers += [outcome_statistics.gram[entries], *counts, outcome_statistics.cross[0]]
        return noisy_numbers

    budget, times = request.statistics.budget, math.sqrt(of_all.n_outcomes)
    mu = math.hypot(budget["count"], *(times * budget[name] for name in ("observed", "gram", "cross")))
    pair = _cohort(member, of_all), _cohort(None, of_all)
    return normal_case(private_chosen_statistics, request, pair=pair, run=run, mu=mu)


def _cohort(member: Any, request: PrivacyRequest) -> Chosen:
    exact = cohort_rows(member, request)
    Y = exact.cohort.outcomes * OUTCOME_STEP
    is_training = np.ones(exact.n_rows, dtype=bool)
    return Chosen(
        exact.n_rows,
        ScreeningData(exact.cohort.bits, Y, is_training, exact.cohort.n_haplotypes, request.rows),
    )
