"""PRIMO's accuracy bounds beside what ReuseCov's mechanisms do, on simulated haplotypes, as tables.

Everything is as the theorems suppose it, with the penalty of the bound, which hangs on private weights.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.linalg.linear_fit import ridge_weights
from dpgrs.linalg.projection import project_feature, project_label
from dpgrs.linalg.statistics import CROSS_STEP, GRAM_STEP, OUTCOME_STEP, cross_product, gram, grid_outcomes
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import private_statistics
from dpgrs.methods.sketch import SketchRequest, private_sketch
from dpgrs.planning.primo_bounds import (
    Setting,
    feature_excess,
    gauss_excess,
    label_excess,
    leading_excess,
    projection_error,
    sketch_excess,
)
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.public_random import generator
from dpgrs.types import Protection

B, DELTA, SKETCH_SHARE = 1.0, 1e-6, 1 / 8
BASE = {"n": 2**15, "d": 16, "l": 16, "epsilon": 1.0}
AXES = {
    "n": [2**13, 2**14, 2**15, 2**16, 2**17],
    "d": [4, 8, 16, 32, 64],
    "l": [4, 16, 64, 256],
    "epsilon": [0.5, 1.0, 2.0, 4.0],
}
# A theorem: its name and what is protected.
THEOREMS = {
    1: ("Gauss", Protection.FULL),
    3: ("feature", Protection.FEATURE),
    4: ("label", Protection.LABEL),
    6: ("sketch", Protection.FULL),
}
# Haplotypes of the 1000 Genomes Project, as in the paper's experiments, and sizes there or near.
PAPER_ROWS, PAPER_VARIANTS, PAPER_COUNTS, PAPER_EPSILON = 5008, 100, [1, 10, 100, 1000], 5.0


class Case(NamedTuple):
    """A release; attributes are as in the theorems, all outcomes share the budget."""

    theorem: int
    n: int
    d: int
    l: int  # noqa: E741
    epsilon: float
    seed: int = 1

    @property
    def protection(self):
        return THEOREMS[self.theorem][1]

    @property
    def request(self):
        terms = {
            "rows": "haplotypes",
            "unit": "haplotype",
            "neighbours": "replace-one",
            "accounting": "paper",
        }
        terms |= {"n_variants": self.d, "n_outcomes": self.l, "outcome_bound": B, "gram_share": 0.5}
        terms |= {"epsilon": self.epsilon, "delta": DELTA, "protection": self.protection}
        if self.theorem != 6:
            return PrivacyRequest(**terms)
        return SketchRequest(**terms, n_units=self.n, n_chosen=round(self.n * SKETCH_SHARE))

    def setting(self, weights_norm):
        return Setting(
            n_rows=self.n,
            n_variants=self.d,
            n_outcomes=self.l,
            row_norm=math.sqrt(self.d) / 2,
            outcome_bound=B,
            weights_norm=weights_norm,
        )

    def bound(self, weights_norm):
        setting, request = self.setting(weights_norm), self.request
        gram_sd, cross_sd = request.noise_sd["gram"], request.noise_sd["cross"]
        if self.theorem == 1:
            return gauss_excess(setting, gram_sd=gram_sd, cross_sd=cross_sd)
        if self.theorem == 3:
            return feature_excess(setting, gram_sd=gram_sd, cross_sd=cross_sd)
        if self.theorem == 4:
            return label_excess(setting, cross_sd=cross_sd)
        scaled = gram_sd / request.sampling_rate
        return sketch_excess(setting, n_chosen=request.n_chosen, gram_sd=scaled, cross_sd=cross_sd)


@cache
def cohort(n, d, count, variance, seed):
    """Simulate haplotypes of one allele frequency p, p (1 - p) = variance, and outcomes within B."""
    draws = generator(seed, "primo bounds", n, d, count)
    frequency = (1 - math.sqrt(1 - 4 * variance)) / 2
    alleles = draws.random((d, n)) < frequency
    effects = draws.standard_normal((count, d)) / math.sqrt(d)
    Y = effects @ (alleles - 0.5) + draws.uniform(-B / 2, B / 2, (count, n))
    Y = grid_outcomes(Y, bound=B)
    bits = pack(alleles)
    terms = {"n_haplotypes": n, "rows": "haplotypes"}
    return bits, Y, gram(bits, **terms), cross_product(bits, Y, **terms)


def release(case, bits, Y, G, V):
    """Release the statistics of a case by its mechanism; return X'X and X'Y, projected where it says so."""
    request, noise = case.request, BenchmarkNoise(case.seed, "primo bounds", *case)
    if case.theorem == 6:
        is_chosen = noise.sample_without_replacement(case.n, name="sketch", n_chosen=request.n_chosen)
        noisy = private_sketch(bits, V, is_chosen, n_haplotypes=case.n, request=request, noise=noise)
        return noisy.gram[:-1, :-1], noisy.cross
    noisy = private_statistics(G, V, case.n, request=request, noise=noise)
    matrix, cross = noisy.gram[:-1, :-1], noisy.cross
    if case.theorem == 3:
        cross = project_feature(cross, Y * OUTCOME_STEP, math.sqrt(case.n) / 2)
    if case.theorem == 4:
        cross = project_label(cross, matrix, B * math.sqrt(case.n))
    return matrix, cross


def measure(case, *, is_near):
    """Measure a case.

    Parameters
    ----------
    case : Case
    is_near : bool, whether the eigenvalues of X'X are as near to the penalty as haplotypes let them be, where
        the theorems lose least; else alleles are common, and the eigenvalues as large as can be.

    Returns
    -------
    dict of float: the excess, its bound, its order by Table 1, and what the weights 0 have; where X'Y is
    projected, its mean squared error with bound, and without a projection.
    """
    near = case.bound(math.sqrt(case.l)).penalty / case.n
    bits, Y, G, V = cohort(case.n, case.d, case.l, min(1 / 4, near) if is_near else 1 / 4, case.seed)
    exact, cross = G[:-1, :-1] * GRAM_STEP, V[:, :-1] * CROSS_STEP
    best = ridge_weights(exact, cross, case.n, penalty=0.0)
    bound = case.bound(np.linalg.norm(best))
    matrix, moved = release(case, bits, Y, G, V)
    weights = ridge_weights(matrix, moved, case.n, penalty=bound.penalty / case.n)
    setting = case.setting(np.linalg.norm(best))
    found = {
        "measured": _square(weights - best, exact) / (case.n * case.l),
        "bound": bound.excess,
        "order": leading_excess(case.protection, setting, epsilon=case.epsilon),
        "nothing": _square(best, exact) / (case.n * case.l),
    }
    if case.theorem in (3, 4):
        entries, sd = case.d * case.l, case.request.noise_sd["cross"]
        error_bound = projection_error(setting, protection=case.protection, cross_sd=sd)
        found |= {"error": np.square(moved - cross).sum() / entries, "unprojected": sd**2}
        found["error_bound"] = error_bound / entries
    return found


def along(theorem, axis, *, is_near, n_seeds):
    """Measure along an axis: a dict of arrays, means over seeds, and how often a bound failed."""
    rows, n_failed = [], 0
    for value in AXES[axis]:
        cases = [Case(theorem, **BASE | {axis: value}, seed=seed) for seed in range(1, n_seeds + 1)]
        found = [measure(case, is_near=is_near) for case in cases]
        n_failed += sum(one["measured"] > one["bound"] for one in found)
        n_failed += sum(one["error"] > one["error_bound"] for one in found if "error" in one)
        rows.append({name: np.mean([one[name] for one in found]) for name in found[0]})
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}, n_failed


def rows_needed(case, *, share=1 / 4):
    """Return the least n, to 1 %, at which the bound is below what the weights 0 lose, here `share`."""
    few, many = 8.0, 16.0  # a sample of one row
    while case._replace(n=round(many)).bound(math.sqrt(case.l)).excess > share:
        few, many = many, 2 * many
    while many / few > 1.01:
        middle = math.sqrt(few * many)
        is_vacuous = case._replace(n=round(middle)).bound(math.sqrt(case.l)).excess > share
        few, many = (middle, many) if is_vacuous else (few, middle)
    return many


def slope(axis, values):
    """Return the exponent of the axis in values, by least squares on logarithms."""
    return np.polyfit(np.log(AXES[axis]), np.log(values), 1)[0]


def main(n_seeds=3):
    """Print the tables."""
    excess, projection, n_failed = [], [], 0
    for theorem, (name, _) in THEOREMS.items():
        for axis, is_near in [*((axis, True) for axis in AXES), ("n", False)]:
            found, failed = along(theorem, axis, is_near=is_near, n_seeds=n_seeds)
            n_failed += failed
            case = [f"{theorem}, {name}", f"{axis}, {_ends(AXES[axis])}"]
            slopes = [f"{slope(axis, found[key]):.2f}" for key in ("measured", "bound", "order")]
            excess.append([*case, "near" if is_near else "far"])
            excess[-1] += [_ends(found["measured"]), _ends(found["bound"])]
            excess[-1] += [_ends(found["bound"] / found["measured"]), *slopes]
            excess[-1] += [f"{np.sum(found['bound'] > found['nothing'])} of {len(AXES[axis])}"]
            if theorem == 6:
                excess[-1][-2] = ""  # not in Table 1
            if is_near and "error" in found:
                left = found["error"] / found["unprojected"]
                projection.append([f"2, {name}", case[1], _ends(found["error_bound"] / found["error"])])
                projection[-1] += [f"{slope(axis, found[key]):.2f}" for key in ("error", "error_bound")]
                projection[-1] += [", ".join(f"{value:.2f}" for value in left)]
    head = ["theorem", "axis", "eigenvalues", "measured", "bound", "bound/measured"]
    print(*_in_markdown([*head, "its slope", "of the bound", "of Table 1", "vacuous"], excess), "", sep="\n")
    head = ["theorem", "axis", "bound/measured", "its slope", "of the bound", "share of the noise left"]
    print(*_in_markdown(head, projection), "", sep="\n")
    needed = []
    for count in PAPER_COUNTS:
        for theorem, (name, _) in THEOREMS.items():
            case = Case(theorem, PAPER_ROWS, PAPER_VARIANTS, count, PAPER_EPSILON)
            bound = case.bound(math.sqrt(count)).excess
            needed.append([f"{theorem}, {name}", str(count), f"{bound:.2g}", f"{rows_needed(case):.1e}"])
    head = ["theorem", "outcomes", f"bound at {PAPER_ROWS} rows", "rows needed"]
    print(*_in_markdown(head, needed), "", sep="\n")
    print(f"Bounds that failed: {n_failed}.")


def _square(W, G):
    return float(np.sum(W @ G * W))


def _ends(values):
    first, *_, last = values
    return " to ".join(f"{end:,}" if isinstance(end, int) else f"{end:.2g}" for end in (first, last))


def _in_markdown(head, rows):
    yield f"| {' | '.join(head)} |"
    yield "| --- " * len(head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main()
