"""Columns of a table of real numbers: their names, and the ids of its rows."""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.io.tables.tables import is_id
from dpgrs.io.tables.text_columns import Naming

KEYS = Naming("cohort.one_hot", "cohort.drop", lambda key, name: f"{key}: [{name}]")


@dataclass(frozen=True)
class RealTable:
    """Columns of finite numbers.

    Attributes
    ----------
    path : str
    row_id : (n_rows,) str, unique.
    names : list of n_columns unique str; a level of a column is ``column=level``.
    values : (n_rows, n_columns) float64
    levels : frozenset of str, the names that are levels.
    """

    path: str
    row_id: np.ndarray
    names: list
    values: np.ndarray
    levels: frozenset = frozenset()

    @classmethod
    def numbered(cls, path, names, values, levels=frozenset()):
        """Return the table of rows that are numbered from 1; attributes as above."""
        return cls(path, numbered(len(values)), names, values, levels)

    def part(self, names):
        """Return the table of some of its columns, by name."""
        place = {name: i for i, name in enumerate(self.names)}
        values = self.values[:, [place[name] for name in names]]
        return replace(self, names=list(names), values=values)

    def named(self, row_id):
        """Return the table with other ids of its rows."""
        return replace(self, row_id=row_id)


def matched(patterns, names, *, key, path):
    """Return the names that patterns stand for, in the order of the table.

    Parameters
    ----------
    patterns : sequence of str, names as they stand, or patterns in which ``*`` is any text.
    names : list of str
    key : str, of the settings, for messages; `path` likewise.

    Raises
    ------
    UsageError
        For a pattern that none has.
    """
    found = set()
    for pattern in patterns or ():
        own = {name for name in names if fits(pattern, name)}
        if not own:
            listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            raise UsageError(
                f"`{key}` must name columns of `{path}`, got `{pattern}`. Correct it: there are {listed}."
            )
        found |= own
    return [name for name in names if name in found]


def fits(pattern, name):
    """Tell whether a name is that of a pattern, in which ``*`` alone is special."""
    return pattern == name or ("*" in pattern and fnmatchcase(name, pattern.replace("[", "[[]")))


def unique_ids(ids, name, path):
    """Return the ids of all rows, (n_rows,) str; refuse one that is empty or comes twice."""
    if len(set(ids)) < len(ids) or not all(map(is_id, ids)):
        raise UsageError(
            f"`{path}`, column `{name}`: each row must have an id of its own, got none or one twice. "
            "Correct it."
        )
    return np.array(ids, dtype=str)


def numbered(n_rows):
    """Return the numbers of rows from 1 as their ids, (n_rows,) str."""
    return np.arange(1, n_rows + 1).astype(str)


def require_some(found, path):
    if not found:
        raise UsageError(f"`{KEYS.drop}` must leave columns of `{path}`, got all. Name fewer.")
