"""Theorems of the two screening papers, each formula beside what is measured (docs/screening_theorems.md).

DPKendall is arXiv 2306.00920, DP-SIS arXiv 2408.10862. Data are made up, with public seeds.
"""

import argparse
import math
import sys
import time
from itertools import product

import numpy as np
from scipy.special import digamma

from dpgrs.privacy.noise.base import data_digest
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.selection.dp_kendall import KendallRequest, TablePairs, greedy_kendall, private_kendall
from dpgrs.selection.dp_sis import SisRequest, SisScores, private_sis
from dpgrs.selection.merge_sort import sign_scores
from dpgrs.types import PairKernel, Rows, Selection

ETA = 0.05
SCORE_STEP = 2.0**-20
UNEQUAL = (1.0, 0.2, 0.2)


def arctan_law(beta, sigma, noise):
    """Lemma 3.5: tau of each feature with an outcome that is linear in independent normal features."""
    signals = np.asarray(beta) * sigma
    rest = np.sqrt(np.sum(signals**2) - signals**2 + noise**2)
    return 2 / np.pi * np.arctan(signals / rest)


def tau_error(tau, n):
    """Return the standard deviation of Kendall's tau of n normal pairs (Esscher 1924)."""
    half = 2 / np.pi * np.arcsin(np.sin(np.pi * tau / 2) / 2)
    return np.sqrt(2 / (n * (n - 1)) * (1 - tau**2 + 2 * (n - 2) * (1 / 9 - half**2)))


def linear_model(rng, n, *, beta, noise, sigma=1.0, copies=0, others=0):
    """Draw features X_1, ..., X_k, copies of each, and others that do nothing; and the outcome.

    Returns
    -------
    features : (n_features, n) float64
    y : (n,) float64
    causes : (n_features,) int64, of which X_j each is X_j or a copy; -1 for the others.
    """
    k = len(beta)
    X = rng.standard_normal((k, n)) * np.reshape(sigma, (-1, 1))
    y = np.asarray(beta) @ X + noise * rng.standard_normal(n)
    causes = np.concatenate([np.tile(np.arange(k), 1 + copies), np.full(others, -1)])
    return np.vstack([np.tile(X, (1 + copies, 1)), rng.standard_normal((others, n))]), y, causes


def choose(features, y, k, *, epsilon=None, law=Selection.GUMBEL, seed=0):
    """Choose by DPKendall; no epsilon chooses by the exact scores."""
    pairs = TablePairs(features, y)
    if epsilon is None:
        return greedy_kendall(pairs, n_choices=k)
    kernels = {"against_outcome": PairKernel.SIGN, "against_feature": PairKernel.SIGN}
    request = KendallRequest(n_choices=k, epsilon=epsilon, law=law, **kernels)
    noise = BenchmarkNoise(seed).on(data_digest(features, y))
    return private_kendall(pairs, request=request, noise=noise)[0]


def is_recovered(chosen, causes):
    """Whether each X_j, or a copy of it, was chosen once: the claim of Theorem 3.8."""
    return sorted(causes[chosen]) == list(range(len(chosen)))


def is_copied(chosen, causes):
    """Whether X_1, or a copy of it, was chosen first and third."""
    return causes[chosen[0]] == causes[chosen[2]] == 0


def shares(is_so, n, k, laws, *, seed, repeats, **model):
    """Return for each law the share of data sets in which is_so(chosen, causes)."""
    found = []
    for repeat in range(repeats):
        features, y, causes = linear_model(np.random.default_rng([seed, n, repeat]), n, **model)
        found.append([is_so(choose(features, y, k, seed=repeat, **law), causes) for law in laws])
    return np.mean(found, axis=0)


def rows_needed(k, d, epsilon, angle):
    """Theorem 3.8's number of rows, without its constant; `angle` is the smallest |arctan|."""
    return k * math.log(d * k / ETA) / (epsilon * angle)


def table(head, rows):
    """Yield the lines of a table in Markdown."""
    yield f"| {' | '.join(head)} |"
    yield "| --- " * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(one if isinstance(one, str) else f'{one:.4g}' for one in row)} |"


def arctan(given):
    """Lemma 3.5, the arctan law."""
    rng, n, rows = np.random.default_rng(given.seed), given.rows, []
    models = [((1, 1, 1), 1, 1), (UNEQUAL, 1, 0.1), ((1, -0.5, 0.02), 1, 1)]
    models += [((1, 1), (30, 1), 1), ((0.1, 2), (10, 0.5), 3)]
    for beta, sigma, noise in models:
        features, y, _ = linear_model(rng, n, beta=beta, sigma=np.broadcast_to(sigma, len(beta)), noise=noise)
        measured = sign_scores(features, y) / (n * (n - 1) / 2)
        for number, tau in enumerate(arctan_law(beta, sigma, noise)):
            apart = (measured[number] - tau) / tau_error(tau, n)
            rows.append([f"{beta}, {sigma}, {noise}", f"X_{number + 1}", tau, measured[number], apart])
    yield f"n = {n}"
    yield from table(["beta, sigma, sigma_e", "feature", "formula", "measured", "apart, in sd"], rows)


