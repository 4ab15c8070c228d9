"""Copies of haplotypes: of whom they are, how often they go over, and what stays as in the source."""

import hashlib
import shutil
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack, unpack
from dpgrs.genotypes.diversity import as_calls, linkage_decay, pairwise_fst
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.store_writer import StoreWriter
from dpgrs.simulation.cohorts import simulate_cohort
from dpgrs.simulation.resampling import (
    HAPLOTYPES,
    CopyingModel,
    Mosaic,
    Population,
    resample_store,
)
from refused import refused

STILL = CopyingModel(effective_size=1e-12, mutation=0)
N_VARIANTS, N_PEOPLE = 300, 20


def random(seed):
    return np.random.Generator(np.random.PCG64(seed))


@pytest.fixture
def source(tmp_path):
    """A store of few people in two populations, some of whose alleles are unknown."""
    draws = random(3)
    alleles = draws.integers(0, 2, (N_VARIANTS, 2 * N_PEOPLE))
    missing = draws.random((N_VARIANTS, 2 * N_PEOPLE)) < 0.02
    sites = {"contig": ["1"] * N_VARIANTS, "position": np.arange(1, N_VARIANTS + 1) * 1000}
    sites |= {"id": ["."] * N_VARIANTS, "ref": ["A"] * N_VARIANTS, "alt": ["C"] * N_VARIANTS}
    ids = [f"p{i}" for i in range(N_PEOPLE)]
    with StoreWriter.create(tmp_path / "source.zarr", sample_id=ids) as writer:
        writer.append(sites, pack(alleles & ~missing), pack(missing))
        writer.attributes.update(source=[{"file": "1.vcf.gz", "sha256": "0" * 64}], options={}, counts={})
    labels = ["one"] * 5 + ["two"] * 15
    table = pd.DataFrame({"sample": ids, "population": labels})
    table.to_csv(tmp_path / "populations.tsv", sep="\t", index=False)
    return tmp_path / "source.zarr"


def calls(path):
    """Return alleles of a store, 2 where one is unknown: (n_variants, n_haplotypes)."""
    store = HaplotypeStore.open(path)
    alleles = unpack(store.haplotypes(), store.n_haplotypes)
    missing = store.missing()
    return alleles if missing is None else np.where(unpack(missing, store.n_haplotypes), 2, alleles)


