"""The table of methods agrees with the configuration's schema, and says what it means."""

import pytest

from dpgrs.methods.registry import METHODS
from dpgrs.preflight.checks import problems
from dpgrs.study.settings import keys, resolve
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


@pytest.mark.parametrize("method", ["k-blup", "k-bas", "k-tukey", "l-blup", "s-blup"])
def test_problems__screening_protects_fully(method):
    (line,) = found(methods=["k-ols", method], privacy={"protection": ["label"]})
    assert line == (
        f"`privacy.protection` must have full for `methods: {method}`, got label. "
        "Add it, or leave the method out."
    )
    assert found(methods=["k-ols"], privacy={"protection": ["label"]}) == []


@pytest.mark.parametrize(
    ("method", "known", "other"),
    [("dp-sgd", "add-remove", "replace-one"), ("reusecov-sketch", "replace-one", "add-remove")],
)
def test_problems__samples_are_accounted_for_some_neighbours_alone(method, known, other):
    (line,) = found(methods=["ridge", method], privacy={"neighbours": other})
    assert line == (
        f"`privacy.neighbours` must be {known} for `methods: {method}`, got {other}. "
        "Change it, or leave the method out."
    )
    assert found(methods=["ridge", method], privacy={"neighbours": known}) == []
