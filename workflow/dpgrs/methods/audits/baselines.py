"""Audit cases of the baselines and of the sketch: neighbours that attain what is claimed, by the real code.

Inputs differ in one unit; everyone else has outcomes of 0. What would be released without noise, and how
large the noise is said to be, is learnt from the mechanism itself by a source that draws none.
"""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.linalg.statistics import (
    CALL_STEP,
    LARGEST_BOUND,
    coded_rows,
    cross_product,
    grid_outcomes,
    half_units,
)
from dpgrs.methods.adassp import (
    AdasspRequest,
    adassp_request,
    eigenvalue_error,
    eigenvalue_step,
    private_adassp,
    private_smallest_eigenvalue,
)
from dpgrs.methods.audits.cohorts import N_OTHERS, ExactStatistics, copied_columns, sum_rows
from dpgrs.methods.audits.sums import (
    DELTA,
    EPSILON,
    LEVEL_MEMBER,
    LONG_MEMBER,
    MEMBER,
    MIRRORED_MEMBER,
    OTHER_HAPLOTYPE,
    OTHER_LEVEL,
    OTHER_PERSON,
    TERMS,
    gram_share_shown,
    term_text,
)
from dpgrs.methods.dp_sgd import SgdRequest, private_sgd
from dpgrs.methods.naive import private_separate_statistics, separate_request
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import noisy_entries
from dpgrs.methods.sketch import SketchRequest, private_sketch, private_sketched_gram
from dpgrs.privacy.audit.audit import FRACTIONAL, AuditCase, GaussianLoss
from dpgrs.privacy.audit.parts import log_likelihood_ratio, parts_of
from dpgrs.types import Accounting, Coding, Neighbours, Rows, Unit

HAPLOTYPE = {"rows": Rows.HAPLOTYPES, "unit": Unit.HAPLOTYPE}
TWO_HAPLOTYPES = {"rows": Rows.HAPLOTYPES, "unit": Unit.PERSON}
PERSON = {"rows": Rows.PEOPLE, "unit": Unit.PERSON}
ADDED = {"neighbours": Neighbours.ADD_REMOVE}
REPLACED = {"neighbours": Neighbours.REPLACE_ONE}
CLIPPED = {"coding": Coding.FREQUENCY}
COUNTED = {"counts_outcomes": True, "count_share": 0.2}
GDP, PAPER = {"accounting": Accounting.GDP}, {"accounting": Accounting.PAPER}

# A member whose row is orthogonal to everyone else's, so that all of it is in the smallest eigenvalue.
CROSSING = ((1, 1), (1, -1))
# Members of a step of DP-SGD, whose rows have a whole norm.
SHORT_MEMBER = ((1, -1), (1, -1))
# A learning rate, times the squared norm, at which the weights of exact sums of 10, 11, 20 or 22 rows lie on
# their grid, of fractional rows too.
STEEP = 2.0**5 * 5 * 11
# The sizes of a fractional row, in steps of 2^-12, one of them odd: of a whole norm with the intercept 1/2.
FRACTIONS, FRACTIONAL_NORM = (4095, 1018, 1034), 4803


@dataclass(frozen=True, eq=False)
class Cohort:
    """Rows, for mechanisms that need more than sums.

    Attributes
    ----------
    bits : (n_variants, n_words) uint64, or (n_variants, n_rows) int16 in units of `DOSAGE_STEP`.
    n_haplotypes : int
    outcomes : (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`.
    """

    bits: np.ndarray
    n_haplotypes: int
    outcomes: np.ndarray


@dataclass(frozen=True)
class ExactRows:
    """The input of such a mechanism.

    Attributes
    ----------
    n_rows : int
    cohort : Cohort
    """

    n_rows: int
    cohort: Cohort


