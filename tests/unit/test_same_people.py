"""People of a cohort who are in the public reference under other ids."""

import numpy as np
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.genotypes import kinship as kinship_core
from dpgrs.genotypes.kinship import has_same_person, kinship
from dpgrs.io import same_people
from dpgrs.io.same_people import SamePeople, count_same_people
from refused import refused
from vcf_files import record, vcf_text, write_text

N_VARIANTS, N_PEOPLE = 400, 30
DRAWS = np.random.default_rng(44)
FREQUENCY = DRAWS.uniform(0.25, 0.75, N_VARIANTS)[:, np.newaxis]


def haplotypes_of(n):
    return (DRAWS.random((N_VARIANTS, n)) < FREQUENCY).astype(np.int8)


def write_calls(folder, name, ids, haplotypes, *, missing=None):
    """Write a VCF of phased calls; of some pairs of variant and person they are missing."""
    first, second = haplotypes[:, ::2], haplotypes[:, 1::2]
    calls = [[f"{a}|{b}" for a, b in zip(*pair, strict=True)] for pair in zip(first, second, strict=True)]
    for row, person in missing if missing is not None else ():
        calls[row][person] = ".|."
    records = [record(100 + row, " ".join(own), contig="21") for row, own in enumerate(calls)]
    return write_text(folder / name, vcf_text(*records, samples=ids, contigs=("21",)))


@pytest.fixture
def files(tmp_path):
    """A cohort, and a reference with three of its people: one with errors, one with missing calls."""
    cohort, others = haplotypes_of(2 * N_PEOPLE), haplotypes_of(2 * N_PEOPLE)
    same = cohort[:, 10:16].copy()
    wrong = DRAWS.choice(N_VARIANTS, 8, replace=False)
    same[wrong, 2] ^= 1
    # A child of a person of the cohort is somebody else.
    child = np.stack([cohort[:, 0], haplotypes_of(1)[:, 0]], axis=1)
    reference = np.concatenate([others, same, child], axis=1)
    n_reference = reference.shape[1] // 2
    missing = [(row, n_reference - 2) for row in range(0, N_VARIANTS, 20)]
    return (
        write_calls(tmp_path, "cohort.vcf", [f"A{i}" for i in range(N_PEOPLE)], cohort),
        write_calls(
            tmp_path, "reference.vcf", [f"B{i}" for i in range(n_reference)], reference, missing=missing
        ),
    )


def test_count_same_people__finds_them_under_other_ids(files):
    cohort, reference = files
    found = count_same_people([cohort], [reference])
    assert found == SamePeople(N_VARIANTS, N_PEOPLE, 3, N_PEOPLE + 4, 0)
    everybody = count_same_people([cohort], [cohort])
    assert (everybody.n_same, everybody.n_alike) == (N_PEOPLE, 0)


def test_count_same_people__compares_some_of_many_variants(files, monkeypatch):
    monkeypatch.setattr(same_people, "MOST_COMPARED", 250)
    monkeypatch.setattr(same_people, "MOST_COMMON", 300)
    found = count_same_people([files[0]], [files[1]])
    assert (found.n_variants, found.n_same) == (250, 3)


def test_count_same_people__people_of_a_reference_who_are_alike(tmp_path, files):
    haplotypes = haplotypes_of(2 * N_PEOPLE)
    ids = [f"C{i}" for i in range(N_PEOPLE + 1)]
    twice = write_calls(tmp_path, "t.vcf", ids, np.concatenate([haplotypes, haplotypes[:, :2]], axis=1))
    found = count_same_people([files[0]], [twice])
    assert (found.n_same, found.n_alike) == (0, 2)
    assert "2 of 31 people of the reference are as much alike" in " ".join(found.in_words())


def test_count_same_people__raise_on_too_few_variants(files, monkeypatch):
    monkeypatch.setattr(same_people, "FEWEST_COMPARED", N_VARIANTS + 1)
    with refused("too-few-shared-variants", "401", "got 400"):
        count_same_people([files[0]], [files[1]])


def test_kinship__is_the_formula(monkeypatch):
    """Against loops over pairs and variants."""
    monkeypatch.setattr(kinship_core, "BLOCK", 3)
    first, second = (DRAWS.integers(-2, 3, (60, n)).astype(np.int8) for n in (7, 5))
    first[:, 0], second[:, 1] = np.where(first[:, 0] == 1, 0, first[:, 0]), first[:, 3]
    expected = np.empty((7, 5))
    for i, j in np.ndindex(expected.shape):
        pairs = [
            (x, y) for x, y in zip(first[:, i].tolist(), second[:, j].tolist(), strict=True) if min(x, y) >= 0
        ]
        fewest = min(sum(x == 1 for x, _ in pairs), sum(y == 1 for _, y in pairs))
        squares = sum((x - y) ** 2 for x, y in pairs)
        expected[i, j] = 0.5 - squares / (4 * fewest) if fewest else -np.inf
    assert kinship(first, second) == pytest.approx(expected, abs=1e-6)
    assert has_same_person(first, second).tolist() == [i == 3 for i in range(7)]
    assert not has_same_person(second, second, is_within=True).any()


def test_compare_people__tells_counts_and_no_ids_and_writes_nothing(files):
    cohort, reference = files
    before = sorted(cohort.parent.rglob("*"))
    result = CliRunner().invoke(main, ["compare-people", str(cohort), "--reference", str(reference)])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "3 of 30 people of the cohort have somebody in the reference with nearly the same genotypes (kinship "
        "above 0.354), by 400 common variants."
    )
    assert lines[1].startswith("These people, or their identical twins, would not be protected")
    assert lines[-1] == "These counts depend on private data: publish none of them."
    assert sorted(cohort.parent.rglob("*")) == before
    assert "A5" not in result.output
