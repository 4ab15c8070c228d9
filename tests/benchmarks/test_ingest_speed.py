"""A VCF into a store against plink2 and against a loop over cyvcf2, timed by `pytest --benchmark-enable`.

All sides read the same file and take turns, so that a busy machine slows all. That the store holds what the
file says is always checked; the ratios are asserted only when benchmarks are enabled. The file is simulated
under a published model: GT only, 2,504 people, some 390,000 variants, as compressible as such files are. A
process spends a second on its start, which a file of 100,000 variants does not outweigh; the ratio within a
process does not hang on that.
"""

import os
import shutil
import subprocess
import sys
import time

import numpy as np
from cyvcf2 import VCF

from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.store_check import check_store
from dpgrs.simulation.cohorts import simulate_cohort

PLINK2_AIM, CYVCF2_AIM = 1.5, 8
MEMORY_AIM = 500e6  # bytes
READING_AIM, N_READ, N_AMONG = 0.040, 1000, 116_094  # seconds for so many variants among so many
SIZE_AIM = 1.5  # times the .pgen
N_ROUNDS = 5
CHROMOSOME = "1"
PEOPLE, BASES = 2504, 20_000_000
SMALL = {"people": 30, "length": 20_000}


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


# Between this process and the one measured stands a small one, whose own memory counts for nothing.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def run(command, environment=None):
    """Run a program; return its seconds and the most memory it held, in bytes."""
    start = time.perf_counter()
    measured = [sys.executable, "-S", "-c", MEASURE, *command]
    kilobytes = subprocess.run(measured, stdout=subprocess.PIPE, env=environment, check=True).stdout
    return time.perf_counter() - start, 1024 * int(kilobytes)


def loop_over_cyvcf2(vcf):
    for variant in VCF(str(vcf)):
        variant.genotype.array()


def random_reads(store, rng):
    rows = np.sort(rng.choice(N_AMONG, N_READ, replace=False))
    return seconds(lambda: store.haplotypes(rows))


def test_ingest__faster_than_plink2(request, capsys, tmp_path, repository):
    is_timed = request.config.getoption("--benchmark-enable")
    scale = {"people": PEOPLE, "length": BASES} if is_timed else SMALL
    simulate_cohort(tmp_path, chromosomes=[CHROMOSOME], seed=1, **scale)
    vcf, path = tmp_path / f"{CHROMOSOME}.vcf.gz", tmp_path / "store.zarr"

    def ingest():
        shutil.rmtree(path, ignore_errors=True)
        ingest_chromosome(vcf, chromosome=CHROMOSOME, store=path)

    ingest()
    assert check_store(path, vcf)["n_samples"] == scale["people"]
    if not is_timed:
        return
    ours = [sys.executable, "-m", "dpgrs", "ingest-chromosome", vcf, "--chromosome", CHROMOSOME, "--output"]
    environment = os.environ | {"PYTHONPATH": str(repository / "workflow")}
    plink2 = ["plink2", "--vcf", vcf, "--make-pgen", "--threads", "2", "--out", tmp_path / "p"]
    timings, peaks = [], []
    for i in range(N_ROUNDS):
        (process, peak), (other, _) = run([*ours, tmp_path / f"{i}.zarr"], environment), run(plink2)
        timings.append((process, other, seconds(ingest)))
        peaks.append(peak)
    process, other, inside = np.array(timings).T
    slow = seconds(lambda: loop_over_cyvcf2(vcf))
    store = HaplotypeStore.open(path)
    reading = min(random_reads(store, np.random.default_rng(i)) for i in range(N_ROUNDS))
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    size /= (tmp_path / "p.pgen").stat().st_size
    with capsys.disabled():
        print(f"\n{store.n_variants} variants: plink2 {other.min():.2f} s, a process {process.min():.2f} s")
        print(f"times plink2: {(other / process).round(2)} as a process, {(other / inside).round(2)} within")
        print(f"times cyvcf2: {slow / inside.min():.1f}; peak {max(peaks) / 1e6:.0f} MB")
        print(
            f"{N_READ} variants among {N_AMONG} read in {1000 * reading:.0f} ms; {size:.2f} times the .pgen"
        )
    assert np.median(other / process) >= PLINK2_AIM
    assert np.median(other / inside) >= PLINK2_AIM
    assert slow / inside.min() >= CYVCF2_AIM
    assert max(peaks) < MEMORY_AIM
    assert reading < READING_AIM
    assert size <= SIZE_AIM
