"""BGEN files that plink2 makes of a VCF, against that VCF."""

import shutil
import subprocess

import numpy as np
import pytest

from dosage_files import dosage_text
from dpgrs.io.genotype_files import genotype_reader
from vcf_files import record, write_text

N_PEOPLE = 37
CALLS = {"required": ("0|0", "0|1", "1|0", "1|1", ".|."), "any": ("0/0", "0/1", "1/1", "./.")}

pytestmark = pytest.mark.skipif(shutil.which("plink2") is None, reason="plink2 is not installed")


def plink2(*arguments):
    subprocess.run(
        ["plink2", "--threads", "1", "--memory", "640", *map(str, arguments)], check=True, capture_output=True
    )


def write_vcf(path, cells, *, format_):
    """Write a VCF of a list of the cells of records."""
    lines = [record(5 * i, " ".join(drawn), id_=f"s{i}", format_=format_) for i, drawn in enumerate(cells, 1)]
    return write_text(path, dosage_text(*lines, samples=[f"p{i}" for i in range(N_PEOPLE)]))


def read(path, **options):
    reader = genotype_reader(path, "1", **options)
    batches = list(reader.batches(50))
    columns = [row for batch in batches for row in zip(*batch.columns.values(), strict=True)]
    planes = [np.concatenate([batch[i] for batch in batches]) for i in (1, 2, 3) if batches[0][i] is not None]
    return (reader.n_records, reader.missing_alleles, columns), planes


@pytest.mark.parametrize("phased", ["required", "any"])
@pytest.mark.parametrize("form", ["bgen-1.2", "bgen-1.3"])
def test_calls__equal_those_of_the_vcf(tmp_path, form, phased):
    cells = np.random.default_rng(1).choice(CALLS[phased], (200, N_PEOPLE))
    vcf = write_vcf(tmp_path / "a.vcf", cells, format_="GT")
    plink2("--vcf", vcf, "--export", form, "ref-first", "bits=8", "--out", tmp_path / "a")
    told, planes = read(vcf, phased=phased)
    other_told, other_planes = read(tmp_path / "a.bgen", phased=phased)
    assert other_told == told
    for one, other in zip(planes, other_planes, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("n_bits", [8, 16])
def test_dosages__near_those_of_the_vcf(tmp_path, n_bits):
    values = np.random.default_rng(2).uniform(0, 2, (100, N_PEOPLE)).round(3)
    vcf = write_vcf(tmp_path / "a.vcf", values.astype(str), format_="DS")
    made = ("--export", "bgen-1.2", "ref-first", f"bits={n_bits}", "--out", tmp_path / "a")
    plink2("--vcf", vcf, "dosage=DS", *made)
    options = {"phased": "any", "field": "DS"}
    (told, (*_, steps)), (other_told, (*_, other)) = (
        read(vcf, **options),
        read(tmp_path / "a.bgen", **options),
    )
    assert other_told == told
    # plink2 keeps multiples of 2^-14 on the way; the file has two probabilities, of so many bits each.
    furthest = np.abs(steps.astype(int) - other).max() / 2**12
    assert furthest < 1 / (2**n_bits - 1) + 2**-14 + 2**-12
