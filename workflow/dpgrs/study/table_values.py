"""Values of a study's tables that plainly are in other units than it takes.

Preflight judges small tables, and people chosen from large ones; the job that reads a table judges all of it.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dpgrs.errors import must
from dpgrs.io.tables.phenotypes import standardise
from dpgrs.io.tables.table_samples import share_error

if TYPE_CHECKING:
    from dpgrs.io.tables.real_tables import RealTable

FEW = 3
PUBLIC_CONSTANTS = "Give its public centre and scale, for 0/1 its prevalence, in a table `outcomes.scales`."


def raw_problems(scale: pd.DataFrame, *, key: str = "outcomes.file") -> list[str]:
    """Name outcomes that are not standardised, from open data only.

    `scale` is from `describe_scale` or `describe_chosen`, `key` the setting that names the outcomes. There is
    a line for each of the first, and one that counts the others.
    """
    raw, lines = scale.index[scale["is_raw"]], []
    standardised = "hold outcomes of mean 0 and standard deviation 1"
    for column in raw[:FEW]:
        mean, sd = scale["mean"][column], scale["sd"][column]
        got = f"mean {mean:.3g} and standard deviation {sd:.3g} in column `{column}`"
        lines.append(must(key, standardised, got, PUBLIC_CONSTANTS))
    n_more = len(raw) - FEW
    return lines + ([f"`{key}`: {n_more} more columns like these."] if n_more > 0 else [])


def range_problems(features: "RealTable", low: np.ndarray, high: np.ndarray, *, key: str) -> list[str]:
    """Name the first column most of whose values lie beyond its public range, from open data only.

    `low` and `high` are (n_columns,) float64, and `key` is the setting or option of the ranges.
    """
    is_out = (features.values < low) | (features.values > high)
    names = np.array(features.names)[is_out.mean(axis=0) > 0.5]
    fix = "Correct the range."
    return [must(key, "hold most values", f"most beyond that of column `{name}`", fix) for name in names[:1]]


def constant_problems(outcomes: "RealTable") -> list[str]:
    """Name the first outcomes of a study's table of all rows that have only one value."""
    is_constant = outcomes.values.min(axis=0) == outcomes.values.max(axis=0)
    requirement, fix = "have at least two values each", "Leave it out."
    return [
        must("outcomes.columns", requirement, f"one in every row of `{name}`", fix)
        for name in np.array(outcomes.names)[is_constant][:FEW]
    ]


class ClippedValues:
    """Finds covariates most of whose values the public bound would clip: their constants are wrong."""

    def __init__(self, constants: pd.DataFrame, *, bound: float) -> None:
        """Take constants from `dpgrs.io.tables.outcome_scales.constants_of`, and a bound in standard
        deviations."""
        self._constants, self._bound = constants, bound
        self._n_clipped = self._n_values = 0

    def add(self, table: pd.DataFrame) -> None:
        """Take a part of the table, as from `read_outcomes`; errors are those of `standardise`."""
        size = standardise(table, self._constants).abs()
        self._n_clipped = self._n_clipped + (size > self._bound).sum()
        self._n_values = self._n_values + table.notna().sum()

    def problems(self, *, is_whole: bool = True) -> list[str]:
        """Name the first covariate of which the bound clips most values.

        The data are open; unless `is_whole`, the people of the table were chosen at random.
        """
        error = 0 if is_whole else share_error(self._n_values, np.inf)
        is_clipped = pd.Series(self._n_clipped > self._n_values * (0.5 + error))
        requirement = f"bring most values within `covariates.bound`, {self._bound:g} standard deviations"
        return [
            must(
                "covariates.scales",
                requirement,
                f"most beyond it in column `{name}`",
                "Correct its centre and scale.",
            )
            for name in is_clipped.index[is_clipped][:1]
        ]
