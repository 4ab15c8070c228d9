"""Plain tables of features and one outcome, for benchmarks: open data, so messages may quote a cell."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.io.tables.tables import header_of, rows_of
from dpgrs.io.tables.text_columns import (
    LARGEST_VALUE,
    Naming,
    TextColumn,
    is_number_or_missing,
    levels_of_column,
    numbers_of_column,
    require_own_names,
    text_columns,
)

SCALE_COLUMNS = ("column", "centre", "scale")
OWN_SCALE = "data"  # instead of such a table: by the rows themselves, which is not private


OPTIONS = Naming("--one-hot", "--drop", lambda option, name: f"{option} {shlex.quote(name)}")


@dataclass(frozen=True)
class FeatureTable:
    """Features and an outcome."""

    X: np.ndarray  # (n_rows, n_features) float64, finite, without an intercept
    y: np.ndarray  # (n_rows,) float64, finite
    features: list[str]  # a level of a column is ``column=level``
    target: str
    levels: frozenset[str]  # the features that are levels
    path: str


def read_feature_table(
    path: Path | str, *, target: str | None = None, one_hot: Sequence[str] = (), drop: Sequence[str] = ()
) -> FeatureTable:
    """Read a table with names in its first line: CSV, TSV or semicolons, plain or gzipped.

    The target is the column of outcomes, None the last that is not dropped. Columns to `one_hot` hold labels,
    and become a column of 0 and 1 for each level. Columns to drop are not read.
    """
    rows = rows_of(path)
    names = header_of(rows, path)
    drop = [_require_column("--drop", name, names, path) for name in drop]
    column_names = [name for name in names if name not in drop]
    if not column_names:
        raise UsageError("no-columns-left", f"`--drop` must leave columns of `{path}`, got all. Name fewer.")
    target = column_names[-1] if target is None else _require_column("--target", target, names, path)
    one_hot = [_require_column("--one-hot", name, names, path) for name in one_hot]
    for option, named in (("--one-hot", one_hot), ("--drop", drop)):
        if target in named:
            raise UsageError(
                "target-named-as-feature",
                f"`{option}` must name features, got the target `{target}`. Take it out.",
            )
    both = next((name for name in drop if name in one_hot), None)
    if both is not None:
        raise UsageError(
            "column-named-twice",
            f"`--drop` must name columns that nothing else names, got `{both}`. Name it once.",
        )
    if all(map(is_number_or_missing, names)):
        raise UsageError(
            "header-of-numbers",
            f"`{path}`, line 1: must be the names of the columns, got numbers. Put names first.",
        )
    if len(column_names) < 2:
        raise UsageError(
            "no-features",
            f"`{path}` must have a feature beside the target `{target}`, got none. "
            "Add columns, or separate them by commas.",
        )
    columns, levels, y = [], [], None
    for column in text_columns(path, names, rows):
        name = column.name
        if name in drop:
            continue
        if name == target:
            y = numbers_of_column(column, naming=OPTIONS, is_label_possible=False)
            _require_two_values(column, y, "Choose another `--target`.")
        elif name in one_hot:
            coded = levels_of_column(column, OPTIONS)
            columns += coded
            levels += [level for level, _ in coded]
        else:
            values = numbers_of_column(column, naming=OPTIONS)
            _require_two_values(column, values, f"Add `{OPTIONS.with_column(OPTIONS.drop, name)}`.")
            columns.append((name, values))
    features, values = zip(*columns, strict=True)
    require_own_names(path, features, OPTIONS)
    return FeatureTable(np.column_stack(values), y, list(features), target, frozenset(levels), str(path))


def read_scales(path: Path | str, table: FeatureTable) -> tuple[np.ndarray, np.ndarray]:
    """Read public centres and scales of features and, last, of the outcome; 0 and 1 if it names none."""
    scales = read_named_scales(path, table)
    return scales["centre"].fillna(0.0).to_numpy(), scales["scale"].fillna(1.0).to_numpy()


def read_named_scales(path: Path | str, table: FeatureTable) -> pd.DataFrame:
    """Read the public centres and scales of columns, by name; NaN for columns that the file does not name.

    The file has the columns `column`, or `outcome` as in a study's `outcomes.scales`, `centre` and `scale`.
    """
    rows = rows_of(path)
    header = header_of(rows, path)
    if tuple(header) not in (SCALE_COLUMNS, ("outcome", *SCALE_COLUMNS[1:])):
        raise UsageError(
            "scale-columns",
            f"`{path}`, line 1: the columns must be {', '.join(SCALE_COLUMNS)}, got {', '.join(header)}. "
            "Name them so.",
        )
    names = [*table.features, table.target]
    scales = pd.DataFrame({"centre": np.nan, "scale": np.nan}, index=names)
    seen_names = set()
    for line, (name, *values) in rows:
        where = f"`{path}`, line {line}"
        if name in seen_names or name not in names:
            fault = "a second line for" if name in seen_names else "the unknown"
            raise UsageError(
                "scale-line-repeated",
                f"{where}: each line must name another column, got {fault} `{name}`. {_hint(name, names)}",
            )
        seen_names.add(name)
        numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
        # NaN, of text too, is in no range.
        if not (np.abs(numbers) <= LARGEST_VALUE).all() or not numbers[1] >= 1 / LARGEST_VALUE:
            raise UsageError(
                "scale-line-not-numbers",
                f"{where}: centre and scale must be numbers, the scale above 0, got {', '.join(values)}. "
                "Correct them.",
            )
        scales.loc[name] = numbers
    return scales


def _require_column(option: str, name: str, names: Sequence[str], path: Path | str) -> str:
    """Return the name of a column that is there."""
    if name not in names:
        raise UsageError(
            "column-unknown", f"`{option}` must be a column of `{path}`, got `{name}`. {_hint(name, names)}"
        )
    return name


def _hint(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name, names, n=1)
    if close:
        return f"Did you mean `{close[0]}`?"
    listed = ", ".join(f"`{column_name}`" for column_name in names[:20]) + (
        ", ..." if len(names) > 20 else ""
    )
    return f"There are {listed}."


def _require_two_values(column: TextColumn, numbers: np.ndarray, fix: str) -> None:
    if numbers.min() == numbers.max():
        raise UsageError(
            "column-constant",
            f"{column.column_label}: must have at least two values, got {column.texts[0]} in every row. "
            f"{fix}",
        )
