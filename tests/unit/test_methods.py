"""The table of methods agrees with the configuration's schema, and says what it means."""

from dpgrs.config import keys
from dpgrs.methods import METHODS
from dpgrs.types import Exactness, Protection


def test_methods__are_those_of_the_schema():
    assert list(METHODS) == keys()["methods"]["items"]["enum"]


def test_methods__without_protection_none_may_be_released():
    for method in METHODS.values():
        if Protection.NONE in method.protections:
            assert not method.may_be_released


def test_methods__exactness_is_one_of_the_classes():
    classes = {method.exactness for method in METHODS.values()} - {None}
    assert classes <= set(Exactness)
    assert classes
