"""What preflight says of genotypes in forms other than one VCF for a chromosome."""

import pysam.bcftools
import pytest

from bgen_files import variant, write_bgen
from dpgrs.io.genome_builds import LENGTHS
from dpgrs.preflight.checks import problems
from dpgrs.study.settings import resolve
from plink_sets import BIM, FAM, PVAR, write_bed, write_lines, write_pgen
from vcf_files import record, vcf_text, write_text


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Work in an empty folder, so that paths in the settings are short and relative."""
    monkeypatch.chdir(tmp_path)


def found(cohort, **raw):
    cohort = {"source": "plink", "chromosomes": [1], "rows": "people", **cohort}
    return problems(resolve({"cohort": cohort, **raw}))


def found_of_release(cohort, **release):
    lines = found(cohort, mode="release", release=release)
    return [line for line in lines if "build" in line or "`cohort." in line]


def test_problems__none_of_plink(tmp_path):
    write_bed(tmp_path / "a")
    write_pgen(tmp_path / "b1")
    write_pgen(tmp_path / "bX")
    assert found({"plink": "a", "chromosomes": [1, "X"]}) == []
    assert found({"plink": "a.bed", "chromosomes": ["chr1"]}) == []
    assert found({"plink": "b{chrom}", "chromosomes": [1, "X"]}) == []
    assert found({"plink": "b{chrom}.pgen", "rows": "haplotypes"}) == []


def test_problems__none_of_bcf_and_parts(tmp_path):
    for number in (1, 2):
        text = vcf_text(record(number, "0|1 1|1 .|0"))
        vcf = write_text(tmp_path / f"{number}.vcf", text)
        pysam.bcftools.view("-Ob", "-o", f"c1_{number}.bcf", str(vcf), catch_stdout=False)
    assert found({"source": "vcf", "vcf": "c{chrom}_2.bcf", "rows": "haplotypes"}) == []
    assert found({"source": "vcf", "vcf": "c{chrom}_*.bcf", "rows": "haplotypes"}) == []
    write_text(tmp_path / "c1_3.bcf", vcf_text(record(9, "0|1 1|1 .|0", contig="10"), contigs=("10",)))
    (line,) = found({"source": "vcf", "vcf": "c{chrom}*.bcf"})
    assert line.startswith("`cohort.vcf`: `c1_3.bcf` must begin with chromosome 1, as a part of it, got 10.")


def test_problems__of_bgen(tmp_path):
    unphased = [variant(4, [[0, 255]] * 3, is_phased=False)]
    for name, variants in (("a1", [variant(4, [[255, 0]] * 3)]), ("b1", unphased)):
        write_bgen(tmp_path / f"{name}.bgen", variants)
    cohort = {"source": "bgen", "bgen": "a{chrom}.bgen"}
    assert found(cohort | {"rows": "haplotypes"}) == []
    assert found(cohort | {"bgen": "b{chrom}.bgen"}) == []
    (line,) = found(cohort | {"bgen": "b{chrom}.bgen", "rows": "haplotypes"})
    assert line.startswith("`cohort.bgen`: `b1.bgen` has no phase. Use people as rows (`rows: people`)")
    for other, source in (("a1.vcf", "vcf"), ("a.bed", "plink")):
        wanted = f"`cohort.bgen` must be a .bgen, got {other}. Say `source: {source}`"
        assert any(line.startswith(wanted) for line in found(cohort | {"bgen": other}))
    told = "\n".join(found_of_release(cohort))
    assert "`cohort.bgen` must have REF from the genome in a release, got a1.bgen, which does not" in told


@pytest.mark.parametrize(
    ("cohort", "message"),
    [
        ({"plink": None}, "`cohort.plink` must be a path for `cohort.source: plink`"),
        (
            {"source": "vcf", "vcf": "a.bed"},
            "`cohort.vcf` must be a VCF, BCF or VCF Zarr, got a.bed. Say `source: plink`",
        ),
        ({"plink": "absent"}, "`cohort.plink`: `absent` has no .pgen and no .bed beside it."),
        ({"plink": "absent.bed"}, "`cohort.plink`: `absent.bed` is not there."),
        ({"plink": "a", "vcf": "a.vcf"}, "`cohort.source` must be vcf where `cohort.vcf` is given"),
        ({"source": "vcf", "plink": "a"}, "`cohort.source` must be plink where `cohort.plink` is given"),
        (
            {"source": "simulate", "plink": "a", "chromosomes": [1]},
            "`cohort.source` must be plink where `cohort.plink` is given, got simulate. Say `source: plink`.",
        ),
        ({"plink": "a", "rows": "haplotypes"}, "`cohort.plink`: `a.bed` has no phase: PLINK 1 keeps none."),
        ({"plink": "a", "chromosomes": [7]}, "`cohort.chromosomes` must be contigs of a.bed, such as 1, X"),
        ({"plink": "{chr}"}, "`cohort.plink` must have no placeholder but {chrom}, got {chr}."),
        ({"plink": "x*"}, "`cohort.plink`: `x*` has no .pgen and no .bed beside it."),
    ],
)
def test_problems__of_plink(tmp_path, cohort, message):
    write_bed(tmp_path / "a")
    lines = found(cohort)
    assert any(line.startswith(message) for line in lines), lines


def test_problems__haploid_chromosomes_have_no_haplotypes(tmp_path):
    write_pgen(tmp_path / "a")
    (line,) = found({"plink": "a", "rows": "haplotypes", "chromosomes": [1, "X"]})
    assert "`a.pgen` does not say which calls of chromosome X are haploid." in line


def test_problems__other_people_on_another_chromosome(tmp_path):
    write_bed(tmp_path / "c1")
    write_bed(tmp_path / "cX", fam=(FAM[1], FAM[0], FAM[2]))
    (line,) = found({"plink": "c{chrom}", "chromosomes": [1, "X"]})
    assert line.startswith("`cohort.plink` must hold the same people in the same order in all files")
    assert line.endswith("Select them with `plink2 --keep`.")


def test_problems__people_of_outcomes(tmp_path):
    write_bed(tmp_path / "a")
    write_lines(tmp_path / "y.tsv", ["sample\ty", "p\t0.1", "q\t-0.1"])
    (line,) = found({"plink": "a"}, outcomes={"source": "file", "file": "y.tsv"})
    assert line.startswith("`outcomes.file`: `y.tsv` ")


def test_problems__genome_build_of_plink(tmp_path):
    write_pgen(tmp_path / "a", pvar=(f"##contig=<ID=1,length={LENGTHS['GRCh37']['1']}>", *PVAR))
    write_bed(tmp_path / "b", bim=BIM)
    (line,) = found_of_release({"plink": "a"}, genome_build="GRCh38")
    assert line.startswith(
        "`release.genome_build` must be the build of a.pgen, whose chromosome 1 has length"
    )
    assert found_of_release({"plink": "a"}, genome_build="GRCh37") == []
    # No header to check it by: what is stated holds.
    assert not any("build" in line for line in found_of_release({"plink": "b"}, genome_build="GRCh38"))
    (line,) = (line for line in found_of_release({"plink": "b"}) if "build" in line)
    assert line.startswith(
        "`release.genome_build` must be GRCh37 or GRCh38 for a cohort from files, got null."
    )


@pytest.mark.parametrize("reference", ["own.bed", "own.pgen"])
def test_problems__reference_of_the_cohorts_own_people(tmp_path, reference):
    write_bed(tmp_path / "a")
    write_bed(tmp_path / "own")
    write_pgen(tmp_path / "own")
    lines = found({"plink": "a"}, mode="release", public={"reference": reference, "origin": "x"})
    assert any("`public.reference` must share no sample id with the cohort" in line for line in lines), lines


def test_problems__reference_of_people_whose_ids_are_almost_those_of_the_cohort(tmp_path):
    told = []
    write_bed(tmp_path / "a", fam=["0 A1 0 0 0 -9", "0 A2 0 0 0 -9", "0 A3 0 0 0 -9"])
    write_bed(tmp_path / "r", fam=["0 a1 0 0 0 -9", "0 B2 0 0 0 -9", "0 B3 0 0 0 -9"])
    cohort = {"source": "plink", "chromosomes": [1], "rows": "people", "plink": "a"}
    settings = {"cohort": cohort, "mode": "release", "public": {"reference": "r.bed", "origin": "x"}}
    lines = problems(resolve(settings), tell=told.append)
    assert not any("share no sample id" in line for line in lines)
    assert told == [
        "public.reference: 1 of its ids are not in the cohort, and differ from one there only in case, "
        "blanks or invisible characters: they count as other people. Write them alike if they are the same."
    ]


@pytest.mark.parametrize("there", ["a", "r"])
def test_problems__each_side_that_is_not_there_is_named_by_its_key(tmp_path, there):
    write_pgen(tmp_path / there)
    lines = found({"plink": "a.pgen"}, mode="release", public={"reference": "r.pgen", "origin": "x"})
    named = [line.partition("`:")[0] for line in lines if "is not there" in line]
    assert set(named) == {"`public.reference" if there == "a" else "`cohort.plink"}


def test_problems__reference_without_phase_has_no_haplotypes(tmp_path):
    write_pgen(tmp_path / "a")
    others = {"psam": ("#IID", "D", "E", "F")}
    write_pgen(tmp_path / "r", **others)
    write_bed(tmp_path / "r", fam=("f D 0 0 1 -9", "f E 0 0 2 -9", "f F 0 0 2 -9"))

    def of_reference(path, rows, chromosomes=(1,)):
        public = {"reference": path, "origin": "x"}
        cohort = {"plink": "a", "rows": rows, "chromosomes": list(chromosomes)}
        lines = found(cohort, mode="release", public=public)
        return [line for line in lines if line.startswith("`public.reference`")]

    (line,) = of_reference("r.bed", "haplotypes")
    assert line.startswith("`public.reference`: `r.bed` has no phase: PLINK 1 keeps none. Use people as rows")
    (line,) = of_reference("r.pgen", "haplotypes", [1, "X"])
    assert line.startswith(
        "`public.reference`: `r.pgen` does not say which calls of chromosome X are haploid."
    )
    assert of_reference("r.bed", "people") == of_reference("r.pgen", "haplotypes") == []


def test_problems__a_release_needs_ref_from_the_genome(tmp_path):
    """Which allele is the rarer one hangs on the people, and with it everybody's row."""
    write_bed(tmp_path / "a")
    content = bytearray(write_pgen(tmp_path / "b").read_bytes())
    content[11] |= 0b11 << 6
    (tmp_path / "b.pgen").write_bytes(content)
    write_pgen(tmp_path / "c")
    for path in ("a.bed", "b.pgen"):
        (line,) = (line for line in found_of_release({"plink": path}) if "REF" in line)
        assert line.startswith(f"`cohort.plink` must have REF from the genome in a release, got {path}, ")
    declared = '##INFO=<ID=PR,Number=0,Type=Flag,Description="Provisional">\n##FORMAT'
    text = vcf_text(record(5, "0|0 0|1 1|1", info="PR")).replace("##FORMAT", declared)
    write_text(tmp_path / "d.vcf", text)
    pysam.bcftools.view("-Ob", "-o", "e.bcf", "d.vcf", catch_stdout=False)
    write_text(tmp_path / "f.vcf", vcf_text(record(5, "0|0 0|1 1|1", info="PR=1;XPR")))
    for path in ("d.vcf", "e.bcf"):
        (line,) = (line for line in found_of_release({"source": "vcf", "vcf": path}) if "REF" in line)
        assert line.startswith(f"`cohort.vcf` must have REF from the genome in a release, got {path}, ")
    for cohort in ({"plink": "c.pgen"}, {"source": "vcf", "vcf": "f.vcf"}):
        assert not [line for line in found_of_release(cohort) if "REF" in line]


