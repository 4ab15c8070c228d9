"""Stores of files of 2,504 people against `bcftools query`, bit for bit; at night of a whole chromosome."""

import shutil
import subprocess
from itertools import islice

import numpy as np
import pytest

from dpgrs.genotypes.bits import unpack
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.simulation.cohorts import simulate_cohort

PEOPLE = 2504
FORMAT = "%CHROM\t%POS\t%REF\t%ALT\n[%GT\t]\n"

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.skipif(
        shutil.which("bcftools") is None, reason="no bcftools; Debian: apt-get install bcftools"
    ),
]


def queried(vcf, chunks):
    """Yield the sites and the (n_variants, n_haplotypes) alleles of every chunk, as bcftools has them.

    It splits what has several ALTs first, with REF in the place of the others.
    """
    with (
        subprocess.Popen(
            ["bcftools", "norm", "-m", "-any", "-Ou", vcf],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # how many lines were split
        ) as split,
        subprocess.Popen(
            ["bcftools", "query", "-f", FORMAT], stdin=split.stdout, stdout=subprocess.PIPE
        ) as process,
    ):
        for chunk in chunks:
            lines = list(islice(process.stdout, 2 * (chunk.stop - chunk.start)))
            sites = [tuple(line.decode().rstrip("\n").split("\t")) for line in lines[::2]]
            calls = np.frombuffer(b"".join(lines[1::2]), dtype=np.uint8).reshape(len(sites), -1)
            # `a|b` and a tab for each person, and a newline: alleles of one digit, phased.
            alleles = calls[:, :-1].reshape(len(sites), -1, 4)
            assert (alleles[:, :, 1] == ord("|")).all()
            yield sites, alleles[:, :, ::2].reshape(len(sites), -1) - ord("0")
        assert process.stdout.read() == b""
    assert split.returncode == process.returncode == 0


@pytest.mark.parametrize(
    ("bases", "least"), [(600_000, 10_000), pytest.param(6_000_000, 100_000, marks=pytest.mark.nightly)]
)
def test_store__of_a_simulated_chromosome(tmp_path, bases, least):
    options = {"chromosomes": ["1"], "model": "OutOfAfrica_3G09", "people": PEOPLE, "length": bases}
    simulate_cohort(tmp_path / "cohort", reference=None, reference_people=2, seed=5, **options)
    vcf = tmp_path / "cohort" / "1.vcf.gz"
    counts = ingest_chromosome(vcf, chromosome="1", store=tmp_path / "store.zarr")
    store = HaplotypeStore.open(tmp_path / "store.zarr")
    assert counts["n_records"] <= counts["n_variants"] == store.n_variants
    assert not counts["skipped"]
    assert store.n_variants > least
    assert store.missing() is None
    variants = store.variants[["contig", "position", "ref", "alt"]]
    for chunk, (sites, alleles) in zip(store.chunks(), queried(vcf, store.chunks()), strict=True):
        found = variants.iloc[chunk].itertuples(index=False)
        assert [(row.contig, str(row.position), row.ref, row.alt) for row in found] == sites
        np.testing.assert_array_equal(unpack(store.haplotypes(chunk), store.n_haplotypes), alleles)
