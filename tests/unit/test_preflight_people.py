from pathlib import Path

import pytest

from dpgrs.preflight.people import chosen_people
from dpgrs.study.settings import resolve
from vcf_files import SAMPLES

PAIRS = "IID1\tIID2\tKINSHIP\nA\tB\t0.25\n"


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ids.txt").write_text("A\n")
    Path("others.txt").write_text("HG00096\n")
    Path("consent.tsv").write_text("sample\tconsent\nA\t1\nB\t1\nC\t2\n")
    Path("pairs.kin0").write_text(PAIRS)


def choose(people, *, mode="benchmark", samples=SAMPLES, cohort=None, tell=None):
    config = resolve({"mode": mode, "cohort": cohort or {"source": "vcf"}, "people": people})
    return chosen_people(config, samples, shows_ids=mode == "benchmark", tell=tell)


def test_chosen_people__nothing_asked():
    assert choose({}) == (SAMPLES, [])


@pytest.mark.parametrize(
    ("people", "chosen"),
    [
        ({"remove": "ids.txt"}, ["B", "C"]),
        ({"consent": {"file": "consent.tsv", "allow": 1}}, ["A", "B"]),
        ({"related": "pairs.kin0"}, ["A", "C"]),
        ({"related": "ids.txt"}, ["B", "C"]),
    ],
)
def test_chosen_people__of_a_benchmark(people, chosen):
    assert choose(people) == (chosen, [])


@pytest.mark.parametrize("mode", ["benchmark", "release"])
def test_chosen_people__tell_the_operator_of_ids_that_are_nobodys(mode):
    Path("leave.txt").write_text("A\nZ\nY\n")
    told = []
    assert choose({"remove": "leave.txt"}, mode=mode, tell=told.append) == (["B", "C"], [])
    assert told == [
        "2 of 3 people with genotypes are chosen (`people`).",
        "leave.txt: 2 of its ids are not in the genotypes.",
    ]
    told.clear()
    choose({"remove": "ids.txt"}, mode=mode, tell=told.append)
    assert told == ["2 of 3 people with genotypes are chosen (`people`)."]


def test_chosen_people__unread_genotypes_still_have_their_settings_checked():
    people, lines = choose({"consent": {"allow": 1}}, samples=None)
    assert people is None
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("people", "message"),
    [
        ({"keep": "absent.txt"}, "`people`: `absent.txt` must be a table, but is not there."),
        ({"remove": "others.txt"}, "`people`: `others.txt` must share sample ids with the genotypes"),
        ({"keep": "ids.txt"}, "`people` must leave at least 2 people of the genotypes, got 1 of 3."),
        (
            {"consent": {"file": "consent.tsv"}},
            "`people.consent.allow` must list the codes that let a person",
        ),
        ({"consent": {"allow": 1}}, "`people.consent.allow` must come with `people.consent.file`"),
        (
            {"consent": {"file": "consent.tsv", "allow": [1, 0]}},
            "must hold codes of people who consented, got `0`",
        ),
    ],
)
def test_chosen_people__raise_on(people, message):
    (line,) = choose(people)[1]
    assert message in line


def test_chosen_people__simulated_people_are_all_taken():
    (line,) = choose({"remove": "ids.txt"}, cohort={"source": "simulate"}, samples=None)[1]
    assert line.startswith("`people.remove` is for `cohort.source: vcf`, got ids.txt with simulated people.")


def test_chosen_people__a_release_takes_fixed_lists_alone():
    assert choose({"related": "ids.txt"}, mode="release") == (["B", "C"], [])
    (line,) = choose({"related": "pairs.kin0"}, mode="release")[1]
    assert "`people.related` must be a fixed list of ids in a release, got the table of pairs" in line
    assert "one person could move the rows of others" in line


@pytest.mark.parametrize(
    ("people", "message"),
    [
        ({"keep": "ids.txt"}, "`people` must leave at least 2 people of the genotypes, got fewer."),
        (
            {"keep": "others.txt"},
            "must share sample ids with the genotypes, got AA99999 where those have A (patterns: A is a "
            "letter, 9 a digit).",
        ),
    ],
)
def test_chosen_people__a_release_shows_neither_ids_nor_numbers(people, message):
    (line,) = choose(people, mode="release")[1]
    assert message in line
    assert "HG00096" not in line


@pytest.mark.parametrize("mode", ["benchmark", "release"])
def test_chosen_people__tell_the_operator_of_ids_that_differ_in_nothing_seen(mode):
    told, samples = [], ("HG1", "hg1", "HG1 ", "HG\u200b1", "HG2", "\uff28G2", "HG3")
    assert choose({}, mode=mode, samples=samples, tell=told.append) == (samples, [])
    assert told == [
        "4 of 7 sample ids of the genotypes differ from another one only in case, blanks or invisible "
        "characters. One person under two ids is in the data twice and loses twice as much: leave one out by "
        "`people.remove`."
    ]


def test_chosen_people__tell_of_ids_in_a_list_that_are_almost_in_the_genotypes():
    told = []
    Path("leave.txt").write_text("A\nb\nZ\n")
    assert choose({"remove": "leave.txt"}, tell=told.append) == (["B", "C"], [])
    assert told[1] == (
        "leave.txt: 2 of its ids are not in the genotypes. 1 of these differ from one there only in case, "
        "blanks or invisible characters: are they the same people?"
    )
