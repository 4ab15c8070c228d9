"""What a study must state to be fitted along a public map of the genome."""

import pandas as pd
import pytest

from dpgrs.preflight import covariates, genome, public_effects
from dpgrs.preflight.inspection import Inspection
from dpgrs.study.settings import resolve
from effects_files import write_score, write_statistics
from found_by import found_by

VCF = {"source": "vcf", "vcf": "cohort/{chrom}.vcf.gz", "rows": "people"}


def inspected(*, methods=("blup-genome",), **sections):
    cohort = VCF | {"planned_people": 1000} | sections.pop("cohort", {})
    return Inspection(resolve({"methods": list(methods), "cohort": cohort, **sections}))


def found(**sections):
    return found_by(genome, inspected(**sections).config)


@pytest.mark.parametrize(
    ("sections", "line"),
    [
        (
            {"cohort": {"rows": "haplotypes"}},
            "`cohort.rows` must be people for `methods: blup-genome`, got haplotypes. Say `rows: people`.",
        ),
        (
            {"cohort": {"planned_people": None}},
            "`cohort.planned_people` must be given for `methods: blup-genome`, got null. State about how "
            "many people you expect, from public knowledge.",
        ),
        (
            {"variants": {"maf": 0.005}},
            "`variants.maf` must be at least 0.01 for `methods: blup-genome`, got 0.005. Raise it, or leave "
            "it out.",
        ),
        (
            {"cohort": {"part": True}, "mode": "release"},
            "`methods` must be a method without a map of the genome with `cohort.part`, got blup-genome. "
            "Take `blup`.",
        ),
    ],
)
def test_problems__name_key_value_and_remedy(sections, line):
    assert found(**sections) == [line]
    assert found() == []
    assert found(methods=["blup"], **sections) == []


@pytest.mark.parametrize(
    ("term", "line"),
    [
        (
            {"direction_shares": "equal"},
            "`privacy.direction_shares` must go with `methods: blup-genome`, got equal. Leave it out.",
        ),
        ({"ld_share": 0.1}, "`privacy.ld_share` must go with `methods: blup-genome`, got 0.1. Leave it out."),
    ],
)
def test_problems__terms_of_a_map_go_with_one(term, line):
    assert found(privacy=term) == found(methods=["blup"]) == []
    assert found(methods=["blup"], privacy=term) == [line]


def test_problems__second_moments_do_not_go_with_public_effects():
    assert found(privacy={"ld_share": 0.1}, public={"effects": ["gwas.tsv"]}) == [
        "`privacy.ld_share` must be null with `public.effects`, got 0.1. Leave out one of them."
    ]


SUBTRACTED = {"effects": ["gwas/height.tsv.gz", "bmi.txt"], "subtract": ["height"]}


def test_subtract_problems__each_outcome_has_one_file_of_its_own():
    problems = public_effects.subtract_problems

    def of_rows(**sections):
        return [
            line
            for row in public_effects.RULES
            if row.find.key in ("public.subtract", "privacy.direction_shares")
            for line in row.find(inspected(**sections))
        ]

    assert problems(inspected(public=SUBTRACTED)) == problems(inspected()) == []
    assert of_rows(public=SUBTRACTED) == []
    assert of_rows(methods=["blup"], public=SUBTRACTED) == [
        "`public.subtract` must go with `methods: blup-genome`, got height. Leave it out."
    ]
    assert of_rows(public=SUBTRACTED, privacy={"direction_shares": "equal"}) == [
        "`privacy.direction_shares` must be steered with `public.subtract`, got equal. Leave out one of them."
    ]
    wanted = "`public.subtract` must name outcomes that one file of `public.effects` is named after, got "
    for effects, number in ((["gwas.tsv"], 0), (["height.txt", "b/height.tsv"], 2), ([], 0)):
        assert problems(inspected(public=SUBTRACTED | {"effects": effects})) == [
            f"{wanted}{number} for height. Name a file after it, such as height.txt.gz, or leave it out."
        ]


