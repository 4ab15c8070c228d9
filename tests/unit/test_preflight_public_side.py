"""What keeps a release from taking one side of the data as public."""

import pytest

from dpgrs.io.files import file_digest
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.preflight.checks import check
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.study.people_terms import terms_of
from dpgrs.study.settings import resolve
from dpgrs.types import Protection
from found_by import all_found, merged
from ledger_requests import create_fixed_key
from plink_sets import write_bed
from release_studies import APPROVAL, CURATION, make_ledger
from vcf_files import record, vcf_text, write_text

PEOPLE = tuple(f"HG{number:05}" for number in range(96, 108))
OTHERS = tuple(f"NA{number}" for number in range(12878, 12890))
SIDES = {"feature": "outcomes", "label": "genotypes"}
RELEASED = [
    (method, protection)
    for method in methods_that("may_be_released")
    for protection in SIDES
    if protection in METHODS[method].protections
]


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Return a function of a protection to settings of a release that nothing is wrong with."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
    create_fixed_key()
    for prefix, people in (("c", PEOPLE), ("r", OTHERS)):
        calls = record(5, " ".join(["0|1"] * len(people)), contig="1")
        write_text(tmp_path / f"{prefix}1.vcf", vcf_text(calls, samples=people, contigs="1"))
    write_outcomes(tmp_path / "y.tsv", PEOPLE)

    def settings(protection):
        digest = file_digest("y.tsv" if protection == "feature" else "c1.vcf")
        declared = {"sha256": digest, "origin": "a public register"}
        return {
            "mode": "release",
            "dataset": {"accession": "demo", "consent": "open", "version": "1"},
            "cohort": {"source": "vcf", "vcf": "c{chrom}.vcf", "chromosomes": [1], "rows": "people"},
            "variants": {"size": 1},
            "outcomes": {"source": "file", "file": "y.tsv"},
            "public": {"reference": "r{chrom}.vcf", "origin": "x", SIDES[protection]: declared},
            "privacy": {
                "epsilon": 1,
                "ledger": str(make_ledger(tmp_path / f"{protection}.jsonl", protection=protection)),
                "protection": protection,
                "neighbours": "replace-one",
            },
            "release": CURATION,
        }

    return settings


def write_outcomes(path, people, value="0.5"):
    path.write_text("".join(f"{name}\t{value}\n" for name in ("sample", *people)).replace(value, "height", 1))


@pytest.mark.parametrize(("method", "protection"), RELEASED)
def test_release__a_complete_study_passes(study, method, protection):
    assert check(study(protection) | {"methods": method}).methods == (method,)


def test_release__those_with_a_public_side_are_of_reusecovs_statistics():
    assert {method for method, _ in RELEASED} == {"reusecov-gauss", "reusecov-proj", "blup", "blup-shared"}
    assert ("blup-shared", Protection.FEATURE) not in RELEASED


@pytest.mark.parametrize("protection", SIDES)
def test_release__holds_people_out_where_who_they_are_is_public(study, protection):
    held_out = {"outcomes": {"test_share": 0.2}, "evaluation": {"metrics": "charged", "epsilon": 1}}
    assert check(merged(study(protection), held_out))


BOTH = [
    (
        {"privacy": {"neighbours": "add-remove"}},
        "`privacy.neighbours` must be replace-one under {0}",
    ),
    (
        {"public": {"{1}": {}}},
        "`public.{1}.sha256` must be given for a release under {0}",
    ),
    ({"public": {"{1}": {}}}, "`public.{1}.origin` must be given for a release under {0} protection"),
    (
        {"public": {"{1}": {"sha256": "0" * 64, "origin": "dbGaP phs000007"}}},
        "`public.{1}.origin` must be a place where anybody can get the files without asking, got dbGaP",
    ),
    (
        {"privacy": {"protection": "full"}},
        "`public.{1}.sha256` is for `privacy.protection: {0}`, got full: nothing rests on it. Leave it out.",
    ),
]


@pytest.mark.parametrize("protection", SIDES)
@pytest.mark.parametrize(("changes", "message"), BOTH)
def test_release__raise_on(study, protection, changes, message):
    (study("feature") if protection == "label" else study("label"))  # a ledger of the other, too
    names = (protection, SIDES[protection])
    changes = {
        section: {key.format(*names): value for key, value in values.items()}
        for section, values in changes.items()
    }
    (settings := study(protection))["public"].update(changes.pop("public", {}))
    (line,) = [line for line in all_found(merged(settings, changes)) if message.format(*names) in line]
    assert line


@pytest.mark.parametrize("protection", SIDES)
def test_release__no_list_chooses_people_where_who_they_are_is_public(study, protection):
    lists = dict.fromkeys(("keep", "remove", "related"), "list.txt") | {"consent": {"file": "list.txt"}}
    settings = merged(study(protection), {"people": lists})
    keys = list(terms_of(resolve(settings)).paths)
    assert len(keys) == 4
    found = all_found(settings)
    for key in keys:
        said = f"`{key}` must be null under {protection} protection, where who is in the study is public"
        assert any(line.startswith(said) for line in found)


