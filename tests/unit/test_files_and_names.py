"""Names of chromosomes, genome builds of several files, and what is no genotype file, in every form."""

import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.genome_builds import LENGTHS
from dpgrs.io.genotype_files import genotype_header, genotype_reader
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.preflight.checks import problems
from dpgrs.scoring.apply import apply_scores
from dpgrs.study.settings import resolve
from genotype_forms import write_called_bgen, write_called_pgen, write_forms, write_score
from nightly import rest_at_night
from plink_sets import write_bed
from refused import refused
from vcf_files import record, vcf_text, write_text

CALLS = [(1000, "A", "G", "GT", "0/1 1/1 0/0")]


@pytest.mark.parametrize(
    ("contig", "name"),
    rest_at_night(
        [
            *(("23", "X"), ("0X", "X"), ("01", "1"), ("Chr1", "1"), ("CHR22", "22"), ("NC_000001.11", "1")),
            *(("PAR1", "X"), ("XY", "X"), ("chr1", "chr1")),
        ],
        [("23", "X"), ("Chr1", "1"), ("chr1", "chr1")],
    ),
)
def test_names__of_a_target_and_a_store(tmp_path, contig, name):
    paths = write_forms(tmp_path, CALLS, contig=contig)
    paths |= {
        "pgen": write_called_pgen(tmp_path, paths["vcf"]),
        "bgen": write_called_bgen(tmp_path, paths["vcf"]),
    }
    score = write_score(tmp_path / "s.txt", [(name, 1000, "G", "A", 1)])
    for form, path in paths.items():
        assert apply_scores([path], [score]).sums[0].tolist() == [1, 2, 0], form
        store = tmp_path / f"{form}.zarr"
        counts = ingest_chromosome(path, chromosome=name.removeprefix("chr"), phased="any", store=store)
        assert counts["n_variants"] == 1, form
        assert HaplotypeStore.open(store).variants["contig"].tolist() == [name], form


def test_names__parts_of_x_are_read_with_it_in_the_order_of_positions(tmp_path):
    bim = ("23 a 0 500 C A", "23 b 0 900 C A", "25 c 0 100 C A", "25 d 0 990 C A")
    path = write_bed(tmp_path / "a", counts=((0, 1, 2), (1, 1, 1), (2, 0, 0), (0, 0, 2)), bim=bim)
    rows = [("X", 100, "C", "A", 1), ("X", 500, "C", "A", 10), ("X", 990, "C", "A", 100)]
    assert apply_scores([path], [write_score(tmp_path / "s.txt", rows)]).sums[0].tolist() == [2, 10, 220]
    ingest_chromosome(path, chromosome="X", phased="any", store=tmp_path / "x.zarr")
    variants = HaplotypeStore.open(tmp_path / "x.zarr").variants
    assert variants["position"].tolist() == [100, 500, 900, 990]
    assert set(variants["contig"]) == {"X"}
    ingest_chromosome(path, chromosome="XY", phased="any", store=tmp_path / "xy.zarr")
    assert HaplotypeStore.open(tmp_path / "xy.zarr").variants["position"].tolist() == [100, 990]


def test_names__of_chromosomes_that_the_target_lacks_give_no_advice_on_builds(tmp_path):
    target = write_forms(tmp_path, CALLS)["vcf"]
    score = write_score(tmp_path / "s.txt", [("2", 1000, "G", "A", 1)])
    with refused("too-few-matched-variants") as caught:
        apply_scores([target], [score])
    assert "genome build" not in str(caught.value)


def of_build(path, contig, length, position=1000):
    text = vcf_text(record(position, "0|1 1|1 0|0", contig=contig), contigs=[contig])
    return write_text(path, text.replace("length=1000000", f"length={length}"))


