"""Tables of phenotypes that are too large to be read at every start: all ids, and values of some people.

These people are chosen at random among the people of the study, only by their place in the file. Each
statement about all people from the chosen ones is wrong with a probability of 10^-12 at most.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpgrs.io.tables.outcome_arrays import load_outcome_arrays
from dpgrs.io.tables.parquet import parquet_numbers, parquet_rows, parquet_size, require_numbers
from dpgrs.io.tables.phenotypes import (
    FEWEST_OBSERVED,
    LARGEST_MEAN,
    LARGEST_SD,
    Columns,
    describe_scale,
    is_of_arrays,
    is_parquet,
    parquet_names,
    picked,
    require_size,
    text_names,
)
from dpgrs.io.tables.plain_columns import NotPlainError, ids_of_column, plain_blocks
from dpgrs.io.tables.tables import (
    MISSING_NUMBER,
    add_once,
    header_of,
    ids_of,
    numbers_of,
    require_people,
    rows_of,
    sample_index,
)
from dpgrs.public_random import generator

# Of text all columns, of Parquet those that are used: some seconds. A table of no more is read whole.
MOST_CELLS = 1_000_000
FALSE_ALARM = 1e-12


class TableSample(NamedTuple):
    """The people of a table, and the values of some."""

    ids: list[str]  # all people of the table
    n_eligible: int  # those of them whose values may be chosen
    table: pd.DataFrame  # as from `read_outcomes`, of people chosen at random

    def __str__(self) -> str:
        return (
            f"values of {len(self.table):,} of its {len(self.ids):,} people, chosen at random, were looked "
            "at; the job that reads the table looks at all."
        )


def sample_outcomes(
    path: Path | str, *, columns: Columns = None, people: Collection[str] | None = None
) -> TableSample | None:
    """Return all ids of a large table, and the values of some `people` (None is everybody), in file order.

    The result is None for a table of at most `MOST_CELLS`, which can be read whole. Errors are those of
    `read_outcomes`, but cells that are not finite numbers are found only in people who are chosen.
    """
    if is_of_arrays(path):
        return None
    return (_of_parquet if is_parquet(path) else _of_text)(path, columns, people)


def outcome_people(path: Path | str) -> list[str]:
    """Return the ids of all people of a table of phenotypes, without reading a value."""
    if is_of_arrays(path):
        return list(load_outcome_arrays(path).index)
    if is_parquet(path):
        ids, _ = parquet_names(path)
        return [name for block in parquet_numbers(path, sample=ids, columns=[]) for name in block.index]
    header = header_of(rows_of(path), path)
    sample, _, _ = text_names(header, path)
    with suppress(NotPlainError):
        blocks = [ids for ids, _ in _plain_blocks(path, [sample])]
        return _each_once([name for ids in blocks for name in ids])
    lines = {}
    for line, name, _ in ids_of(path, sample):
        add_once(lines, name, path, line)
    require_people(lines, path)
    return list(lines)


def share_error(n_chosen: Any, n_people: Any) -> np.ndarray:
    """Return by how much a share of people chosen may differ from the share of all, 0 if all were chosen.

    It holds but with a probability of `FALSE_ALARM` (Hoeffding 1963, also without replacement). Arguments are
    numbers, or arrays of one shape.
    """
    error = np.sqrt(np.log(1 / FALSE_ALARM) / (2 * np.maximum(n_chosen, 1)))
    return np.where(np.less(n_chosen, n_people), error, 0.0)


def describe_chosen(table: pd.DataFrame) -> pd.DataFrame:
    """Return what `describe_scale` does, but is_raw if the column is raw of all people, by those chosen.

    At most half of the values of a column of mean m and standard deviation s lie above m + s (Cantelli), and
    as many below m - s: a column with more beyond the largest of both is raw. A column that holds only 0 and
    1 is taken for codes, which are also raw.
    """
    n_values, limit = table.notna().sum(), LARGEST_MEAN + LARGEST_SD
    beyond = np.maximum((table > limit).sum(), (table < -limit).sum())
    is_far = beyond > n_values * (0.5 + share_error(n_values, np.inf))
    is_code = (table.isin((0, 1)) | table.isna()).all() & (table == 0).any() & (table == 1).any()
    return describe_scale(table).assign(is_raw=(n_values >= FEWEST_OBSERVED) & (is_far | is_code))


class Reservoir:
    """Chooses some of things that come one by one, each with the same probability (reservoir sampling).

    It chooses `most`, at least 1, or everything if there are no more. `chosen` has no order; `n_seen` things
    came so far.
    """

    def __init__(self, most: int) -> None:
        self.chosen, self._most, self.n_seen, self._random = [], most, 0, _chooser()

    def add(self, thing: Any) -> None:
        """Take the next thing."""
        self.n_seen += 1
        is_free = self.n_seen <= self._most
        index = len(self.chosen) if is_free else int(self._random.random() * self.n_seen)
        self.chosen[index : index + 1] = [thing] if index < self._most else []

    def places(self, n_things: int) -> np.ndarray:
        """Return the place in `chosen` that each of the next things takes, (n_things,) int64, as `add` does.

        A later thing takes the place of an earlier one; from `most` on there is no place.
        """
        numbers = self.n_seen + np.arange(1, n_things + 1)
        self.n_seen += n_things
        slots, is_late = numbers - 1, numbers > self._most
        slots[is_late] = (self._random.random(np.count_nonzero(is_late)) * numbers[is_late]).astype(np.int64)
        return slots


def choose_rows(row_numbers: np.ndarray, most: int) -> np.ndarray:
    """Return `most` of the ascending numbers of rows, chosen at random, or all if there are no more."""
    if len(row_numbers) <= most:
        return row_numbers
    return np.sort(_chooser().choice(row_numbers, most, replace=False))


def _chooser() -> Any:
    return generator(0, "people looked at before any job")


def _of_text(path: Path | str, columns: Columns, people: Collection[str] | None) -> TableSample | None:
    header = header_of(rows_of(path), path)
    sample, outcomes, all_names = text_names(header, path)
    column_of, names = dict(zip(all_names, outcomes, strict=True)), picked(all_names, columns, path)
    used, most = [column_of[name] for name in names], max(MOST_CELLS // len(header), 1)
    try:
        ids, n_eligible, chosen, values = _of_plain_text(path, sample, used, people, most)
    except NotPlainError:
        ids, n_eligible, chosen, values = _of_any_text(path, sample, used, names, people, most)
    require_size(path, n_people=len(ids), n_values=len(ids) * len(names))
    if len(ids) <= most:
        return None
    table = pd.DataFrame(values, index=sample_index(chosen), columns=names)
    return TableSample(ids, n_eligible, table)


def _of_plain_text(
    path: Path | str, sample: int, used: Sequence[int], people: Collection[str] | None, most: int
) -> tuple[list[str], int, list[str], np.ndarray]:
    """Return all ids, how many may be chosen, those chosen and (n_chosen, n_used) their values."""
    ids, candidates = [], Reservoir(most)
    rows, values = np.full(most, -1), np.empty((most, len(used)))
    for block_ids, block in _plain_blocks(path, [sample], used):
        eligible = np.arange(len(block_ids))
        if people is not None:
            eligible = eligible[list(map(people.__contains__, block_ids))]
        slots = candidates.places(len(eligible))
        has_slot = slots < most
        # Of several rows with one place numpy takes the last.
        rows[slots[has_slot]] = len(ids) + eligible[has_slot]
        values[slots[has_slot]] = block[eligible[has_slot]]
        ids += block_ids
    order = np.argsort(rows)[np.count_nonzero(rows < 0) :]
    return _each_once(ids), candidates.n_seen, [ids[row] for row in rows[order]], values[order]


def _of_any_text(
    path: Path | str,
    sample: int,
    used: Sequence[int],
    names: Sequence[str],
    people: Collection[str] | None,
    most: int,
) -> tuple[list[str], int, list[str], np.ndarray]:
    """Return the same of any table, line by line; refuse repeated ids and cells that are no numbers."""
    lines, candidates = {}, Reservoir(most)
    for line, name, cells in ids_of(path, sample):
        add_once(lines, name, path, line)
        if people is None or name in people:
            candidates.add((line, name, cells))
    require_people(lines, path)
    chosen = sorted(candidates.chosen, key=itemgetter(0)) if len(lines) > most else []
    values = np.empty((len(chosen), len(used)))
    for person, (line, _, cells) in enumerate(chosen):
        row = cells()
        values[person] = numbers_of([row[column] for column in used], names, path, line)
    return list(lines), candidates.n_seen, [name for _, name, _ in chosen], values


def _plain_blocks(
    path: Path | str, sample: list[int], used: Sequence[int] = ()
) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield ids, and (n_ids, n_used) values, of some lines of a plain table at a time."""
    for [ids], values in plain_blocks(path, sample, used):
        values[values == MISSING_NUMBER] = np.nan
        yield ids_of_column(ids), values


def _each_once(ids: list[str]) -> list[str]:
    """Return ids; none, and an id twice, are left to the reader that names its lines."""
    if len(set(ids)) < max(len(ids), 1):
        raise NotPlainError
    return ids


def _of_parquet(path: Path | str, columns: Columns, people: Collection[str] | None) -> TableSample | None:
    names, n_people = picked(parquet_names(path)[1], columns, path), parquet_size(path)
    most = max(MOST_CELLS // (len(names) + 1), 1)
    if n_people <= most:
        return None
    require_size(path, n_people=n_people, n_values=n_people * len(names))
    require_numbers(path, names)
    ids = outcome_people(path)
    eligible = np.array([row for row, name in enumerate(ids) if people is None or name in people], np.int64)
    rows = choose_rows(eligible, most)
    values = parquet_rows(path, columns=names, row_numbers=rows)
    index = sample_index(ids[row] for row in rows)
    return TableSample(ids, len(eligible), pd.DataFrame(values, index=index, columns=names))
