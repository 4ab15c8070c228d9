"""Public sites count by the letters of their alleles: nobody's row depends on who else is in the files."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from allele_orders import ALT, REF, UNSEEN, pairs_of, write_cohort
from bgen_files import variant, write_bgen
from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import unpack
from dpgrs.genotypes.dosages import dosage_steps
from dpgrs.io import listed_reader, listed_sites
from dpgrs.io.genotype_files import genotype_reader
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.listed_sites import alternate_of
from dpgrs.io.site_variants import take_sites
from dpgrs.io.sites import SITE_FILE_COLUMNS
from plink_sets import write_pgen
from refused import refused

POSITIONS = (10, 20, 30, 40, 50)
FREQUENCY = np.array([0.3, 0.7, 0.5, 0.02, 0.98])
IDS = tuple(f"p{number}" for number in range(7))
N, M = len(IDS), len(POSITIONS)
FORMS = [("bed", "GT"), ("pgen", "GT"), ("pgen", "DS"), ("bgen", "GT"), ("bgen", "DS")]


def table_of_sites(positions=POSITIONS, *, contig="1"):
    n = len(positions)
    columns = [[contig] * n, positions, ["."] * n, [REF] * n, [ALT] * n, FREQUENCY[:n], range(n)]
    return pd.DataFrame(dict(zip(SITE_FILE_COLUMNS, columns, strict=True)))


def cohort(seed, *, is_fractional=False):
    """Return copies of ALT of which the last two sites mostly have one allele alone, some missing."""
    rng = np.random.default_rng(seed)
    copies = rng.binomial(2, FREQUENCY[:, np.newaxis], (M, N)).astype(float)
    copies[3:] = [[0.0], [2.0]]
    if is_fractional:
        copies[:3] = np.clip(copies[:3] + rng.integers(-900, 900, (3, N)) / 2**12, 0, 2)
    copies[rng.random((M, N)) < 0.1] = np.nan
    return copies


def rows_of(folder, form, field, copies, *, ids=IDS, **order):
    """Write and read a cohort; return what of it enters rows: a dict of id to a tuple of numbers."""
    folder.mkdir()
    path = write_cohort(folder / f"a.{form}", copies, positions=POSITIONS, ids=ids, **order)
    options = {} if form == "vcf" else {"sites": table_of_sites()}
    (batch,) = genotype_reader(path, "1", phased="any", field=field, **options).batches(100)
    assert list(batch.columns["position"]) == list(POSITIONS)
    return by_person(batch.haplotypes, batch.missing, batch.dosages, ids)


def by_person(haplotypes, missing, dosages, ids):
    calls, unknown = (
        unpack(plane, 2 * len(ids)).reshape(len(plane), -1, 2) for plane in (haplotypes, missing)
    )
    values = calls.sum(axis=2) if dosages is None else dosages
    values = np.where(unknown.any(axis=2), -1, values.astype(int))
    return dict(zip(ids, map(tuple, values.T.tolist()), strict=True))


def by_hand(copies, field):
    """Return what rows must be, by copies of ALT alone."""
    known = np.where(np.isfinite(copies), copies, 0)
    values = (dosage_steps(known) if field == "DS" else known).astype(int)
    values = np.where(np.isfinite(copies), values, -1)
    return dict(zip(IDS, map(tuple, values.T.tolist()), strict=True))


@pytest.mark.parametrize(("form", "field"), FORMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_rows__are_those_of_the_letters_in_every_form_and_order(tmp_path, form, field, seed):
    copies = cohort(seed, is_fractional=(form, field) == ("pgen", "DS"))
    for is_first in (False, True):
        found = rows_of(tmp_path / str(is_first), form, field, copies, is_rarer_first=is_first)
        assert found == by_hand(copies, field)


@pytest.mark.parametrize(("form", "field"), [("bed", "GT"), ("bgen", "DS")])
def test_take_sites__takes_the_rows_that_were_read(tmp_path, form, field):
    copies, sites = cohort(9), table_of_sites()
    path = write_cohort(tmp_path / f"a.{form}", copies, positions=POSITIONS, ids=IDS)
    options = {"phased": "any", "field": field, "sites": sites}
    ingest_chromosome(path, chromosome="1", store=tmp_path / "s", **options)
    (alleles,) = take_sites([HaplotypeStore.open(tmp_path / "s")], sites).alleles
    ((_, planes),) = alleles.blocks()
    assert by_person(*planes, IDS) == by_hand(copies, field)


def test_rows__of_uneven_dosages_are_the_same_in_either_order_of_a_bgen(tmp_path):
    copies = np.where(np.isfinite(cohort(4)), np.random.default_rng(4).random((M, N)) * 2, np.nan)
    found = [
        rows_of(tmp_path / str(is_first), "bgen", "DS", copies, is_rarer_first=is_first)
        for is_first in (False, True)
    ]
    assert found[0] == found[1]


def neighbours(copies, rng):
    """Yield a cohort without some people, and with others of theirs, one at a time; and whose stay."""
    for person, name in [*enumerate(IDS)][3:]:
        others = [other for other in IDS if other != name]
        yield np.delete(copies, person, axis=1), others, others
        changed = copies.copy()
        changed[:, person] = rng.choice([0.0, 1.0, 2.0, np.nan], M)
        yield changed, list(IDS), others


def moved(folder, form, field, *, seed=5):
    """Count the neighbours in which the row of somebody else differs."""
    rng, copies = np.random.default_rng(seed), cohort(seed)
    # One carrier makes the rarer allele of a site, and one decides which allele is the rarer.
    copies[2] = [2, 2, 2, 0, 0, 0, 1]
    copies[3, 4], copies[4, 5] = 1, 1
    base = rows_of(folder / "base", form, field, copies)
    found = 0
    for number, (other, ids, stay) in enumerate(neighbours(copies, rng)):
        rows = rows_of(folder / str(number), form, field, other, ids=ids)
        found += any(rows[name] != base[name] for name in stay)
    return found


@pytest.mark.parametrize(("form", "field"), FORMS)
def test_rows__of_others_stay_whoever_comes_goes_or_changes(tmp_path, form, field):
    assert moved(tmp_path, form, field) == 0


def test_pairs_of__the_cohort_of_these_tests_has_every_order_and_unseen_alleles():
    copies = cohort(5)
    copies[3] = np.nan
    pairs, is_alt_second = pairs_of(copies, form="bed")
    assert set(is_alt_second) == {True, False}
    assert {"0"} < set(np.ravel(pairs)) == {"0", REF, ALT}
    assert ("0", "0") in pairs


def second_allele(first, second, ref, alt):
    """Count the second allele, which is the rarer one: the effect allele is chosen by frequency."""
    return np.ones(len(first), dtype=int)


@pytest.mark.parametrize(("form", "field"), [("bed", "GT"), ("bgen", "DS")])
def test_rows__an_allele_that_is_chosen_by_frequency_moves_others(tmp_path, monkeypatch, form, field):
    monkeypatch.setattr(listed_sites, "alternate_of", second_allele)
    assert moved(tmp_path, form, field) > 0


def kept_if_seen(records, sites):
    """Drop the sites of which nobody has the second allele, as readers of VCFs do."""
    return listed_sites.rows_of_sites(records[~records["alt"].isin(["0", "."])], sites)


@pytest.mark.parametrize("form", ["bed", "bgen"])
def test_rows__a_site_that_is_dropped_as_nobody_varies_is_refused(tmp_path, monkeypatch, form):
    monkeypatch.setattr(listed_reader, "rows_of_sites", kept_if_seen)
    with refused("public-site-not-once", "1:40:A:C"):
        moved(tmp_path, form, "GT")


LETTERS = ("A", "C", "G", "T", *set(UNSEEN.values()), "AC", "*", "<DEL>", "C,G")


PAIRS = [("A", "C"), ("G", "A"), ("C", "T")]


def wrong_pairs(rule, ref, alt):
    """List the pairs of alleles of a record of which a rule does not count ALT by its letter."""
    pairs = list(product(LETTERS, repeat=2))
    first, second = (pd.Series(letters) for letters in zip(*pairs, strict=True))
    numbers = rule(first, second, pd.Series([ref] * len(pairs)), pd.Series([alt] * len(pairs)))
    return [pair for pair, got in zip(pairs, numbers, strict=True) if got not in places(pair, ref, alt)]


def places(pair, ref, alt):
    """Return where ALT may be in a record: -1 if other alleles are there, either place if none is named."""
    named = [letter for letter in pair if letter not in UNSEEN.values()]
    if not set(named) <= {ref, alt} or len(set(named)) < len(named):
        return (-1,)
    if not named:
        return 0, 1
    return (pair.index(alt) if alt in pair else 1 - pair.index(ref),)


def with_flips(first, second, ref, alt):
    """Take alleles of the other strand, too."""
    flipped = (
        letters.map(lambda one: one.translate(str.maketrans("ACGT", "TGCA"))) for letters in (first, second)
    )
    number = alternate_of(first, second, ref, alt)
    return np.where(number < 0, alternate_of(*flipped, ref, alt), number)


@pytest.mark.parametrize(("ref", "alt"), PAIRS)
def test_alternate_of__takes_the_two_letters_alone_and_flips_no_strand(ref, alt):
    assert wrong_pairs(alternate_of, ref, alt) == []
    assert wrong_pairs(with_flips, ref, alt)
    assert wrong_pairs(second_allele, ref, alt)


@pytest.mark.parametrize(
    ("lines", "got"),
    [
        (["1 . 0 10 A C", "1 . 0 20 T G"], "none of 1:20:A:C (1 in all)"),  # of the other strand
        (["1 . 0 10 A C", "1 . 0 20 A G"], "none of 1:20:A:C (1 in all)"),
        (["1 . 0 10 A C", "1 . 0 21 A C"], "none of 1:20:A:C (1 in all)"),
        (["1 . 0 10 A 0", "1 . 0 10 A C", "1 . 0 20 A C"], "several of 1:10:A:C (1 in all)"),
    ],
)
def test_ingest__ends_before_genotypes_are_read_without_one_record_of_each_site(tmp_path, lines, got):
    path = write_cohort(tmp_path / "a.bed", np.zeros((len(lines), N)), positions=range(len(lines)), ids=IDS)
    path.with_suffix(".bim").write_text("\n".join(lines) + "\n")
    with refused("public-site-not-once") as refusal:
        ingest_chromosome(
            path, chromosome="1", store=tmp_path / "s", phased="any", sites=table_of_sites((10, 20))
        )
    assert got in str(refusal.value)
    assert not (tmp_path / "s").exists()


def test_ingest__reads_the_sites_of_all_parts_and_no_other_variants(tmp_path):
    copies = cohort(6)
    parts = [
        write_cohort(tmp_path / f"{place}.bed", copies[block], positions=POSITIONS[block], ids=IDS)
        for place, block in enumerate((slice(3), slice(3, None)))
    ]
    sites = table_of_sites().iloc[[0, 4]]
    counts = ingest_chromosome(parts, chromosome="1", store=tmp_path / "s", phased="any", sites=sites)
    assert (counts["n_records"], counts["n_variants"]) == (5, 2)
    variants = HaplotypeStore.open(tmp_path / "s").variants
    assert variants[["position", "ref", "alt"]].to_numpy().tolist() == [[10, REF, ALT], [50, REF, ALT]]
    with refused("public-site-not-once", "1:40:A:C", "1:50:A:C"):
        ingest_chromosome(
            parts[0], chromosome="1", store=tmp_path / "t", phased="any", sites=table_of_sites()
        )


def test_take_sites__of_a_chromosome_without_a_public_site(tmp_path):
    stores = []
    for contig in ("1", "2"):
        path = write_cohort(
            tmp_path / f"{contig}.bed", cohort(7), positions=POSITIONS, ids=IDS, contig=contig
        )
        store, options = tmp_path / f"{contig}.zarr", {"phased": "any", "sites": table_of_sites()}
        ingest_chromosome(path, chromosome=contig, store=store, **options)
        stores.append(HaplotypeStore.open(store))
    assert stores[1].n_variants == 0
    assert [len(list(part.blocks())) for part in take_sites(stores, table_of_sites()).alleles] == [1, 0]


def test_ingest__raise_on_a_form_that_lists_no_variants(tmp_path):
    path = write_cohort(tmp_path / "a.vcf", cohort(8), positions=POSITIONS, ids=IDS)
    with refused("form-without-fixed-sites", error=UsageError):
        ingest_chromosome(path, chromosome="1", store=tmp_path / "s", sites=table_of_sites())


def test_rows__of_haplotypes_whose_alleles_are_exchanged(tmp_path):
    """Phased calls of a .pgen and of a BGEN, in one order and in the other."""
    alleles, sites = np.array([[0, 1, 1, 0, 1, 1], [0, 0, 0, 1, 1, 0]]), table_of_sites((4, 6))
    found = []
    for first, second, numbers in ((REF, ALT, alleles), (ALT, REF, 1 - alleles)):
        pvar = ("#CHROM\tPOS\tID\tREF\tALT", *(f"1\t{position}\t.\t{first}\t{second}" for position in (4, 6)))
        values = [(255 * (1 - row)).reshape(-1, 2).tolist() for row in numbers]
        variants = [
            variant(position, row, alleles=(first, second))
            for position, row in zip((4, 6), values, strict=True)
        ]
        for path in (
            write_pgen(tmp_path / first, alleles=numbers.tolist(), pvar=pvar),
            write_bgen(tmp_path / f"{first}.bgen", variants),
        ):
            (batch,) = genotype_reader(path, "1", sites=sites).batches(9)
            assert not batch.missing.any()
            found.append(unpack(batch.haplotypes, 6))
    for haplotypes in found:
        np.testing.assert_array_equal(haplotypes, alleles)
