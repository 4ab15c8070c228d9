import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack, unpack
from dpgrs.genotypes.linkage import LinkageLimit
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.sealed_zarr import fingerprint
from dpgrs.io.selection import select_variants
from dpgrs.io.site_variants import take_sites
from dpgrs.io.variant_set import VariantSet
from dpgrs.io.variant_set_writer import alternate_frequency, fill_missing, thinning_rank, write_variant_set
from refused import refused
from vcf_files import record, vcf_text, write_text

N_PEOPLE = 20


def random_calls(random, frequency):
    alleles = (random.random((N_PEOPLE, 2)) < frequency).astype(int)
    return " ".join(f"{a}|{b}" for a, b in alleles)


def make_store(folder, chromosome, records, samples=None):
    samples = samples or tuple(f"p{i}" for i in range(N_PEOPLE))
    vcf = write_text(folder / f"{chromosome}.vcf", vcf_text(*records, samples=samples))
    ingest_chromosome(vcf, chromosome=chromosome, store=folder / f"{chromosome}.zarr")
    return HaplotypeStore.open(folder / f"{chromosome}.zarr")


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Chromosomes of 60 variants, in the order 2, 1, to be read alone; positions of 1 are not sorted."""
    folder = tmp_path_factory.mktemp("stores")
    random = np.random.Generator(np.random.PCG64(7))
    made = []
    for chromosome in ("2", "1"):
        positions = random.permutation(60) + 1 if chromosome == "1" else np.arange(1, 61)
        records = [record(p, random_calls(random, random.random() / 2), contig=chromosome) for p in positions]
        made.append(make_store(folder, chromosome, records))
    return tuple(made)


def open_variant_set(path, stores, **options):
    write_variant_set(path, stores, select_variants(stores, **options))
    return VariantSet.open(path)


def sites(variant_set, indices=slice(None)):
    table = variant_set.variants.iloc[indices]
    return list(zip(table["contig"], table["position"], strict=True))


def test_take_sites__of_other_people_says_no_number(tmp_path):
    line = record(1, "0|1 1|1", contig="1")
    stores = [make_store(tmp_path, name, [line.replace("1", name, 1)], samples=("A", name)) for name in "12"]
    with refused("samples-differ") as caught:
        take_sites(stores, None)
    assert str(caught.value).replace(f"{tmp_path}/", "") == (
        "`2.zarr` must have the samples of `1.zarr` in the same order, got others or another order. "
        "Subset all VCFs alike: bcftools view -S samples.txt"
    )


def test_alternate_frequency__over_known_alleles(tmp_path):
    calls = ("0|1 " * N_PEOPLE, "1|. " * N_PEOPLE, "0|0 " * 15 + ". " * 5, ". " * N_PEOPLE)
    store = make_store(tmp_path, "1", [record(row, text) for row, text in enumerate(calls, start=1)])
    np.testing.assert_array_equal(alternate_frequency(store), [0.5, 1.0, 0.0, np.nan])


def test_select_variants__keeps_common_variants_in_genome_order(tmp_path, stores):
    maf = 0.2
    n_usable = sum(int((np.minimum(f, 1 - f) >= maf).sum()) for f in map(alternate_frequency, stores))
    variant_set = open_variant_set(tmp_path / "variants.zarr", stores, size=n_usable, maf=maf, seed=1)
    assert 0 < n_usable < 120
    assert sites(variant_set) == sorted(sites(variant_set), key=lambda site: ("21".index(site[0]), site[1]))
    assert (np.minimum(variant_set.frequency, 1 - variant_set.frequency) >= maf).all()
    assert sorted(variant_set.variant_rank.tolist()) == list(range(n_usable))
    assert variant_set.attributes["counts"] == {"n_variants": n_usable, "n_usable": n_usable, "n_filled": 0}


def test_thinning_rank__no_other_site_changes_an_order():
    sites = [f"1:{position}:A:G" for position in range(50)]
    rank = thinning_rank(sites, seed=1)
    np.testing.assert_array_equal(np.sort(rank), np.arange(50))
    kept = [site for site in sites if site != sites[7]]
    in_order = [sites[i] for i in np.argsort(rank) if i != 7]
    assert [kept[i] for i in np.argsort(thinning_rank(kept, seed=1))] == in_order
    assert (thinning_rank(sites, seed=2) != rank).any()


def test_select_variants__maf_bound_belongs_to_it(tmp_path):
    store = make_store(tmp_path, "1", [record(1, "0|1 " + "0|0 " * 19), record(2, "0|0 " * 20)])
    assert select_variants([store], size=1, maf=1 / 40, seed=1).n_usable == 1
    assert select_variants([store], size=2, maf=0, seed=1).n_usable == 2


def test_select_variants__haplotypes_are_the_stores_own(tmp_path, stores):
    variant_set = open_variant_set(tmp_path / "variants.zarr", stores, size=30, maf=0.05, seed=1)
    whole = {
        site: words
        for store in stores
        for site, words in zip(sites(store), store.haplotypes().tolist(), strict=True)
    }
    assert variant_set.haplotypes().tolist() == [whole[site] for site in sites(variant_set)]
    assert variant_set.sample_id.tolist() == stores[0].sample_id.tolist()


def written(folder, stores, selection, monkeypatch, n_together):
    """Write a variant set so many variants at a time; return what it counts, and its fingerprint."""
    monkeypatch.setattr("dpgrs.io.variant_set_writer.rows_per_batch", lambda *people, **kind: n_together)
    return write_variant_set(folder, stores, selection), fingerprint(folder)


@pytest.mark.parametrize("n_together", [1, 7])
def test_write_variant_set__some_variants_at_a_time_are_the_variant_set_of_all(
    tmp_path, monkeypatch, n_together
):
    random = np.random.default_rng(5)
    calls = [random_calls(random, 0.3).replace("1|0", "1|.", 2) for _ in range(20)]
    store = make_store(tmp_path, "1", [record(p, own, contig="1") for p, own in enumerate(calls, 1)])
    # A site in two records, in the order of the file, one without any, and another order than the file's.
    double = [record(9, random_calls(random, 0.2).replace("0|0", ".|0", 4)) for _ in range(2)]
    (tmp_path / "twice").mkdir()
    records = double + [record(p, own) for p, own in enumerate(calls, 10)]
    twice = make_store(tmp_path / "twice", "1", records)
    listed = public_sites(*((p, "A", "C", 0.4) for p in (28, 9, *range(10, 27), 40)))
    for name, own, selection in (
        ("own", store, select_variants([store], size=12, maf=0, seed=1)),
        ("listed", twice, take_sites([twice], listed)),
    ):
        whole = written(tmp_path / name, [own], selection, monkeypatch, 1000)
        assert written(tmp_path / f"{name}-parts", [own], selection, monkeypatch, n_together) == whole
        assert whole[0]["n_filled"] > 0


def test_select_variants__nested(tmp_path, stores):
    small = open_variant_set(tmp_path / "small.zarr", stores, size=10, maf=0.05, seed=3)
    large = open_variant_set(tmp_path / "large.zarr", stores, size=40, maf=0.05, seed=3)
    indices = large.of_size(10)
    assert sites(large, indices) == sites(small)
    assert (np.diff(indices) > 0).all()
    np.testing.assert_array_equal(large.variant_rank[indices], small.variant_rank)
    np.testing.assert_array_equal(large.haplotypes(indices), small.haplotypes())
    np.testing.assert_array_equal(large.of_size(40), np.arange(40))


def test_select_variants__seed_decides(stores):
    first, again, other = (
        pd.concat(select_variants(stores, size=20, maf=0.05, seed=seed).variants) for seed in (1, 1, 2)
    )
    assert first.equals(again)
    assert not first.equals(other)


def test_select_variants__raise_on_too_few_variants(stores):
    with refused("too-few-variants", "of 120, got 119", "by `variants.maf`", "or add chromosomes"):
        select_variants(stores, size=119, maf=0.3, seed=1)


def test_select_variants__linked_variants_stay_apart(tmp_path):
    """Ten positions of one pattern, and one of another, which the order may put anywhere."""
    same, other = "0|1 1|1 0|0 1|0 " * 5, "1|0 0|0 0|0 1|1 " * 5
    store = make_store(
        tmp_path, "1", [*(record(1000 * p, same) for p in range(1, 11)), record(11_500, other)]
    )
    limit = LinkageLimit(0.5, 100, "haplotypes")
    selection = select_variants([store], size=2, maf=0.01, seed=1, linkage=limit)
    assert selection.rank.tolist() in ([0, 1], [1, 0])
    assert selection.variants[0]["position"].iloc[1] == 11_500
    assert selection.counts[["ld", "kept", "rows"]].to_numpy().tolist() == [
        [selection.counts["ld"][0], 2, 11]
    ]
    # Within a window of one step every second may stay.
    near = LinkageLimit(0.5, 1.5, "haplotypes")
    kept = select_variants([store], size=5, maf=0.01, seed=1, linkage=near).variants[0]["position"]
    assert (kept.diff().dropna() >= 1500).all()
    with refused("too-few-variants", "`variants.ld_r2`", "got 3"):
        select_variants([store], size=3, maf=0.01, seed=1, linkage=limit)


def test_select_variants__filters_leave_the_order_of_the_others(stores):
    """A variant set with a filter holds what the larger one without has, less what the filter drops."""
    whole = pd.concat(select_variants(stores, size=100, maf=0, seed=3).variants)
    some = pd.concat(select_variants(stores, size=40, maf=0, seed=3, hwe=0.1).variants)
    assert set(map(tuple, some[["contig", "position"]].to_numpy())) <= set(
        map(tuple, whole[["contig", "position"]].to_numpy())
    )
    assert len(some) == 40


def test_select_variants__counts_what_became_of_all(tmp_path, stores):
    selection = select_variants(stores, size=10, maf=0.2, seed=1)
    counts = selection.counts
    assert counts["chromosome"].tolist() == ["2", "1"]
    assert counts["rows"].tolist() == [60, 60]
    assert counts[["kept", "thinned"]].to_numpy().sum() == selection.n_usable
    assert counts["kept"].tolist() == [len(table) for table in selection.variants]


@pytest.mark.parametrize(("size", "maf", "name"), [(0, 0.1, "size"), (5, -0.1, "maf"), (5, 0.6, "maf")])
def test_select_variants__raise_on_domain(stores, size, maf, name):
    with pytest.raises(UsageError, match=f"`{name}` must be"):
        select_variants(stores, size=size, maf=maf, seed=1)


def test_select_variants__raise_on_other_samples(tmp_path, stores):
    samples = tuple(f"q{i}" for i in range(N_PEOPLE))
    other = make_store(tmp_path, "3", [record(1, "0|1 " * N_PEOPLE, contig="3")], samples)
    with refused("samples-differ"):
        select_variants([*stores, other], size=5, maf=0.05, seed=1)


def test_write_variant_set__fills_with_the_more_frequent_allele(tmp_path):
    calls = ("1|1 " * 18 + "0|1 .|1", "0|1 " * 18 + "0|. .|.", "0|1 " * 20)
    store = make_store(tmp_path, "1", [record(row, text) for row, text in enumerate(calls, start=1)])
    variant_set = open_variant_set(tmp_path / "variants.zarr", [store], size=3, maf=0.01, seed=1)
    alleles = unpack(variant_set.haplotypes(), 2 * N_PEOPLE)
    assert alleles[:, -4:].tolist() == [[0, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]]
    assert variant_set.missing() is None
    assert variant_set.attributes["options"]["fill"] == "cohort frequency"
    assert variant_set.attributes["counts"]["n_filled"] == 4
    np.testing.assert_allclose(variant_set.frequency, [38 / 39, 18 / 37, 0.5])


def test_fill_missing__half_takes_ref():
    missing = pack(np.array([[0, 1, 1]] * 3))
    filled = fill_missing(pack(np.array([[1, 0, 0]] * 3)), missing, np.array([0.4, 0.5, 0.6]))
    assert unpack(filled, 3).tolist() == [[1, 0, 0], [1, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("size", [0, 11])
def test_of_size__raise_on_domain(tmp_path, stores, size):
    variant_set = open_variant_set(tmp_path / "variants.zarr", stores, size=10, maf=0.05, seed=1)
    with refused("size-out-of-range", "`size`"):
        variant_set.of_size(size)


def test_open__raise_on_store_that_is_no_variant_set(stores):
    with refused("not-a-variant-set"):
        VariantSet.open(stores[0].path)


def public_sites(*rows):
    """Return sites of chromosome 1, in the order given, ranked the other way round."""
    table = pd.DataFrame(rows, columns=["position", "ref", "alt", "frequency"])
    return table.assign(contig="chr1", id=".", rank=np.arange(len(table))[::-1])


def taken(folder, store, sites):
    write_variant_set(folder / "variants.zarr", [store], take_sites([store], sites))
    return VariantSet.open(folder / "variants.zarr")


def test_take_sites__takes_the_list_whatever_the_cohort(tmp_path):
    records = [
        record(5, "0|1 1|1"),
        record(6, "0|0 0|0"),
        record(7, "1|0 0|0", alt="C,G"),
        record(9, "0|1 0|1"),
    ]
    store = make_store(tmp_path, "1", records, samples=("a", "b"))
    sites = public_sites((5, "A", "C", 0.2), (6, "A", "C", 0.3), (7, "A", "G", 0.1), (8, "A", "C", 0.5))
    variant_set = taken(tmp_path, store, sites)
    alleles = unpack(variant_set.haplotypes(), 4)
    # 6 does not vary in the cohort, 7 takes the ALT that is listed, 8 is not there: everyone has REF.
    assert alleles.tolist() == [[0, 1, 1, 1], [0] * 4, [0] * 4, [0] * 4]
    np.testing.assert_array_equal(variant_set.frequency, [0.2, 0.3, 0.1, 0.5])
    assert variant_set.variant_rank.tolist() == [3, 2, 1, 0]
    assert variant_set.variants["position"].tolist() == [5, 6, 7, 8]


def test_take_sites__a_row_depends_on_no_other_row(tmp_path):
    """The fill is public: with and without the second person, the first one's alleles are the same."""
    calls = [".|1 0|0", "0|. 1|1", ".|. 1|1", "1|0 0|0"]
    sites = public_sites(*((position, "A", "C", 0.2 * position) for position in range(1, 5)))
    rows = []
    for folder, samples in (("both", ("a", "b")), ("alone", ("a",))):
        records = [
            record(i + 1, call.split()[0] if folder == "alone" else call) for i, call in enumerate(calls)
        ]
        (tmp_path / folder).mkdir()
        store = make_store(tmp_path / folder, "1", records, samples=samples)
        rows.append(unpack(taken(tmp_path / folder, store, sites).haplotypes(), 2 * len(samples))[:, :2])
    np.testing.assert_array_equal(*rows)
    assert rows[0].tolist() == [[0, 1], [0, 0], [1, 1], [1, 0]]


