"""Cells of a file of effects as arrays: numbers, positions, alleles; each text that repeats is read once."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dpgrs.io.allele_matching import is_letters
from dpgrs.io.tables.tables import BLANKS, MISSING, number_of

_SEVERAL = re.compile(r" *[/,;|] *")


def mapped(texts: Any, function: Callable[[str], Any]) -> np.ndarray:
    """Return the results of a function of texts, a pyarrow array in which most repeat, as an object array."""
    texts = texts.dictionary_encode()
    values = [function(text.strip(BLANKS)) for text in texts.dictionary.to_pylist()]
    if not values:
        return np.zeros(0, dtype=object)
    distinct = np.empty(len(values), dtype=object)
    distinct[:] = values
    return distinct[texts.indices.to_numpy(zero_copy_only=False).astype(np.int64)]


def one_allele(text: str) -> str:
    """Return an allele in capitals, an empty text if none or more than one is stated."""
    letters = text.upper()
    alleles = _SEVERAL.split(letters)
    is_several = len(alleles) > 1 and all(map(is_letters, alleles))
    return "" if is_several or text in MISSING or letters == "NR" else letters


def numbers_in(texts: Any) -> np.ndarray:
    """Return the numbers in a pyarrow array of texts, (n,) float64, NaN if there is none."""
    import pyarrow as pa

    try:
        numbers = texts.cast(pa.float64()).to_numpy(zero_copy_only=False).copy()
    except pa.ArrowInvalid:
        numbers = np.array([number_of(text.strip(BLANKS)) for text in texts.to_pylist()], dtype=float)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers


def positions_in(texts: Any) -> np.ndarray:
    """Return the positions in a pyarrow array of texts, (n,) int64, 0 if there is none."""
    import pyarrow as pa

    try:
        return np.maximum(texts.cast(pa.int64()).to_numpy(zero_copy_only=False), 0)
    except pa.ArrowInvalid:
        # pandas writes whole numbers beside missing ones with `.0`.
        cells = (text.strip(BLANKS).removesuffix(".0") for text in texts.to_pylist())
        return np.array(
            [int(text) if text.isdecimal() and len(text) < 12 else 0 for text in cells], dtype=np.int64
        )