@pytest.mark.parametrize("by_name", [False, True])
def test_builds__of_two_files_are_refused_whatever_their_order(tmp_path, by_name):
    names = ("NC_000001.10", "NC_000002.12") if by_name else ("1", "2")
    lengths = (9, 9) if by_name else (LENGTHS["GRCh37"]["1"], LENGTHS["GRCh38"]["2"])
    old = of_build(tmp_path / "old.vcf", names[0], lengths[0])
    new = of_build(tmp_path / "new.vcf", names[1], lengths[1])
    score = write_score(tmp_path / "s.txt", [("1", 1000, "C", "A", 1)])
    for files, one, other in (([old, new], "GRCh37", "GRCh38"), ([new, old], "GRCh38", "GRCh37")):
        with refused("genome-builds-differ", files[1].name, one, other):
            apply_scores(files, [score])
        with refused("genome-builds-differ"):
            genotype_header(files)


def test_builds__of_a_cohort_are_refused_before_any_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    of_build(tmp_path / "chr1.vcf", "1", LENGTHS["GRCh38"]["1"])
    of_build(tmp_path / "chr2.vcf", "2", LENGTHS["GRCh37"]["2"])
    cohort = {"source": "vcf", "vcf": "chr{chrom}.vcf", "chromosomes": [1, 2]}
    found = problems(resolve({"mode": "benchmark", "cohort": cohort}))
    assert [line for line in found if "one genome build" in line] == [
        "`cohort.vcf` must be of one genome build, GRCh38 by chr1.vcf, whose chromosome 1 has length "
        "248956422, got GRCh37 by chr2.vcf, whose chromosome 2 has length 243199373. Lift one over."
    ]


def test_builds__a_file_is_named_by_its_own_snps(tmp_path):
    texts = {
        "old": vcf_text(record(752566, "0|1 1|1 0|0", id_="rs3094315")),
        "new": vcf_text(record(36513327, "0|1 1|1 0|0", id_="rs2835370", contig="21"), contigs=["21"]),
    }
    files = [write_text(tmp_path / f"{name}.vcf", text) for name, text in texts.items()]
    rows = [("1", 752566, "C", "A", 1), ("21", 36513327, "C", "A", 1)]
    with refused("genome-build-differs", "1:752566", "old.vcf"):
        apply_scores(files[::-1], [write_score(tmp_path / "s.txt", rows)], genome_build="GRCh38")


KINDS = ("a.vcf", "a.vcf.gz", "a.bcf", "a.bgen", "a.bed", "a.pgen")


@pytest.mark.parametrize("name", KINDS)
def test_files__that_are_none_are_named_as_what_they_are(tmp_path, name):
    path = tmp_path / name
    path.mkdir()
    with refused("folder-as-file", name, error=UsageError):
        genotype_header(path)
    path.rmdir()
    path.symlink_to(tmp_path / "nowhere")
    with refused("broken-link", name, error=UsageError):
        genotype_header(path)
    path.unlink()
    with refused("file-missing", name, error=UsageError):
        genotype_header(path)
    path.touch()
    with refused("file-empty", name):
        genotype_header(path)


def test_files__a_folder_is_no_target(tmp_path):
    (tmp_path / "chr1.vcf.gz").mkdir()
    score = write_score(tmp_path / "s.txt", [("1", 1000, "G", "A", 1)])
    with refused("not-a-haplotype-store"):
        apply_scores([tmp_path / "chr1.vcf.gz"], [score])


def test_files__blanks_for_tabs(tmp_path):
    lines = vcf_text(record(5, "0|0 0|1 1|1")).splitlines()
    lines[-2] = lines[-2].replace("\t", "    ")
    path = write_text(tmp_path / "a.vcf", "\n".join(lines) + "\n")
    with refused("header-with-blanks"):
        genotype_header(path)
    lines = vcf_text(record(5, "0|0 0|1 1|1")).splitlines()
    path = write_text(tmp_path / "b.vcf", "\n".join([*lines[:-1], lines[-1].replace("\t", " ")]) + "\n")
    with pytest.raises(DpgrsError, match=r"got fewer\. It has blanks: put tabs between the columns"):
        list(genotype_reader(path, "1").batches(3))
