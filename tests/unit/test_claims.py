"""The check of a claim and its share, at the edges of what the samplers take."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.privacy.noise.claims import scale_of
from dpgrs.privacy.noise.samplers import rounded_normal
from dpgrs.privacy.noise.stream import KeyStream
from dpgrs.privacy.sensitivity import Sensitivity
from refused import refused


def scale(value, *, share=1.0, step=1.0):
    claim = Sensitivity(value, "l2", "add-remove", "person", "gram/1")
    return scale_of(claim, share=share, norm="l2", step=step, name="sum")


@given(value=st.floats(1e-6, 1e6), share=st.floats(1e-3, 1e3))
def test_scale_of__loses_the_share_and_no_more(value, share):
    lost = Fraction(value) / Fraction(scale(value, share=share))
    assert Fraction(share) * (1 - Fraction(1, 2**51)) < lost <= Fraction(share)


@pytest.mark.parametrize("step", [2.0**-20, 0.25, 1.0, 8.0])
def test_scale_of__ends_where_the_samplers_end(step):
    largest = scale(math.nextafter(2.0**48 * step, 0.0), step=step)
    assert largest == 2**48 * step
    stream = KeyStream(bytes(32), b"largest")
    assert len(rounded_normal(stream, 1, Fraction(largest) / Fraction(step))) == 1
    with refused("noise-too-large", "got 3e+14", error=UsageError):
        scale(2.0**48 * step, step=step)
