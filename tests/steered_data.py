"""Rows for tests of steered X'Y: haplotypes whose alleles go together, and all that is summed of them."""

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.linalg.clipped_statistics import clipped_gram, frequency_rows
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.linalg.statistics import gram
from dpgrs.linalg.steering import SteerableRows
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.types import Coding

N, D = 400, 6
FREQUENCY = np.full(D, 0.3)
DIGEST = "0" * 64


def linked_bits(rng):
    """Return haplotypes whose alleles go together with those of the neighbouring variant."""
    alleles = rng.random((D, N)) < 0.3
    for variant in range(1, D):
        same = rng.random(N) < 0.7
        alleles[variant, same] = alleles[variant - 1, same]
    return pack(alleles)


def request_of(*, is_clipped=True, **terms):
    known = {
        "rows": "haplotypes",
        "n_variants": D,
        "n_outcomes": 2,
        "outcome_bound": 3.0,
        "unit": "haplotype",
    }
    known |= {"epsilon": 20, "delta": 1e-6}
    if is_clipped:
        known |= {"coding": Coding.FREQUENCY, "row_norm": 1.0, "outcome_norm": 1.8}
    return PrivacyRequest(**known | terms)


def steerable(rng, bits, request, *, is_clipped=True):
    Y = np.rint(rng.standard_normal((2, N)) / OUTCOME_STEP).astype(np.int64)
    frequency = FREQUENCY if is_clipped else None
    everybody = np.ones(N, dtype=bool)
    return SteerableRows(bits, Y, N, "haplotypes", everybody, request.row_bound, 3.0, frequency)


def ld_of(bits):
    X = frequency_rows(bits, FREQUENCY, row_norm=1.0, n_haplotypes=N, rows="haplotypes") * 2.0**-12
    return public_ld(X, contig=np.full(D, "1"), position=np.arange(D), rows_per_person=2)


def exact_gram(bits, *, is_clipped=True):
    options = {"n_haplotypes": N, "rows": "haplotypes"}
    if is_clipped:
        return clipped_gram(frequency_rows(bits, FREQUENCY, row_norm=1.0, **options))
    return gram(bits, **options)
