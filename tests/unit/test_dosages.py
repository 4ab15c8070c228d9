"""Fractional dosages: their grid, their nearest calls, and how files and variant sets pass them on."""

import numpy as np
import pandas as pd
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

from dosage_files import dosage_text
from dpgrs.errors import DpgrsError, UsageError
from dpgrs.genotypes.bits import unpack
from dpgrs.genotypes.dosages import (
    DOSAGE_STEP,
    LARGEST_DOSAGE,
    STEPS_PER_ALLELE,
    dosage_steps,
    fill_dosages,
    half_coded,
    hard_calls,
    nearest_planes,
)
from dpgrs.io import _dosage_kernels as kernels
from dpgrs.io.genotype_files import genotype_header, genotype_reader
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.site_variants import take_sites
from dpgrs.io.store_check import check_store
from dpgrs.io.variant_set import VariantSet
from dpgrs.io.variant_set_writer import StoredAlleles, VariantSelection, write_variant_set
from plink_sets import write_bed
from refused import refused
from vcf_files import record, write_bgzf, write_text


def read(path, *, is_compiled=True, **options):
    """Return the dosages of a file as floats, NaN where missing, and its only batch."""
    options |= {"phased": "any", "field": "DS"}
    reader = genotype_reader(path, "1", **options)
    reader._options["is_compiled"] = is_compiled
    (batch,) = reader.batches(100)
    is_missing = unpack(batch.missing, 2 * batch.dosages.shape[1])[:, ::2]
    return np.where(is_missing, np.nan, batch.dosages * DOSAGE_STEP), batch, reader


def ds(position, fields, **options):
    return record(position, fields, format_="GT:DS", **options)


def test_hard_calls__are_nearest_and_larger_halfway():
    half = STEPS_PER_ALLELE // 2
    steps = np.array([[0, half - 1, half, 3 * half - 1, 3 * half, LARGEST_DOSAGE]], dtype=np.uint16)
    counts = hard_calls(steps).reshape(1, -1, 2).sum(axis=2)
    assert counts.tolist() == [[0, 0, 1, 1, 2, 2]]
    haplotypes, missing = nearest_planes(steps, np.array([[False] * 5 + [True]]))
    assert unpack(haplotypes, 12).tolist() == [[0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 0]]
    assert unpack(missing, 12).tolist() == [[0] * 10 + [1, 1]]