def test_problems__a_release_takes_fixed_sites_of_plink_and_bgen_alone(tmp_path):
    write_bed(tmp_path / "a")
    write_bgen(tmp_path / "a.bgen", [variant(4, [[255, 0]] * 3)])
    declared = "say `cohort.fixed_sites: true`, if the files hold a public list of variants"
    for cohort in ({"plink": "a.bed"}, {"source": "bgen", "bgen": "a.bgen"}):
        (line,) = (line for line in found_of_release(cohort) if "REF" in line)
        assert declared in line
        told = "\n".join(found_of_release(cohort | {"fixed_sites": True}))
        assert "REF" not in told
        assert "fixed_sites" not in told
    text = vcf_text(record(5, "0|0 0|1 1|1", info="PR"))
    write_text(tmp_path / "d.vcf", text)
    cohort = {"source": "vcf", "vcf": "d.vcf"}
    assert declared not in "\n".join(found_of_release(cohort))
    told = "\n".join(found_of_release(cohort | {"fixed_sites": True}))
    assert "`cohort.fixed_sites` must be left out with `cohort.source: vcf`, got true." in told
    (line,) = (line for line in found({"plink": "a.bed", "fixed_sites": True}) if "fixed" in line)
    assert line == "`cohort.fixed_sites` is for `mode: release`, got true in a benchmark. Leave it out."


