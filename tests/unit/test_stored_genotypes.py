"""Genotypes that stay on disk give what those in memory do, byte for byte, whatever is read at a time."""

from dataclasses import replace

import numpy as np
import pytest

from dpgrs.io import stored_genotypes, variant_set_parts
from dpgrs.io.stored_genotypes import StoredGenotypes, genotypes_of
from dpgrs.io.variant_set_parts import parts_in_memory, people_parts
from dpgrs.methods.chosen import private_choices
from dpgrs.privacy.digests import InBlocks, data_digest
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.selection import dp_kendall
from dpgrs.selection.dp_kendall import KendallRequest, genotype_pairs, pairs_of
from dpgrs.selection.greedy_kendall import greedy_choices
from dpgrs_papers.selection import dp_sis
from dpgrs_papers.selection.dp_sis import SisRequest, genotype_sis_scores, study_scores
from random_cohorts import random_bits
from screening_cohorts import NAMES, cohort
from variant_sets import variants_in_memory

N_WORDS, COLUMNS = 19, np.array([0, 2, 3, 4, 5, 7])


@pytest.fixture(params=[1, 2, 4, 100])
def stored(request, monkeypatch):
    """Return a function of ScreeningData to the same with genotypes on disk, some read at a time."""

    def of(data):
        n_variants, n_words = data.genotypes.shape
        monkeypatch.setattr(stored_genotypes, "BLOCK_BYTES", 8 * n_words * request.param)
        variant_set = variants_in_memory(data.genotypes, n_haplotypes=data.n_haplotypes)
        return replace(data, genotypes=StoredGenotypes(variant_set, np.arange(n_variants)))

    return of


@pytest.mark.parametrize("n_together", [1, 4, 6, 100])
def test_stored__is_the_array(monkeypatch, n_together):
    monkeypatch.setattr(stored_genotypes, "BLOCK_BYTES", 8 * N_WORDS * n_together)
    bits = random_bits(8, 64 * N_WORDS)
    stored, wanted = (
        StoredGenotypes(variants_in_memory(bits, n_haplotypes=64 * N_WORDS), COLUMNS),
        bits[COLUMNS],
    )
    assert (stored.dtype, stored.shape, stored.ndim, len(stored)) == (wanted.dtype, wanted.shape, 2, 6)
    assert np.array_equal(stored, wanted)
    for chosen in (3, np.int64(0), np.array([5, 0, 0, 2]), np.array([1])):
        assert np.array_equal(stored[chosen], wanted[chosen])
    blocks = list(stored.blocks())
    assert [len(block) for _, block in blocks] == [min(n_together, 6 - start.start) for start, _ in blocks]
    assert np.array_equal(np.concatenate([block for _, block in blocks]), wanted)
    assert all(np.array_equal(wanted[columns], block) for columns, block in blocks)
    digest = data_digest(InBlocks(stored.dtype, stored.shape, (block for _, block in blocks)))
    assert digest == data_digest(wanted)


@pytest.mark.parametrize("is_fractional", [False, True])
@pytest.mark.parametrize(("n_bytes", "n_reads"), [(2**20, 2), (8 * 6 * 4, 5), (1, 19)])
def test_parts_in_memory__are_the_people_in_order_whose_genotypes_are_read_once(
    monkeypatch, is_fractional, n_bytes, n_reads
):
    """Of 19 words, the last with three people, at most ten words are unpacked together."""
    n_samples = 32 * (N_WORDS - 1) + 3
    bits = random_bits(8, 2 * n_samples)
    if is_fractional:
        bits, n_bytes = np.arange(8 * n_samples, dtype=np.int16).reshape(8, n_samples), 8 * n_bytes
    variant_set, reads = variants_in_memory(bits, n_haplotypes=2 * n_samples), []
    monkeypatch.setattr(variant_set_parts, "BLOCK_BYTES", n_bytes)
    monkeypatch.setattr(variant_set_parts, "CHUNK_PEOPLE", 320)
    read = variant_set.genotypes
    monkeypatch.setattr(variant_set, "genotypes", lambda *chosen: reads.append(chosen) or read(*chosen))
    parts = list(parts_in_memory(variant_set, COLUMNS, n_most=32))
    assert len(reads) == n_reads
    assert [part.people for part in parts] == list(people_parts(slice(0, n_samples), 32))
    assert sum(part.n_haplotypes for part in parts) == 2 * n_samples
    for chosen in (COLUMNS, COLUMNS[[1, 4]]):
        found = np.concatenate([part.genotypes(chosen) for part in parts], axis=1)
        np.testing.assert_array_equal(found, bits[chosen])


