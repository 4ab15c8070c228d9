"""How the seconds of rules are modelled, on seconds of a known law."""

import numpy as np
import pandas as pd
import pytest

from dpgrs.experiments import scale
from dpgrs.experiments.frame import Verdict
from dpgrs.experiments.scale_trial import SOURCE_PEOPLE, study_of
from dpgrs.study.settings import resolve

SIZES = {
    "start": (200, 20, 2),
    "base": (5000, 500, 50),
    "people": (80_000, 500, 50),
    "variants": (5000, 4000, 50),
    "outcomes": (5000, 500, 800),
    "largest": (500_000, 5000, 10),
}
SETTINGS = {"check": "largest", "target": [500_000, 5000, 2000]}


def seconds(rule, people, variants, outcomes):
    """Of rows alone, but for fits, which know no rows."""
    if rule in ("draw", "fit_weights"):
        return 2.0 + 3e-8 * variants**2 * (variants if rule == "fit_weights" else 1)
    of_outcomes = 0 if rule == "make_panel" else 5e-10 * people * variants * outcomes
    return 2.0 + 4e-8 * people * variants + of_outcomes


@pytest.fixture
def table():
    rows = [
        dict(zip(scale.AXES, size, strict=True))
        | {"part": part, "rule": rule, "seconds": seconds(rule, *size), "used": 400.0, "asked": 512.0}
        for part, size in SIZES.items()
        for rule in scale.TERMS
    ]
    return scale.summarise(pd.DataFrame(rows), SETTINGS)


@pytest.mark.parametrize("rule", scale.TERMS)
def test_model__of_smaller_sizes_has_the_seconds_of_the_largest(table, rule):
    model = scale.model_of(table[table["part"] != "largest"], rule)
    largest = SIZES["largest"]
    assert model(*np.array(largest)[:, np.newaxis])[0] == pytest.approx(seconds(rule, *largest), rel=1e-6)


def test_exponents__are_those_between_the_largest_sizes_of_an_axis(table):
    found = scale.exponents(table[table["part"] != "largest"], "evaluate_trial")
    assert set(found) == {"people", "variants", "outcomes"}
    for axis, part in (("people", "people"), ("variants", "variants"), ("outcomes", "outcomes")):
        place = scale.AXES.index(axis)
        low, high = (seconds("evaluate_trial", *SIZES[name]) for name in ("base", part))
        expected = np.log(high / low) / np.log(SIZES[part][place] / SIZES["base"][place])
        assert found[axis] == pytest.approx((expected, expected), rel=1e-6)


def test_compare_and_judge__say_what_was_checked(table):
    numbers = scale.compare(table, SETTINGS).set_index("rule")
    assert (numbers["s, 500,000 x 5,000 x 10"] == numbers["predicted"]).all()
    assert set(numbers["MB"]) == {"400"}
    verdict, said = scale.judge(table, SETTINGS)
    assert verdict == Verdict.BEYOND
    assert said.startswith("0 of 36 rules took more memory")
    assert "1.00 to 1.00" in said
    lacking = table.assign(used=np.where(table["rule"] == "draw", 600.0, table["used"]))
    assert scale.judge(lacking, SETTINGS)[1].startswith("6 of 36 rules")


def test_study__copies_people_beyond_the_simulated_ones():
    assert resolve(study_of(SOURCE_PEOPLE, 20, 2))["cohort"]["copies"]["people"] is None
    config = resolve(study_of(SOURCE_PEOPLE + 1, 20, 2))
    assert config["cohort"]["copies"]["people"] == SOURCE_PEOPLE + 1
    assert config["cohort"]["simulation"]["people"] == SOURCE_PEOPLE