def test_release__a_changed_table_of_public_outcomes(study, tmp_path):
    settings = study("feature")
    write_outcomes(tmp_path / "y.tsv", PEOPLE, value="0.25")
    (line,) = all_found(settings)
    assert line.startswith(
        "`outcomes.file` must be the file of `public.outcomes.sha256`, got another. Use the"
    )


def test_release__public_genotypes_are_counted_and_not_hashed(study, tmp_path):
    """Who hashes them is `make_variants`: see test_qc_step.py."""
    settings = study("label")
    declared = settings["public"]["genotypes"]
    declared["sha256"] = ["0" * 64]
    assert check(settings)
    declared["sha256"] = ["0" * 64, "1" * 64]
    (line,) = all_found(settings)
    assert (
        "`cohort.vcf` must be as many files as `public.genotypes.sha256` has digests, 2, got 1. Use" in line
    )
    settings["cohort"]["vcf"] = "c{chrom}*.vcf"
    for name in ("c1b.vcf", "c1c.vcf"):
        (tmp_path / name).write_text((tmp_path / "c1.vcf").read_text().replace("\t5\t", "\t6\t"))
    assert any("has digests, 2, got 3. Use the published files" in line for line in all_found(settings))


def test_release__public_genotypes_of_plink_may_share_their_tables(study, tmp_path):
    settings = study("label")
    for name in ("1", "2"):
        write_bed(tmp_path / f"p{name}")
    settings["cohort"] |= {"source": "plink", "vcf": None, "plink": "p{chrom}", "chromosomes": [1, 2]}
    for count, got in ((1, 2), (2, None), (5, None), (6, None), (7, 6)):
        settings["public"]["genotypes"]["sha256"] = [f"{number:064d}" for number in range(count)]
        said = f"`cohort.plink` must be as many files as `public.genotypes.sha256` has digests, {count}, got "
        assert [f"{said}{got}." in line for line in all_found(settings) if said in line] == [True] * bool(got)


def test_release__outcomes_of_other_people_are_not_public(study, tmp_path):
    settings = study("feature")
    for people in (PEOPLE[:-1], (*PEOPLE, "HG99999")):
        write_outcomes(tmp_path / "y.tsv", people)
        settings["public"]["outcomes"]["sha256"] = file_digest("y.tsv")
        (line,) = all_found(settings)
        assert line.startswith("`outcomes.file` must hold the people with genotypes and no others")
        assert not any(name in line for name in people)


def test_release__simulated_outcomes_are_of_private_genotypes(study):
    lines = all_found(study("feature") | {"outcomes": {"count": 2}})
    assert any("`outcomes.source` must be of files under feature protection" in line for line in lines)


def test_release__simulated_genotypes_have_no_public_file(study):
    settings = study("label") | {"cohort": {"rows": "people"}}
    assert any("`cohort.source` must be of files under label" in line for line in all_found(settings))


def test_release__covariates_would_be_public_with_the_genotypes(study, tmp_path):
    (tmp_path / "x.tsv").write_text("sample\tage\n" + "".join(f"{name}\t0.1\n" for name in PEOPLE))
    lines = all_found(study("label") | {"covariates": {"file": "x.tsv"}})
    assert any("`covariates.file` must be null under label protection" in line for line in lines)


@pytest.mark.parametrize("protection", SIDES)
def test_release__of_dbgap_takes_nothing_of_it_as_public(study, tmp_path, protection):
    """Another origin does not make public what lies in a folder of dbGaP."""
    folder = tmp_path / "phs000001.v1.p1.c1.GRU"
    folder.mkdir()
    for name in ("c1.vcf", "y.tsv"):
        (tmp_path / name).rename(folder / name)
        (tmp_path / name).symlink_to(folder / name)
    settings = merged(study(protection), {"dataset": APPROVAL | {"accession": "phs000001", "consent": "c1"}})
    settings["cohort"]["vcf"] = f"{folder.name}/c{{chrom}}.vcf"
    settings["outcomes"]["file"] = f"{folder.name}/y.tsv"
    key = {"feature": "outcomes.file", "label": "cohort.vcf"}[protection]
    path = settings["outcomes"]["file"] if protection == "feature" else f"{folder.name}/c{{chrom}}.vcf"
    said = f"`{key}` must be public data under {protection} protection, got {path} of phs000001.v1. Use full."
    assert said in all_found(settings)


@pytest.mark.parametrize(("accession", "is_told"), [("phs000001", True), ("demo", False)])
def test_release__an_origin_in_dbgap_is_of_controlled_data_on_both_sides(study, accession, is_told):
    settings = merged(study("label"), {"dataset": APPROVAL | {"accession": accession, "consent": "c1"}})
    settings["public"]["genotypes"]["origin"] = "dbGaP"
    (line,) = [
        line for line in all_found(settings) if line.startswith("`public.genotypes.origin` must be a place")
    ]
    assert line.endswith("Genotypes and phenotypes of dbGaP are both controlled.") == is_told


def test_benchmark__ignores_no_public_side(study):
    lines = all_found({"public": {"outcomes": {"sha256": "0" * 64, "origin": "x"}}})
    assert all("is for `mode: release`" in line for line in lines)
    assert len(lines) == 2
