"""Theorems of the two screening papers, each formula beside its measurement
(docs/measurements/screening_theorems.md).

DPKendall is arXiv 2306.00920, DP-SIS arXiv 2408.10862. Seeds are public, and each part is a claim.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.special import digamma

from dpgrs.privacy.digests import data_digest
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.public_random import generator
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import MUTED, PALETTE
from dpgrs.selection.dp_kendall import KendallRequest, TablePairs, private_kendall
from dpgrs.selection.greedy_kendall import greedy_kendall
from dpgrs.selection.merge_sort import sign_scores
from dpgrs.types import PairKernel, Rows, Selection
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.selection.dp_sis import SisRequest, SisScores, private_sis

ETA = 0.05
SCORE_STEP = 2.0**-20
UNEQUAL = (1.0, 0.2, 0.2)
# In standard deviations: a right formula is so far off once in two million rows.
FAR = 5.0
# This many times Theorem 3.8's rows are enough where it holds: its constant is not stated.
ENOUGH = 20


def arctan_law(beta: Sequence[float], sigma: Any, noise: float) -> np.ndarray:
    """Lemma 3.5: tau of each feature with an outcome that is linear in independent normal features."""
    signals = np.asarray(beta) * sigma
    rest_sd = np.sqrt(np.sum(signals**2) - signals**2 + noise**2)
    return 2 / np.pi * np.arctan(signals / rest_sd)


def tau_error(tau: float, n: int) -> float:
    """Return the standard deviation of Kendall's tau of n normal pairs (Esscher 1924)."""
    half = 2 / np.pi * np.arcsin(np.sin(np.pi * tau / 2) / 2)
    return np.sqrt(2 / (n * (n - 1)) * (1 - tau**2 + 2 * (n - 2) * (1 / 9 - half**2)))


