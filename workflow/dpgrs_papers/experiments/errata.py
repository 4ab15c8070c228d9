"""Defects of the papers and of public code: what each claims, what it loses, and what ours loses."""

import math

import numpy as np
import pandas as pd

from dpgrs.privacy.audit.audit import CONFIDENCE
from dpgrs.privacy.audit.losses import rates_above
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import INK, MUTED, PALETTE
from dpgrs_papers.experiments.errata_replicate import DEFECTS, OURS, PUBLISHED, run_replicate
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.plots import new_figure

# Beyond this a loss is drawn as an arrow.
EDGE = 1_000.0
LEAST = 0.05


def summarise(rows, settings):
    """Return what is claimed, seen and exact of each recipe of each defect."""
    counts = rows.groupby(["part", "recipe"], sort=False)[["draws", "false_first", "false_second"]].sum()
    found = []
    for (part, recipe), count in counts.iterrows():
        defect = DEFECTS[part]()
        errors = count[["false_first", "false_second"]].to_numpy()
        observed = defect.claim.observed(*rates_above(errors, int(count["draws"]), CONFIDENCE))
        found.append(
            {
                "part": part,
                "defect": defect.fault,
                "source": defect.source,
                "recipe": recipe,
                "claimed": defect.epsilon,
                "delta": defect.delta,
                "observed": float(observed),
                "exact": float(defect.exact[recipe == OURS]),
                **count.astype(int).to_dict(),
            }
        )
    return pd.DataFrame(found)


def compare(table, settings):
    """Return a row a defect: claimed, and the losses of the published recipe and of ours."""
    rows = []
    for _, own in table.groupby("part", sort=False):
        by = own.set_index("recipe")
        published, ours = by.loc[PUBLISHED], by.loc[OURS]
        rows.append(
            {
                "defect": published["defect"],
                "paper or code": published["source"],
                "claimed epsilon": f"{published['claimed']:g}",
                "delta": f"{published['delta']:g}",
                "published: at least": published["observed"],
                "published: exact": _said(published["exact"]),
                "ours claims": f"{ours['claimed']:g}",
                "ours: at least": ours["observed"],
                "ours: exact": _said(ours["exact"]),
                "draws, published": str(published["draws"]),
                "draws, ours": str(ours["draws"]),
            }
        )
    return pd.DataFrame(rows)


def _said(exact):
    if math.isnan(exact):
        return "audited alone"
    return "infinite" if math.isinf(exact) else f"{exact:.3g}"


def known_loss(table):
    """Return the exact loss of each row, or where it is not known what was seen, (n_rows,) float64."""
    return np.where(table["exact"].isna(), table["observed"], table["exact"])


def draw(table, settings):
    """Draw what is claimed, what the published recipe loses and what ours loses, a line a defect."""
    parts = list(dict.fromkeys(table["part"]))
    figure, ((axis,),) = new_figure(560, 40 + 18 * len(parts) + 30, left=256, right=14, top=10, bottom=58)
    for place, part in enumerate(reversed(parts)):
        own = table[table["part"] == part].set_index("recipe")
        axis.plot([own["claimed"].iloc[0]] * 2, [place - 0.35, place + 0.35], color=INK, linewidth=1.2)
        for recipe, colour in ((PUBLISHED, PALETTE[1]), (OURS, PALETTE[0])):
            loss = known_loss(own.loc[[recipe]]).item()
            if loss == 0 and math.isnan(own["exact"][recipe]):
                continue  # nothing was seen, and nothing is known
            marker = ">" if loss > EDGE else "o"
            place_of = min(max(loss, LEAST), EDGE)
            axis.plot(place_of, place, marker, color=colour, markersize=5, clip_on=False)
            seen = own["observed"][recipe]
            if seen >= LEAST:
                axis.plot(min(seen, EDGE), place, "|", color=colour, markersize=7)
    for colour, marker, label in (
        (PALETTE[1], "o", "published: exact (arrow: infinite), or audited"),
        (PALETTE[0], "o", "ours, likewise"),
        (MUTED, "|", "audited lower bound"),
        (INK, "|", "claimed"),
    ):
        axis.plot([], [], marker, color=colour, markersize=5, label=label)
    ticks = [0.1, 1.0, 10.0, 100.0, EDGE]
    axis.set(xscale="log", xlim=(LEAST, EDGE), ylim=(-0.6, len(parts) - 0.4))
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    names = table.drop_duplicates("part").set_index("part")["defect"]
    axis.set_yticks(range(len(parts)), [names[part] for part in reversed(parts)], fontsize=7)
    axis.set_xlabel("epsilon at the claimed delta")
    figure.legend(*axis.get_legend_handles_labels(), loc="lower center", ncols=4, fontsize=7)
    return {"leaks": Drawing(figure, "What published recipes claim and lose, and what ours lose.")}


def judge(table, settings):
    """Hold that every published recipe loses more than it claims, and none of ours."""
    loses = table["observed"] > table["claimed"]
    is_ours = table["recipe"] == OURS
    exceeds = loses | (table["exact"] > table["claimed"] * (1 + 1e-9))
    proven, seen, n_defects = ((one & ~is_ours).sum() for one in (exceeds, loses, ~is_ours))
    ours = ", ".join(table.loc[exceeds & is_ours, "part"]) or "none"
    reason = (
        f"{proven} of {n_defects} published recipes are not private as claimed, {seen} of them by what was "
        f"drawn. Of ours, on the same neighbours, {ours} loses more than it claims."
    )
    return Verdict.BEYOND, reason


EXPERIMENT = Experiment(
    paper="Errata",
    shows="what published recipes claim and lose",
    run_replicate=run_replicate,
    choices=(
        "One step of a recipe is as published, written anew from its description, and all else is as ours.",
        "A lower bound is Clopper and Pearson's at a confidence of 1 - 1e-6, of one guess between two "
        "neighbours. The exact loss is that of the guess by its law, or of all that is drawn where it is "
        "normal or Laplace noise on one sum.",
        "Neighbours are the published recipe's worst; audits of ours: docs/measurements/audits.md.",
        "Ours are drawn with seeded noise. What a release draws is exact (docs/proofs/exact_noise.md).",
    ),
)
