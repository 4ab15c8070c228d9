"""How large a study is, as seen before any job."""

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.ingest import ingest_chromosome
from dpgrs.study.array_sizes import file_table, variant_table
from dpgrs.study.cohort_files import PEOPLE_UNKNOWN
from dpgrs.study.settings import resolve
from dpgrs.study.shape import COLUMNS_UNKNOWN, VARIANTS_UNKNOWN, Shape
from plink_sets import write_bed, write_pgen
from vcf_files import record, vcf_text, write_bgzf, write_text


def shape_of(**raw):
    return Shape(resolve(raw))


def test_shape__simulated_by_the_settings():
    shape = shape_of(
        cohort={"simulation": {"people": 300, "reference_people": 40}},
        variants={"size": [50, 20]},
        outcomes={"count": [3, 7]},
        privacy={"epsilon": [1, 2, 5], "protection": ["full"]},
    )
    assert (shape.n_people, shape.n_rows, shape.n_reference_people) == (300, 600, 40)
    assert (shape.sizes, shape.n_variants, shape.n_outcomes) == ((20, 50), 50, 7)
    assert (shape.n_requests, shape.n_covariates, shape.n_columns) == (12, 0, 50)
    assert (shape.n_replicates, shape.n_methods, shape.n_chromosomes) == (2, 7, 2)


@pytest.mark.parametrize("write", [write_bed, write_pgen])
def test_shape__people_of_plink_sets(tmp_path, write):
    write(tmp_path / "set")
    cohort = {"source": "plink", "plink": str(tmp_path / "set"), "chromosomes": [1], "rows": "people"}
    shape = shape_of(cohort=cohort)
    assert (shape.n_people, shape.n_rows) == (3, 3)


def test_shape__stores_of_fixed_sites_hold_the_variants_of_the_study(tmp_path):
    write_bed(tmp_path / "set")
    bim = tmp_path / "set.bim"
    bim.write_text(bim.read_text() * 40)
    cohort = {"source": "plink", "plink": str(tmp_path / "set"), "chromosomes": [1], "rows": "people"}
    release = {"mode": "release", "variants": {"size": 2}}
    whole, fixed = (
        shape_of(cohort=cohort | {"fixed_sites": is_fixed}, **release) for is_fixed in (False, True)
    )
    assert whole.n_stored_variants == whole.n_file_variants == fixed.n_file_variants > 2
    assert fixed.n_stored_variants == 2
    assert variant_table(fixed) < variant_table(whole) == file_table(fixed)


def test_shape__people_of_vcfs_and_of_the_reference(tmp_path):
    path = write_bgzf(tmp_path / "1.vcf.gz", vcf_text(record(5, "0|0 0|1 1|1")))
    cohort = {"source": "vcf", "vcf": str(tmp_path / "{chrom}.vcf.gz"), "chromosomes": [1]}
    shape = shape_of(cohort=cohort, public={"reference": str(path)})
    assert (shape.n_people, shape.n_rows, shape.n_reference_people) == (3, 6, 3)


def test_shape__a_list_of_whom_to_keep_bounds_the_people(tmp_path):
    write_bgzf(tmp_path / "1.vcf.gz", vcf_text(record(5, "0|0 0|1 1|1")))
    cohort = {"source": "vcf", "vcf": str(tmp_path / "{chrom}.vcf.gz"), "chromosomes": [1]}
    keep = write_text(tmp_path / "keep.txt", "A\nB\n")
    shape = shape_of(cohort=cohort, people={"keep": str(keep)})
    assert (shape.n_file_people, shape.n_people) == (3, 2)
    longer = write_text(tmp_path / "longer.txt", "A\nB\nC\nD\n")
    assert shape_of(cohort=cohort, people={"keep": str(longer)}).n_people == 3
    assert shape_of(cohort=cohort, people={"keep": str(tmp_path / "absent.txt")}).n_people == 3


