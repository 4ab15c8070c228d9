"""How fits look in all figures of a benchmark: a colour and marker by method, a line by protection."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np

from dpgrs.methods.registry import METHODS
from dpgrs.reporting.charts import Look
from dpgrs.reporting.fits import Fit, reference
from dpgrs.reporting.svg import INK, MUTED
from dpgrs.types import Protection

# Noise can push R^2 far below zero; what lies under this share of the top is drawn at the edge.
FLOOR_SHARE = 0.5
MANY_ROWS = 12
# Lengths of strokes and gaps.
OTHER_DASHES = ("7 2 1 2", "4 2", "1 2")
DASHES = {Protection.FULL: "none", Protection.FEATURE: "7 3", Protection.LABEL: "1.5 2"}
# Statistics that no method is named for, as attacks are on.
PLAIN = ("#999933", "o")


def look_of(method: str) -> tuple[str, str]:
    """Return the colour and the marker of a method, which are the same in every study."""
    return METHODS[method].look if method else PLAIN


def series_looks(fits: Sequence[Fit]) -> dict[str, Look]:
    """Return the look of every series of fits.

    The reference is a dark line, and other series without privacy are grey ones. Private series have a colour
    and a marker per method, a line per protection, and a thin line with hollow markers for every accounting
    but the first.
    """
    looks, other_dashes = {}, cycle(OTHER_DASHES)
    accountings = [fit.accounting for fit in fits if fit.is_private]
    for fit in fits:
        if fit.series in looks:
            continue
        if not fit.is_private:
            is_reference = fit == reference(fits)
            looks[fit.series] = Look(INK) if is_reference else Look(MUTED, next(other_dashes))
            continue
        color, marker = look_of(fit.method)
        is_first = fit.accounting == accountings[0]
        width, face = (1.5, "") if is_first else (0.9, "#fff")
        looks[fit.series] = Look(color, DASHES[fit.protection], width, marker, face)
    return looks


def fit_colors(fits: Sequence[Fit]) -> list[str]:
    """Return colours for a few fits side by side: the reference dark, those of one method from pale to
    full."""
    looks, methods = series_looks(fits), {}
    for fit in fits:
        methods.setdefault(fit.method, []).append(fit)
    return [
        _mixed_with_white(
            looks[fit.series].color,
            0.45 + 0.55 * (methods[fit.method].index(fit) + 1) / len(methods[fit.method]),
        )
        for fit in fits
    ]


def limits(r2: np.ndarray, *, reach: float = 0.06, lowest: float | None = None) -> tuple[float, float]:
    """Return the bottom and the top of an R^2 axis: all values, but not those far below zero.

    `reach` is the empty margin as a share of the axis. `lowest` is the bottom if values lie below it; None
    takes a share of the top, below zero.
    """
    finite = r2[np.isfinite(r2)]
    top = max(finite.max(initial=0.0), 0.02)
    lowest = -FLOOR_SHARE * top if lowest is None else lowest
    floor = max(finite.min(initial=0.0), lowest)
    margin = reach * (top - floor)
    return floor - margin if floor < 0 else 0.0, top + margin


def row_height(n_rows: int) -> int:
    """Return the height, in points, of a row of a figure with so many rows."""
    return 22 if n_rows <= MANY_ROWS else 15


def _mixed_with_white(color: str, share: float) -> str:
    channels = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - share * (255 - channel)):02x}" for channel in channels)
