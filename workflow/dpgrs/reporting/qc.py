"""The page on genotypes of a benchmark: what became of all variants, and how people differ."""

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from dpgrs.io.genotype_summary import CALL_EDGES, GenotypeSummary
from dpgrs.io.variant_filters import CALLS
from dpgrs.reporting.charts import PAD, TICK, Axes, Legend, Look, Picture, steps_figure
from dpgrs.reporting.rendering import STAMP, Drawing, Section
from dpgrs.reporting.svg import INK, MARKERS, MUTED, PALETTE, WIDTH, marker_size, shortened

if TYPE_CHECKING:
    from dpgrs.reporting.data import ReportData

CATEGORY = "Genotypes"
N_BINS = 30
ALL, OTHERS = "all people", "others"
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


class Group(NamedTuple):
    """People who look alike in figures."""

    name: str
    look: Look
    is_own: np.ndarray  # (n_people,) bool


def heterozygosity_figure(summary: GenotypeSummary, groups: Sequence[Group]) -> Picture:
    """Draw the distribution of heterozygosity over people, a line per population."""
    values = summary.heterozygosity
    edges = np.histogram_bin_edges(values[np.isfinite(values)], bins=N_BINS)
    counts = [np.histogram(values[group.is_own], edges)[0] for group in groups]
    legend = Legend([(shortened(group.name), group.look._replace(marker="")) for group in groups], WIDTH)
    xlabel = "share of heterozygous calls of a person"
    return steps_figure(edges, counts, legend, height=124, xlabel=xlabel, ylabel="people")


def components_figure(summary: GenotypeSummary, groups: Sequence[Group]) -> Picture:
    """Draw people by their first two principal components, in the colours of their populations."""
    legend = Legend([(shortened(group.name), group.look._replace(width=0)) for group in groups], WIDTH)
    top = legend.height + 8
    picture = Picture(WIDTH, top + 322)
    ends = [(low - (high - low) / 20, high + (high - low) / 20) for low, high in _ranges(summary.components)]
    axes = Axes(picture, 52, top, WIDTH - 12, top + 284, x=ends[0], y=ends[1])
    axes.rules(5)
    legend.draw(picture)
    for group in groups:
        style = {"fill": group.look.color, "fill_opacity": 0.6, "size": marker_size(group.look.marker, 3.2)}
        axes.marks(*summary.components[group.is_own].T, marker=group.look.marker, **style)
    first, second = (
        f"component {i}, {100 * share:.1f} %" for i, share in enumerate(summary.explained, start=1)
    )
    axes.ticks_left(5)
    axes.ticks_below(5)
    axes.label_below(first, 26)
    axes.label_left(second, 40)
    corner = {"fill": MUTED, "font_size": 7, "text_anchor": "end"}
    picture.text(WIDTH - 3, picture.height - 6, STAMP, **corner)
    return picture


def decay_figure(summary: GenotypeSummary) -> Picture:
    """Draw mean r^2 of pairs of variants by their distance."""
    edges = summary.edges / 1000
    # The first bin begins at 0, which a logarithmic axis does not have.
    middle = np.log(np.sqrt(np.maximum(edges[:-1], edges[1] / 2) * edges[1:]))
    chance, finite = 1 / len(summary.heterozygosity), np.isfinite(summary.decay)
    top = 1.08 * max(summary.decay[finite].max(initial=0.0), chance)
    picture, look = Picture(WIDTH, 190), Look(PALETTE[0], width=1.3, marker=MARKERS[0])
    ends = (middle[0] - np.log(1.2), np.log(edges[-1]))
    axes = Axes(picture, 46, 8, WIDTH - 12, 154, x=ends, y=(0, top))
    axes.rules(5)
    axes.levels(chance, color=MUTED, width=0.8, stroke_dasharray="3 2")
    axes.line(middle[finite], summary.decay[finite], look)
    axes.marks(middle, summary.decay, marker=look.marker, size=4.5, fill=look.color)
    axes.ticks_left(5)
    axes.names_below([(np.log(edge), f"{edge:g}") for edge in edges[1:]], pad=TICK + PAD)
    ticks = "".join(f"M{axes.across(np.log(edge)):.1f} {axes.bottom:g}v{TICK}" for edge in edges[1:])
    picture.path(f"M{axes.left:g} {axes.bottom:g}H{axes.right:g}{ticks}", stroke=MUTED, stroke_width=0.6)
    axes.label_below("distance, kb", 26)
    axes.label_left("mean r²", 34)
    return picture


def _ranges(values: np.ndarray) -> list[tuple[float, float]]:
    """Return the lowest and the highest value of every column; both ends hold 0."""
    return [(min(0.0, column.min()), max(0.0, column.max())) for column in values.T]


def _groups(summary: GenotypeSummary) -> list[Group]:
    """Return the groups in figures: populations, or all people."""
    n_people = len(summary.heterozygosity)
    if not len(summary.names):
        is_own = np.ones(n_people, dtype=bool)
        return [Group(ALL, Look(PALETTE[0], width=1.3, marker=MARKERS[0]), is_own)]
    # Two more than the palette holds.
    colors = zip((*PALETTE, "#882255", "#6b4c1e"), cycle(MARKERS), strict=False)
    groups = [
        Group(str(name), Look(color, width=1.3, marker=marker), summary.population == name)
        for name, (color, marker) in zip(summary.names, colors, strict=False)
    ]
    is_other = ~np.isin(summary.population, summary.names)
    return groups + [Group(OTHERS, Look(INK, width=1.3, marker="x"), is_other)] * bool(is_other.any())


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
