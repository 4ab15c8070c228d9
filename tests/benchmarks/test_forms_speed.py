"""BGEN and VCF Zarr into a store against the VCF of the same data, timed by `pytest --benchmark-enable`.

All forms take turns in one process, and processor time is taken, as it hangs less on what else the machine
does. That the stores are the same is always checked; ratios are printed, as no aim was set.
"""

import shutil
import time

import numpy as np

from bgen_files import ZLIB, ZSTD, variant, write_bgen
from dpgrs.genotypes.bits import unpack
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.simulation.cohorts import simulate_cohort
from vcf_zarr_files import write_vcf_zarr

N_ROUNDS = 5
LARGE, SMALL = {"people": 2504, "length": 300_000}, {"people": 30, "length": 20_000}


def write_phased_bgen(path, store, *, compression):
    """Write the alleles of a store as certain probabilities of 8 bits, each ALT of a record on its own."""
    alleles = unpack(store.haplotypes(slice(None)), store.n_haplotypes)
    variants = []
    for site, row in zip(store.variants.itertuples(), alleles, strict=True):
        certain = np.uint8(255) * (1 - row).astype(np.uint8).reshape(-1, 2)
        variants.append(variant(site.position, certain, alleles=(site.ref, site.alt), id_=site.id))
    return write_bgen(path, variants, samples=store.sample_id.tolist(), compression=compression)


def test_forms__speed_beside_a_vcf(request, capsys, tmp_path):
    is_timed = request.config.getoption("--benchmark-enable")
    simulate_cohort(tmp_path, chromosomes=["1"], seed=1, **(LARGE if is_timed else SMALL))
    vcf, store = tmp_path / "1.vcf.gz", tmp_path / "store.zarr"
    ingest_chromosome(vcf, chromosome="1", store=store)
    expected = HaplotypeStore.open(store)
    forms = {"VCF": vcf, "VCF Zarr": write_vcf_zarr(tmp_path / "a.vcz", vcf, n_chunk=1000)}
    for name, compression in (("BGEN, zlib", ZLIB), ("BGEN, Zstandard", ZSTD)):
        forms[name] = write_phased_bgen(tmp_path / f"{compression}.bgen", expected, compression=compression)
    seconds = {name: [] for name in forms}
    for _ in range(N_ROUNDS if is_timed else 1):
        for name, path in forms.items():
            made = tmp_path / "made.zarr"
            shutil.rmtree(made, ignore_errors=True)
            start = time.process_time()
            ingest_chromosome(path, chromosome="1", store=made)
            seconds[name].append(time.process_time() - start)
            found = HaplotypeStore.open(made)
            assert found.variants.equals(expected.variants)
            assert found.haplotypes(slice(None)).tobytes() == expected.haplotypes(slice(None)).tobytes()
    if is_timed:
        with capsys.disabled():
            print(f"\n{expected.n_variants} variants of {expected.n_samples} people, seconds of a processor")
            for name, all_seconds in seconds.items():
                ratio = np.median(np.divide(all_seconds, seconds["VCF"]))
                print(f"{name}: median {np.median(all_seconds):.2f}, {ratio:.1f} times the VCF")
