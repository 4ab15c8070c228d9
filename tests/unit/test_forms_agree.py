"""The same cohort gives the same sums in every form of genotype files, and they are the sums by hand."""

import re

import numpy as np
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import unpack
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.store_check import check_store
from dpgrs.scoring.apply import apply_scores
from dpgrs.scoring.writing import caveats
from genotype_forms import write_called_bgen, write_called_pgen, write_forms, write_score

CALLED = ("vcf", "vcf.gz", "bcf", "vcz", "pgen", "bgen")


def forms_of_calls(folder, records, **options):
    paths = write_forms(folder, records, **options)
    writers = {"pgen": write_called_pgen, "bgen": write_called_bgen}
    return paths | {name: write(folder, paths["vcf"]) for name, write in writers.items()}


def sums_of(path, score, **options):
    options = {"min_matched": 0} | options
    return apply_scores([path], [score], **options).sums[0].tolist()


def assert_sums(paths, score, expected, **options):
    """Check the sums of a score by each form, which a failure names."""
    found = {name: sums_of(path, score, **options) for name, path in paths.items()}
    assert found == {name: expected for name in paths}  # noqa: C420 - a list of its own for each


# Copies of REF: an ALT that is no letters takes its place.
STAR_CALLS, REF_COPIES = "0/0 0/1 1/2 2/2 0/2 1/1", [2, 1, 0, 0, 1, 0]


@pytest.mark.parametrize("symbol", ["*", "<DEL>", "<NON_REF>", "<*>"])
@pytest.mark.parametrize("pair", ["AG", "TC"])
def test_sums__of_ref_beside_an_alt_that_is_no_letters(tmp_path, symbol, pair):
    paths = forms_of_calls(tmp_path, [(1000, "A", f"G,{symbol}", "GT", STAR_CALLS)])
    score = write_score(tmp_path / "s.txt", [(1, 1000, *pair, 1)])
    assert_sums(paths, score, REF_COPIES)
    other = write_score(tmp_path / "t.txt", [(1, 1000, *pair[::-1], 1)])
    assert_sums(paths, other, [0, 1, 1, 0, 0, 2])


@pytest.mark.parametrize("symbol", ["*", "<DEL>"])
def test_sums__of_ref_beside_a_record_of_such_an_alt(tmp_path, symbol):
    records = [
        (1000, "A", "G", "GT", "0/0 0/1 1/0 0/0 0/0 1/1"),
        (1000, "A", symbol, "GT", "0/0 0/0 0/1 1/1 0/1 0/0"),
    ]
    paths = forms_of_calls(tmp_path, records)
    score = write_score(tmp_path / "s.txt", [(1, 1000, "A", "G", 1)])
    assert_sums(paths, score, REF_COPIES)


def test_sums__of_ref_of_a_deletion_beside_a_star(tmp_path):
    paths = forms_of_calls(tmp_path, [(1000, "AT", "A,*", "GT", STAR_CALLS)])
    score = write_score(tmp_path / "s.txt", [(1, 1000, "AT", "A", 1)])
    assert_sums(paths, score, REF_COPIES)


def test_sums__missing_calls_beside_a_star_are_filled_by_the_public_frequency(tmp_path):
    paths = forms_of_calls(tmp_path, [(1000, "A", "G,*", "GT", "0/0 ./. 1/2")])
    score = tmp_path / "s.txt"
    names = "chr_name\tchr_position\teffect_allele\tother_allele\teffect_weight\tallelefrequency_effect"
    score.write_text(f"{names}\n1\t1000\tA\tG\t1\t0.25\n")
    assert_sums(paths, score, [2, 0.5, 0])


