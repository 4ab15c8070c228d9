"""What preflight says of covariates before any job runs."""

from pathlib import Path

import pytest

from dpgrs.config import resolve
from dpgrs.covariate_gates import covariate_problems
from dpgrs.release_gates import benchmark_problems

CROWD = tuple(f"HG{number:05}" for number in range(96, 104))
SCALES = "covariate\tcentre\tscale\tprevalence\nage\t45\t12\tNA\nsex\tNA\tNA\t0.5\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Work in a folder with a table and its constants, so that paths in the settings are short."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{sample}\t{40 + number}\t{number % 2}" for number, sample in enumerate(CROWD)]
    Path("covariates.tsv").write_text("\n".join(["sample\tage\tsex", *lines, "else\t1000\t9"]) + "\n")
    Path("scales.tsv").write_text(SCALES)


MEASURED = {"mode": "release", "evaluation": {"metrics": "public", "covariates": "r.tsv"}}


def found(
    people=CROWD,
    *,
    shows_ids=True,
    constants=SCALES,
    more=(),
    reference=("R1", "R2"),
    tell=None,
    **covariates,
):
    Path("scales.tsv").write_text(constants)
    covariates = {"file": "covariates.tsv", "scales": "scales.tsv"} | covariates
    settings = {"privacy": {"bounds": "tight"}, "methods": ["blup"], "covariates": covariates}
    options = {"shows_ids": shows_ids, "reference_people": reference, "tell": tell}
    return covariate_problems(resolve(settings | dict(more)), people, **options)


def only(lines):
    assert len(lines) == 1, lines
    assert "\n" not in lines[0]
    return lines[0]


def test_problems__none_of_sound_covariates_and_none_without_any():
    assert found() == found(columns=["sex"]) == found(pcs=3) == []
    assert found(people=None, shows_ids=False) == []
    assert found(file=None, scales=None) == []


@pytest.mark.parametrize(
    ("covariates", "complaint"),
    [
        ({"scales": None}, "`covariates.scales` must be given with `covariates.file`, got null"),
        ({"file": None}, "`covariates.scales` must come with `covariates.file`, got it alone"),
        ({"file": None, "scales": None, "columns": ["age"]}, "`covariates.columns` must come with"),
        ({"columns": ["size"]}, "must have a line for every covariate, got none for `size`"),
        ({"file": "nothing.tsv"}, "`covariates.file`: `nothing.tsv` must be a table, but is not there"),
        ({"file": "x.tsv.ncbi_enc"}, "`covariates.file` must be a decrypted file"),
        ({"scales": "covariates.tsv"}, "line 1: the column `covariate` must be there"),
        ({"pcs": 100, "bound": 3}, None),
        ({"bound": 0.1}, "`covariates.scales` must bring most values within `covariates.bound`, 0.1"),
    ],
)
def test_problems__of_the_tables(covariates, complaint):
    lines = found(**covariates)
    assert (lines == []) if complaint is None else complaint in only(lines)


def test_problems__columns_and_constants_do_not_match():
    line = only(found(constants="covariate\tcentre\tscale\nage\t45\t12\n"))
    assert "must have a line for every column of covariates.tsv, got none for sex" in line
    line = only(found(constants=SCALES + "height\t170\t9\tNA\n"))
    assert "`covariates.scales` must name columns of covariates.tsv, which has age, sex, got height" in line
    line = only(found(constants=SCALES + "height\t170\t9\tNA\n", columns=["height"]))
    assert line.startswith("`covariates.columns` must name columns")
    assert "`covariates.file`: Column `age` must hold 0 and 1" in only(
        found(constants="covariate\tprevalence\nage\t0.5\nsex\t0.5\n")
    )


def test_problems__a_column_with_the_name_of_a_component():
    text = Path("covariates.tsv").read_text()
    Path("covariates.tsv").write_text(text.replace("age", "PC1"))
    constants = SCALES.replace("age", "PC1")
    assert "name of a principal component" in only(found(constants=constants, pcs=1))
    assert found(constants=constants) == []


def test_problems__people_of_other_ids_are_shown_in_open_data_alone():
    assert "got HG00096, HG00097, HG00098 where those have X1" in only(found(("X1", "X2")))
    line = only(found(("X1", "X2"), shows_ids=False))
    assert "got AA99999" in line
    assert "HG00096" not in line


