"""Tables of phenotypes: TSV, CSV, blanks or Parquet.

Phenotypes are private: messages name files, lines and columns, never a sample or a value.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, listed
from dpgrs.io.files import load_arrays, save_arrays
from dpgrs.io.tables.parquet import parquet_columns, parquet_numbers
from dpgrs.io.tables.tables import (
    FAMILY_COLUMN,
    SAMPLE_COLUMNS,
    add_once,
    column_names,
    header_of,
    numbers_of,
    plain_name,
    require_people,
    rows_of,
    sample_index,
)

OUTCOME_ARRAYS = ".npz"


def save_outcome_arrays(
    path: Path | str, *, sample: np.ndarray, names: Sequence[str], values: np.ndarray
) -> None:
    """Write ids of samples, names of outcomes and (n_rows, n_outcomes) float64 values to an ``.npz``."""
    save_arrays(path, {"sample": sample, "names": np.array(names, dtype=str), "values": values})


def load_outcome_arrays(path: Path | str) -> pd.DataFrame:
    """Return what `save_outcome_arrays` wrote as a data frame, as from `read_outcomes`."""
    arrays = load_arrays(path)
    if set(arrays) != {"sample", "names", "values"}:
        raise DpgrsError(
            "not-outcome-arrays",
            f"`{path}` must be outcomes that dpgrs wrote, got other arrays. Give a table.",
        )
    index = sample_index(arrays["sample"].tolist())
    return pd.DataFrame(arrays["values"], index=index, columns=arrays["names"].tolist())


PARQUET = (".parquet", ".pq")
# The first so that ids fit in memory; the second is 40 GB on disk: 10,000 outcomes of 500,000 people.
MOST_PEOPLE, MOST_VALUES = 5_000_000, 5_000_000_000
CHUNK_CELLS = 200_000
# With fewer values, a column is not checked.
FEWEST_OBSERVED = 10
# Standardised outcomes may be off by as much in one cohort; raw centimetres or 0/1 codes are further off.
LARGEST_MEAN, SMALLEST_SD, LARGEST_SD = 0.5, 0.6, 2.5
# The outcomes to read: a slice of them, a list of their names, or all.
Columns = slice | Sequence[str] | None


def read_outcomes(path: Path | str, *, columns: Columns = None) -> pd.DataFrame:
    """Return a table of phenotypes, (n_people, n_outcomes) float64, NaN if missing, indexed by sample ids.

    The first line names the columns: `sample` or `IID` first (a `FID` is ignored), then one column an
    outcome. In Parquet (`.parquet`, `.pq`) the ids may be any column of these names. Empty cells, `MISSING`
    and PLINK's -9, however written, are missing; in Parquet null, NaN and -9 are. Only `columns` are read.

    Refused are more people than `MOST_PEOPLE`, more values than `MOST_VALUES`, ids that are empty, repeated
    or hold control characters, repeated columns, a line of another length than the first, and a cell that is
    not a finite number.
    """
    return pd.concat(list(outcome_chunks(path, columns=columns)))


def outcome_chunks(path: Path | str, *, columns: Columns = None) -> Iterator[pd.DataFrame]:
    """Yield what `read_outcomes` reads in blocks of whole people, so that only one is in memory."""
    people, n_values = set(), 0
    for table in _chunks(path, columns):
        n_values += table.size
        people.update(table.index)
        require_size(path, n_people=len(people), n_values=n_values)
        yield table


def require_size(path: Path | str, *, n_people: int, n_values: int) -> None:
    """Refuse a table of more people, or more values in the columns that are used, than a study takes."""
    if n_people > MOST_PEOPLE or n_values > MOST_VALUES:
        raise DpgrsError(
            "table-too-large",
            f"`{path}` must have at most {MOST_PEOPLE} people, and {MOST_VALUES} values in the columns "
            "that are used, got more. Take people without genotypes out, or use fewer columns.",
        )


def outcome_names(path: Path | str) -> list[str]:
    """Return the names of the outcomes of a table, without reading a value."""
    if is_of_arrays(path):
        return list(load_outcome_arrays(path))
    if is_parquet(path):
        return parquet_names(path)[1]
    return text_names(column_names(path), path)[2]


def match_outcomes(table: pd.DataFrame, sample_ids: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Return the outcomes of the genotypes' people, (n_outcomes, n_samples) float64, and their names.

    People who are not in the table have NaN.
    """
    Y = np.ascontiguousarray(table.reindex(list(sample_ids)).to_numpy(dtype=np.float64).T)
    assert Y.shape == (table.shape[1], len(sample_ids))
    return Y, list(table.columns)


def standardise(
    table: pd.DataFrame, constants: pd.DataFrame, *, requires_binary: bool = True
) -> pd.DataFrame:
    """Return (y - centre)/scale of every outcome, with constants from `constants_of`.

    With `requires_binary`, a binary outcome with values other than 0 and 1 raises a DpgrsError. That depends
    on private data; the message names only the column.
    """
    for name in constants.index[constants["is_binary"]] if requires_binary else ():
        if not table[name].dropna().isin((0.0, 1.0)).all():
            raise DpgrsError(
                "binary-column-values",
                f"Column `{name}` must hold 0 and 1 alone, as it has a prevalence, got other values. "
                "Recode it (PLINK's 1 and 2 to 0 and 1), or give centre and scale.",
            )
    return (table - constants["centre"]) / constants["scale"]


