"""The public table of loadings of outcomes."""

import numpy as np
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.tables.outcome_loadings import carried_shares, read_outcome_loadings
from refused import refused

TABLE = "outcome,Factor A,origin,b\nheight,0.6,A survey,-.5\nbmi,0.1,,0.2\n"


@pytest.fixture
def read(tmp_path):
    """Read a table of this text."""

    def read(text):
        path = tmp_path / "loadings.csv"
        path.write_text(text)
        return read_outcome_loadings(path)

    return read


def test_read_outcome_loadings__returns_numbers_and_where_they_are_from(read):
    found = read(TABLE)
    assert (found.outcomes, found.components) == (("height", "bmi"), ("Factor A", "b"))
    np.testing.assert_array_equal(found.values, [[0.6, -0.5], [0.1, 0.2]])
    assert found.origin == "A survey"
    np.testing.assert_allclose(carried_shares(found.values), [0.61, 0.05])
    np.testing.assert_array_equal(found.of(["bmi", "height"]), found.values[::-1])


def test_digest__is_of_numbers_and_names_alone(read):
    first = read(TABLE)
    assert read(TABLE.replace("A survey", "Another word").replace("-.5", "-0.50")).digest == first.digest
    others = {read(TABLE.replace(*one)).digest for one in (("0.6", "0.61"), ("bmi", "ldl"), ("b\n", "c\n"))}
    assert len(others | {first.digest}) == 4
    assert first.text == "outcome\tFactor A\tb\nheight\t0.6\t-0.5\nbmi\t0.1\t0.2\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("origin", "source"), "the columns `outcome`, `origin`"),
        (("outcome", "trait"), "the columns `outcome`, `origin`"),
        (("A survey", ""), "must say in the column `origin`"),
        (("bmi", "height"), "line 3: must name an outcome that no other"),
        (("bmi", ""), "line 3: must name an outcome that no other"),
        (("0.2", "NA"), "line 3: must name an outcome that no other"),
        (("0.2", "much"), "column `b`: must be a finite number"),
        (("0.6", "0.95"), "line 2: the squares of the loadings must add up to at most 1"),
        (("0.1,,0.2", "0,,0"), "linearly independent components, at most one an outcome, got 2 of 2"),
        (("bmi,0.1,,0.2\n", ""), "linearly independent components, at most one an outcome, got 2 of 1"),
    ],
)
def test_read_outcome_loadings__raise_on_what_is_no_table_of_loadings(read, change, message):
    with pytest.raises(DpgrsError, match=message):
        read(TABLE.replace(*change))


@pytest.mark.parametrize("size", [1e-154, 1e-162, 9e-7])
def test_read_outcome_loadings__raise_on_a_component_that_carries_next_to_nothing(read, size):
    """Far below, squares lose their digits and then are 0, which the map would be made of."""
    table = "outcome,a,b,origin\nheight,{0},{1},x\nbmi,-{1},{2},\n"
    line = f"column `b`: must have a loading of 1e-06 or more in size, got {size:g} as the largest. Leave"
    with pytest.raises(DpgrsError, match=line):
        read(table.format(2 * size, size / 2, size))
    # As the smaller ones of a component they do no harm.
    found = read(f"outcome,a,b,origin\nheight,0.5,{size},x\nbmi,{size},1e-6,\n")
    assert found.values[0, 1] == size


def test_read_outcome_loadings__raise_on_no_component(read):
    with refused("outcome-loading-columns"):
        read("outcome,origin\nheight,x\n")


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        (["height"], ("loadings-of-other-outcomes", "`bmi`")),
        (["bmi", "height", "z"], ("loadings-of-other-outcomes", "`z`")),
    ],
)
def test_of__raise_on_other_outcomes(read, names, fault):
    with refused(*fault):
        read(TABLE).of(names)
