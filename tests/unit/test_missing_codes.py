"""Codes for missing values that look like numbers: the operator is asked, on the console only."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.tables.missing_codes import MissingCodes
from dpgrs.preflight.checks import problems
from dpgrs.study.settings import resolve
from vcf_files import record, vcf_text

PEOPLE = [f"S{number:02}" for number in range(40)]


def words_of(*parts):
    codes = MissingCodes()
    for part in parts:
        codes.add(pd.DataFrame(part, dtype=float))
    return codes.in_words()


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([170, 182, -99, -99], "-99"),
        # The only one below 0, though not large.
        ([950, 720, -99, np.nan], "-99"),
        ([0.3, -1.2, -999, 2.0], "-999"),
        ([120, 180, 9999, 140], "9999"),
    ],
)
def test_missing_codes__far_from_all_values_are_named(values, code):
    (line,) = words_of({"height": values[:2]}, {"height": values[2:]})
    n_cells = sum(value == float(code) for value in values)
    assert line.startswith(f"column `height` has {code} in {n_cells} cells, far from its other values.")


@pytest.mark.parametrize(
    "values",
    [[-80, -99, -120, 5], [400, 999, 1200, 500], [1.0, 2.0, np.nan, -9.5], [-99.0] * 3 + [-50], [np.nan] * 4],
)
def test_missing_codes__within_the_values_are_values(values):
    assert words_of({"change": values[:2]}, {"change": values[2:]}) == []


@pytest.mark.parametrize("mode", ["benchmark", "release"])
def test_problems__a_code_is_told_to_the_operator_and_refuses_nothing(tmp_path, monkeypatch, mode):
    monkeypatch.chdir(tmp_path)
    Path("chr1.vcf").write_text(vcf_text(record(1, " ".join(["0|1"] * 40)), samples=PEOPLE, contigs=("1",)))
    values = np.random.default_rng(1).normal(170, 10, 40).round(1)
    rows = [f"{who}\t{value}" for who, value in zip(PEOPLE, values, strict=True)]
    scales = "outcome\tcentre\tscale\nheight\t170\t10\n"
    Path("scales.tsv").write_text(scales)

    def told(rows):
        Path("outcomes.tsv").write_text("\n".join(["sample\theight", *rows]) + "\n")
        outcomes = {"source": "file", "file": "outcomes.tsv", "scales": "scales.tsv"}
        cohort = {"source": "vcf", "vcf": "chr{chrom}.vcf", "chromosomes": [1]}
        lines = []
        found = problems(resolve({"mode": mode, "outcomes": outcomes, "cohort": cohort}), tell=lines.append)
        return [line for line in lines if "far from" in line], [line for line in found if "-99" in line]

    assert told(rows) == ([], [])
    of_code = told([*rows[:-2], f"{PEOPLE[-2]}\t-99", f"{PEOPLE[-1]}\t-99"])
    line = (
        "outcomes.tsv: column `height` has -99 in 2 cells, far from its other values. It is used as a "
        "number: if it means missing, write NA."
    )
    assert of_code == ([line], [])


@pytest.mark.parametrize(
    ("mode", "end"),
    [
        ("benchmark", "must be a finite number or NA, got `1,5`. Write decimals with a point."),
        ("release", "must be a finite number or NA. Correct the cell."),
    ],
)
def test_problems__a_cell_that_is_no_number_is_quoted_in_a_benchmark(tmp_path, monkeypatch, mode, end):
    monkeypatch.chdir(tmp_path)
    Path("outcomes.tsv").write_text("sample\theight\nS00\t1.5\nS01\t1,5\n")
    raw = {"mode": mode, "outcomes": {"source": "file", "file": "outcomes.tsv"}}
    (line,) = [line for line in problems(resolve(raw)) if "finite number or NA" in line]
    assert line == f"`outcomes.file`: `outcomes.tsv`, line 3, column `height`: {end}"
