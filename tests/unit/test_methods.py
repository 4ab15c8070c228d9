"""The table of methods agrees with the configuration's schema, and says what it means."""

from dpgrs.config import keys, resolve
from dpgrs.methods import METHODS
from dpgrs.preflight import problems
from dpgrs.types import Exactness, Protection


def found(**raw):
    return problems(resolve(raw))


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


def test_problems__a_method_needs_one_of_its_protections():
    (line,) = found(methods=["ridge", "reusecov-proj"])
    assert line == (
        "`privacy.protection` must have feature or label for `methods: reusecov-proj`, got full. "
        "Add it, or leave the method out."
    )
    assert found(methods=["reusecov-proj"], privacy={"protection": ["full", "label"]}) == []


def test_problems__samples_of_dp_sgd_are_accounted_for_add_remove_alone():
    (line,) = found(methods=["dp-sgd"], privacy={"neighbours": "replace-one"})
    assert line.startswith("`privacy.neighbours` must be add-remove for `methods: dp-sgd`")
