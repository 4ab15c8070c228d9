"""Screeners on real haplotypes: which causal variants they find, over epsilon and numbers of people."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from dpgrs.evaluation.overlap import n_shared, overlap, squared_correlations
from dpgrs.evaluation.split import row_names
from dpgrs.linalg.statistics import coded_rows
from dpgrs.methods.chosen import private_choices
from dpgrs.methods.chosen_requests import ScreeningTerms, request_of_rows
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.public_random import uniforms
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import PALETTE
from dpgrs.selection.registry import SELECTORS, chooser_of
from dpgrs.selection.screening_data import ScreeningData
from dpgrs.simulation.outcomes import simulate_outcomes
from dpgrs.types import Rows, Selection, Unit
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.haplotype_variants import make_variants
from dpgrs_papers.experiments.plots import new_figure

TERMS = {"rows": Rows.HAPLOTYPES, "unit": Unit.PERSON, "outcome_bound": 3.0, "delta": 1e-6}
# Shares of a request's epsilon: for two-stage's number of people, and for the choices.
COUNT_SHARE, SHARE = 0.05, 0.5
# Selectors, and the law of the choice, for those that take one.
COMPARED = {
    "kendall": ("kendall", Selection.PERMUTE_AND_FLIP),
    "kendall, Gumbel": ("kendall", Selection.GUMBEL),
    "sis": ("sis", Selection.PERMUTE_AND_FLIP),
    "two-stage": ("two-stage", Selection.PERMUTE_AND_FLIP),
    "sublasso": ("sublasso", Selection.PERMUTE_AND_FLIP),
    "lasso, not private": ("lasso", Selection.PERMUTE_AND_FLIP),
}
# How a causal variant is found, with titles: by columns of the table.
WAYS = {"recovered": "itself or a partner", "itself": "itself"}


def run_replicate(part_name: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Simulate outcomes on a panel of the replicate's own and choose variants by every selector."""
    key = ("genome_screening", part_name, replicate)
    with TemporaryDirectory() as folder:
        chromosomes, seed = settings["chromosomes"][part_name], settings["seed"] + replicate
        panel = make_variants(files, chromosomes, folder, size=settings["variants"], seed=seed)
        bits, samples = panel.haplotypes(), panel.sample_id
        ranks, n_haplotypes = panel.variant_rank, panel.n_haplotypes
    X = coded_rows(bits, n_haplotypes=n_haplotypes, rows=Rows.HAPLOTYPES)
    Y, effects = simulate_outcomes(
        X,
        row_id=row_names(samples, rows=Rows.HAPLOTYPES),
        variant_rank=ranks,
        n_outcomes=settings["outcomes"],
        heritability=settings["heritability"],
        causal_share=settings["causal"] / len(bits),
        seed=settings["seed"],
        key=key,
    )
    order = uniforms(settings["seed"], samples, *key, "people").argsort(kind="stable").argsort()
    rows = []
    for n_people in sorted({min(most, len(samples)) for most in settings["people"]}):
        is_taken = np.repeat(order < n_people, 2)
        values = np.where(is_taken, Y, np.nan)
        data = ScreeningData(bits, values, is_taken, n_haplotypes, Rows.HAPLOTYPES, samples)
        r2 = squared_correlations(bits, n_haplotypes=n_haplotypes, rows=Rows.HAPLOTYPES, is_training=is_taken)
        for name in COMPARED:
            for epsilon, chosen in _choices(data, name, settings, key):
                labels = {"selector": name, "people": n_people, "epsilon": epsilon}
                rows += [labels | hits for hits in _hits(chosen, effects != 0, r2)]
    exact = {(row["selector"], row["people"], row["outcome"]): row for row in rows if row["epsilon"] is None}
    for row in rows:
        of_exact = exact[row["selector"], row["people"], row["outcome"]]["chosen"]
        row["shared"] = int(n_shared([row["chosen"]], [of_exact])[0])
    return [{name: value for name, value in row.items() if name != "chosen"} for row in rows]


def _choices(
    data: ScreeningData, name: str, settings: dict, key: tuple
) -> Iterator[tuple[float | None, np.ndarray]]:
    """Yield epsilon, None of the exact choice, and the (n_outcomes, k) variants chosen."""
    (selector, law), outcomes, k = COMPARED[name], range(len(data.Y)), settings["k"]
    row = SELECTORS[selector]
    choose = chooser_of(selector).choose_exactly
    exact_options = {"n_choices": k, "outcome_bound": TERMS["outcome_bound"]}
    yield None, np.array([choose(data, number, **exact_options) for number in outcomes])
    if not row.is_private:
        return
    share = SHARE - COUNT_SHARE * row.counts_units
    screening_terms = ScreeningTerms(
        n_choices=k, share=share, selector=selector, law=law, count_share=COUNT_SHARE
    )
    for epsilon in settings["epsilon"]:
        study_request = PrivacyRequest(
            n_variants=len(data.genotypes), n_outcomes=1, epsilon=epsilon / SHARE, **TERMS
        )
        chosen, _ = private_choices(
            data,
            **request_of_rows(study_request, screening_terms).choosing,
            noise=BenchmarkNoise(settings["seed"], *key),
            outcome_names=[str(number) for number in outcomes],
        )
        yield epsilon, chosen