def test_fill_dosages__with_two_alleles_of_the_mean():
    steps = np.array([[1, 2], [3, 4]], dtype=np.uint16)
    filled = fill_dosages(steps, np.array([[True, False], [False, True]]), np.array([0.25, 1.0]))
    assert filled.tolist() == [[STEPS_PER_ALLELE // 2, 2], [3, LARGEST_DOSAGE]]
    assert filled.dtype == np.uint16


def test_half_coded__lies_between_minus_one_and_one():
    steps = np.array([[0, STEPS_PER_ALLELE, LARGEST_DOSAGE]], dtype=np.uint16)
    assert (half_coded(steps) * DOSAGE_STEP).tolist() == [[-1, 0, 1]]


def test_read__decimals_dots_and_left_out_subfields(tmp_path):
    text = dosage_text(
        ds(10, "0|0:0.123 0|1:1 ./.:."),
        ds(20, "0|0:.5 .|. .", id_="x"),
        record(30, "1.25:0|0 2:1|1 1e-1:0|0", format_="DS:GT"),
        record(40, "0.0004 1.9999 2.000", format_="DS"),
        ds(50, "0|0:0.1,0.2 ./.:1,. 0|.:.", alt="C,G"),
    )
    found, batch, _ = read(write_text(tmp_path / "a.vcf", text))
    nan = np.nan
    wanted = [[0.123, 1, nan], [0.5, nan, nan], [1.25, 2, 0.1], [0.0004, 1.9999, 2], [0.1, 1, nan]]
    wanted.append([0.2, nan, nan])
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    assert np.nanmax(np.abs(found - wanted)) <= DOSAGE_STEP / 2
    assert batch.variants["alt"].tolist() == ["C", "C", "C", "C", "C", "G"]


def test_read__people_without_dosages_by_their_calls(tmp_path):
    # With and without somebody else, whose dosage brings the subfield.
    fields = "0|1:. 1|1 ./1:. 1:. ./.:."
    text = dosage_text(ds(10, f"{fields} ./.:0.3"), samples=(*"ABCDEF",))
    found, *_ = read(write_text(tmp_path / "a.vcf", text))
    calls = " ".join(field.partition(":")[0] for field in fields.split())
    alone, *_ = read(write_text(tmp_path / "b.vcf", dosage_text(record(10, calls), samples=(*"ABCDE",))))
    assert np.array_equal(found[:, :-1], [[1, 2, np.nan, 2, np.nan]], equal_nan=True)
    assert np.array_equal(alone, found[:, :-1], equal_nan=True)
    text = dosage_text(ds(10, "1|2:0.9,. 1|2:.,. 1|2:.", alt="C,G"))
    assert (read(write_text(tmp_path / "c.vcf", text))[0].round(1) == [[0.9, 1, 1], [1, 1, 1]]).all()


def test_read__records_without_dosages_by_their_calls(tmp_path):
    text = dosage_text(
        ds(10, "0|0:0.5 0|1:1 1|1:2"),
        record(20, "0/1 1/1 0/.", alt="C,G"),
        record(30, "7", format_="DP", n_columns=None).replace("\t7", "\t7\t7\t7"),
    )
    found, _, reader = read(write_text(tmp_path / "a.vcf", text))
    wanted = np.array([[0.5, 1, 2], [1, 2, np.nan], [0, 0, np.nan]])
    assert np.array_equal(found, wanted, equal_nan=True)
    assert reader.skipped == {"no_gt": 1}


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ("0|0:2.01 0|0:0 0|0:0", "line 6: the dosage of sample 1 (column 10) must be a number from 0 to 2"),
        ("0|0:0 0|0:-0.1 0|0:0", "the dosage of sample 2 (column 11) must be"),
        ("0|0:0 0|0:nan 0|0:0", "the dosage of sample 2 (column 11) must be"),
        ("0|0:0 0|0:0 0|0:1.2.3", "the dosage of sample 3 (column 12) must be"),
        ("0|0:0 0|0: 0|0:0", "the dosage of sample 2 (column 11) must be"),
        ("0|0:0 0|0:1e9999 0|0:0", "the dosage of sample 2 (column 11) must be"),
        ("0|0:0 0|0:21e-1 0|0:0", "the dosage of sample 2 (column 11) must be"),
        ("0|0:0 0|0:e-1 0|0:0", "the dosage of sample 2 (column 11) must be"),
        ("0|0:0,1 0|0:0 0|0:0", "one number for each ALT, got 2 for 1"),
    ],
)
@pytest.mark.parametrize("is_compiled", [True, False])
def test_read__raise_on_dosages_that_are_none(tmp_path, fields, complaint, is_compiled):
    path = write_text(tmp_path / "a.vcf", dosage_text(ds(10, fields)))
    with pytest.raises(DpgrsError) as raised:
        read(path, is_compiled=is_compiled)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


ODD_DECIMALS = [".", "0", "2", "1.", ".5", "0002", "1.000000000", "0.1234567891", "1e-05", "5E-1", "2.0"]
ODD_DECIMALS += ["1.99999999E-9", "12.5e-1", "5e-10", "1e0", "1e-12"]
DECIMAL = st.one_of(
    st.decimals(0, 2, places=3).map(str), st.floats(0, 2).map(repr), st.sampled_from(ODD_DECIMALS)
)


