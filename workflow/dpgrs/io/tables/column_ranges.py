"""Public ranges of the columns of a table of real numbers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.io.tables.real_columns import RealTable, fits
from dpgrs.io.tables.tables import header_of, rows_of
from dpgrs.io.tables.text_columns import LARGEST_VALUE

RANGE_COLUMNS = ("column", "low", "high")
CENTRE = "centre"
_LEVELS = (0.0, 1.0, 0.5)  # low, high and centre of a level


def read_ranges(path: Path | str, table: RealTable, *, others: Sequence[str] = ()) -> tuple[np.ndarray, ...]:
    """Return low, high and centre of each column, (n_columns,) float64: public bounds of its values.

    The file has the columns `column`, `low` and `high`, and perhaps `centre`, which is halfway otherwise. The
    first line that fits a column holds. Levels are between 0 and 1 unless a line has their very name. Lines
    may also name columns in `others`; a line that no column has is refused.
    """
    rows = rows_of(path)
    header = header_of(rows, path)
    if tuple(header) not in (RANGE_COLUMNS, (*RANGE_COLUMNS, CENTRE)):
        raise UsageError(
            f"`{path}`, line 1: the columns must be {', '.join(RANGE_COLUMNS)}, and perhaps {CENTRE}, got "
            f"{', '.join(header)}. Name them so."
        )
    ranges, names = {}, [*table.names, *others]
    for line, (pattern, *cells) in rows:
        where = f"`{path}`, line {line}"
        if pattern in ranges or not any(fits(pattern, name) for name in names):
            fault = "a second line for" if pattern in ranges else "the unknown"
            raise UsageError(
                f"{where}: each line must be of other columns, got {fault} `{pattern}`. Take it out."
            )
        ranges[pattern] = _range(cells, where)
    bounds = [_range_of(name, ranges, table, path) for name in table.names]
    return tuple(np.array(bounds).T)


def _range(cells: Sequence[str], where: str) -> tuple[float, float, float]:
    numbers = pd.to_numeric(pd.Series(cells), errors="coerce").to_numpy(dtype=np.float64)
    low, high = numbers[:2]
    centre = numbers[2] if len(numbers) > 2 else (low + high) / 2
    # NaN, of text too, is in no range.
    if not (np.abs(numbers) <= LARGEST_VALUE).all() or not low < centre < high:
        raise UsageError(
            f"{where}: must have numbers low < {CENTRE} < high, got {', '.join(cells)}. Correct them."
        )
    return low, high, centre


def _range_of(
    name: str, ranges: dict[str, tuple[float, float, float]], table: RealTable, path: Path | str
) -> tuple[float, float, float]:
    if name in ranges:
        return ranges[name]
    if name in table.levels:
        return _LEVELS
    fitting = next((bounds for pattern, bounds in ranges.items() if fits(pattern, name)), None)
    if fitting is None:
        raise UsageError(
            f"`{path}` must have a line for every column of `{table.path}`, got none for `{name}`. Add its "
            "public range."
        )
    return fitting
