"""Depth among models, one coordinate at a time: volumes of the regions of every depth, and points of them.

The depth of a point is the smallest number of models on either side of it in any coordinate, the point itself
counted on both sides. With s_(j,1) <= ... <= s_(j,m) the sorted values of coordinate j, the points of depth p
or more are the box of all [s_(j,p), s_(j,m-p+1)], p = 1 .. floor(m/2). Volumes are kept as logarithms: of six
coordinates alone they leave the range of floats [1]_.

References
----------
.. [1] Amin, Joseph, Ribero, Vassilvitskii (2023). Easy differentially private linear regression. ICLR.
"""

import numpy as np


def depth(points, models):
    """Count the models on the emptier side of points, in the coordinate where they are fewest.

    Parameters
    ----------
    points : (n_points, d) float64
    models : (n_models, d) float64

    Returns
    -------
    (n_points,) int64, 0 outside of the models.
    """
    counts = [
        np.minimum(
            np.searchsorted(values, point, side="right"),
            len(values) - np.searchsorted(values, point, side="left"),
        )
        for values, point in zip(np.sort(models.T), points.T, strict=True)
    ]
    return np.min(counts, axis=0)


def log_volumes(models):
    """Measure the regions of every depth.

    Parameters
    ----------
    models : (n_models, d) finite float64

    Returns
    -------
    log_volume : (floor(n_models/2),) log V_p of the points of depth p or more, at index p - 1.
    log_exact : (floor(n_models/2),) log B_p of those of depth exactly p, B_p = V_p - V_(p+1). Both are -inf
        where models share a value.
    """
    low, high = _boxes(np.sort(models.T))
    log_lengths = _log(high - low)
    log_exact = np.logaddexp.reduce(_log_pieces(low, high), axis=1)
    assert log_lengths.shape == (len(models) // 2 + 1, models.shape[1])
    return log_lengths[:-1].sum(axis=1), log_exact


def draw_depth(log_exact, *, least, rate, generator):
    """Draw a depth q >= least with probability proportional to B_q exp(rate q).

    Parameters
    ----------
    log_exact : from `log_volumes`.
    least : int > 0
    rate : float
    generator : numpy Generator

    Returns
    -------
    int, or None if no such depth has a volume.
    """
    q = np.arange(least, len(log_exact) + 1)
    return _race(log_exact[least - 1 :] + rate * q, generator, first=least)


def draw_point(models, exact_depth, *, generator):
    """Draw a point uniformly among those of a depth.

    Of d disjoint pieces of that region, piece j has coordinate j as the first that is no deeper. It is drawn
    by its volume: coordinates before j are uniform in the next smaller box, j at the two ends of its side,
    the others along theirs.

    Parameters
    ----------
    models : (n_models, d) finite float64
    exact_depth : int in [1, floor(n_models/2)], of a region with a volume.
    generator : numpy Generator

    Returns
    -------
    (d,) float64
    """
    low, high = _boxes(np.sort(models.T))
    j = _race(_log_pieces(low, high)[exact_depth - 1], generator)
    outer, inner = exact_depth - 1, exact_depth
    is_before = np.arange(models.shape[1]) < j
    start, end = np.where(is_before, low[inner], low[outer]), np.where(is_before, high[inner], high[outer])
    left, right = low[inner, j] - low[outer, j], high[outer, j] - high[inner, j]
    point = generator.uniform(start, end)
    place = generator.uniform(0, left + right)
    point[j] = low[outer, j] + place if place < left else high[inner, j] + (place - left)
    return point


def _boxes(values):
    """Return the lower and upper ends of the box of every depth 1 .. floor(m/2) + 1, the last one empty.

    Parameters
    ----------
    values : (d, n_models) sorted along the rows.

    Returns
    -------
    low, high : (floor(n_models/2) + 1, d)
    """
    half = values.shape[1] // 2
    low, high = values.T[: half + 1], values.T[::-1][: half + 1]
    # Half of an even number of models: the two ends have passed each other.
    return low, np.maximum(low, high)


def _log_pieces(low, high):
    """Return the logarithms of the volumes of the pieces that `draw_point` describes.

    Sums of positive terms: the difference of two volumes would lose the digits of a thin shell.

    Parameters
    ----------
    low, high : from `_boxes`.

    Returns
    -------
    (floor(n_models/2), d)
    """
    log_lengths = _log(high - low)
    log_ends = _log(np.diff(low, axis=0) - np.diff(high, axis=0))
    before = np.zeros_like(log_ends)
    before[:, 1:] = np.cumsum(log_lengths[1:, :-1], axis=1)
    after = np.zeros_like(log_ends)
    after[:, :-1] = np.cumsum(log_lengths[:-1, :0:-1], axis=1)[:, ::-1]
    return before + log_ends + after


def _race(log_weights, generator, *, first=0):
    """Draw an index by racing: the largest of log weights with Gumbel noise of their own."""
    if not np.any(log_weights > -np.inf):
        return None
    return first + int(np.argmax(log_weights + generator.gumbel(size=len(log_weights))))


def _log(lengths):
    with np.errstate(divide="ignore"):
        return np.log(lengths)
