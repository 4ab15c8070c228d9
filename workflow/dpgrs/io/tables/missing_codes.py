"""Numbers that many cohorts write for a missing value, found by how far they lie from all other values."""

import numpy as np
import pandas as pd

# PLINK's -9 is missing everywhere; these may be values, so that the operator is asked.
CODES = (-99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0)
# A code is at least so many times as large as every other value of its column, or the only one below 0.
LEAST_RATIO = 3


class MissingCodes:
    """Counts of codes in the columns of a table, and the range of their other values, block by block."""

    def __init__(self) -> None:
        self._counts = self._lowest = self._highest = None

    def add(self, table: pd.DataFrame) -> None:
        """Count a block of a table of numbers, NaN if missing."""
        counts = pd.DataFrame({code: (table == code).sum() for code in CODES})
        other_values = table.mask(table.isin(CODES))
        lowest, highest = other_values.min(), other_values.max()
        if self._counts is None:
            self._counts, self._lowest, self._highest = counts, lowest, highest
        else:
            self._counts = self._counts + counts
            # NaN where a part has no value.
            self._lowest, self._highest = np.fmin(self._lowest, lowest), np.fmax(self._highest, highest)

    def in_words(self) -> list[str]:
        """Name the columns with a code that does not look like a value, for the operator."""
        if self._counts is None:
            return []
        return [
            f"column `{name}` has {code:g} in {count:,} cells, far from its other values. It is used as a "
            "number: if it means missing, write NA."
            for name, counts in self._counts.iterrows()
            for code, count in counts.items()
            if count and self._is_far(name, code)
        ]

    def _is_far(self, name: str, code: float) -> bool:
        lowest, highest = self._lowest[name], self._highest[name]
        is_alone_below_0 = code < 0 <= lowest
        return is_alone_below_0 or LEAST_RATIO * max(abs(lowest), abs(highest)) < abs(code)
