"""Stores of real files against `bcftools query`, an independent reader of the same text."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from dpgrs.genotypes.bits import unpack
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from nightly import rest_at_night

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(
        shutil.which("bcftools") is None, reason="no bcftools; Debian: apt-get install bcftools"
    ),
]


def query(path):
    """Return the sites as [contig, position, id, ref, alts] and the (n_records, n_haplotypes) alleles."""
    lines = subprocess.run(
        ["bcftools", "query", "-f", "%CHROM\t%POS\t%ID\t%REF\t%ALT\n[%GT\t]\n", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # warnings about the header
        check=True,
    ).stdout.splitlines()
    sites = [line.decode().split("\t") for line in lines[::2]]
    # Every call of these files is `a|b` with one digit an allele: four bytes with its tab.
    calls = np.frombuffer(b"".join(lines[1::2]), dtype=np.uint8).reshape(len(sites), -1, 4)
    assert (calls[:, :, 1] == ord("|")).all()
    assert (calls[:, :, 3] == ord("\t")).all()
    alleles = calls[:, :, ::2].reshape(len(sites), -1) - ord("0")
    assert alleles.max() <= 9
    return sites, alleles


def split(sites, alleles):
    """Return the usable (contig, position, id, ref, alt) and (n_variants, n_haplotypes) allele == k."""
    usable = [
        (row, k, (contig, int(position), id_, ref, alt))
        for row, (contig, position, id_, ref, alts) in enumerate(sites)
        for k, alt in enumerate(alts.split(","), start=1)
        if re.fullmatch("[ACGTN]+", alt)
    ]
    rows, numbers, variants = zip(*usable, strict=True)
    return list(variants), alleles[list(rows)] == np.array(numbers)[:, np.newaxis]


def assert_store_equals_query(vcf, chromosome, folder):
    counts = ingest_chromosome(vcf, chromosome=chromosome, store=folder / "store.zarr")
    store = HaplotypeStore.open(folder / "store.zarr")
    sites, alleles = query(vcf)
    variants, expected = split(sites, alleles)
    assert list(store.variants.itertuples(index=False, name=None)) == variants
    np.testing.assert_array_equal(unpack(store.haplotypes(), store.n_haplotypes), expected)
    assert store.missing() is None
    assert counts["n_records"] == len(sites)
    n_alts = sum(site[4].count(",") + 1 for site in sites)
    assert counts["n_variants"] + sum(counts["skipped"].values()) == n_alts


def test_store__all_people_of_a_region(real_data, tmp_path):
    vcf = next((real_data / "1kg" / "phase3_chr1_region").glob("*.vcf.gz"))
    assert_store_equals_query(vcf, "chr1", tmp_path)


@pytest.mark.parametrize("chromosome", rest_at_night(range(1, 23), [1, 22]))
def test_store__subset(real_data, tmp_path, chromosome):
    vcf = real_data / "1kg" / "phase3_subset" / f"1KG_phase3_subset_chr{chromosome}.vcf.gz"
    assert_store_equals_query(vcf, chromosome, tmp_path)
