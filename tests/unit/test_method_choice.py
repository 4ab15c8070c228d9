"""What `methods: auto` is: by public settings and the number of outcomes alone."""

import pytest

from dpgrs.errors import UsageError
from dpgrs.methods.registry import MATCHED_PEOPLE, METHODS
from dpgrs.planning.plan import _better_choices, plan_study
from dpgrs.preflight.checks import check, problems
from dpgrs.reporting.plan import plan_as_text
from dpgrs.study.method_choice import (
    ALONE,
    REASONS,
    candidates,
    choice_in_words,
    chosen_methods,
)
from dpgrs.study.settings import examine, resolve
from vcf_files import record, vcf_text, write_gzip

VCF = {"source": "vcf", "vcf": "{chrom}.vcf.gz", "chromosomes": ["1"]}
PANEL = {"reference": "panel.vcf.gz", "origin": "a panel"}


def settings(*, count=3, tight=True, public=PANEL, **others):
    raw = {"methods": "auto", "cohort": VCF, "public": public, "outcomes": {"count": count}}
    raw["privacy"] = {"bounds": "tight" if tight else "worst-case"}
    for section, values in others.items():
        raw[section] = raw.get(section, {}) | values
    return raw


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ({}, ["blup-hedged"]),
        ({"public": PANEL | {"same_ancestry": True}}, ["blup-ld"]),
        ({"public": {"same_ancestry": True}}, ["blup"]),
        ({"cohort": {"source": "simulate", "vcf": None}, "privacy": {"protection": "full"}}, ["blup-ld"]),
        ({"public": {}}, ["blup"]),
        ({"public": {}, "count": 200}, ["blup-steered"]),
        ({"public": {}, "count": 99}, ["blup"]),
        ({"public": {}, "count": [10, 100, 200]}, ["blup", "blup-shared", "blup-steered"]),
        ({"public": {}, "count": 100, "panel": {"size": [199, 200]}}, ["blup-shared", "blup-steered"]),
        ({"count": 100, "privacy": {"outcome_budget": "separate"}}, ["reusecov-gauss"]),
        (
            {"privacy": {"outcome_budget": "separate"}, "regression": {"heritability": 0.5}},
            ["blup"],
        ),
        ({"tight": False}, ["blup"]),
        ({"tight": False, "count": 1000}, ["blup-steered"]),
        ({"public": PANEL | {"sites": "sites.tsv"}}, ["blup"]),
        ({"covariates": {"pcs": 2}}, ["blup"]),
        ({"covariates": {"pcs": 2}, "count": 200}, ["blup-shared"]),
        ({"cohort": {"field": "DS", "rows": "people"}, "count": 200}, ["blup-shared"]),
        ({"public": PANEL | {"effects": ["a.txt"]}, "count": 200}, ["blup"]),
        ({"public": PANEL | {"effects": ["a.txt"], "same_ancestry": True}}, ["blup-ld"]),
        ({"privacy": {"protection": ["full", "label"]}, "count": 200}, ["blup-hedged", "blup-shared"]),
        ({"privacy": {"protection": "feature"}, "count": 200}, ["blup"]),
    ],
)
def test_chosen_methods__first_that_serves_and_is_called_for(terms, expected):
    config, _ = examine(settings(**terms))
    assert config["methods"] == chosen_methods(config) == expected
    assert examine(config)[0] == config
    assert [line.split()[3] for line in choice_in_words(config)] == expected
    assert set(expected) <= set(candidates(config))


@pytest.mark.parametrize(
    "terms",
    [
        {"regression": {"lambda_from": "evidence"}},
        {"regression": {"heritability": 0.5}, "public": {"effects": ["a.txt"]}},
    ],
)
def test_chosen_methods__where_none_has_separate_budgets_the_preflight_says_so(terms):
    raw = settings(**{"public": {}} | terms, privacy={"outcome_budget": "separate"})
    assert candidates(resolve(raw)) == []
    lines = problems(resolve(raw))
    assert any(
        line.startswith("`privacy.outcome_budget` must be joint for `methods: blup`") for line in lines
    )


