"""The same cohort gives the same sums in every form of genotype files, and they are the sums by hand."""

import pytest

from dpgrs.scoring.apply import apply_scores
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
