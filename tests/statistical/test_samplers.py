"""Chi-square tests of the exact samplers against closed-form probabilities, at a million draws each.

Keys are fixed, so a result never changes. Under another key an exact sampler would fail a test with
probability 1e-6. The controls are laws that differ by a little and must fail. OpenDP draws from the system's
randomness: those tests fail with probability 1e-6 in each run.
"""

import itertools
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import chi2, norm

from dpgrs.privacy.noise import samplers
from dpgrs.privacy.noise.rounds import answered
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.privacy.noise.stream import KeyStream
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.privacy.sensitivity import Sensitivity

FALSE_FAILURE = 1e-6  # of the one draw there is: keys are fixed
OPENDP_FALSE_FAILURE = 1e-10  # OpenDP cannot be seeded, so it draws anew in every run
N_DRAWS = 10**6
SMALLEST_EXPECTED = 20
N_BINS = 200

dp.enable_features("contrib")


def key_stream(*identity):
    return KeyStream(bytes(range(32)), repr(identity).encode())


def rounded_normal_cdf(sigma):
    return lambda y: norm.cdf((y + 0.5) / float(sigma))


def discrete_laplace_cdf(scale):
    ratio = np.exp(-1 / float(scale))
    return lambda y: np.where(y >= 0, 1 - ratio ** (y + 1.0) / (1 + ratio), ratio ** (-y * 1.0) / (1 + ratio))


def discrete_gaussian_cdf(sigma):
    reach = int(12 * sigma)
    support = np.arange(-reach, reach + 1)
    masses = np.exp(-((support / sigma) ** 2) / 2)
    return lambda y: np.interp(y, support, np.cumsum(masses) / masses.sum(), left=0.0, right=1.0)


def upper_edges(cdf, scale):
    """Return integers that end bins: every integer if there are few, else about equally likely ranges."""
    edges = np.unique(np.round(np.linspace(-8, 8, 20_001) * float(scale)).astype(np.int64))
    step = max(1 / N_BINS if len(edges) > N_BINS else 0, SMALLEST_EXPECTED / N_DRAWS)
    chosen, reached = [], 0.0
    for edge, below in zip(edges, cdf(edges), strict=True):
        if below - reached >= step and 1 - below >= step:
            chosen.append(edge)
            reached = below
    return np.array(chosen)


def p_value(counts, probabilities):
    expected = counts.sum() * probabilities
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1)


def fit(draws, cdf, scale):
    """Return the p-value of draws under a law given by its distribution function on the integers."""
    edges = upper_edges(cdf, scale)
    counts = np.bincount(np.searchsorted(edges, draws), minlength=len(edges) + 1)
    return p_value(counts, np.diff(cdf(edges), prepend=0.0, append=1.0))


LAWS = [
    *(
        pytest.param(samplers.rounded_normal, rounded_normal_cdf, sigma, id=f"rounded-normal-{sigma}")
        for sigma in (Fraction(3, 10), Fraction(1), Fraction(37, 10), Fraction(2**20), Fraction(2**44, 3))
    ),
    *(
        pytest.param(samplers.discrete_laplace, discrete_laplace_cdf, scale, id=f"discrete-laplace-{scale}")
        for scale in (Fraction(3, 10), Fraction(1), Fraction(37, 10), Fraction(2**20))
    ),
]


@pytest.mark.parametrize(("sampler", "cdf", "scale"), LAWS)
def test_samplers__chi_square(sampler, cdf, scale):
    draws = sampler(key_stream(sampler.__name__, scale), N_DRAWS, scale)
    assert fit(draws, cdf(scale), scale) > FALSE_FAILURE
    # The control: a scale wrong by 2 %.
    assert fit(draws, cdf(float(scale) * 1.02), scale) < FALSE_FAILURE


def test_rounded_normal__is_not_the_discrete_gaussian():
    # Their variances are 13/12 and 1: which accounting fits is not a matter of taste.
    draws = samplers.rounded_normal(key_stream("rounded"), N_DRAWS, 1)
    assert fit(draws, discrete_gaussian_cdf(1), 1) < FALSE_FAILURE


@pytest.mark.parametrize(
    ("sampler", "scale"),
    [
        (samplers.rounded_normal, 2**20),
        (samplers.rounded_normal, 2**48),
        (samplers.discrete_laplace, 2**40),
    ],
)
def test_samplers__lowest_bits_are_fair(sampler, scale):
    draws = sampler(key_stream("bits", sampler.__name__, scale), N_DRAWS, scale)
    assert p_value(np.bincount(draws & 255, minlength=256), np.full(256, 1 / 256)) > FALSE_FAILURE


@pytest.mark.parametrize("sampler", [samplers.rounded_normal, samplers.discrete_laplace])
def test_samplers__neighbouring_draws_are_independent(sampler):
    draws = sampler(key_stream("pairs", sampler.__name__), N_DRAWS, 2**20)
    octiles = np.searchsorted(np.quantile(draws, np.arange(1, 8) / 8), draws)
    pairs = np.bincount(8 * octiles[::2] + octiles[1::2], minlength=64)
    assert p_value(pairs, np.full(64, 1 / 64)) > FALSE_FAILURE


CANDIDATES, RATE = np.array([0, 3, 5, 5, -20]), 0.2  # scores; coin exponent per step below the best