def test_sums__dosages_of_ref_beside_a_star(tmp_path):
    columns = "0/0:0,0 0/1:0.75,0.25 1/2:1,1 2/2:0,2 0/2:0.25,0.5"
    paths = write_forms(tmp_path, [(1000, "A", "G,*", "GT:DS", columns)])
    score = write_score(tmp_path / "s.txt", [(1, 1000, "A", "G", 1)])
    assert_sums(paths, score, [2, 1, 0, 0, 1.25], field="DS")


def test_sums__no_star_alone_stands_for_the_other_allele(tmp_path):
    paths = forms_of_calls(tmp_path, [(1000, "A", "*", "GT", "0/1 1/1")])
    score = tmp_path / "s.txt"
    score.write_text("chr_name\tchr_position\teffect_allele\teffect_weight\n1\t1000\tA\t1\n")
    for name in CALLED:
        applied = apply_scores([paths[name]], [score], min_matched=0, only_match=True)
        assert applied.matching.status.tolist() == ["other alleles in the target"], name


def test_sums__alleles_that_are_no_letters_are_passed_over(tmp_path):
    records = [
        (900, "A1", "B2", "GT", "0/1 1/1"),
        (950, "-", "T", "GT", "0/1 1/1"),
        (1000, "A", "G,A1", "GT", "0/1 1/2"),
    ]
    paths = forms_of_calls(tmp_path, records)
    score = write_score(tmp_path / "s.txt", [(1, 1000, "A", "G", 1), (1, 950, "T", "A", 8)])
    assert_sums(paths, score, [1, 0])


def sums_of_dosages(paths, score):
    return {name: sums_of(path, score, field="DS") for name, path in paths.items()}


@pytest.mark.parametrize(
    ("keys", "columns", "expected"),
    [
        # A dosage of one allele counts twice, as its call does.
        ("GT:DS", "1:1 1:. 1/1:2 0:0 0:0.25 0/1:0.5", [2, 2, 2, 0, 0.5, 0.5]),
        ("DS:GT", "0.75:1 2:1/1 .:1 .:.", [1.5, 2, 2, 5.5 / 3]),
        ("GT:HDS", "1:0.75 0/1:0.25,1 .:. 1/1:.", [1.5, 1.25, 4.75 / 3, 2]),
        ("HDS", "0.75 0.25,1 0 1,1", [1.5, 1.25, 0, 2]),
        ("GP", "0.25,0.75 0.25,0.5,0.25 1,0 0,0,1", [1.5, 1, 0, 2]),
        ("HDS:DS", "0.75:0.75 0.25,1:1.25 0:0 1,1:2", [1.5, 1.25, 0, 2]),
    ],
)
def test_sums__of_dosages_on_x_are_twice_those_of_one_allele(tmp_path, keys, columns, expected):
    paths = write_forms(tmp_path, [(5_000_000, "A", "G", keys, columns)], contig="X")
    score = write_score(tmp_path / "s.txt", [("X", 5_000_000, "G", "A", 1)])
    for name, found in sums_of_dosages(paths, score).items():
        assert found == pytest.approx(expected, abs=1e-12), name


@pytest.mark.parametrize(
    ("keys", "columns", "problem"),
    [
        ("GT:DS", "1:2 1/1:2", "must be a number from 0 to 1, as the call has one allele"),
        ("DS", "1 2", "nothing says whether sample 1 (column 10) has one copy of chromosome X or two"),
        ("GT:DS", "0/0:0 .:0.5", "nothing says whether sample 2 (column 11) has one copy of chromosome X"),
        ("GT:HDS", "1:0.5,0.5 0/0:0,0", "must have a number from 0 to 1 for each allele"),
        ("GP", "0.5,0.25,0 1,0,0", "must have a probability for each call, which add up to 1"),
    ],
)
def test_sums__raise_on_dosages_that_are_none(tmp_path, keys, columns, problem):
    paths = write_forms(tmp_path, [(5_000_000, "A", "G", keys, columns)], contig="X")
    score = write_score(tmp_path / "s.txt", [("X", 5_000_000, "G", "A", 1)])
    for path in paths.values():
        with pytest.raises(DpgrsError, match=re.escape(problem)):
            sums_of(path, score, field="DS")


