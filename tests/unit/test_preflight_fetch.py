from pathlib import Path

import pytest

from dpgrs.preflight.checks import problems
from dpgrs.study.fetched_files import files_to_fetch
from dpgrs.study.settings import resolve
from found_by import only

HOST = "https://example.org"
COHORT = {
    "source": "vcf",
    "vcf": "downloads/chr{chrom}.vcf",
    "populations": "downloads/panel.tsv",
    "chromosomes": [1, 2],
    "fetch": {
        "vcf": f"{HOST}/chr{{chrom}}.vcf",
        "populations": f"{HOST}/panel.tsv",
        "manifest": f"{HOST}/md5.txt",
    },
}
VCF = """##fileformat=VCFv4.2
##contig=<ID=1>
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tA\tB
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("downloads").mkdir()


def settings(mode="benchmark", fetch=None, **changes):
    return resolve({"mode": mode, "cohort": COHORT | changes | {"fetch": COHORT["fetch"] | (fetch or {})}})


def test_files_to_fetch__what_is_absent():
    assert files_to_fetch(settings()) == {
        "downloads/chr1.vcf": f"{HOST}/chr1.vcf",
        "downloads/chr2.vcf": f"{HOST}/chr2.vcf",
        "downloads/panel.tsv": f"{HOST}/panel.tsv",
    }
    Path("downloads/chr2.vcf").write_text(VCF)
    assert "downloads/chr2.vcf" not in files_to_fetch(settings())
    assert files_to_fetch(resolve({})) == {}
    assert files_to_fetch(settings(mode="release")) == {}


@pytest.mark.parametrize(
    ("vcf", "populations"),
    [("downloads/a/chr{chrom}.vcf", "downloads/a/panel.tsv"), ("mine/chr{chrom}.vcf", None)],
)
def test_resolve__populations_are_fetched_to_beside_the_genotypes(vcf, populations):
    assert settings(vcf=vcf, populations=None).cohort.populations == populations


@pytest.mark.parametrize("end", ["", ".", "..", "x?of=.."])
def test_problems__an_address_without_the_name_of_a_file(end):
    changes = {"populations": None, "fetch": {"populations": f"{HOST}/a/{end}"}}
    assert settings(**changes).cohort.populations == ("downloads/x?of=.." if "x" in end else None)
    lines = problems(settings(**changes))
    assert any("must end with the name of a file" in line for line in lines) == ("x" not in end)


def test_problems__none_for_files_that_can_be_fetched():
    assert problems(settings()) == []


def test_problems__files_that_are_there_are_still_read():
    Path("downloads/chr1.vcf").write_text(VCF)
    Path("downloads/chr2.vcf").write_text(VCF)
    line = only(problems(settings()))
    assert line.startswith("`cohort.chromosomes` must be contigs of downloads/chr2.vcf")


def test_problems__mistyped_path_of_own_files_is_not_fetched_into():
    lines = problems(
        settings(vcf="mine/chr{chrom}.vcf", chromosomes=[1], populations=None, fetch={"populations": None})
    )
    assert lines == [
        "`cohort.fetch` is for `cohort.vcf` in a folder `downloads`, got mine/chr{chrom}.vcf: it is not "
        "fetched. Give files that are there, or a path in such a folder, from which no link or `..` leads "
        "away.",
        "`cohort.vcf`: `mine/chr1.vcf` is not there. Mend the path, or fetch the file.",
    ]


@pytest.mark.parametrize(
    "path",
    [
        "downloads/../.bashrc",
        "downloads/../../x.vcf",
        "downloads/a/../../x.vcf",
        "downloads/link/x.vcf",
        "downloads/file",
        "downloads",
        "linked/downloads/x.vcf",
    ],
)
def test_files_to_fetch__nothing_that_leads_out_of_the_folder(tmp_path, path):
    Path("mine").mkdir()
    Path("linked").mkdir()
    Path("downloads/link").symlink_to(tmp_path / "mine")
    Path("downloads/file").symlink_to(tmp_path / "mine" / "absent.vcf")
    Path("linked/downloads").symlink_to(tmp_path / "mine")
    config = settings(vcf=path, chromosomes=[1], populations=path, fetch={"vcf": f"{HOST}/x.vcf"})
    assert files_to_fetch(config) == {}
    if path != "downloads":
        assert f"in a folder `downloads`, got {path}: it is not" in problems(config)[0]
    # A chromosome is a name of the user's too.
    assert files_to_fetch(settings(vcf="downloads/{chrom}/x.vcf", chromosomes=[".."], populations=path)) == {}


@pytest.mark.parametrize("path", ["downloads/../downloads/x.vcf", "link/x.vcf", "downloads/a/b/x.vcf"])
def test_files_to_fetch__what_leads_into_the_folder(tmp_path, path):
    Path("data").mkdir()
    Path("data/downloads").symlink_to(tmp_path / "downloads")
    path = path.replace("link", "data/downloads")
    assert list(files_to_fetch(settings(vcf=path, chromosomes=[1], populations=path))) == [path]


def test_problems__mistyped_table_is_not_fetched_into():
    fetch, missing = problems(settings(populations="mine.tsv"))
    assert fetch.startswith(
        "`cohort.fetch` is for `cohort.populations` in a folder `downloads`, got mine.tsv"
    )
    assert missing.startswith("`cohort.populations`: ")
    assert "mine.tsv" not in files_to_fetch(settings(populations="mine.tsv"))


def test_problems__own_files_beside_addresses():
    Path("mine.vcf").write_text(VCF)
    assert problems(settings(vcf="mine.vcf", chromosomes=[1], populations=None)) == []


def test_problems__a_release_fetches_nothing():
    lines = [
        line for line in problems(settings(mode="release", chromosomes=[1])) if "downloads/chr1.vcf" in line
    ]
    fetch, missing = lines
    command = f"dpgrs fetch {HOST}/chr1.vcf --manifest {HOST}/md5.txt --output downloads/chr1.vcf"
    assert fetch.endswith(f"Fetch it first: {command}")
    assert "is not there" in missing


@pytest.mark.parametrize(
    ("fetch", "message"),
    [
        ({"manifest": None}, "`cohort.fetch.manifest` must be the address of the checksums"),
        ({"vcf": None, "populations": None}, "got it without"),
        (
            {"vcf": "ftp://example.org/chr{chrom}.vcf"},
            "`cohort.fetch.vcf` must begin with https:// or http://",
        ),
        ({"vcf": f"{HOST}/phs000001/chr{{chrom}}.vcf"}, "`cohort.fetch.vcf` must be of open data"),
        ({"vcf": f"{HOST}/all.vcf"}, "`cohort.fetch.vcf` must have {chrom} where `cohort.vcf` has it"),
        ({"vcf": f"{HOST}/chr{{c}}.vcf"}, "must have no placeholder but {chrom}, got {c}"),
        ({"manifest": f"{HOST}/{{chrom}}.md5"}, "must have no placeholder, got {chrom}"),
    ],
)
def test_problems__addresses(fetch, message):
    # Everything is there, so that nothing else is wrong.
    for name in ("chr1.vcf", "chr2.vcf"):
        Path("downloads", name).write_text(VCF.replace("ID=1", "ID=1>\n##contig=<ID=2"))
    Path("downloads/panel.tsv").write_text("sample\tpop\nA\tGBR\n")
    assert problems(settings()) == []
    assert message in only(problems(settings(fetch=fetch)))


def test_problems__a_simulated_cohort():
    changes = {"source": "simulate", "vcf": None, "populations": None}
    lines = problems(settings(**changes, fetch={"vcf": None, "populations": None}))
    assert (
        "`cohort.source` must be vcf where `cohort.fetch` is given, got simulate. Say `source: vcf`." in lines
    )


@pytest.mark.parametrize("reference", ["downloads/chr{chrom}.vcf", "elsewhere/chr{chrom}.vcf"])
@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_problems__a_reference_takes_files_that_are_there(reference, rows):
    raw = {"cohort": COHORT | {"rows": rows}, "methods": "auto", "privacy": {"bounds": "tight"}}
    public = {"reference": reference, "origin": "x", "same_ancestry": True}
    (line,) = problems(resolve(raw | {"public": public}))
    assert line.startswith("`public.reference` must be held against the people of the cohort before any job,")
    assert "got downloads/chr1.vcf (and 1 more), which is yet to be fetched. Fetch it first: dpgrs " in line
    assert line.endswith(f"{HOST}/chr1.vcf --manifest {HOST}/md5.txt --output downloads/chr1.vcf")
