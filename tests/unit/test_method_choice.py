"""What `methods: auto` is: by public settings and the number of outcomes alone."""

import numpy as np
import pytest
from scipy.special import ndtri

from dpgrs.errors import UsageError
from dpgrs.fit_keys import MATCHED_PEOPLE
from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.methods.fits import FitTerms
from dpgrs.methods.planning import expected_r2
from dpgrs.methods.registry import METHODS
from dpgrs.planning.plan import NEGLIGIBLE_R2, _better_choices, _requests, plan_study
from dpgrs.preflight.checks import check, problems
from dpgrs.reporting.plan import plan_as_text
from dpgrs.study.fit_identity import fit_settings
from dpgrs.study.identity import public_identity
from dpgrs.study.method_choice import (
    ALONE,
    REASONS,
    candidates,
    choice_in_words,
    chosen_methods,
)
from dpgrs.study.people_terms import training_rows
from dpgrs.study.requests import reads_of_draw
from dpgrs.study.settings import examine, resolve
from dpgrs.study.verbs import settings_read
from vcf_files import record, vcf_text, write_gzip

VCF = {"source": "vcf", "vcf": "{chrom}.vcf.gz", "chromosomes": ["1"]}
PANEL = {"reference": "panel.vcf.gz", "origin": "a panel"}
REQUEST = {"protection": "full", "accounting": "gdp", "epsilon": 5.0, "n_variants": 100, "n_outcomes": 1}


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
        ({"public": {}, "count": 100, "variants": {"size": [199, 200]}}, ["blup-shared", "blup-steered"]),
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
    assert list(config.methods) == list(chosen_methods(config)) == expected
    assert examine(config.as_dict())[0] == config
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
    assert resolve({"methods": ["ridge", "auto", "blup-ld", "ols"]}).methods == (
        "ridge",
        "blup",
        "blup-ld",
        "ols",
    )


def test_chosen_methods__count_of_a_table_of_outcomes(tmp_path):
    table = tmp_path / "y.tsv"
    table.write_text(
        "\t".join(["sample", *(f"y{number}" for number in range(100))]) + "\nA" + "\t1" * 100 + "\n"
    )
    raw = settings(public={}, count=None, outcomes={"source": "file", "file": str(table)})
    assert examine(raw | {"variants": {"size": 200}})[0].methods == ("blup-steered",)
    table.unlink()
    assert examine(raw)[0].methods == ("blup",)


def test_chosen_methods__few_public_people_do_not_stand_for_the_cohorts_own(tmp_path):
    people = [f"P{number}" for number in range(MATCHED_PEOPLE)]
    panel, keep = tmp_path / "panel.vcf.gz", tmp_path / "keep.txt"
    write_gzip(panel, vcf_text(record(5, " ".join(["0|1"] * len(people))), samples=people))
    keep.write_text("\n".join(people[1:]))
    public = {"reference": str(panel), "origin": "a panel", "same_ancestry": True}
    assert examine(settings(public=public))[0].methods == ("blup-ld",)
    assert examine(settings(public=public | {"keep": str(keep)}))[0].methods == ("blup-hedged",)
    few = settings(public=public | {"keep": str(keep), "effects": ["a.txt"]})
    assert examine(few)[0].methods == ("blup",)


def test_reasons__are_of_methods_that_can_be_released():
    assert all(METHODS[name].may_be_released for name in REASONS)
    assert list(REASONS)[-1] == "blup"


def test_check__says_what_auto_is_where_it_is_asked_for():
    simulated = {"study": "s", "privacy": {"bounds": "tight", "protection": "full"}}
    told = []
    assert check(simulated | {"methods": "auto"}, tell=told.append).methods == ("blup-ld",)
    assert told == choice_in_words(resolve(simulated | {"methods": "auto"}))
    assert "`methods: auto` takes blup-ld here: public genotypes of the cohort's ancestry" in told[0]
    del told[:]
    check(simulated | {"methods": "blup-ld"}, tell=told.append)
    assert told == []


def test_auto__is_suggested_where_a_name_is_wrong():
    with pytest.raises(UsageError, match="s-blup, auto, got automatic"):
        resolve({"methods": "automatic"})


def test_plan__compares_what_auto_chooses_from():
    small = {"variants": {"size": 20}, "outcomes": {"count": 2}}
    small |= {"privacy": {"bounds": "tight", "epsilon": 5, "protection": "full"}}
    plan = plan_study(small | {"methods": "auto"}, people=200)
    (request,) = plan["requests"]
    seen = [one["method"] for one in request["expected"]] + list(plan["not_planned"])
    # Under one budget for all.
    assert sorted([*seen, ALONE, "blup-genome"]) == sorted(REASONS)
    assert plan["choice"][0] in " ".join(plan_as_text(plan).split())
    alone = plan_study(small | {"methods": ["blup-ld"]}, people=200)
    assert list(alone["not_planned"]) == ["blup-ld"]


