"""Audit cases of the baselines and of the sketch, by the real code.

Inputs differ in one unit; everyone else has outcomes of 0. What would be released without noise, and how
large the noise is said to be, is learnt from the mechanism itself by a source that draws none.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.linalg.coding import CALL_STEP
from dpgrs.linalg.statistics import coded_rows, cross_product, half_units
from dpgrs.methods.audits.cohorts import N_OTHERS
from dpgrs.methods.audits.rows import (
    ADDED,
    CLIPPED,
    COUNTED,
    GDP,
    HAPLOTYPE,
    PAPER,
    PERSON,
    REPLACED,
    TWO_HAPLOTYPES,
    cohort_rows,
    noisy_parts,
    normal_case,
    request_terms,
    sums_with,
)
from dpgrs.methods.audits.sums import (
    LEVEL_MEMBER,
    LONG_MEMBER,
    MEMBER,
    MIRRORED_MEMBER,
    OTHER_HAPLOTYPE,
    OTHER_LEVEL,
    OTHER_PERSON,
    gram_share_shown,
)
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import noisy_entries
from dpgrs.privacy.audit.audit import FRACTIONAL
from dpgrs.types import Coding, Rows, Unit
from dpgrs_papers.methods.dp_sgd import SgdRequest, private_sgd
from dpgrs_papers.methods.naive import private_separate_statistics, separate_request
from dpgrs_papers.methods.sketch import SketchRequest, private_sketch, private_sketched_gram

if TYPE_CHECKING:
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.privacy.noise.base import NoiseSource

# Members of a step of DP-SGD, whose rows have a whole norm.
SHORT_MEMBER = ((1, -1), (1, -1))
# A learning rate, times the squared norm, at which the weights of exact sums of 10, 11, 20 or 22 rows lie on
# their grid, of fractional rows too.
STEEP = 2.0**5 * 5 * 11
# The sizes of a fractional row, in steps of 2^-12, one of them odd: of a whole norm with the intercept 1/2.
FRACTIONS, FRACTIONAL_NORM = (4095, 1018, 1034), 4803


def naive_cases() -> "list[AuditCase]":
    """Return the cases of the separate fits."""
    return [
        _separate_statistics(MEMBER, **TWO_HAPLOTYPES, **ADDED, **GDP, count_share=0.1),
        _separate_statistics(MEMBER, **PERSON, **ADDED, **PAPER),
        _separate_statistics(MEMBER, **TWO_HAPLOTYPES, **ADDED, **GDP, **COUNTED),
        _separate_statistics(LONG_MEMBER, **PERSON, **ADDED, **GDP, **CLIPPED, row_norm=4.0),
        _separate_statistics(SHORT_MEMBER, **HAPLOTYPE, **ADDED, **GDP, coding=Coding.ROW_CENTRED),
    ]


def sgd_cases() -> "list[AuditCase]":
    """Return the cases of one step of DP-SGD."""
    return [
        _sgd(MEMBER, **TWO_HAPLOTYPES, **ADDED, **GDP, count_share=0.1),
        _sgd(SHORT_MEMBER, **PERSON, **ADDED, **PAPER),
        _sgd(MEMBER, **PERSON, **ADDED, **GDP, fractions=FRACTIONS, clip=FRACTIONAL_NORM * DOSAGE_STEP),
    ]


def sketch_cases() -> "list[AuditCase]":
    """Return the cases of the sketch."""
    return [
        _sketched_gram(MEMBER, OTHER_HAPLOTYPE, **TWO_HAPLOTYPES, **REPLACED, **GDP, gram_share=0.98),
        _sketched_gram(MEMBER, OTHER_PERSON, **PERSON, **REPLACED, **PAPER, gram_share=0.8),
        # The claim for clipped rows is 5/2 + 1/16, and these two move 5/2 (docs/proofs/clipped_gram.md).
        _sketched_gram(
            SHORT_MEMBER,
            MIRRORED_MEMBER,
            **HAPLOTYPE,
            **REPLACED,
            **GDP,
            **CLIPPED,
            row_norm=1.0,
            gram_share=0.98,
            shown=40 / 41,
        ),
        _sketched_gram(
            LEVEL_MEMBER,
            OTHER_LEVEL,
            **PERSON,
            **REPLACED,
            **PAPER,
            coding=Coding.ROW_CENTRED,
            gram_share=0.8,
            shown=0.5,
        ),
        _sketch(**TWO_HAPLOTYPES, **REPLACED, **GDP, gram_share=0.7),
        _sketch(**HAPLOTYPE, **REPLACED, **PAPER),
    ]


def _separate_statistics(member: tuple | None, **request_fields: Any) -> "AuditCase":
    request = PrivacyRequest(**request_terms(member, **request_fields))

    def run(exact: Any, noise: "NoiseSource") -> list[np.ndarray]:
        released = []
        options = {"request": request, "noise": noise, "observed": exact.observed}
        for noisy in private_separate_statistics(exact.gram, exact.cross, exact.n_rows, **options):
            arrays = noisy_parts(noisy, request)
            released.extend(arrays[1:] if released else arrays)  # the count is drawn once
        return released

    budget = separate_request(request).budget
    times = math.sqrt(request.n_outcomes)
    of_a_fit = budget["observed"], budget["gram"] * math.sqrt(gram_share_shown(request)), budget["cross"]
    mu = math.hypot(budget["count"], *(times * mu_of_draw for mu_of_draw in of_a_fit))
    pair = sums_with(member, request), sums_with(None, request)
    return normal_case(private_separate_statistics, request, pair=pair, run=run, mu=mu)


def _sgd(
    member: tuple | None, *, fractions: tuple[int, ...] | None = None, **request_fields: Any
) -> "AuditCase":
    """Build the case of one step on all rows: what a secret sample hides is accounted for, not audited.

    With `fractions` the rows are no calls, but have entries of these sizes in units of `DOSAGE_STEP`.
    """
    request = SgdRequest(**request_terms(member, **request_fields), steps=1, sampling_rate=1.0)
    request = replace(request, learning_rate=STEEP * request.row_norm_squared)
    rows_of_a_unit = 2 if request.rows == Rows.HAPLOTYPES and request.unit == Unit.PERSON else 1
    row_step = CALL_STEP if fractions is None else DOSAGE_STEP

    def run(exact: Any, noise: "NoiseSource") -> list:
        cohort = exact.cohort
        X = coded_rows(cohort.bits, n_haplotypes=cohort.n_haplotypes, rows=request.rows)
        everybody = np.ones(len(X) // rows_of_a_unit, dtype=bool)
        options = {"request": request, "noise": noise, "row_step": row_step}
        released = private_sgd(X, cohort.outcomes, sample=lambda _: everybody, **options)
        W = np.column_stack([released.fit.weights, 2 * released.fit.intercept])
        return [released.n, -W * (released.n / STEEP)]

    mu = math.hypot(request.budget["count"], 1 / request.noise_multiplier)
    pair = [cohort_rows(added_member, request) for added_member in (member, None)]
    if fractions is not None:
        pair = [_of_fractions(exact, fractions) for exact in pair]
    case = normal_case(private_sgd, request, pair=tuple(pair), run=run, mu=mu)
    return case if fractions is None else replace(case, terms=case.terms | FRACTIONAL, is_for_releases=False)


def _of_fractions(exact: Any, sizes: tuple[int, ...]) -> Any:
    """Return people whose entries of -1, 0 and 1 have these sizes, int16 in units of `DOSAGE_STEP`."""
    cohort = exact.cohort
    calls = half_units(cohort.bits, n_haplotypes=cohort.n_haplotypes, rows=Rows.PEOPLE) // 2
    dosages = calls * np.array(sizes, dtype=np.int16)[:, np.newaxis]
    return replace(exact, cohort=replace(cohort, bits=dosages))


def _sketched_gram(
    member: tuple | None, other: tuple, *, shown: float = 1.0, **request_fields: Any
) -> "AuditCase":
    """Build the case of a sample that is everybody: the cover of a secret one is proven, not audited.

    `shown` is the share of the claim's square that the pair moves.
    """
    request, everybody = _sketch_of_all(member, **request_fields)
    options = {"request": request, "frequency": np.zeros(request.n_variants)}

    def run(exact: Any, noise: "NoiseSource") -> list[np.ndarray]:
        run_options = options | {"n_haplotypes": exact.cohort.n_haplotypes, "noise": noise}
        G, _ = private_sketched_gram(exact.cohort.bits, everybody, **run_options)
        return [G[noisy_entries(request.n_variants, rows=request.rows, coding=request.coding)]]

    pair, mu = (cohort_rows(member, request), cohort_rows(other, request)), request.budget["gram"]
    return normal_case(private_sketched_gram, request, pair=pair, run=run, mu=mu * math.sqrt(shown))


def _sketch(**request_fields: Any) -> "AuditCase":
    """Build the case of both steps on everybody: as if the sample were public, their mu^2 add up."""
    request, everybody = _sketch_of_all(SHORT_MEMBER, **request_fields)

    def run(exact: Any, noise: "NoiseSource") -> list[np.ndarray]:
        bits, n_haplotypes = exact.cohort.bits, exact.cohort.n_haplotypes
        V = cross_product(bits, exact.cohort.outcomes, n_haplotypes=n_haplotypes, rows=request.rows)
        options = {"n_haplotypes": n_haplotypes, "request": request, "noise": noise}
        noisy = private_sketch(bits, V, everybody, **options)
        return noisy_parts(noisy, request)[1:]

    pair = cohort_rows(SHORT_MEMBER, request), cohort_rows(MIRRORED_MEMBER, request)
    mu = math.hypot(request.budget["gram"], request.budget["cross"])
    return normal_case(private_sketch, request, pair=pair, run=run, mu=mu)


def _sketch_of_all(member: tuple | None, **request_fields: Any) -> tuple[SketchRequest, np.ndarray]:
    """Return a request whose sample is everybody, and that sample."""
    n_units = N_OTHERS // (1 if request_fields["unit"] == Unit.HAPLOTYPE else 2) + 1
    request = SketchRequest(**request_terms(member, **request_fields), n_units=n_units, n_chosen=n_units)
    return request, np.ones(n_units, dtype=bool)
