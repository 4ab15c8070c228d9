"""Defects of noisy sums in public code, and what they lose: see docs/explanation/methods.md."""

import math
from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from dpgrs.genotypes.bits import pack
from dpgrs.linalg.statistics import gram
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import private_gram
from dpgrs.privacy.accounting.accountant import gdp_epsilon, gdp_mu
from dpgrs.privacy.digests import data_digest
from dpgrs.privacy.noise.base import NoiseSource
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.types import Neighbours, Unit
from dpgrs_papers.experiments.errata_defect import Defect
from dpgrs_papers.methods.boosted_adassp import LARGEST_OUTCOME, BoostedRequest, private_boosted_adassp

EPSILON, DELTA = 1.0, 1e-6
TERMS = {"epsilon": EPSILON, "delta": DELTA}
ROUNDS, N_OTHERS = 10, 10
N_PEOPLE = 20
NOISY_MEAN = 0.4  # of dosages, which an intercept takes off
FINEST = 53  # float64 has no bits beyond 2^-53 between 1/2 and 1
GRID = 2.0**-20


def boosting_rounds() -> Defect:
    """The noise of a round has the scale mu where 1/mu is needed, and is not split over the rounds."""
    request = BoostedRequest(**TERMS, rounds=ROUNDS)
    scale = request.budget["gram"] * request.clip  # as large as all rounds together
    rows = [np.repeat([[0.0, 1.0], [1.0, 0.0]], [N_OTHERS, n], axis=0) for n in (0, 1)]
    outcomes = [np.repeat([0.0, LARGEST_OUTCOME], [N_OTHERS, n]) for n in (0, 1)]
    digests = [data_digest(*pair) for pair in zip(rows, outcomes, strict=True)]

    def published(rng: Generator, n_draws: int, is_second: bool) -> np.ndarray:
        sums = request.clip * is_second + rng.normal(scale=scale, size=(n_draws, ROUNDS))
        return sums.mean(axis=1) > request.clip / 2

    def fit(noise: NoiseSource, is_second: bool) -> bool:
        noise = noise.on(digests[is_second])
        fitted = private_boosted_adassp(rows[is_second], outcomes[is_second], request=request, noise=noise)
        return bool(fitted.sums[:, 0].mean() > request.clip / 2)

    return Defect(
        fault="noise of mu in each round, for 1/mu in all",
        source="boosted AdaSSP, public code",
        share=0.1,
        **TERMS,
        published=published,
        ours=fit,
        exact=(
            gdp_epsilon(math.sqrt(ROUNDS) * request.clip / scale, DELTA),
            gdp_epsilon(math.sqrt(ROUNDS) * request.budget["round"], DELTA),
        ),
    )


def published_sensitivity_of_squares(bounds: tuple[float, float], *, noisy_mean: float = 0.0) -> float:
    """Return what diffprivlib takes for the sensitivity of sum x^2: the lower bound of x, twice."""
    lower, _ = np.array(bounds) - noisy_mean
    return np.abs([lower, lower]).max() ** 2


def published_squares(dosages: np.ndarray, *, epsilon: float, rng: Generator) -> np.ndarray:
    """Release sums of squares of dosages (n_people, n_variants) as diffprivlib does without an intercept."""
    noise = rng.laplace(scale=published_sensitivity_of_squares((0, 2)) / epsilon, size=dosages.shape[1])
    return np.abs((dosages**2).sum(axis=0) + noise)


def squares() -> Defect:
    """Squares of dosages are released without noise."""
    dosages = [np.append(np.zeros(N_PEOPLE), np.full(n, 2.0))[:, np.newaxis] for n in (0, 1)]

    def published(rng: Generator, n_draws: int, is_second: bool) -> np.ndarray:
        released = published_squares(np.repeat(dosages[is_second], n_draws, axis=1), epsilon=EPSILON, rng=rng)
        return released > 2

    return _of_squares("squares without noise", published, exact=math.inf)


def squares_with_an_intercept() -> Defect:
    """Squares of dosages less their noisy mean have a sensitivity of the squared mean."""
    scale = published_sensitivity_of_squares((0, 2), noisy_mean=NOISY_MEAN) / EPSILON
    moved = (2 - NOISY_MEAN) ** 2

    def published(rng: Generator, n_draws: int, is_second: bool) -> np.ndarray:
        return moved * is_second + rng.laplace(scale=scale, size=n_draws) > moved / 2

    return _of_squares(f"squares less a noisy mean of {NOISY_MEAN:g}", published, exact=float(moved / scale))


def _of_squares(fault: str, published: Callable, *, exact: float) -> Defect:
    """Return the defect, beside our matrix of the products of as many people, and one of dosage 2 more."""
    request = PrivacyRequest(
        n_variants=1, n_outcomes=1, outcome_bound=3.0, rows="people", unit="person", **TERMS
    )
    sums = [
        gram(
            pack(np.repeat([[1, 1, 0]], [n, n, N_PEOPLE], axis=1)),
            n_haplotypes=N_PEOPLE + 2 * n,
            rows="people",
        )
        for n in (0, 1)
    ]
    halfway = float(sum(gram_matrix[0, 0] for gram_matrix in sums)) / 2 * request.gram_step

    def release(noise: NoiseSource, is_second: bool) -> bool:
        released, _ = private_gram(sums[is_second], N_PEOPLE, request=request, noise=noise)
        return bool(released[0, 0] > halfway)

    moved = float(sums[1][0, 0] - sums[0][0, 0]) * request.gram_step
    mu = moved / request.gram_claim.value * request.budget["gram"]
    return Defect(
        fault=fault,
        source="diffprivlib, LinearRegression",
        **TERMS,
        published=published,
        ours=release,
        exact=(exact, gdp_epsilon(mu, DELTA)),
    )


def float_noise() -> Defect:
    """Normal noise in float64 has bits that tell the exact value."""
    mu = gdp_mu(EPSILON, DELTA)
    claim = Sensitivity(1.0, "l2", Neighbours.ADD_REMOVE, Unit.PERSON, "count/1")

    def is_second_alone(released: np.ndarray | float) -> np.ndarray:
        # If 1 + noise is near 0, the noise is beyond 1/2 and has no bits beyond 2^-53; noise near 0 has.
        scaled = np.ldexp(released, FINEST)
        return (np.abs(released) < 0.5) & (scaled != np.rint(scaled))

    def published(rng: Generator, n_draws: int, is_second: bool) -> np.ndarray:
        return is_second_alone((not is_second) + rng.normal(scale=1 / mu, size=n_draws))

    def draw(noise: NoiseSource, is_second: bool) -> bool:
        steps = np.int64(0 if is_second else 1 / GRID)
        noisy, _ = noise.gaussian(steps, name="sum", step=GRID, sensitivity=claim, mu=mu)
        return bool(is_second_alone(float(noisy) * GRID))

    return Defect(
        fault="normal noise in float64, by its last bits",
        source="any code that adds floats",
        **TERMS,
        published=published,
        ours=draw,
        exact=(math.inf, gdp_epsilon(mu, DELTA)),
    )
