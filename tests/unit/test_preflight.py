import json
import re
from pathlib import Path

import pytest

from dpgrs.errors import UsageError
from dpgrs.io.genome_builds import LENGTHS
from dpgrs.preflight.checks import check, problems
from dpgrs.study.made_by import note
from dpgrs.study.settings import examine, resolve
from found_by import only
from vcf_files import record, vcf_text

PEOPLE = ("HG00096", "HG00097", "HG00099")
CROWD = (*PEOPLE, *(f"HG{number:05}" for number in range(100, 109)))
STANDARD = [-1.5, -1, -0.8, -0.4, -0.1, 0, 0.2, 0.3, 0.6, 0.9, 1.2, "NA"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Work in an empty folder, so that paths in the settings are short and relative."""
    monkeypatch.chdir(tmp_path)


def write_vcf(path, people=PEOPLE, contigs=("1", "2")):
    """Write a phased VCF with one record; contigs may state a length."""
    text = vcf_text(record(5, " ".join(["0|1"] * len(people))), samples=people, contigs=contigs)
    Path(path).write_text(text.replace(",length=1000000", ""))


def write_vcf_of(build, path, chromosome="1"):
    """Write a VCF whose header declares the length that a chromosome has in a build."""
    write_vcf(path, contigs=(f"{chromosome},length={LENGTHS[build][chromosome]},assembly=b",))


def build_problems(stated, *, mode="release", reference=None, chromosomes=(1,)):
    """Return the lines of preflight that are about the genome build."""
    raw = {"mode": mode, "cohort": vcf_cohort(chromosomes=list(chromosomes))}
    raw |= {"release": {"genome_build": stated}, "public": {"reference": reference}}
    return [line for line in found(**raw) if "build" in line]


def vcf_cohort(**changes):
    return {"source": "vcf", "vcf": "chr{chrom}.vcf", "chromosomes": [1, 2], **changes}


def found(**raw):
    return problems(resolve(raw))


def write_outcomes(**columns):
    """Write outcomes.tsv, one line for each of the crowd and one for somebody without genotypes."""
    lines = [
        ["sample", *columns],
        *zip(CROWD, *columns.values(), strict=True),
        ["else", *[1000] * len(columns)],
    ]
    Path("outcomes.tsv").write_text("\n".join("\t".join(map(str, line)) for line in lines) + "\n")


def test_problems__none_for_the_demo():
    assert found() == []
    assert found(cohort={"chromosomes": ["chr3", 4]}) == []


def test_problems__none_for_good_files():
    for chromosome in (1, 2):
        write_vcf(f"chr{chromosome}.vcf", people=CROWD)
    write_outcomes(a=STANDARD, b=STANDARD[::-1])
    Path("populations.tsv").write_text("sample\tpop\t\t\nHG00096\tGBR\nelse\tYRI\n")
    cohort = vcf_cohort(populations="populations.tsv")
    assert found(cohort=cohort, outcomes={"source": "file", "file": "outcomes.tsv", "count": [1, 2]}) == []


def test_problems__of_contigs_that_the_header_does_not_declare():
    write_vcf("chr1.vcf", contigs=("chr1", "chr2"))
    write_vcf("chrchr2.vcf", contigs=("1", "2"))
    assert found(cohort=vcf_cohort(chromosomes=["1", "chr2"])) == []
    write_vcf("chr9.vcf", contigs=())
    assert found(cohort=vcf_cohort(chromosomes=[9])) == []
    write_vcf("chr9.vcf")
    line = only(found(cohort=vcf_cohort(chromosomes=[9])))
    assert line.startswith("`cohort.chromosomes` must be contigs of chr9.vcf, such as 1, 2, got 9.")


def test_problems__every_missing_file_in_its_line():
    lines = found(
        cohort=vcf_cohort(populations="populations.tsv"), outcomes={"source": "file", "file": "outcomes.tsv"}
    )
    for name in ("chr1.vcf", "chr2.vcf", "populations.tsv", "outcomes.tsv"):
        only([line for line in lines if name in line])
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"not a VCF\n", "##fileformat=VCF"),
        (b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n", "sample"),
    ],
)
def test_problems__bad_vcf(content, message):
    Path("chr1.vcf").write_bytes(content)
    line = only(found(cohort=vcf_cohort(chromosomes=[1])))
    assert line.startswith("`cohort.vcf`: ")
    assert "chr1.vcf" in line
    assert message in line


@pytest.mark.parametrize(
    ("people", "complaint"),
    [(("a", "b", "a"), "chr1.vcf"), (("a",), "must hold at least 2 people")],
    ids=["one id twice", "one person, who cannot be split"],
)
def test_problems__of_sample_ids(people, complaint):
    write_vcf("chr1.vcf", people=people)
    assert complaint in only(found(cohort=vcf_cohort(chromosomes=[1])))


@pytest.mark.parametrize("people", [PEOPLE[:2], PEOPLE[::-1]])
def test_problems__other_people_or_order_in_another_file(people):
    write_vcf("chr1.vcf")
    write_vcf("chr2.vcf", people=people)
    line = only(found(cohort=vcf_cohort()))
    assert "must hold the same people in the same order in all files, got 3 in chr1.vcf" in line
    assert f"{len(people)} in chr2.vcf, {len(people)} in both" in line


@pytest.mark.parametrize("build", LENGTHS)
def test_problems__none_for_the_build_of_cohort_and_reference(build):
    write_vcf_of(build, "chr1.vcf")
    write_vcf_of(build, "ref1.vcf")
    for mode in ("benchmark", "release"):
        assert build_problems(build, mode=mode, reference="ref{chrom}.vcf") == []


def test_problems__build_must_be_stated_for_a_release_of_vcfs():
    write_vcf("chr1.vcf")
    assert build_problems(None, mode="benchmark") == []
    assert only(build_problems(None)) == (
        "`release.genome_build` must be GRCh37 or GRCh38 for a cohort from files, got null. "
        "Say of which build the positions are."
    )
    write_vcf_of("GRCh37", "chr1.vcf")
    assert only(build_problems(None)).endswith(
        "got null. It is GRCh37 by chr1.vcf, whose chromosome 1 has length 249250621."
    )


def test_problems__build_of_a_simulated_cohort():
    assert found(release={"genome_build": "GRCh38"}) == []
    line = only(found(release={"genome_build": "GRCh37"}))
    assert line.startswith("`release.genome_build` must be GRCh38 for a simulated cohort, got GRCh37.")


@pytest.mark.parametrize("mode", ["benchmark", "release"])
def test_problems__stated_build_is_not_that_of_the_cohort(mode):
    write_vcf_of("GRCh38", "chr1.vcf")
    write_vcf_of("GRCh37", "chr2.vcf", chromosome="2")
    assert only(build_problems("GRCh38", mode=mode, chromosomes=[1, 2])) == (
        "`release.genome_build` must be the build of chr2.vcf, whose chromosome 2 has length 243199373 "
        "(GRCh37), got GRCh38. Correct it, or lift the positions over."
    )


def test_problems__stated_build_is_not_that_of_the_reference():
    write_vcf("chr1.vcf")
    write_vcf_of("GRCh37", "ref1.vcf")
    line = only(build_problems("GRCh38", reference="ref{chrom}.vcf"))
    assert line.startswith("`release.genome_build` must be the build of ref1.vcf, whose chromosome 1 has")


@pytest.mark.parametrize(("stated", "n_more"), [("GRCh37", 0), ("GRCh38", 1), (None, 1)])
def test_problems__cohort_and_reference_of_different_builds(stated, n_more):
    write_vcf_of("GRCh37", "chr1.vcf")
    write_vcf_of("GRCh38", "ref1.vcf")
    line, *more = build_problems(stated, reference="ref{chrom}.vcf")
    assert line == (
        "`public.reference` must be of the build of the cohort, GRCh37 by chr1.vcf, whose chromosome 1 has "
        "length 249250621, got GRCh38 by ref1.vcf, whose chromosome 1 has length 248956422. Lift one over."
    )
    assert len(more) == n_more
    assert all(line.startswith("`release.genome_build` must be") for line in more)


@pytest.mark.parametrize("key", ["outcomes", "covariates"])
def test_problems__tables_of_the_reference_are_held_against_its_people(key):
    for name in ("chr1.vcf", "ref1.vcf"):
        write_vcf(name)
    Path("r.tsv").write_text("sample\theight\nX1\t0\n")
    raw = {"mode": "release", "evaluation": {"metrics": "public", key: "r.tsv"}}
    raw |= {"cohort": vcf_cohort(chromosomes=[1]), "public": {"reference": "ref{chrom}.vcf"}}
    raw |= {"outcomes": {"source": "file"}, "covariates": {"file": "c.tsv"}}
    lines = problems(resolve(raw))
    assert any(
        line.startswith(f"`evaluation.{key}`: `r.tsv` must share sample ids with `public.reference`")
        for line in lines
    ), lines


def test_problems__unreadable_reference_is_named_once():
    write_vcf("chr1.vcf")
    lines = found(
        mode="release", cohort=vcf_cohort(chromosomes=[1]), public={"reference": "absent{chrom}.vcf"}
    )
    only([line for line in lines if "absent1.vcf" in line])


def test_problems__one_chromosome_twice():
    write_vcf("chr1.vcf", people=CROWD)
    cohort = vcf_cohort(vcf="chr1.vcf", chromosomes=["1", "chr1"])
    assert "must name every chromosome once, got 1, chr1" in only(found(cohort=cohort))


def test_problems__one_file_for_several_chromosomes_is_none():
    write_vcf("all.vcf")
    assert found(cohort=vcf_cohort(vcf="all.vcf")) == []


@pytest.mark.parametrize(
    ("cohort", "message"),
    [
        (vcf_cohort(vcf=None), "`cohort.vcf` must be a path"),
        (vcf_cohort(vcf="chr1.vcf.gz.ncbi_enc", chromosomes=[1]), "must be a decrypted file"),
        (vcf_cohort(vcf="prj_1.ngc", chromosomes=[1]), "must be a decrypted file"),
        ({"source": "simulate", "vcf": "a.vcf"}, "`cohort.source` must be vcf where `cohort.vcf` is given"),
        ({"populations": "a.tsv"}, "`cohort.source` must be vcf where `cohort.populations` is given"),
        ({"chromosomes": ["X", "22"]}, "`cohort.chromosomes` must be among 1 to 22 for simulation, got X."),
    ],
)
def test_problems__cohort_keys_that_contradict_each_other(cohort, message):
    assert message in only(found(cohort=cohort))


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("outcomes.file", "be a path without braces, got {x}. Rename the file or folder."),
        ("people.consent.file", "be a path without braces, got {x}."),
        ("public.reference", "have no placeholder but {chrom}, got {x}."),
    ],
)
def test_problems__braces_in_a_path_that_snakemake_would_fill_in(key, wanted):
    section, *inner = key.split(".")
    value = "d{x}/{chrom}.vcf" if key == "public.reference" else "d{x}/table.tsv"
    for name in reversed(inner):
        value = {name: value}
    (line,) = [
        line for line in found(**{section: value}) if "{x}" in line and "must" in line and "Rename" in line
    ]
    assert line.startswith(f"`{key}` must {wanted}")
    ledger = [line for line in found(privacy={"ledger": "l{x}.jsonl"}) if "braces" in line]
    assert ledger == []


def test_problems__other_placeholder():
    lines = found(cohort=vcf_cohort(vcf="{chr}.vcf", chromosomes=[1]))
    assert "`cohort.vcf` must have no placeholder but {chrom}, got {chr}." in lines[0]


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ({"source": "file"}, "`outcomes.file` must be a path"),
        ({"file": "a.tsv"}, "`outcomes.source` must be file where `outcomes.file` is given"),
        ({"count": None}, "`outcomes.count` must be given for simulated outcomes"),
        ({"source": "file", "file": "a.tsv.ncbi_enc"}, "must be a decrypted file"),
        ({"source": "file", "file": "empty.tsv"}, "`outcomes.file`: `empty.tsv` must be a table"),
        ({"source": "file", "file": "none.tsv"}, "at least one outcome column"),
        (
            {"source": "file", "file": "two.tsv", "count": [1, 5]},
            "must be at most 2, the outcomes in two.tsv, got 5.",
        ),
    ],
)
def test_problems__outcomes(outcomes, message):
    Path("empty.tsv").touch()
    Path("none.tsv").write_text("sample\nHG00096\n")
    Path("two.tsv").write_text("sample\ta\tb\nHG00096\t1\t2\n")
    assert message in only(found(outcomes=outcomes))


@pytest.mark.parametrize("key", ["outcomes.file", "cohort.populations"])
def test_problems__no_common_person_shows_three_ids_of_each_side(key):
    write_vcf("chr1.vcf")
    Path("table.tsv").write_text("sample\tpop\nsim1\t1\nsim2\t2\n")
    cohort = vcf_cohort(chromosomes=[1], populations="table.tsv" if key.startswith("cohort") else None)
    outcomes = {"source": "file", "file": "table.tsv"} if key.startswith("outcomes") else {}
    line = only(found(cohort=cohort, outcomes=outcomes))
    assert line.startswith(f"`{key}`: `table.tsv` must share sample ids with the genotypes")
    assert "got sim1, sim2 where those have HG00096, HG00097, HG00099." in line


def test_problems__private_data_show_patterns_of_ids():
    write_vcf("chr1.vcf")
    Path("table.tsv").write_text("sample\ta\nsim1\t1\n")
    lines = found(
        mode="release", cohort=vcf_cohort(chromosomes=[1]), outcomes={"source": "file", "file": "table.tsv"}
    )
    assert any(
        "got AAA9 where those have AA99999 (patterns: A is a letter, 9 a digit)." in line for line in lines
    )
    assert not re.search("sim1|HG0", "".join(lines))


def test_problems__haplotypes_cannot_be_protected_in_rows_of_people():
    line = only(found(cohort={"rows": "people"}, privacy={"unit": "haplotype"}))
    assert line == (
        "`privacy.unit` must be person where `cohort.rows` is people, got haplotype. Leave it out, or say "
        "`cohort: {rows: haplotypes}`."
    )


def test_check__good_configuration_is_resolved():
    assert check({"replicates": "3"}) == resolve({"replicates": 3})


def test_check__raise_on_faults_of_settings_and_files_together():
    with pytest.raises(UsageError) as caught:
        check(
            {
                "trails": 3,
                "cohort": vcf_cohort(chromosomes=[1]),
                "privacy": {"epsilon": -1},
                "public": {"genotypes": {"origin": "a register"}},
                "outcomes": {"source": "file", "file": "absent.tsv"},
            }
        )
    lines = str(caught.value).splitlines()
    for word in ("`trails`", "`privacy.epsilon`", "`public.genotypes.origin`", "chr1.vcf", "absent.tsv"):
        only([line for line in lines if word in line])
    assert len(lines) == 5
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "raw",
    [
        {"cohort": {"source": "vfc", "vcf": "absent.vcf"}},
        {"cohort": {"chromsomes": [7], "source": "vcf", "vcf": "absent{chrom}.vcf"}},
        {"cohort": {"rows": "persons"}, "privacy": {"unit": "haplotype"}},
        {"outcomes": {"source": "fiel", "file": "absent.tsv"}},
        {"outcomes": {"source": "file", "file": "absent.tsv", "count": -1}},
        {"cohort": "{vcf: d/{chrom}.vcf}"},
    ],
)
def test_check__what_hangs_on_a_doubtful_key_is_not_judged(raw):
    assert len(examine(raw)[1]) == 1
    with pytest.raises(UsageError) as caught:
        check(raw)
    only(str(caught.value).splitlines())


@pytest.mark.realdata
def test_problems__none_for_1000_genomes(real_data, repository):
    folder = real_data / "1kg"
    pattern = str(folder / "phase3_subset" / "1KG_phase3_subset_chr{chrom}.vcf.gz")
    populations = str(folder / "integrated_call_samples_v3.20130502.ALL.panel")
    chromosomes = [str(number) for number in range(1, 23)]
    assert found(cohort=vcf_cohort(vcf=pattern, chromosomes=chromosomes, populations=populations)) == []


@pytest.mark.parametrize("record", ["settings.json", "private/settings.json"])
def test_check__refuses_to_mix_a_benchmark_and_a_release_in_one_folder(tmp_path, monkeypatch, record):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "results" / "demo" / record
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"mode": "release"}))
    with pytest.raises(
        UsageError, match="`study` must be new for `mode: benchmark`, got the name of a release"
    ):
        check({"study": "demo"})
    path.write_text(json.dumps({"mode": "benchmark"}))
    assert check({"study": "demo"}).study == "demo"


def test_check__refuses_to_mix_them_where_a_run_left_notes_only(tmp_path, monkeypatch):
    """A benchmark up to its report writes no settings: a release would stand beside its exact pages."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "results" / "demo" / "private" / "statistics.npz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"sums")
    note(path, {"mode": ['"release"']})
    with pytest.raises(UsageError, match=r"of another mode, which made `.*statistics\.npz`"):
        check({"study": "demo"})
    note(path, {"mode": ['"benchmark"']})
    assert check({"study": "demo"}).study == "demo"