def test_genotypes_of__more_bits_than_a_block_stay_where_they_are(monkeypatch):
    bits = random_bits(8, 64 * N_WORDS)
    variant_set = variants_in_memory(bits, n_haplotypes=64 * N_WORDS)
    monkeypatch.setattr(stored_genotypes, "BLOCK_BYTES", 8 * N_WORDS * 6)
    assert isinstance(genotypes_of(variant_set, COLUMNS), np.ndarray)
    assert isinstance(genotypes_of(variant_set, np.arange(7)), StoredGenotypes)
    dosages = variants_in_memory(np.zeros((8, 32 * N_WORDS), dtype=np.int16), n_haplotypes=64 * N_WORDS)
    assert isinstance(genotypes_of(dosages, np.arange(7)), np.ndarray)


@pytest.mark.parametrize("rows", ["people", "haplotypes"])
@pytest.mark.parametrize("n_scores", [1, 7, 10**6])
def test_choices__of_stored_genotypes_are_those_of_genotypes_in_memory(stored, rows, n_scores, monkeypatch):
    data = cohort(rows, n_people=90, missing=0.2)
    wanted = greedy_choices(pairs_of(data), n_choices=4)
    monkeypatch.setattr(dp_kendall, "SCORES_AT_A_TIME", n_scores)
    assert np.array_equal(greedy_choices(pairs_of(stored(data)), n_choices=4), wanted)
    other, terms = stored(data), {"n_haplotypes": data.n_haplotypes, "rows": rows}
    assert other.genotype_digest == data.genotype_digest
    for own, found in zip(pairs_of(data), genotype_pairs(other.genotypes, data.Y, **terms), strict=True):
        assert np.array_equal(found.outcome_scores, own.outcome_scores)
        assert np.array_equal(found.feature_scores(3), own.feature_scores(3))
    scores = genotype_sis_scores(
        other.genotypes, data.Y, outcome_bound=2, is_selected=data.is_training, **terms
    )
    assert np.array_equal(scores.values, study_scores(data, 2).values)
    for number in range(len(NAMES)):
        for choose in (dp_kendall.Kendall().choose_exactly, dp_sis.Sis().choose_exactly):
            own = choose(data, number, n_choices=4, outcome_bound=2)
            assert np.array_equal(choose(other, number, n_choices=4, outcome_bound=2), own)
    assert not isinstance(other.genotypes, np.ndarray)


@pytest.mark.parametrize("n_threads", [2, 3, 50])
def test_choices__threads_change_no_byte(stored, n_threads):
    data = replace(cohort("people", n_people=90, missing=0.2), n_threads=1)
    options = {"outcome_names": NAMES, "outcome_bound": 2}
    found = []
    for own in (data, replace(data, n_threads=n_threads), replace(stored(data), n_threads=n_threads)):
        drawn = [
            private_choices(own, request=request, noise=BenchmarkNoise(1), selector=selector, **options)
            for selector, request in (
                ("kendall", KendallRequest(n_choices=3, epsilon=1.0)),
                ("sis", SisRequest(n_choices=3, epsilon=1.0)),
            )
        ]
        scores = [pairs.outcome_scores for pairs in pairs_of(own)], study_scores(own, 2).values
        greedy = greedy_choices(pairs_of(own), n_choices=3)
        chosen = [pairs.n_threads for pairs in pairs_of(own)], greedy, *(one for one, _ in drawn)
        assert chosen[0] == [own.n_threads] * len(NAMES)
        found.append([np.array(one).tolist() for one in (*scores, *chosen[1:])])
    assert found[1] == found[2] == found[0]


@pytest.mark.parametrize("selector", ["kendall", "sis"])
def test_private_choices__of_stored_genotypes_are_the_same_draws(stored, selector):
    data = cohort("people", n_people=90)
    other, unit = stored(data), {"n_choices": 3, "epsilon": 1.0}
    request = KendallRequest(**unit) if selector == "kendall" else SisRequest(**unit)
    options = {"request": request, "outcome_names": NAMES, "selector": selector, "outcome_bound": 2}
    found, wanted = (
        private_choices(own, noise=BenchmarkNoise(1, "choices"), **options) for own in (other, data)
    )
    assert np.array_equal(found[0], wanted[0])
    assert found[1] == wanted[1]