def choice_probabilities(candidates=CANDIDATES):
    """Return the law of permute-and-flip by going through every order of the candidates."""
    heads = np.exp(-RATE * (candidates.max() - candidates))
    probabilities = np.zeros(len(candidates))
    orders = list(itertools.permutations(range(len(candidates))))
    for order in orders:
        tails_before = np.cumprod([1.0, *(1 - heads[list(order)])])[:-1]
        probabilities[list(order)] += tails_before * heads[list(order)] / len(orders)
    return probabilities


def test_indices_below__chi_square():
    values = samplers.indices_below(key_stream("indices"), 1_000_000, 1000)
    assert p_value(np.bincount(values, minlength=1000), np.full(1000, 1 / 1000)) > FALSE_FAILURE


def test_permute_and_flip__every_order_of_candidates():
    stream = key_stream("choice")
    options = {"epsilon": Fraction(4, 5), "sensitivity": 2}
    choices = [samplers.permute_and_flip(stream, CANDIDATES, **options) for _ in range(20_000)]
    assert p_value(np.bincount(choices, minlength=5), choice_probabilities()) > FALSE_FAILURE


# The seeded twins of benchmarks have the same laws.


def claim(value, norm):
    return Sensitivity(value, norm, "add-remove", "person", "count/1")


@pytest.mark.parametrize("scale", [Fraction(3, 10), Fraction(37, 10), Fraction(2**20)])
def test_benchmark_noise__laplace_chi_square(scale):
    options = {"name": "sum", "step": 0.5, "sensitivity": claim(float(scale), "l1"), "epsilon": 2.0}
    draws, event = BenchmarkNoise(1).laplace(np.zeros(N_DRAWS, dtype=np.int64), **options)
    assert event.scale / event.step == pytest.approx(float(scale))
    assert fit(draws, discrete_laplace_cdf(scale), scale) > FALSE_FAILURE
    assert fit(draws, discrete_laplace_cdf(float(scale) * 1.02), scale) < FALSE_FAILURE


@pytest.mark.parametrize(("epsilon", "is_its_law"), [(0.4, True), (0.3, False)])
def test_benchmark_noise__choice_chi_square(epsilon, is_its_law):
    options = {"name": "best", "step": 0.25, "sensitivity": claim(0.25, "linf"), "epsilon": epsilon}
    choices = [BenchmarkNoise(1, draw).choose(CANDIDATES, **options)[0][0] for draw in range(20_000)]
    p = p_value(np.bincount(choices, minlength=5), choice_probabilities())
    assert (p > FALSE_FAILURE) == is_its_law


def test_benchmark_noise__gumbel_chi_square():
    """The exponential mechanism: in proportion to exp(epsilon score/(2 sensitivity))."""
    options = {"name": "best", "step": 0.25, "sensitivity": claim(0.25, "linf"), "epsilon": 0.4}
    choices = [
        BenchmarkNoise(1, draw).choose(CANDIDATES, **options, law="gumbel")[0][0] for draw in range(20_000)
    ]
    weights = np.exp(RATE * CANDIDATES)
    counts = np.bincount(choices, minlength=5)
    assert p_value(counts, weights / weights.sum()) > FALSE_FAILURE
    assert p_value(counts, choice_probabilities()) < FALSE_FAILURE


@pytest.mark.parametrize("is_secret", [True, False])
def test_choose_in_rounds__second_choices_by_chi_square(is_secret):
    """In the second round the scores are turned round: the first choice decides which law the second has."""

    def score(chosen):
        return (-CANDIDATES if len(chosen) else CANDIDATES), Fraction(1, 4)

    options = {"name": "best", "n_entries": 5, "sensitivity": claim(0.25, "linf"), "epsilon": 0.8}
    pairs = np.zeros((5, 5))
    for draw in range(10_000):
        noise = BenchmarkNoise(1, draw)
        if is_secret:
            rehearsal = Rehearsal()
            answered(rehearsal.on("data").choose_in_rounds(**options, n_choices=2), score)
            noise = ReleaseNoise(
                StudyKey(draw.to_bytes(32, "big")), draws=rehearsal.draws, requests={(): ("r1", "i1")}
            )
        chosen, _ = answered(noise.on("data").choose_in_rounds(**options, n_choices=2), score)
        pairs[tuple(chosen)] += 1
    expected = np.zeros((5, 5))
    for first, probability in enumerate(choice_probabilities(CANDIDATES)):
        left = np.delete(np.arange(5), first)
        expected[first, left] = probability * choice_probabilities(-CANDIDATES[left])
    likely = expected > 1e-3
    counts = np.append(pairs[likely], pairs[~likely].sum())
    assert p_value(counts, np.append(expected[likely], expected[~likely].sum())) > FALSE_FAILURE


def test_discrete_laplace__distributed_like_opendp():
    n_draws, scale = 100_000, 3
    domain = dp.vector_domain(dp.atom_domain(T=int))
    mechanism = dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=float(scale))
    edges = np.arange(-8, 8)
    tables = np.array(
        [
            np.bincount(np.searchsorted(edges, draws), minlength=len(edges) + 1)
            for draws in (
                samplers.discrete_laplace(key_stream("opendp"), n_draws, scale),
                mechanism([0] * n_draws),
            )
        ]
    )
    # Two samples of one size: each bin's expected count is the mean of both.
    expected = tables.mean(axis=0)
    assert chi2.sf(((tables - expected) ** 2 / expected).sum(), len(edges)) > OPENDP_FALSE_FAILURE
