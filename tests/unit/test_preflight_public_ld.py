"""What a study must have for fits on public linkage disequilibrium, before any job runs."""

import pytest

from dpgrs.preflight.checks import problems
from dpgrs.study.settings import resolve
from vcf_files import record, vcf_text, write_text

VCF = {"source": "vcf", "vcf": "c{chrom}.vcf", "chromosomes": [1], "rows": "people"}
REFERENCE = {"reference": "r{chrom}.vcf"}
STUDY = {"cohort": VCF, "methods": ["ridge", "blup-ld"], "privacy": {"bounds": "tight"}, "public": REFERENCE}
RELEASE = STUDY | {"mode": "release", "methods": ["blup-ld"]}
WITHOUT = (
    "`public.reference` must be given for `methods: blup-ld`, got null. Name the genotypes of other people "
    "of the same ancestry, or use `methods: blup`."
)
SITES = (
    "`public.sites` must be null for `methods: blup-ld`, got sites.tsv. Leave it out: sites come from "
    "`public.reference`."
)
LOOSE = (
    "`privacy.bounds` must be tight for `methods: blup-ld`, got worst-case. Say `privacy: {bounds: tight}`."
)
KEYS = ("`public.", "`privacy.bounds`")


def found(study, **changes):
    """List the lines about what only such fits need; files are not there."""
    lines = problems(resolve(study | changes))
    return [line for line in lines if line.startswith(KEYS) and "is not there" not in line]


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, []),
        ({"cohort": {}, "public": {}}, []),
        ({"public": {}}, [WITHOUT]),
        ({"privacy": {"bounds": "worst-case"}}, [LOOSE]),
        ({"methods": ["blup"], "public": {}, "privacy": {}}, []),
        (
            {"public": {"sites": "sites.tsv"}},
            ["`public.sites` is for `mode: release`, got sites.tsv in a benchmark. Leave it out.", WITHOUT],
        ),
        *(
            (
                {"methods": ["blup"], "public": {key: "x"}},
                [
                    f"`public.{key}` is for `mode: release` or `methods: blup-ld, blup-hedged, blup-genome`, "
                    "got x without. Leave it out."
                ],
            )
            for key in ("reference", "keep", "origin")
        ),
        *(
            (
                {"cohort": {}, "public": {key: "x"}},
                [
                    f"`public.{key}` must be left out for a simulated cohort, got x. It brings a reference "
                    "of its own."
                ],
            )
            for key in ("reference", "keep", "origin")
        ),
    ],
)
def test_problems__of_a_benchmark(changes, lines):
    assert found(STUDY, **changes) == lines


@pytest.mark.parametrize(
    ("public", "lines"),
    [
        (REFERENCE, []),
        (REFERENCE | {"sites": "sites.tsv"}, [SITES]),
        ({"sites": "sites.tsv"}, [WITHOUT, SITES]),
    ],
)
def test_problems__of_a_release(public, lines):
    assert [line for line in found(RELEASE, public=public) if "blup-ld" in line] == lines
    assert [line for line in found(RELEASE, public=public, methods=["blup"]) if "blup-ld" in line] == []


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write a cohort of a, b and c, a reference of c, d and e, and lists of people."""
    monkeypatch.chdir(tmp_path)
    for prefix, people in (("c", "abc"), ("r", "cde")):
        calls = record(5, "0|1 0|1 0|1", contig="1")
        write_text(tmp_path / f"{prefix}1.vcf", vcf_text(calls, samples=list(people), contigs="1"))
    for name, people in (("de", "dex"), ("ab", "ab"), ("d", "d"), ("none", "")):
        (tmp_path / f"{name}.txt").write_text("".join(f"{one}\n" for one in people))


def test_problems__a_benchmark_shares_nobody_with_its_reference(files):
    (line,) = found(STUDY)
    assert line == (
        "`public.reference` must share no sample id with the cohort, got shared ids on chromosome 1. Keep "
        "others by `people.keep` or `public.keep`."
    )
    assert found(STUDY, people={"keep": "ab.txt"}) == []
    kept = {"public": REFERENCE | {"keep": "de.txt"}}
    assert found(STUDY, **kept) == []
    # Of one file that holds both.
    assert found(STUDY, public={"reference": "c{chrom}.vcf", "keep": "ab.txt"}) == [line]
    assert (
        found(STUDY, people={"remove": "ab.txt"}, public={"reference": "c{chrom}.vcf", "keep": "ab.txt"})
        == []
    )
    (line,) = [line for line in found(RELEASE, **kept) if "people" in line]
    assert line.startswith("`public.reference` must share no sample id with the cohort, got shared ids")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", "`public.keep`: `absent.txt` must be a table, but is not there."),
        ("ab", "`public.keep`: `ab.txt` must share sample ids with the genotypes, got "),
        ("none", "`public.keep`: `public.keep` must leave people of the genotypes, got none."),
        ("d", "`public.keep` must leave at least 2 people of the genotypes of the reference, got "),
    ],
)
@pytest.mark.parametrize("study", [STUDY, RELEASE])
def test_problems__of_a_list_of_the_people_of_the_reference(files, study, name, message):
    lines = problems(
        resolve(study | {"people": {"keep": "ab.txt"}, "public": REFERENCE | {"keep": f"{name}.txt"}})
    )
    assert [line.startswith(message) for line in lines if "`public.keep`" in line] == [True]


def test_problems__the_operator_is_told_whom_the_reference_is(files):
    told = []
    study = STUDY | {"public": REFERENCE | {"keep": "de.txt"}}
    assert problems(resolve(study), tell=told.append) == []
    assert told == [
        "2 of 3 people with genotypes of the reference are chosen (`public.keep`).",
        "de.txt: 1 of its ids are not in the genotypes of the reference.",
    ]


def test_problems__a_list_of_people_is_of_genotypes_of_a_reference():
    public = {"sites": "sites.tsv", "keep": "de.txt"}
    lines = found(RELEASE, public=public, methods=["blup"])
    assert any(
        line.startswith("`public.keep` must come with `public.reference`, got it without.") for line in lines
    )
