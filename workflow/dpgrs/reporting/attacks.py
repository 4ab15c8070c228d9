"""What an attacker learns: the attacks of a benchmark as rows of a table and as a figure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from dpgrs.evaluation.attacks import MOST_PEOPLE
from dpgrs.reporting.charts import Picture, row_axes
from dpgrs.reporting.fits import label_fits
from dpgrs.reporting.rendering import Drawing, Section
from dpgrs.reporting.styles import series_looks
from dpgrs.reporting.svg import FAINT, INK, WIDTH
from dpgrs.types import Unit

if TYPE_CHECKING:
    from dpgrs.reporting.data import ReportData

# The published object, as a reader would name it; the fit's name follows.
SEEN = {"gram": "X′X", "statistics": "X′X and X′Y", "weights": "Weights of "}
DESIGN = ["n_variants", "n_outcomes"]
VALUES = ["n_members", "n_others", "n_reference", "fpr", "tpr", "auc"]
VALUES += ["advantage", "advantage_low", "advantage_high", "advantage_bound"]


def attack_rows(attacks: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Return a row per design, attack and fit, on people: means over replicates; largest design first.

    The attacks are the study's attacks.tsv from `read_metrics`. A row has seen (what the attacker sees, in
    words), fit, n_variants, n_outcomes and `VALUES`, NaN if there is no bound. An interval is the mean of the
    intervals of the replicates.
    """
    if attacks is None or attacks.empty:
        return []
    people = attacks[attacks["target"] == Unit.PERSON]
    fits, codes = label_fits(people)
    order = people["attack"].map(list(SEEN).index)
    groups = people.assign(fit=codes, order=order).groupby([*DESIGN, "order", "fit", "attack"])
    rows = [
        {"seen": SEEN[attack] + fits[fit].series, "fit": fits[fit], "n_variants": size, "n_outcomes": count}
        | values.to_dict()
        for (size, count, _, fit, attack), values in groups[VALUES].mean().iterrows()
    ]
    return sorted(rows, key=lambda row: (-row["n_variants"], -row["n_outcomes"]))


def attacks_figure(rows: Sequence[dict[str, Any]]) -> Picture:
    """Draw the advantage of every attack on the largest design, with its interval and bound.

    There is at least one row, as from `attack_rows`.
    """
    rows = [row for row in rows if all(row[name] == rows[0][name] for name in DESIGN)]
    axes = row_axes(
        [
            f"{row['seen']}, ε\u00a0=\u00a0{row['fit'].epsilon:g}" if row["fit"].is_private else row["seen"]
            for row in rows
        ],
        x=(min(-0.05, *(row["advantage_low"] - 0.02 for row in rows)), 1.02),
        xlabel="advantage: members recognised less others mistaken for members",
        width=WIDTH,
        step=20,
        n_ticks=6,
    )
    looks = series_looks([row["fit"] for row in rows])
    for y, row in enumerate(rows):
        look = looks[row["fit"].series]
        # A dash for what any attack could reach; NaN draws nothing.
        axes.across_bar(0, row["advantage_bound"], y, color=FAINT, width=6)
        bound = {"stroke": INK, "stroke_width": 1.6}
        axes.marks([row["advantage_bound"]], [y], marker="|", size=11, **bound)
        axes.across_bar(row["advantage_low"], row["advantage_high"], y, color=look.color, width=1.1)
        edge = {"fill": look.color, "stroke": "#fff", "stroke_width": 1}
        axes.marks([row["advantage"]], [y], marker=look.marker or "o", size=5, **edge)
    return axes.picture


def _context(data: "ReportData") -> dict[str, Any] | None:
    rows = attack_rows(data.attacks)
    if not rows:
        return None
    figure = Drawing(attacks_figure(rows), "Advantage of every attack, and its bound")
    return {"attacks": rows, "most_people": MOST_PEOPLE, "figures": {"attacks": figure}}


ATTACKS = Section("What an attacker learns", "attacks.html", _context, anchor="attacks", label="Attacks")
