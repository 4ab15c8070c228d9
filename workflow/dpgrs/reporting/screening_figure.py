"""Scores of all variants along the genome, and which of them were chosen."""

import numpy as np

from dpgrs.reporting.outcome_figures import bar_outline, genome_axis, show_chromosomes, thin_bars
from dpgrs.reporting.styles import WIDTH
from dpgrs.reporting.svg import INK, MUTED, PALETTE, few_ticks, new_figure, text_width, without_label

SCORES_HEIGHT, LANE_HEIGHT = 120, 18
PRIVATE_COLOR, CAUSAL_COLOR = PALETTE[1], PALETTE[2]
CAUSAL = "causal"


class ScoresFigure:
    """Scores of one outcome, and a lane of ticks per choice; built once, redrawn per outcome.

    Parameters
    ----------
    variants : data frame with contig and position of n_variants variants, in genome order.
    labels : list of str, one per choice; the first is the one without privacy.
    has_causal : bool, whether there is a last lane, of causal variants.
    """

    def __init__(self, variants, *, labels, has_causal):
        self.x, chromosomes = genome_axis(variants["contig"], variants["position"])
        labels = [*labels, CAUSAL] if has_causal else labels
        lanes = LANE_HEIGHT * len(labels)
        self.figure, axes = new_figure(
            WIDTH,
            SCORES_HEIGHT + lanes + 60,
            left=max(46, text_width(labels) + 12),
            right=6,
            top=16,
            bottom=28,
            nrows=2,
            sharex=True,
            gridspec_kw={"hspace": 0.12, "height_ratios": [SCORES_HEIGHT, lanes]},
        )
        scores, below = axes[:, 0]
        self._scores = scores
        self._bars = scores.plot([], [], color=MUTED)[0]
        marks = {"linestyle": "none", "clip_on": False}
        self._exact = scores.plot([], [], marker="o", color=INK, markersize=3.6, **marks)[0]
        ring = {"marker": "o", "markerfacecolor": "none", "markeredgecolor": PRIVATE_COLOR}
        self._private = scores.plot([], [], markersize=7.5, markeredgewidth=1.3, **ring, **marks)[0]
        self._lanes = [
            below.plot([], [], marker="|", markersize=10, markeredgewidth=1.6, color=color, **marks)[0]
            for color in self._lane_colors(len(labels), has_causal)
        ]
        scores.text(0, 1.05, "Kendall score, without its sign", transform=scores.transAxes)
        below.set_yticks(range(len(labels)), labels)
        below.set(ylim=(len(labels) - 0.5, -0.5))
        below.set_xlabel("chromosome", labelpad=2)
        below.tick_params(axis="y", length=0)
        for axis in (scores, below):
            show_chromosomes(axis, chromosomes)
            without_label(axis.yaxis)
        scores.tick_params(axis="x", labelbottom=False)
        without_label(scores.xaxis)
        below.spines[["left", "bottom"]].set_visible(False)
        few_ticks(scores.yaxis, 4)

    def draw(self, scores, chosen, causal):
        """Show another outcome.

        Parameters
        ----------
        scores : (n_variants,) float64
        chosen : list with (n_choices,) int64 for every choice.
        causal : (n_causal,) int64; None without that lane.

        Returns
        -------
        matplotlib Figure, the same object every time.
        """
        heights = np.abs(scores)
        x, tallest = thin_bars(self.x, heights)
        self._bars.set_data(bar_outline(x, tallest))
        self._bars.set_linewidth(1.2 if len(x) < 200 else 0.7)
        self._scores.set_ylim(0, 1.1 * (heights.max(initial=0.0) or 1.0))
        self._exact.set_data(self.x[chosen[0]], heights[chosen[0]])
        if len(chosen) > 1:
            self._private.set_data(self.x[chosen[-1]], heights[chosen[-1]])
        places = chosen if causal is None else [*chosen, causal]
        for y, (ticks, own) in enumerate(zip(self._lanes, places, strict=True)):
            ticks.set_data(self.x[own], np.full(len(own), y))
        return self.figure

    @staticmethod
    def _lane_colors(n_lanes, has_causal):
        n_private = n_lanes - 1 - has_causal
        return [INK, *[PRIVATE_COLOR] * n_private, *[CAUSAL_COLOR] * has_causal]
