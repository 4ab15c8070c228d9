"""Audit cases of ReuseCov's mechanisms: the worst neighbours of docs/proofs, summed by the real code.

Inputs differ in one unit among ten people. Its genotypes are all -1/2 or 1/2 (haplotypes), -1 or 1 (people),
and its outcomes lie far beyond their bound, so that the statistics clip them. In most cases the signs are
such that noise that repeats itself, among the entries of a statistic or from one statistic to the next,
cancels in the score: an audit catches that too.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.linalg.norms import budget_groups, outcome_norm
from dpgrs.methods.audits.cohorts import ExactStatistics, sum_up
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import (
    noisy_entries,
    private_case_counts,
    private_count,
    private_cross_product,
    private_gram,
    private_outcome_counts,
    private_statistics,
)
from dpgrs.privacy.audit.audit import HAPLOTYPE, PERSON, TWO_HAPLOTYPES, AuditCase, GaussianLoss
from dpgrs.privacy.audit.parts import AuditedDraw, log_likelihood_ratio
from dpgrs.privacy.sensitivity import count_sensitivity
from dpgrs.types import Accounting, Coding, Neighbours, Protection, Unit

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource

# With these budgets every audited share is a mu of about 2, where an audit has most power.
EPSILON = {Accounting.GDP: 8.0, Accounting.PAPER: 16.0}
DELTA = 1e-3
PUBLIC_ROWS = 10  # the n that is public by the time of X'X

TERMS = ("neighbours", "unit", "rows", "accounting")  # of a request
# Terms that a case lists only if they are not the default.
NAMED = ("protection", "coding", "n_covariates", "counts_outcomes", "case_share", "outcome_norm")
# The names in `PrivacyRequest.budget`.
COUNT, OBSERVED, GRAM, CROSS, CASES = "count", "observed", "gram", "cross", "cases"

# Signs of a member's genotypes and outcomes. In X'Y, and in X'X of haplotypes, as many entries rise as fall.
MEMBER = ((1, -1, 1), (1, -1))
# Each entry of X'Y moves against the same entry of X'X.
OPPOSED_MEMBER = ((-1, 1, -1), (-1, -1))
# The replacements of `MEMBER` that move X'X furthest (docs/proofs/gram.md: k = 2; e = 1 and o = 2), and X'Y.
OTHER_HAPLOTYPE = ((-1, 1, 1), (1, -1))
OTHER_PERSON = ((1, 1, -1), (1, -1))
OTHER_OUTCOMES = ((1, -1, 1), (-1, 1))
OTHER_GENOTYPES = ((-1, 1, -1), (1, -1))
# One has the outcome that the other lacks, so that one count falls as the other rises.
FIRST_ALONE, SECOND_ALONE = ((1, -1, 1), (1, math.nan)), ((1, -1, 1), (math.nan, 1))
# A case of both outcomes.
CASE_OF_BOTH = ((1, -1, 1), (1, 1))
# In `frequency` coding, where these alleles have a frequency of 0: a row of the largest norm, all entries of
# the largest size (docs/proofs/clipped_gram.md).
LONG_MEMBER = ((1, 1, 1, 1), (1, -1))
# Its furthest neighbours if one side is public: the public side stays.
OTHER_OF_LONG, NONE_OF_LONG = ((1, 1, 1, 1), (-1, 1)), ((-1, -1, -1, -1), (1, -1))
# A member with three outcomes, which are clipped together or each by itself.
MEMBER_OF_THREE = ((1, 1, 1, 1), (1, -1, 1))
# With two variants this pair moves X'X and X'Y furthest at once.
SHORT_MEMBER = ((1, -1), (1, -1))
MIRRORED_MEMBER = ((-1, 1), (1, -1))
OTHER_OF_SHORT = ((1, -1), (-1, 1))
# Two components of these four outcomes are summed, each beyond its bound; a missing outcome is filled in.
LOADINGS = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.9], [0.0, 0.8]])
OF_FOUR, OTHER_OF_FOUR = ((1, 1, 1, 1), (1, math.nan, -1, -1)), ((1, 1, 1, 1), (-1, -1, 1, math.nan))
# Rows of mean 0, at a right angle.
LEVEL_MEMBER, OTHER_LEVEL = ((1, 1, -1, -1), (1, -1)), ((1, -1, 1, -1), (1, -1))


def reusecov_cases() -> list[AuditCase]:
    """Return the cases of the count, X'X and X'Y, separately and together."""
    paper = {"accounting": Accounting.PAPER}
    mostly_count, mostly_gram, mostly_cross = {"count_share": 0.8}, {"gram_share": 0.8}, {"gram_share": 0.2}
    all_shares = {"count_share": 0.1, "gram_share": 0.4}
    label, feature = {"protection": Protection.LABEL}, {"protection": Protection.FEATURE}
    clipped = {"coding": Coding.FREQUENCY}
    covariate = {"n_covariates": 1, "covariate_bound": 3.0}
    counted = {"counts_outcomes": True, "count_share": 0.2}
    centred = {"coding": Coding.ROW_CENTRED}
    components = mostly_cross | clipped | {"loadings": LOADINGS}
    return [
        _added(private_count, MEMBER, **TWO_HAPLOTYPES, **mostly_count),
        _added(private_count, MEMBER, **PERSON, **paper, **mostly_count),
        _added(private_outcome_counts, MEMBER, **TWO_HAPLOTYPES, **counted | {"count_share": 0.45}),
        _replaced(
            private_outcome_counts, FIRST_ALONE, SECOND_ALONE, **PERSON, **paper, **counted | mostly_count
        ),
        _replaced(private_outcome_counts, FIRST_ALONE, SECOND_ALONE, **PERSON, **label, **counted),
        _added(private_case_counts, CASE_OF_BOTH, **TWO_HAPLOTYPES, case_share=0.45),
        _replaced(private_case_counts, MEMBER, OTHER_OUTCOMES, **PERSON, **paper, case_share=0.8),
        _replaced(private_case_counts, FIRST_ALONE, SECOND_ALONE, **PERSON, **label, case_share=0.2),
        _added(private_gram, MEMBER, **HAPLOTYPE, **mostly_gram),
        _added(private_gram, MEMBER, **PERSON, **paper, **mostly_gram),
        _replaced(private_gram, MEMBER, OTHER_HAPLOTYPE, **TWO_HAPLOTYPES, **paper, **mostly_gram),
        _replaced(private_gram, MEMBER, OTHER_PERSON, **PERSON, **mostly_gram),
        _added(private_cross_product, MEMBER, **TWO_HAPLOTYPES, **mostly_cross),
        _added(private_cross_product, MEMBER, **PERSON, **paper, **mostly_cross, outcome_bound=0.5),
        _replaced(private_cross_product, MEMBER, OTHER_OUTCOMES, **HAPLOTYPE, **paper, **mostly_cross),
        _replaced(private_cross_product, MEMBER, OTHER_OUTCOMES, **PERSON, **mostly_cross, outcome_bound=7.0),
        _added(private_statistics, OPPOSED_MEMBER, **TWO_HAPLOTYPES, **all_shares, outcome_bound=1.5),
        _added(private_statistics, OPPOSED_MEMBER, **PERSON, **paper, **all_shares),
        _replaced(private_statistics, SHORT_MEMBER, MIRRORED_MEMBER, **TWO_HAPLOTYPES, gram_share=0.3),
        _replaced(private_statistics, SHORT_MEMBER, MIRRORED_MEMBER, **HAPLOTYPE, **paper, n_budgets=2),
        _replaced(private_cross_product, MEMBER, OTHER_OUTCOMES, **TWO_HAPLOTYPES, **label),
        _replaced(private_statistics, MEMBER, OTHER_OUTCOMES, **PERSON, **paper, **label),
        _replaced(private_cross_product, MEMBER, OTHER_GENOTYPES, **PERSON, **mostly_cross, **feature),
        _replaced(
            private_cross_product, MEMBER, OTHER_GENOTYPES, **HAPLOTYPE, **paper, **mostly_cross, **feature
        ),
        _replaced(private_gram, MEMBER, OTHER_HAPLOTYPE, **HAPLOTYPE, **mostly_gram, **feature),
        _replaced(
            private_statistics, SHORT_MEMBER, MIRRORED_MEMBER, **TWO_HAPLOTYPES, **feature, gram_share=0.3
        ),
        _added(private_gram, LONG_MEMBER, **HAPLOTYPE, **mostly_gram, **clipped, row_norm=2.0),
        _added(
            private_statistics,
            MEMBER_OF_THREE,
            **PERSON,
            **paper,
            **all_shares,
            **clipped,
            **tight_norms(4.0, n_shared=3),
        ),
        _added(private_statistics, OPPOSED_MEMBER, **PERSON, **counted, gram_share=0.4),
        _added(private_statistics, OPPOSED_MEMBER, **TWO_HAPLOTYPES, **paper, **counted, n_budgets=2),
        _added(private_statistics, CASE_OF_BOTH, **PERSON, **counted, case_share=0.2, gram_share=0.4),
        _added(
            private_statistics,
            MEMBER_OF_THREE,
            **TWO_HAPLOTYPES,
            **clipped,
            **tight_norms(2.0, n_shared=1),
            gram_share=0.4,
            n_budgets=3,
        ),
        # Two entries of 2 and a covariate of 1.
        _added(private_statistics, MEMBER, **PERSON, **all_shares, **clipped, row_norm=3.0, **covariate),
        # The draws of a release with one public side: the norm of public outcomes is the largest possible.
        _replaced(
            private_statistics,
            LONG_MEMBER,
            OTHER_OF_LONG,
            **PERSON,
            **label,
            **clipped,
            **tight_norms(4.0, n_shared=2),
        ),
        _replaced(
            private_cross_product,
            LONG_MEMBER,
            NONE_OF_LONG,
            **TWO_HAPLOTYPES,
            **mostly_cross,
            **feature,
            **clipped,
            row_norm=2.0,
            outcome_norm=1.25,
        ),
        _added(private_gram, SHORT_MEMBER, **TWO_HAPLOTYPES, **mostly_gram, **centred),
        _replaced(private_gram, LEVEL_MEMBER, OTHER_LEVEL, **PERSON, **paper, **mostly_gram, **centred),
        _added(private_cross_product, LEVEL_MEMBER, **HAPLOTYPE, **mostly_cross, **centred),
        _replaced(private_cross_product, SHORT_MEMBER, MIRRORED_MEMBER, **PERSON, **mostly_cross, **centred),
        _replaced(
            private_cross_product,
            SHORT_MEMBER,
            MIRRORED_MEMBER,
            **HAPLOTYPE,
            **mostly_cross,
            **feature,
            **centred,
        ),
        _replaced(private_cross_product, SHORT_MEMBER, OTHER_OF_SHORT, **PERSON, **paper, **label, **centred),
        _added(private_statistics, SHORT_MEMBER, **PERSON, **paper, **all_shares, **centred),
        _added(
            private_cross_product, OF_FOUR, **TWO_HAPLOTYPES, **components, row_norm=2.0, outcome_norm=1.5
        ),
        _replaced(private_statistics, OF_FOUR, OTHER_OF_FOUR, **PERSON, **label, **components, row_norm=4.0),
    ]


def tight_norms(row_norm: float, *, n_shared: int) -> dict[str, float]:
    """Return the norms of a request within tight bounds, as keywords; the outcome norm is as in a study."""
    return {"row_norm": row_norm, "outcome_norm": outcome_norm(n_shared, factor=1.05, bound=3.0)}


def _added(mechanism: Callable[..., Any], member: Any, **fields: Any) -> AuditCase:
    return _case(mechanism, member, None, neighbours=Neighbours.ADD_REMOVE, **fields)


def _replaced(mechanism: Callable[..., Any], member: Any, other: Any, **fields: Any) -> AuditCase:
    return _case(mechanism, member, other, neighbours=Neighbours.REPLACE_ONE, **fields)


def _case(
    mechanism: Callable[..., Any],
    member: Any,
    other: Any,
    *,
    outcome_bound: float = 3.0,
    accounting: Accounting = Accounting.GDP,
    n_budgets: int = 1,
    loadings: np.ndarray | None = None,
    **fields: Any,
) -> AuditCase:
    """Build the case of two cohorts: one has the member, the other has `other` or nobody."""
    n_columns = len(member[1]) if loadings is None else loadings.shape[1]  # of outcomes or their components
    request = PrivacyRequest(
        n_variants=len(member[0]),
        n_outcomes=n_columns // n_budgets,
        outcome_bound=outcome_bound,
        epsilon=EPSILON[accounting],
        delta=DELTA,
        accounting=accounting,
        **fields,
    )
    release, statistics = RELEASES[mechanism]
    # Public statistics have no share of the budget, and no noise.
    statistics = tuple(name for name in statistics if request.budget[name])
    n_copies = 1 if request.unit == Unit.HAPLOTYPE else 2
    pair = (
        sum_up(member, n_copies, request, loadings),
        sum_up(other or member, n_copies if other else 0, request, loadings),
    )
    # Each budget has draws of its own for its outcomes.
    draws = [(name, None) for name in (COUNT, GRAM) if name in statistics]
    for budget in budget_groups(n_columns, n_shared=request.n_outcomes):
        draws += [(name, budget) for name in (OBSERVED, CROSS, CASES) if name in statistics]
    exact = [_exact_output(cohort, request) for cohort in pair]
    audited_draws = tuple(
        AuditedDraw(
            name,
            [_audited_numbers(name, output[name], request, budget) for output in exact],
            _noise_scale(name, request),
        )
        for name, budget in draws
    )

    def run(exact: ExactStatistics, noise: "NoiseSource") -> list:
        released = release(exact, noise, request=request)
        return [_audited_numbers(name, released[name], request, budget) for name, budget in draws]

    return AuditCase(
        mechanism=mechanism.__name__,
        terms={
            **{name: str(getattr(request, name)) for name in TERMS},
            "budget": "joint" if n_budgets == 1 else "separate",
            **{name: term_text(fields[name]) for name in NAMED if name in fields},
            **({} if loadings is None else {"components": "{1} of {0}".format(*loadings.shape)}),
        },
        pair=pair,
        claim=GaussianLoss(_total_mu(statistics, request, n_budgets), delta=DELTA),
        run=run,
        score=partial(log_likelihood_ratio, parts=audited_draws),
        is_for_releases=request.coding != Coding.ROW_CENTRED,
        parts=audited_draws,
    )


def gram_share_shown(request: PrivacyRequest) -> float:
    """Return the share of the mu^2 of X'X that a pair shows, a float.

    It is 1 except for centred rows. There the claim is of the whole matrix, R^4 or 2 R^4, and its upper
    triangle is released: a row of d equal sizes moves (1 + 1/d)/2 of it, and two such rows at a right angle
    move half.
    """
    if request.coding != Coding.ROW_CENTRED:
        return 1.0
    return (1 + 1 / request.n_variants) / 2 if request.has_private_count else 0.5


def _total_mu(statistics: Sequence[str], request: PrivacyRequest, n_budgets: int) -> float:
    """Return the mu of all statistics together; statistics of outcomes are drawn once for every budget."""
    draws = {COUNT: 1, GRAM: gram_share_shown(request)} | dict.fromkeys((OBSERVED, CROSS, CASES), n_budgets)
    return math.sqrt(sum(draws[name] * request.budget[name] ** 2 for name in statistics))


def _release_count(
    exact: ExactStatistics, noise: "NoiseSource", *, request: PrivacyRequest
) -> dict[str, Any]:
    n, _ = private_count(exact.n_rows, request=request, noise=noise)
    return {COUNT: n}


def _release_outcome_counts(
    exact: ExactStatistics, noise: "NoiseSource", *, request: PrivacyRequest
) -> dict[str, Any]:
    observed, _ = private_outcome_counts(exact.observed, request=request, noise=noise)
    return {OBSERVED: observed}


def _release_case_counts(
    exact: ExactStatistics, noise: "NoiseSource", *, request: PrivacyRequest
) -> dict[str, Any]:
    cases, _ = private_case_counts(exact.cases, request=request, noise=noise)
    return {CASES: cases}


def _release_gram(exact: ExactStatistics, noise: "NoiseSource", *, request: PrivacyRequest) -> dict[str, Any]:
    G, _ = private_gram(exact.gram, PUBLIC_ROWS, request=request, noise=noise)
    return {GRAM: G}


def _release_cross(
    exact: ExactStatistics, noise: "NoiseSource", *, request: PrivacyRequest
) -> dict[str, Any]:
    V, _ = private_cross_product(exact.cross, request=request, noise=noise)
    return {CROSS: V}


def _release_all(exact: ExactStatistics, noise: "NoiseSource", *, request: PrivacyRequest) -> dict[str, Any]:
    options = {"request": request, "noise": noise, "observed": exact.observed, "cases": exact.cases}
    noisy = private_statistics(exact.gram, exact.cross, exact.n_rows, **options)
    counts = {COUNT: noisy.n, OBSERVED: noisy.observed, CASES: noisy.cases}
    return counts | {GRAM: noisy.gram, CROSS: noisy.cross}


# The function that runs a mechanism, and the statistics that it protects.
RELEASES = {
    private_count: (_release_count, (COUNT,)),
    private_gram: (_release_gram, (GRAM,)),
    private_cross_product: (_release_cross, (CROSS,)),
    private_outcome_counts: (_release_outcome_counts, (OBSERVED,)),
    private_case_counts: (_release_case_counts, (CASES,)),
    # In the order of the draws.
    private_statistics: (_release_all, (COUNT, GRAM, OBSERVED, CROSS, CASES)),
}


def _exact_output(exact: ExactStatistics, request: PrivacyRequest) -> dict[str, Any]:
    """Return the release without noise."""
    cross = exact.cross[:, :-1] * request.cross_step
    gram = exact.gram * request.gram_step
    counts = {COUNT: exact.n_rows, OBSERVED: exact.observed, CASES: exact.cases}
    return counts | {GRAM: gram, CROSS: cross}


def _audited_numbers(name: str, numbers: Any, request: PrivacyRequest, budget: int) -> Any:
    """Return the numbers of a draw: X'X is symmetric, and its entries n/4 are public."""
    if name != GRAM:
        return numbers if budget is None else numbers[budget]
    return numbers[noisy_entries(request.n_columns, rows=request.rows, coding=request.coding)]


def _noise_scale(name: str, request: PrivacyRequest) -> float:
    """Return the standard deviation of the noise, by the claim."""
    if name == COUNT:
        return count_sensitivity(**request.relation).value / request.budget[COUNT]
    return request.noise_sd[name]


def term_text(value: object) -> str:
    """Write a term of a request, a float to four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
