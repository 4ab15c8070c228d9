"""The rows that this package adds to those of dpgrs."""

from importlib.metadata import entry_points

import pytest

from dpgrs.methods.registry import METHODS, fitter_of
from dpgrs.plugins import points
from dpgrs.selection.registry import SELECTORS

ADDED = {
    kind: [one for one in points(kind) if one.module.startswith("dpgrs_papers")]
    for kind in (*("methods", "selectors", "commands"),)
}
REGRESSION = {"heritability": None, "lambda_from": "evidence", "joint_projection": True}


def test_points__are_found_once_and_in_the_order_of_the_file():
    assert [one.name for one in ADDED["methods"]] == [*METHODS][-len(ADDED["methods"]) :]
    assert len(ADDED["methods"]) == 14
    assert [one.name for one in ADDED["selectors"]] == ["sis", "two-stage", "sublasso", "lasso"]
    assert {one.name for one in entry_points(group="dpgrs.commands")} >= {"tabular", "choose", "experiment"}


def test_methods__none_may_be_released():
    assert not any(METHODS[one.name].may_be_released for one in ADDED["methods"])


@pytest.mark.parametrize("point", ADDED["methods"], ids=lambda point: point.name)
def test_methods__what_a_row_names_is_there(point):
    row = METHODS[point.name]
    assert (row.code is None) == row.is_non_private
    assert row.code is None or fitter_of(point.name).mechanism
    assert row.selector is None or row.selector in SELECTORS
    known = {"protection": "full", "has_effects": True}
    assert not row.pools_outcomes(REGRESSION, **known)
