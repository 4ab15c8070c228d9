"""Scores of all variants along the genome, and which of them were chosen."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpgrs.reporting.charts import FEW_BARS, Picture
from dpgrs.reporting.outcome_figures import genome_axes, genome_axis, name_chromosomes, thin_bars
from dpgrs.reporting.svg import INK, MUTED, PALETTE, WIDTH, text_width

SCORES_HEIGHT, LANE_HEIGHT = 120, 18
LANE_TICK = 0.56  # of the height of a lane
PRIVATE_COLOR, CAUSAL_COLOR = PALETTE[1], PALETTE[2]
CAUSAL = "causal"


class ScoresFigure:
    """Scores of outcomes, and a lane of ticks per choice.

    Variants have contig and position, in genome order. There is a label per choice, the first without
    privacy; `has_causal` adds a last lane, of causal variants.
    """

    def __init__(self, variants: pd.DataFrame, *, labels: list[str], has_causal: bool) -> None:
        self.x, self._chromosomes = genome_axis(variants["contig"], variants["position"])
        self._labels = [*labels, CAUSAL] if has_causal else labels
        self._colors = [INK, *[PRIVATE_COLOR] * (len(labels) - 1), *[CAUSAL_COLOR] * has_causal]

    def draw(self, scores: np.ndarray, chosen: Sequence[np.ndarray], causal: np.ndarray | None) -> Picture:
        """Draw an outcome.

        Scores are (n_variants,) float64, `chosen` has (n_choices,) int64 variants for every choice, and
        `causal` is (n_causal,) int64, or None without that lane.
        """
        lanes = LANE_HEIGHT * len(self._labels)
        picture = Picture(WIDTH, SCORES_HEIGHT + lanes + 60)
        left, below = max(46, text_width(self._labels) + 12), 32 + SCORES_HEIGHT
        heights = np.abs(scores)
        top = 1.1 * (heights.max(initial=0.0) or 1.0)
        axes = genome_axes(picture, self._chromosomes, left, 16, 16 + SCORES_HEIGHT, y=(0, top))
        axes.levels(0, color=MUTED, width=0.6)
        x, tallest, shared = thin_bars(self.x, heights, is_all=True)
        axes.bars(x, tallest, color=MUTED, width=1.2 if len(x) < FEW_BARS else 0.7, places=shared)
        axes.ticks_left(4)
        picture.text(left, 7, "Kendall score, without its sign")
        exact, *private = chosen
        axes.marks(self.x[exact], heights[exact], marker="o", size=4.6)
        for variants in private[-1:]:
            ring = {"fill": "none", "stroke": PRIVATE_COLOR, "stroke_width": 1.3}
            axes.marks(self.x[variants], heights[variants], marker="o", size=7.5, **ring)
        rows = (len(self._labels) - 0.5, -0.5)
        axes = genome_axes(picture, self._chromosomes, left, below, below + lanes, y=rows)
        variants_by_lane = chosen if causal is None else [*chosen, causal]
        for y, (variants, color) in enumerate(zip(variants_by_lane, self._colors, strict=True)):
            x, ticks, shared = thin_bars(self.x[variants], np.full(len(variants), LANE_TICK), is_all=False)
            axes.bars(x, ticks, low=y - LANE_TICK / 2, color=color, width=1.6, places=shared)
        axes.names_left(self._labels)
        name_chromosomes(axes, self._chromosomes)
        return picture