def concentration(given):
    """Lemma 3.6, how far Kendall's tau^ is from n/2 tau; beside it what Hoeffding's inequality gives."""
    rng, rows = np.random.default_rng(given.seed), []
    for n, beta in product((100, 1_000, 10_000), (0.0, 1.0)):
        tau = float(arctan_law([beta], 1, 1)[0])
        features = rng.standard_normal((given.repeats, n))
        outcomes = beta * features + rng.standard_normal(features.shape)
        scores = [sign_scores(x[np.newaxis], y).item() for x, y in zip(features, outcomes, strict=True)]
        apart = np.abs(np.array(scores) / (n - 1) - n / 2 * tau)
        root = math.sqrt(n * math.log(2 / ETA))
        rows.append([str(n), tau, math.sqrt(8) * root, root, np.quantile(apart, 1 - ETA), apart.max()])
    yield f"eta = {ETA}, {given.repeats} data sets a line"
    head = ["n", "tau", "the lemma's bound", "Hoeffding's", f"{1 - ETA:.0%} quantile", "largest"]
    yield from table(head, rows)


def gumbel(given):
    """Lemma 3.7, the largest of d draws of Gumbel noise, in units of b."""
    rng, rows = np.random.default_rng(given.seed), []
    for d, eta in product((1, 10, 1_000), (0.5, ETA)):
        bound = math.log(2 * d / eta)
        chance = 1 - (math.exp(-math.exp(-bound)) - math.exp(-math.exp(bound))) ** d
        beyond = [np.abs(rng.gumbel(size=d)).max() > bound for _ in range(10 * given.repeats)]
        rows.append([str(d), eta, bound, chance, np.mean(beyond)])
    yield from table(["d", "eta", "bound", "chance beyond it, exact", "measured"], rows)


