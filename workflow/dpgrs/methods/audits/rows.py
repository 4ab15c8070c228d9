"""Audit cases of normal noise on rows: neighbours that attain the claim, run by the real code.

Inputs differ in one unit; everyone else has outcomes of 0. A source that draws no noise records
the exact release of the mechanism and its stated scale of noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.linalg.outcome_grid import LARGEST_BOUND, grid_outcomes
from dpgrs.methods.audits.cohorts import N_OTHERS, ExactStatistics, copied_columns, sum_rows
from dpgrs.methods.audits.sums import DELTA, EPSILON, TERMS, term_text
from dpgrs.methods.reusecov import NoisyStatistics, noisy_entries
from dpgrs.privacy.audit.audit import AuditCase, GaussianLoss
from dpgrs.privacy.audit.parts import log_likelihood_ratio, parts_of
from dpgrs.types import Accounting, Coding, Neighbours, Rows, Unit

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest

HAPLOTYPE = {"rows": Rows.HAPLOTYPES, "unit": Unit.HAPLOTYPE}
TWO_HAPLOTYPES = {"rows": Rows.HAPLOTYPES, "unit": Unit.PERSON}
PERSON = {"rows": Rows.PEOPLE, "unit": Unit.PERSON}
ADDED = {"neighbours": Neighbours.ADD_REMOVE}
REPLACED = {"neighbours": Neighbours.REPLACE_ONE}
CLIPPED = {"coding": Coding.FREQUENCY}
COUNTED = {"counts_outcomes": True, "count_share": 0.2}
GDP, PAPER = {"accounting": Accounting.GDP}, {"accounting": Accounting.PAPER}


@dataclass(frozen=True, eq=False)
class Cohort:
    """Rows, for mechanisms that need more than sums."""

    bits: np.ndarray  # (n_variants, n_words) uint64, or (n_variants, n_rows) int16 in units of `DOSAGE_STEP`
    n_haplotypes: int
    outcomes: np.ndarray  # (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`


@dataclass(frozen=True)
class ExactRows:
    """The input of such a mechanism."""

    n_rows: int
    cohort: Cohort


def request_terms(member: Any, *, accounting: Accounting, **fields: Any) -> dict[str, Any]:
    """Return the fields of a request about a member, by default with the budget of the other audits."""
    sizes = {"n_variants": len(member[0]), "n_outcomes": len(member[1]), "outcome_bound": 3.0}
    return {"epsilon": EPSILON[accounting], "delta": DELTA, "accounting": accounting} | sizes | fields


def normal_case(
    mechanism: Callable[..., Any],  # the ``private_*`` function
    request: "PrivacyRequest",  # for the terms
    *,
    pair: Sequence[Any],  # two inputs
    # Function (input, noise) -> list of an array for every draw, in the order of the draws.
    run: Callable[..., Any],
    mu: float,  # claimed
) -> AuditCase:
    """Build a case of normal noise."""
    draws = parts_of(run, pair)
    # The same texts as in the audits of ReuseCov.
    coded = {} if request.coding == Coding.HALF else {"coding": str(request.coding)}
    coded |= {"counts_outcomes": "True"} if request.counts_outcomes else {}
    coded |= {"outcome_norm": term_text(request.outcome_norm)} if request.outcome_norm else {}
    return AuditCase(
        mechanism=mechanism.__name__,
        terms={**{name: str(getattr(request, name)) for name in TERMS}, "budget": "joint"} | coded,
        pair=pair,
        claim=GaussianLoss(mu, delta=DELTA),
        run=run,
        score=partial(log_likelihood_ratio, parts=draws),
        is_for_releases=request.coding != Coding.ROW_CENTRED,
        parts=draws,
    )


def noisy_parts(noisy: NoisyStatistics, request: "PrivacyRequest") -> list:
    """Return all counts, and of X'X and X'Y the entries with noise, in the order of the draws."""
    entries = noisy_entries(request.n_variants, rows=request.rows, coding=request.coding)
    return [noisy.n, noisy.gram[entries], *([] if noisy.observed is None else [noisy.observed]), noisy.cross]


def sums_with(member: Any, request: "PrivacyRequest", *, others: Any = None) -> ExactStatistics:
    """Return the ExactStatistics of `cohort_rows`."""
    exact = cohort_rows(member, request, others=others)
    bits, n_haplotypes, outcomes = exact.cohort.bits, exact.cohort.n_haplotypes, exact.cohort.outcomes
    sums = sum_rows(bits, outcomes, n_haplotypes=n_haplotypes, request=request)
    return ExactStatistics(exact.n_rows, *sums, np.full(request.n_outcomes, exact.n_rows))


def cohort_rows(member: Any, request: "PrivacyRequest", *, others: Any = None) -> ExactRows:
    """Return the rows of ten people, and of one more unit with these signs, or nobody."""
    if others is None:
        others = np.arange(N_OTHERS) >> np.arange(request.n_variants)[:, np.newaxis] & 1
    haplotypes_of_a_row = 1 if request.rows == Rows.HAPLOTYPES else 2
    n_copies = _haplotypes_of_a_unit(request) if member else 0
    genotypes, outcomes = member or ([1] * request.n_variants, [1] * request.n_outcomes)
    alleles = np.hstack([others, copied_columns(np.greater(genotypes, 0), n_copies)])
    member_outcomes = copied_columns(np.multiply(outcomes, LARGEST_BOUND), n_copies // haplotypes_of_a_row)
    Y = np.hstack([np.zeros((request.n_outcomes, N_OTHERS // haplotypes_of_a_row)), member_outcomes])
    gridded = grid_outcomes(Y, bound=request.outcome_bound)
    return ExactRows(Y.shape[1], Cohort(pack(alleles), alleles.shape[1], gridded))


def _haplotypes_of_a_unit(request: "PrivacyRequest") -> int:
    return 1 if request.unit == Unit.HAPLOTYPE else 2
