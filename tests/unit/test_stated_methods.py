"""What the rows of methods say is what the fits have."""

from dpgrs.methods.adassp import CAUTION
from dpgrs.methods.registry import METHODS, fitter_of
from dpgrs.methods.reusecov import SMALLEST_KNOWN
from dpgrs.methods.sum_mechanisms import SharedStatistics
from dpgrs.privacy.accounting.events import MECHANISM_VERSION
from dpgrs.statement.fit_steps import ADASSP
from dpgrs.statement.methods import stated_method
from dpgrs.statement.post_processing import RESCALED
from dpgrs.verify.draw_check import MECHANISM_VERSION as CHECKED_VERSION


def test_stated_method__is_of_a_release():
    assert stated_method("other") is None
    for name, row in METHODS.items():
        assert stated_method(name) is (row if row.may_be_released else None)


def test_methods__what_they_are_fitted_from_is_what_their_mechanism_draws():
    for name, row in METHODS.items():
        if row.code is None:
            assert row.is_non_private
            continue
        mechanism = fitter_of(name).mechanism
        assert row.is_post_processing == (mechanism is SharedStatistics)
        assert row.is_steered == ("private_steered_statistics" in mechanism.audited)
        assert row.takes_map == ("chromosomes" in mechanism.takes)
        assert row.is_screened <= row.draws_from_rows


def test_numbers_in_words__are_those_of_the_program():
    assert f"at least {SMALLEST_KNOWN} standard deviations of its noise" in RESCALED[0]
    assert any(f"lowered by {CAUTION} standard deviations" in step for step in ADASSP)
    assert CHECKED_VERSION == MECHANISM_VERSION
