"""Compiled kernels of sums over calls. Each is a pure function of its arrays."""

import numpy as np

from dpgrs.genotypes.compiled import compiled
from dpgrs.io._call_kernels import HALF_ALT, HALF_REF


def plain_count_calls(calls: np.ndarray, n_known: np.ndarray, copies: np.ndarray) -> None:
    """Do the same as `count_calls`, by numpy."""
    n_half_alt = np.count_nonzero(calls == HALF_ALT, axis=1)
    n_half = n_half_alt + np.count_nonzero(calls == HALF_REF, axis=1)
    n_known[:] = 2 * np.count_nonzero(calls >= 0, axis=1) + n_half
    copies[:] = np.maximum(calls, 0).sum(axis=1, dtype=np.int64) + n_half_alt


def plain_fill_calls(calls: np.ndarray, frequency: np.ndarray, first: int, dosages: np.ndarray) -> None:
    """Do the same as `fill_calls`, by numpy."""
    calls = calls[:, first : first + dosages.shape[1]]
    dosages[:] = calls
    row, person = np.nonzero(calls < 0)
    missing = calls[row, person]
    n_missing = 2 - ((missing == HALF_REF) | (missing == HALF_ALT))
    dosages[row, person] = n_missing * frequency[row] + (missing == HALF_ALT)


def plain_fill_steps(
    steps: np.ndarray, frequency: np.ndarray, first: int, missing: int, step: float, dosages: np.ndarray
) -> None:
    """Do the same as `fill_steps`, by numpy."""
    steps = steps[:, first : first + dosages.shape[1]]
    dosages[:] = np.where(steps == missing, 2 * frequency[:, np.newaxis], steps * np.float64(step))


@compiled(plain=plain_count_calls)
def count_calls(calls: np.ndarray, n_known: np.ndarray, copies: np.ndarray) -> None:
    """Count known alleles, and copies of ALT among them.

    Parameters
    ----------
    calls : (n_rows, n_people) int8, see `dpgrs.io.target.Piece`.
    n_known, copies : (n_rows,) int64, written to.
    """
    for i in range(calls.shape[0]):
        n_called, n_copies, n_half, n_half_alt = 0, 0, 0, 0
        for call in calls[i]:
            n_called += call >= 0
            n_copies += call if call > 0 else 0
            n_half += (call == HALF_REF) | (call == HALF_ALT)
            n_half_alt += call == HALF_ALT
        n_known[i] = 2 * n_called + n_half
        copies[i] = n_copies + n_half_alt


@compiled(plain=plain_fill_calls)
def fill_calls(calls: np.ndarray, frequency: np.ndarray, first: int, dosages: np.ndarray) -> None:
    """Turn the calls of some people into dosages, and fill missing alleles by their frequency.

    Parameters
    ----------
    calls : (n_rows, n_people) int8, see `dpgrs.io.target.Piece`.
    frequency : (n_rows,) float64, of ALT.
    first : int, the first of the people.
    dosages : (n_rows, n_some) float64, written to.
    """
    n_some = dosages.shape[1]
    for i in range(calls.shape[0]):
        row_calls = calls[i, first : first + n_some]
        lowest = 0
        for j in range(n_some):
            dosages[i, j] = row_calls[j]
            lowest = min(lowest, row_calls[j])
        if lowest < 0:
            for j in range(n_some):
                call = row_calls[j]
                if call < 0:
                    n_missing = 1 + (call not in (HALF_REF, HALF_ALT))
                    dosages[i, j] = n_missing * frequency[i] + (call == HALF_ALT)


@compiled(plain=plain_fill_steps)
def fill_steps(
    steps: np.ndarray, frequency: np.ndarray, first: int, missing: int, step: float, dosages: np.ndarray
) -> None:
    """Do the same for dosages in whole steps, `missing` where they are missing."""
    n_some = dosages.shape[1]
    for i in range(steps.shape[0]):
        for j in range(n_some):
            row_steps = steps[i, first + j]
            dosages[i, j] = 2 * frequency[i] if row_steps == missing else row_steps * step
