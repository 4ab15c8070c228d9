"""From the terms of the PRIMO paper to ours: what each change of a term is worth, alone and one by one."""

from tempfile import TemporaryDirectory

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
    best_of_path,
    configuration,
    measure,
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


def steps():
    """Return the terms of each step, a dict by its name: the paper's, one change alone, and one by one."""
    found = {PAPER: PAPER_TERMS}
    found |= {alone: _changed(PAPER_TERMS, name) for alone, name in zip(ALONE, CHANGES, strict=True)}
    terms = found[ALONE[0]]
    for up_to, name in zip(UP_TO, list(CHANGES)[1:], strict=True):
        found[up_to] = terms = _changed(terms, name)
    return found | {TIGHT: {**terms, "privacy": terms["privacy"] | {"bounds": "tight"}}}


def _changed(terms, name):
    return {section: own | CHANGES[name].get(section, {}) for section, own in terms.items()}


def run_replicate(part, replicate, settings, files):
    """Measure each step on one cohort, with the same noise where its terms are the same."""
    known = {"source": "vcf", "sizes": settings["sizes"], "counts": settings["counts"]}
    known |= {"epsilons": settings["epsilons"]}
    rows, options = [], {"seed": settings["seed"], "key": ("primo_ablations", replicate)}
    with TemporaryDirectory() as folder:
        panel, outcomes = make_cohort(part, replicate, settings, files, folder)
        for name, terms in steps().items():
            # BLUP is for rows that keep their mean.
            methods = [GAUSS, PROJECTED, *["blup"] * (terms["privacy"]["bounds"] != BOUNDS["paper"])]
            configs = {PAPER: configuration(terms, methods=methods, **known)}
            found = measure(panel, outcomes, configs=configs, **options)
            # Ridge without privacy is the same at each step.
            own = (row for row in found if row["method"] != NON_PRIVATE or not rows)
            rows += [row | ({} if row["method"] == NON_PRIVATE else {"terms": name}) for row in own]
    return rows


def summarise(rows, settings):
    """Return R^2 of each method at each step, at the best penalty, at the fixed one and by the evidence."""
    return best_of_path(rows, keeps_fixed=True)


def compare(table, settings):
    """Return R^2 by step: at the best penalty; where steps begin and end at the fixed one and the others."""
    is_shown = (table["protection"] == "full") | (table["which"] == FIXED)
    is_end = table["terms"].isin([PAPER, UP_TO[-1]]) & is_shown
    is_blup = (table["which"] == OWN) & (table["protection"] == "full")
    shown = table[is_end | is_blup | (table["which"] == PEEKED)]
    names = [METHODS[row.method].label + PROTECTIONS[row.protection] for row in shown.itertuples()]
    shown = shown.assign(terms=shown["terms"].replace("none", ""), method=names)
    shown = shown.assign(**{"lambda": shown["which"].map(RULES)})
    return by_cell(shown, CELLS, ["terms", "method", "lambda"])


def draw(table, settings):
    """Draw R^2 of Gauss at its best penalty as terms change one by one, a panel an epsilon."""
    own = table[(table["method"] == GAUSS) & (table["protection"] == "full") & (table["which"] == PEEKED)]
    panels = list(own[own["terms"].isin(ONE_BY_ONE)].groupby("epsilon"))
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


def judge(table, settings):
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
    choices=(
        *CHOICES,
        "Each change alone starts from the paper's terms; `up to` has all changes before it, too. Under "
        "feature protection one row is replaced throughout, a ball for each outcome or variant touches "
        "projection alone, and bounds are the row mean, the intercept, the norm of X'X and negative "
        "eigenvalues together. BLUP is for rows that keep their mean. Tight bounds are by the cohort's own "
        "frequencies, a stand-in for public ones.",
    ),
)
