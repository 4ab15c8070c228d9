"""Parts of an audit: which noise passes for that of the other input, and how far a unit moves a part."""

import numpy as np

from dpgrs.privacy.audit.losses import rates_above
from dpgrs.privacy.audit.parts import AuditedDraw, audit_parts

PART = AuditedDraw("sum", (0.0, 1.0), sd=0.5)


def observed(first, second):
    outputs = [[[np.array(number)] for number in side] for side in (first, second)]
    (result,) = audit_parts([PART], outputs, delta=1e-3, confidence=0.98)
    return result.observed


def test_audit_parts__halfway_is_an_error_of_the_second_input_alone():
    """Noise of exactly half of the claim, on a grid: what lies halfway is guessed to be of the first."""
    rates = [rates_above(np.array(errors), 10, 0.98) for errors in ([0, 0], [0, 4])]
    none, some = (PART.claim(1e-3).observed(*each) for each in rates)
    assert observed([0.5] * 10, [1.0] * 10) == none
    assert observed([0.0] * 10, [0.5] * 4 + [1.0] * 6) == some < none


def test_audit_parts__halfway_is_one_whatever_its_roundings():
    """Both sums are 0.3 sqrt(2) but for a last digit."""
    part = AuditedDraw("sums", ((0.0, 0.0), (0.6, 0.6)), sd=0.3)
    assert part.n_units == 1
    rate = rates_above(np.array([0, 10]), 10, 0.98)
    for last in (0.0, 1e-15, -1e-15):
        noise = np.array([0.3 + last, 0.3])
        outputs = [[[noise]] * 10, [[np.array([0.6, 0.6]) - noise]] * 10]
        (result,) = audit_parts([part], outputs, delta=1e-3, confidence=0.98)
        assert result.observed == part.claim(1e-3).observed(*rate)


def test_part__of_unsigned_counts_moves_down_as_far_as_up():
    down = AuditedDraw("count", (np.uint8([3]), np.uint8([1])), sd=1.0)
    assert down.moved.tolist() == [-2]
    assert down.mu == 2
