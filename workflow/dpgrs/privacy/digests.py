"""Digests of data and of terms, which key noise, chain a ledger and identify what is released."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np


def canonical(value: Any) -> bytes:
    """Return the one JSON text of a value: keys sorted, no spaces, UTF-8.

    NaN, infinity and text that is not Unicode raise a ValueError.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of a value, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def statistic_digest(statistic: np.ndarray) -> str:
    """Digest an integer array: SHA-256 of its shape and values, in hexadecimal."""
    statistic = np.asarray(statistic)
    shape = json.dumps(statistic.shape).encode()
    return hashlib.sha256(shape + statistic.astype("<i8").tobytes()).hexdigest()


class InBlocks(NamedTuple):
    """An array that is not in memory as a whole."""

    dtype: np.dtype
    shape: tuple[int, ...]
    blocks: Iterator[np.ndarray]  # of that type: its rows, in order


def data_digest(*arrays: np.ndarray | InBlocks | float) -> str:
    """Digest arrays of integers, floats or truth values: SHA-256 of their types, shapes and bytes.

    InBlocks has the digest of the array that it is.
    """
    total = hashlib.sha256()
    for array in arrays:
        # Numbers count as arrays of one, as they always did: marks of earlier releases rest on it.
        numbers = array if isinstance(array, InBlocks) else np.ascontiguousarray(array)
        total.update(json.dumps([numbers.dtype.str, numbers.shape]).encode())
        for block in array.blocks if isinstance(array, InBlocks) else [numbers]:
            contiguous = np.ascontiguousarray(block)
            total.update(contiguous.view(np.uint8).data if contiguous.size else b"")
    return total.hexdigest()


def json_digest(identity: Any) -> bytes:
    """Digest JSON values: SHA-256, as bytes."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).digest()
