"""Tables of phenotypes that are too large to be read at every start: all ids, and values of some people.

These people are chosen at random among the people of the study, only by their place in the file. Each
statement about all people from the chosen ones is wrong with a probability of 10^-12 at most.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpgrs.io.tables.parquet import parquet_numbers, parquet_rows, parquet_size, require_numbers
from dpgrs.io.tables.phenotypes import (
    FEWEST_OBSERVED,
    LARGEST_MEAN,
    LARGEST_SD,
    Columns,
    describe_scale,
    is_of_arrays,
    is_parquet,
    load_outcome_arrays,
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
    numbers_of,
    require_people,
    rows_of,
    sample_index,
)
from dpgrs.public_random import generator

# Of text all columns, of Parquet those that are used: some seconds. A table of no more is read whole.
MOST_CELLS = 1_000_000
ROWS_TOGETHER = 1000  # of text that is split into cells
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
        return _each_once([name for ids, _ in _plain_blocks(path, [sample]) for name in ids])
    return [name for ids, _ in _row_blocks(path, sample) for name in ids]


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


def choose_rows(row_numbers: np.ndarray, most: int) -> np.ndarray:
    """Return `most` of the ascending numbers of rows, chosen at random, or all if there are no more."""
    if len(row_numbers) <= most:
        return row_numbers
    return np.sort(_chooser().choice(row_numbers, most, replace=False))


def _chooser() -> Any:
    return generator(0, "people looked at before any job")


def _of_text(path: Path | str, columns: Columns, people: Collection[str] | None) -> TableSample | None:
    """Sample a table of text; None if it is small enough to be read whole."""
    header = header_of(rows_of(path), path)
    id_column, outcome_columns, all_names = text_names(header, path)
    column_of, names = dict(zip(all_names, outcome_columns, strict=True)), picked(all_names, columns, path)
    used, most_rows = [column_of[name] for name in names], max(MOST_CELLS // len(header), 1)
    try:
        ids, n_eligible, rows, values = _choose(_plain_blocks(path, [id_column], used), people, most_rows)
        _each_once(ids)
    except NotPlainError:
        ids, n_eligible, rows, chosen_lines = _choose(_row_blocks(path, id_column), people, most_rows)
        values = np.empty((len(chosen_lines) if len(ids) > most_rows else 0, len(used)))
        for row, (line, cells) in zip(values, chosen_lines, strict=False):
            row[:] = numbers_of([cells[column] for column in used], names, path, line)
    require_size(path, n_people=len(ids), n_values=len(ids) * len(names))
    if len(ids) <= most_rows:
        return None
    index = sample_index(ids[row] for row in rows)
    return TableSample(ids, n_eligible, pd.DataFrame(values, index=index, columns=names))


def _choose(
    blocks: Iterator[tuple[list[str], np.ndarray]], people: Collection[str] | None, most: int
) -> tuple[list[str], int, np.ndarray, np.ndarray]:
    """Return all ids, how many are eligible, and row numbers and entries of those chosen, in file order.

    Each has the same probability, though blocks come one by one (reservoir sampling).
    """
    ids, n_seen, random = [], 0, _chooser()
    rows, entries = np.full(most, -1), None
    for block_ids, block in blocks:
        if entries is None:
            entries = np.empty((most, *block.shape[1:]), dtype=block.dtype)
        eligible = np.arange(len(block_ids))
        if people is not None:
            eligible = eligible[list(map(people.__contains__, block_ids))]
        numbers = n_seen + np.arange(1, len(eligible) + 1)
        n_seen += len(eligible)
        slots, is_late = numbers - 1, numbers > most
        slots[is_late] = (random.random(np.count_nonzero(is_late)) * numbers[is_late]).astype(np.int64)
        has_slot = slots < most
        # Of several rows in one slot numpy takes the last.
        rows[slots[has_slot]] = len(ids) + eligible[has_slot]
        entries[slots[has_slot]] = block[eligible[has_slot]]
        ids += block_ids
    order = np.argsort(rows)[np.count_nonzero(rows < 0) :]
    return ids, n_seen, rows[order], [] if entries is None else entries[order]


def _row_blocks(path: Path | str, sample: int) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield ids, and (n_ids,) pairs of line and cells, of some rows at a time; refuse repeated ids."""
    rows, lines = rows_of(path), {}
    header_of(rows, path)
    while batch := list(islice(rows, ROWS_TOGETHER)):
        for line, cells in batch:
            add_once(lines, cells[sample], path, line)
        yield [cells[sample] for _, cells in batch], np.fromiter(batch, dtype=object, count=len(batch))
    require_people(lines, path)


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
