"""Columns of text tables that become numbers or levels: open data, so messages may quote a cell."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.io.tables.tables import MISSING

# Beyond, squares and products leave float64; no measured thing is so large.
LARGEST_VALUE = 1e50
# A column with more levels is an id or a measurement.
MOST_LEVELS = 1000


class Naming(NamedTuple):
    """How messages name what a user says of columns.

    Attributes
    ----------
    one_hot, drop : str, the options or keys that name columns of labels, and columns to leave out.
    with_column : function of one of the two and of a column's name, that returns how to add it.
    """

    one_hot: str
    drop: str
    with_column: Callable


@dataclass(frozen=True)
class TextColumn:
    """The cells of a column, and where they are."""

    path: str
    name: str
    texts: pd.Series
    lines: list

    @property
    def whole(self):
        return f"`{self.path}`, column `{self.name}`"

    def place(self, row):
        return f"`{self.path}`, line {self.lines[row]}, column `{self.name}`"


def text_columns(path, names, rows):
    """Read the cells of all columns.

    Parameters
    ----------
    path : the file.
    names : list of str, those of its columns.
    rows : iterator of the number and the cells of each line, as from `rows_of`.

    Returns
    -------
    list of TextColumn

    Raises
    ------
    UsageError
        Without a row.
    """
    lines, cells = [], []
    for line, row in rows:
        lines.append(line)
        cells.append(row)
    if not cells:
        raise UsageError(f"`{path}` must have a row for each case, got only the names. Add the rows.")
    columns = zip(names, zip(*cells, strict=True), strict=True)
    return [TextColumn(path, name, pd.Series(texts, dtype=str), lines) for name, texts in columns]


def require_own_names(path, names, naming):
    """Raise a UsageError if a level is named like a column, or like a level of another."""
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise UsageError(
            f"`{path}`: a level of `{naming.one_hot}` must not be named like a column, got `{twice[0]}`. "
            "Rename it."
        )


def numbers_of_column(column, *, naming, is_label_possible=True):
    """Turn the cells of a column into finite numbers.

    Parameters
    ----------
    column : TextColumn
    is_label_possible : bool, whether it could be one of labels or ids, which a message then says.
    naming : Naming

    Returns
    -------
    (n_rows,) float64

    Raises
    ------
    UsageError
        For the first cell that is none.
    """
    numbers = pd.to_numeric(column.texts, errors="coerce").to_numpy(dtype=np.float64)
    is_bad = ~(np.abs(numbers) <= LARGEST_VALUE)  # so is NaN, of text too
    if is_bad.any():
        row = int(np.argmax(is_bad))
        text = column.texts[row]
        if not is_label_possible or is_number_or_missing(text):
            fix = "Correct the cell, or remove the line."
        else:
            labels, ids = (naming.with_column(key, column.name) for key in (naming.one_hot, naming.drop))
            fix = f"If these are labels, add `{labels}`; if they are ids, `{ids}`."
        is_number = not np.isnan(numbers[row])
        domain = f"a finite number, at most {LARGEST_VALUE:g}" if is_number else "a number"
        raise UsageError(f"{column.place(row)}: must be {domain}, got `{text}`. {fix}")
    return numbers


def levels_of_column(column, naming):
    """Turn a column of labels into one for each level.

    Parameters
    ----------
    column : TextColumn
    naming : Naming

    Returns
    -------
    list of ``column=level`` and (n_rows,) float64 of 0 and 1.

    Raises
    ------
    UsageError
        For an empty label, or too few or too many levels.
    """
    is_empty = column.texts == ""
    if is_empty.any():
        row = int(np.argmax(is_empty))
        raise UsageError(f"{column.place(row)}: a label must not be empty. Give it, or remove the line.")
    n_levels = column.texts.nunique()
    if not 2 <= n_levels <= MOST_LEVELS:
        dropped = naming.with_column(naming.drop, column.name)
        raise UsageError(
            f"{column.whole}: `{naming.one_hot}` must have 2 to {MOST_LEVELS} levels, got {n_levels}. "
            f"Take it out of `{naming.one_hot}`; if it holds ids, add `{dropped}`."
        )
    coded = pd.get_dummies(column.texts, prefix=column.name, prefix_sep="=", dtype=np.float64)
    return [(level, coded[level].to_numpy()) for level in coded]


def is_number_or_missing(text):
    try:
        float(text)
    except ValueError:
        return text in MISSING
    return True
