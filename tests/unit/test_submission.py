"""The PGS Catalog's template, filled in from a bundle, and what is said to be missing."""

import re
import zipfile
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.errors import UsageError
from dpgrs.release import submission as template
from dpgrs.release.submission import fill_template, write_submission
from forged_releases import edit_statement, seal
from refused import refused
from release_data import CURATION, TRAITS, make_bundle, make_charged_bundle, make_measured_bundle

SAID = replace(CURATION, traits=TRAITS, citation="A paper (2026), https://doi.org/10.1000/example.1.")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    return make_measured_bundle(tmp_path_factory.mktemp("measured"), content={"curation": SAID})


@pytest.fixture(scope="module")
def withheld(tmp_path_factory):
    return make_bundle(tmp_path_factory.mktemp("withheld"), content={"curation": SAID})


def cells_of(path):
    """Read a workbook anew, by its XML: a dict of a sheet to a dict of a cell's name to its text."""
    space = {"x": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    with zipfile.ZipFile(path) as file:
        book, texts = (
            ElementTree.parse(file.open(f"xl/{name}.xml")) for name in ("workbook", "sharedStrings")
        )
        shared = ["".join(one.itertext()) for one in texts.iterfind("x:si", space)]
        names = [sheet.get("name") for sheet in book.iterfind("x:sheets/x:sheet", space)]
        sheets = [ElementTree.parse(file.open(f"xl/worksheets/sheet{n + 1}.xml")) for n in range(len(names))]
    return {
        name: {
            cell.get("r"): shared[int(value.text)] if cell.get("t") == "s" else value.text
            for cell in sheet.iterfind("x:sheetData/x:row/x:c", space)
            if (value := cell.find("x:v", space)) is not None
        }
        for name, sheet in zip(names, sheets, strict=True)
    }


def test_write_submission__cells_stand_where_the_catalog_reads_them(measured, tmp_path):
    found = write_submission(measured, tmp_path / "a.xlsx")
    cells = cells_of(tmp_path / "a.xlsx")
    assert list(cells) == [
        *(
            "Publication Information",
            "Score(s)",
            "Sample Descriptions",
            "Performance Metrics",
            "Cohort Refr.",
        ),
    ]
    assert (cells["Publication Information"]["C1"], cells["Publication Information"]["C2"]) == (
        "doi",
        "10.1000/example.1",
    )
    scores, samples = cells["Score(s)"], cells["Sample Descriptions"]
    assert scores["D2"].startswith("EFO IDs\n(")
    assert [scores[f"{column}3"] for column in "ABDEHI"] == [
        *("height", "Body height", "OBA_VT0001253", "body height", "GRCh38", "8"),
    ]
    assert [scores[f"{column}4"] for column in "ABD"] == [
        *("LDL_HDL_ratio", "LDL/HDL = ratio", "EFO_0004611,EFO_0004612"),
    ]
    assert samples["F1"] == "Number \nof Individuals"
    assert [samples[f"{column}2"] for column in "ABEFKMQ"] == [
        *("height", "Score development", "10.1038/s41586-018-0579-z", "5008", "European", "U.K.", "UKB"),
    ]
    assert [samples[f"{column}5"] for column in "ABCF"] == [
        *("LDL_HDL_ratio", "Testing", "LDL_HDL_ratio.test", "30"),
    ]
    metrics = cells["Performance Metrics"]
    assert metrics["I2"].startswith("R²\n")
    assert metrics["B3"] == samples["C3"]
    assert re.fullmatch(r"0\.\d{1,4}", metrics["I3"])
    assert re.fullmatch(r"Mean squared error = 0\.\d{4}", metrics["J3"])
    assert cells["Cohort Refr."]["A2"] == "UKB"
    assert (tmp_path / "a.txt").read_text() == found.notes


def test_write_submission__same_bytes_again(measured, tmp_path):
    for name in "ab":
        write_submission(measured, tmp_path / f"{name}.xlsx")
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()


def test_fill_template__names_what_only_the_curator_knows(measured):
    found = fill_template(measured)
    assert [line.partition(".")[0] for line in found.warnings] == [
        "Outcomes of the people measured on are simulated"
    ]
    said = "\n".join(found.left)
    assert "Publication Information: PubMed ID, journal" in said
    assert "reported trait of LDL/HDL = ratio, größe (`outcomes.traits` has none)" in said
    assert "EFO IDs of größe (" in said
    assert "leave the noisy number of individuals as it is; an exact count of private people is not" in said
    assert "full names of UKB" in said


def test_fill_template__withheld_accuracy_does_not_meet_the_inclusion_rule(withheld):
    found = fill_template(withheld)
    assert len(found.warnings) == 1
    assert "samples that did not develop them" in found.warnings[0]
    assert "withholds accuracy" in found.warnings[0]
    assert found.rows[template.PERFORMANCE] == []
    # Two haplotypes each.
    assert [row["n_people"] for row in found.rows[template.SAMPLES]] == [2504] * 3


def test_fill_template__charged_accuracy_is_of_the_training_cohort(tmp_path):
    found = fill_template(make_charged_bundle(tmp_path, content={"curation": SAID}))
    assert "This release states none of LDL/HDL = ratio:" in found.warnings[0]
    assert found.warnings[1].startswith("Accuracy is of people held out of the training cohort")
    first, last = found.rows[template.PERFORMANCE]
    assert (first["r2"], first["other"]) == (0.1, "Mean squared error = 0.9000")
    assert "noise for privacy of standard deviation 0.0100" in first["details"]
    assert last["score"] == "groe"
    tested = [row for row in found.rows[template.SAMPLES] if row["stage"] == "Testing"]
    # By the noisy number of those trained on, and a public share of one half.
    assert [row["n_people"] for row in tested] == [2504, 2504]
    assert tested[0]["cohorts"] == "UKB"


def test_write_workbook__text_is_text_and_not_too_long(tmp_path):
    rows = {name: [] for name in template.sheets()}
    rows["Cohort Refr."] = [{"id": "=1+1", "name": "https://example.org"}]
    template.write_workbook(tmp_path / "a.xlsx", rows)
    with zipfile.ZipFile(tmp_path / "a.xlsx") as file:
        sheet = file.read("xl/worksheets/sheet5.xml").decode()
    assert "<f>" not in sheet
    assert "hyperlink" not in sheet
    assert cells_of(tmp_path / "a.xlsx")["Cohort Refr."]["A2"] == "=1+1"
    rows["Cohort Refr."] = [{"id": "x" * 32_768}]
    with refused("cell-too-long", "got 32768", "32767"):
        template.write_workbook(tmp_path / "b.xlsx", rows)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("a.csv", ("output-ending",)),
        ("there.xlsx", ("file-exists",)),
        ("noted.xlsx", ("file-exists", "noted.txt")),
        ("release/a.xlsx", ("output-inside-release",)),
    ],
)
def test_write_submission__raise_on_output(withheld, tmp_path, name, fault):
    for there in ("there.xlsx", "noted.txt"):
        (tmp_path / there).write_text("filled in by hand")
    (tmp_path / "release").symlink_to(withheld)
    with refused(*fault, error=UsageError):
        write_submission(withheld, tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"there.xlsx", "noted.txt", "release"}


def test_submission__of_a_changed_bundle_writes_nothing(tmp_path):
    release = make_bundle(tmp_path)
    edit_statement(release, ("data_domain", "genome_build"), "GRCh37")
    seal(release)
    output = tmp_path / "a.xlsx"
    found = CliRunner().invoke(main, ["release", "submission", str(release), "--output", str(output)])
    assert found.exit_code == 1
    assert "must not be trusted" in found.stderr
    assert not output.exists()


def test_submission__prints_what_is_left(withheld, tmp_path):
    output = tmp_path / "a.xlsx"
    found = CliRunner().invoke(main, ["release", "submission", str(withheld), "--output", str(output)])
    assert (found.exit_code, found.output) == (0, f"Wrote {output}.\n{(tmp_path / 'a.txt').read_text()}")