def digest(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def test_resample__without_switches_each_copy_is_a_haplotype_of_its_population(source, tmp_path):
    options = {"populations": tmp_path / "populations.tsv", "people": 100, "seed": 2}
    table = resample_store(source, tmp_path / "copies.zarr", model=STILL, **options)
    assert table["population"].value_counts().to_dict() == {"one": 25, "two": 75}
    known, made = calls(source).T, calls(tmp_path / "copies.zarr").T
    assert 2 in made
    is_one = np.repeat(table["population"] == "one", 2)
    for own, members in ((made[is_one], known[:10]), (made[~is_one], known[10:])):
        whose = (own[:, None] == members[None]).all(axis=2)
        assert whose.any(axis=1).all()
        assert whose.any(axis=0).all()  # all of them are copied: 50 copies miss one of 10 once in 200 times
    store = HaplotypeStore.open(tmp_path / "copies.zarr")
    assert store.sample_id.tolist() == table["sample"].tolist()
    pd.testing.assert_frame_equal(store.variants, HaplotypeStore.open(source).variants)


def test_resample__same_bytes_by_any_number_of_threads_and_no_others_by_another_seed(source, tmp_path):
    options = {"people": HAPLOTYPES // 2 + 40, "model": CopyingModel(effective_size=2e5)}
    for name, seed, n_threads in (("a", 1, 1), ("b", 1, 3), ("c", 2, 1)):
        resample_store(source, tmp_path / name, seed=seed, n_threads=n_threads, **options)
    assert digest(tmp_path / "a") == digest(tmp_path / "b") != digest(tmp_path / "c")


def test_resample__chromosomes_are_copied_apart(source, tmp_path):
    """Who follows whom on one says nothing of another, as of people who are not related."""
    store, known = HaplotypeStore.open(source), calls(source).T
    with StoreWriter.create(tmp_path / "other.zarr", sample_id=store.sample_id) as writer:
        writer.append(store.variants.assign(contig="2"), store.haplotypes(), store.missing())
        writer.attributes.update(store.attributes)
    followed = []
    for name in ("source", "other"):
        resample_store(tmp_path / f"{name}.zarr", tmp_path / "copies", people=500, seed=1, model=STILL)
        made = calls(tmp_path / "copies").T
        followed.append((made[:, None] == known[None]).all(axis=2).argmax(axis=1))
        shutil.rmtree(tmp_path / "copies")
    # One of forty by chance: 25 of 1000.
    assert (followed[0] == followed[1]).sum() < 80


def test_mosaic__is_what_its_own_draws_say():
    """Against plain Python, of two populations, over blocks of variants and of copies."""
    draws, n_variants, n_copies = random(5), 700, HAPLOTYPES + 70
    planes = draws.integers(0, 2**64, (1, n_variants, 1), dtype=np.uint64)
    groups = [
        Population(np.arange(0, 20, dtype=np.uint64), slice(0, 30)),
        Population(np.arange(20, 64, dtype=np.uint64), slice(30, n_copies)),
    ]
    rates, start = draws.random(n_variants), np.zeros(n_copies, dtype=np.uint64)
    start[30:] = 20
    drawn = []

    class Watched(Mosaic):
        def _switches(self, *args):
            drawn.append((args[1], super()._switches(*args)))
            return drawn[-1][1]

    made = Watched((4,), groups, rates, 0.0, start.copy()).copy(planes, 0, n_threads=1)
    found, known = unpack(made[0], n_copies), unpack(planes[0], 64)
    for copies in (slice(0, HAPLOTYPES), slice(HAPLOTYPES, n_copies)):
        followed, v = start[copies].copy(), 0
        for ends, at, to in (one for block, one in drawn if block == copies):
            for low, high in pairwise(ends.tolist()):
                for e in range(low, high):
                    followed[at[e]] = to[e]
                np.testing.assert_array_equal(found[v, copies], known[v, followed.astype(int)])
                v += 1
        assert v == n_variants
    of_two = np.concatenate([to[at + block.start >= 30] for block, (_, at, to) in drawn])
    assert of_two.min() >= 20


def test_mosaic__goes_over_at_the_stated_rate():
    """Twice as many haplotypes, half the rate; counts lie within five standard deviations of Poisson's."""
    n_copies, rates = 4000, np.full(100, 0.3)
    for K in (10, 20):
        groups = [Population(np.arange(K, dtype=np.uint64), slice(0, n_copies))]
        mosaic = Mosaic((1,), groups, rates, 0.0, np.zeros(n_copies, dtype=np.uint64))
        ends, at, to = mosaic._switches(random(6), slice(0, n_copies), rates)
        expected = n_copies * rates.sum() / K
        assert abs(ends[-1] - expected) < 5 * np.sqrt(expected)
        assert len({*at.tolist()}) > n_copies / 2
        assert {*to.tolist()} == {*range(K)}


def test_mosaic__gives_another_allele_at_the_stated_rate():
    planes, n_copies, rate = np.zeros((2, 500, 1), dtype=np.uint64), 3000, 1e-3
    planes[1, :100] = 1  # what is unknown stays so
    groups = [Population(np.zeros(1, dtype=np.uint64), slice(0, n_copies))]
    mosaic = Mosaic((1,), groups, np.zeros(500), rate, np.zeros(n_copies, dtype=np.uint64))
    made = unpack(mosaic.copy(planes, 0, n_threads=1), n_copies)
    assert made[0, :100].sum() == 0
    assert made[1, :100].all()
    expected = 400 * n_copies * rate
    assert abs(made[0].sum() - expected) < 5 * np.sqrt(expected)
    theta = 1 / sum(1 / m for m in range(1, 8))
    assert CopyingModel().flip_rate(8) == pytest.approx(theta / (2 * (theta + 8)))


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """A chromosome of simulated people in three populations: folder with a store and a table."""
    folder = tmp_path_factory.mktemp("cohort")
    simulate_cohort(folder, chromosomes=["21"], people=150, length=300_000, seed=8)
    ingest_chromosome([folder / "21.vcf.gz"], chromosome="21", store=folder / "source.zarr")
    resample_store(
        folder / "source.zarr",
        folder / "copies.zarr",
        people=1500,
        seed=1,
        populations=folder / "populations.tsv",
    )
    return folder


def test_resample__keeps_frequencies(cohort):
    known, made = calls(cohort / "source.zarr").mean(axis=1), calls(cohort / "copies.zarr").mean(axis=1)
    # A site's copies are of 100 haplotypes a population, with replacement: no more independent than so.
    sd = np.sqrt(known * (1 - known) / 3000)
    assert np.abs(made - known).max() < 0.06
    assert np.median(np.abs(made - known) / np.where(sd > 0, sd, 1)) < 2
    assert np.corrcoef(known, made)[0, 1] > 0.999


def test_resample__keeps_linkage_and_populations(cohort):
    stores = [HaplotypeStore.open(cohort / f"{name}.zarr") for name in ("source", "copies")]
    common = np.flatnonzero(np.minimum(f := calls(stores[0].path).mean(axis=1), 1 - f) > 0.1)[::4]
    position = stores[0].variants["position"].to_numpy()[common]
    decay, fst = [], []
    for store in stores:
        alleles = unpack(store.haplotypes(common), store.n_haplotypes)
        counts = (alleles[:, ::2] + alleles[:, 1::2]).astype(np.int8)
        sums, n_pairs = linkage_decay(counts, position, edges=[0, 5_000, 20_000, 80_000, 300_000])
        # Chance adds 1 / n to every r^2.
        decay.append(sums / n_pairs - 1 / store.n_samples)
        third = store.n_samples // 3
        members = [list(range(i * third, (i + 1) * third)) for i in range(3)]
        fst.append(pairwise_fst(as_calls(alleles, np.zeros_like(alleles)), members))
    np.testing.assert_allclose(decay[1], decay[0], rtol=0.15)
    assert decay[0][0] > 2 * decay[0][-1]  # there is a decay to keep
    upper = np.triu_indices(3, k=1)
    np.testing.assert_allclose(fst[1][upper], fst[0][upper], atol=0.02)
    assert fst[0][upper].max() > 0.08


def test_resample__goes_over_where_the_map_rises(source, tmp_path):
    (tmp_path / "map").write_text("position cM\n1000 0\n150000 0\n151000 1000\n300000 1000\n")
    model = CopyingModel(effective_size=100, mutation=0)
    resample_store(
        source, tmp_path / "copies.zarr", people=300, seed=1, genetic_map=tmp_path / "map", model=model
    )
    known, made = calls(source), calls(tmp_path / "copies.zarr")
    for half in (slice(0, 150), slice(150, None)):
        whose = {tuple(one) for one in known[half].T}
        assert {tuple(one) for one in made[half].T} == whose
    assert len({tuple(one) for one in made.T}) > 300


def test_resample__is_marked_as_derived(source, tmp_path):
    """Whoever declares the source's file public must not have declared its copies."""
    resample_store(source, tmp_path / "copies.zarr", people=30, seed=1)
    store = HaplotypeStore.open(tmp_path / "copies.zarr")
    assert store.attributes["derived"]["people"] == 30
    (named,) = store.source_files
    assert named["file"] == "source.zarr, resampled"
    assert named["sha256"] != "0" * 64


@pytest.mark.parametrize(
    ("terms", "fault"),
    [
        ({"effective_size": 0}, ("effective-size-not-positive", "`effective_size`")),
        ({"mutation": 1}, ("mutation-out-of-range", "`mutation`")),
    ],
)
def test_copying_model__raise_out_of_range(terms, fault):
    with refused(*fault, error=UsageError):
        CopyingModel(**terms)


def test_resample__raise_on_dosages_and_on_too_few_people(source, tmp_path):
    with refused("people-fewer-than-populations", "`people`", "got 1", error=UsageError):
        resample_store(source, tmp_path / "a", people=1, seed=1, populations=tmp_path / "populations.tsv")
    sites = {"contig": ["1"], "position": [1], "id": ["."], "ref": ["A"], "alt": ["C"]}
    with StoreWriter.create(tmp_path / "dosages.zarr", sample_id=["a"], has_dosages=True) as writer:
        writer.append(sites, np.zeros((1, 1), dtype=np.uint64), None, np.zeros((1, 1), dtype=np.uint16))
    with refused("dosages-not-haplotypes"):
        resample_store(tmp_path / "dosages.zarr", tmp_path / "a", people=5, seed=1)
    assert not (tmp_path / "a").exists()


def test_store_resample__by_the_command_line(source, tmp_path):
    places = ["--populations", str(tmp_path / "populations.tsv"), "--table", str(tmp_path / "new.tsv")]
    options = ["--people", "40", "--seed", "5", "--threads", "1", *places]
    found = CliRunner().invoke(
        main, ["store", "resample", str(source), str(tmp_path / "copies.zarr"), *options]
    )
    assert found.exit_code == 0, found.output
    assert HaplotypeStore.open(tmp_path / "copies.zarr").n_samples == 40
    assert pd.read_csv(tmp_path / "new.tsv", sep="\t")["population"].value_counts().to_dict() == {
        "one": 10,
        "two": 30,
    }
