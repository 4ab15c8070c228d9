"""PRIMO's accuracy bounds beside what ReuseCov's mechanisms do, on simulated haplotypes.

Everything is as the theorems suppose it, with the penalty of the bound, which depends on private weights.
"""

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from dpgrs.genotypes.bits import pack
from dpgrs.linalg.coding import CROSS_STEP, GRAM_STEP, OUTCOME_STEP
from dpgrs.linalg.linear_fit import ridge_weights
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.projection import project_feature, project_label
from dpgrs.linalg.statistics import cross_product, gram
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import private_statistics
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.public_random import generator
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import PALETTE
from dpgrs.types import Protection
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.experiments.primo_formulas import (
    Bound,
    Setting,
    feature_excess,
    gauss_excess,
    label_excess,
    leading_excess,
    projection_error,
    sketch_excess,
)
from dpgrs_papers.methods.sketch import SketchRequest, private_sketch

B, DELTA, SKETCH_SHARE = 1.0, 1e-6, 1 / 8
PAPER = "outcomes at the paper's size"
# A theorem: its name and its protection. Each is a part of the experiment, `theorem_1` and so on.
THEOREMS = {
    1: ("Gauss", Protection.FULL),
    3: ("feature", Protection.FEATURE),
    4: ("label", Protection.LABEL),
    6: ("sketch", Protection.FULL),
}
# Weights of 0 lose this at the number of rows of the paper.
NOTHING = 1 / 4


class Case(NamedTuple):
    """A release; attributes are as in the theorems, all outcomes share the budget."""

    theorem: int
    n: int
    d: int
    l: int  # noqa: E741
    epsilon: float
    seed: int = 1

    @property
    def protection(self) -> Protection:
        return THEOREMS[self.theorem][1]

    @property
    def request(self) -> PrivacyRequest:
        fields = {
            "rows": "haplotypes",
            "unit": "haplotype",
            "neighbours": "replace-one",
            "accounting": "paper",
        }
        fields |= {"n_variants": self.d, "n_outcomes": self.l, "outcome_bound": B, "gram_share": 0.5}
        fields |= {"epsilon": self.epsilon, "delta": DELTA, "protection": self.protection}
        if self.theorem != 6:
            return PrivacyRequest(**fields)
        return SketchRequest(**fields, n_units=self.n, n_chosen=round(self.n * SKETCH_SHARE))

    def setting(self, weights_norm: float) -> Setting:
        return Setting(
            n_rows=self.n,
            n_variants=self.d,
            n_outcomes=self.l,
            row_norm=math.sqrt(self.d) / 2,
            outcome_bound=B,
            weights_norm=weights_norm,
        )

    def bound(self, weights_norm: float) -> Bound:
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
def cohort(n: int, d: int, count: int, variance: float, seed: int) -> tuple[np.ndarray, ...]:
    """Simulate haplotypes of one allele frequency p, p (1 - p) = variance, and outcomes within B."""
    draws = generator(seed, "primo bounds", n, d, count)
    frequency = (1 - math.sqrt(1 - 4 * variance)) / 2
    alleles = draws.random((d, n)) < frequency
    effects = draws.standard_normal((count, d)) / math.sqrt(d)
    Y = effects @ (alleles - 0.5) + draws.uniform(-B / 2, B / 2, (count, n))
    Y = grid_outcomes(Y, bound=B)
    bits = pack(alleles)
    row_options = {"n_haplotypes": n, "rows": "haplotypes"}
    return bits, Y, gram(bits, **row_options), cross_product(bits, Y, **row_options)


