"""The shipped 1000 Genomes configuration on real files, with nothing but paths and chromosomes overridden."""

import json
import math

import pandas as pd
import pytest
import zarr

from study_runs import REPOSITORY, run

pytestmark = [pytest.mark.realdata, pytest.mark.workflow]


def run_1000genomes(folder, study, cohort, *arguments):
    overrides = [f"cohort={json.dumps(cohort)}", f"study={study}"]
    shipped = ["--configfile", REPOSITORY / "config" / "1000genomes.yaml"]
    run(folder, {}, *shipped, "--config", *overrides, "--", *arguments)
    return folder / "results" / study


def assert_learnt(results, *, n_people, n_variants):
    metrics = pd.read_csv(results / "metrics.tsv", sep="\t")
    # Both haplotypes of about four people in five, within five standard deviations; the seed is fixed.
    n_trained = metrics["n_rows"].unique() / 2
    assert (abs(n_trained - 0.8 * n_people) < 5 * math.sqrt(0.16 * n_people)).all()
    assert (n_trained % 1 == 0).all()
    assert set(metrics["n_variants"]) == {n_variants}
    # Outcomes have a heritability of 0.5 within the variant set.
    assert metrics[metrics["method"] == "gblup"]["r2"].mean() > 0.2
    assert (results / "report" / "index.html").is_file()


def test_1000genomes__all_people_of_a_region(real_data, tmp_path):
    folder = real_data / "1kg"
    cohort = {
        "vcf": str(folder / "phase3_chr1_region" / "chr1_11697036-11836540.vcf.gz"),
        "chromosomes": [1],
        "populations": str(folder / "integrated_call_samples_v3.20130502.ALL.panel"),
    }
    results = run_1000genomes(tmp_path, "region", cohort)
    assert_learnt(results, n_people=2504, n_variants=400)
    by_population = pd.read_csv(results / "private" / "population_metrics.tsv", sep="\t")
    assert set(by_population["population"]) == {"AFR", "AMR", "EAS", "EUR", "SAS"}


@pytest.mark.nightly
def test_1000genomes__all_chromosomes_plain_gzip_without_index(real_data, tmp_path):
    pattern = real_data / "1kg" / "phase3_subset" / "1KG_phase3_subset_chr{chrom}.vcf.gz"
    chromosomes = [str(number) for number in range(1, 23)]
    results = run_1000genomes(tmp_path, "genome", {"vcf": str(pattern), "chromosomes": chromosomes})
    assert_learnt(results, n_people=1126, n_variants=400)
    stores = [
        zarr.open_group(results / "private" / "store" / f"{name}.zarr", mode="r") for name in chromosomes
    ]
    counts = [store.attrs["counts"] for store in stores]
    assert sum(count["n_records"] for count in counts) == 24_640
    # Copy numbers and mobile elements cannot be bits.
    assert sum(count["skipped"].get("symbolic_allele", 0) for count in counts) > 20
