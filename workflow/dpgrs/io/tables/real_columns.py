"""Columns of a table of real numbers: their names, and the ids of its rows."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Self

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.io.tables.tables import is_id
from dpgrs.io.tables.text_columns import Naming

KEYS = Naming("cohort.one_hot", "cohort.drop", lambda key, name: f"{key}: [{name}]")


@dataclass(frozen=True)
class RealTable:
    """Columns of finite numbers."""

    path: str
    row_id: np.ndarray  # (n_rows,) str, unique
    names: list[str]  # unique; a level of a column is `column=level`
    values: np.ndarray  # (n_rows, n_columns) float64
    levels: frozenset[str] = frozenset()  # the names that are levels

    @classmethod
    def numbered(
        cls, path: str, names: list[str], values: np.ndarray, levels: frozenset[str] = frozenset()
    ) -> Self:
        """Return the table of rows that are numbered from 1."""
        return cls(path, numbered(len(values)), names, values, levels)

    def part(self, names: Iterable[str]) -> Self:
        """Return the table of some of its columns, by name."""
        index_of = {name: i for i, name in enumerate(self.names)}
        values = self.values[:, [index_of[name] for name in names]]
        return replace(self, names=list(names), values=values)

    def named(self, row_id: np.ndarray) -> Self:
        """Return the table with other ids of its rows."""
        return replace(self, row_id=row_id)


def matched(patterns: Iterable[str] | None, names: Sequence[str], *, key: str, path: Path | str) -> list[str]:
    """Return the names that patterns stand for, in the order of the table; refuse a pattern that fits none.

    A pattern is a name, or has ``*`` for any text. `key`, of the settings, and `path` are for messages.
    """
    all_fitting = set()
    for pattern in patterns or ():
        fitting = {name for name in names if fits(pattern, name)}
        if not fitting:
            listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            raise UsageError(
                f"`{key}` must name columns of `{path}`, got `{pattern}`. Correct it: there are {listed}."
            )
        all_fitting |= fitting
    return [name for name in names if name in all_fitting]


def fits(pattern: str, name: str) -> bool:
    """Return whether a name fits a pattern, in which only ``*`` is special."""
    return pattern == name or ("*" in pattern and fnmatchcase(name, pattern.replace("[", "[[]")))


def unique_ids(ids: Sequence[str], name: str, path: str) -> np.ndarray:
    """Return the ids of all rows, (n_rows,) str; refuse one that is empty or comes twice."""
    if len(set(ids)) < len(ids) or not all(map(is_id, ids)):
        raise UsageError(
            f"`{path}`, column `{name}`: each row must have an id of its own, got none or one twice. "
            "Correct it."
        )
    return np.array(ids, dtype=str)


def numbered(n_rows: int) -> np.ndarray:
    """Return the numbers of rows from 1 as their ids, (n_rows,) str."""
    return np.arange(1, n_rows + 1).astype(str)


def require_some(columns: Collection[str], path: str) -> None:
    """Refuse settings that leave no column."""
    if not columns:
        raise UsageError(f"`{KEYS.drop}` must leave columns of `{path}`, got all. Name fewer.")
