"""Rows of fractions for methods that read rows: those of calls are those of bits, and data make the noise."""

from dataclasses import replace

import numpy as np
import pytest

from dpgrs.genotypes.dosages import STEPS_PER_ALLELE
from dpgrs.linalg.statistics import half_units
from dpgrs.methods.chosen import ScreeningData, fit_chosen_rows
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.noise.sources import BenchmarkNoise
from random_cohorts import random_bits

N_PEOPLE, N_VARIANTS = 60, 4


def both():
    """Return the same people as bits and as dosages."""
    rng = np.random.default_rng(4)
    bits, Y = random_bits(N_VARIANTS, 2 * N_PEOPLE), rng.standard_normal((1, N_PEOPLE))
    is_training = rng.random(N_PEOPLE) < 0.8
    Y[:, ~is_training] = np.nan
    terms = (is_training, 2 * N_PEOPLE, "people", np.arange(N_PEOPLE).astype(str))
    half = half_units(bits, n_haplotypes=2 * N_PEOPLE, rows="people").astype(np.int16)
    return ScreeningData(bits, Y, *terms), ScreeningData(half * np.int16(STEPS_PER_ALLELE // 2), Y, *terms)


def test_rows__of_calls_are_those_of_bits():
    bits, fractions = both()
    assert np.array_equal(bits.training_rows, fractions.training_rows)


def test_digest__hangs_on_the_rows_that_are_trained_on_alone():
    _, data = both()
    trained, tested = (np.flatnonzero(data.is_training == side)[0] for side in (True, False))

    def moved(row):
        entries = data.bits.copy()
        entries[2, row] += 1
        return replace(data, bits=entries).genotype_digest

    assert moved(tested) == data.genotype_digest
    assert moved(trained) != data.genotype_digest


@pytest.mark.parametrize("coding", ["half", "frequency"])
def test_bas__is_that_of_its_rows(coding):
    bits, fractions = both()
    # Of the same data the same noise is drawn; fractions have a digest of their own.
    object.__setattr__(fractions, "genotype_digest", bits.genotype_digest)
    bounds = {"coding": coding} | ({"row_norm": 1.0} if coding == "frequency" else {})
    relation = {"neighbours": "add-remove", "unit": "person", "rows": "people"}
    sizes = {"n_variants": N_VARIANTS, "n_outcomes": 1, "outcome_bound": 3.0}
    request = PrivacyRequest(epsilon=5, delta=1e-5, **relation, **sizes, **bounds)
    frequency = np.full(N_VARIANTS, 0.5) if coding == "frequency" else None
    found = [
        fit_chosen_rows(
            "bas",
            data,
            np.arange(N_VARIANTS)[np.newaxis],
            request=request,
            noise=BenchmarkNoise(1, "test", 1),
            outcome_names=["y"],
            n_fits=1,
            frequency=frequency,
        )[0].weights
        for data in (bits, fractions)
    ]
    assert np.array_equal(*found)
    assert found[0].any()
