import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from dpgrs.cli.main import main
from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import pack, unpack
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.tables.people import (
    choose_people,
    find_people,
    is_never_allowed,
    is_pair_table,
    read_consent,
    read_ids,
    read_pairs,
    take_people,
    unrelated,
)
from dpgrs.study.people_terms import PeopleTerms
from random_cohorts import random_alleles, random_bits
from refused import refused
from vcf_files import record, vcf_text, write_gzip

PEOPLE = ("A1", "B2", "C3", "D4", "E5")
KIN0 = "#FID1\tIID1\tFID2\tIID2\tNSNP\tHETHET\tIBS0\tKINSHIP\n"


def kin0(*pairs):
    return KIN0 + "".join(f"0\t{one}\t0\t{other}\t9\t0.1\t0.1\t{kinship}\n" for one, other, kinship in pairs)


def message_of(caught, folder):
    """Return an error's message without the path of a folder, whose random part may look like an id."""
    return str(caught.value).replace(str(folder), "")


@pytest.mark.parametrize(
    "text",
    [
        "B2\nD4\n",
        "\nB2\r\nD4\n\n",
        "sample\nB2\nD4\n",
        "#IID\nB2\nD4\n",
        "#FID\tIID\n0\tB2\n0\tD4\n",
        "FID IID\n0 B2\n0 D4\n",
        "sex,sample_id\n1,B2\n2,D4\n",
    ],
)
def test_read_ids__same_ids_from_every_dialect(write, text):
    assert read_ids(write(text)) == ["B2", "D4"]


def test_read_ids__raise_on_columns_without_names(write, tmp_path):
    with refused("id-column-unclear", "`sample`", "line 1") as caught:
        read_ids(write("0\tB2\n0\tD4\n"))
    assert "B2" not in message_of(caught, tmp_path)


def test_read_consent__as_dbgap_writes_tables(write):
    text = "# Study accession: phs000000.v1.p1\n#\n\n##\tphv1\tphv2\nSAMPLE_ID\tCONSENT\n\nA1\t1\nB2\t0\n"
    assert read_consent(write(text), column="consent") == {"A1": "1", "B2": "0"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("sample\tgroup\nA1\t1\n", ("consent-columns-missing", "`sample`", "`consent`")),
        ("name\tconsent\nA1\t1\n", ("consent-columns-missing", "`sample`", "`consent`")),
        ("sample\tconsent\nA1\t1\nB2\t1\nA1\t2\n", ("person-twice", "line 4")),
        ("", ("table-empty",)),
    ],
)
def test_read_consent__raise_on(write, tmp_path, text, fault):
    with refused(*fault) as caught:
        read_consent(write(text), column="consent")
    assert "A1" not in message_of(caught, tmp_path)


@pytest.mark.parametrize("code", [None, "", "NA", ".", "-9", "0", "c0", "0.0", "00"])
def test_is_never_allowed__no_consent(code, write):
    assert is_never_allowed(code)
    if code is not None:
        table = write(f"sample\tconsent\nA1\t1\nB2\t{code}\n")
        terms = PeopleTerms(consent=table, allow=("1", code))
        assert choose_people(PEOPLE, terms)[0] == ["A1"]


def test_choose_people__each_by_the_first_reason_and_in_the_genotypes_order(write):
    terms = PeopleTerms(
        keep=write("E5\nD4\nC3\nB2\nnobody\n", "keep.txt"),
        remove=write("A1\nB2\n", "remove.txt"),
        consent=write("IID\tgroup\nA1\t1\nB2\t2\nC3\t1\nD4\t1\nelse\t1\nE5\t1\n", "consent.tsv"),
        consent_column="GROUP",
        allow=("1",),
        related=write("D4\n", "related.txt"),
    )
    chosen, counts = choose_people(PEOPLE, terms)
    assert chosen == ["C3", "E5"]
    assert counts == {
        "n_people": 5,
        "n_chosen": 2,
        "left_out": {"not_kept": 1, "removed": 1, "no_consent": 0, "related": 1},
        "unknown": {"keep": 1, "remove": 0, "consent": 1, "related": 0},
        "alike": {"keep": 0, "remove": 0, "consent": 0, "related": 0},
    }


