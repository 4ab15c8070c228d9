"""Outcomes on disk that a test changes."""

from contextlib import contextmanager

from dpgrs.io.files import remove
from dpgrs.io.outcomes import Outcomes


def write_outcomes(path, outcomes):
    """Write outcomes in place of what is there."""
    remove(path)
    outcomes.save(path)


@contextmanager
def changed_outcomes(path):
    """Give the outcomes of a file in memory, to be changed in place, and write them back."""
    outcomes = Outcomes.load(path).of_rows(slice(None))
    yield outcomes
    write_outcomes(path, outcomes)
