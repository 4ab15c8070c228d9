"""Cells of a file of effects as arrays: numbers, positions, alleles; each text that repeats is read once.

A column of texts is a pyarrow array or, where pyarrow is not installed, an object array, which takes longer.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dpgrs.io.allele_matching import is_letters
from dpgrs.io.tables.tables import BLANKS, MISSING, number_of

_SEVERAL = re.compile(r" *[/,;|] *")


def texts_of(cells: Any) -> Any:
    """Return cells, a list or a column of str, as a column of texts."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return np.array(cells, dtype=object)
    return pa.array(cells, pa.string())


def mapped(texts: Any, function: Callable[[str], Any]) -> np.ndarray:
    """Return the results of a function of texts, a column in which most repeat, as an object array."""
    if isinstance(texts, np.ndarray):
        import pandas as pd

        codes, distinct = pd.factorize(texts)
    else:
        texts = texts.dictionary_encode()
        codes = texts.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        distinct = texts.dictionary.to_pylist()
    values = np.empty(len(distinct), dtype=object)
    values[:] = [function(text.strip(BLANKS)) for text in distinct]
    return values[codes]


def one_allele(text: str) -> str:
    """Return an allele in capitals, an empty text if none or more than one is stated."""
    letters = text.upper()
    alleles = _SEVERAL.split(letters)
    is_several = len(alleles) > 1 and all(map(is_letters, alleles))
    return "" if is_several or text in MISSING or letters == "NR" else letters


def numbers_in(texts: Any) -> np.ndarray:
    """Return the numbers in a column of texts, (n,) float64, NaN if there is none."""
    numbers = _cast(texts, "float64")
    if numbers is None:
        return np.array([number_of(text.strip(BLANKS)) for text in texts.tolist()], dtype=float)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def positions_in(texts: Any) -> np.ndarray:
    """Return the positions in a column of texts, (n,) int64, 0 if there is none."""
    positions = _cast(texts, "int64")
    if positions is not None:
        return np.maximum(positions, 0)
    # pandas writes whole numbers beside missing ones with `.0`.
    cells = (text.strip(BLANKS).removesuffix(".0") for text in texts.tolist())
    return np.array(
        [int(text) if text.isdecimal() and len(text) < 19 else 0 for text in cells], dtype=np.int64
    )


def _cast(texts: Any, kind: str) -> np.ndarray | None:
    """Return texts that are all numbers as an array; None if others are among them, or pyarrow is missing."""
    if isinstance(texts, np.ndarray):
        return None
    from pyarrow import ArrowInvalid

    try:
        return texts.cast(kind).to_numpy(zero_copy_only=False)
    except ArrowInvalid:
        return None