def _hits(chosen: np.ndarray, is_causal: np.ndarray, r2: np.ndarray) -> Iterator[dict]:
    """Yield what the choice of each outcome hits."""
    counts = overlap(chosen, is_causal, r2)
    for number, variants in enumerate(chosen):
        hits = {name: int(values[number]) for name, values in counts._asdict().items()}
        yield {"outcome": number + 1, "n_causal": int(is_causal[number].sum()), "chosen": variants} | hits


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return means over outcomes and replicates: shares of the causal variants and of the exact choice.

    `recovered` is the share of the causal variants that are chosen or have a partner that is, `itself` of
    those that are chosen, `hit` the share of the choices that are one of either.
    """
    rows = rows[rows["n_causal"] > 0].copy()
    rows["recovered"] = rows["found"] / rows["n_causal"]
    rows["itself"] = rows["causal"] / rows["n_causal"]
    rows["hit"] = rows["near"] / settings["k"]
    rows["shared"] /= settings["k"]
    keys = ["part", "selector", "people", "epsilon"]
    grouped = rows.groupby(keys, sort=False, dropna=False)[["recovered", "itself", "hit", "shared"]]
    table = grouped.mean().join(grouped.sem().add_suffix("_error")).reset_index()
    return table.sort_values(["part", "people", "selector", "epsilon"], na_position="last", kind="stable")


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return the share of causal variants found, by themselves and only by a partner.

    The last column is, at the largest epsilon, the share of the exact choice.
    """
    most, rows = max(settings["epsilon"]), []
    for (part_name, n_people, name), selector_rows in table.groupby(
        ["part", "people", "selector"], sort=False
    ):
        row = {"variants of": part_name, "people": n_people, "selector": name}
        for selector_row in selector_rows.itertuples():
            at = "without noise" if np.isnan(selector_row.epsilon) else f"epsilon {selector_row.epsilon:g}"
            by_partner = selector_row.recovered - selector_row.itself
            row[at] = f"{selector_row.itself:.2f} + {by_partner:.2f} ± {selector_row.recovered_error:.2f}"
        same = selector_rows.loc[selector_rows["epsilon"] == most, "shared"].map("{:.2f}".format)
        rows.append(row | {f"of the exact choice at {most:g}": "".join(same)})
    at_each = [f"epsilon {epsilon:g}" for epsilon in settings["epsilon"]]
    last = [*at_each, "without noise", f"of the exact choice at {most:g}"]
    return pd.DataFrame(rows)[["variants of", "people", "selector", *last]].fillna("")


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw the share of causal variants that are found against epsilon, a panel for each cohort and way."""
    cohorts = list(table.groupby(["part", "people"], sort=False))
    figure, axes = new_figure(
        560, 330, left=40, right=10, top=22, bottom=76, nrows=len(WAYS), ncols=len(cohorts), sharey=True
    )
    figure.subplots_adjust(hspace=0.5)
    for panels, (column, title) in zip(axes, WAYS.items(), strict=True):
        for axis, ((part_name, n_people), cohort) in zip(panels, cohorts, strict=True):
            for colour, name in zip(PALETTE, COMPARED, strict=False):
                selector_rows = cohort[cohort["selector"] == name]
                noisy, exact = (
                    selector_rows.dropna(subset=["epsilon"]),
                    selector_rows[selector_rows["epsilon"].isna()],
                )
                points = noisy["epsilon"], noisy[column]
                axis.plot(*points, color=colour, marker="o", markersize=3, label=name)
                axis.axhline(exact[column].item(), color=colour, linestyle=":", linewidth=0.9)
            axis.set(xscale="log", title=f"{part_name}, {n_people} people", ylim=(0, 1))
            axis.set_xticks(settings["epsilon"], [f"{epsilon:g}" for epsilon in settings["epsilon"]])
            axis.minorticks_off()
        panels[0].set_ylabel(title)
    for axis in axes[-1]:
        axis.set_xlabel("epsilon of the choice")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncols=3)
    words = "Share of the causal variants that are chosen, or an LD partner of theirs. Dotted: without noise."
    return {"recovery": Drawing(figure, words)}


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Compare choices at the largest epsilon and cohort of every part with choices without noise."""
    largest_epsilon, summaries = max(settings["epsilon"]), []
    for part_name, part_rows in table.groupby("part", sort=False):
        largest = part_rows[part_rows["people"] == part_rows["people"].max()]
        pairs = []
        for name in COMPARED:
            recovered = largest[largest["selector"] == name].set_index("epsilon")["recovered"]
            exact = recovered[recovered.index.isna()].item()
            pairs.append(
                f"{name} {recovered[largest_epsilon]:.2f} for {exact:.2f}"
                if largest_epsilon in recovered
                else f"{name} {exact:.2f}"
            )
        summaries.append(f"{'; '.join(pairs)} ({part_name}, {largest['people'].iloc[0]} people)")
    compared = f"at epsilon {largest_epsilon:g} and without noise"
    return Verdict.BEYOND, f"Causal variants found {compared}: {'. '.join(summaries)}."


EXPERIMENT = Experiment(
    paper="Beyond the papers",
    shows="private choices of variants on real haplotypes",
    choices=(
        "Found: chosen, + an LD partner alone is (r^2 of 0.8 or more), ± the standard error of both. Epsilon "
        "is that of all k choices for one outcome, a person the unit, add-remove; two-stage and SubLasso pay "
        "a tenth of it for the number of people.",
        "Choices are by permute-and-flip, or by Gumbel noise where it says so: `screening.law`, DPKendall's.",
        "Variants are random common ones, others for each replicate, of 140 kb of chromosome 1 or of all "
        "chromosomes; outcomes are normal.",
    ),
)
