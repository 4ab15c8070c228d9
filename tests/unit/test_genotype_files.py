import hashlib

import pytest

from dpgrs.config.cohort import Cohort
from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import unpack
from dpgrs.io.genotype_files import find_genotype_files, genotype_header, genotype_reader
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.study.cohort_files import cohort_files, cohort_pattern, reference_files_of, tables_of
from plink_sets import FAM, write_bed, write_pgen
from refused import refused
from vcf_files import record, vcf_text, write_bgzf, write_text

RECORDS = [record(5 * i, "0|1 1|1 .|0", filter_="q" if i % 4 == 0 else ".") for i in range(1, 12)]
SPLITS = {"part_9": RECORDS[:3], "part_10": RECORDS[3:7], "part_1": RECORDS[7:], "part_2": []}


@pytest.fixture
def parts(tmp_path):
    """A VCF, and the same in parts whose names do not follow the positions; one part has no record."""
    write_text(tmp_path / "whole.vcf", vcf_text(*RECORDS))
    for name, lines in SPLITS.items():
        write_bgzf(tmp_path / f"{name}.vcf.gz", vcf_text(*lines), index="tbi" if lines else None)
    return find_genotype_files(f"{tmp_path}/part_*", "1")


def test_find_genotype_files__patterns(tmp_path):
    names = ["1_a.vcf", "1_b.vcf", "1_b.vcf.csi", "1[c.vcf", "2.bed", "2.pgen", "3.bed", "4_x.pgen"]
    for name in [*names, "4_y.pgen"]:
        (tmp_path / name).touch()

    def found(pattern, chromosome, **options):
        return [path.name for path in find_genotype_files(f"{tmp_path}/{pattern}", chromosome, **options)]

    assert found("{chrom}_*", "1") == ["1_a.vcf", "1_b.vcf"]
    assert found("{chrom}[*.vcf", "1") == ["1[c.vcf"]
    assert found("{chrom}.vcf", "7") == ["7.vcf"]
    assert found("{chrom}", "3", is_prefix=True) == ["3.bed"]
    assert found("{chrom}_*", "4", is_prefix=True) == ["4_x.pgen", "4_y.pgen"]
    assert found("{chrom}.bed", "2", is_prefix=True) == ["2.bed"]


@pytest.mark.parametrize(
    ("pattern", "is_prefix", "cause"),
    [
        ("x*", False, "matches no file. Mend the pattern"),
        ("x", True, "has no .pgen and no .bed beside it"),
        ("2", True, "has a .pgen and a .bed. Name the one to use, with its ending."),
    ],
)
def test_find_genotype_files__raise_on_none_or_two(tmp_path, pattern, is_prefix, cause):
    (tmp_path / "2.bed").touch()
    (tmp_path / "2.pgen").touch()
    with pytest.raises(DpgrsError) as caught:
        find_genotype_files(f"{tmp_path}/{pattern}", "1", is_prefix=is_prefix)
    assert cause in str(caught.value)


def test_cohort_files__and_their_tables(tmp_path):
    plink = Cohort.of({"source": "plink", "vcf": None, "plink": f"{tmp_path}/{{chrom}}"})
    write_pgen(tmp_path / "1")
    assert cohort_pattern(plink) == ("cohort.plink", plink.plink)
    files = cohort_files(plink, "1")
    assert files == reference_files_of(f"{tmp_path}/{{chrom}}.pgen", "1") == [tmp_path / "1.pgen"]
    assert tables_of(files) == [tmp_path / "1.pvar", tmp_path / "1.psam"]
    vcf = Cohort.of({"source": "vcf", "vcf": "a/{chrom}.vcf.gz", "plink": None})
    assert tables_of([str(path) for path in cohort_files(vcf, "1")]) == []


@pytest.mark.parametrize("keep_filtered", [True, False])
def test_ingest__parts_give_the_store_of_the_whole(tmp_path, parts, keep_filtered):
    options = {"chromosome": "1", "keep_filtered": keep_filtered}
    counts = ingest_chromosome(parts, store=tmp_path / "parts.zarr", threads=3, **options)
    assert counts == ingest_chromosome(tmp_path / "whole.vcf", store=tmp_path / "whole.zarr", **options)
    one, other = (HaplotypeStore.open(tmp_path / f"{name}.zarr") for name in ("parts", "whole"))
    assert one.variants.equals(other.variants)
    assert (one.haplotypes() == other.haplotypes()).all()
    assert (one.missing() == other.missing()).all()
    assert one.attributes["source"] == [
        {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()} for path in parts
    ]


def test_ingest__plink_records_all_files(tmp_path):
    path = write_bed(tmp_path / "a")
    ingest_chromosome(path, chromosome="1", store=tmp_path / "a.zarr", phased="any", threads=3)
    store = HaplotypeStore.open(tmp_path / "a.zarr")
    assert [entry["file"] for entry in store.attributes["source"]] == ["a.bed", "a.bim", "a.fam"]
    assert unpack(store.haplotypes(), 6).tolist() == [[0, 0, 0, 1, 0, 0]]


def test_parts__of_plink(tmp_path):
    write_bed(tmp_path / "b", counts=[(0, 1, 2)], bim=["1 . 0 4 C A"])
    write_bed(tmp_path / "a", counts=[(2, 1, 0)], bim=["1 . 0 9 C A"])
    reader = genotype_reader([tmp_path / "a.bed", tmp_path / "b.bed"], "1", phased="any")
    assert [batch.variants["position"].tolist() for batch in reader.batches(9)] == [[4], [9]]
    assert (reader.n_records, reader.haploid_calls) == (2, 0)


def test_parts__raise_on_overlap(tmp_path, parts):
    write_text(tmp_path / "part_3.vcf", vcf_text(RECORDS[6]))
    reader = genotype_reader([*parts, tmp_path / "part_3.vcf"], "1", keep_filtered=True)
    with refused("parts-overlap") as caught:
        list(reader.batches(2))
    message = str(caught.value).replace(f"{tmp_path}/", "")
    assert message.startswith(
        "`part_3.vcf` must begin after position 35, where `part_10.vcf.gz` ends, got position 35."
    )


def test_parts__raise_on_another_chromosome(tmp_path, parts):
    write_text(
        tmp_path / "part_11.vcf", vcf_text(record(3, "0|1 1|1 .|0", contig="chr10"), contigs=("chr10",))
    )
    with refused("part-of-another-chromosome", "part_11.vcf", "chromosome 1", "got chr10"):
        genotype_reader([*parts, tmp_path / "part_11.vcf"], "1")


def test_parts__raise_on_other_people(tmp_path, parts):
    write_bed(tmp_path / "a", fam=[*FAM[:2], "f D 0 0 1 -9"])
    with refused("people-of-parts-differ"):
        genotype_header([*parts, tmp_path / "a.bed"])


def test_parts__none_has_records(tmp_path):
    paths = [write_text(tmp_path / f"{name}.vcf", vcf_text()) for name in "ab"]
    with refused("contig-missing", "contig 1"):
        list(genotype_reader(paths, "1").batches(2))
