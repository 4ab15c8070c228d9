"""What preflight says of covariates before any job runs."""

from pathlib import Path

import pytest

from dpgrs.preflight import covariates, release
from dpgrs.study.settings import resolve
from found_by import found_by, merged, only

CROWD = tuple(f"HG{number:05}" for number in range(96, 108))
REFERENCE = tuple(f"R{number}" for number in range(10, 22))
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
    reference=REFERENCE,
    tell=None,
    **changes,
):
    Path("scales.tsv").write_text(constants)
    section = {"file": "covariates.tsv", "scales": "scales.tsv"} | changes
    config = resolve(
        {"privacy": {"bounds": "tight"}, "methods": ["blup"], "covariates": section} | dict(more)
    )
    known = {"people": people, "shows_ids": shows_ids, "reference_people": reference}
    return found_by(covariates, config, tell=tell, **known)


def write_reference(**columns):
    """Write r.tsv, a line for each of the reference with these cells."""
    rows = ["\t".join([name, *columns.values()]) for name in REFERENCE]
    Path("r.tsv").write_text("\n".join(["\t".join(["sample", *columns]), *rows]) + "\n")


def test_problems__none_of_sound_covariates_and_none_without_any():
    assert found() == found(columns=["sex"]) == found(pcs=3) == []
    assert found(people=None, shows_ids=False) == []
    assert found(file=None, scales=None) == []


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"scales": None}, "`covariates.scales` must be given with `covariates.file`, got null"),
        ({"file": None}, "`covariates.scales` must come with `covariates.file`, got it without"),
        ({"file": None, "scales": None, "columns": ["age"]}, "`covariates.columns` must come with"),
        ({"columns": ["size"]}, "must have a line for every covariate, got none for `size`"),
        ({"file": "nothing.tsv"}, "`covariates.file`: `nothing.tsv` must be a table, but is not there"),
        ({"file": "x.tsv.ncbi_enc"}, "`covariates.file` must be a decrypted file"),
        ({"scales": "covariates.tsv"}, "line 1: the column `covariate` must be there"),
        ({"pcs": 100, "bound": 3}, None),
        ({"bound": 0.1}, "`covariates.scales` must bring most values within `covariates.bound`, 0.1"),
    ],
)
def test_problems__of_the_tables(changes, complaint):
    lines = found(**changes)
    assert (lines == []) if complaint is None else complaint in only(lines)


def test_problems__columns_and_constants_do_not_match():
    line = only(found(constants="covariate\tcentre\tscale\nage\t45\t12\n"))
    assert "must have a line for every column of covariates.tsv, got none for sex" in line
    line = only(found(constants=SCALES + "height\t170\t9\tNA\n"))
    assert "`covariates.scales` must name columns of covariates.tsv, which has age, sex, got height" in line
    line = only(found(constants=SCALES + "height\t170\t9\tNA\nweight\t70\t9\tNA\n"))
    assert "got height, weight. Correct the name" in line
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
    told, people = [], (*CROWD[:10], *REFERENCE, "X")
    options = {"shows_ids": shows_ids, "tell": told.append}
    assert "`covariates.tsv` must share at least 0.5" in only(found(people, **options))
    assert told == [
        "covariates.tsv: 10 of 23 people with genotypes (43.5%) are in the table of covariates; 10 of its 13 "
        "ids (76.9%) have genotypes.",
        "covariates.tsv: With a value: age 10 (56.5% missing), sex 10 (56.5% missing).",
    ]
    assert found(people, more={"outcomes": {"least_share": 0.4}}, **options) == []
    write_reference(age="1", sex="1")
    public = {"more": MEASURED, "reference": [*REFERENCE, *CROWD, "X"]}
    assert "`evaluation.covariates`: `r.tsv` must have at least 0.5" in only(found(**public))


FEW_VALUES = (
    "must have values for at least 0.5 (`outcomes.least_share`) of the people of {}, and for 10 people in "
    "any case, in each column that is used, got fewer in {}. Leave these columns out by "
    "`covariates.columns`, or lower the share if that is how it is."
)


