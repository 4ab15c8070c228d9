"""What a study must have for fits on public linkage disequilibrium, before any job runs."""

import pytest

from dpgrs.preflight.checks import problems
from dpgrs.study.settings import resolve

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
                    f"`public.{key}` is for `mode: release` or `methods: blup-ld`, got x without. Leave it "
                    "out."
                ],
            )
            for key in ("reference", "origin")
        ),
        *(
            (
                {"cohort": {}, "public": {key: "x"}},
                [
                    f"`public.{key}` must be left out for a simulated cohort, got x. It brings a reference "
                    "of its own."
                ],
            )
            for key in ("reference", "origin")
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


def test_problems__a_benchmark_shares_nobody_with_its_reference(tmp_path, monkeypatch):
    from vcf_files import record, vcf_text, write_text

    monkeypatch.chdir(tmp_path)
    for prefix, people in (("c", ["a", "b"]), ("r", ["b", "c"])):
        calls = record(5, "0|1 0|1", contig="1")
        write_text(tmp_path / f"{prefix}1.vcf", vcf_text(calls, samples=people, contigs="1"))
    (line,) = [line for line in found(STUDY) if "other people" in line]
    assert line.startswith("`public.reference` must hold other people than the cohort, got some of the same")
