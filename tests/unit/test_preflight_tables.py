"""What preflight says of tables of outcomes and of the constants that standardise them."""

from pathlib import Path

import pytest

from dpgrs.io.tables.alike_ids import AlikeIds, plain_id, plain_ids
from dpgrs.preflight import tables
from dpgrs.study.settings import resolve
from found_by import found_by, only

CROWD = tuple(f"HG{number:05}" for number in range(96, 108))
STANDARD = [-1.5, -1, -0.8, -0.4, -0.1, 0, 0.2, 0.3, 0.6, 0.9, 1.2, "NA"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Work in an empty folder, so that paths in the settings are short and relative."""
    monkeypatch.chdir(tmp_path)


def write_outcomes(**columns):
    """Write outcomes.tsv, one line for each of the crowd and one for somebody without genotypes."""
    lines = [
        ["sample", *columns],
        *zip(CROWD, *columns.values(), strict=True),
        ["else", *[1000] * len(columns)],
    ]
    Path("outcomes.tsv").write_text("\n".join("\t".join(map(str, line)) for line in lines) + "\n")


def found(*, scales=None, people=CROWD, shows_ids=True, tell=None, least_share=0.5, **columns):
    write_outcomes(**columns)
    if scales is not None:
        Path("scales.tsv").write_text(scales)
        scales = "scales.tsv"
    outcomes = {"source": "file", "file": "outcomes.tsv", "scales": scales, "least_share": least_share}
    known = {"people": people, "shows_ids": shows_ids}
    return found_by(tables, resolve({"outcomes": outcomes}), tell=tell, **known)


@pytest.mark.parametrize(
    "values",
    [[170 + i for i in range(12)], [0, 1] * 6, [0.1] * 12, [10 * (-1) ** i for i in range(12)]],
    ids=["centimetres", "binary", "constant", "wide"],
)
def test_problems__outcomes_not_standardised(values):
    line = only(found(good=STANDARD, raw=values))
    assert "in column `raw`" in line
    assert "`outcomes.scales`" in line


RAW = {"height": [170 + 5 * value for value in STANDARD[:-1]] + ["NA"], "case": [0, 1] * 6}


def test_problems__outcomes_with_public_constants():
    scales = "outcome\tcentre\tscale\tprevalence\nheight\t170\t5\tNA\ncase\tNA\tNA\t0.5\n"
    assert found(scales=scales, **RAW) == []


@pytest.mark.parametrize(
    ("scales", "words"),
    [
        ("outcome\tcentre\tscale\nheight\t170\t5\n", "a line for every outcome, got none for `case`"),
        ("outcome\tcentre\tscale\nheight\t160\t5\ncase\t0.5\t0.5\n", "got mean 1.95 "),
        ("outcome\tprevalence\nheight\t0.1\ncase\t0.5\n", "Column `height` must hold 0 and 1 alone"),
        ("outcome\n", "line for every outcome, got none for `height`"),
    ],
)
def test_problems__outcomes_with_wrong_constants(scales, words):
    assert words in only(found(scales=scales, **RAW))


def test_problems__constants_of_simulated_outcomes():
    line = only(found_by(tables, resolve({"outcomes": {"scales": "scales.tsv"}})))
    assert "be file where `outcomes.scales` is given" in line


def test_problems__outcomes_of_too_few_people():
    rare = {"good": STANDARD, "rare": [1, -1, *["NA"] * 10], "raw": [0, 1] * 6, "none": ["NA"] * 12}
    for shows_ids in (True, False):
        few, *others = found(**rare, shows_ids=shows_ids)
        assert few == (
            "`outcomes.file`: `outcomes.tsv` must have values for at least 0.5 (`outcomes.least_share`) of "
            "the people of the genotypes, and for 10 people in any case, in each column that is used, got "
            "fewer in rare, none. Take these columns out of the table, or lower the share if that is how it "
            "is."
        )
        assert ["column `raw`" in line for line in others] == [True] * shows_ids
    assert "got fewer in rare, none." in found(**rare, least_share=0)[0]


@pytest.mark.parametrize("shows_ids", [True, False])
def test_problems__people_are_counted_for_the_operator_alone(shows_ids):
    told, people = [], CROWD[:11] + tuple(f"NA{number}" for number in range(17))
    options = {"people": people, "shows_ids": shows_ids, "tell": told.append}
    line = only(found(good=STANDARD, least_share=0.4, **options))
    assert not any(word in line for word in ("11", "28", "13"))
    assert line.startswith("`outcomes.file`: `outcomes.tsv` must share at least 0.4 (`outcomes.")
    assert told == [
        "outcomes.tsv: 11 of 28 people with genotypes (39.3%) are in the table of outcomes; 11 of its 13 ids "
        "(84.6%) have genotypes.",
        "outcomes.tsv: With a value: good 11 (60.7% missing).",
    ]
    assert found(good=STANDARD, least_share=0.39, **options) == []
    told.clear()
    assert "must share sample ids with the genotypes" in only(
        found(good=STANDARD, **options | {"people": ("X",)})
    )
    assert "0 of 1 people" in told[0]


@pytest.mark.parametrize("shows_ids", [True, False])
def test_problems__ids_that_are_almost_those_of_others_are_counted_for_the_operator(shows_ids):
    told, (first, *rest) = [], CROWD
    people = (first.lower(), *rest, "ELSE")
    assert found(good=STANDARD, people=people, shows_ids=shows_ids, tell=told.append) == []
    assert told[2:] == [
        "outcomes.tsv: 2 of its ids are not in the genotypes, and differ from one there only in case, blanks "
        "or invisible characters: they count as other people. Write them alike if they are the same."
    ]


def test_alike_ids__within_a_table_and_over_its_parts():
    alike = AlikeIds(["A", "B"], of="the cohort")
    alike.add(["A", "a"])
    assert alike.in_words()[0] == (
        "1 of its ids differ from another of its ids only in case, blanks or invisible characters: one "
        "person twice?"
    )
    alike.add(["C", "A\u00ad", "\ufeffc"])
    assert [line.split()[0] for line in alike.in_words()] == ["3", "2"]
    assert "not in the cohort" in alike.in_words()[1]
    for ids in (["A", "B"], ["A1", "A2", "A-1", "A_1"], []):
        none = AlikeIds(["A", "B"])
        none.add(ids)
        assert none.in_words() == []


def test_problems__columns_beyond_the_count_are_not_read():
    outcomes = {"source": "file", "file": "outcomes.tsv", "count": 1}
    write_outcomes(good=STANDARD, note=["tall"] * 12)
    assert found_by(tables, resolve({"outcomes": outcomes}), people=CROWD) == []


def test_problems__many_bad_outcomes_are_counted():
    lines = found(**{f"raw{i}": [0, 1] * 6 for i in range(9)})
    assert len(lines) == 4
    assert "6 more columns" in lines[-1]


REFERENCE = [f"R{number}" for number in range(1, 10)] + ["R0", "S1", "S2"]


def found_of_reference(names, people=REFERENCE, cells=None, others=(), **outcomes):
    """Judge a table of the reference and of others, beside a study of height and case."""
    write_outcomes(**RAW)
    cells, listed = cells or ["0"] * len(names), [*REFERENCE, *others]
    lines = ["\t".join(line) for line in [["sample", *names], *([name, *cells] for name in listed)]]
    Path("r.tsv").write_text("\n".join(lines) + "\n")
    settings = {"outcomes": {"source": "file", "file": "outcomes.tsv", **outcomes}, "mode": "release"}
    settings["evaluation"] = {"metrics": "public", "outcomes": "r.tsv"}
    lines = found_by(tables, resolve(settings), reference_people=people)
    return [line for line in lines if line.startswith("`evaluation.outcomes`")]


def test_reference_problems__none_of_the_studys_outcomes():
    assert found_of_reference(["height", "case"]) == []
    assert found_of_reference(["height", "more"], count=1, people=None) == []
    assert found_of_reference(["height"], file="nothing.tsv") == []  # said of the study's own table


@pytest.mark.parametrize(
    ("names", "got"),
    [
        (["case", "height"], "case as outcome 1 of r.tsv where that has height"),
        (["height"], "none as outcome 2 of r.tsv where that has case"),
        (["height", "case", "more"], "more as outcome 3 of r.tsv where that has none"),
    ],
)
def test_reference_problems__other_outcomes(names, got):
    assert only(found_of_reference(names)) == (
        "`evaluation.outcomes` must have the outcomes of `outcomes.file` in the same order, got "
        f"{got}. Name and order the columns alike."
    )


def test_reference_problems__too_few_people():
    people = [*REFERENCE, *CROWD, "X"]
    line = only(found_of_reference(["height", "case"], people=people))
    assert (
        "`r.tsv` must have at least 0.5 (`outcomes.least_share`) of the people of `public.reference`" in line
    )
    assert found_of_reference(["height", "case"], people=people, least_share=0.3) == []


def test_reference_problems__cases_that_are_coded_otherwise():
    rows = ["outcome\tcentre\tscale\tprevalence\torigin", "height\t0\t1\tNA\ta", "case\tNA\tNA\t.5\tb"]
    Path("scales.tsv").write_text("\n".join(rows) + "\n")
    assert found_of_reference(["height", "case"], scales="scales.tsv") == []
    line = only(found_of_reference(["height", "case"], cells=["0", "2"], scales="scales.tsv"))
    assert line.startswith("`evaluation.outcomes`: Column `case` must hold 0 and 1 alone")
    coded = {"cells": ["0", "2"], "scales": "scales.tsv"}
    assert found_of_reference(["height", "case"], **coded, checks=["people"]) == []


def test_reference_problems__a_table_that_holds_everybody():
    assert found_of_reference(["height", "case"], others=[f"X{number}" for number in range(500)]) == []


def test_reference_problems__columns_of_too_few_values():
    line = only(found_of_reference(["height", "case"], cells=["0", "NA"]))
    assert line.startswith("`evaluation.outcomes`: `r.tsv` must have values for at least 0.5")
    assert "of `public.reference`, and for 10 people in any case, in each column" in line
    assert "got fewer in case." in line


def test_reference_problems__other_people():
    line = only(found_of_reference(["height", "case"], people=["NA12878"]))
    wanted = "`evaluation.outcomes`: `r.tsv` must share sample ids with `public.reference`"
    assert line.startswith(f"{wanted}, got A9 where those have AA99999 (patterns: ")


def test_problems__terms_of_simulated_outcomes_beside_a_table():
    write_outcomes(good=STANDARD)
    terms = {"factors": 3, "network": 8, "prevalence": 0.1}
    study = {"outcomes": {"source": "file", "file": "outcomes.tsv"} | terms}
    assert found_by(tables, resolve(study), people=CROWD, shows_ids=True) == [
        "`outcomes.factors` is for `outcomes.source: simulate`, got 3 with a table. Leave it out.",
        "`outcomes.network` is for `outcomes.source: simulate`, got 8 with a table. Leave it out.",
        "`outcomes.prevalence` is for `outcomes.source: simulate`, got 0.1 with a table. Leave it out.",
    ]
    assert (
        found_by(tables, resolve({"outcomes": terms | {"network": None}}), people=CROWD, shows_ids=True) == []
    )


def test_problems__networks_beside_what_is_of_linear_effects():
    terms = {"network": 8, "factors": 3, "prevalence": 0.1}
    assert found_by(tables, resolve({"outcomes": terms}), people=CROWD, shows_ids=True) == [
        "`outcomes.network` must be null beside `outcomes.factors`, got 8. Leave one out.",
        "`outcomes.network` must be null beside `outcomes.prevalence`, got 8. Leave one out.",
    ]


@pytest.mark.parametrize(
    "ids",
    [["P1", "p2"], ["P1", "p\n2"], ["P1", "é2"], ["P 1", "p2"], ["P1", ""], ["", ""], [""], []],
)
def test_plain_ids__are_those_of_each_id(ids):
    assert plain_ids(ids) == [plain_id(name) for name in ids]