def test_chosen_methods__stand_where_auto_stood_once():
    assert resolve({"methods": ["ridge", "auto", "blup-ld", "ols"]})["methods"] == [
        "ridge",
        "blup",
        "blup-ld",
        "ols",
    ]


def test_chosen_methods__count_of_a_table_of_outcomes(tmp_path):
    table = tmp_path / "y.tsv"
    table.write_text(
        "\t".join(["sample", *(f"y{number}" for number in range(100))]) + "\nA" + "\t1" * 100 + "\n"
    )
    raw = settings(public={}, count=None, outcomes={"source": "file", "file": str(table)})
    assert examine(raw | {"panel": {"size": 200}})[0]["methods"] == ["blup-steered"]
    table.unlink()
    assert examine(raw)[0]["methods"] == ["blup"]


def test_chosen_methods__few_public_people_do_not_stand_for_the_cohorts_own(tmp_path):
    people = [f"P{number}" for number in range(MATCHED_PEOPLE)]
    panel, keep = tmp_path / "panel.vcf.gz", tmp_path / "keep.txt"
    write_gzip(panel, vcf_text(record(5, " ".join(["0|1"] * len(people))), samples=people))
    keep.write_text("\n".join(people[1:]))
    public = {"reference": str(panel), "origin": "a panel", "same_ancestry": True}
    assert examine(settings(public=public))[0]["methods"] == ["blup-ld"]
    assert examine(settings(public=public | {"keep": str(keep)}))[0]["methods"] == ["blup-hedged"]
    few = settings(public=public | {"keep": str(keep), "effects": ["a.txt"]})
    assert examine(few)[0]["methods"] == ["blup"]


def test_reasons__are_of_methods_that_can_be_released():
    assert all(METHODS[name].may_be_released for name in REASONS)
    assert list(REASONS)[-1] == "blup"


def test_check__says_what_auto_is_where_it_is_asked_for():
    simulated = {"study": "s", "privacy": {"bounds": "tight", "protection": "full"}}
    told = []
    assert check(simulated | {"methods": "auto"}, tell=told.append)["methods"] == ["blup-ld"]
    assert told == choice_in_words(resolve(simulated | {"methods": "auto"}))
    assert "`methods: auto` takes blup-ld here: public genotypes of the cohort's ancestry" in told[0]
    del told[:]
    check(simulated | {"methods": "blup-ld"}, tell=told.append)
    assert told == []


def test_auto__is_suggested_where_a_name_is_wrong():
    with pytest.raises(UsageError, match="s-blup, auto, got automatic"):
        resolve({"methods": "automatic"})


def test_plan__compares_what_auto_chooses_from():
    small = {"panel": {"size": 20}, "outcomes": {"count": 2}}
    small |= {"privacy": {"bounds": "tight", "epsilon": 5, "protection": "full"}}
    plan = plan_study(small | {"methods": "auto"}, people=200)
    (request,) = plan["requests"]
    seen = [one["method"] for one in request["expected"]] + list(plan["not_planned"])
    # Under one budget for all.
    assert sorted([*seen, ALONE]) == sorted(REASONS)
    assert plan["choice"][0] in " ".join(plan_as_text(plan).split())
    alone = plan_study(small | {"methods": ["blup-ld"]}, people=200)
    assert list(alone["not_planned"]) == ["blup-ld"]


@pytest.mark.parametrize(("r2", "words"), [(0.33, "R2 0.46 of blup, and 0.33 of blup-ld"), (0.456, None)])
def test_plan__names_a_method_of_which_it_expects_more_than_of_what_auto_takes(r2, words):
    config = resolve({"methods": "auto", "privacy": {"bounds": "tight"}})
    expected = [{"method": "blup-ld", "r2": r2}, {"method": "blup", "r2": 0.46}, {"method": "ols", "r2": 0.6}]
    request = {"number": 3, "protection": "full", "n_variants": 100, "n_outcomes": 1, "expected": expected}
    lines = _better_choices(config, [request])
    assert [words in line and line.startswith("# 3") for line in lines] == [True] * bool(words)
