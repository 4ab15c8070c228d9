"""From the terms of the PRIMO paper to ours: the worth of each change of a term, by itself and one by one."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from dpgrs.methods.registry import METHODS
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import PALETTE
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.experiments.primo_fits import (
    FIXED,
    NON_PRIVATE,
    OWN,
    PEEKED,
    TERMS,
    configuration,
    measure,
    summarise,
)
from dpgrs_papers.experiments.primo_haplotypes import BOUNDS, CHOICES, make_cohort
from dpgrs_papers.experiments.primo_tables import CELLS, PROTECTIONS, RULES, by_cell

GAUSS, PROJECTED = "reusecov-gauss", "reusecov-proj"
PAPER, TIGHT = "the paper's", "tight bounds"
PAPER_TERMS = {
    "privacy": TERMS["paper"]["privacy"] | {"protection": ["full", "feature"], "bounds": BOUNDS["paper"]},
    "regression": TERMS["paper"]["regression"],
}
# Each term as we have it, in the order in which they are changed one by one.
CHANGES = {
    "bounds": {"privacy": {"bounds": BOUNDS["ours"]}},
    "neighbours": {"privacy": {"neighbours": TERMS["ours"]["privacy"]["neighbours"]}},
    "accounting": {"privacy": {"accounting": TERMS["ours"]["privacy"]["accounting"]}},
    "share of X'X": {"privacy": {"gram_share": None}},
    "a ball for each": {"regression": {"joint_projection": False}},
}
ALONE = [f"{name} alone" for name in CHANGES]
UP_TO = [f"up to {name}" for name in CHANGES][1:]
ONE_BY_ONE = [PAPER, ALONE[0], *UP_TO, TIGHT]


def steps() -> dict[str, dict]:
    """Return the terms of each step, a dict by its name: the paper's, a single change, and one by one."""
    step_terms = {PAPER: PAPER_TERMS}
    step_terms |= {alone: _changed(PAPER_TERMS, name) for alone, name in zip(ALONE, CHANGES, strict=True)}
    changed_terms = step_terms[ALONE[0]]
    for up_to, name in zip(UP_TO, list(CHANGES)[1:], strict=True):
        step_terms[up_to] = changed_terms = _changed(changed_terms, name)
    return step_terms | {TIGHT: {**changed_terms, "privacy": changed_terms["privacy"] | {"bounds": "tight"}}}


def _changed(study_terms: dict, name: str) -> dict:
    return {
        section: section_terms | CHANGES[name].get(section, {})
        for section, section_terms in study_terms.items()
    }


def run_replicate(part_name: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Measure each step on one cohort, with the same noise where its terms are the same."""
    study_size = {"source": "vcf", "sizes": settings["sizes"], "counts": settings["counts"]}
    study_size |= {"epsilons": settings["epsilons"]}
    rows, options = [], {"seed": settings["seed"], "key": ("primo_ablations", replicate)}
    with TemporaryDirectory() as folder:
        panel, outcomes = make_cohort(part_name, replicate, settings, files, folder)
        for name, step_terms in steps().items():
            # BLUP is for rows that keep their mean.
            methods = [GAUSS, PROJECTED, *["blup"] * (step_terms["privacy"]["bounds"] != BOUNDS["paper"])]
            configs = {PAPER: configuration(step_terms, methods=methods, **study_size)}
            measures = measure(panel, outcomes, configs=configs, **options)
            # Ridge without privacy is the same at each step.
            new_rows = (row for row in measures if row["method"] != NON_PRIVATE or not rows)
            rows += [row | ({} if row["method"] == NON_PRIVATE else {"terms": name}) for row in new_rows]
    return rows


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return R^2 by step: at the best penalty; where steps begin and end at the fixed one and the others."""
    is_shown = (table["protection"] == "full") | (table["which"] == FIXED)
    is_end = table["terms"].isin([PAPER, UP_TO[-1]]) & is_shown
    is_blup = (table["which"] == OWN) & (table["protection"] == "full")
    shown = table[is_end | is_blup | (table["which"] == PEEKED)]
    names = [METHODS[row.method].label + PROTECTIONS[row.protection] for row in shown.itertuples()]
    shown = shown.assign(terms=shown["terms"].replace("none", ""), method=names)
    shown = shown.assign(**{"lambda": shown["which"].map(RULES)})
    return by_cell(shown, CELLS, ["terms", "method", "lambda"])


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw R^2 of Gauss at its best penalty as terms change one by one, a panel an epsilon."""
    gauss_rows = table[
        (table["method"] == GAUSS) & (table["protection"] == "full") & (table["which"] == PEEKED)
    ]
    panels = list(gauss_rows[gauss_rows["terms"].isin(ONE_BY_ONE)].groupby("epsilon"))
    layout = {"left": 44, "right": 110, "top": 20, "bottom": 84, "ncols": len(panels), "sharey": True}
    figure, (axes,) = new_figure(160 + 170 * len(panels), 250, **layout)
    for axis, (epsilon, panel) in zip(axes, panels, strict=True):
        for colour, (cell, r2) in zip(PALETTE, panel.groupby(["n_variants", "n_outcomes"]), strict=False):
            r2 = r2.set_index("terms")["r2"].loc[ONE_BY_ONE]
            axis.plot(
                r2.to_numpy(), color=colour, marker="o", markersize=3, label="d = {}, l = {:,}".format(*cell)
            )
        axis.set_title(f"epsilon {epsilon:g}")
        axis.set_xticks(range(len(ONE_BY_ONE)), ONE_BY_ONE, rotation=45, ha="right")
    axes[0].set_ylabel("R², best lambda (peeked)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="center right", fontsize=7)
    return {"one_by_one": Drawing(figure, "R^2 of ReuseCovGauss as terms change from the paper's to ours.")}


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Say what each change brings, in the mean over cells."""
    full = table[(table["protection"] == "full") & table["which"].isin([PEEKED, OWN])]
    r2 = full.groupby(["method", "terms"])["r2"].mean()
    gauss, blup = r2[GAUSS], r2["blup"]
    alone = ", ".join(f"{name} {gauss[name] - gauss[PAPER]:+.3f}" for name in ALONE)
    reason = (
        f"Gauss (full), each at its best lambda, mean R^2 over the cells: {gauss[PAPER]:.3f} by the paper's "
        f"terms; {alone}; {gauss[UP_TO[-1]]:.3f} by all, {gauss[TIGHT]:.3f} within tight bounds; BLUP "
        f"{blup[UP_TO[-1]]:.3f} and {blup[TIGHT]:.3f}."
    )
    return Verdict.BEYOND, reason


EXPERIMENT = Experiment(
    paper="PRIMO (arXiv 2303.04195)",
    shows="What each term is worth, from the paper's to ours",
    summarise=summarise,
    choices=(
        *CHOICES,
        "Each change alone starts from the paper's terms; `up to` has all changes before it, too. Under "
        "feature protection one row is replaced throughout, a ball for each outcome or variant touches "
        "projection alone, and bounds are the row mean, the intercept, the norm of X'X and negative "
        "eigenvalues together. BLUP is for rows that keep their mean. Tight bounds are by the cohort's own "
        "frequencies, a stand-in for public ones.",
    ),
)
