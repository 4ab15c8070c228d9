"""Defects of published code: each shown by its recipe, then looked for in our mechanism."""

import itertools

import numpy as np
import pytest

from dpgrs.genotypes.bits import pack
from dpgrs.linalg.coding import GRAM_STEP
from dpgrs.linalg.statistics import gram
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import private_gram
from dpgrs.steps.audit import seeded_noise
from dpgrs_papers.experiments.errata_sums import published_sensitivity_of_squares, published_squares
from random_cohorts import random_alleles, random_bits

D, N_HAPLOTYPES = 4, 60
# A diagonal entry of haplotypes is n/4 whatever the genotypes; of people that of the intercept alone.
HAS_NOISE = {"haplotypes": ~np.eye(D + 1, dtype=bool), "people": np.ones((D + 1, D + 1), dtype=bool)}
HAS_NOISE["people"][-1, -1] = False


# Squares without noise: LinearRegression of IBM's diffprivlib takes the lower bound of x twice for the
# sensitivity of sum x^2. Dosages have the bounds (0, 2), which an intercept shifts by their noisy mean.


def test_published_squares__have_no_noise():
    alleles = random_alleles(D, N_HAPLOTYPES)
    dosages = (alleles[:, ::2] + alleles[:, 1::2]).T.astype(float)
    released = published_squares(dosages, epsilon=0.1, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(released, (dosages**2).sum(axis=0))


@pytest.mark.parametrize("noisy_mean", [0.02, 0.4, 0.9])
def test_published_squares__with_an_intercept_have_too_little(noisy_mean):
    # Adding a person of dosage 2 moves the sum by (2 - mean)^2.
    assert published_sensitivity_of_squares((0, 2), noisy_mean=noisy_mean) < (2 - noisy_mean) ** 2


def released_grams(exact, n, *, mode, **terms):
    """Release a Gram matrix under two keys; return it twice, and the event."""
    request = PrivacyRequest(
        n_variants=D, n_outcomes=1, outcome_bound=3.0, epsilon=0.01, delta=1e-6, unit="person", **terms
    )

    def run(noise):
        return private_gram(exact, n, request=request, noise=noise)

    (first, event), (second, _) = (seeded_noise(seed, mode=mode)(run, "gram", 0) for seed in (1, 2))
    return first, second, event


@pytest.mark.parametrize("mode", ["release", "benchmark"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_private_gram__every_entry_of_the_data_has_noise(rows, neighbours, mode):
    exact = gram(random_bits(D, N_HAPLOTYPES), n_haplotypes=N_HAPLOTYPES, rows=rows)
    n = N_HAPLOTYPES if rows == "haplotypes" else N_HAPLOTYPES // 2
    first, second, event = released_grams(exact, n, rows=rows, neighbours=neighbours, mode=mode)
    has_noise, exact = HAS_NOISE[rows], exact * GRAM_STEP
    for released in (first, second):
        assert (released != exact)[has_noise].all()
        np.testing.assert_array_equal(released[~has_noise], n / 4)
    assert (first != second)[has_noise].all()
    # Noise of its own: nothing that a difference of two entries would take off again.
    noise = (first - exact)[np.triu(has_noise)]
    assert len(set(noise)) == len(noise) == event.entries


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_private_gram__sensitivity_covers_the_squares_of_people(neighbours):
    zeros = np.zeros((D + 1, D + 1), dtype=np.int64)
    *_, event = released_grams(zeros, 1, rows="people", neighbours=neighbours, mode="benchmark")
    people = np.array(list(itertools.product([0, 1], repeat=2 * D))).reshape(-1, D, 2)
    sums = np.array([gram(pack(alleles), n_haplotypes=2, rows="people") for alleles in people]) * GRAM_STEP
    squares = np.einsum("pvv->pv", sums)[:, :-1]
    others = squares if neighbours == "replace-one" else np.zeros((1, D))
    furthest = np.linalg.norm(squares[:, np.newaxis] - others, axis=-1).max()
    assert furthest == np.sqrt(D)
    assert event.sensitivity.value >= furthest
