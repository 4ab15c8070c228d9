"""BGEN and VCF Zarr into a store against the VCF of the same data, timed by `pytest --benchmark-enable`.

Of calls and of dosages. All forms take turns in one process, and processor time is taken, as it hangs less on
what else the machine does. That the stores are the same is always checked; ratios are printed, as no aim was
set.
"""

import shutil
import time

import numpy as np

from bgen_files import ZLIB, ZSTD, variant, write_bgen
from dosage_files import imputed_copy
from dpgrs.genotypes.bits import unpack
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.simulation.cohorts import simulate_cohort
from vcf_zarr_files import write_vcf_zarr

N_ROUNDS = 5
LARGE, SMALL = {"people": 2504, "length": 300_000}, {"people": 30, "length": 20_000}
LARGE_IMPUTED = LARGE | {"length": 100_000}
BGEN_FORMS = {"BGEN, zlib": ZLIB, "BGEN, Zstandard": ZSTD}
SITE = ["contig", "position", "ref", "alt"]


def write_phased_bgen(path, store, *, compression):
    """Write the alleles of a store as certain probabilities of 8 bits, each ALT of a record on its own."""
    alleles = unpack(store.haplotypes(slice(None)), store.n_haplotypes)
    variants = []
    for site, row in zip(store.variants.itertuples(), alleles, strict=True):
        certain = np.uint8(255) * (1 - row).astype(np.uint8).reshape(-1, 2)
        variants.append(variant(site.position, certain, alleles=(site.ref, site.alt), id_=site.id))
    return write_bgen(path, variants, samples=store.sample_id.tolist(), compression=compression)


def write_imputed_bgen(path, store, *, compression):
    """Write the dosages of a store as probabilities of 8 bits of two copies without phase."""
    variants, missing = [], unpack(store.missing(slice(None)), store.n_haplotypes)[:, ::2]
    for site, row, is_missing in zip(store.variants.itertuples(), store.dosages(), missing, strict=True):
        steps = np.rint(255 * DOSAGE_STEP * row.astype(float)).astype(int)
        two = np.maximum(steps - 255, 0)
        one = steps - 2 * two
        stored = np.where(is_missing, 0, [255 - one - two, one]).astype(np.uint8).T
        variants.append(
            variant(
                site.position,
                np.ascontiguousarray(stored),
                alleles=(site.ref, site.alt),
                id_=site.id,
                is_phased=False,
                ploidy=np.where(is_missing, 130, 2).tolist(),
            )
        )
    return write_bgen(path, variants, samples=store.sample_id.tolist(), compression=compression)


def compare(forms, made, capsys, *, is_timed, require_same, **options):
    """Ingest all forms in turns, hold their stores against that of the VCF, and print ratios if timed."""
    seconds = {name: [] for name in forms}
    for _ in range(N_ROUNDS if is_timed else 1):
        for name, path in forms.items():
            shutil.rmtree(made, ignore_errors=True)
            start = time.process_time()
            ingest_chromosome(path, chromosome="1", store=made, **options)
            seconds[name].append(time.process_time() - start)
            found = HaplotypeStore.open(made)
            require_same(name, found)
    if is_timed:
        with capsys.disabled():
            print(f"\n{found.n_variants} variants of {found.n_samples} people, seconds of a processor")
            for name, all_seconds in seconds.items():
                ratio = np.median(np.divide(all_seconds, seconds["VCF"]))
                print(f"{name}: median {np.median(all_seconds):.2f}, {ratio:.1f} times the VCF")


def test_forms__speed_beside_a_vcf(request, capsys, tmp_path):
    is_timed = request.config.getoption("--benchmark-enable")
    simulate_cohort(tmp_path, chromosomes=["1"], seed=1, **(LARGE if is_timed else SMALL))
    vcf, store = tmp_path / "1.vcf.gz", tmp_path / "store.zarr"
    ingest_chromosome(vcf, chromosome="1", store=store)
    expected = HaplotypeStore.open(store)
    forms = {"VCF": vcf, "VCF Zarr": write_vcf_zarr(tmp_path / "a.vcz", vcf, n_chunk=1000)}
    for name, compression in BGEN_FORMS.items():
        forms[name] = write_phased_bgen(tmp_path / f"{compression}.bgen", expected, compression=compression)

    def require_same(name, found):
        assert found.variants.equals(expected.variants), name
        assert found.haplotypes(slice(None)).tobytes() == expected.haplotypes(slice(None)).tobytes()

    compare(forms, tmp_path / "made.zarr", capsys, is_timed=is_timed, require_same=require_same)


def test_forms__speed_of_dosages_beside_a_vcf(request, capsys, tmp_path):
    """Dosages of three decimals in the VCF and in Zarr; the bits of a BGEN are the nearest to these."""
    is_timed = request.config.getoption("--benchmark-enable")
    simulate_cohort(tmp_path, chromosomes=["1"], seed=1, **(LARGE_IMPUTED if is_timed else SMALL))
    vcf, store = tmp_path / "imputed.vcf.gz", tmp_path / "store.zarr"
    imputed_copy(tmp_path / "1.vcf.gz", vcf, seed=1)
    options = {"field": "DS", "phased": "any"}
    ingest_chromosome(vcf, chromosome="1", store=store, **options)
    expected = HaplotypeStore.open(store)
    dosages, missing = expected.dosages().astype(int), expected.missing(slice(None)).tobytes()
    forms = {"VCF": vcf, "VCF Zarr": write_vcf_zarr(tmp_path / "a.vcz", vcf, n_chunk=1000)}
    for name, compression in BGEN_FORMS.items():
        forms[name] = write_imputed_bgen(tmp_path / f"{compression}.bgen", expected, compression=compression)

    def require_same(name, found):
        apart = 0 if name in ("VCF", "VCF Zarr") else 0.5 / 255 / DOSAGE_STEP + 0.5
        assert found.variants[SITE].equals(expected.variants[SITE]), name
        assert np.abs(found.dosages().astype(int) - dosages).max() <= apart, name
        assert found.missing(slice(None)).tobytes() == missing

    compare(forms, tmp_path / "made.zarr", capsys, is_timed=is_timed, require_same=require_same, **options)