@pytest.mark.parametrize("shows_ids", [True, False])
def test_problems__columns_of_too_few_values_are_named_at_once(shows_ids):
    text = Path("covariates.tsv").read_text()
    Path("covariates.tsv").write_text(text.replace("\t0\n", "\tNA\n"))
    told, words = [], "`covariates.file`: `covariates.tsv` " + FEW_VALUES
    options = {"shows_ids": shows_ids, "tell": told.append}
    assert only(found(**options)) == words.format("the genotypes", "sex")
    assert told[1] == "covariates.tsv: With a value: sex 6 (50.0% missing), age 12 (0.0% missing)."
    assert found(columns=["age"], **options) == []
    Path("covariates.tsv").write_text("\n".join(["sample\tage\tsex", *(f"{one}\tNA\t" for one in CROWD)]))
    assert only(found(**options)) == words.format("the genotypes", "age, sex")


def test_problems__columns_of_too_few_values_of_the_reference():
    write_reference(age="50", sex="NA", note="NA")
    assert only(found(more=MEASURED)) == "`evaluation.covariates`: `r.tsv` " + FEW_VALUES.format(
        "`public.reference`", "sex"
    )
    assert found(more=MEASURED, columns=["age"]) == []


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


ONE_VALUE = {
    "privacy": {"bounds": "tight", "protection": ["full"], "accounting": ["gdp"], "epsilon": [2.0]},
    "variants": {"size": [4]},
    "outcomes": {"count": [2]},
}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"first": False, "share": 0.1}, "`covariates.share` must come with a regression on covariates"),
        (
            {"first": True, "more": {"privacy": {"protection": ["feature"], "neighbours": "replace-one"}}},
            "`covariates.first` must be false with feature protection, where outcomes are public, got true.",
        ),
        (
            {"first": True, "more": {"outcomes": {"loadings": "loadings.tsv"}}},
            "`covariates.first` must be false with `outcomes.loadings`, got true. Leave out the one or the",
        ),
        (
            {"first": True, "more": {"cohort": {"sums": "sums.npz"}}},
            "`covariates.first` must be false with sums of several centres, got true.",
        ),
        (
            {"first": True, "more": {"cohort": {"part": True}}},
            "`covariates.first` must be false with sums of several centres, got true.",
        ),
        (
            {"first": True, "more": {"variants": {"size": [2, 4]}}},
            "`variants.size` must have one value with `covariates.first`, got 2, 4. Run a study for each.",
        ),
        (
            {"first": True, "more": {"privacy": {"epsilon": [1.0, 2.0]}}},
            "`privacy.epsilon` must have one value with `covariates.first`, got 1.0, 2.0.",
        ),
    ],
)
def test_problems__of_a_regression_before_all_else(changes, complaint):
    changes = changes | {"more": merged(ONE_VALUE, changes.get("more", {}))}
    assert found(first=True, share=0.1, more=ONE_VALUE) == []
    assert only(found(**changes)).startswith(complaint)


def test_problems__components_need_variants_and_public_people():
    assert "`covariates.pcs` must be at most `variants.size`, 2" in only(
        found(pcs=3, more={"variants": {"size": 2}})
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
    write_reference(age="1", sex="1")
    assert found(more=MEASURED) == []
    assert found(file=None, scales=None, pcs=1, more=public) == []
    line = only(found(more={"mode": "release", "evaluation": {"covariates": "r.tsv"}}))
    assert "must come with `metrics: public` and `covariates.file`, got r.tsv without" in line
    benchmark = resolve({"evaluation": {"covariates": "r.tsv"}})
    assert "`evaluation.covariates` is for `mode: release`" in only(found_by(release, benchmark))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "`evaluation.covariates`: `r.tsv` must be a table, but is not there. Correct the path."),
        ("sample\tage\tsex\nR1\tx\t1\n", "`evaluation.covariates`: `r.tsv`, line 2, column `age`: must be a"),
        ("sample\tage\nR1\t1\n", "`evaluation.covariates`: `r.tsv` must have a column for each name"),
        ("sample\tage\tsex\nHG00096\t1\t1\n", "`evaluation.covariates`: `r.tsv` must share sample ids"),
    ],
)
def test_problems__of_the_table_of_the_reference(text, complaint):
    if text is not None:
        Path("r.tsv").write_text(text)
    assert complaint in only(found(more=MEASURED))


def test_problems__of_the_table_of_the_reference_are_not_the_studys_own():
    write_reference(age="1")
    assert found(more=MEASURED, columns=["age"]) == []
    assert found(more=MEASURED, columns=["age"], reference=None) == []
    assert "`covariates.scales` must be given" in only(found(more=MEASURED, scales=None))
