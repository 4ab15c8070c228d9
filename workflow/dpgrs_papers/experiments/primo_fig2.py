"""PRIMO paper, figure 2: R^2 against the number of outcomes on real haplotypes."""

import pandas as pd

from dpgrs.reporting.rendering import Drawing
from dpgrs_papers.experiments import primo_haplotypes
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.primo_fits import FIXED, OWN, PEEKED, PUBLIC, TIGHT, summarise
from dpgrs_papers.experiments.primo_tables import by_line, draw_lines, without_fixed

GAUSS, PROJECTED, SGD = (
    ("paper", "reusecov-gauss", "full"),
    ("paper", "reusecov-proj", "feature"),
    ("ours", "dp-sgd", "full"),
)


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return R^2 by l; the paper's numbers are lost."""
    return by_line(table, {"n_outcomes": "l = {:,}"})


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw R^2 against l, a panel for each set of terms, as a whole and zoomed."""
    axes = {"x": "n_outcomes", "xlabel": "outcomes l"}
    axes |= {"y": "r2", "ylabel": "R²"}
    panels = {"the paper's terms": ["paper"], "ours": ["ours"], "ours, tight bounds": [TIGHT, PUBLIC]}
    panels = {
        title: table[table["terms"].isin(["none", *terms_names])] for title, terms_names in panels.items()
    }
    best = {title: without_fixed(panel_rows) for title, panel_rows in panels.items()}
    full_figure = draw_lines(panels, **axes, limits=None, yscale="symlog")
    zoomed = draw_lines(best, **axes, limits=(-0.05, 0.55))
    return {
        "whole": Drawing(full_figure, "R^2 against the number of outcomes (figure 2, a and b)."),
        "zoomed": Drawing(zoomed, "R^2 against the number of outcomes, zoomed (figure 2, c and d)."),
    }


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Hold what the paper says of Gauss, projection and DP-SGD, at the best penalty and the fixed one."""
    r2 = {
        (*line, which): line_rows.set_index("n_outcomes")["r2"].sort_index()
        for (*line, which), line_rows in table.groupby(["terms", "method", "protection", "which"])
    }
    sgd, comparisons, is_told = r2[(*SGD, OWN)], [], []
    for rule, words in ((PEEKED, "at the best lambda"), (FIXED, "at the fixed one")):
        gauss, projected = r2[(*GAUSS, rule)], r2[(*PROJECTED, rule)]
        first = _first_lead(projected, gauss)
        comparisons.append(
            f"{words} Gauss (full) goes from {gauss.iloc[0]:.3g} to {gauss.iloc[-1]:.3g}, feature projection "
            f"from {projected.iloc[0]:.3g} to {projected.iloc[-1]:.3g}, above Gauss "
            + (f"from l = {first:,} on" if first else "not to the end")
        )
        is_told.append(gauss.iloc[-1] < 0 and first is not None and (projected > 0).all())
    projected = r2[(*PROJECTED, PEEKED)]
    last = _first_lead(projected, sgd)
    comparisons.append(
        f"DP-SGD from {sgd.iloc[0]:.3g} to {sgd.iloc[-1]:.3g}, below projection at its best "
        + (f"from l = {last:,} on" if last else "not to the end")
    )
    is_far_behind = (sgd < projected).iloc[1:].all()
    is_reproduced = any(is_told) and is_far_behind
    reason = f"From l = {sgd.index[0]:,} to {sgd.index[-1]:,} {'; '.join(comparisons)}."
    return (Verdict.REPRODUCED if is_reproduced else Verdict.WITH_DIFFERENCE), reason


def _first_lead(line: pd.Series, other: pd.Series) -> int | None:
    """Return the smallest number of outcomes from which on one line is above the other; None without."""
    behind = line.index[~(line > other)]
    ahead = line.index if not len(behind) else line.index[line.index > behind[-1]]
    return ahead[0] if len(ahead) else None


EXPERIMENT = Experiment(
    paper="PRIMO (arXiv 2303.04195)",
    shows="Figure 2: R^2 against the number of outcomes",
    summarise=summarise,
    run_replicate=primo_haplotypes.run_replicate,
    choices=(
        *primo_haplotypes.CHOICES,
        *primo_haplotypes.BEST,
        "`naive` draws an X'X for each outcome, and stays at the fixed lambda. DP-SGD has its defaults, "
        "one release for all outcomes and exact accounting of rows added or removed; the paper composes one "
        "run for each outcome.",
        "The paper keeps negative eigenvalues, of which noise makes some of about the fixed lambda and "
        "opposite sign: a fit at it is an accident, and so is one by the evidence at few outcomes.",
    ),
)