@pytest.mark.parametrize("mode", ["benchmark", "release"])
def test_problems__known_snps_of_plink(tmp_path, mode):
    bim = ("1 rs1 0 4 C A", "1 rs3094315 0 752566 G A", "21 rs2835370 0 36807495 C T")
    write_bed(tmp_path / "a", bim=bim)

    def lines(stated, *, chromosomes=(1,)):
        cohort = {"plink": "a.bed", "chromosomes": list(chromosomes)}
        said = found(cohort, mode=mode, release={"genome_build": stated})
        return [line for line in said if line.startswith("`release.genome_build`")]

    assert lines("GRCh37") == []
    (line,) = lines("GRCh38", chromosomes=[1, "X"])
    assert line == (
        "`release.genome_build` must be the build of a.bim, which has rs3094315 at 1:752566 (GRCh37), "
        "got GRCh38. Correct it, or lift the positions over."
    )
    (line,) = lines("GRCh38", chromosomes=[21])
    assert line.endswith(
        "at 21:36807495 (NCBI36), got GRCh38. Lift the positions over: it cannot be NCBI36 (hg18)."
    )
    # Two builds in one file, in equal parts.
    assert lines("GRCh37", chromosomes=[1, 21]) == []


def test_problems__positions_of_plink_beyond_the_end(tmp_path):
    write_bed(tmp_path / "a")
    end = LENGTHS["GRCh38"]["1"]
    write_bed(tmp_path / "r", bim=(f"1 . 0 {end} C A", f"1 . 0 {end + 1} C A", "1 . 0 no C A"))
    cohort = {"plink": "a.bed"}
    public = {"reference": "r.bed"}
    assert not any(
        "build" in line for line in found(cohort, public=public, release={"genome_build": "GRCh38"})
    )
    write_lines(tmp_path / "r.bim", (f"1 . 0 {end} C A", f"1 . 0 {end + 1} C A", "1 . 0 9 C A"))
    lines = found(cohort, public=public, mode="release", release={"genome_build": "GRCh38"})
    assert (
        sum("must be a build that has position 1:248956423 of r.bim, got GRCh38" in line for line in lines)
        == 1
    )