@given(st.lists(st.lists(DECIMAL, min_size=3, max_size=3), min_size=1, max_size=4), st.data())
def test_read__compiled_and_plain_code_give_the_same_bits(tmp_path_factory, rows, data):
    path = tmp_path_factory.mktemp("vcf") / "a.vcf"
    records = [ds(10 + i, " ".join(f"./.:{value}" for value in row)) for i, row in enumerate(rows)]
    write_text(path, dosage_text(*records))
    compiled, plain = (read(path, is_compiled=flag)[1] for flag in (True, False))
    assert np.array_equal(compiled.dosages, plain.dosages)
    assert np.array_equal(compiled.haplotypes, plain.haplotypes)
    assert np.array_equal(compiled.missing, plain.missing)
    wanted = [
        [0 if value == "." else round(float(value) * STEPS_PER_ALLELE) for value in row] for row in rows
    ]
    assert compiled.dosages.tolist() == wanted


@pytest.mark.parametrize("pack_dosages", [kernels.pack_dosages, kernels.pack_dosages.py_func])
@given(st.lists(st.integers(kernels.MISSING, LARGEST_DOSAGE), min_size=1, max_size=70))
def test_pack_dosages__is_nearest_planes(pack_dosages, steps):
    steps = np.array(steps, dtype=np.int32)
    wanted = np.maximum(steps, 0).astype(np.uint16)
    planes = nearest_planes(wanted, steps == kernels.MISSING)
    found = [np.full_like(plane, 7) for plane in (wanted, *planes)]
    pack_dosages(steps, *found)
    assert all(np.array_equal(one, other) for one, other in zip(found, (wanted, *planes), strict=True))


@given(st.binary(max_size=60), st.integers(0, 2), st.integers(1, 3), st.integers(1, 4))
def test_read_numbers__never_reads_beyond_its_text(text, place, n_most, n_samples):
    columns = np.frombuffer(b"7\t1:2:3,1" + text, dtype=np.uint8)
    arrays = [(np.full((n_samples, n_most), 7.0), np.full(n_samples, 7)) for _ in range(2)]
    compiled = kernels.read_numbers(columns[9:], place, *arrays[0])
    assert compiled == kernels.read_numbers.py_func(columns[9:].tobytes(), place, *arrays[1])
    for one, other in zip(*arrays, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not (arrays[0][0] < 0).any()


def test_ingest__keeps_chosen_people_and_verifies(tmp_path):
    text = dosage_text(
        ds(10, "0|0:0.123 0|1:1.4 ./.:."),
        record(20, "0|1 1|1 .|0"),
        ds(30, "0|0:0.1,0.2 1|2:1,0.9 2|2:.", alt="C,G"),
        ds(40, "0|1:. 1 0|1:0.25"),
    )
    vcf = write_bgzf(tmp_path / "a.vcf.gz", text)
    people = write_text(tmp_path / "people.txt", "A\nC\n")
    for name, options in (("all", {}), ("some", {"people": people})):
        ingest_chromosome(vcf, chromosome="1", store=tmp_path / name, phased="any", field="DS", **options)
        assert check_store(tmp_path / name, vcf)["n_variants"] == 5
    everybody, some = (HaplotypeStore.open(tmp_path / name) for name in ("all", "some"))
    assert everybody.has_dosages
    assert np.array_equal(some.dosages(), everybody.dosages()[:, [0, 2]])
    assert everybody.attributes["options"]["field"] == "DS"


def test_verify__finds_a_changed_dosage(tmp_path):
    vcf = write_bgzf(tmp_path / "a.vcf.gz", dosage_text(ds(10, "0|0:0.123 0|1:1.4 1|1:2")))
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "s", phased="any", field="DS")
    zarr.open_group(tmp_path / "s", zarr_format=2)["dosages"][0, 1] -= 1
    with refused("store-differs", "sample 2", "column 11", "1:10"):
        check_store(tmp_path / "s", vcf)


def test_reader__raise_where_there_are_no_dosages(tmp_path):
    vcf = write_text(tmp_path / "a.vcf", dosage_text(ds(10, "0|0:0 0|0:0 0|0:0"), contigs=("1", "X")))
    with refused("phased-with-dosages", "`phased`", error=UsageError):
        genotype_reader(vcf, "1", field="DS")
    for name in ("X", "chrX", "MT", "23", "chr24", "26", "CHRX", "chrM", "NC_000023.11", "X_par"):
        with refused("dosage-scale-unknown"):
            genotype_reader(vcf, name, phased="any", field="DS")
    for name in ("1", "chr22", "01", "NC_000021.9", "PAR1", "XY"):  # of which everybody has two
        assert genotype_reader(vcf, name, phased="any", field="DS")
    assert genotype_header(vcf).samples == ("A", "B", "C")