def describe_scale(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean, sd and is_raw of each outcome of a table, (n_people, n_outcomes) as from `read_outcomes`.

    An outcome is_raw if it is plainly not standardised: it has `FEWEST_OBSERVED` values or more, and mean and
    sd are far from 0 and 1.
    """
    scale = OutcomeScale()
    scale.add(table)
    return scale.describe()


class OutcomeScale:
    """Number, mean and deviation of the values of outcomes, from their tables block by block."""

    def __init__(self) -> None:
        self._n: Any = 0  # a Series by outcome, from the first block on
        self._mean: Any = 0
        self._squares: Any = 0

    # Values so large that their sums overflow give NaN, which is standardised in no sense.
    @np.errstate(all="ignore")
    def add(self, table: pd.DataFrame) -> None:
        """Add a block of the table, as from `outcome_chunks`."""
        n, mean = table.notna().sum(), table.mean().fillna(0)
        squares = ((table - mean) ** 2).sum()
        total, shift = self._n + n, mean - self._mean
        share = (n / total).fillna(0)
        self._squares = self._squares + squares + shift**2 * self._n * share
        self._mean, self._n = self._mean + shift * share, total

    def describe(self) -> pd.DataFrame:
        """Return the table that `describe_scale` returns."""
        sd = np.sqrt(self._squares / (self._n - 1).where(self._n > 1))
        mean = self._mean.where(self._n > 0)
        is_standard = (mean.abs() <= LARGEST_MEAN) & sd.between(SMALLEST_SD, LARGEST_SD)
        return pd.DataFrame({"mean": mean, "sd": sd, "is_raw": (self._n >= FEWEST_OBSERVED) & ~is_standard})


def _chunks(path: Path | str, columns: Columns) -> Iterator[pd.DataFrame]:
    if is_of_arrays(path):
        table = load_outcome_arrays(path)
        yield table[picked(list(table), columns, path)]
        return
    if is_parquet(path):
        ids, names = parquet_names(path)
        yield from parquet_numbers(path, sample=ids, columns=picked(names, columns, path))
        return
    rows = rows_of(path)
    header = header_of(rows, path)
    sample, outcomes, all_names = text_names(header, path)
    column_of = dict(zip(all_names, outcomes, strict=True))
    names = picked(all_names, columns, path)
    used, lines = [column_of[name] for name in names], {}
    while batch := list(islice(rows, max(CHUNK_CELLS // len(header), 1))):
        values = np.empty((len(batch), len(names)))
        for person, (line, cells) in enumerate(batch):
            add_once(lines, cells[sample], path, line)
            values[person] = numbers_of([cells[column] for column in used], names, path, line)
        ids = [cells[sample] for _, cells in batch]
        yield pd.DataFrame(values, index=sample_index(ids), columns=names)
    require_people(lines, path)


def picked(names: list[str], columns: Columns, path: Path | str) -> list[str]:
    """Return the names of the columns that are used; refuse a name that the table lacks."""
    if columns is None or isinstance(columns, slice):
        return names[columns or slice(None)]
    all_names = set(names)
    missing = [name for name in columns if name not in all_names]
    if missing:
        raise DpgrsError(
            "column-missing",
            f"`{path}` must have a column for each name, got none for {listed(missing)}. Correct the names, "
            "or add columns.",
        )
    return list(columns)


def is_parquet(path: Path | str) -> bool:
    """Return whether a table is a Parquet file by its name."""
    return Path(path).name.lower().endswith(PARQUET)


def is_of_arrays(path: Path | str) -> bool:
    """Return whether the name of a table is that of arrays that dpgrs wrote."""
    return Path(path).name.endswith(OUTCOME_ARRAYS)


def text_names(header: Sequence[str], path: Path | str) -> tuple[int, list[int], list[str]]:
    """Return the columns of ids and outcomes in a line, and the names of the outcomes."""
    columns = [i for i, name in enumerate(header) if plain_name(name) != FAMILY_COLUMN]
    sample, outcomes = columns[0] if columns else 0, columns[1:]
    if plain_name(header[sample]) not in SAMPLE_COLUMNS:
        raise DpgrsError(
            "id-column-missing",
            f"`{path}`, line 1: the first column must be `sample` or `IID`, got another name. "
            "Put the ids first and name them so, without quotes in tables of tabs or blanks.",
        )
    return sample, outcomes, _some([header[i] for i in outcomes], path)


def parquet_names(path: Path | str) -> tuple[str, list[str]]:
    """Return the name of the column of ids, and the names of the outcomes."""
    columns = parquet_columns(path)
    samples = [name for name in columns if plain_name(name) in SAMPLE_COLUMNS]
    if len(samples) != 1:
        raise DpgrsError(
            "id-column-not-one",
            f"`{path}` must have one column `sample` or `IID`, got {len(samples)}. Name the ids so.",
        )
    outcomes = [name for name in columns if name != samples[0] and plain_name(name) != FAMILY_COLUMN]
    return samples[0], _some(outcomes, path)


def _some(names: list[str], path: Path | str) -> list[str]:
    if not names:
        raise DpgrsError(
            "outcome-column-missing",
            f"`{path}` must have at least one outcome column beside the ids, got none. Add the phenotypes.",
        )
    return names
