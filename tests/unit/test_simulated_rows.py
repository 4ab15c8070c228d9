"""Outcomes of a variant set do not hang on how many genotypes of it are in memory."""

import numpy as np
import pytest

from dpgrs.evaluation.split import row_names
from dpgrs.linalg.statistics import coded_rows
from dpgrs.simulation.outcomes import simulate_outcomes
from dpgrs.study import simulated_rows
from dpgrs.study.simulated_rows import SimulatedRows
from random_cohorts import random_bits
from variant_sets import variants_in_memory

N_PEOPLE, D, SMALL = 150, 30, 8
TERMS = {"n_outcomes": 3, "heritability": 0.5, "seed": 4, "key": (1,)}


def variant_set_of(bits):
    rank = np.random.default_rng(3).permutation(D)
    known = {"variant_rank": rank, "sample_id": np.array([f"HG{number:05}" for number in range(N_PEOPLE)])}
    known |= {"frequency": np.linspace(0.1, 0.9, D)}
    known["of_size"] = lambda size: np.flatnonzero(rank < size)
    return variants_in_memory(bits, n_haplotypes=2 * N_PEOPLE, **known)


def outcomes_of(variant_set, *, rows, **options):
    simulated = SimulatedRows(variant_set, [D, SMALL], rows=rows, **TERMS | options)
    parts = list(simulated.outcome_blocks())
    return {size: (np.hstack([part[size] for part in parts]), simulated.effects[size]) for size in (D, SMALL)}


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("options", [{}, {"width": 3}, {"prevalence": 0.2}, {"n_factors": 2}])
def test_simulated_rows__are_those_of_genotypes_in_memory(monkeypatch, rows, options):
    """Some variants are read at a time, and fewer are coded."""
    bits = random_bits(D, 2 * N_PEOPLE)
    variant_set = variant_set_of(bits)
    terms = {"n_haplotypes": 2 * N_PEOPLE, "rows": rows}
    whole = outcomes_of(variant_set, rows=rows, **options)
    n_rows = 2 * N_PEOPLE if rows == "haplotypes" else N_PEOPLE
    monkeypatch.setattr(simulated_rows, "READ_ENTRIES", 7 * n_rows)
    monkeypatch.setattr(simulated_rows, "CODED_PEOPLE", 32)
    monkeypatch.setattr(simulated_rows, "CODED_ENTRIES", 3 * n_rows)
    in_blocks = outcomes_of(variant_set, rows=rows, **options)
    for size, (Y, effects) in whole.items():
        columns = variant_set.of_size(size)
        known = {
            "variant_rank": variant_set.variant_rank[columns],
            "row_id": row_names(variant_set.sample_id, rows=rows),
        }
        wanted = simulate_outcomes(coded_rows(bits[columns], **terms), **known, **TERMS | options)
        for found, also, own in zip((Y, effects), in_blocks[size], wanted, strict=True):
            assert found.tobytes() == also.tobytes() == own.tobytes()


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("options", [{}, {"width": 3}])
def test_simulated_rows__parts_read_together_have_the_same_bytes(monkeypatch, rows, options):
    variant_set = variant_set_of(random_bits(D, 2 * N_PEOPLE))
    monkeypatch.setattr(simulated_rows, "SIMULATED_PEOPLE", 32)
    monkeypatch.setattr(simulated_rows, "READ_ENTRIES", 1000)
    found = []
    for most in (0, 32 * 2 * 6 * 2, 10**6):
        monkeypatch.setattr(simulated_rows, "MOST_VALUES", most)
        together = outcomes_of(variant_set, rows=rows, **options)
        found.append([one.tobytes() for size in (D, SMALL) for one in together[size]])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_simulated_rows__by_frequencies_hang_on_nobody_else(monkeypatch, rows):
    variant_set = variant_set_of(random_bits(D, 2 * N_PEOPLE))
    whole = outcomes_of(variant_set, rows=rows, by_frequency=True)
    monkeypatch.setattr(simulated_rows, "SIMULATED_PEOPLE", 32)
    for size, found in outcomes_of(variant_set, rows=rows, by_frequency=True).items():
        assert [one.tobytes() for one in found] == [one.tobytes() for one in whole[size]]
