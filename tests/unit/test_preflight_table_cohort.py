"""What preflight says of a study of a table before any job runs."""

import shutil

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.tables import real_tables
from dpgrs.preflight import dosages, table_cohort, tables
from dpgrs.preflight.checks import problems
from dpgrs.preflight.inspection import Inspection
from dpgrs.steps.make_table_variants import make_table_variants
from dpgrs.study.settings import examine, resolve
from dpgrs.study.shape import Shape
from found_by import found_by
from refused import refused
from step_settings import settings_for

N_ROWS = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(1)
    columns = {f"x{j}": rng.standard_normal(N_ROWS) for j in range(4)}
    columns |= {
        "y1": rng.standard_normal(N_ROWS),
        "y2": rng.standard_normal(N_ROWS),
        "raw": rng.random(N_ROWS),
    }
    pd.DataFrame(columns | {"same": 1.0}).to_csv(folder / "table.csv", index=False)
    (folder / "ranges.tsv").write_text("column\tlow\thigh\nx*\t-4\t4\nsame\t0\t2\nraw\t0\t1\n")
    (folder / "narrow.tsv").write_text("column\tlow\thigh\nx0\t4\t5\n*\t-4\t4\n")
    (folder / "scales.tsv").write_text("outcome\tcentre\tscale\nraw\t0.5\t0.289\n")
    return folder


def settings(folder, **changes):
    given = {
        "cohort": {
            "source": "table",
            "table": str(folder / "table.csv"),
            "ranges": str(folder / "ranges.tsv"),
        },
        "outcomes": {"source": "table", "columns": ["y*"]},
        "methods": ["ridge", "blup", "adassp"],
    }
    for section, values in changes.items():
        is_section = isinstance(given.get(section), dict)
        given[section] = given[section] | values if is_section else values
    return given


def test_problems__none_of_a_sound_study(folder):
    config = resolve(settings(folder))
    assert config.variants.size == (6,)
    assert config.outcomes.count == (2,)
    assert config.privacy.bounds == "tight"
    assert (config.cohort.rows, config.privacy.unit) == ("people", "person")
    assert resolve(config.as_dict()) == config
    assert problems(config) == []


def test_problems__none_with_scales_simulated_outcomes_and_fewer_columns(folder):
    scaled = {"columns": ["raw"], "scales": str(folder / "scales.tsv")}
    assert problems(resolve(settings(folder, outcomes=scaled, cohort={"drop": ["y*"]}))) == []
    outcomes = {"source": "simulate", "columns": None, "count": 2}
    config = resolve(settings(folder, outcomes=outcomes, variants={"size": [2, 4]}, cohort={"drop": ["y*"]}))
    assert config.variants.size == (2, 4)
    assert problems(config) == []


def test_inspection__people_are_the_rows(folder):
    assert Inspection(resolve(settings(folder))).people[:3] == ("1", "2", "3")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"cohort": {"table": None}}, "`cohort.table` must be a path"),
        ({"cohort": {"table": "none.csv"}}, "`cohort.table`: `none.csv` must be a table, but is not there"),
        ({"cohort": {"ranges": None}}, "`cohort.ranges` must be a path"),
        ({"cohort": {"drop": ["z"]}}, "`cohort.drop` must name columns"),
        ({"outcomes": {"columns": ["z"]}}, "`outcomes.columns` must name columns"),
        ({"outcomes": {"columns": None}}, "`outcomes.columns` must be given"),
        ({"outcomes": {"columns": ["*"]}}, "must leave columns"),
        (
            {"outcomes": {"columns": ["y*", "same"]}},
            "must have at least two values each, got one in every row",
        ),
        ({"outcomes": {"count": [1, 3]}}, "`outcomes.count` must be at most 2"),
        ({"variants": {"size": 7}}, "`variants.size` must be at most 6"),
        ({"variants": {"maf": 0.1}}, "`variants.maf` is for genotypes, got 0.1"),
        ({"cohort": {"vcf": "a.vcf"}}, "`cohort.vcf` is for genotypes"),
        ({"people": {"keep": "keep.txt"}}, "`people.keep` is for genotypes"),
        ({"covariates": {"pcs": 2}}, "`covariates.pcs` is for genotypes"),
        ({"mode": "release"}, "`mode` must be benchmark with `cohort.source: table`"),
    ],
)
def test_problems__one_line_each(folder, changes, complaint):
    (line,) = found_by(table_cohort, examine(settings(folder, **changes))[0])
    assert complaint in line
    assert "\n" not in line


def test_problems__of_ranges(folder):
    config = resolve(settings(folder, cohort={"ranges": str(folder / "narrow.tsv")}))
    assert "most beyond that of column `x0`" in found_by(table_cohort, config)[0]


def test_problems__of_outcomes_that_are_not_standardised(folder):
    (line,) = found_by(tables, resolve(settings(folder, outcomes={"columns": ["raw", "y1"]})))
    assert line.startswith("`outcomes.columns` must hold outcomes of mean 0")


def test_problems__of_what_is_for_tables_alone():
    config = resolve({"cohort": {"one_hot": ["a"]}, "outcomes": {"source": "table"}})
    lines = found_by(table_cohort, config)
    assert [line.split("`")[1] for line in lines] == ["cohort.one_hot", "outcomes.source"]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"cohort": {"rows": "haplotypes"}}, "`cohort.rows` must be people with `cohort.source: table`"),
        ({"privacy": {"bounds": "worst-case"}}, "`privacy.bounds` must be tight with `cohort.source: table`"),
        (
            {"methods": ["ridge", "bas", "k-tukey", "l-blup", "s-ols", "blup-steered", "dp-sgd", "blup-ld"]},
            "got blup-ld. Leave them out.",
        ),
    ],
)
def test_problems__of_what_fractions_cannot_have(folder, changes, complaint):
    (line,) = found_by(dosages, resolve(settings(folder, **changes)))
    assert complaint in line


def test_problems__of_a_release_are_listed_without_a_crash(folder):
    lines = problems(examine(settings(folder, mode="release"))[0])
    assert sum(line.startswith("`mode`") for line in lines) == 1


def test_a_table_is_read_once_until_it_changes(folder, tmp_path, monkeypatch):
    copied = shutil.copytree(folder, tmp_path / "copied")
    reads, read = [], real_tables.read_real_table

    def counted(path, **terms):
        reads.append(path)
        return read(path, **terms)

    monkeypatch.setattr(real_tables, "read_real_table", counted)
    for n_reads in (1, 2):
        config = resolve(settings(copied))
        assert problems(config) == []
        assert (Shape(config).n_rows, len(Inspection(config).people)) == (N_ROWS + n_reads - 1,) * 2
        assert len(reads) == n_reads
        with (copied / "table.csv").open("a") as file:
            file.write("0,0,0,0,0,0,0,1\n")


@pytest.mark.parametrize(
    ("ranges", "columns", "drop", "fault"),
    [
        ("narrow.tsv", "y*", ["raw"], ("values-off-scale", "`cohort.ranges`")),
        ("ranges.tsv", "*e", ["y*"], ("values-off-scale", "`outcomes.columns`")),
    ],
)
def test_step__refuses_the_same(folder, tmp_path, ranges, columns, drop, fault):
    config = resolve(settings(folder, outcomes={"columns": [columns]}, cohort={"drop": drop}))
    options = {
        "ranges": folder / ranges,
        "outcomes": tmp_path / "y.npz",
        "output": tmp_path / "variants.zarr",
    }
    with refused(*fault):
        make_table_variants(settings_for("make-table-variants", config), config.cohort.table, **options)
    assert list(tmp_path.iterdir()) == []