def baseline_cases():
    """Return the cases of AdaSSP, the separate fits, one step of DP-SGD, and the sketch."""
    return [
        _smallest_eigenvalue(**TWO_HAPLOTYPES, **ADDED, **GDP, epsilon=15.0),
        _smallest_eigenvalue(**HAPLOTYPE, **REPLACED, **PAPER, epsilon=40.0),
        _adassp(**TWO_HAPLOTYPES, **ADDED, **GDP),
        _smallest_eigenvalue(**PERSON, **REPLACED, **GDP, **CLIPPED, row_norm=2.0, epsilon=15.0),
        _adassp(**HAPLOTYPE, **ADDED, **PAPER),
        _adassp(**TWO_HAPLOTYPES, **ADDED, **GDP, **COUNTED),
        _adassp(**TWO_HAPLOTYPES, **ADDED, **GDP, **CLIPPED, row_norm=1.0),
        _separate_statistics(MEMBER, **TWO_HAPLOTYPES, **ADDED, **GDP, count_share=0.1),
        _separate_statistics(MEMBER, **PERSON, **ADDED, **PAPER),
        _separate_statistics(MEMBER, **TWO_HAPLOTYPES, **ADDED, **GDP, **COUNTED),
        _separate_statistics(LONG_MEMBER, **PERSON, **ADDED, **GDP, **CLIPPED, row_norm=4.0),
        _separate_statistics(SHORT_MEMBER, **HAPLOTYPE, **ADDED, **GDP, coding=Coding.ROW_CENTRED),
        _sgd(MEMBER, **TWO_HAPLOTYPES, **ADDED, **GDP, count_share=0.1),
        _sgd(SHORT_MEMBER, **PERSON, **ADDED, **PAPER),
        _sgd(MEMBER, **PERSON, **ADDED, **GDP, fractions=FRACTIONS, clip=FRACTIONAL_NORM * DOSAGE_STEP),
        _sketched_gram(MEMBER, OTHER_HAPLOTYPE, **TWO_HAPLOTYPES, **REPLACED, **GDP, gram_share=0.98),
        _sketched_gram(MEMBER, OTHER_PERSON, **PERSON, **REPLACED, **PAPER, gram_share=0.8),
        # Of what is claimed of clipped rows, 5/2 + 1/16, these two move 5/2 (docs/proofs/clipped_gram.md).
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


def _smallest_eigenvalue(**terms):
    request = AdasspRequest(**request_terms(CROSSING, **terms))

    def run(exact, noise):
        return [private_smallest_eigenvalue(exact.gram, request=request, noise=noise)[0]]

    pair = _crossed_pair(request)
    return normal_case(private_smallest_eigenvalue, request, pair=pair, run=run, mu=_eigenvalue_mu(request))


def _adassp(**terms):
    request = PrivacyRequest(**request_terms(CROSSING, **terms))
    split = adassp_request(request)

    def run(exact, noise):
        options = {"request": request, "noise": noise, "observed": exact.observed}
        statistics = private_adassp(exact.gram, exact.cross, exact.n_rows, **options)
        return [*_noisy_parts(statistics, request), statistics.smallest_eigenvalue]

    drawn = ("count", "observed", "gram", "cross")
    mu = math.hypot(*(split.budget[name] for name in drawn), _eigenvalue_mu(split))
    return normal_case(private_adassp, request, pair=_crossed_pair(request), run=run, mu=mu)


def _eigenvalue_mu(request):
    """Return what the pair shows of the eigenvalue's mu: it does not use up what floating point may need."""
    per_row = request.n_variants / 4 if request.row_norm is None else request.row_norm**2
    moved = per_row * request.rows_per_unit
    step = eigenvalue_step(request.n_variants, rows=request.rows, row_norm=request.row_norm)
    slack = 2 * eigenvalue_error(step, row_norm=request.row_norm)
    return request.budget["eigenvalue"] * moved / (moved + slack)


def _separate_statistics(member, **terms):
    request = PrivacyRequest(**request_terms(member, **terms))

    def run(exact, noise):
        released = []
        options = {"request": request, "noise": noise, "observed": exact.observed}
        for noisy in private_separate_statistics(exact.gram, exact.cross, exact.n_rows, **options):
            parts = _noisy_parts(noisy, request)
            released.extend(parts[1:] if released else parts)  # the count is drawn once
        return released

    budget = separate_request(request).budget
    times = math.sqrt(request.n_outcomes)
    of_a_fit = budget["observed"], budget["gram"] * math.sqrt(gram_share_shown(request)), budget["cross"]
    mu = math.hypot(budget["count"], *(times * one for one in of_a_fit))
    pair = _sums(member, request), _sums(None, request)
    return normal_case(private_separate_statistics, request, pair=pair, run=run, mu=mu)


def _sgd(member, *, fractions=None, **terms):
    """Build the case of one step on all rows: what a secret sample hides is accounted for, not audited.

    With `fractions` the rows are no calls, but have entries of these sizes in units of `DOSAGE_STEP`.
    """
    request = SgdRequest(**request_terms(member, **terms), steps=1, sampling_rate=1.0)
    request = replace(request, learning_rate=STEEP * request.row_norm_squared)
    rows_of_a_unit = 2 if request.rows == Rows.HAPLOTYPES and request.unit == Unit.PERSON else 1
    row_step = CALL_STEP if fractions is None else DOSAGE_STEP

    def run(exact, noise):
        cohort = exact.cohort
        X = coded_rows(cohort.bits, n_haplotypes=cohort.n_haplotypes, rows=request.rows)
        everybody = np.ones(len(X) // rows_of_a_unit, dtype=bool)
        options = {"request": request, "noise": noise, "row_step": row_step}
        result = private_sgd(X, cohort.outcomes, sample=lambda _: everybody, **options)
        W = np.column_stack([result.fit.weights, 2 * result.fit.intercept])
        return [result.n, -W * (result.n / STEEP)]

    mu = math.hypot(request.budget["count"], 1 / request.noise_multiplier)
    pair = [cohort_rows(one, request) for one in (member, None)]
    if fractions is not None:
        pair = [_of_fractions(exact, fractions) for exact in pair]
    case = normal_case(private_sgd, request, pair=tuple(pair), run=run, mu=mu)
    return case if fractions is None else replace(case, terms=case.terms | FRACTIONAL, is_for_releases=False)


def _of_fractions(exact, sizes):
    """Return people whose entries of -1, 0 and 1 have these sizes, int16 in units of `DOSAGE_STEP`."""
    cohort = exact.cohort
    calls = half_units(cohort.bits, n_haplotypes=cohort.n_haplotypes, rows=Rows.PEOPLE) // 2
    dosages = calls * np.array(sizes, dtype=np.int16)[:, np.newaxis]
    return replace(exact, cohort=replace(cohort, bits=dosages))


def _sketched_gram(member, other, *, shown=1.0, **terms):
    """Build the case of a sample that is everybody: what a secret one hides is proven, not audited.

    `shown` is the share of the claim's square that the pair moves.
    """
    request, everybody = _sketch_of_all(member, **terms)
    options = {"request": request, "frequency": np.zeros(request.n_variants)}

    def run(exact, noise):
        known = options | {"n_haplotypes": exact.cohort.n_haplotypes, "noise": noise}
        G, _ = private_sketched_gram(exact.cohort.bits, everybody, **known)
        return [G[noisy_entries(request.n_variants, rows=request.rows, coding=request.coding)]]

    pair, mu = (cohort_rows(member, request), cohort_rows(other, request)), request.budget["gram"]
    return normal_case(private_sketched_gram, request, pair=pair, run=run, mu=mu * math.sqrt(shown))


def _sketch(**terms):
    """Build the case of both steps on everybody: as if the sample were public, their mu^2 add up."""
    request, everybody = _sketch_of_all(SHORT_MEMBER, **terms)

    def run(exact, noise):
        bits, n_haplotypes = exact.cohort.bits, exact.cohort.n_haplotypes
        V = cross_product(bits, exact.cohort.outcomes, n_haplotypes=n_haplotypes, rows=request.rows)
        options = {"n_haplotypes": n_haplotypes, "request": request, "noise": noise}
        noisy = private_sketch(bits, V, everybody, **options)
        return _noisy_parts(noisy, request)[1:]

    pair = cohort_rows(SHORT_MEMBER, request), cohort_rows(MIRRORED_MEMBER, request)
    mu = math.hypot(request.budget["gram"], request.budget["cross"])
    return normal_case(private_sketch, request, pair=pair, run=run, mu=mu)


def _sketch_of_all(member, **terms):
    """Return a request whose sample is everybody, and that sample."""
    n_units = N_OTHERS // (1 if terms["unit"] == Unit.HAPLOTYPE else 2) + 1
    request = SketchRequest(**request_terms(member, **terms), n_units=n_units, n_chosen=n_units)
    return request, np.ones(n_units, dtype=bool)


def request_terms(member, *, accounting, **terms):
    """Return the fields of a request about a member; without a budget they get that of the other audits."""
    sizes = {"n_variants": len(member[0]), "n_outcomes": len(member[1]), "outcome_bound": 3.0}
    return {"epsilon": EPSILON[accounting], "delta": DELTA, "accounting": accounting} | sizes | terms


def normal_case(mechanism, request, *, pair, run, mu):
    """Build a case of normal noise.

    Parameters
    ----------
    mechanism : the ``private_*`` function.
    request : PrivacyRequest, for the terms.
    pair : two inputs.
    run : function (input, noise) -> list of an array for every draw, in the order of the draws.
    mu : float, claimed.

    Returns
    -------
    AuditCase
    """
    parts = parts_of(run, pair)
    # As the audits of ReuseCov say it.
    coded = {} if request.coding == Coding.HALF else {"coding": str(request.coding)}
    coded |= {"counts_outcomes": "True"} if request.counts_outcomes else {}
    coded |= {"outcome_norm": term_text(request.outcome_norm)} if request.outcome_norm else {}
    return AuditCase(
        mechanism=mechanism.__name__,
        terms={**{name: str(getattr(request, name)) for name in TERMS}, "budget": "joint"} | coded,
        pair=pair,
        claim=GaussianLoss(mu, delta=DELTA),
        run=run,
        score=partial(log_likelihood_ratio, parts=parts),
        is_for_releases=request.coding != Coding.ROW_CENTRED,
        parts=parts,
    )


def _noisy_parts(noisy, request):
    """Return all counts, and of X'X and X'Y the entries with noise, in the order of the draws."""
    entries = noisy_entries(request.n_variants, rows=request.rows, coding=request.coding)
    return [noisy.n, noisy.gram[entries], *([] if noisy.observed is None else [noisy.observed]), noisy.cross]


def _crossed_pair(request):
    """Return sums with the crossing member and without: under replace-one with one more of the others."""
    member, other, others = CROSSING[0], (1, -1), np.tile([[0, 1], [1, 0]], N_OTHERS // 2)
    if request.coding == Coding.FREQUENCY:
        # Where both alleles have a frequency of 0, one each.
        member, other, others = (1, -1), (-1, 1), np.tile([[0], [1]], N_OTHERS)
    second = None if request.has_private_count else (other, CROSSING[1])
    return tuple(_sums(unit, request, others=others) for unit in ((member, CROSSING[1]), second))


def _sums(member, request, *, others=None):
    exact = cohort_rows(member, request, others=others)
    bits, n_haplotypes, outcomes = exact.cohort.bits, exact.cohort.n_haplotypes, exact.cohort.outcomes
    sums = sum_rows(bits, outcomes, n_haplotypes=n_haplotypes, request=request)
    return ExactStatistics(exact.n_rows, *sums, np.full(request.n_outcomes, exact.n_rows))


def cohort_rows(member, request, *, others=None):
    """Return the rows of ten people, and of one more unit with these signs, or nobody."""
    if others is None:
        others = np.arange(N_OTHERS) >> np.arange(request.n_variants)[:, np.newaxis] & 1
    haplotypes_of_a_row = 1 if request.rows == Rows.HAPLOTYPES else 2
    n_copies = _haplotypes_of_a_unit(request) if member else 0
    genotypes, outcomes = member or ([1] * request.n_variants, [1] * request.n_outcomes)
    alleles = np.hstack([others, copied_columns(np.greater(genotypes, 0), n_copies)])
    own = copied_columns(np.multiply(outcomes, LARGEST_BOUND), n_copies // haplotypes_of_a_row)
    Y = np.hstack([np.zeros((request.n_outcomes, N_OTHERS // haplotypes_of_a_row)), own])
    gridded = grid_outcomes(Y, bound=request.outcome_bound)
    return ExactRows(Y.shape[1], Cohort(pack(alleles), alleles.shape[1], gridded))


def _haplotypes_of_a_unit(request):
    return 1 if request.unit == Unit.HAPLOTYPE else 2
