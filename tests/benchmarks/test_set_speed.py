"""A private set through its classes against one noise for every set, timed by `pytest --benchmark-enable`.

Both sides use one thread and take turns, so that a busy machine slows both. What is chosen is always
compared; the ratio is asserted only when benchmarks are enabled.
"""

import time
from fractions import Fraction

import numpy as np

from dpgrs.privacy.noise.canonical_lipschitz import certified_set, seeded_set
from dpgrs.privacy.noise.stream import KeyStream
from subset_laws import all_sets, utilities

AIM = 10
N_ROUNDS = 3
N, K = 20, 6
TERMS = {"sensitivity": Fraction(1), "gamma": Fraction(1, 2)}
# As many scores as the largest data set of the DP-SIS paper has features, and the most that were tried.
LARGE = [(22_283, 10), (100_000, 50)]


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def every_set(scores, k, *, epsilon, rng):
    values = utilities(scores.tolist(), k, rate=float(epsilon) / 2, gamma=0.5)
    return all_sets(len(scores), k)[int(np.argmax(values + rng.exponential(size=len(values))))]


def test_sets__classes_beat_every_set(request, capsys):
    scores, rng = np.arange(N) ** 2, np.random.default_rng(0)
    stream = KeyStream(bytes(32), b"speed")

    def chosen(epsilon, n, k):
        options = {"n_choices": k, "epsilon": epsilon} | TERMS
        return {
            "certified": lambda: certified_set(stream, n, **options),
            "seeded": lambda: seeded_set(rng, n, **options),
        }

    sure = Fraction(100)
    best = every_set(scores[:8], 3, epsilon=sure, rng=rng)
    assert all(tuple(draw().tolist()) == best for draw in chosen(sure, scores[:8], 3).values())
    if not request.config.getoption("--benchmark-enable"):
        return
    epsilon = Fraction(1, 100)
    ours = chosen(epsilon, scores, K)
    timings = [
        (seconds(lambda: every_set(scores, K, epsilon=epsilon, rng=rng)), *map(seconds, ours.values()))
        for _ in range(N_ROUNDS)
    ]
    slow, *fast = np.array(timings).min(axis=0)
    with capsys.disabled():
        print(f"\n{K} of {N}: {slow:.3f} s, certified {fast[0]:.4f} s, seeded {fast[1]:.4f} s")
        for n, k in LARGE:
            scores = rng.integers(0, 1000, n)
            times = {name: seconds(draw) for name, draw in chosen(Fraction(1), scores, k).items()}
            print(f"{k} of {n}: " + ", ".join(f"{name} {value:.3f} s" for name, value in times.items()))
    assert slow / max(fast) >= AIM
