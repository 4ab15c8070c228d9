"""Genetic maps: the expected number of crossings along a chromosome."""

from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError

CENTIMORGANS = 100


def read_map(path: Path | str) -> tuple[np.ndarray, np.ndarray]:
    """Return positions in bases and their genetic positions in Morgans, (n,) float64 each.

    The table has columns ``position`` and ``cM``, or HapMap's ``Position(bp)`` and ``Map(cM)``, by position.
    """
    names = {"Position(bp)": "position", "pos": "position", "Map(cM)": "cM"}
    try:
        table = pd.read_csv(path, sep=r"\s+").rename(columns=names)
        position, centimorgans = (table[name].to_numpy(dtype=float) for name in ("position", "cM"))
    except (KeyError, ValueError, pd.errors.ParserError):
        position = centimorgans = np.empty(0)
    rises = len(position) > 1 and (np.diff(position) > 0).all() and (np.diff(centimorgans) >= 0).all()
    if not rises:
        raise DpgrsError(
            "not-a-genetic-map",
            f"`{path}` must be a genetic map with columns `position` and `cM`, both rising, got another "
            "table. Name one of a single chromosome.",
        )
    return position, centimorgans / CENTIMORGANS
