"""Columns of text tables that become numbers or levels: open data, so messages may quote a cell."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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
    """How messages name the options that concern columns."""

    one_hot: str  # the option or key that names columns of labels
    drop: str  # the option or key that names columns to leave out
    with_column: Callable[[str, str], str]  # how to add the name of a column to one of the two


@dataclass(frozen=True)
class TextColumn:
    """The cells of a column, and their lines."""

    path: str
    name: str
    texts: pd.Series
    lines: Sequence[int] | np.ndarray

    @property
    def column_label(self) -> str:
        return f"`{self.path}`, column `{self.name}`"

    def cell_label(self, row: int) -> str:
        return f"`{self.path}`, line {self.lines[row]}, column `{self.name}`"


def text_columns(path: str, names: list[str], rows: Iterable[tuple[int, list[str]]]) -> list[TextColumn]:
    """Return the cells of all columns, of numbered lines as from `rows_of`; refuse a table without a row."""
    lines, cells = [], []
    for line, row in rows:
        lines.append(line)
        cells.append(row)
    if not cells:
        raise UsageError(
            "table-without-rows", f"`{path}` must have a row for each case, got only the names. Add the rows."
        )
    columns = zip(names, zip(*cells, strict=True), strict=True)
    return [TextColumn(path, name, pd.Series(texts, dtype=str), lines) for name, texts in columns]


def require_own_names(path: str, names: Iterable[str], naming: Naming) -> None:
    """Refuse a level that is named like a column, or like a level of another column."""
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise UsageError(
            "level-named-like-column",
            f"`{path}`: a level of `{naming.one_hot}` must not be named like a column, got `{twice[0]}`. "
            "Rename it.",
        )


def numbers_of_column(column: TextColumn, *, naming: Naming, is_label_possible: bool = True) -> np.ndarray:
    """Return the cells of a column as finite numbers, (n_rows,) float64; refuse the first other cell.

    `is_label_possible` lets the message suggest that the column is one of labels or ids.
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
        raise UsageError(
            "number-out-of-domain", f"{column.cell_label(row)}: must be {domain}, got `{text}`. {fix}"
        )
    return numbers


def levels_of_column(column: TextColumn, naming: Naming) -> list[tuple[str, np.ndarray]]:
    """Return ``column=level`` and (n_rows,) float64 of 0 and 1 for each level of a column of labels.

    An empty label, and too few or too many levels are refused.
    """
    is_empty = column.texts == ""
    if is_empty.any():
        row = int(np.argmax(is_empty))
        raise UsageError(
            "label-empty",
            f"{column.cell_label(row)}: a label must not be empty. Give it, or remove the line.",
        )
    n_levels = column.texts.nunique()
    if not 2 <= n_levels <= MOST_LEVELS:
        dropped = naming.with_column(naming.drop, column.name)
        raise UsageError(
            "number-of-levels",
            f"{column.column_label}: `{naming.one_hot}` must have 2 to {MOST_LEVELS} levels, got {n_levels}. "
            f"Take it out of `{naming.one_hot}`; if it holds ids, add `{dropped}`.",
        )
    coded = pd.get_dummies(column.texts, prefix=column.name, prefix_sep="=", dtype=np.float64)
    return [(level, coded[level].to_numpy()) for level in coded]


def is_number_or_missing(text: str) -> bool:
    """Return whether a cell is a number or a code for a missing one."""
    try:
        float(text)
    except ValueError:
        return text in MISSING
    return True