def test_name_problems__scores_are_of_outcomes_of_the_study_that_are_not_0_1(tmp_path):
    problems = public_effects.name_problems
    simulated = {"source": "simulate", "count": [2]}
    public = SUBTRACTED | {"subtract": ["simulated_0002"]}
    assert problems(inspected(public=public, outcomes=simulated)) == []
    assert problems(inspected(public=SUBTRACTED, outcomes=simulated)) == [
        "`public.subtract` must name outcomes of the study, got height. Correct it, or leave it out."
    ]
    assert problems(inspected(public=public, outcomes=simulated | {"prevalence": 0.1})) == [
        "`public.subtract` must name outcomes that are not 0/1, got simulated_0002. Leave it out."
    ]
    (tmp_path / "y.tsv").write_text("id\theight\tasthma\nS1\t0.5\t1\n")
    (tmp_path / "scales.tsv").write_text(
        "outcome\tcentre\tscale\tprevalence\nheight\t0\t1\t\nasthma\t\t\t0.1\n"
    )
    table = {"source": "file", "count": None}
    table |= {"file": str(tmp_path / "y.tsv"), "scales": str(tmp_path / "scales.tsv")}
    assert problems(inspected(public=SUBTRACTED, outcomes=table)) == []
    assert problems(inspected(public=SUBTRACTED | {"subtract": ["asthma"]}, outcomes=table)) == [
        "`public.subtract` must name outcomes that are not 0/1, got asthma. Leave it out."
    ]
    assert problems(inspected(public=SUBTRACTED, outcomes=table | {"scales": str(tmp_path / "none")})) == []
    (tmp_path / "y.tsv").write_text("id\theight\tHeight\tbmi\nS1\t0.5\t1.5\t2\n")
    table |= {"scales": None}
    (line,) = problems(inspected(public=SUBTRACTED, outcomes=table))
    assert line == (
        "`public.subtract` must name outcomes whose names as files no other outcome has, got height. "
        "Rename a column, or leave it out."
    )
    both = {"effects": ["height-e2c4ee19.txt"], "subtract": ["height", "Height"]}
    assert problems(inspected(public=SUBTRACTED | both, outcomes=table)) == []
    assert problems(inspected(public=SUBTRACTED | {"subtract": ["bmi"]}, outcomes=table)) == []


def test_file_problems__effects_are_of_one_variant_at_a_time(tmp_path):
    sites = pd.DataFrame({"contig": ["1"], "position": [5], "ref": ["A"], "alt": ["C"]})
    write_score(tmp_path / "score.txt", sites, [0.5])
    write_statistics(tmp_path / "gwas.tsv", sites, [0.5])
    of_paths = [inspected(public={"effects": [str(tmp_path / name)]}) for name in ("gwas.tsv", "score.txt")]
    assert public_effects.file_problems(of_paths[0]) == []
    assert [line for row in public_effects.RULES for line in row.find(of_paths[0])] == []
    (line,) = public_effects.file_problems(of_paths[1])
    assert line.startswith("`public.effects` must hold beta, effects of one variant at a time, for ")


def test_planned_problems__a_simulated_cohort_has_a_public_number():
    settings = {"methods": ["blup-genome"], "cohort": {"rows": "people"}}
    assert found_by(genome, resolve(settings)) == []


@pytest.mark.parametrize("first", [None, True])
def test_problems__covariates_are_taken_by_a_regression_first(first):
    study = inspected(mode="release", covariates={"pcs": 2, "first": first})
    assert covariates.method_problems(study) == []
    assert study.config.covariates.first
    as_columns = inspected(mode="release", covariates={"pcs": 2, "first": False})
    (line,) = covariates.method_problems(as_columns)
    assert line.endswith("got blup-genome. Or say `covariates: {first: true}`.")
