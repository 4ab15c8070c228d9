"""Studies of the same people in each form of genotypes."""

import shutil
import subprocess

import pandas as pd
import pysam.bcftools
import pytest

from dpgrs.simulation.cohorts import simulate_cohort
from study_runs import SMALL, run

pytestmark = pytest.mark.workflow

OPTIONS = {"chromosomes": ["21", "22"], "people": 90, "length": 100_000, "seed": 1}


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """The VCFs of a simulated cohort."""
    folder = tmp_path_factory.mktemp("cohort")
    simulate_cohort(folder, model="OutOfAfrica_3G09", **OPTIONS)
    return folder


def metrics_of(folder, **cohort):
    """Run a study of people as far as its metrics, and return them."""
    settings = SMALL | {
        "cohort": {"chromosomes": ["21", "22"], "rows": "people", **cohort},
        "methods": ["ridge"],
        "replicates": 1,
    }
    run(folder, settings, "--", "results/small/metrics.tsv")
    return pd.read_csv(folder / "results" / "small" / "metrics.tsv", sep="\t").drop(columns="seconds")


def write_parts(vcf, folder, chromosome):
    """Cut a VCF in two BCFs, of which the first by name is the last by position."""
    for name, region in (("b", "1-50000"), ("a", "50001-")):
        path = folder / f"-{chromosome}.{name}.bcf"
        region = f"{chromosome}:{region}"
        pysam.bcftools.view("-Ob", "-t", region, "-o", str(path), str(vcf), catch_stdout=False)


@pytest.fixture(scope="module")
def expected(cohort, tmp_path_factory):
    """The metrics of the study of the VCFs."""
    return metrics_of(tmp_path_factory.mktemp("vcf"), source="vcf", vcf=f"{cohort}/{{chrom}}.vcf.gz")


def test_study__bcf_in_parts_gives_the_same(cohort, expected, tmp_path):
    """Their names begin like an option."""
    for chromosome in OPTIONS["chromosomes"]:
        write_parts(cohort / f"{chromosome}.vcf.gz", tmp_path, chromosome)
    parts = metrics_of(tmp_path, source="vcf", vcf="-{chrom}.*.bcf")
    pd.testing.assert_frame_equal(parts, expected)


@pytest.mark.skipif(shutil.which("plink2") is None, reason="plink2 is not installed")
def test_study__pgen_gives_the_same(cohort, expected, tmp_path):
    for chromosome in OPTIONS["chromosomes"]:
        vcf, prefix = cohort / f"{chromosome}.vcf.gz", tmp_path / chromosome
        limits = ["--threads", "1", "--memory", "640"]
        command = ["plink2", *limits, "--vcf", vcf, "--make-pgen", "--out", prefix]
        subprocess.run(command, check=True, capture_output=True)
    pgen = metrics_of(tmp_path / "study", source="plink", plink=f"{tmp_path}/{{chrom}}")
    pd.testing.assert_frame_equal(pgen, expected)
