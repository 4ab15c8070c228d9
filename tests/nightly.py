"""Cases of a test that run at night only (`make nightly`)."""

import pytest


def rest_at_night(cases, by_day):
    """Return all cases for `parametrize`: those in `by_day` always run, the others are marked for the night.

    A case is a value, or a tuple of the values of several arguments.
    """
    missing = [case for case in by_day if case not in cases]
    if missing:
        raise ValueError(f"`by_day` must hold cases of the test, got {missing}.")
    return [case if case in by_day else at_night(case) for case in cases]


def at_night(case):
    """Return a case that is marked for the night."""
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.nightly)
