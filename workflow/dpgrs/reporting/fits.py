"""Fits: a method under privacy terms. Their names, their order and the few that a figure can show."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from dpgrs.reporting.terms import ACCOUNTING_NAMES
from dpgrs.statement.methods import METHODS, REFERENCE_METHOD
from dpgrs.types import Protection

# Fits without privacy that others are compared with: the first that a study has.
REFERENCES = (REFERENCE_METHOD, "ols", "ridge")
# Between a method and how it was made, of fits with noise that are not private all the same.
NOTE = ", "
SHOWN_PRIVATE_FITS = 4
MAX_ROWS = 32


class Fit(NamedTuple):
    """A method under privacy terms; equal for all variant sets, numbers of outcomes and replicates."""

    method: str
    protection: str
    accounting: str
    epsilon: float | None

    @classmethod
    def of(cls, record: Any) -> Self:
        """Return the fit of a table's row or of a `FitWeights`; missing terms become empty."""
        epsilon = None if pd.isna(record.epsilon) else float(record.epsilon)
        accounting = "" if pd.isna(record.accounting) else str(record.accounting)
        return cls(str(record.method), str(record.protection), accounting, epsilon)

    @property
    def is_private(self) -> bool:
        return self.protection != Protection.NONE

    @property
    def method_name(self) -> str:
        method, comma, note = self.method.partition(NOTE)
        return (METHODS[method].label if method in METHODS else method) + comma + note

    @property
    def series(self) -> str:
        """Name of the fit without its epsilon."""
        if not self.is_private:
            return f"{self.method_name} (not private)"
        return f"{self.method_name} ({self.protection}, {ACCOUNTING_NAMES[self.accounting]})"

    @property
    def label(self) -> str:
        """Full name of the fit."""
        # No-break spaces: the number stays with its letter.
        return f"{self.series}, ε\u00a0=\u00a0{self.epsilon:g}" if self.is_private else self.series

    @property
    def brief(self) -> str:
        """Full name of the fit if there is little room, as beside an axis."""
        return self.label.replace(" accounting", "")


def label_fits(table: pd.DataFrame) -> tuple[list[Fit], np.ndarray]:
    """Return fits, and which fit each row of a table of metrics belongs to, (n_rows,) int64.

    Non-private fits come first, then by method, protection, accounting and epsilon, in the order in which the
    table names them (epsilon ascending).
    """
    keys = table[list(Fit._fields)]
    groups = keys.groupby(list(Fit._fields), dropna=False, sort=False).ngroup().to_numpy()
    distinct = [Fit.of(row) for row in keys.drop_duplicates().itertuples()]
    order = sorted(range(len(distinct)), key=lambda i: _sort_key(distinct[i], distinct))
    return [distinct[i] for i in order], np.argsort(order)[groups] if order else groups


def reference(fits: Sequence[Fit]) -> Fit | None:
    """Return the non-private fit, without noise, that others are compared with, or None."""
    candidates = [fit for fit in fits if not fit.is_private and NOTE not in fit.method]
    candidates.sort(
        key=lambda fit: REFERENCES.index(fit.method) if fit.method in REFERENCES else len(REFERENCES)
    )
    return next(iter(candidates), None)


def best_fits(fits: Sequence[Fit], r2: np.ndarray) -> list[tuple[Fit, float]]:
    """Return the best fit without privacy, then the best one under every protection, with their R^2.

    `r2` has the mean R^2 of each fit, (n_fits,); a fit without a value is never the best.
    """
    best = {}
    for fit, value in zip(fits, np.asarray(r2).tolist(), strict=True):
        if np.isfinite(value) and value > best.get(fit.protection, (None, -np.inf))[1]:
            best[fit.protection] = (fit, value)
    return sorted(best.values(), key=lambda pair: pair[0].is_private)


def shown_private(fits: Sequence[Fit], r2: np.ndarray) -> list[Fit]:
    """Choose the private fits that a figure has room for, in the order of `fits`, by their (n_fits,) mean
    R^2.

    Of every method and protection the first accounting is taken, and of its epsilons as many, evenly spread,
    as keep the total at `SHOWN_PRIVATE_FITS`; one at the least, the largest. If pairs of method and
    protection are more than this, those of the highest R^2 at the largest epsilon are taken: first the best
    of every protection, then the best of the rest.
    """
    series = {}
    for fit in fits:
        if fit.is_private:
            by_accounting = series.setdefault((fit.method, fit.protection), {})
            by_accounting.setdefault(fit.accounting, []).append(fit)
    groups = [next(iter(by_accounting.values())) for by_accounting in series.values()]
    room = max(1, SHOWN_PRIVATE_FITS // max(1, len(groups)))
    chosen = {
        fit for group in _best_groups(groups, dict(zip(fits, r2, strict=True))) for fit in thin(group, room)
    }
    return [fit for fit in fits if fit in chosen]


def fitting_rows(fits: Sequence[Fit]) -> Sequence[Fit]:
    """Choose the fits for a figure that gives each a row: all, or of every series some epsilons.

    The epsilons are evenly spread, one at the least, so that there are about `MAX_ROWS` rows.
    """
    series = {}
    for fit in fits:
        series.setdefault(fit.series, []).append(fit)
    room = max(1, MAX_ROWS // max(1, len(series)))
    return fits if len(fits) <= MAX_ROWS else [fit for group in series.values() for fit in thin(group, room)]


def thin(items: Sequence[Any], count: int) -> Sequence[Any]:
    """Choose at most `count` of some items in order, evenly spread; the last is always among them."""
    if len(items) <= count:
        return items
    # The last is the largest epsilon, the fit that shows most.
    indices = np.linspace(len(items) - 1, 0, count).round().astype(int)
    return [items[i] for i in sorted(indices)]


def _best_groups(groups: Sequence[Sequence[Fit]], r2: dict[Fit, float]) -> list[Sequence[Fit]]:
    """Choose at most `SHOWN_PRIVATE_FITS` groups of fits by the R^2 of their last fits."""
    best_first = sorted(groups, key=lambda group: np.nan_to_num(-r2[group[-1]], nan=np.inf))
    leading = list({group[-1].protection: group for group in reversed(best_first)}.values())
    further_groups = [group for group in best_first if group not in leading]
    return (leading + further_groups)[:SHOWN_PRIVATE_FITS]


def _sort_key(fit: Fit, distinct: Sequence[Fit]) -> tuple[Any, ...]:
    def first(name: str) -> int:
        return next(i for i, other in enumerate(distinct) if getattr(other, name) == getattr(fit, name))

    return fit.is_private, first("method"), first("protection"), first("accounting"), fit.epsilon or 0.0
