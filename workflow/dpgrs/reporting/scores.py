"""The page of scored people: variants, distributions, deciles. It is as private as the target."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle
from pathlib import Path

import numpy as np

from dpgrs.reporting.charts import Axes, Picture, round_ticks
from dpgrs.reporting.rendering import MAX_FIGURED, Drawing, Section, write_assets, write_page
from dpgrs.reporting.styles import WIDTH
from dpgrs.reporting.svg import FAINT, PALETTE, shortened, text_width

# No distribution is drawn, and no decile given, of fewer people.
FEWEST_PEOPLE = 50
N_BINS = 40
# Lengths of strokes and gaps; 0 is a whole line.
LINES = ("0", "4 2", "1 2")
LEGEND_LINE, LEGEND_STROKE = 14, 16
PAGE, CATEGORY = "index.html", "Scores"
# Of scores, what is to know of their numbers.
MISSING = "No numbers, as the score does not vary in the reference."
BEYOND = (
    "Some people are below 0 or above 1, beyond what is possible for a share of cases, because of noise in "
    "the weights or because the score is linear. They are shown as 0 or 1, and in scores.tsv.gz as they are."
)
WIDE = "Predictions differ more than the outcome itself: noise in the weights outweighs the rest."
MOST_NAMED = 10


@dataclass(frozen=True)
class ScoreData:
    """What the page shows.

    Attributes
    ----------
    variants : list of dict, of scores that share their variants: ``scores``, a label, the numbers of
        ``variants``, of those ``used`` and of A/T and C/G among them (``ambiguous_used``), and a dict of
        ``status`` to the number of variants.
    names : list of n_outcomes str
    units : list of n_outcomes str, what `values` are in.
    values : (n_outcomes, n_people) float64; NaN of a score that does not vary in the reference.
    populations : (n_people,) str; None where nobody's is known.
    notes : list of str, what to know of the results.
    limits : (n_outcomes, 2) float64, between which values can lie, infinite where they can be any number;
        None: all can.
    spreads : (n_outcomes,) float64, standard deviation of the outcome in the unit of `values`, NaN where it
        is not known; None: of none.
    """

    variants: list
    names: list
    units: list
    values: np.ndarray
    populations: np.ndarray | None = None
    notes: list = field(default_factory=list)
    limits: np.ndarray | None = None
    spreads: np.ndarray | None = None

    @cached_property
    def shown(self):
        """(n_outcomes, n_people) float64, values moved to their limits."""
        return self.values if self.limits is None else np.clip(self.values, *self.limits.T[..., np.newaxis])

    @property
    def remarks(self):
        """(n_outcomes,) str, why a score has no numbers, or which are not as they were; empty of most."""
        is_missing = np.isnan(self.values).any(axis=1)
        is_beyond = (self.shown != self.values).any(axis=1)
        is_wide = False if self.spreads is None else self.values.std(axis=1) > self.spreads
        return np.select([is_missing, is_beyond, is_wide], [MISSING, BEYOND, WIDE], "")

    @property
    def groups(self):
        """List of (name, (n_people,) bool): populations of enough people, or else all people."""
        n_people = self.values.shape[1]
        everybody = [("all people", np.ones(n_people, dtype=bool))] if n_people >= FEWEST_PEOPLE else []
        if self.populations is None:
            return everybody
        own = [(str(name), self.populations == name) for name in np.unique(self.populations)]
        return [(name, is_own) for name, is_own in own if is_own.sum() >= FEWEST_PEOPLE] or everybody


def write_score_page(directory, data, *, figures=None):
    """Write the page and what it needs into a folder, which is made if absent.

    Parameters
    ----------
    directory : pathlib.Path
    data : ScoreData
    figures : folder for files of the figures; None: keep none.
    """
    directory = Path(directory)
    write_assets(directory)
    n_people = data.values.shape[1]
    shared = {"mode": "scores", "root": "", "n_people": n_people}
    few = f"No distribution or decile of fewer than {FEWEST_PEOPLE} people."
    write_page(
        directory / PAGE,
        "scores.html",
        SECTIONS,
        data,
        shared=shared,
        figures=figures,
        others={},
        notes=[*data.notes, *([few] if n_people < FEWEST_PEOPLE else [])],
    )


def distribution_figure(values, unit, groups):
    """Draw the distribution of a score as a Picture, a line for each population.

    Parameters
    ----------
    values : (n_people,) float64
    unit : str
    groups : list of (name, is_own), at least one.
    """
    labels = [f"{shortened(name)} ({is_own.sum()})" for name, is_own in groups]
    column = LEGEND_STROKE + 14 + text_width(labels)
    n_columns = max(min(int(WIDTH // column), len(groups)), 1)
    top = LEGEND_LINE * -(-len(groups) // n_columns) + 8
    edges = np.histogram_bin_edges(values, bins=N_BINS)
    shares = [np.histogram(values[is_own], edges)[0] / is_own.sum() for _, is_own in groups]
    margin = (edges[-1] - edges[0]) / 20
    axes = Axes(
        Picture(WIDTH, top + 162),
        52,
        top,
        WIDTH - 12,
        top + 124,
        x=(edges[0] - margin, edges[-1] + margin),
        y=(0, 1.05 * np.max(shares)),
    )
    axes.levels([value for value, _ in round_ticks(*axes.y, 4)], color=FAINT, width=0.5)
    axes.uprights([value for value, _ in round_ticks(*axes.x, 8)], *axes.y, color=FAINT, width=0.5)
    looks = ((color, line) for line in cycle(LINES) for color in PALETTE)
    for place, (share, label, (color, line)) in enumerate(zip(shares, labels, looks, strict=False)):
        style = {"fill": "none", "stroke": color, "stroke_width": 1.3, "stroke_dasharray": line}
        steps = zip(axes.down(share), axes.across(edges[1:]), strict=True)
        start = f"M{axes.across(edges[0]):.1f} {axes.bottom:g}"
        axes.picture.path(f"{start}{''.join(f'V{y:.1f}H{x:.1f}' for y, x in steps)}V{axes.bottom:g}", **style)
        left, height = column * (place % n_columns) + 4, LEGEND_LINE * (place // n_columns + 0.5) + 2
        axes.picture.path(f"M{left:.1f} {height:g}h{LEGEND_STROKE}", **style)
        axes.picture.text(left + LEGEND_STROKE + 4, height, label)
    axes.ticks_left(4)
    axes.ticks_below(8)
    axes.label_below(unit, 26)
    middle = (axes.top + axes.bottom) / 2
    turned = {"transform": f"rotate(-90 12 {middle:g})", "text_anchor": "middle"}
    axes.picture.text(12, middle, "share of people", **turned)
    return axes.picture


def _variants(data):
    statuses = list(dict.fromkeys(name for one in data.variants for name in one["status"]))
    has_ambiguous = any(one["ambiguous_used"] for one in data.variants)
    return {"statuses": statuses, "lists": data.variants, "has_ambiguous": has_ambiguous}


def _distributions(data):
    if not data.groups:
        return None
    figures = {
        f"score{place}": Drawing(
            distribution_figure(data.shown[place], data.units[place], data.groups),
            f"Distribution of {name}",
        )
        for place, name in enumerate(data.names[:MAX_FIGURED])
        if np.ptp(data.shown[place]) > 0
    }
    hidden = 0
    if data.populations is not None:
        hidden = int(data.values.shape[1] - np.sum([is_own for _, is_own in data.groups]))
    named = {f"score{place}": name for place, name in enumerate(data.names[:MAX_FIGURED])}
    return {
        "figures": figures,
        "names": {key: named[key] for key in figures},
        "undrawn": [name for key, name in named.items() if key not in figures],
        "n_more": len(data.names) - len(named),
        "fewest": FEWEST_PEOPLE,
        "n_hidden": hidden,
    }


def _deciles(data):
    if data.values.shape[1] < FEWEST_PEOPLE:
        return None
    edges = np.quantile(data.shown, np.arange(1, 10) / 10, axis=1).T
    moments = zip(data.shown.mean(axis=1).tolist(), data.shown.std(axis=1).tolist(), strict=True)
    remarks = data.remarks.tolist()
    cells = zip(data.names, data.units, moments, edges.tolist(), remarks, strict=True)
    rows = [(name, unit, [*both, *own], remark) for name, unit, both, own, remark in cells]
    return {"rows": rows, "remarks": list(_named(data.names, remarks))}


def _named(names, remarks):
    """Yield each remark with the names of its scores, the first of many."""
    for remark in (MISSING, BEYOND, WIDE):
        own = [name for name, one in zip(names, remarks, strict=True) if one == remark]
        more = f" and {len(own) - MOST_NAMED} more" if len(own) > MOST_NAMED else ""
        if own:
            yield ", ".join(own[:MOST_NAMED]) + more, remark


SECTIONS = [
    Section("Variants", "score_variants.html", _variants, anchor="variants"),
    Section(
        "Distributions", "score_distributions.html", _distributions, anchor="distributions", category=CATEGORY
    ),
    Section("Deciles", "score_deciles.html", _deciles, anchor="deciles"),
]
