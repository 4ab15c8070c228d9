"""The generator of haplotypes with its libraries, in an environment of its own."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from dpgrs.genotypes.bits import pack, unpack
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.store_writer import StoreWriter
from study_runs import REPOSITORY

# Its libraries, 390 MB, are installed for it.
pytestmark = [pytest.mark.workflow, pytest.mark.nightly]

N_PEOPLE, WINDOW = 200, 8
CONTIGS = ["1"] * 24 + ["2"] * 8
# Frequencies of either population, and how often a variant has the allele of the one before.
ONES, STAYS = np.array([0.3, 0.7]), 0.9


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A folder with what the extra adds to the libraries that are here."""
    folder = tmp_path_factory.mktemp("gan")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    lock = REPOSITORY / "requirements-gan.lock"
    subprocess.run([*pip, "--require-hashes", "--target", folder, "-r", lock], check=True)
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A store of two populations, whose neighbouring variants mostly have the same allele."""
    folder = tmp_path_factory.mktemp("source")
    draws = np.random.Generator(np.random.PCG64(1))
    population = np.repeat([0, 1], N_PEOPLE)
    fresh = draws.random((len(CONTIGS), 2 * N_PEOPLE)) < ONES[population]
    stays = draws.random(fresh.shape) < STAYS
    alleles = fresh.copy()
    for v in range(1, len(CONTIGS)):
        if CONTIGS[v] == CONTIGS[v - 1]:
            alleles[v] = np.where(stays[v], alleles[v - 1], fresh[v])
    alleles[3], alleles[5] = False, True
    sites = {"contig": CONTIGS, "position": np.arange(1, len(CONTIGS) + 1) * 500}
    sites |= {name: [value] * len(CONTIGS) for name, value in (("id", "."), ("ref", "A"), ("alt", "C"))}
    ids = [f"p{i}" for i in range(N_PEOPLE)]
    with StoreWriter.create(folder / "source.zarr", sample_id=ids) as writer:
        writer.append(sites, pack(alleles))
        writer.attributes.update(source={"file": "1.vcf.gz", "sha256": "0" * 64})
    labels = np.repeat(["one", "two"], N_PEOPLE // 2)
    table = pd.DataFrame({"sample": ids, "population": labels})
    table.to_csv(folder / "populations.tsv", sep="\t", index=False)
    return folder


def imitate(library, source, name, *, seed=1, threads=1):
    """Run the command, and return the path of the new store."""
    command = [sys.executable, "-m", "dpgrs", "-q", "store", "imitate", "source.zarr", name]
    command += ["--people", "5000", "--window", str(WINDOW), "--overlap", str(WINDOW), "--steps", "300"]
    command += ["--populations", "populations.tsv", "--table", f"{name}.tsv"]
    path = os.pathsep.join([str(REPOSITORY / "workflow"), str(library)])
    process = subprocess.run(
        [*command, "--seed", str(seed), "--threads", str(threads)],
        cwd=source,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    return source / name


@pytest.fixture(scope="module")
def made(library, source):
    return imitate(library, source, "made")


def alleles_of(path):
    store = HaplotypeStore.open(path)
    return unpack(store.haplotypes(), store.n_haplotypes).astype(float)


def neighbours_r(alleles):
    """Return the correlation of each variant with the one before, NaN where all have one allele."""
    with np.errstate(invalid="ignore"):
        return np.array([np.corrcoef(one, other)[0, 1] for one, other in pairwise(alleles)])


def test_imitate__keeps_frequencies_linkage_and_populations(source, made):
    table = pd.read_csv(source / "made.tsv", sep="\t")
    assert table["population"].value_counts().to_dict() == {"one": 2500, "two": 2500}
    known, new = alleles_of(source / "source.zarr"), alleles_of(made)
    at = np.arange(1, len(CONTIGS))
    is_contig, is_seam = at == CONTIGS.index("2"), at % WINDOW == 0
    for of_source, of_new in ((known[:, :N_PEOPLE], new[:, :5000]), (known[:, N_PEOPLE:], new[:, 5000:])):
        assert np.abs(of_source.mean(axis=1) - of_new.mean(axis=1)).max() < 0.08
        assert of_new[3].max() == 0
        assert of_new[5].min() == 1
        r = neighbours_r(of_new)
        assert r[np.isfinite(neighbours_r(of_source)) & ~is_seam].min() > 0.5
        # Across seams, too, but not across chromosomes.
        assert r[is_seam & ~is_contig].min() > 0.3
        assert abs(r[is_contig][0]) < 0.1
    # Not those of the source alone.
    assert len(np.unique(new.T, axis=0)) > len(np.unique(known.T, axis=0))


def test_imitate__same_bytes_by_any_number_of_threads_and_no_others_by_another_seed(library, source, made):
    again = imitate(library, source, "again", threads=3)
    assert np.array_equal(alleles_of(made), alleles_of(again))
    other = imitate(library, source, "other", seed=2)
    assert not np.array_equal(alleles_of(made), alleles_of(other))


def test_imitate__is_marked_as_derived(made):
    store = HaplotypeStore.open(made)
    assert store.attributes["derived"]["people"] == 5000
    assert {*store.attributes["derived"]["versions"]} == {"jax"}
    (named,) = store.source_files
    assert named["file"] == "source.zarr, imitated"
    assert named["sha256"] != "0" * 64