def store_of(tmp_path, *records, name="1"):
    path = write_bgzf(tmp_path / f"{name}.vcf.gz", dosage_text(*records))
    ingest_chromosome(path, chromosome="1", store=tmp_path / name, phased="any", field="DS")
    return HaplotypeStore.open(tmp_path / name)


def test_variant_set__fills_by_frequency_and_gives_half_coding(tmp_path):
    store = store_of(tmp_path, ds(10, "0|0:0.5 ./.:. 1|1:2"))
    alleles = StoredAlleles(store, np.arange(1))
    selection = VariantSelection(
        (alleles,), (store.variants,), np.zeros(1, np.int32), np.array([0.375]), 1, {}
    )
    counts = write_variant_set(tmp_path / "variant_set", [store], selection)
    variant_set = VariantSet.open(tmp_path / "variant_set")
    assert counts["n_filled"] == 2
    assert (variant_set.genotypes() * DOSAGE_STEP).tolist() == [[-0.5, -0.25, 1]]
    assert variant_set.genotypes().dtype == np.int16


def sites_of(*alts):
    """Return public sites at one position."""
    places = {"contig": "1", "position": 10, "id": ".", "ref": "A", "alt": alts}
    return pd.DataFrame(places | {"frequency": 0.25, "rank": range(len(alts))})


def test_take_sites__in_the_order_of_the_sites(tmp_path):
    store = store_of(
        tmp_path, ds(10, "0|0:0.5 ./.:. ./.:.", ref="AT", alt="CT"), ds(10, "0|0:1 0|1:1.75 ./.:.", alt="G")
    )
    (alleles,) = take_sites([store], sites_of("G", "C")).alleles
    ((_, (haplotypes, missing, dosages)),) = alleles.blocks()
    assert (dosages * DOSAGE_STEP).tolist() == [[1, 1.75, 0], [0.5, 0, 0]]
    assert unpack(missing, 6).tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 1, 1]]
    assert unpack(haplotypes, 6).tolist() == [[0, 1, 1, 1, 0, 0], [0, 1, 0, 0, 0, 0]]


def test_take_sites__raise_on_dosages_without_a_record_or_with_several(tmp_path):
    store = store_of(tmp_path, ds(10, "0|0:0 0|0:0 ./.:."), ds(10, "0|0:0 0|1:1 ./.:0.5", ref="AT", alt="CT"))
    with refused("public-site-not-once", "1:10:A:C"):
        take_sites([store], sites_of("C"))
    with refused("public-site-not-once", "1:10:A:G"):
        take_sites([store], sites_of("G"))


def test_dosage_steps__of_plink_dosages_are_nearest():
    assert dosage_steps(np.float32(2015 / 16384)) == 504


def test_reader__raise_on_a_bed(tmp_path):
    with refused("no-dosages"):
        genotype_reader(write_bed(tmp_path / "a"), "1", phased="any", field="DS")


def read_compiled(text):
    return kernels.read_number(np.frombuffer(text, dtype=np.uint8), 0)


def read_plainly(text):
    return kernels.read_number.py_func(text, 0)


@pytest.mark.parametrize("read_number", [read_compiled, read_plainly])
def test_read_number__is_that_of_python(read_number):
    for text in (b"5.2e-05", b"1E-9", b"2e-1", b"12.5e-1", b".5", b"1.", b"0.123456789012", b"7e3", b"1e-10"):
        assert read_number(text + b":0") == (float(text), len(text))
    for odd in (b"1e", b"1e-", b"e-1", b"1e-+", b"1.2.3", b"x", b""):
        assert read_number(odd)[0] == -1
    assert np.isnan(read_number(b".")[0])
