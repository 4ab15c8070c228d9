"""DPKendall of fractional dosages: round scores against the definition, and against those of genotypes."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dpgrs.bits import pack
from dpgrs.errors import UsageError
from dpgrs.privacy.noise import BenchmarkNoise
from dpgrs.screening.dp_kendall import (
    KendallRequest,
    RoundScores,
    dosage_pairs,
    genotype_pairs,
    greedy_kendall,
    private_kendall,
)
from dpgrs.screening.kendall import grid_dosages

N_STEPS = 20
CHOSEN = [(), (2,), (2, 0), (4, 1, 3)]


def cohort(seed=1, n_rows=30):
    generator = np.random.default_rng(seed)
    dosages = grid_dosages(generator.uniform(0, 2, (5, n_rows)), n_steps=N_STEPS)
    y = np.round(generator.standard_normal(n_rows), 1) + dosages[2] / 20
    y[::7] = np.nan
    return dosages, y


def tau(x, y, *, is_product):
    """Kendall's correlation by the definition, S/(n - 1), a Fraction."""
    known = np.flatnonzero(~np.isnan(y))
    total = Fraction(0)
    for i, j in combinations(known, 2):
        difference = Fraction(int(x[i] - x[j]), N_STEPS)
        other = Fraction(int(y[i] - y[j]), N_STEPS) if is_product else int(np.sign(y[i] - y[j]))
        total += difference * other
    return abs(total / (len(known) - 1))


@pytest.mark.parametrize("chosen", CHOSEN)
def test_round_scores__are_the_definition(chosen):
    dosages, y = cohort()
    (pairs,) = dosage_pairs(dosages, y[np.newaxis], n_steps=N_STEPS)
    scores, unit = RoundScores(pairs)(np.array(chosen, dtype=np.int64))
    for number, x in enumerate(dosages):
        expected = tau(x, y, is_product=False)
        among = [tau(x, np.where(np.isnan(y), np.nan, dosages[s]), is_product=True) for s in chosen]
        expected -= sum(among, Fraction(0)) / max(len(chosen), 1)
        assert int(scores[number]) * unit == expected


@pytest.mark.parametrize("chosen", CHOSEN)
def test_round_scores__whole_dosages_are_genotypes(chosen):
    generator = np.random.default_rng(3)
    alleles = generator.integers(0, 2, (5, 80)).astype(bool)
    y = generator.standard_normal((1, 40))
    people = (alleles[:, 0::2].astype(float) + alleles[:, 1::2]).astype(float)
    (fractional,) = dosage_pairs(grid_dosages(people, n_steps=N_STEPS), y, n_steps=N_STEPS)
    (whole,) = genotype_pairs(pack(alleles), y, n_haplotypes=80, rows="people")
    one, other = (RoundScores(pairs)(np.array(chosen, dtype=np.int64)) for pairs in (fractional, whole))
    assert [int(s) * one[1] for s in one[0]] == [int(s) * other[1] for s in other[0]]


def test_private_kendall__of_dosages_at_a_huge_epsilon_is_greedy():
    dosages, y = cohort()
    (pairs,) = dosage_pairs(dosages, y[np.newaxis], n_steps=N_STEPS)
    request = KendallRequest(n_choices=3, epsilon=1e6)
    chosen, event = private_kendall(pairs, request=request, noise=BenchmarkNoise(1).on("data"))
    assert chosen.tolist() == greedy_kendall(pairs, n_choices=3).tolist()
    assert event.sensitivity.value == 2.0
    other = KendallRequest(n_choices=3, epsilon=1e6, rows="haplotypes")
    with pytest.raises(UsageError):
        private_kendall(pairs, request=other, noise=BenchmarkNoise(1).on("data"))


def test_dosage_pairs__have_units_of_python_s_numbers():
    """Those of NumPy would wrap around in exact products."""
    dosages = np.array([[0.0, 10.0, 20.0]])
    (pairs,) = dosage_pairs(dosages, np.arange(3.0)[np.newaxis], n_steps=N_STEPS)
    units = [RoundScores(pairs)(chosen)[1] for chosen in ([], [0])]
    assert {type(part) for unit in units for part in unit.as_integer_ratio()} == {int}
