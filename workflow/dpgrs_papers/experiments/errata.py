"""Defects of the papers and of public code: what each claims, what it loses, and what ours loses."""

import math

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


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return the claimed, observed and exact loss of each recipe of each defect."""
    counts = rows.groupby(["part", "recipe"], sort=False)[["draws", "false_first", "false_second"]].sum()
    recipes = []
    for (defect_name, recipe), count in counts.iterrows():
        defect = DEFECTS[defect_name]()
        errors = count[["false_first", "false_second"]].to_numpy()
        observed = defect.claim.observed(*rates_above(errors, int(count["draws"]), CONFIDENCE))
        recipes.append(
            {
                "part": defect_name,
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
    return pd.DataFrame(recipes)


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return a row a defect: claimed, and the losses of the published recipe and of ours."""
    rows = []
    for _, recipes in table.groupby("part", sort=False):
        by = recipes.set_index("recipe")
        published, ours = by.loc[PUBLISHED], by.loc[OURS]
        rows.append(
            {
                "defect": published["defect"],
                "paper or code": published["source"],
                "claimed epsilon": f"{published['claimed']:g}",
                "delta": f"{published['delta']:g}",
                "published: at least": published["observed"],
                "published: exact": _loss_in_words(published["exact"]),
                "ours claims": f"{ours['claimed']:g}",
                "ours: at least": ours["observed"],
                "ours: exact": _loss_in_words(ours["exact"]),
                "draws, published": str(published["draws"]),
                "draws, ours": str(ours["draws"]),
            }
        )
    return pd.DataFrame(rows)


def _loss_in_words(exact: float) -> str:
    if math.isnan(exact):
        return "audited alone"
    return "infinite" if math.isinf(exact) else f"{exact:.3g}"


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw the claim, the loss of the published recipe and of ours, a line a defect."""
    defect_names = list(dict.fromkeys(table["part"]))
    figure, ((axis,),) = new_figure(
        560, 40 + 18 * len(defect_names) + 30, left=256, right=14, top=10, bottom=58
    )
    for y, defect_name in enumerate(reversed(defect_names)):
        recipes = table[table["part"] == defect_name].set_index("recipe")
        axis.plot([recipes["claimed"].iloc[0]] * 2, [y - 0.35, y + 0.35], color=INK, linewidth=1.2)
        for recipe, colour in ((PUBLISHED, PALETTE[1]), (OURS, PALETTE[0])):
            is_exact = not math.isnan(recipes["exact"][recipe])
            loss = recipes["exact" if is_exact else "observed"][recipe]
            if loss == 0 and not is_exact:
                continue  # nothing was seen, and nothing is known
            marker = ">" if loss > EDGE else "o"
            x = min(max(loss, LEAST), EDGE)
            axis.plot(x, y, marker, color=colour, markersize=5, clip_on=False)
            observed = recipes["observed"][recipe]
            if observed >= LEAST:
                axis.plot(min(observed, EDGE), y, "|", color=colour, markersize=7)
    for colour, marker, label in (
        (PALETTE[1], "o", "published: exact (arrow: infinite), or audited"),
        (PALETTE[0], "o", "ours, likewise"),
        (MUTED, "|", "audited lower bound"),
        (INK, "|", "claimed"),
    ):
        axis.plot([], [], marker, color=colour, markersize=5, label=label)
    ticks = [0.1, 1.0, 10.0, 100.0, EDGE]
    axis.set(xscale="log", xlim=(LEAST, EDGE), ylim=(-0.6, len(defect_names) - 0.4))
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    names = table.drop_duplicates("part").set_index("part")["defect"]
    axis.set_yticks(
        range(len(defect_names)), [names[defect_name] for defect_name in reversed(defect_names)], fontsize=7
    )
    axis.set_xlabel("epsilon at the claimed delta")
    figure.legend(*axis.get_legend_handles_labels(), loc="lower center", ncols=4, fontsize=7)
    return {"leaks": Drawing(figure, "What published recipes claim and lose, and what ours lose.")}


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Hold that every published recipe loses more than it claims, and none of ours."""
    loses = table["observed"] > table["claimed"]
    is_ours = table["recipe"] == OURS
    exceeds = loses | (table["exact"] > table["claimed"] * (1 + 1e-9))
    n_exceeding, n_observed, n_defects = (
        (is_counted & ~is_ours).sum() for is_counted in (exceeds, loses, ~is_ours)
    )
    ours = ", ".join(table.loc[exceeds & is_ours, "part"]) or "none"
    reason = (
        f"{n_exceeding} of {n_defects} published recipes are not private as claimed, {n_observed} of them "
        f"by what was drawn. Of ours, on the same neighbours, {ours} loses more than it claims."
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