def test_shape__columns_of_tables(tmp_path):
    outcomes = write_text(tmp_path / "y.tsv", "sample\ta\tb\tc\nA\t1\t2\t3\n")
    covariates = write_text(tmp_path / "z.tsv", "sample\tage\tsex\nA\t1\t2\n")
    table = {"source": "file", "file": str(outcomes)}
    shape = shape_of(outcomes=table, covariates={"file": str(covariates), "pcs": 4})
    assert (shape.n_table_outcomes, shape.n_outcomes) == (3, 3)
    assert (shape.n_covariates, shape.n_columns) == (6, 106)
    fewer = shape_of(
        outcomes=table | {"count": [2]}, covariates={"file": str(covariates), "columns": ["age"]}
    )
    assert (fewer.n_table_outcomes, fewer.n_outcomes, fewer.n_covariates) == (3, 2, 1)


def test_shape__rows_of_a_table_of_numbers(tmp_path):
    path = tmp_path / "cohort.csv"
    pd.DataFrame(np.eye(6), columns=[f"x{i}" for i in range(6)]).to_csv(path, index_label="id")
    cohort = {"source": "table", "table": str(path), "id": "id"}
    shape = shape_of(cohort=cohort, outcomes={"source": "table", "columns": ["x0", "x1"]})
    assert (shape.n_people, shape.n_rows, shape.n_variants, shape.n_outcomes) == (6, 6, 4, 2)


def test_shape__what_cannot_be_read_has_a_stated_size_and_no_error(tmp_path):
    damaged = write_text(tmp_path / "1.vcf.gz", "no VCF")
    absent = str(tmp_path / "absent")
    for vcf in (str(damaged), f"{absent}.vcf.gz", None):
        cohort = {"source": "vcf", "vcf": vcf, "chromosomes": [1]}
        shape = shape_of(
            cohort=cohort,
            public={"reference": f"{absent}.vcf.gz"},
            outcomes={"source": "file", "file": absent},
            covariates={"file": absent},
        )
        assert shape.n_people == shape.n_reference_people == PEOPLE_UNKNOWN
        assert shape.n_outcomes == shape.n_covariates == COLUMNS_UNKNOWN
    table = shape_of(cohort={"source": "table", "table": absent}, outcomes={"source": "table"})
    assert (table.n_people, table.n_outcomes) == (PEOPLE_UNKNOWN, COLUMNS_UNKNOWN)


def test_shape__reads_nothing_before_it_is_asked(tmp_path):
    cohort = {"source": "vcf", "vcf": str(tmp_path / "{chrom}.vcf.gz"), "chromosomes": [1]}
    shape = shape_of(cohort=cohort)
    write_bgzf(tmp_path / "1.vcf.gz", vcf_text(record(5, "0|0 0|1 1|1")))
    assert shape.n_people == 3
    (tmp_path / "1.vcf.gz").unlink()
    assert shape.n_people == 3


def test_shape__copies_take_the_place_of_people_but_where_files_are_read(tmp_path):
    write_bgzf(tmp_path / "1.vcf.gz", vcf_text(record(5, "0|0 0|1 1|1")))
    cohort = {"source": "vcf", "vcf": str(tmp_path / "{chrom}.vcf.gz"), "chromosomes": [1]}
    keep = write_text(tmp_path / "keep.txt", "A\nB\n")
    shape = shape_of(cohort=cohort | {"copies": {"people": 5000}}, people={"keep": str(keep)})
    assert (shape.n_file_people, shape.n_chosen_people, shape.n_people, shape.n_rows) == (3, 2, 5000, 10**4)


def test_shape__of_files_that_are_gone_by_their_stores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    private = tmp_path / "results" / "gone" / "private"
    text = vcf_text(record(5, "0|0 0|1 1|1"), record(7, "0|0 0|1 1|1"))
    path = write_text(tmp_path / "2.vcf", text.replace("\n1\t", "\n2\t"))
    cohort = {"source": "vcf", "vcf": "{chrom}.vcf", "chromosomes": [1, 2], "in_turn": True}
    note = private / "made" / "store" / "2.zarr.json"
    ingest_chromosome([path], chromosome="2", store=private / "store" / "2.zarr")
    path.unlink()
    unknown = shape_of(study="gone", cohort=cohort)
    assert (unknown.n_people, unknown.n_file_variants) == (PEOPLE_UNKNOWN, 2 * VARIANTS_UNKNOWN)
    note.parent.mkdir(parents=True)
    note.touch()
    shape = shape_of(study="gone", cohort=cohort)
    assert (shape.n_people, shape.n_file_variants) == (3, 4)
