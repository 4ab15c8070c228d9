"""Simulated outcomes: linear in the genotypes, or by a network, with normal noise, or cut to 0/1."""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from dpgrs.public_random import generator

# Hidden values are on this grid, so that their weighted sums are exact in float64.
HIDDEN_STEP = 2.0**-20


class Network:
    """Genetic values f(x) = sum_k outer_k max(0, inner_k'(x - mean)) of one outcome.

    `inner` is (width, n_variants) float64, on a grid on which every inner'x is exact; `outer` is (width,)
    float64, on a grid of 2^-10. `slopes`, (n_variants,) float64, are the effects of the best linear fit if
    the inputs of units are normal.
    """

    def __init__(self, inner: np.ndarray, outer: np.ndarray) -> None:
        self.inner, self.outer = inner, outer
        self.slopes = outer @ inner / 2  # Stein's lemma: a unit passes on half of the slope

    def values(self, entering: np.ndarray, *, centres: np.ndarray) -> np.ndarray:
        """Return f of rows, (n_rows,) float64, exact for any order of sums in BLAS.

        `entering`, (width, n_rows), is inner'x of each row; `centres`, (width,), are the means of inner'x.
        """
        above = entering - _on_hidden_grid(centres)[:, np.newaxis]
        values = self.outer @ _on_hidden_grid(np.maximum(above, 0))
        assert values.shape == entering.shape[1:]
        return values

    def public_terms(self, means: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Return centres, mean and sd of f as if the inputs of units were normal: the arc-cosine kernel of
        order 1.

        Means and variances are (n_variants,) float64, of columns that are independent. The kernel is that of
        Cho, Saul (2009), Kernel methods for deep learning, NeurIPS.
        """
        # Without BLAS, in which a row's place in a block could change a last digit.
        centres = (self.inner * means).sum(axis=1)
        covariance = np.einsum("kv,mv,v->km", self.inner, self.inner, variances)
        sds = np.sqrt(np.diag(covariance))
        mean = float((self.outer * sds).sum()) / math.sqrt(2 * math.pi)
        second = (np.outer(self.outer, self.outer) * _mean_products(covariance, sds)).sum()
        return centres, mean, math.sqrt(max(second - mean**2, 0.0))


def _mean_products(covariance: np.ndarray, sds: np.ndarray) -> np.ndarray:
    """Return E[max(0, z_k) max(0, z_m)] of normal z, (width, width)."""
    products = np.outer(sds, sds)
    cosine = np.divide(covariance, products, out=np.zeros_like(products), where=products > 0)
    angle = np.arccos(np.clip(cosine, -1, 1))
    return products * (np.sin(angle) + (math.pi - angle) * np.cos(angle)) / (2 * math.pi)


def _on_hidden_grid(values: np.ndarray) -> np.ndarray:
    return np.rint(values / HIDDEN_STEP) * HIDDEN_STEP


# Effects on this grid make every x'theta exact in float64, so that no BLAS blocking can change an outcome.
EFFECT_STEP = 2.0**-20
# Products of a factor and its loading are on it.
FACTOR_STEP = 2.0**-10


def simulate_outcomes(
    X: np.ndarray, *, row_id: Sequence[str] | np.ndarray, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Simulate outcomes of rows in memory, by arguments of `SimulatedOutcomes`; return Y and effects.

    Y is (n_outcomes, n_rows) float64 of variance about 1, effects are (n_outcomes, n_variants) float64.
    """
    simulated = SimulatedOutcomes(**options)
    simulated.measure(lambda: [X])
    return simulated.of_rows(X, row_id=row_id), simulated.effects


class SimulatedOutcomes:
    """Simulates y = sqrt(h2) (x - mean)'theta / sd + sqrt(1 - h2) noise (docs/explanation/methods.md), rows
    by rows.

    Every outcome has its own random streams: it does not depend on how many outcomes are asked for, nor in
    which chunks. Effects are drawn in the order of `variant_rank`: a larger variant set keeps the raw effects
    of the smaller one inside it, and the noise of a row, drawn by its name, is the same for all variant sets
    and whichever other rows are there. Without genetic variance (constant variants, or none causal) an
    outcome is standard normal noise.
    """

    def __init__(
        self,
        *,
        variant_rank: np.ndarray,
        n_outcomes: int,
        heritability: float,
        causal_share: float = 1.0,
        n_factors: int | None = None,
        width: int | None = None,
        prevalence: float | None = None,
        public_moments: tuple[np.ndarray, np.ndarray] | None = None,
        seed: int,
        key: tuple[str | int, ...] = (),
        first: int = 0,
    ) -> None:
        """Draw the effects; the seed is public, and `key` tells replicates apart.

        `variant_rank` is a permutation of 0, ..., n_variants - 1. `heritability` in [0, 1], h2, is the share
        of variance that the genotypes explain, and `causal_share` the probability that a variant has an
        effect. With `n_factors` effects of all outcomes are sums of so many normal ones, of the same causal
        variants, with normal loadings of each outcome's own; and so is the noise. None lets outcomes share
        nothing. With `width` a network of so many hidden units, rectified and normal, takes the place of
        x'theta (`dpgrs.simulation.outcomes`), without factors and prevalence. With `prevalence`, in (0, 1), y
        is 0/1, whether the above is beyond the normal quantile of this share, and standardised by it.

        `public_moments`, (n_variants,) float64 each, are public means and variances of the columns of X, from
        which mean and sd of x'theta follow as if the columns were independent: an outcome then depends on its
        own row only. None takes mean and sd over the rows of `measure`, so that each depends on all. `first`
        is the number of the first outcome, for chunks.
        """
        self._numbers, n_variants = range(first, first + n_outcomes), len(variant_rank)
        self._heritability, self._prevalence, self._n_factors = heritability, prevalence, n_factors
        self._public_moments, self._seed, self._key = public_moments, seed, key
        self._networks = None
        seed_and_key = (seed, key)
        if width is not None:
            self._networks = [
                _network(n_variants, width, causal_share, *seed_and_key, i, variant_rank)
                for i in self._numbers
            ]
            slopes = [network.slopes for network in self._networks]
        elif n_factors is None:
            slopes = [
                _raw_effects(n_variants, causal_share, *seed_and_key, i)[variant_rank] for i in self._numbers
            ]
        else:
            slopes = _shared_effects(n_variants, self._numbers, n_factors, causal_share, *seed_and_key)
            slopes = slopes[:, variant_rank]
        self._slopes = np.array(slopes).reshape(n_outcomes, n_variants)

    def measure(self, blocks: Callable[[], Iterable[Any]]) -> None:
        """Take mean and sd of the genetic values over rows, unless they follow from public moments.

        `blocks` returns an iterable over blocks of the rows, each as in `of_rows`; it is called once, or
        twice for networks.
        """
        if self._public_moments is None:
            if self._networks is not None:
                entering = [_Moments() for _ in self._networks]
                for X in blocks():
                    for moments, inputs in zip(entering, self._entering(X), strict=True):
                        moments.add(inputs, X)
                self._centres = [moments.mean for moments in entering]
            moments = _Moments()
            for X in blocks():
                moments.add(self._genetic_values(X), X)
            self._mean, self._sd = moments.mean, moments.sd
        elif self._networks is not None:
            moments_of_networks = [network.public_terms(*self._public_moments) for network in self._networks]
            self._centres = [centres for centres, _, _ in moments_of_networks]
            self._mean, self._sd = np.array([both for _, *both in moments_of_networks]).reshape(-1, 2).T
        else:
            means, variances = self._public_moments
            self._mean = np.array([means @ theta for theta in self._slopes])
            self._sd = np.array([np.sqrt(variances @ theta**2) for theta in self._slopes])

    @property
    def effects(self) -> np.ndarray:
        """The (n_outcomes, n_variants) float64 effects on the scale of Y: y = x'effects + constant + noise.

        For 0/1 outcomes they are the best linear fit's if genetic values are normal; for networks
        likewise.
        """
        effects = self._scale[:, np.newaxis] * self._slopes
        return effects if self._prevalence is None else _slope_of_cut(self._prevalence) * effects

    def of_rows(self, X: Any, *, row_id: Sequence[str] | np.ndarray) -> np.ndarray:
        """Return the outcomes of rows, (n_outcomes, n_rows) float64 of variance about 1, after `measure`.

        X is (n_rows, n_variants) float64, `half` coding, or `dpgrs.study.simulated_rows.CodedPeople`, whose
        entries are made when they are asked for; row ids are all different.
        """
        seed_and_key = {"seed": self._seed, "key": self._key}
        if self._n_factors is None:
            noise = _environment(row_id, self._numbers, **seed_and_key)
        else:
            noise = _shared_environment(row_id, self._numbers, self._n_factors, **seed_and_key)
        genetic = self._scale[:, np.newaxis] * (self._genetic_values(X) - self._mean[:, np.newaxis])
        Y = genetic + np.sqrt(1 - self._explained)[:, np.newaxis] * noise
        assert Y.shape == (len(self._numbers), len(X))
        return Y if self._prevalence is None else _cut(Y, self._prevalence)

    @property
    def _explained(self) -> np.ndarray:
        return np.where(self._sd > 0, self._heritability, 0.0)

    @property
    def _scale(self) -> np.ndarray:
        return np.sqrt(self._explained) / np.where(self._sd > 0, self._sd, 1.0)

    def _genetic_values(self, X: Any) -> np.ndarray:
        """Return (n_outcomes, n_rows) float64."""
        if self._networks is None:
            return _products(self._slopes, X)
        values = np.empty((len(self._networks), len(X)))
        networks = zip(values, self._networks, self._entering(X), self._centres, strict=True)
        for row, network, entering, centres in networks:
            row[:] = network.values(entering, centres=centres)
        return values

    def _entering(self, X: Any) -> list[np.ndarray]:
        """Return the inputs of the units of each network, a list of (width, n_rows) float64."""
        if not self._networks:
            return []
        inner = np.concatenate([network.inner for network in self._networks])
        return np.split(_products(inner, X), len(self._networks))


def _products(weights: np.ndarray, X: Any) -> np.ndarray:
    """Return weights X', (n_weights, n_rows), exact for any blocks of variants."""
    if isinstance(X, np.ndarray):
        return weights @ X.T
    products = np.zeros((len(weights), len(X)))
    for block, rows, block_rows in X.blocks():
        products[:, rows] += weights[:, block] @ block_rows.T
    return products


class _Moments:
    """Mean and sd over blocks of rows, (n_series,) each; blocks change at most the last digits."""

    def __init__(self) -> None:
        self._n = self.mean = self._squares = 0.0

    def add(self, values: np.ndarray, X: Any) -> None:
        """Add the (n_series, n_rows) values of rows, in the blocks that X names if it is no array."""
        for block in [slice(None)] if isinstance(X, np.ndarray) else X.row_parts:
            self._add(values[:, block])

    def _add(self, values: np.ndarray) -> None:
        mean, total = values.mean(axis=1), self._n + values.shape[1]
        squares, shift = ((values - mean[:, np.newaxis]) ** 2).sum(axis=1), mean - self.mean
        self._squares = self._squares + squares + shift**2 * (self._n * values.shape[1] / total)
        self.mean, self._n = self.mean + shift * (values.shape[1] / total), total

    @property
    def sd(self) -> np.ndarray:
        return np.sqrt(self._squares / self._n)


def _cut(liability: np.ndarray, prevalence: float) -> np.ndarray:
    """Return 0/1 outcomes, standardised."""
    threshold = -NormalDist().inv_cdf(prevalence)
    return ((liability > threshold) - prevalence) / math.sqrt(prevalence * (1 - prevalence))


def _slope_of_cut(prevalence: float) -> float:
    """Return the factor that a cut leaves of effects on the liability, by Stein's lemma."""
    normal = NormalDist()
    return normal.pdf(normal.inv_cdf(prevalence)) / math.sqrt(prevalence * (1 - prevalence))


def _network(
    n_variants: int,
    width: int,
    causal_share: float,
    seed: int,
    key: tuple[str | int, ...],
    outcome: int,
    variant_rank: np.ndarray,
) -> Network:
    """Draw the network of an outcome, its weights by rank."""
    inner = _on_effect_grid(_normals(n_variants, range(width), seed, "hidden units", *key, outcome))
    inner *= _is_causal(n_variants, causal_share, seed, key, outcome)
    return Network(inner[:, variant_rank], _loadings([outcome], width, seed, "hidden units", *key)[0])


def _raw_effects(
    n_variants: int, causal_share: float, seed: int, key: tuple[str | int, ...], outcome: int
) -> np.ndarray:
    """Draw the effects of an outcome, by rank: longer draws extend shorter ones."""
    theta = generator(seed, "effects", *key, outcome).standard_normal(n_variants)
    return _on_effect_grid(theta) * _is_causal(n_variants, causal_share, seed, key, outcome)


def _is_causal(
    n_variants: int, causal_share: float, seed: int, key: tuple[str | int, ...], outcome: int
) -> np.ndarray:
    return generator(seed, "causal", *key, outcome).random(n_variants) < causal_share


def _shared_effects(
    n_variants: int,
    numbers: range,
    n_factors: int,
    causal_share: float,
    seed: int,
    key: tuple[str | int, ...],
) -> np.ndarray:
    """Draw the (n_outcomes, n_variants) effects, by rank: exact products of loadings and factors."""
    factors = _normals(n_variants, range(n_factors), seed, "shared effects", *key)
    is_causal = generator(seed, "shared causal", *key).random(n_variants) < causal_share
    return _loadings(numbers, n_factors, seed, "effects", *key) @ (_on_grid(factors) * is_causal)


def _shared_environment(
    row_id: Sequence[str] | np.ndarray,
    numbers: range,
    n_factors: int,
    *,
    seed: int,
    key: tuple[str | int, ...],
) -> np.ndarray:
    """Draw the (n_outcomes, n_rows) noise likewise, from a stream for every row."""
    factors = _normals(n_factors, [str(name) for name in row_id], seed, "shared environment", *key)
    loadings = _loadings(numbers, n_factors, seed, "environment", *key)
    return loadings @ _on_grid(factors).T / np.sqrt((loadings**2).sum(axis=1, keepdims=True))


def _loadings(numbers: Sequence[int], n_factors: int, seed: int, *key: str | int) -> np.ndarray:
    """Draw the (n_outcomes, n_factors) loadings, on the grid and none of them 0."""
    normals = _normals(n_factors, numbers, seed, "loadings", *key)
    return np.copysign(np.ceil(np.abs(normals) / FACTOR_STEP) * FACTOR_STEP, normals)


def _normals(n: int, names: Sequence[str | int], seed: int, *key: str | int) -> np.ndarray:
    """Draw n standard normal numbers for each name, (n_names, n)."""
    normals = [generator(seed, *key, name).standard_normal(n) for name in names]
    return np.array(normals).reshape(len(names), n)


def _on_effect_grid(effects: np.ndarray) -> np.ndarray:
    return np.rint(effects / EFFECT_STEP) * EFFECT_STEP


def _on_grid(factors: np.ndarray) -> np.ndarray:
    return np.rint(factors / FACTOR_STEP) * FACTOR_STEP


def _environment(
    row_id: Sequence[str] | np.ndarray, numbers: range, *, seed: int, key: tuple[str | int, ...]
) -> np.ndarray:
    """Draw the (n_outcomes, n_rows) noise: a stream for every row, in the order of the outcomes."""
    noise = np.empty((len(row_id), len(numbers)))
    for row, name in zip(noise, row_id, strict=True):
        row[:] = generator(seed, "environment", *key, str(name)).standard_normal(numbers.stop)[
            numbers.start :
        ]
    return noise.T