# By DS, HDS, GP and the call, each if those before it are missing.
MIXED = "0/0:0.5:1,1:0,0,1 0/0:.:0.25,1:0,0,1 0/0:.:.:0.25,0.5,0.25 0/1:.:.:. ./.:.:.:."


def test_sums__of_each_person_by_the_first_field_that_is_there(tmp_path):
    paths = write_forms(tmp_path, [(1000, "A", "G", "GT:DS:HDS:GP", MIXED)])
    score = write_score(tmp_path / "s.txt", [("1", 1000, "G", "A", 1)])
    for name, path in paths.items():
        applied = apply_scores([path], [score], field="DS")
        assert applied.sums[0].tolist() == [0.5, 1.25, 1, 1, 3.75 / 4], name
        assert applied.counts["calls_as_dosages"] == 1, name


def test_sums__of_calls_in_a_file_without_dosages_are_counted(tmp_path):
    paths = forms_of_calls(tmp_path, [(1000, "A", "G", "GT", "0/0 0/1 1/1 ./.")])
    score = write_score(tmp_path / "s.txt", [("1", 1000, "G", "A", 1)])
    for name in ("vcf", "vcf.gz", "bcf", "vcz", "pgen"):
        applied = apply_scores([paths[name]], [score], field="DS")
        assert applied.sums[0].tolist() == [0, 1, 2, 1], name
        assert applied.counts["calls_as_dosages"] == 3, name
        assert "calls_as_dosages" not in apply_scores([paths[name]], [score]).counts


def test_ingest__of_dosages_is_the_same_of_every_form(tmp_path, capsys):
    records = [
        (1000, "A", "G", "GT:DS:HDS:GP", MIXED),
        (2000, "C", "T", "HDS", "0,0.5 1,1 . 0.25,0.25 0,0"),
        (3000, "C", "T,*", "GP", "1,0,0,0,0,0 0,0.5,0.5,0,0,0 0,0,0,0,0,1 0,0,0,1,0,0 0,0,0,0,0,0"),
    ]
    for name, path in write_forms(tmp_path, records).items():
        options = {"phased": "any", "field": "DS", "store": tmp_path / f"{name}.zarr"}
        counts = ingest_chromosome(path, chromosome="1", **options)
        store = HaplotypeStore.open(tmp_path / f"{name}.zarr")
        steps = np.array([[0.5, 1.25, 1, 1, 0], [0.5, 2, 0, 0.5, 0], [0, 1.5, 0, 0, 0]])
        assert (store.dosages() / 4096).tolist() == steps.tolist(), name
        missing = unpack(store.missing(), 10)[:, ::2].tolist()
        assert missing == [[0, 0, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1]], name
        assert counts["calls_as_dosages"] == 1, name
        assert "has genotypes without a dosage (DS, HDS, GP) on chromosome 1" in capsys.readouterr().err
        check_store(tmp_path / f"{name}.zarr", tmp_path / "a.vcf")


def test_sums__of_stores_are_said_to_lack_alts_that_are_no_letters(tmp_path):
    records = [(1000, "A", "G,*", "GT", "0|2 1|0 2|2"), (2000, "C", "T", "GT", "0|1 0|0 1|1")]
    vcf = write_forms(tmp_path, records)["vcf"]
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "s.zarr", phased="any")
    score = write_score(tmp_path / "s.txt", [(1, 1000, "A", "G", 1)])
    stored, read = (apply_scores(path, [score]) for path in (tmp_path / "s.zarr", vcf))
    assert stored.counts["alts_left_out_of_stores"] == 1
    assert "alts_left_out_of_stores" not in read.counts
    (line,) = (one for one in caveats({"counts": stored.counts, "scores": []}) if "stores left out" in one)
    assert "1 ALT allele without letters" in line
