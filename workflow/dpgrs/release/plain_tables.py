"""Tables of a bundle: plain decimals that read back as the same numbers, gzipped without a name and a time.

The same table is the same bytes on every machine. zlib compresses, as its output depends on no processor; the
output of isal does. zlib's lowest level is twelve times as fast as its highest, and files are a sixth larger.
"""

import itertools
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_ONCE = 2**17
GZIP_LEVEL = 1
# No flags, time 0, and the mark of the highest level, which readers ignore and bundles of format 4 have.
GZIP_HEAD = bytes.fromhex("1f8b08000000000002ff")
# Powers of ten up to this one are exact in float64.
LARGEST_POWER = 22
# A share of the last digit: scaling by a power of ten changes far less.
NEAR_HALF = 1e-4
_SMALL = r"^(?P<sign>-?)(?P<first>\d)\.?(?P<rest>\d*)e-(?P<places>\d+)$"


def format_weight(weight: float) -> str:
    """Write a number as the shortest plain decimal that reads back as the same float64.

    Examples
    --------
    >>> format_weight(-1.5e-7), format_weight(-0.0)
    ('-0.00000015', '0')
    """
    return np.format_float_positional(weight + 0.0, unique=True, trim="-")  # + 0.0: no minus zero


def decimals(numbers: np.ndarray) -> "pa.Array":
    """Write finite numbers as `format_weight` does, (n,) text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = np.asarray(numbers, dtype=float) + 0.0
    texts = pa.array(numbers).cast(pa.string())
    has_exponent = pc.match_substring(texts, "e")
    if not pc.any(has_exponent).as_py():
        return texts
    fields = pc.extract_regex(texts.filter(has_exponent), _SMALL)
    sign, first, other_digits, exponent = (
        pc.struct_field(fields, name) for name in ("sign", "first", "rest", "places")
    )
    zeros = pc.binary_repeat("0", pc.subtract(pc.fill_null(exponent, "1").cast(pa.int64()), 1))
    plain = pc.binary_join_element_wise(sign, "0.", zeros, first, other_digits, "")
    # Numbers of ten and more digits before the point are rare.
    is_large = pc.is_null(plain)
    large = numbers[has_exponent.to_numpy(zero_copy_only=False)][is_large.to_numpy(zero_copy_only=False)]
    plain = pc.replace_with_mask(plain, is_large, pa.array(map(format_weight, large), pa.string()))
    return pc.replace_with_mask(texts, has_exponent, plain)


def rounded(numbers: np.ndarray, digits: int) -> np.ndarray:
    """Round numbers to at most 10 significant digits, as ``float(f"{number:.{digits}g}")``: (n,) float64."""
    numbers = np.asarray(numbers, dtype=float)
    size = np.abs(numbers)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        power = digits - 1 - np.floor(np.log10(size))
        scaled = np.where(power >= 0, size * 10.0**power, size / 10.0**-power)
        # A logarithm next to a whole number may be of the digit beside.
        is_exact = (
            (scaled >= 10.0 ** (digits - 1)) & (scaled < 10.0**digits) & (np.abs(power) <= LARGEST_POWER)
        )
        is_exact &= np.abs(scaled % 1 - 0.5) > NEAR_HALF
        # Both parts of the fraction are whole numbers that float64 holds.
        result = np.where(power >= 0, np.rint(scaled) / 10.0**power, np.rint(scaled) * 10.0**-power)
    result = np.copysign(result, numbers)
    inexact = np.flatnonzero(~is_exact)
    result[inexact] = [float(f"{number:.{digits}g}") for number in numbers[inexact]]
    return result


def table_lines(columns: Iterable[np.ndarray]) -> Iterator[bytes]:
    """Yield the rows of a table with tabs, many at once, from columns of str, int64 or float64."""
    import pyarrow as pa
    from pyarrow import csv

    columns = [*columns]
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    for first in range(0, len(columns[0]), ROWS_AT_ONCE):
        cells = [_cells(column[first : first + ROWS_AT_ONCE]) for column in columns]
        text = pa.BufferOutputStream()
        csv.write_csv(pa.table(cells, [""] * len(cells)), text, options)
        yield text.getvalue().to_pybytes()


def write_table(path: Path, names: Iterable[str], columns: Iterable[np.ndarray], *, head: str = "") -> None:
    """Write a table with tabs, gzipped, below the lines of a head; columns are as of `table_lines`."""
    first_line = "\t".join(names)
    write_gzip(path, itertools.chain([f"{head}{first_line}\n".encode()], table_lines(columns)))


def write_gzip(path: Path, chunks: Iterable[bytes]) -> None:
    """Write text, gzipped without a name and a time."""
    deflate, checksum, size = zlib.compressobj(GZIP_LEVEL, wbits=-zlib.MAX_WBITS), 0, 0
    with path.open("wb") as file:
        file.write(GZIP_HEAD)
        for chunk in chunks:
            checksum, size = zlib.crc32(chunk, checksum), size + len(chunk)
            file.write(deflate.compress(chunk))
        file.write(deflate.flush() + struct.pack("<II", checksum, size % 2**32))


def _cells(column: np.ndarray) -> "pa.Array":
    import pyarrow as pa

    if column.dtype.kind == "f":
        return decimals(column)
    return pa.array(column, pa.string() if column.dtype == object else None)