@pytest.mark.parametrize(("r2", "words"), [(0.33, "R2 0.46 of blup, and 0.33 of blup-ld"), (0.456, None)])
def test_plan__names_a_method_of_which_it_expects_more_than_of_what_auto_takes(r2, words):
    config = examine(settings(public=PANEL | {"same_ancestry": True}))[0]
    expected = [{"method": "blup-ld", "r2": r2}, {"method": "blup", "r2": 0.46}, {"method": "ols", "r2": 0.6}]
    request = REQUEST | {"number": 3, "expected": expected}
    lines = _better_choices(config, [request])
    assert [words in line and line.startswith("# 3") for line in lines] == [True] * bool(words)
    assert all("State `cohort.planned_people`, or `methods: blup`." in line for line in lines)
    config = config.changed(cohort={"planned_people": 1000})
    lines = _better_choices(config, [request])
    assert all("takes for 1000 planned people. State `methods: blup`." in line for line in lines)
    assert len(lines) == bool(words)


GENOME = {
    "public": PANEL | {"same_ancestry": True},
    "cohort": {"rows": "people", "planned_people": 400_000},
    "variants": {"size": 200_000, "maf": 0.01},
}


def genome_settings(**changed):
    raw = settings(**GENOME)
    for section, values in changed.items():
        raw[section] = raw.get(section, {}) | values
    return raw


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ["blup-genome"]),
        ({"cohort": {"field": "DS"}}, ["blup-genome"]),
        ({"outcomes": {"count": 500}}, ["blup-genome"]),
        ({"variants": {"size": 5001}}, ["blup-genome"]),
        ({"variants": {"size": [5000, 5001]}}, ["blup-ld", "blup-genome"]),
        ({"variants": {"maf": 0.001}}, ["blup"]),
        ({"cohort": {"planned_people": None}}, ["blup"]),
        ({"cohort": {"rows": "haplotypes"}}, ["blup"]),
        ({"public": {"same_ancestry": False}}, ["blup"]),
        ({"public": {"same_ancestry": False}, "variants": {"size": 16_383}}, ["blup-hedged"]),
        ({"public": {"effects": ["a.txt"]}}, ["blup"]),
        ({"covariates": {"pcs": 2}}, ["blup"]),
        ({"outcomes": {"loadings": "loadings.tsv"}}, ["blup"]),
        ({"privacy": {"bounds": "worst-case"}}, ["blup"]),
        ({"privacy": {"protection": "label"}}, ["blup"]),
        ({"privacy": {"case_share": 0.1}}, ["blup"]),
        ({"privacy": {"ld_share": 0.1}}, ["blup-genome"]),
        # What the preflight refuses.
        ({"privacy": {"ld_share": 0.1}, "variants": {"size": 5000}}, ["blup"]),
        ({"privacy": {"outcome_budget": "separate"}}, ["reusecov-gauss"]),
    ],
)
def test_chosen_methods__of_a_genome(changed, expected):
    assert list(examine(genome_settings(**changed))[0].methods) == expected


def test_plan__of_a_genome_agrees_with_what_auto_takes():
    plan = plan_study(genome_settings(privacy={"epsilon": 3, "protection": "full"}) | {"study": "wide"})
    ((request,), (choice,)) = plan["requests"], plan["choice"]
    assert [one["method"] for one in request["expected"]] == ["blup-genome"]
    assert "blup-genome here: more than 5,000 variants" in choice
    assert 0.1 < request["expected"][0]["r2"] < 0.5


