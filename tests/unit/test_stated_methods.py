"""What statements and their check know of methods, and that it is what the registry and the fits have."""

import subprocess
import sys
from dataclasses import fields
from itertools import product

import pytest

from dpgrs.fit_keys import FIT_KEYS
from dpgrs.methods.adassp import CAUTION
from dpgrs.methods.joined import joins_outcomes
from dpgrs.methods.registry import METHODS as REGISTRY
from dpgrs.methods.registry import methods_that, named
from dpgrs.methods.reusecov import SMALLEST_KNOWN
from dpgrs.privacy.accounting.events import MECHANISM_VERSION
from dpgrs.statement.fit_steps import ADASSP
from dpgrs.statement.methods import METHODS, StatedMethod, stated_method
from dpgrs.statement.post_processing import RESCALED
from dpgrs.verify.claim_check import _fits_outcomes_together
from dpgrs.verify.draw_check import BY_METHOD
from dpgrs.verify.draw_check import MECHANISM_VERSION as CHECKED_VERSION

SETTINGS = [
    {"lambda": 1.0, "lambda_from": rule, "heritability": heritability, "joint_projection": is_joint}
    for rule, heritability, is_joint in product(("fixed", "adassp", "evidence"), (None, 0.5), (False, True))
]


def test_methods__are_those_that_may_be_released():
    assert list(METHODS) == list(methods_that("may_be_released"))
    assert METHODS.keys() <= BY_METHOD.keys()


@pytest.mark.parametrize("name", REGISTRY)
def test_stated_method__is_as_the_registry_has_it(name):
    """Also of methods that no release has, whose rows it reads."""
    stated, row = stated_method(name), REGISTRY[name]
    same = [field.name for field in fields(StatedMethod) if hasattr(row, field.name)]
    assert len(same) == len(fields(StatedMethod)) - 2
    for field in set(same) - {"steps", "reads"}:
        assert getattr(stated, field) == getattr(row, field), field
    assert stated.steps == (named(row.steps) if row.steps else ())
    assert {key for key in stated.reads if key in FIT_KEYS} <= {*row.reads}
    assert ("lambda" in stated.reads) == ("lambda" in row.reads)


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("protection", ["full", "feature", "label"])
@pytest.mark.parametrize("effects", [{}, {"effects": ["0" * 64]}])
def test_fits_outcomes_together__as_the_study_takes_it(name, protection, effects):
    for settings in SETTINGS:
        statement = {"method": name, "fit": settings | effects, "guarantee": {"protection": protection}}
        expected = joins_outcomes(name, settings, protection=protection, has_effects=bool(effects))
        assert _fits_outcomes_together(statement) == expected, settings


def test_stated_method__of_a_name_that_no_package_has():
    assert stated_method("other") is None


@pytest.mark.parametrize("name", ["naive", "ols"])
def test_stated_method__loads_the_registry_and_other_packages_itself(name):
    """Those import the registry, which would load them again while they are not there yet."""
    program = (
        f"import dpgrs.statement.methods as stated; print(stated.stated_method({name!r}).protections[0])"
    )
    command = [sys.executable, "-c", program]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert told.strip() == REGISTRY[name].protections[0]


def test_numbers_in_words__are_those_of_the_program():
    assert f"at least {SMALLEST_KNOWN} standard deviations of its noise" in RESCALED[0]
    assert any(f"lowered by {CAUTION} standard deviations" in step for step in ADASSP)
    assert CHECKED_VERSION == MECHANISM_VERSION
