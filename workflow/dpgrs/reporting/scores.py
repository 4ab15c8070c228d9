"""The page of scored people: variants, distributions, deciles. It is as private as the target."""

from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import numpy as np

from dpgrs.reporting.rendering import MAX_FIGURED, Drawing, Section, write_assets, write_page
from dpgrs.reporting.styles import WIDTH
from dpgrs.reporting.svg import FAINT, PALETTE, few_ticks, new_figure, shortened, styled

# No distribution is drawn, and no decile given, of fewer people.
FEWEST_PEOPLE = 50
N_BINS = 40
LINES = ("-", "--", ":")
LEGEND_LINE = 14
PAGE, CATEGORY = "index.html", "Scores"


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
    values : (n_outcomes, n_people) float64
    populations : (n_people,) str; None where nobody's is known.
    notes : list of str, what to know of the results.
    """

    variants: list
    names: list
    units: list
    values: np.ndarray
    populations: np.ndarray | None = None
    notes: list = field(default_factory=list)

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
    shared = {"mode": "scores", "root": "", "n_people": data.values.shape[1]}
    with styled():
        write_page(
            directory / PAGE,
            "scores.html",
            SECTIONS,
            data,
            shared=shared,
            figures=figures,
            others={},
            notes=data.notes,
        )


def distribution_figure(values, unit, groups):
    """Draw the distribution of a score, a line for each population; call within `styled`.

    Parameters
    ----------
    values : (n_people,) float64
    unit : str
    groups : list of (name, is_own), at least one.
    """
    rows = -(-len(groups) // 4)
    figure, [[axes]] = new_figure(
        WIDTH, 170 + LEGEND_LINE * rows, left=52, right=12, top=LEGEND_LINE * rows + 8, bottom=38
    )
    axes.grid(color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    edges = np.histogram_bin_edges(values, bins=N_BINS)
    looks = ((color, line) for line in cycle(LINES) for color in PALETTE)
    for (name, is_own), (color, line) in zip(groups, looks, strict=False):
        found, _ = np.histogram(values[is_own], edges)
        label = f"{shortened(name)} ({is_own.sum()})"
        share = found / is_own.sum()
        axes.stairs(share, edges, color=color, linestyle=line, linewidth=1.3, label=label)
    axes.set(xlabel=unit, ylabel="share of people", ylim=(0, None))
    few_ticks(axes.xaxis, 8)
    few_ticks(axes.yaxis, 4)
    figure.legend(loc="upper left", ncols=min(len(groups), 4), borderaxespad=0.2, handletextpad=0.4)
    return figure


def _variants(data):
    statuses = list(dict.fromkeys(name for one in data.variants for name in one["status"]))
    has_ambiguous = any(one["ambiguous_used"] for one in data.variants)
    return {"statuses": statuses, "lists": data.variants, "has_ambiguous": has_ambiguous}


def _distributions(data):
    if not data.groups:
        return None
    figures = {
        f"score{place}": Drawing(
            distribution_figure(data.values[place], data.units[place], data.groups),
            f"Distribution of {name}",
        )
        for place, name in enumerate(data.names[:MAX_FIGURED])
        if np.ptp(data.values[place]) > 0
    }
    hidden = 0
    if data.populations is not None:
        hidden = int(data.values.shape[1] - np.sum([is_own for _, is_own in data.groups]))
    named = {f"score{place}": name for place, name in enumerate(data.names[:MAX_FIGURED])}
    return {
        "figures": figures,
        "names": {key: named[key] for key in figures},
        "n_more": len(data.names) - len(named),
        "fewest": FEWEST_PEOPLE,
        "n_hidden": hidden,
    }


def _deciles(data):
    if data.values.shape[1] < FEWEST_PEOPLE:
        return None
    edges = np.quantile(data.values, np.arange(1, 10) / 10, axis=1).T
    moments = zip(data.values.mean(axis=1).tolist(), data.values.std(axis=1).tolist(), strict=True)
    cells = zip(data.names, data.units, moments, edges.tolist(), strict=True)
    return {"rows": [(name, unit, *both, own) for name, unit, both, own in cells]}


SECTIONS = [
    Section("Variants", "score_variants.html", _variants, anchor="variants"),
    Section(
        "Distributions", "score_distributions.html", _distributions, anchor="distributions", category=CATEGORY
    ),
    Section("Deciles", "score_deciles.html", _deciles, anchor="deciles"),
]