@pytest.mark.parametrize(
    "records",
    [
        [record(5, "0|1 1|1")],
        # A third person's deletion pads everybody's record, or brings a second one.
        [record(5, "0|2 2|2", ref="AT", alt="A,CT")],
        [record(4, "0|1 1|1", ref="GA", alt="GC")],
        [record(5, "0|1 0|0"), record(5, "0|2 2|2", ref="AT", alt="A,CT")],
        [record(5, ".|1 .|1"), record(5, "0|2 2|2", ref="AT", alt="A,CT")],
        [record(5, "0|1 1|1", ref="a", alt="c")],
    ],
)
def test_take_sites__finds_a_site_however_it_is_written(tmp_path, records):
    store = make_store(tmp_path, "1", records, samples=("a", "b"))
    variant_set = taken(tmp_path, store, public_sites((5, "A", "C", 0.2)))
    assert unpack(variant_set.haplotypes(), 4).tolist() == [[0, 1, 1, 1]]


def test_take_sites__missing_only_where_every_record_says_so(tmp_path):
    records = [record(5, ".|. .|1"), record(5, ".|0 0|.", ref="AT", alt="CT")]
    store = make_store(tmp_path, "1", records, samples=("a", "b"))
    variant_set = taken(tmp_path, store, public_sites((5, "A", "C", 0.9)))
    assert unpack(variant_set.haplotypes(), 4).tolist() == [[1, 0, 0, 1]]
    assert variant_set.attributes["counts"]["n_filled"] == 1


def test_take_sites__raise_where_an_absent_record_would_make_rows_depend_on_each_other(tmp_path):
    store = make_store(tmp_path, "1", [record(5, "0|1 1|1")], samples=("a", "b"))
    with refused("public-sites-absent", "1:6:A:C"):
        take_sites([store], public_sites((5, "A", "C", 0.9), (6, "A", "C", 0.6)))
