"""Columns of large text tables in which each line has all its cells, read by pyarrow, many lines at a time.

What such a table looks like leaves no choice. Any other table, a table with a mistake, and any table without
pyarrow are left to the readers that go line by line: they name the line.
"""

import codecs
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from isal import igzip, igzip_lib

from dpgrs.io.tables.tables import LONGEST_LINE, MISSING, QUOTING, is_gzip, rows_of, separator_of

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 2**22


class NotPlainError(Exception):
    """A table that is left to the readers that go line by line."""


def plain_columns(
    path: Path | str,
    *,
    separator: str,
    n_columns: int,
    n_skipped: int,
    texts: Sequence[int],
    numbers: Sequence[int] = (),
    joins: bool = False,
    missing: Collection[str] = MISSING,
) -> Iterator[tuple[list["pa.ChunkedArray"], np.ndarray]]:
    """Yield columns of text, and (n_lines, n_numbers) float64 with NaN if `missing`, of some lines at a time.

    `texts` and `numbers` are indices of columns; a column is in one of them. `n_skipped` lines are above the
    first that is read. Empty lines are left out. With `joins`, other readers take several blanks and tabs for
    one separator: then only a table with one between two cells, and none beside a line's end, is plain.

    Not plain is a table with a line of more or fewer cells, a quote within a cell of CSV, text that is not
    UTF-8, a carriage return within a line, or a number that is not finite or has another form than
    `dpgrs.io.tables.tables.number_of` reads.
    """
    if max(*texts, *numbers, 0) >= n_columns:
        raise NotPlainError
    try:
        opened: Any = igzip.open if is_gzip(Path(path)) else open
        with opened(path, "rb") as file:
            for _ in range(n_skipped):
                _require_plain(file.readline(LONGEST_LINE), separator, joins=joins)
            for block in _whole_lines(file):
                _require_plain(block, separator, joins=joins)
                if block.startswith(codecs.BOM_UTF8):  # of which pyarrow reads nothing
                    raise NotPlainError
                yield _columns(block, separator, n_columns, texts, numbers, missing)
    except (OSError, EOFError, zlib.error, igzip_lib.error, ValueError, ImportError) as error:
        raise NotPlainError from error


def plain_blocks(
    path: Path | str, texts: Sequence[int], numbers: Sequence[int] = (), *, missing: Collection[str] = MISSING
) -> Iterator[tuple[list["pa.ChunkedArray"], np.ndarray]]:
    """Yield what `plain_columns` does of the lines below the names of a table."""
    line, header = next(rows_of(path))
    separator = separator_of(path)
    yield from plain_columns(
        path,
        separator=separator,
        n_columns=len(header),
        n_skipped=line,
        texts=texts,
        numbers=numbers,
        joins=separator == " ",
        missing=missing,
    )


def ids_of_column(column: "pa.ChunkedArray") -> list[str]:
    """Return ids; one that is empty, has a blank or is not printable is left to other readers."""
    ids = column.to_pylist()
    together = "".join(ids)
    if not together.isprintable() or " " in together or "" in ids:
        raise NotPlainError
    return ids


def _whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the rest of a file in blocks that end with a line."""
    partial_line = b""
    while block := file.read(BLOCK_BYTES):
        end = block.rfind(b"\n") + 1
        if end:
            yield partial_line + block[:end]
        partial_line = block[end:] if end else partial_line + block
        if len(partial_line) > LONGEST_LINE:
            raise NotPlainError
    if partial_line:
        yield partial_line


def _require_plain(text: bytes, separator: str, *, joins: bool) -> None:
    """Refuse text whose lines and cells pyarrow and other readers may divide otherwise."""
    # Other text raises a ValueError.
    mark, is_plain = separator.encode(), text.isascii() or "\u00a0" not in text.decode()
    is_plain &= b"\0" not in text
    is_plain &= b"\r" not in text or text.count(b"\r") == text.count(b"\r\n")
    if separator in QUOTING and b'"' in text:
        is_plain &= _has_plain_quotes(np.frombuffer(b"\n" + text + b"\n", np.uint8), mark)
    if joins:
        other = b"\t" if mark == b" " else b" "
        # Blanks, tabs and ends of lines; other control characters are in no name.
        is_between = np.frombuffer(text, np.uint8) <= ord(" ")
        is_plain &= not (is_between[1:] & is_between[:-1]).any() and not is_between[:1].any()
        is_plain &= other not in text and not text.endswith(mark)
    if not is_plain:
        raise NotPlainError


def _has_plain_quotes(text: np.ndarray, mark: bytes) -> bool:
    """Return whether quotes stand around whole cells of one line, as R and spreadsheets write them."""
    quotes = np.flatnonzero(text == ord('"'))
    beside = np.stack([text[quotes - 1], text[quotes + 1]])
    is_edge = np.isin(np.arange(256), [*mark, *b"\r\n"])[beside]
    has_blank = np.isin(np.arange(256), [*b' \t"'])[beside]
    n_of_line = np.bincount(np.searchsorted(np.flatnonzero(text == ord("\n")), quotes))
    return bool(is_edge.any(axis=0).all() and not has_blank.any() and not (n_of_line % 2).any())


def _columns(
    block: bytes,
    separator: str,
    n_columns: int,
    texts: Sequence[int],
    numbers: Sequence[int],
    missing: Collection[str],
) -> tuple[list["pa.ChunkedArray"], np.ndarray]:
    import pyarrow as pa
    from pyarrow import csv

    used = [*texts, *numbers]
    kinds = {str(column): pa.string() for column in texts} | {str(column): pa.float64() for column in numbers}
    table = csv.read_csv(
        pa.BufferReader(block),
        read_options=csv.ReadOptions(
            column_names=[str(column) for column in range(n_columns)],
            block_size=len(block) + 1,
            use_threads=False,
        ),
        parse_options=csv.ParseOptions(
            delimiter=separator, quote_char='"' if separator in QUOTING else False, double_quote=False
        ),
        convert_options=csv.ConvertOptions(
            column_types=kinds,
            include_columns=[str(column) for column in used],
            null_values=sorted(missing),
            strings_can_be_null=False,
        ),
    )
    columns = [table.column(str(column)) for column in used]
    values = np.empty((table.num_rows, len(numbers)))
    for index, column in enumerate(columns[len(texts) :]):
        cells = column.to_numpy()
        # pyarrow reads words for infinity and for no number as well.
        if np.isinf(cells).any() or np.isnan(cells).sum() != column.null_count:
            raise NotPlainError
        values[:, index] = cells
    return columns[: len(texts)], values