OUTCOMES = {"source": "file", "count": None}
# Where no regular file may stand, by the key that names it.
NAMED = {
    "cohort.vcf": {"cohort": {"vcf": "pipe"}},
    "cohort.plink": {"cohort": {"source": "plink", "vcf": None, "plink": "pipe.bed"}},
    "cohort.populations": {"cohort": {"populations": "pipe"}},
    "outcomes.file": {"outcomes": OUTCOMES | {"file": "pipe"}},
    "outcomes.file, Parquet": {"outcomes": OUTCOMES | {"file": "pipe.parquet"}},
    "outcomes.scales": {"outcomes": OUTCOMES | {"file": "y.tsv", "scales": "pipe"}},
    "covariates.file": {"covariates": {"file": "pipe", "scales": "y.tsv"}},
    "covariates.scales": {"covariates": {"file": "y.tsv", "scales": "pipe"}},
    "people: keep": {"people": {"keep": "pipe"}},
    "people: remove": {"people": {"remove": "pipe"}},
    "people: related": {"people": {"related": "pipe"}},
    "people: consent": {"people": {"consent": {"file": "pipe", "allow": [1]}}},
    "public.sites": {"public": {"sites": "pipe"}},
    "public.sites, frequencies": {"public": {"sites": "sites.tsv", "frequencies": "pipe"}},
    "public.reference": {"public": {"reference": "pipe"}},
    "evaluation.outcomes": {
        "outcomes": OUTCOMES | {"file": "y.tsv"},
        "evaluation": {"metrics": "public", "outcomes": "pipe"},
    },
    "evaluation.covariates": {
        "covariates": {"file": "y.tsv", "scales": "y.tsv"},
        "evaluation": {"metrics": "public", "covariates": "pipe"},
    },
}


@pytest.mark.parametrize("key", NAMED)
def test_problems__of_what_is_no_regular_file(tmp_path, key):
    """A device, for a pipe would be waited for if the test failed."""
    for name in ("pipe", "pipe.bed", "pipe.parquet"):
        (tmp_path / name).symlink_to("/dev/null")
    write_text(tmp_path / "a.vcf", vcf_text(record(5, "0|0 0|1 1|1")))
    write_text(tmp_path / "y.tsv", "sample\ty\nA\t1\nB\t0\nC\t-1\n")
    write_text(tmp_path / "sites.tsv", "chrom\tpos\tref\talt\n1\t5\tA\tC\n")
    raw = {name: dict(section) for name, section in NAMED[key].items()}
    raw["cohort"] = {"source": "vcf", "vcf": "a.vcf", **raw.get("cohort", {})}
    mode = "release" if "public" in raw or "evaluation" in raw else "benchmark"
    lines = found(raw.pop("cohort"), mode=mode, **raw)
    name = key.partition(",")[0].partition(":")[0]
    named = [line for line in lines if "must be a regular file, or a link to one" in line]
    assert len(named) >= 1, lines
    assert all(line.startswith(f"`{name}") for line in named)


def test_problems__files_in_turn_are_named_one_by_one(tmp_path):
    write_bed(tmp_path / "a1")
    cohort = {"plink": "a{chrom}.bed", "chromosomes": [1, 2]}
    assert any("a2" in line for line in found(cohort))
    assert found(cohort | {"in_turn": True}) == []
    for path in ("a{chrom}", "a{chrom}_*.bed"):
        (line,) = [line for line in found(cohort | {"plink": path, "in_turn": True}) if "in_turn" in line]
        wanted = f"`cohort.plink` must name one file for each chromosome with `cohort.in_turn`, got {path}."
        assert line.startswith(wanted)