@pytest.mark.parametrize("shows_ids", [True, False])
def test_problems__too_few_people_are_counted_and_refused(shows_ids):
    told, people = [], (*CROWD[:3], "X1", "X2", "X3", "X4")
    options = {"shows_ids": shows_ids, "tell": told.append}
    assert "`covariates.tsv` must share at least 0.5" in only(found(people, **options))
    assert told == [
        "covariates.tsv: 3 of 7 people with genotypes (42.9%) are in the table of covariates; 3 of its 9 ids "
        "(33.3%) have genotypes.",
        "covariates.tsv: With a value: age 3 (57.1% missing), sex 3 (57.1% missing).",
    ]
    assert found(people, more={"outcomes": {"least_share": 0.3}}, **options) == []
    Path("r.tsv").write_text("sample\tage\tsex\nR1\t1\t1\n")
    public = {"more": MEASURED, "reference": ("R1", "R2", "R3")}
    assert "`evaluation.covariates`: `r.tsv` must share at least 0.5" in only(found(**public))


def test_problems__values_are_not_judged_in_a_release():
    assert found(shows_ids=False, bound=0.1) == []


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"privacy": {"bounds": "worst-case"}}, "`privacy.bounds` must be tight with `covariates`"),
        ({"methods": ["ols", "dp-sgd", "k-blup"]}, "with `covariates`, got dp-sgd, k-blup. Leave out"),
        ({"methods": ["bas", "tukey"]}, "got bas, tukey"),
        ({"methods": ["reusecov-sketch"]}, "got reusecov-sketch"),
    ],
)
def test_problems__bounds_and_methods(more, complaint):
    assert complaint in only(found(more=more))


def test_problems__components_need_variants_and_public_people():
    assert "`covariates.pcs` must be at most `panel.size`, 2" in only(
        found(pcs=3, more={"panel": {"size": 2}})
    )
    for cohort in ({"source": "vcf", "vcf": "x.vcf.gz"}, {"source": "plink", "plink": "x"}):
        release = {"mode": "release", "cohort": cohort, "public": {"sites": "sites.tsv"}}
        assert "`public.reference` must be given for `covariates.pcs`" in only(found(pcs=1, more=release))
        assert found(more=release) == []


def test_problems__a_table_of_the_reference_is_needed_to_measure_on_it():
    public = {"mode": "release", "evaluation": {"metrics": "public"}}
    assert "`evaluation.covariates` must be given for `evaluation.metrics: public`" in only(
        found(more=public)
    )
    Path("r.tsv").write_text("sample\tage\tsex\nR1\t1\t1\n")
    assert found(more=MEASURED) == []
    assert found(file=None, scales=None, pcs=1, more=public) == []
    line = only(found(more={"mode": "release", "evaluation": {"covariates": "r.tsv"}}))
    assert "must come with `metrics: public` and `covariates.file`, got r.tsv alone" in line
    benchmark = resolve({"evaluation": {"covariates": "r.tsv"}})
    lines = benchmark_problems(benchmark, is_clear=lambda *_: True)
    assert "`evaluation.covariates` is for `mode: release`" in only(lines)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "`evaluation.covariates`: `r.tsv` must be a table, but is not there. Correct the path."),
        ("sample\tage\nR1\tx\n", "`evaluation.covariates`: `r.tsv`, line 2, column `age`: must be a finite"),
        (
            "sample\tage\nR1\t1\n",
            "`evaluation.covariates` must have the columns of `covariates.file` that are used, age, sex, got "
            "r.tsv without sex. Add the column.",
        ),
        (
            "sample\tage\tsex\nHG00096\t1\t1\n",
            "`evaluation.covariates`: `r.tsv` must share sample ids with `public.reference`, got AA99999 "
            "where those have A9. Rename one side.",
        ),
    ],
)
def test_problems__of_the_table_of_the_reference(text, complaint):
    if text is not None:
        Path("r.tsv").write_text(text)
    assert complaint in only(found(more=MEASURED))


def test_problems__of_the_table_of_the_reference_are_not_the_studys_own():
    Path("r.tsv").write_text("sample\tage\nR1\t1\n")
    assert found(more=MEASURED, columns=["age"]) == []
    assert found(more=MEASURED, columns=["age"], reference=None) == []
    assert "`covariates.scales` must be given" in only(found(more=MEASURED, scales=None))
