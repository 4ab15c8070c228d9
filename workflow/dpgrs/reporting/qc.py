"""The page on genotypes of a benchmark: what became of all variants, and how people differ."""

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpgrs.io.genotype_summary import CALL_EDGES, GenotypeSummary
from dpgrs.io.variant_filters import CALLS
from dpgrs.reporting.rendering import STAMP, Drawing, Section
from dpgrs.reporting.styles import WIDTH
from dpgrs.reporting.svg import (
    FAINT,
    INK,
    MARKERS,
    MUTED,
    PALETTE,
    few_ticks,
    marker_size,
    new_figure,
    shortened,
    stamp,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpgrs.reporting.data import ReportData

CATEGORY = "Genotypes"
N_BINS = 30
ALL, OTHERS = "all people", "others"
LEGEND_LINE = 14
# In the order in which variants are checked.
COLUMNS = {
    "chromosome": "Chromosome",
    "records": "Records",
    "filtered": "FILTER",
    "no_gt": "No GT",
    "no_alt": "No ALT",
    "symbolic": "Symbolic ALT",
    "star": "* ALT",
    "rows": "Variants",
    "class": "Class",
    "multiallelic": "Same position",
    "ambiguous": "Ambiguous",
    "missing": "Missing",
    "maf": "Rare",
    "hwe": "HWE",
    "ld": "Linked",
    "thinned": "Thinned",
    "kept": "Kept",
    "call_rate": "Call rate",
    "least_call_rate": "Lowest of a variant",
    "half_calls": "Half calls",
}
ALWAYS = ("chromosome", "records", "rows", "thinned", "kept", "call_rate")


def filter_words(variants: Any) -> list[str]:
    """Return which variants a study may take, a phrase a filter, by the settings `Variants`."""
    words = [f"minor-allele frequency of at least {variants.maf:g}"]
    if variants.missing < 1:
        words.append(f"at most {100 * variants.missing:g} % of alleles missing")
    if variants.hwe > 0:
        words.append(f"mid-p of the Hardy-Weinberg test of at least {variants.hwe:g}")
    if variants.ld_r2 is not None:
        words.append(f"r² of at most {variants.ld_r2:g} with others within {variants.ld_window:g} kb")
    if variants.ambiguous == "drop":
        words.append("no A/T or C/G SNPs")
    if variants.multiallelic == "drop":
        words.append("one variant per position")
    if len(variants.classes) == 1:
        words.append(f"{variants.classes[0].replace('snp', 'SNP')}s alone")
    return words


def shown_columns(counts: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the columns to show, as (name, heading): those that always are, and those with any count."""
    return [
        (name, heading)
        for name, heading in COLUMNS.items()
        if name in counts and (name in ALWAYS or counts[name].sum() > 0)
    ]


def call_rows(summary: GenotypeSummary) -> list[tuple[str, int, int]]:
    """Return (call rates in words, variants, people) of every bin that is not empty, the lowest first."""
    percents = [f"{100 * edge:g}" for edge in CALL_EDGES]
    pairs = zip(percents[:-1], [*percents[1:-1], "100"], strict=True)
    names = [f"below {percents[0]} %", *(f"{low} % to below {high} %" for low, high in pairs), "100 %"]
    counts = zip(summary.variant_calls.tolist(), summary.person_calls.tolist(), strict=True)
    return [(name, *both) for name, both in zip(names, counts, strict=True) if any(both)]


def heterozygosity_figure(
    summary: GenotypeSummary, groups: Sequence[tuple[str, str, str, np.ndarray]]
) -> "Figure":
    """Draw the distribution of heterozygosity over people, a line per population; call within `styled`."""
    values = summary.heterozygosity
    edges = np.histogram_bin_edges(values[np.isfinite(values)], bins=N_BINS)
    figure, axes = _with_legend(groups, height=170)
    for name, color, _, is_own in groups:
        counts, _ = np.histogram(values[is_own], edges)
        axes.stairs(counts, edges, color=color, linewidth=1.3, label=shortened(name))
    axes.set(xlabel="share of heterozygous calls of a person", ylabel="people", ylim=(0, None))
    few_ticks(axes.xaxis, 8)
    few_ticks(axes.yaxis, 4)
    _legend(figure, groups)
    return figure


def components_figure(
    summary: GenotypeSummary, groups: Sequence[tuple[str, str, str, np.ndarray]]
) -> "Figure":
    """Draw people by their first two principal components, in the colours of their populations."""
    figure, axes = _with_legend(groups, height=330)
    for name, color, marker, is_own in groups:
        axes.plot(
            *summary.components[is_own].T,
            linestyle="none",
            marker=marker,
            markersize=marker_size(marker, 3.2),
            color=color,
            alpha=0.6,
            markeredgewidth=0,
            label=shortened(name),
        )
    first, second = (
        f"component {i}, {100 * share:.1f} %" for i, share in enumerate(summary.explained, start=1)
    )
    axes.set(xlabel=first, ylabel=second)
    for axis in (axes.xaxis, axes.yaxis):
        few_ticks(axis, 5)
    _legend(figure, groups)
    stamp(figure, STAMP)
    return figure


def decay_figure(summary: GenotypeSummary) -> "Figure":
    """Draw mean r^2 of pairs of variants by their distance; call within `styled`."""
    edges = summary.edges / 1000
    figure, [[axes]] = new_figure(WIDTH, 190, left=46, right=12, top=8, bottom=36)
    # The first bin begins at 0, which a logarithmic axis does not have.
    middle = np.sqrt(np.maximum(edges[:-1], edges[1] / 2) * edges[1:])
    axes.plot(middle, summary.decay, color=PALETTE[0], marker=MARKERS[0], markersize=4.5, linewidth=1.3)
    chance = 1 / len(summary.heterozygosity)
    axes.axhline(chance, color=MUTED, linewidth=0.8, linestyle="--")
    axes.set_xscale("log")
    axes.set_xticks(edges[1:], [f"{edge:g}" for edge in edges[1:]])
    axes.minorticks_off()
    axes.set(xlim=(middle[0] / 1.2, edges[-1]), ylim=(0, None), xlabel="distance, kb", ylabel="mean r²")
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    few_ticks(axes.yaxis, 5)
    return figure


def _groups(summary: GenotypeSummary) -> list[tuple[str, str, str, np.ndarray]]:
    """Return (name, colour, marker, is_own) of the groups in figures: populations, or all people."""
    n_people = len(summary.heterozygosity)
    if not len(summary.names):
        return [(ALL, PALETTE[0], MARKERS[0], np.ones(n_people, dtype=bool))]
    # Two more than the palette holds.
    looks = zip((*PALETTE, "#882255", "#6b4c1e"), cycle(MARKERS), strict=False)
    groups = [
        (str(name), *look, summary.population == name)
        for name, look in zip(summary.names, looks, strict=False)
    ]
    is_other = ~np.isin(summary.population, summary.names)
    return groups + [(OTHERS, INK, "x", is_other)] * bool(is_other.any())


def _with_legend(
    groups: Sequence[tuple[str, str, str, np.ndarray]], *, height: float
) -> "tuple[Figure, Any]":
    rows = -(-len(groups) // 4)
    figure, [[axes]] = new_figure(
        WIDTH, height + LEGEND_LINE * rows, left=52, right=12, top=LEGEND_LINE * rows + 8, bottom=38
    )
    axes.grid(color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    return figure, axes


def _legend(figure: "Figure", groups: Sequence[tuple[str, str, str, np.ndarray]]) -> None:
    figure.legend(
        loc="upper left", ncols=min(len(groups), 4), borderaxespad=0.2, handletextpad=0.4, markerscale=2
    )


def _population_rows(summary: GenotypeSummary) -> list[dict[str, Any]]:
    """Return a dict per population: name, n, observed, expected, inbreeding and its F_ST with all."""
    return [
        {
            "name": str(name),
            "n": int(n),
            "observed": observed,
            "expected": expected,
            "inbreeding": 1 - observed / expected if expected > 0 else np.nan,
            "fst": fst.tolist(),
        }
        for name, n, observed, expected, fst in zip(
            summary.names,
            summary.sizes,
            summary.observed.tolist(),
            summary.expected.tolist(),
            summary.fst,
            strict=True,
        )
    ]


def _variants(data: "ReportData") -> dict[str, Any]:
    counts = data.quality.counts
    return {
        "filters": filter_words(data.quality.settings),
        "columns": shown_columns(counts),
        "rows": counts.to_dict("records"),
        "shares": CALLS,
    }


def _people(summary: GenotypeSummary) -> dict[str, Any]:
    return {"summary": summary, "n_people": len(summary.heterozygosity)}


def _calls(data: "ReportData") -> dict[str, Any]:
    summary = data.quality.summary
    return _people(summary) | {"calls": call_rows(summary)}


def _heterozygosity(data: "ReportData") -> dict[str, Any]:
    summary = data.quality.summary
    figure = Drawing(heterozygosity_figure(summary, _groups(summary)), "Heterozygosity of people")
    return _people(summary) | {
        "populations": _population_rows(summary),
        "figures": {"heterozygosity": figure},
    }


def _populations(data: "ReportData") -> dict[str, Any] | None:
    summary, figures = data.quality.summary, {}
    if np.isfinite(summary.explained).all():
        figure = components_figure(summary, _groups(summary))
        figures["components"] = Drawing(figure, "First two principal components of people")
    if not figures and len(summary.names) < 2:
        return None
    return {"populations": _population_rows(summary), "figures": figures}


def _linkage(data: "ReportData") -> dict[str, Any]:
    figure = Drawing(decay_figure(data.quality.summary), "r² of variants by their distance")
    return {"figures": {"decay": figure}}


GENOTYPES = [
    Section("Variants", "variants.html", _variants, anchor="variants"),
    Section("Call rates", "calls.html", _calls, anchor="calls"),
    Section(
        "Heterozygosity", "heterozygosity.html", _heterozygosity, anchor="heterozygosity", category=CATEGORY
    ),
    Section("Populations", "populations.html", _populations, anchor="populations", category=CATEGORY),
    Section("Linkage", "linkage.html", _linkage, anchor="linkage", category=CATEGORY),
]