def test_choose_people__who_is_not_in_the_table_did_not_consent(write):
    table = write("sample\tconsent\nA1\t1\nB2\t2\nC3\t\n")
    chosen, counts = choose_people(PEOPLE, PeopleTerms(consent=table, allow=("1", "2")))
    assert chosen == ["A1", "B2"]
    assert counts["left_out"] == {"no_consent": 3}


def test_choose_people__nothing_asked_takes_everybody():
    assert choose_people(PEOPLE, PeopleTerms())[0] == list(PEOPLE)


@pytest.mark.parametrize(
    ("terms", "fault"),
    [
        ({"remove": "A1\nB2\nC3\nD4\nE5\n"}, ("no-people-left", "`people.remove`")),
        ({"keep": ""}, ("no-people-left", "`people.keep`")),
        ({"remove": 'A1\n"B2"\n'}, ("ids-in-quotes",)),
        ({"remove": "x7\n"}, ("people-not-in-genotypes", "got A9")),
        ({"related": kin0(("x7", "y8", 0.3))}, ("people-not-in-genotypes",)),
        ({"consent": "sample\tconsent\nx7\t1\n"}, ("people-not-in-genotypes",)),
    ],
)
def test_choose_people__raise_on(write, tmp_path, terms, fault):
    given = PeopleTerms(**{name: write(text, name) for name, text in terms.items()}, allow=("1",))
    with refused(*fault) as caught:
        choose_people(PEOPLE, given)
    assert not any(sample in message_of(caught, tmp_path) for sample in (*PEOPLE, "x7"))


def test_read_pairs__of_plink_and_king(write):
    assert read_pairs(write(kin0(("A1", "B2", 0.25)))) == [("A1", "B2", 0.25)]
    king = "FID1\tID1\tFID2\tID2\tN_SNP\tHetHet\tIBS0\tKinship\nf\tA1\tf\tB2\t9\t0.1\t0\t-0.1\n"
    assert read_pairs(write(king)) == [("A1", "B2", -0.1)]
    assert is_pair_table(write(king))
    assert not is_pair_table(write("A1\nB2\n"))
    for kinship in ("nan", "x"):
        with refused("kinship-not-a-number", "line 3"):
            read_pairs(write(kin0(("A1", "B2", 0.25), ("A1", "C3", kinship))))


def test_unrelated__whoever_has_most_relatives_goes_first_else_the_last():
    # A star: its centre goes, not its four points.
    star = [("C3", other, 0.25) for other in ["A1", "B2", "D4", "E5"]]
    assert unrelated(PEOPLE, star, kinship=0.0884) == {"C3"}
    assert unrelated(PEOPLE, [("A1", "E5", 0.25)], kinship=0.0884) == {"E5"}
    assert unrelated(PEOPLE, [("A1", "E5", 0.25)], kinship=0.25) == set()
    assert unrelated(PEOPLE, [("A1", "A1", 0.5), ("A1", "else", 0.5)], kinship=0.1) == set()


@given(st.lists(st.tuples(*[st.sampled_from(PEOPLE)] * 2, st.floats(0, 0.5)), max_size=12), st.randoms())
def test_unrelated__leaves_no_pair_whatever_the_order_of_the_lines(pairs, random):
    dropped = unrelated(PEOPLE, pairs, kinship=0.1)
    left = set(PEOPLE) - dropped
    assert not any(one in left and other in left and one != other and k > 0.1 for one, other, k in pairs)
    shuffled = [(other, one, k) for one, other, k in pairs]
    random.shuffle(shuffled)
    assert unrelated(PEOPLE, shuffled, kinship=0.1) == dropped


def test_choose_people__relatives_who_are_out_already_do_not_count(write):
    terms = PeopleTerms(remove=write("A1\n", "r.txt"), related=write(kin0(("A1", "B2", 0.3)), "k.kin0"))
    assert choose_people(PEOPLE, terms)[0] == ["B2", "C3", "D4", "E5"]


@pytest.mark.parametrize("n_people", [1, 31, 32, 33, 65, 200])
@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_take_people__equals_unpacked_columns(n_people, share):
    words = random_bits(7, 2 * n_people)
    n_chosen = max(1, int(share * n_people))
    places = np.flatnonzero(np.arange(n_people) * n_chosen % n_people < n_chosen)
    alleles = unpack(words, 2 * n_people).reshape(7, n_people, 2)[:, places].reshape(7, -1)
    np.testing.assert_array_equal(take_people(words, places, n_people=n_people), pack(alleles))