def linear_model(
    rng: Generator,
    n: int,
    *,
    beta: Sequence[float],
    noise: float,
    sigma: Any = 1.0,
    copies: int = 0,
    n_unrelated: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw features X_1, ..., X_k, copies of each, and unrelated ones; the outcome; and causes.

    Features are (n_features, n); causes are the j of X_j or its copy, -1 for unrelated features.
    """
    k = len(beta)
    X = rng.standard_normal((k, n)) * np.reshape(sigma, (-1, 1))
    y = np.asarray(beta) @ X + noise * rng.standard_normal(n)
    causes = np.concatenate([np.tile(np.arange(k), 1 + copies), np.full(n_unrelated, -1)])
    return np.vstack([np.tile(X, (1 + copies, 1)), rng.standard_normal((n_unrelated, n))]), y, causes


def choose(
    features: np.ndarray,
    y: np.ndarray,
    k: int,
    *,
    epsilon: float | None = None,
    law: Selection = Selection.GUMBEL,
    seed: int = 0,
) -> np.ndarray:
    """Choose by DPKendall; no epsilon chooses by the exact scores."""
    pairs = TablePairs(features, y)
    if epsilon is None:
        return greedy_kendall(pairs, n_choices=k)
    kernels = {"against_outcome": PairKernel.SIGN, "against_feature": PairKernel.SIGN}
    request = KendallRequest(n_choices=k, epsilon=epsilon, law=law, **kernels)
    noise = BenchmarkNoise(seed).on(data_digest(features, y))
    return private_kendall(pairs, request=request, noise=noise)[0]


def is_recovered(chosen: np.ndarray, causes: np.ndarray) -> bool:
    """Whether each X_j, or a copy of it, was chosen once: the claim of Theorem 3.8."""
    return sorted(causes[chosen]) == list(range(len(chosen)))


def is_copied(chosen: np.ndarray, causes: np.ndarray) -> bool:
    """Whether X_1, or a copy of it, was chosen first and third."""
    return causes[chosen[0]] == causes[chosen[2]] == 0


def shares(
    is_so: Callable, n: int, k: int, laws: Iterable[dict], *, seed: int, repeats: int, **model: Any
) -> np.ndarray:
    """Return for each law the share of data sets in which is_so(chosen, causes)."""
    verdicts = []
    for repeat in range(repeats):
        features, y, causes = linear_model(generator(seed, "theorems", n, repeat), n, **model)
        verdicts.append([is_so(choose(features, y, k, seed=repeat, **law), causes) for law in laws])
    return np.mean(verdicts, axis=0)


def rows_needed(k: int, d: int, epsilon: float, angle: float) -> float:
    """Theorem 3.8's number of rows, without its constant; `angle` is the smallest |arctan|."""
    return k * math.log(d * k / ETA) / (epsilon * angle)


def row(
    case: str,
    stated: float,
    measured: float,
    *,
    holds: bool | None = None,
    law: str = "exact",
    **more: float | str,
) -> dict:
    """Return a row of a claim: the stated and the measured number, and whether the claim holds.

    `holds` is None where the paper claims nothing of the case. `more` are columns of only this claim.
    """
    holds = "" if holds is None else "yes" if holds else "no"
    return {"case": case, "law": law, "stated": stated, "measured": measured, "holds": holds, **more}


def arctan(settings: dict, rng: Generator) -> list[dict]:
    """Lemma 3.5, the arctan law."""
    n, rows = settings["rows"], []
    models = [((1, 1, 1), 1, 1), (UNEQUAL, 1, 0.1), ((1, -0.5, 0.02), 1, 1)]
    models += [((1, 1), (30, 1), 1), ((0.1, 2), (10, 0.5), 3)]
    for beta, sigma, noise in models:
        features, y, _ = linear_model(rng, n, beta=beta, sigma=np.broadcast_to(sigma, len(beta)), noise=noise)
        measured = sign_scores(features, y) / (n * (n - 1) / 2)
        for number, tau in enumerate(arctan_law(beta, sigma, noise)):
            apart = (measured[number] - tau) / tau_error(tau, n)
            case = f"beta {beta}, sigma {sigma}, sigma_e {noise}: X_{number + 1}"
            rows.append(row(case, tau, measured[number], holds=abs(apart) < FAR, apart_in_sd=apart))
    return rows


def concentration(settings: dict, rng: Generator) -> list[dict]:
    """Lemma 3.6, how far Kendall's tau^ is from n/2 tau; beside it what Hoeffding's inequality gives."""
    rows = []
    for n, beta in product(settings["sample_sizes"], (0.0, 1.0)):
        tau = float(arctan_law([beta], 1, 1)[0])
        features = rng.standard_normal((settings["repeats"], n))
        outcomes = beta * features + rng.standard_normal(features.shape)
        scores = [sign_scores(x[np.newaxis], y).item() for x, y in zip(features, outcomes, strict=True)]
        apart = np.abs(np.array(scores) / (n - 1) - n / 2 * tau)
        root, quantile = math.sqrt(n * math.log(2 / ETA)), np.quantile(apart, 1 - ETA)
        stated = math.sqrt(8) * root
        more = {"hoeffding": root, "largest": apart.max()}
        rows.append(row(f"n = {n}, tau = {tau:.2g}", stated, quantile, holds=quantile <= stated, **more))
    return rows


def gumbel(settings: dict, rng: Generator) -> list[dict]:
    """Lemma 3.7, the largest of d draws of Gumbel noise, in units of b."""
    rows = []
    for d, eta in product((1, 10, 1_000), (0.5, ETA)):
        bound = math.log(2 * d / eta)
        chance = 1 - (math.exp(-math.exp(-bound)) - math.exp(-math.exp(bound))) ** d
        beyond = [np.abs(rng.gumbel(size=d)).max() > bound for _ in range(10 * settings["repeats"])]
        case = f"d = {d}, eta = {eta}: beyond {bound:.4g} b"
        rows.append(row(case, eta, np.mean(beyond), holds=chance <= eta, law="gumbel", chance=chance))
    return rows


def recovery(settings: dict, rng: Generator) -> list[dict]:
    """Theorem 3.8 where effects are equal: how often each X_j is chosen once, as X_j or as a copy."""
    beta, copies, n_unrelated, repeats = (1.0, 1.0, 1.0), 2, 3, max(settings["repeats"] // 5, 1)
    k, d, rows = len(beta), len(beta) * (1 + copies) + n_unrelated, []
    theorem_rows = rows_needed(k, d, 1.0, math.pi / 2 * min(arctan_law(beta, 1, 1)))
    laws = {"exact": {}} | {law.value: {"epsilon": 1.0, "law": law} for law in Selection}
    model = {"beta": beta, "noise": 1, "copies": copies, "n_unrelated": n_unrelated}
    for n in (30, 100, 300, 1_000, 3_000):
        measured_shares = shares(
            is_recovered, n, k, laws.values(), seed=settings["seed"], repeats=repeats, **model
        )
        for law, share in zip(laws, measured_shares, strict=True):
            holds = share >= 1 - ETA if n > ENOUGH * theorem_rows else None
            case = f"n = {n}, {n / theorem_rows:.2g} times the theorem's rows"
            rows.append(row(case, 1 - ETA, share, holds=holds, law=law, times_rows=n / theorem_rows))
    return rows


def counterexample(settings: dict, rng: Generator) -> list[dict]:
    """Theorem 3.8 where effects are unequal: a third choice that is a copy of the first."""
    repeats, laws, rows = max(settings["repeats"] // 200, 2), {"exact": {}, "gumbel": {"epsilon": 1.0}}, []
    most = settings["rows"]
    cases = [(n, UNEQUAL[1], 0.1) for n in (most // 100, most // 10, most)]
    cases += [(most, UNEQUAL[1], noise) for noise in (0.6, 0.8)]
    cases += [(most, b, 0.1) for b in (0.3, 0.4)]
    for n, b, noise in cases:
        largest, smallest, _ = arctan_law((1, b, b), 1, noise)
        model = {"beta": (1, b, b), "noise": noise, "copies": 2}
        measured_shares = shares(
            is_copied, n, 3, laws.values(), seed=settings["seed"], repeats=repeats, **model
        )
        more = {"score_of_copy": largest - 1 / 2, "score_of_third": smallest}
        case = f"n = {n}, beta (1, {b}, {b}), sigma_e {noise}: a copy is third"
        rows += [
            row(case, ETA, share, holds=share <= ETA, law=law, **more)
            for law, share in zip(laws, measured_shares, strict=True)
        ]
    return rows


def root(settings: dict, rng: Generator) -> list[dict]:
    """Theorem 3.8's rows where effects are weak, and the rows with the term that its last step leaves out."""
    k, copies, n_unrelated, epsilon, repeats = 2, 1, 6, 10.0, max(settings["repeats"] // 40, 2)
    d, laws, rows = k * (1 + copies) + n_unrelated, {"exact": {}, "gumbel": {"epsilon": epsilon}}, []
    for angle in settings["angles"]:
        beta = np.full(k, math.tan(angle) / math.sqrt(1 - (k - 1) * math.tan(angle) ** 2))
        model = {"beta": beta, "noise": 1, "copies": copies, "n_unrelated": n_unrelated}
        few = math.ceil(30 * rows_needed(k, d, epsilon, angle))
        many = few + math.ceil(4 * math.log(d * k / ETA) / angle**2)
        for n, rule in ((few, "30 times the theorem's rows"), (many, "with the term that is left out")):
            measured_shares = shares(
                is_recovered, n, k, laws.values(), seed=settings["seed"], repeats=repeats, **model
            )
            for law, share in zip(laws, measured_shares, strict=True):
                holds = share >= 1 - ETA if n == few else None
                case = f"min arctan {angle}, n = {n}, {rule}"
                rows.append(row(case, 1 - ETA, share, holds=holds, law=law, angle=angle, rule=rule))
    return rows


def set_chances(gap: float, gamma: float, sets: float) -> tuple[float, float]:
    """Return the bound of Theorem 4.1, and the exact chance where all sets but the best are equally good.

    `gap` is xi epsilon; `sets` is C(d, k), or another number by a reading of the theorem.
    """
    miss = math.exp(-gamma * gap / 2)
    return max(1 - sets * miss, 0.0), -math.expm1(sets * math.log1p(-miss)) / (sets * miss)


def top_sets(settings: dict, rng: Generator) -> list[dict]:
    """Theorem 4.1 of DP-SIS, the chance that the chosen set has the k highest scores."""
    d, k, rows = 100, 5, []
    sets = math.comb(d, k)
    level = [("level", 0.5, 4 * math.log(sets / (1 - level_bound))) for level_bound in (0.0, 0.5, 0.9, 0.99)]
    for kind, gamma, gap in [*level, *product(["steps"], (0.25, 0.5, 0.75, 0.95), (5, 10))]:
        scores = gap * (np.arange(d) < k) if kind == "level" else -gap * np.arange(d)
        units = SisScores(np.rint(scores / SCORE_STEP).astype(np.int64), SCORE_STEP, 1.0, 1.0, Rows.PEOPLE)
        request = SisRequest(epsilon=1.0, n_choices=k, gamma=gamma)
        noises = [BenchmarkNoise(settings["seed"], "sets", number) for number in range(settings["repeats"])]
        share = np.mean([private_sis(units, request=request, noise=noise)[0][-1] < k for noise in noises])
        (bound, exact), (other, _) = (
            set_chances(gap, gamma, n_sets) for n_sets in (sets, sets / k ** (2 * k))
        )
        more = {"other_reading": other} | ({"chance": exact} if kind == "level" else {})
        error = math.sqrt(bound * (1 - bound) / len(noises))
        case = f"{kind}, gamma {gamma}, xi epsilon {gap:.4g}"
        rows.append(row(case, bound, share, holds=share >= bound - FAR * error, law="sis", **more))
    return rows


def harmonic(settings: dict, rng: Generator) -> list[dict]:
    """Theorem A.3 of DP-SIS, the mean of -log(1 - U^(1/m)), also as float64 takes it word for word."""
    rows = []
    for m in (1, 10, 1_000, math.comb(98, 4), math.comb(99, 4), math.comb(22_282, 9)):
        U = rng.random(1_000 * settings["repeats"])
        noise = -np.log(-np.expm1(np.log(U) / m))
        with np.errstate(divide="ignore"):
            literal = -np.log(1 - U ** (1 / m))
        stated, error = digamma(float(m) + 1) + np.euler_gamma, noise.std() / math.sqrt(len(U))
        more = {"standard_error": error, "infinite_literally": np.mean(np.isinf(literal))}
        holds = abs(noise.mean() - stated) < FAR * error
        rows.append(row(f"m = {m:.6g}", stated, noise.mean(), holds=holds, law="sis", **more))
    return rows


ORDER = arctan, concentration, gumbel, recovery, counterexample, root, top_sets, harmonic
CLAIMS = {claim.__name__: claim for claim in ORDER}


def run_replicate(claim_name: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Return the rows of a claim."""
    return CLAIMS[claim_name](settings, generator(settings["seed"], "theorems", claim_name, replicate))


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return all rows as they are: numbers differ from claim to claim."""
    return rows


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return the stated and measured numbers of every claim, and whether it holds."""
    claims = {name: claim.__doc__.partition(",")[0].partition(":")[0] for name, claim in CLAIMS.items()}
    shown = table[["case", "law", "stated", "measured", "holds"]]
    return pd.concat([table["part"].map(claims).rename("claim"), shown], axis=1).fillna("")


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw how often Theorem 3.8 is true, where effects are equal and where they are weak."""
    figure, ((equal, weak),) = new_figure(
        480, 190, left=40, right=10, top=20, bottom=64, ncols=2, sharey=True
    )
    recovery_rows = table[table["part"] == "recovery"]
    for colour, (law, rows) in zip(PALETTE, recovery_rows.groupby("law", sort=False), strict=False):
        equal.plot(rows["times_rows"], rows["measured"], color=colour, marker="o", markersize=3, label=law)
    root_rows = table[(table["part"] == "root") & (table["law"] == "exact")]
    styles = ("-", "--")
    for style, (rule, rows) in zip(styles, root_rows.groupby("rule", sort=False), strict=False):
        weak.plot(
            rows["angle"], rows["measured"], style, color=PALETTE[3], marker="o", markersize=3, label=rule
        )
    of_weak = "weak effects, exact scores"
    for axis, title, ticks in ((equal, "equal effects", (1, 10, 100)), (weak, of_weak, (0.02, 0.1, 0.5))):
        axis.axhline(1 - ETA, color=MUTED, linewidth=0.8)
        axis.set(xscale="log", ylim=(0, 1.03), title=title)
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
    equal.set(xlabel="n over the theorem's", ylabel="one of each group chosen")
    weak.set(xlabel="smallest arctan")
    lines = [*equal.get_legend_handles_labels()[0], *weak.get_legend_handles_labels()[0]]
    figure.legend(lines, [line.get_label() for line in lines], loc="lower center", ncols=3, fontsize=7)
    return {
        "theorem_3_8": Drawing(figure, "How often the claim of Theorem 3.8 is true; the line is 1 - eta.")
    }


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Hold every claim: Theorem 3.8 is known to fail for unequal and for weak effects."""
    failed = [name for name in CLAIMS if (table.loc[table["part"] == name, "holds"] == "no").any()]
    unexpected = [name for name in failed if name not in ("counterexample", "root")]
    if unexpected:
        return Verdict.WITH_DIFFERENCE, f"not within the bounds stated: {', '.join(unexpected)}."
    if not failed:
        return Verdict.REPRODUCED, "every claim holds in the cases tried."
    kinds = {
        "counterexample": "unequal effects at any n",
        "root": "weak effects, where a requirement is lost",
    }
    of = " and for ".join(kinds[claim_name] for claim_name in failed)
    return Verdict.WITH_DIFFERENCE, f"all claims hold but Theorem 3.8, which is false for {of}."


EXPERIMENT = Experiment(
    paper="DPKendall (arXiv 2306.00920) and DP-SIS (arXiv 2408.10862)",
    shows="Lemmas 3.5 to 3.7, Theorems 3.8, 4.1 and A.3",
    choices=(
        "Theorem 3.8 states no constant: for equal effects it is asked to hold from 20 times its rows on.",
        "Theorem 4.1 has lost symbols in our copy; both readings are in `table.tsv`.",
    ),
)
