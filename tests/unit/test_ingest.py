import hashlib

import numpy as np
import pysam.bcftools
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import unpack
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from plink_sets import PVAR, write_pgen
from refused import refused
from vcf_files import record, vcf_text, write_bgzf, write_gzip, write_text

RECORDS = (
    record(4, "0|0 0|1 1|1"),
    record(5, "0|1 2|1 .|.", alt="C,<DEL>"),
    record(6, "0|1 0|0 0|0", filter_="q10"),
    record(7, "1|1 0|0 0|0", contig="2"),
)
TEXT = vcf_text(*RECORDS, contigs=("1", "2"))


def files_below(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_ingest_chromosome__counts_and_attributes(tmp_path):
    vcf = write_gzip(tmp_path / "a.vcf.gz", TEXT)
    counts = ingest_chromosome(vcf, chromosome=1, store=tmp_path / "1.zarr")
    skipped = {"filtered": 1, "symbolic_allele": 1}
    expected = {"n_records": 3, "n_variants": 2, "skipped": skipped, "missing_alleles": 2, "haploid_calls": 0}
    assert counts == expected
    store = HaplotypeStore.open(tmp_path / "1.zarr")
    options = {"chromosome": "1", "phased": "required", "keep_filtered": False, "known_ref": False}
    digest = hashlib.sha256(vcf.read_bytes()).hexdigest()
    assert {name: store.attributes[name] for name in ("counts", "source", "options")} == {
        "counts": counts,
        "source": {"file": "a.vcf.gz", "sha256": digest},
        "options": options | {"field": "GT"},
    }
    assert unpack(store.haplotypes(), 6).tolist() == [[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 0]]
    assert unpack(store.missing(), 6).tolist() == [[0] * 6, [0, 0, 0, 0, 1, 1]]


def test_ingest_chromosome__threads_change_no_byte(tmp_path, monkeypatch):
    calls = ("0|2 1 .", "0|1 1|1 .|0", "0|1 1|1 .|0")
    # More text than two blocks.
    records = (record(i, calls[i % 3], alt="C,G", info="x" * 60_000) for i in range(1, 93))
    vcf = write_bgzf(tmp_path / "a.vcf.gz", vcf_text(*records, record(5, "x", contig="2")))
    monkeypatch.setattr("dpgrs.io.haplotype_store.CHUNK_VARIANTS", 4)
    # The last record fills a batch.
    counts = [
        ingest_chromosome(vcf, chromosome="1", store=tmp_path / str(threads), threads=threads)
        for threads in (1, 2, 3, 8)
    ]
    assert counts == counts[:1] * 4
    assert counts[0]["haploid_calls"] == 30
    stores = [files_below(tmp_path / str(threads)) for threads in (1, 2, 3, 8)]
    assert stores == stores[:1] * 4


def test_ingest_chromosome__chunking_changes_nothing(tmp_path, monkeypatch):
    vcf = write_text(tmp_path / "a.vcf", vcf_text(*(record(i, "0|1 1|1 .|0") for i in range(1, 30))))
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "one")
    monkeypatch.setattr("dpgrs.io.haplotype_store.CHUNK_VARIANTS", 4)
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "many")
    one, many = HaplotypeStore.open(tmp_path / "one"), HaplotypeStore.open(tmp_path / "many")
    assert len(list(many.chunks())) == 8
    assert (one.haplotypes() == many.haplotypes()).all()
    assert (one.missing() == many.missing()).all()
    assert one.variants.equals(many.variants)


@pytest.mark.parametrize("error_at", [2, 29])
def test_ingest_chromosome__failure_leaves_nothing(tmp_path, monkeypatch, error_at):
    monkeypatch.setattr("dpgrs.io.haplotype_store.CHUNK_VARIANTS", 4)
    calls = ["0/1 0|0 0|0" if i == error_at else "0|0 0|1 0|0" for i in range(30)]
    vcf = write_text(tmp_path / "a.vcf", vcf_text(*(record(i + 1, call) for i, call in enumerate(calls))))
    with pytest.raises(DpgrsError, match="heterozygous and unphased"):
        ingest_chromosome(vcf, chromosome="1", store=tmp_path / "1.zarr")
    assert list(tmp_path.iterdir()) == [vcf]


def test_ingest_chromosome__all_filtered_says_how_to_keep_them(tmp_path):
    vcf = write_text(tmp_path / "a.vcf", vcf_text(record(7, "0|0 0|1 0|0", filter_="LowQual")))
    with refused("no-usable-variants", "`cohort.keep_filtered: true`"):
        ingest_chromosome(vcf, chromosome="1", store=tmp_path / "1.zarr")