def correlated_panel(n_variants, n_people):
    """Return frequencies and linkage disequilibrium of two chromosomes on which neighbours go together."""
    stream = np.random.default_rng(0)
    frequencies = np.exp(stream.uniform(np.log(0.01), np.log(0.5), n_variants))
    latent = stream.standard_normal((n_variants, 2 * n_people))
    for variant in set(range(n_variants)) - {0, n_variants // 2}:
        latent[variant] = 0.9 * latent[variant - 1] + np.sqrt(1 - 0.9**2) * latent[variant]
    rows = (ndtri(frequencies) > latent.T) - frequencies
    contig = np.where(np.arange(n_variants) < n_variants // 2, "21", "22")
    return frequencies, public_ld(rows, contig=contig, position=np.arange(n_variants), rows_per_person=2)


@pytest.mark.parametrize(("people", "taken"), [(500, "blup-ld"), (30_000, "blup-hedged")])
def test_chosen_methods__of_planned_people_are_those_of_which_the_plan_expects_most(people, taken):
    size = 30
    frequencies, ld = correlated_panel(size, 500)
    raw = settings(count=1, public={}, privacy={"protection": "full", "epsilon": 5}, variants={"size": size})
    config = resolve(raw | {"cohort": {"planned_people": people, "simulation": {"reference_people": 500}}})
    assert config.methods == (taken,)
    ((request, _),) = _requests(config, {size: frequencies})
    model = {"n_rows": training_rows(config, people), "frequency": frequencies, "ld": ld}
    model |= {"terms": FitTerms.of(config.regression.as_dict(), same_ancestry=True)}
    expected = {
        name: expected_r2(name, request, heritability=0.5, n_outcomes=1, **model)
        for name in ("blup-ld", "blup-hedged", "blup")
    }
    assert max(expected.values()) <= expected[taken] + NEGLIGIBLE_R2
    assert expected[{"blup-ld": "blup", "blup-hedged": "blup-ld"}[taken]] < expected[taken] - NEGLIGIBLE_R2


def test_chosen_methods__of_planned_people_have_steered_outcomes_where_the_plan_expects_more_of_them():
    raw = settings(count=100, public={}, privacy={"protection": "full", "epsilon": 5}, variants={"size": 40})
    assert resolve(raw).methods == ("blup-shared",)
    choice = plan_study(raw, people=2000)["choice"]
    assert "of blup-steered, and" in choice[1]
    assert choice[1].endswith("State `cohort.planned_people`, or `methods: blup-steered`.")
    planned = raw | {"cohort": VCF | {"planned_people": 2000}}
    assert resolve(planned).methods == ("blup-steered",)
    plan = plan_study(planned)
    assert len(plan["choice"]) == 1
    assert plan["assumptions"]["people"] == 2000
    assert "2000 people (`cohort.planned_people`)" in " ".join(plan_as_text(plan).split())


SAME = PANEL | {"same_ancestry": True}


@pytest.mark.parametrize(
    ("people", "terms", "expected"),
    [
        (100_000, {"public": SAME}, ["blup-hedged"]),
        (100_000, {"public": SAME, "variants": {"size": 1000}}, ["blup-ld"]),
        (100_000, {"public": SAME, "privacy": {"epsilon": [0.1, 5]}}, ["blup-ld", "blup-hedged"]),
        (100_000, {"public": SAME | {"effects": ["a.txt"]}}, ["blup"]),
        (100_000, {"public": SAME, "tight": False}, ["blup"]),
        (100_000, {"public": {}, "count": 10}, ["blup-steered"]),
        (100_000, {"public": {}, "count": 9}, ["blup"]),
        (100, {"public": {}, "count": 10}, ["blup"]),
        (100_000, {"public": {}, "count": 10, "tight": False}, ["blup-steered"]),
        (100_000, {"public": {}, "count": 10, "privacy": {"bounds": "paper"}}, ["blup"]),
        (100_000, {"public": {}, "count": 10, "privacy": {"protection": "label"}}, ["blup"]),
        (100_000, {"public": {}, "count": 10, "privacy": {"outcome_budget": "separate"}}, ["reusecov-gauss"]),
        (100_000, {"public": SAME, "cohort": {"rows": "people"}}, ["blup-hedged"]),
        # The preflight refuses this unit.
        (
            100_000,
            {"public": SAME, "cohort": {"rows": "people"}, "privacy": {"unit": "haplotype"}},
            ["blup-ld"],
        ),
    ],
)
def test_chosen_methods__of_planned_people(people, terms, expected):
    raw = settings(**terms)
    raw["cohort"] = raw["cohort"] | {"planned_people": people}
    assert list(examine(raw)[0].methods) == expected


def test_chosen_methods__of_a_simulated_cohort_and_of_copies_have_their_number():
    raw = {"methods": "auto", "privacy": {"protection": "full", "bounds": "tight"}}
    assert resolve(raw).methods == ("blup-ld",)
    for cohort in ({"simulation": {"people": 100_000}}, {"copies": {"people": 100_000}}):
        assert resolve(raw | {"cohort": cohort}).methods == ("blup-hedged",)
        few = {"planned_people": 2000}
        assert resolve(raw | {"cohort": cohort | few}).methods == ("blup-ld",)


def test_fit_settings__of_subtracted_outcomes_are_the_same_in_every_order():
    first, second = (resolve({"public": {"subtract": names}}) for names in (["a", "b"], ["b", "a"]))
    assert fit_settings(first) == fit_settings(second)
    assert fit_settings(first)["subtracted"] == ["a", "b"]


def test_planned_people__are_in_no_draw_and_no_identity():
    raw = {"methods": "blup", "cohort": VCF}
    plain, planned = (resolve(raw | {"cohort": VCF | own}) for own in ({}, {"planned_people": 1000}))
    assert public_identity(plain) == public_identity(planned)
    assert fit_settings(plain) == fit_settings(planned)
    for mode in ("benchmark", "release"):
        first, second = plain.changed(mode=mode), planned.changed(mode=mode)
        keys = reads_of_draw(first, "reusecov-statistics")
        assert settings_read(first, "draw", keys) == settings_read(second, "draw", keys)