def release(
    case: Case, bits: np.ndarray, Y: np.ndarray, G: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
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


def measure(case: Case, *, is_near: bool) -> dict[str, float]:
    """Measure the excess of a case beside its bound, its order by Table 1, and the excess of weights of 0.

    If X'Y is projected, also its mean squared error, the bound on it, and the error without a projection.
    With `is_near` the eigenvalues of X'X are as near to the penalty as haplotypes let them be, where the
    theorems lose least; else alleles are common, and the eigenvalues as large as can be.
    """
    near = case.bound(math.sqrt(case.l)).penalty / case.n
    bits, Y, G, V = cohort(case.n, case.d, case.l, min(1 / 4, near) if is_near else 1 / 4, case.seed)
    exact, cross = G[:-1, :-1] * GRAM_STEP, V[:, :-1] * CROSS_STEP
    best = ridge_weights(exact, cross, case.n, penalty=0.0)
    bound = case.bound(np.linalg.norm(best))
    matrix, moved = release(case, bits, Y, G, V)
    weights = ridge_weights(matrix, moved, case.n, penalty=bound.penalty / case.n)
    setting = case.setting(np.linalg.norm(best))
    measures = {
        "measured": _square(weights - best, exact) / (case.n * case.l),
        "bound": bound.excess,
        "order": leading_excess(case.protection, setting, epsilon=case.epsilon),
        "nothing": _square(best, exact) / (case.n * case.l),
    }
    if case.theorem in (3, 4):
        entries, sd = case.d * case.l, case.request.noise_sd["cross"]
        error_bound = projection_error(setting, protection=case.protection, cross_sd=sd)
        measures |= {"error": np.square(moved - cross).sum() / entries, "unprojected": sd**2}
        measures["error_bound"] = error_bound / entries
    return measures


def rows_needed(case: Case, *, share: float = NOTHING) -> float:
    """Return the least n, to 1 %, at which the bound is below what the weights 0 lose, here `share`."""
    few, many = 8.0, 16.0  # a sample of one row
    while case._replace(n=round(many)).bound(math.sqrt(case.l)).excess > share:
        few, many = many, 2 * many
    while many / few > 1.01:
        middle = math.sqrt(few * many)
        is_vacuous = case._replace(n=round(middle)).bound(math.sqrt(case.l)).excess > share
        few, many = (middle, many) if is_vacuous else (few, middle)
    return many


def run_replicate(theorem_name: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Measure a theorem along every axis; the first replicate also asks what it says at the paper's size."""
    theorem, base = int(theorem_name.removeprefix("theorem_")), settings["base"]
    axis_cases = [(axis, True) for axis in settings["axes"]] + [("n", False)]
    rows = []
    for axis, is_near in axis_cases:
        for size in settings["axes"][axis]:
            case = Case(theorem, **base | {axis: size}, seed=settings["seed"] + replicate - 1)
            labels = {"axis": axis, "value": size, "eigenvalues": "near" if is_near else "far"}
            rows.append(labels | measure(case, is_near=is_near))
    paper = settings["paper"]
    for count in paper["l"] if replicate == 1 else ():
        case = Case(theorem, paper["n"], paper["d"], count, paper["epsilon"])
        labels = {"axis": PAPER, "value": count, "bound": case.bound(math.sqrt(count)).excess}
        rows.append(labels | {"nothing": NOTHING, "rows_needed": rows_needed(case)})
    return rows


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return means over replicates, and in how many of them a bound failed."""
    failed = (rows["measured"] > rows["bound"]).astype(int)
    failed += (rows["error"] > rows["error_bound"]).astype(int) if "error" in rows else 0
    keys = ["part", "axis", "value", "eigenvalues"]
    means = rows.assign(failed=failed).groupby(keys, sort=False, dropna=False)
    table = means.mean(numeric_only=True).drop(columns="replicate")
    return table.assign(failed=means["failed"].sum().to_numpy()).reset_index()


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return along every axis the bound beside the measured excess, and how both grow."""
    lines = []
    for (theorem_name, axis, kind), axis_rows in table.groupby(
        ["part", "axis", "eigenvalues"], sort=False, dropna=False
    ):
        theorem = int(theorem_name.removeprefix("theorem_"))
        line = {"theorem": f"{theorem}, {THEOREMS[theorem][0]}"}
        if axis == PAPER:
            size = "at n = {n}, d = {d}, epsilon {epsilon:g}".format(**settings["paper"])
            lines += [
                line
                | {
                    "axis": f"l = {paper_row.value:g} {size}",
                    "bound": f"{paper_row.bound:.2g}",
                    "vacuous": f"up to n = {paper_row.rows_needed:.1e}",
                }
                for paper_row in axis_rows.itertuples()
            ]
            continue
        line |= {"axis": f"{axis}, {_ends(axis_rows['value'])}", "eigenvalues": kind}
        line |= {"measured": _ends(axis_rows["measured"]), "bound": _ends(axis_rows["bound"])}
        line["bound/measured"] = _ends(axis_rows["bound"] / axis_rows["measured"])
        slopes = {"its slope": "measured", "of the bound": "bound", "of Table 1": "order"}
        line |= {name: f"{slope(axis_rows, column):.2f}" for name, column in slopes.items()}
        if theorem == 6:
            line["of Table 1"] = ""  # which has no sketch
        line["vacuous"] = f"{(axis_rows['bound'] > axis_rows['nothing']).sum()} of {len(axis_rows)}"
        if theorem in (3, 4):
            left = axis_rows["error"] / axis_rows["unprojected"]
            line["noise left by the projection"] = ", ".join(f"{share:.2f}" for share in left)
            line["its bound/measured"] = _ends(axis_rows["error_bound"] / axis_rows["error"])
        lines.append(line)
    return pd.DataFrame(lines).fillna("")


def slope(axis_rows: pd.DataFrame, column: str) -> float:
    """Return the exponent of an axis in a column, by least squares on logarithms."""
    return np.polyfit(np.log(axis_rows["value"].astype(float)), np.log(axis_rows[column].astype(float)), 1)[0]


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw bound and measured excess against rows."""
    figure, ((axis,),) = new_figure(420, 210, left=52, right=10, top=12, bottom=64)
    near_rows = table[(table["axis"] == "n") & (table["eigenvalues"] == "near")]
    for colour, (theorem_name, rows) in zip(PALETTE, near_rows.groupby("part", sort=False), strict=False):
        name = THEOREMS[int(theorem_name.removeprefix("theorem_"))][0]
        axis.plot(rows["value"], rows["measured"], color=colour, marker="o", markersize=3, label=name)
        axis.plot(rows["value"], rows["bound"], "--", color=colour, label=f"{name}, bound")
    axis.set(xscale="log", yscale="log", xlabel="rows", ylabel="excess squared error")
    ticks = settings["axes"]["n"]
    axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.set_yticks([0.001, 0.01, 0.1, 1, 10], ["0.001", "0.01", "0.1", "1", "10"])
    axis.minorticks_off()
    figure.legend(*axis.get_legend_handles_labels(), loc="lower center", ncols=4, fontsize=7)
    return {"excess": Drawing(figure, "Excess error, and what the theorems bound it by, against rows.")}


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Hold that no bound fails, and say how far they are from the measured excess."""
    measured_rows = table[table["axis"] != PAPER]
    ratio, n_failed = measured_rows["bound"] / measured_rows["measured"], int(measured_rows["failed"].sum())
    ratios_in_words = f"bounds are {ratio.min():.0f} to {ratio.max():.0f} times what is measured"
    if n_failed:
        return Verdict.WITH_DIFFERENCE, f"{ratios_in_words}, and failed {n_failed} times."
    paper = table[table["axis"] == PAPER]
    n_vacuous = int((paper["bound"] > paper["nothing"]).sum())
    where = f"of {len(paper)} cases of the paper's size they say nothing in {n_vacuous}"
    return Verdict.REPRODUCED, f"no bound failed; {ratios_in_words}, and {where}."


def _square(W: np.ndarray, G: np.ndarray) -> float:
    return float(np.sum(W @ G * W))


def _ends(values: pd.Series) -> str:
    first, last = values.iloc[0], values.iloc[-1]
    return " to ".join(f"{end:,.0f}" if end >= 100 else f"{end:.2g}" for end in (first, last))


EXPERIMENT = Experiment(
    paper="PRIMO (arXiv 2303.04195)",
    shows="Table 1, Theorems 1 to 4 and 6",
    choices=(
        "Formulas are lost in our copy: bounds are derived anew, along the steps that its words describe.",
        "Near: eigenvalues of X'X are about the penalty, where the proof loses least; far: common alleles.",
        "A bound is vacuous where weights of 0 are below it.",
    ),
)
