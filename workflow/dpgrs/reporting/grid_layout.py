"""Which panels show the grid of methods, protections, budgets, panel sizes and numbers of outcomes."""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpgrs.reporting.accuracy import replicate_means
from dpgrs.reporting.fits import Fit, thin
from dpgrs.reporting.terms import ACCOUNTING_NAMES, plural
from dpgrs.reporting.words import GENOTYPE_WORDS, Words

# More lines cannot be distinguished, and nobody reads more panels one below the other.
MAX_LINES = 9
MAX_VALUES = 3


class View(NamedTuple):
    """A view of the grid: what runs along the axis, and by what else panels are told apart."""

    name: str
    x: str
    facet: str
    label: str
    words: str
    named: Words = GENOTYPE_WORDS


BY_OUTCOMES = View(
    "by_outcomes", "n_outcomes", "epsilon", "outcomes in one release", "the number of outcomes"
)
BY_EPSILON = View("by_epsilon", "epsilon", "n_outcomes", "privacy budget ε", "epsilon")


class Panel(NamedTuple):
    """What one panel shows; None where panels do not differ."""

    n_variants: int
    facet: float | None
    accounting: str | None
    protection: str | None


class Layout(NamedTuple):
    """The panels of a view."""

    panels: list[list[Panel]]  # rows of panels, all equally long
    columns: str  # what columns are told apart by: `protection` or `facet`
    # By n_variants or the view's facet, values that the figure has no room for.
    left_out: dict[str, list[Any]]


def views(metrics: pd.DataFrame, words: Words = GENOTYPE_WORDS) -> list[View]:
    """Return the views of a study in which something varies along the axis, the main one first; one at
    least."""
    has_counts, has_epsilons = (metrics[view.x].nunique() > 1 for view in (BY_OUTCOMES, BY_EPSILON))
    varying = [BY_OUTCOMES] * has_counts + [BY_EPSILON] * (has_epsilons or not has_counts)
    return [view._replace(named=words) for view in varying]


def curves(metrics: pd.DataFrame) -> tuple[list[Fit], pd.DataFrame]:
    """Return fits, and the mean R^2 over outcomes by fit and design, with the range over replicates.

    The table has n_variants, n_outcomes, fit (index into the fits), mean, min and max, with series,
    protection, accounting, epsilon and is_private of the fit, without rows that have no value.
    """
    fits, points = replicate_means(metrics)
    points["r2"] = points["r2"].where(np.isfinite(points["r2"]))
    table = points.groupby(["n_variants", "n_outcomes", "fit"])["r2"].agg(["mean", "min", "max"])
    table = table.dropna().reset_index()
    for name in ("series", "protection", "accounting", "epsilon", "is_private"):
        table[name] = [getattr(fits[code], name) for code in table["fit"]]
    return fits, table.astype({"epsilon": float, "is_private": bool})


def rows_of(table: pd.DataFrame, panel: Panel, view: View) -> pd.DataFrame:
    """Return the rows of `curves` that a panel shows: its private fits, and all references of its design."""
    is_private = table["is_private"]
    is_shown = table["n_variants"] == panel.n_variants
    for name in ("protection", "accounting"):
        if getattr(panel, name) is not None:
            is_shown &= ~is_private | (table[name] == getattr(panel, name))
    if panel.facet is not None:
        # A fit without privacy has no epsilon to be chosen by.
        has_any = ~is_private if view.facet == "epsilon" else False
        is_shown &= (table[view.facet] == panel.facet) | has_any
    return table[is_shown]


def lay_out(fits: Sequence[Fit], table: pd.DataFrame, view: View) -> Layout:
    """Share the lines of `curves` out to panels.

    All lines of a design and facet are in one panel, if they are no more than `MAX_LINES`. If they are, there
    is a panel for every accounting, protection, or both. Of numbers of variants and facets `MAX_VALUES` are
    shown.
    """
    values = {name: sorted(table[name].dropna().unique().tolist()) for name in ("n_variants", view.facet)}
    shown = {name: thin(present, MAX_VALUES) for name, present in values.items()}
    left_out = {
        name: [value for value in present if value not in shown[name]] for name, present in values.items()
    }
    sizes, facets = shown["n_variants"], shown[view.facet] or [None]
    accountings, protections = _split(fits)
    if protections == [None]:
        columns, rows = "facet", product(sizes, accountings, [None])
        panels = [[Panel(size, facet, name, None) for facet in facets] for size, name, _ in rows]
    else:
        columns, rows = "protection", product(sizes, facets, accountings)
        panels = [[Panel(*row, protection) for protection in protections] for row in rows]
    return Layout(panels, columns, {name: left for name, left in left_out.items() if left})


def panel_title(panel: Panel, view: View) -> str:
    """Return which design a panel shows; its protection stands above the column."""
    phrases = [f"{panel.n_variants:,} {plural(view.named.variant, panel.n_variants)}"]
    if panel.facet is not None:
        phrases.append(facet_name(panel.facet, view))
    if panel.accounting:
        phrases.append(ACCOUNTING_NAMES[panel.accounting])
    return ", ".join(phrases)


def facet_name(value: float, view: View) -> str:
    """Return a value of a view's facet in words."""
    if view.facet == "epsilon":
        return f"ε\u00a0=\u00a0{value:g}"
    return f"{value:,} {plural('outcome', value)}"


def left_out_words(layout: Layout, view: View) -> str:
    """Return the numbers of variants, epsilons or numbers of outcomes that a layout leaves out, if any."""
    sizes = ", ".join(f"{size:,}" for size in layout.left_out.get("n_variants", []))
    facets = ", ".join(
        f"{value:g}" if view.facet == "epsilon" else f"{value:,}"
        for value in layout.left_out.get(view.facet, [])
    )
    facet_words = {"epsilon": "ε = {}", "n_outcomes": "{} outcomes"}[view.facet]
    words = [f"{sizes} {view.named.variants}"] * bool(sizes) + [facet_words.format(facets)] * bool(facets)
    return " and ".join(words)


def _split(fits: Sequence[Fit]) -> list[list[Any]]:
    """Return the accountings and the protections that panels are told apart by, or [None]."""
    series = {(fit.accounting, fit.protection, fit.method) for fit in fits if fit.is_private}
    n_references = sum(not fit.is_private for fit in fits)
    for by_protection, by_accounting in product((False, True), repeat=2):
        lines = Counter(
            (by_accounting and combination[0], by_protection and combination[1]) for combination in series
        )
        if max(lines.values(), default=0) + n_references <= MAX_LINES:
            break
    in_order = [
        list(dict.fromkeys(getattr(fit, name) for fit in fits if fit.is_private))
        for name in ("accounting", "protection")
    ]
    return [
        names if is_split and len(names) > 1 else [None]
        for names, is_split in zip(in_order, (by_accounting, by_protection), strict=True)
    ]