@pytest.mark.parametrize(
    ("text", "message"),
    [("A1\nnobody\n", "got somebody else"), ("\n", "got nobody"), (None, "must be a list")],
)
def test_find_people__raise_on(tmp_path, text, message):
    path = tmp_path / "people.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DpgrsError, match=message) as caught:
        find_people(path, PEOPLE)
    assert "nobody\n" not in str(caught.value)


def ingested(folder, name, alleles, samples, *options):
    """Write a VCF of alleles, 2 for a missing one, and read it into a store by the command line."""
    records = (
        record(
            place,
            " ".join("|".join("01."[allele] for allele in call) for call in row.reshape(-1, 2).tolist()),
        )
        for place, row in enumerate(alleles, start=1)
    )
    vcf = write_gzip(folder / f"{name}.vcf.gz", vcf_text(*records, samples=samples))
    command = ["-q", "ingest-chromosome", vcf, "--chromosome", 1, "--output", folder / name, *options]
    result = CliRunner().invoke(main, list(map(str, command)))
    assert result.exit_code == 0, result.output
    return HaplotypeStore.open(folder / name), json.loads(result.stderr)


def test_ingest_chromosome__store_equals_that_of_a_smaller_file(tmp_path, monkeypatch):
    monkeypatch.setattr("dpgrs.io.haplotype_store.CHUNK_VARIANTS", 4)
    samples = [f"S{number}" for number in range(70)]
    alleles = random_alleles(30, 140).astype(int)
    alleles[5:7, ::9] = 2
    alleles[20, 1] = 2  # of S0, who is left out: no missing plane would tell of it
    (tmp_path / "keep.txt").write_text("".join(f"{name}\n" for name in samples[:0:-2]))
    whole = tmp_path / "all.vcf.gz"
    ingested(tmp_path, "all", alleles, samples)
    (tmp_path / "study.yaml").write_text(f"people: {{keep: {tmp_path / 'keep.txt'}}}")
    options = ["--settings", tmp_path / "study.yaml", "--output", tmp_path / "people.txt"]
    result = CliRunner().invoke(main, list(map(str, ["choose-people", whole, *options])))
    assert result.exit_code == 0, result.output
    assert (result.stdout, result.stderr) == ("", "")
    chosen = samples[1::2]
    assert (tmp_path / "people.txt").read_text().split() == chosen
    store, counts = ingested(tmp_path, "chosen", alleles, samples, "--people", tmp_path / "people.txt")
    taken = alleles.reshape(30, 70, 2)[:, 1::2].reshape(30, -1)
    smaller, expected = ingested(tmp_path, "smaller", taken, chosen)
    assert store.sample_id.tolist() == chosen
    assert counts == expected
    np.testing.assert_array_equal(store.haplotypes(), smaller.haplotypes())
    np.testing.assert_array_equal(store.missing(), smaller.missing())


def test_choose_people__counts_are_written_where_they_are_asked_for(tmp_path, write):
    vcf = write_gzip(tmp_path / "a.vcf.gz", vcf_text(record(1, "0|0 0|1 1|1")))
    removed = write("A\nelse\n")
    (tmp_path / "study.yaml").write_text(f"people: {{remove: {removed}}}")
    command = ["choose-people", vcf, "--settings", tmp_path / "study.yaml", "--output", tmp_path / "p.txt"]
    command += ["--counts", tmp_path / "c.json"]
    assert CliRunner().invoke(main, list(map(str, command))).exit_code == 0
    assert (tmp_path / "p.txt").read_text() == "B\nC\n"
    counts = json.loads((tmp_path / "c.json").read_text())
    assert (counts["left_out"], counts["unknown"]) == ({"removed": 1}, {"remove": 1})


def test_choose_people__counts_ids_of_lists_that_are_almost_those_of_the_genotypes(write):
    """Whoever withdrew under such an id is still in: the operator is told."""
    removed = write("hg1\nHG2\u200b\nHg3\nHG4\nelse\n")
    chosen, counts = choose_people(["HG1", "HG2", "HG3", "HG4", "HG5"], PeopleTerms(remove=removed))
    assert chosen == ["HG1", "HG2", "HG3", "HG5"]
    assert (counts["unknown"], counts["alike"]) == ({"remove": 4}, {"remove": 3})