def recovery(given):
    """Theorem 3.8 where effects are equal: how often each X_j is chosen once, as X_j or as a copy."""
    beta, copies, others, repeats = (1.0, 1.0, 1.0), 2, 3, max(given.repeats // 5, 1)
    k, d, rows = len(beta), len(beta) * (1 + copies) + others, []
    needed = rows_needed(k, d, 1.0, math.pi / 2 * min(arctan_law(beta, 1, 1)))
    laws = {}, {"epsilon": 1.0}, {"epsilon": 1.0, "law": Selection.PERMUTE_AND_FLIP}
    model = {"beta": beta, "noise": 1, "copies": copies, "others": others}
    for n in (30, 100, 300, 1_000, 3_000):
        found = shares(is_recovered, n, k, laws, seed=given.seed, repeats=repeats, **model)
        rows.append([str(n), n / needed, *found])
    yield f"beta = {beta}, sigma_e = 1, d = {d}, epsilon = 1, {repeats} data sets a line"
    yield from table(["n", "n over the theorem's", "exact", "Gumbel", "permute-and-flip"], rows)


def counterexample(given):
    """Theorem 3.8 where effects are unequal: a third choice that is a copy of the first."""
    repeats, laws, rows = max(given.repeats // 200, 2), ({}, {"epsilon": 1.0}), []
    cases = [(n, UNEQUAL[1], 0.1) for n in (1_000, 10_000, given.rows)]
    cases += [(given.rows, UNEQUAL[1], noise) for noise in (0.6, 0.8)]
    cases += [(given.rows, b, 0.1) for b in (0.3, 0.4)]
    for n, b, noise in cases:
        largest, smallest, _ = arctan_law((1, b, b), 1, noise)
        model = {"beta": (1, b, b), "noise": noise, "copies": 2}
        found = shares(is_copied, n, 3, laws, seed=given.seed, repeats=repeats, **model)
        rows.append([str(n), b, noise, largest, largest - 1 / 2, smallest, *found])
    yield f"beta = (1, b, b), two copies of each, {repeats} data sets a line"
    head = ["n", "b", "sigma_e", "tau of X_1", "score of its copy, third", "of X_3"]
    yield from table([*head, "copy taken, exact", "Gumbel, epsilon = 1"], rows)


def root(given):
    """Theorem 3.8's rows where effects are weak, and the rows with the term that its last step leaves out."""
    k, copies, others, epsilon, repeats = 2, 1, 6, 10.0, max(given.repeats // 40, 2)
    d, laws, rows = k * (1 + copies) + others, ({}, {"epsilon": epsilon}), []
    for angle in (0.5, 0.1, 0.03, 0.02):
        beta = np.full(k, math.tan(angle) / math.sqrt(1 - (k - 1) * math.tan(angle) ** 2))
        model = {"beta": beta, "noise": 1, "copies": copies, "others": others}
        few = math.ceil(30 * rows_needed(k, d, epsilon, angle))
        row = [angle]
        for n in (few, few + math.ceil(4 * math.log(d * k / ETA) / angle**2)):
            found = shares(is_recovered, n, k, laws, seed=given.seed, repeats=repeats, **model)
            row += [str(n), *found]
        rows.append(row)
    yield f"k = {k}, d = {d}, epsilon = {epsilon:g}, {repeats} data sets a line; 30 times the theorem's rows"
    head = ["min arctan", *["n", "exact", "Gumbel"], "n with 4 ln(dk/eta)/arctan^2", "exact", "Gumbel"]
    yield from table(head, rows)


def set_chances(gap, gamma, sets):
    """Return the bound of Theorem 4.1, and the exact chance where all sets but the best are equally good.

    `gap` is xi epsilon; `sets` is C(d, k), or what a reading of the theorem has in its place.
    """
    miss = math.exp(-gamma * gap / 2)
    return max(1 - sets * miss, 0.0), -math.expm1(sets * math.log1p(-miss)) / (sets * miss)


def top_sets(given):
    """DP-SIS, Theorem 4.1: the chance that the set chosen is that of the k highest scores."""
    d, k, rows = 100, 5, []
    sets = math.comb(d, k)
    c = sets / (d / k) ** k
    level = [("level", 0.5, 4 * math.log(sets / (1 - wanted))) for wanted in (0.0, 0.5, 0.9, 0.99)]
    for kind, gamma, gap in [*level, *product(["steps"], (0.25, 0.5, 0.75, 0.95), (5, 10))]:
        scores = gap * (np.arange(d) < k) if kind == "level" else -gap * np.arange(d)
        units = SisScores(np.rint(scores / SCORE_STEP).astype(np.int64), SCORE_STEP, 1.0, 1.0, Rows.PEOPLE)
        request = SisRequest(epsilon=1.0, n_choices=k, gamma=gamma)
        noises = (BenchmarkNoise(given.seed, "sets", repeat) for repeat in range(given.repeats))
        found = np.mean([private_sis(units, request=request, noise=noise)[0][-1] < k for noise in noises])
        (bound, exact), (other, _) = (set_chances(gap, gamma, one) for one in (sets, sets / k ** (2 * k)))
        rows.append([kind, gamma, gap, bound, other, exact if kind == "level" else "", found])
    yield f"d = {d}, k = {k}; c = {c:.4g}, ln c = {math.log(c):.4g}; {given.repeats} draws a line"
    head = ["scores", "gamma", "xi epsilon", "bound", "bound, c = C(d, k)/(d^k k^k)", "exact", "measured"]
    yield from table(head, rows)


def harmonic(given):
    """DP-SIS, Theorem A.3: the mean of -log(1 - U^(1/m)), also as float64 takes it word for word."""
    rng, rows = np.random.default_rng(given.seed), []
    for m in (1, 10, 1_000, math.comb(98, 4), math.comb(99, 4), math.comb(22_282, 9)):
        U = rng.random(1_000 * given.repeats)
        noise = -np.log(-np.expm1(np.log(U) / m))
        with np.errstate(divide="ignore"):
            literal = -np.log(1 - U ** (1 / m))
        found = noise.mean(), noise.std() / math.sqrt(len(U)), np.mean(np.isinf(literal))
        rows.append([m, digamma(float(m) + 1) + np.euler_gamma, *found])
    yield from table(["m", "H_m", "measured", "its standard error", "infinite, word for word"], rows)


ORDER = arctan, concentration, gumbel, recovery, counterexample, root, top_sets, harmonic
CLAIMS = {claim.__name__: claim for claim in ORDER}


def main(arguments=None):
    """Print a table for each claim."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="claim", choices=CLAIMS, help=f"of {', '.join(CLAIMS)}")
    parser.add_argument("--rows", type=int, default=100_000, help="of the arctan law and the counterexample")
    parser.add_argument("--repeats", type=int, default=1_000, help="data sets; some claims take a part")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    for name in given.only or CLAIMS:
        started = time.monotonic()
        print(f"## {name}: {CLAIMS[name].__doc__}", "", *CLAIMS[name](given), "", sep="\n", flush=True)
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
