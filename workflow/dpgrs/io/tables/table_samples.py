"""Tables of phenotypes that are too large to be read at every start: all ids, and values of some people.

Who is looked at is chosen at random among the people of the study, by place in the file alone. What is
said of all people by those chosen is wrong with a probability of 10^-12 at most, each time.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from dpgrs.io.tables.outcome_arrays import load_outcome_arrays
from dpgrs.io.tables.parquet import parquet_numbers, parquet_rows, parquet_size, require_numbers
from dpgrs.io.tables.phenotypes import (
    FEWEST_OBSERVED,
    LARGEST_MEAN,
    LARGEST_SD,
    describe_scale,
    is_of_arrays,
    is_parquet,
    parquet_names,
    picked,
    require_size,
    text_names,
)
from dpgrs.io.tables.tables import (
    add_once,
    header_of,
    ids_of,
    numbers_of,
    require_people,
    rows_of,
    sample_index,
)
from dpgrs.public_random import generator

# Of text all columns, of Parquet those that are used: some two seconds. A table of no more is read whole.
MOST_CELLS = 2_500_000
FALSE_ALARM = 1e-12


class TableSample(NamedTuple):
    """What was looked at of a table.

    Attributes
    ----------
    ids : list of str, all people of the table.
    table : pandas.DataFrame as from `dpgrs.io.tables.phenotypes.read_outcomes`, of people chosen at random.
    """

    ids: list
    table: pd.DataFrame

    def __str__(self):
        return (
            f"values of {len(self.table):,} of its {len(self.ids):,} people, chosen at random, were looked "
            "at; the job that reads the table looks at all."
        )


def sample_outcomes(path, *, columns=None, people=None):
    """Read all ids of a large table, and the values of some people.

    Parameters
    ----------
    path, columns : as in `dpgrs.io.tables.phenotypes.read_outcomes`.
    people : set of str, whom to choose among; None is everybody.

    Returns
    -------
    TableSample, in the order of the file; None of a table of at most `MOST_CELLS`, which can be read whole.

    Raises
    ------
    DpgrsError
        As `read_outcomes`, but cells that are not finite numbers are found in people chosen alone.
    """
    if is_of_arrays(path):
        return None
    return (_of_parquet if is_parquet(path) else _of_text)(path, columns, people)


def outcome_people(path):
    """Return the ids of all people of a table of phenotypes, a list, without a look at a value.

    Raises
    ------
    DpgrsError
        As `read_outcomes`, but of cells that are not finite numbers.
    """
    if is_of_arrays(path):
        return list(load_outcome_arrays(path).index)
    if is_parquet(path):
        sample, _ = parquet_names(path)
        return [name for part in parquet_numbers(path, sample=sample, columns=[]) for name in part.index]
    lines, (sample, _, _) = {}, text_names(header_of(rows_of(path), path), path)
    for line, name, _ in ids_of(path, sample):
        add_once(lines, name, path, line)
    require_people(lines, path)
    return list(lines)


def share_error(n_chosen, n_people):
    """Return by how much a share of people chosen may be off from that of all (Hoeffding 1963, also without
    replacement), but with a probability of `FALSE_ALARM`; 0 where all were chosen.

    Parameters
    ----------
    n_chosen, n_people : int, or arrays of one shape.
    """
    error = np.sqrt(np.log(1 / FALSE_ALARM) / (2 * np.maximum(n_chosen, 1)))
    return np.where(np.less(n_chosen, n_people), error, 0.0)


def describe_chosen(table):
    """Do as `describe_scale`, by people chosen at random: is_raw where the column is so of all people.

    At most half of the values of a column of mean m and standard deviation s lie above m + s (Cantelli), and
    as many below m - s, so one is raw that has more beyond the largest of both. One that holds 0 and 1 alone
    is taken for codes, which are raw, too.
    """
    n_values, limit = table.notna().sum(), LARGEST_MEAN + LARGEST_SD
    beyond = np.maximum((table > limit).sum(), (table < -limit).sum())
    is_far = beyond > n_values * (0.5 + share_error(n_values, np.inf))
    is_code = (table.isin((0, 1)) | table.isna()).all() & (table == 0).any() & (table == 1).any()
    return describe_scale(table).assign(is_raw=(n_values >= FEWEST_OBSERVED) & (is_far | is_code))


class Reservoir:
    """Chooses some of things that come one by one, each with the same probability (reservoir sampling).

    Parameters
    ----------
    most : int, how many to choose, at least 1: everything where there are no more.

    Attributes
    ----------
    chosen : list of what is chosen so far, in no order.
    """

    def __init__(self, most):
        self.chosen, self._most, self._n_seen, self._random = [], most, 0, _chooser()

    def add(self, thing):
        """Take the next thing."""
        self._n_seen += 1
        is_free = self._n_seen <= self._most
        place = len(self.chosen) if is_free else int(self._random.random() * self._n_seen)
        self.chosen[place : place + 1] = [thing] if place < self._most else []


def chosen_places(places, most):
    """Choose some of the places of rows, an array in ascending order: all where there are no more."""
    if len(places) <= most:
        return places
    return np.sort(_chooser().choice(places, most, replace=False))


def _chooser():
    return generator(0, "people looked at before any job")


def _of_text(path, columns, people):
    header = header_of(rows_of(path), path)
    sample, places, named = text_names(header, path)
    places, names = dict(zip(named, places, strict=True)), picked(named, columns, path)
    places = [places[name] for name in names]
    lines, most = {}, max(MOST_CELLS // len(header), 1)
    candidates = Reservoir(most)
    for line, name, cells in ids_of(path, sample):
        add_once(lines, name, path, line)
        if people is None or name in people:
            candidates.add((line, name, cells))
    require_people(lines, path)
    require_size(path, n_people=len(lines), n_values=len(lines) * len(names))
    if len(lines) <= most:
        return None
    chosen = sorted(candidates.chosen, key=lambda one: one[0])
    values = np.empty((len(chosen), len(names)))
    for person, (line, _, cells) in enumerate(chosen):
        row = cells()
        values[person] = numbers_of([row[place] for place in places], names, path, line)
    index = sample_index(name for _, name, _ in chosen)
    return TableSample(list(lines), pd.DataFrame(values, index=index, columns=names))


def _of_parquet(path, columns, people):
    names, n_people = picked(parquet_names(path)[1], columns, path), parquet_size(path)
    most = max(MOST_CELLS // (len(names) + 1), 1)
    if n_people <= most:
        return None
    require_size(path, n_people=n_people, n_values=n_people * len(names))
    require_numbers(path, names)
    ids = outcome_people(path)
    places = np.array([place for place, name in enumerate(ids) if people is None or name in people], np.int64)
    places = chosen_places(places, most)
    values = parquet_rows(path, columns=names, places=places)
    index = sample_index(ids[place] for place in places)
    return TableSample(ids, pd.DataFrame(values, index=index, columns=names))
