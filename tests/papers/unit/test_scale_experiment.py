"""How the seconds of rules are modelled, on seconds of a known law."""

import numpy as np
import pandas as pd
import pytest

from dpgrs.study.settings import resolve
from dpgrs_papers.experiments import scale
from dpgrs_papers.experiments.frame import Verdict
from dpgrs_papers.experiments.plans import Form, read_plans
from dpgrs_papers.experiments.scale_replicate import SOURCE_PEOPLE, jobs_in, study_of
from experiment_runs import SNAKEFILE

SETTINGS = read_plans(SNAKEFILE.with_name("experiments.yaml"), Form.WHOLE)["scale"].settings
SIZES = SETTINGS["sizes"]
RULES = [(kind, rule) for kind, rules in scale.TERMS.items() for rule in rules]
PER_UNIT = 4e-9


def seconds(kind, rule, *size):
    """Two seconds for each start, and the same for each product by which a rule grows."""
    n_starts = -(-2 * size[0] // 262_144) if rule == "compute_statistics" else 1
    return 2.0 * n_starts + PER_UNIT * sum(
        np.prod(np.power(size, term, dtype=float)) for term in scale.TERMS[kind][rule]
    )


@pytest.fixture
def table():
    rows = [
        dict(zip(scale.AXES, size, strict=True))
        | {"kind": kind, "part": part, "rule": rule, "seconds": seconds(kind, rule, *size)}
        | {"used": 400.0, "asked": 512.0}
        for kind, rule in RULES
        for part, size in SIZES[kind].items()
    ]
    return scale.summarise(pd.DataFrame(rows), SETTINGS)


def fitted(table, kind, rule):
    """Return the rows of a rule that its model is fitted to, and the model."""
    own = table[(table["kind"] == kind) & (table["rule"] == rule)]
    own = own[own["part"] != SETTINGS["check"][kind]]
    return own, scale.Model.of(own, kind, rule)


@pytest.mark.parametrize(("kind", "rule"), RULES)
def test_model__of_smaller_sizes_has_the_seconds_of_the_largest(table, kind, rule):
    _, model = fitted(table, kind, rule)
    largest = SIZES[kind][SETTINGS["check"][kind]]
    assert model.seconds(*largest) == pytest.approx(seconds(kind, rule, *largest), rel=1e-6)


@pytest.mark.parametrize("rule", ["evaluate_replicate", "compute_statistics"])
def test_exponents__are_of_the_seconds_beyond_the_start(table, rule):
    """Also of shards, each of which has one."""
    own, model = fitted(table, "sums", rule)
    found = scale.exponents(own, model)
    assert found["people"] == pytest.approx((1.0, 1.0), abs=1e-5)
    starts = model.starts(*(own[axis] for axis in scale.AXES))
    steeper = own.assign(seconds=starts + (own["seconds"] - starts) ** 1.3)
    for axis, (measured, modelled) in scale.exponents(steeper, model).items():
        assert measured == pytest.approx(1.3 * modelled, rel=1e-5), axis
        assert modelled == pytest.approx(found[axis][1])


def test_exponents__of_what_is_too_short_are_left_out(table):
    own, model = fitted(table, "choices", "fit_weights")
    assert scale.exponents(own, model) == {}


def test_compare_and_judge__say_what_was_checked(table):
    numbers = scale.compare(table, SETTINGS)
    assert list(zip(numbers["study"], numbers["rule"], strict=True)) == RULES
    assert (numbers["s"] == numbers["modelled"]).all()
    assert set(numbers["size"]) == {"500,000 x 5,000 x 10", "80,000 x 100,000 x 120"}
    biobank = numbers.set_index(["study", "rule"]).loc[("choices", "draw"), "biobank, s"]
    assert float(biobank) == pytest.approx(seconds("choices", "draw", 500_000, 1_000_000, 2000), rel=1e-3)
    assert set(numbers["MB"]) == {"400"}
    verdict, said = scale.judge(table, SETTINGS)
    assert verdict == Verdict.BEYOND
    assert said.startswith("0 of 102 rules took more memory")
    assert "1.00 to 1.00" in said
    lacking = table.assign(used=np.where(table["rule"] == "draw", 600.0, table["used"]))
    assert scale.judge(lacking, SETTINGS)[1].startswith("17 of 102 rules")


def test_draw__a_figure_for_each_kind(table):
    assert set(scale.draw(table, SETTINGS)) == {"scale_sums", "scale_choices"}


def test_study__copies_people_beyond_the_simulated_ones():
    assert resolve(study_of(SOURCE_PEOPLE, 20, 2)).cohort.copies.people is None
    config = resolve(study_of(SOURCE_PEOPLE + 1, 20, 2))
    assert config.cohort.copies.people == SOURCE_PEOPLE + 1
    assert config.cohort.simulation.people == SOURCE_PEOPLE
    assert resolve(study_of(60, 40, 2, kind="choices")).methods == ("k-blup",)


def test_study__of_many_variants_has_many_chromosomes():
    cohort = resolve(study_of(60, 100_000, 2, kind="choices")).cohort
    assert cohort.chromosomes == ("1", "2", "3", "4", "5", "6")
    assert cohort.simulation.length == 10_000_000


def test_jobs__are_found_by_rule_and_asked_for_as_such(tmp_path):
    """Also those of shards, whose names look like those of draws."""
    names = (
        "compute_statistics/1.1",
        "compute_statistics/1.2",
        "draw/1.reusecov-statistics",
        "make_variants",
        "report",
    )
    for number, name in enumerate(names):
        path = tmp_path / f"{name}.tsv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"s\tmax_rss\n{number + 1}\t{'-' if number == 0 else 100}\n")
    found = {row["rule"]: row for row in jobs_in(tmp_path, study_of(60, 40, 2))}
    assert {rule: row["seconds"] for rule, row in found.items()} == {
        "compute_statistics": 3,
        "draw": 3,
        "make_variants": 4,
    }
    assert all(row["used"] == pytest.approx(104.8576) and row["asked"] > 104 for row in found.values())
