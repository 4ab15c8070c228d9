"""What preflight says of copies before any job runs."""

import pytest

from dpgrs.preflight import copies
from dpgrs.preflight.checks import problems
from dpgrs.study.settings import resolve
from found_by import all_found, found_by, merged

COPIED = {"cohort": {"copies": {"people": 500}}}


def found(**changes):
    return found_by(copies, resolve(merged(COPIED, changes)))


def test_problems__none_of_copies_of_simulated_people():
    assert problems(resolve(COPIED)) == []
    assert problems(resolve({})) == []


def test_mode__a_release_of_copies_is_refused_with_the_reason():
    (line,) = found(mode="release")
    assert line.startswith("`cohort.copies.people` must be null in a release, got 500: copies are no people")
    assert "no guarantee would hold" in line
    assert found_by(copies, resolve({"mode": "release"})) == []


@pytest.mark.parametrize("term", [{"effective_size": 5}, {"mutation": 0.1}, {"map": "x"}])
def test_terms__are_refused_without_copies(term):
    (line,) = found_by(copies, resolve({"cohort": {"copies": term}}))
    (name,) = term
    assert line == (
        f"`cohort.copies.{name}` must come with `cohort.copies.people`, got it without. "
        "Say how many people to make."
    )


def test_tables_of_people__are_refused():
    lines = found(outcomes={"source": "file", "file": "y.tsv"}, covariates={"file": "x.tsv"})
    assert [line.split(" must ")[0] for line in lines] == ["`outcomes.source`", "`covariates.file`"]
    assert all("says nothing of copies" in line for line in lines)
    assert found(covariates={"pcs": 2}) == []


def test_dosages__are_refused():
    (line,) = found(cohort=COPIED["cohort"] | {"field": "DS", "rows": "people"})
    assert line.startswith("`cohort.field` must be GT with `cohort.copies.people`")


def test_map__is_read_for_every_chromosome(tmp_path):
    named = {"people": 500, "map": str(tmp_path / "{chrom}.map")}
    cohort = {"copies": named, "chromosomes": ["21", "22"]}
    (tmp_path / "21.map").write_text("position cM\n1 0\n2 1\n")
    (line,) = found(cohort=cohort)
    assert line == (
        f"`cohort.copies.map` must be there for every chromosome, got none as {tmp_path / '22.map'}. "
        "Correct the path."
    )
    (tmp_path / "22.map").write_text("no map\n")
    (line,) = found(cohort=cohort)
    assert line.startswith(f"`cohort.copies.map`: `{tmp_path / '22.map'}` must be a genetic map")
    (tmp_path / "22.map").write_text("position cM\n1 0\n2 1\n")
    assert problems(resolve({"cohort": cohort})) == []


def test_table__takes_no_copies():
    lines = all_found({"cohort": {"source": "table", "copies": {"people": 5}}})
    assert any(line.startswith("`cohort.copies.people` is for genotypes, got 5") for line in lines)
