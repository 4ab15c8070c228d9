"""Codes and words of errors, and that what tests state of them is held."""

import pickle

import pytest

from dpgrs.errors import CellError, DpgrsError, UsageError
from refused import refused

WORDS = "`privacy.epsilon` must be above 0, got -1. Raise it."


def test_error__has_a_code_and_is_its_message():
    error = UsageError("epsilon-not-positive", WORDS)
    assert (error.code, str(error), error.exit_code) == ("epsilon-not-positive", WORDS, 2)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.code, str(copy)) == (UsageError, error.code, WORDS)


def test_cell_error__quotes_the_cell_for_open_data_only():
    error = CellError("`y.tsv`, line 2", "1,5")
    assert (error.code, error.exit_code) == ("cell-not-a-number", 1)
    assert "1,5" not in str(error)
    assert "got `1,5`. Write decimals with a point." in error.quoted


@pytest.mark.parametrize(
    ("stated", "error", "words"),
    [
        (["delta-not-positive"], UsageError, WORDS),
        (["epsilon-not-positive"], DpgrsError, WORDS),
        (["epsilon-not-positive", "`privacy.delta`"], UsageError, WORDS),
        (["epsilon-not-positive"], UsageError, "`privacy.epsilon` must be above 0, got -1."),
        (["epsilon-not-positive"], UsageError, "Negative. Raise it."),
    ],
)
def test_refused__fails_on_another_code_status_name_or_words(stated, error, words):
    with refused("epsilon-not-positive", "`privacy.epsilon`", "got -1", error=UsageError):
        raise UsageError("epsilon-not-positive", WORDS)
    with pytest.raises(AssertionError), refused(*stated, error=error):
        raise UsageError("epsilon-not-positive", words)