def test_ingest_chromosome__raise_on_nothing_usable(tmp_path):
    vcf = write_text(tmp_path / "a.vcf", vcf_text(RECORDS[2], record(7, "0|0 0|0 0|0", alt="<DEL>")))
    with refused("no-usable-variants", "filtered, symbolic_allele"):
        ingest_chromosome(vcf, chromosome="1", store=tmp_path / "1.zarr")
    assert list(tmp_path.iterdir()) == [vcf]


def test_ingest_chromosome__progress(tmp_path, capsys):
    vcf = write_text(tmp_path / "a.vcf", TEXT)
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "1.zarr")
    assert capsys.readouterr().err == ""
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "again.zarr", progress=True)
    assert "chromosome 1: 2 variants" in capsys.readouterr().err


# A SNP on chromosome 22 that all builds know, and the length of the chromosome in GRCh38.
RS1296819 = {"GRCh37": 18076546, "GRCh38": 17593780}
LENGTH_22 = 50818468


@pytest.mark.parametrize("prefix", ["", "chr"])
@pytest.mark.parametrize("ending", [".vcf", ".pgen"])
def test_ingest_chromosome__positions_of_another_build(tmp_path, prefix, ending):
    contig, path = f"{prefix}22", tmp_path / f"a{ending}"
    place = RS1296819["GRCh37"]
    if ending == ".vcf":
        records = (record(5, "0|1 0|0 1|1", contig=contig), record(place, "0|1 0|0 1|1", id_="rs1;rs1296819"))
        write_text(path, vcf_text(records[0], records[1].replace("1", contig, 1), contigs=(contig,)))
    else:
        sites = (PVAR[0], f"{contig}\t5\t.\tA\tC\t.", f"{contig}\t{place}\trs1296819\tA\tC\t.")
        write_pgen(path.with_suffix(""), alleles=((0, 0, 0, 1, 1, 1),) * 2, pvar=sites)
    for stated in (None, "GRCh37"):
        store = tmp_path / f"{stated}.zarr"
        assert ingest_chromosome(path, chromosome=22, store=store, genome_build=stated)["n_variants"] == 2
    with refused("genome-build-differs", contig, place, "got GRCh38"):
        ingest_chromosome(path, chromosome=22, store=tmp_path / "x.zarr", genome_build="GRCh38")
    assert not list(tmp_path.glob("*x.zarr*"))


def test_ingest_chromosome__position_beyond_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("dpgrs.io.haplotype_store.CHUNK_VARIANTS", 1)
    positions = (5, 6, 7, LENGTH_22, LENGTH_22 + 1)
    text = vcf_text(*(record(i, "0|1 0|0 1|1", contig="22") for i in positions), contigs=("22",))
    vcf = write_text(tmp_path / "a.vcf", text)
    with refused("position-beyond-chromosome", LENGTH_22 + 1, "got GRCh38", "a.vcf"):
        ingest_chromosome(vcf, chromosome="22", store=tmp_path / "x.zarr", genome_build="GRCh38")
    assert not list(tmp_path.glob("*x.zarr*"))
    ingest_chromosome(vcf, chromosome="22", store=tmp_path / "y.zarr", genome_build="GRCh37")


@pytest.mark.parametrize(
    ("chromosome", "phased", "calls", "is_told"),
    [
        ("X", "any", "1/. 0|1 1", True),
        ("chrX", "any", ".|1 0|1 1", True),
        ("1", "any", "1/. 0|1 1", False),
        ("X", "any", ". 0/1 1", False),
        ("X", "required", "1/. 0|1 1", False),
    ],
)
def test_ingest_chromosome__half_calls_of_x(tmp_path, capfd, chromosome, phased, calls, is_told):
    text = vcf_text(record(5, calls, contig=chromosome), contigs=(chromosome,))
    write_text(tmp_path / "a.vcf", text)
    pysam.bcftools.view("-Ob", "-o", str(tmp_path / "a.bcf"), str(tmp_path / "a.vcf"), catch_stdout=False)
    stores = []
    for name in ("a.vcf", "a.bcf"):
        store = tmp_path / f"{name}.zarr"
        ingest_chromosome(tmp_path / name, chromosome=chromosome, phased=phased, store=store)
        stores.append(HaplotypeStore.open(store))
        warning = capfd.readouterr().err
        assert (f"{name}` has calls such as `1/.` on chromosome {chromosome}" in warning) == is_told
        assert not is_told or warning.count("\n") == 1
    first, second = stores
    assert np.array_equal(first.haplotypes(), second.haplotypes())
    assert np.array_equal(first.missing(), second.missing())
