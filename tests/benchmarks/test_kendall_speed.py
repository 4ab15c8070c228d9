"""Kendall statistics against scipy.stats.kendalltau per pair, timed by `pytest --benchmark-enable`.

Both sides use one thread and take turns, so that a busy machine slows both. Results are always compared; the
ratios are asserted only when benchmarks are enabled.
"""

import os
import time

import numpy as np
import pytest
from scipy.stats import kendalltau
from threadpoolctl import threadpool_limits

from dpgrs.genotypes.bits import unpack, word_count
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.variant_set_writer import alternate_frequency
from dpgrs.privacy.digests import data_digest
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.selection.dp_kendall import KendallRequest, genotype_pairs, private_kendall
from dpgrs.selection.greedy_kendall import greedy_kendall
from dpgrs.selection.kendall import correlations, genotype_scores, rank_weights
from dpgrs.selection.merge_sort import sign_scores

N_ROUNDS = 7
N_OUTCOMES = 100
N_PAIRS = 100  # of which the time of all is extrapolated


@pytest.fixture
def is_timed(request):
    return request.config.getoption("--benchmark-enable")


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="module")
def region(real_data, tmp_path_factory):
    """Return the common variants of a region of 1000 Genomes, in bits, and the number of haplotypes."""
    (vcf,) = (real_data / "1kg" / "phase3_chr1_region").glob("*.vcf.gz")
    path = tmp_path_factory.mktemp("region") / "store"
    ingest_chromosome(vcf, chromosome="1", store=path, progress=False)
    store = HaplotypeStore.open(path)
    frequency = alternate_frequency(store)
    return store.haplotypes(np.flatnonzero(np.minimum(frequency, 1 - frequency) > 0.01)), store.n_haplotypes


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def fastest(*functions, n_rounds=N_ROUNDS):
    return np.array([[seconds(function) for function in functions] for _ in range(n_rounds)]).min(axis=0)


def told(theirs, ours):
    return f"{theirs:.3f} s / {ours:.4f} s = {theirs / ours:.1f}, load {os.getloadavg()[0]:.1f}"


def untied_pairs(ordered_by):
    """Return the share of pairs that are not tied."""
    counts = np.unique(ordered_by, return_counts=True)[1]
    n = counts.sum()
    return 1 - (counts * (counts - 1)).sum() / (n * (n - 1))


def taus(features, y):
    """Return tau^ by scipy: tau-b times what it was divided by."""
    scales = [np.sqrt(untied_pairs(x) * untied_pairs(y)) for x in features]
    return [
        kendalltau(x, y).statistic * scale * len(y) / 2 for x, scale in zip(features, scales, strict=True)
    ]


@pytest.mark.realdata
def test_genotype_scores__faster_than_scipy(region, is_timed, capsys):
    bits, n_haplotypes = region
    Y = np.random.default_rng(0).standard_normal((N_OUTCOMES if is_timed else 3, n_haplotypes))
    alleles = unpack(bits[:N_PAIRS], n_haplotypes)

    def by_product():
        return genotype_scores(bits, rank_weights(Y), n_haplotypes=n_haplotypes, rows="haplotypes")

    correlated = correlations(by_product(), n_haplotypes, pair_range=1)
    np.testing.assert_allclose(correlated[0, :5], taus(alleles[:5], Y[0]), rtol=1e-9)
    if not is_timed:
        return
    pairs, ours = fastest(lambda: [kendalltau(x, Y[0]) for x in alleles], by_product)
    theirs = pairs / N_PAIRS * correlated.size
    with capsys.disabled():
        print(
            f"\n{len(bits)} variants, {n_haplotypes} haplotypes, {N_OUTCOMES} outcomes: {told(theirs, ours)}"
        )
    assert theirs / ours >= 1000


@pytest.mark.parametrize(("n_levels", "aim"), [(None, 3), (1000, 2), (2, 1.5)])
def test_sign_scores__faster_than_scipy(n_levels, aim, is_timed, capsys):
    n_features, n_rows = (20, 100_000) if is_timed else (3, 1000)
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_features, n_rows))
    y = rng.standard_normal(n_rows) if n_levels is None else rng.integers(0, n_levels, n_rows).astype(float)

    def by_merge_sort():
        return sign_scores(features, y)

    correlated = correlations(by_merge_sort(), n_rows, pair_range=1)
    np.testing.assert_allclose(correlated[:3], taus(features[:3], y), rtol=1e-9)
    if not is_timed:
        return
    theirs, ours = fastest(lambda: [kendalltau(x, y) for x in features], by_merge_sort)
    with capsys.disabled():
        print(f"\n{n_features} features, {n_rows} rows, levels of y {n_levels}: {told(theirs, ours)}")
    assert theirs / ours >= aim


def choose(bits, y, *, n_haplotypes, noise, n_choices=10, epsilon=1.0):
    """Score, name the data and choose: all that a study would do."""
    terms = {"rows": "haplotypes", "unit": "haplotype"}
    request = KendallRequest(n_choices=n_choices, epsilon=epsilon, **terms)
    (pairs,) = genotype_pairs(bits, y[np.newaxis], n_haplotypes=n_haplotypes, rows="haplotypes")
    return private_kendall(pairs, request=request, noise=noise.on(data_digest(bits, y)))[0], pairs


def test_private_kendall__faster_than_scipy(is_timed, capsys):
    n_variants, n_haplotypes, n_choices = (100_000, 5008, 10) if is_timed else (200, 300, 3)
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**64, (2, n_variants, word_count(n_haplotypes)), dtype=np.uint64)
    bits = words[0] & words[1]  # a frequency of 1/4
    bits[:, -1] &= np.uint64(2 ** (n_haplotypes % 64) - 1)
    y = rng.standard_normal(n_haplotypes)
    options = {"n_haplotypes": n_haplotypes, "n_choices": n_choices}

    rehearsal = Rehearsal()
    choose(bits, y, noise=rehearsal, **options)

    def seeded(**terms):
        return choose(bits, y, noise=BenchmarkNoise(1), **options, **terms)

    def secret():
        noise = ReleaseNoise(StudyKey(bytes(32)), draws=rehearsal.draws, requests={(): ("r1", "i1")})
        return choose(bits, y, noise=noise, **options)

    chosen, pairs = seeded(epsilon=1e7)
    assert chosen.tolist() == greedy_kendall(pairs, n_choices=n_choices).tolist()
    if not is_timed:
        return
    alleles = unpack(bits[:N_PAIRS], n_haplotypes)
    some, with_seeded, with_secret = fastest(
        lambda: [kendalltau(x, y) for x in alleles], seeded, secret, n_rounds=3
    )
    # All variants with the outcome, and with every choice but the last.
    theirs = some / N_PAIRS * n_variants * n_choices
    with capsys.disabled():
        for law, ours in [("seeded", with_seeded), ("secret", with_secret)]:
            print(f"\n{n_choices} of {n_variants} variants, {law} noise: {told(theirs, ours)}")
    assert theirs / with_secret >= 100
