"""Figures of a whole study: R^2 against epsilon for every design, and how R^2 differs between outcomes."""

import numpy as np
from matplotlib.lines import Line2D

from dpgrs.reporting.accuracy import mean, trial_means
from dpgrs.reporting.fits import reference
from dpgrs.reporting.svg import (
    FAINT,
    INK,
    MARKERS,
    MUTED,
    PALETTE,
    few_ticks,
    new_figure,
    save_svg,
    styled,
    text_width,
)

WIDTH = 700
PANEL_HEIGHT = 150
OTHER_LINES = ("--", ":", "-.")
# Noise can push R^2 far below zero; what lies under this share of the top is drawn at the edge.
FLOOR_SHARE = 0.5


def write_r2_figure(metrics, path, *, stamp=""):
    """Draw mean R^2 against epsilon, one panel per panel size and number of outcomes, to an SVG file.

    Parameters
    ----------
    metrics : the study's metrics, as read from metrics.tsv.
    path : the file to write.
    stamp : str, printed into the corner: a figure may travel without its study.
    """
    with styled():
        figure = r2_figure(metrics)
        figure.text(0.995, 0.005, stamp, ha="right", va="bottom", color=MUTED, fontsize=7)
        save_svg(figure, path)


def r2_figure(metrics):
    """Draw mean R^2 over outcomes against epsilon, with the range over trials, for every design.

    Parameters
    ----------
    metrics : the study's metrics.

    Returns
    -------
    matplotlib Figure; call within `styled`.
    """
    fits, points = trial_means(metrics)
    sizes, counts = sorted(set(points["n_variants"])), sorted(set(points["n_outcomes"]))
    epsilons = sorted({fit.epsilon for fit in fits if fit.is_private})
    styles = series_styles(fits)
    floor, top = limits(points["r2"].to_numpy(dtype=float))
    legend_height = 16 * -(-len(styles) // 3)
    figure, axes = new_figure(
        WIDTH,
        PANEL_HEIGHT * len(sizes) + legend_height + 60,
        left=50,
        right=12,
        top=legend_height + 24,
        bottom=36,
        nrows=len(sizes),
        ncols=len(counts),
        sharex=True,
        sharey=True,
        gridspec_kw={"hspace": 0.28, "wspace": 0.08},
    )
    for row, n_variants in zip(axes, sizes, strict=True):
        for panel, n_outcomes in zip(row, counts, strict=True):
            design = (points["n_variants"] == n_variants) & (points["n_outcomes"] == n_outcomes)
            values = {fits[fit]: rows["r2"].to_numpy(float) for fit, rows in points[design].groupby("fit")}
            _draw_design(panel, values, epsilons, styles, floor)
            panel.set_title(f"{n_variants:,} variants, {n_outcomes:,} {plural('outcome', n_outcomes)}")
    panel.set(ylim=(floor, top), xlim=(-0.5, max(len(epsilons), 1) - 0.5))
    panel.set_xticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
    few_ticks(panel.yaxis, 5)
    for bottom in axes[-1]:
        bottom.set_xlabel("privacy budget ε" if epsilons else "no private fit")
    for first in axes[:, 0]:
        first.set_ylabel("mean R²")
    handles = [Line2D([], [], label=series, **style) for series, style in styles.items()]
    figure.legend(handles=handles, ncols=3, loc="upper left", borderaxespad=0.4, handlelength=3)
    return figure


def spread_figure(accuracy):
    """Draw how R^2 differs between outcomes, one line per fit, at the largest design.

    Parameters
    ----------
    accuracy : Accuracy

    Returns
    -------
    matplotlib Figure; call within `styled`.
    """
    labels = [fit.label for fit in accuracy.fits]
    per_outcome = mean(accuracy.r2, axis=2)
    quantiles = [_quantiles(row) for row in per_outcome]
    floor, top = limits(np.concatenate(quantiles))
    styles = series_styles(accuracy.fits)
    figure, [[axes]] = new_figure(
        WIDTH, 22 * len(labels) + 42, left=text_width(labels) + 14, right=12, top=6, bottom=36
    )
    for y, (fit, values) in enumerate(zip(accuracy.fits, quantiles, strict=True)):
        low, q1, median, q3, high = np.maximum(values, floor)
        color = styles[fit.series]["color"]
        axes.plot([low, high], [y, y], color=color, linewidth=0.9)
        axes.plot([q1, q3], [y, y], color=color, linewidth=6, solid_capstyle="butt", alpha=0.45)
        is_below = values[2] < floor
        point = {"marker": "<", "markersize": 6} if is_below else {"marker": "o", "markeredgecolor": "white"}
        axes.plot(median, y, color=color, clip_on=False, **{"markersize": 4.5} | point)
    if floor < 0:
        axes.axvline(0, color=MUTED, linewidth=0.6, zorder=0)
    axes.set(xlim=(floor, top), ylim=(len(labels) - 0.4, -0.6), xlabel="R², mean over trials, by outcome")
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    few_ticks(axes.xaxis, 6)
    return figure


def series_styles(fits):
    """Give every series of fits its colour, line and marker.

    Non-private series are grey lines; private ones have a colour per method and protection, and a hollow
    marker for every accounting but the first.
    """
    styles, families, accountings = {}, [], []
    for fit in fits:
        if fit.series in styles:
            continue
        if not fit.is_private:
            is_reference = fit == reference(fits)
            styles[fit.series] = {
                "color": INK if is_reference else MUTED,
                "linestyle": "-" if is_reference else OTHER_LINES[len(styles) % len(OTHER_LINES)],
                "linewidth": 1.1,
            }
            continue
        for seen, name in ((families, (fit.method, fit.protection)), (accountings, fit.accounting)):
            if name not in seen:
                seen.append(name)
        family = families.index((fit.method, fit.protection))
        is_first = accountings.index(fit.accounting) == 0
        color = PALETTE[family % len(PALETTE)]
        styles[fit.series] = {
            "color": color,
            "linestyle": "-" if is_first else (0, (4, 2)),
            "linewidth": 1.4,
            "marker": MARKERS[family % len(MARKERS)],
            "markerfacecolor": color if is_first else "white",
            "markersize": 5,
        }
    return styles


def limits(r2, *, reach=0.06):
    """Return the bottom and the top of an R^2 axis: all values, but no more than a share below zero."""
    finite = r2[np.isfinite(r2)]
    top = max(finite.max(initial=0.0), 0.02)
    floor = max(finite.min(initial=0.0), -FLOOR_SHARE * top)
    margin = reach * (top - floor)
    return floor - margin if floor < 0 else 0.0, top + margin


def plural(noun, number):
    """Return the noun as it goes with a number of things."""
    return noun if number == 1 else f"{noun}s"


def _draw_design(panel, values, epsilons, styles, floor):
    """Draw one panel; `values` holds per fit its (n_trials,) mean R^2."""
    panel.grid(axis="y", color=FAINT, linewidth=0.5)
    panel.set_axisbelow(True)
    if floor < 0:
        panel.axhline(0, color=MUTED, linewidth=0.6)
    for fit in [fit for fit in values if not fit.is_private]:
        style = styles[fit.series]
        panel.axhline(mean(values[fit]), **style)
        panel.axhspan(*_range(values[fit]), color=style["color"], alpha=0.1, linewidth=0)
    private = [series for series in styles if any(fit.series == series and fit.is_private for fit in values)]
    for place, series in enumerate(private):
        fits = [fit for fit in values if fit.series == series]
        # Side by side, so that ranges of several series can be told apart.
        shift = 0.16 * (place - (len(private) - 1) / 2)
        x = np.array([epsilons.index(fit.epsilon) for fit in fits]) + shift
        centres = np.array([mean(values[fit]) for fit in fits])
        style = styles[series]
        panel.vlines(
            x, *np.array([_range(values[fit]) for fit in fits]).T, color=style["color"], linewidth=0.9
        )
        # The line is cut at the edge, the markers are not.
        panel.plot(x, centres, **style | {"marker": None})
        is_below = centres < floor
        points = style | {"linestyle": "none", "clip_on": False}
        panel.plot(x[~is_below], centres[~is_below], **points)
        panel.plot(x[is_below], np.full(is_below.sum(), floor), **points | {"marker": "v"})


def _range(values):
    finite = values[np.isfinite(values)]
    return (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)


def _quantiles(values):
    finite = values[np.isfinite(values)]
    return np.percentile(finite, (5, 25, 50, 75, 95)) if len(finite) else np.full(5, np.nan)
