"""Choices in rounds: generators that ask for the scores of each round, and the loop that runs them.

A generator yields the choices so far, takes the scores of all entries and their unit, and returns all choices
in the end. The scores of many outcomes may therefore be made together.
"""

from collections.abc import Callable, Generator
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dpgrs.errors import UsageError

if TYPE_CHECKING:
    from dpgrs.privacy.accounting.events import ChoiceEvent

Result = TypeVar("Result")
Scored = tuple[np.ndarray, Fraction]  # (n_entries,) int64 scores, and their unit
Rounds = Generator[np.ndarray, Scored, Result]  # yields (n_chosen,) int64, the choices so far


def answered(
    choice: "Rounds[Result]",
    score: Callable[[np.ndarray], Scored],  # takes the choices so far
) -> Result:
    """Run a choice of `NoiseSource.choose_in_rounds` to its end, and return its result."""
    try:
        chosen = next(choice)
        while True:
            chosen = choice.send(score(chosen))
    except StopIteration as end:
        return end.value


def exact_scores(event: "ChoiceEvent", scored: Scored) -> Scored:
    """Return the scores of a round and their unit, both exact, or raise a `UsageError`."""
    scores, unit = scored
    scores = on_grid(scores, event.statistic)
    # Both are private: neither is quoted.
    if scores.shape != (event.entries,) or not (isinstance(unit, Rational) and unit > 0):
        raise UsageError(
            "round-scores-invalid",
            f"The {event.statistic} must be one score for each entry, in units of a Fraction > 0. "
            "Correct them.",
        )
    return scores, unit


def in_rounds(
    event: "ChoiceEvent",
    # Takes the choices so far, the scores of all others and their unit, and returns a position among these.
    choose_one: Callable[[np.ndarray, np.ndarray, Fraction], int | np.intp],
) -> Rounds[np.ndarray]:
    """Choose one entry after the other among those that are left: yields and takes as `choose_in_rounds`."""

    def next_of(chosen: np.ndarray, scores: np.ndarray, unit: Fraction) -> np.int64:
        left = np.delete(np.arange(event.entries), chosen)
        return left[choose_one(chosen, scores[left], unit)]

    chosen = np.empty(0, dtype=np.int64)
    for _ in range(event.n_choices):
        # Between rounds nothing holds scores: of many outcomes side by side these would fill the memory.
        chosen = np.append(chosen, next_of(chosen, *exact_scores(event, (yield chosen))))
    return chosen


def on_grid(statistic: np.ndarray, name: str) -> np.ndarray:
    """Return a statistic as int64, or raise a `UsageError` if it is not of integers."""
    statistic = np.asarray(statistic)
    is_grid = np.issubdtype(statistic.dtype, np.integer) and np.can_cast(statistic.dtype, np.int64)
    if not is_grid:
        raise UsageError(
            "statistic-off-grid",
            f"The {name} must be integers on its grid, got {statistic.dtype}. Round it by row.",
        )
    return statistic.astype(np.int64, copy=False)
