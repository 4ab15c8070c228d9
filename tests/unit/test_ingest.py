import hashlib

import pytest

from dpgrs.bits import unpack
from dpgrs.errors import DpgrsError
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
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
    assert counts == {
        "n_records": 3,
        "n_variants": 2,
        "skipped": {"filtered": 1, "symbolic_allele": 1},
        "missing_alleles": 2,
        "haploid_calls": 0,
    }
    store = HaplotypeStore.open(tmp_path / "1.zarr")
    assert store.attributes["counts"] == counts
    assert store.attributes["source"] == {
        "file": "a.vcf.gz",
        "sha256": hashlib.sha256(vcf.read_bytes()).hexdigest(),
    }
    assert store.attributes["options"] == {
        "chromosome": "1",
        "phased": "required",
        "keep_filtered": False,
        "field": "GT",
    }
    assert unpack(store.haplotypes(), 6).tolist() == [[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 0]]
    assert unpack(store.missing(), 6).tolist() == [[0] * 6, [0, 0, 0, 0, 1, 1]]


def test_ingest_chromosome__same_bytes_again(tmp_path):
    vcf = write_bgzf(tmp_path / "a.vcf.gz", TEXT)
    for name in ("x", "y"):
        ingest_chromosome(vcf, chromosome="1", store=tmp_path / name)
    assert files_below(tmp_path / "x") == files_below(tmp_path / "y")


def test_ingest_chromosome__chunking_changes_nothing(tmp_path, monkeypatch):
    vcf = write_text(tmp_path / "a.vcf", vcf_text(*(record(i, "0|1 1|1 .|0") for i in range(1, 30))))
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "one")
    monkeypatch.setattr("dpgrs.io.haplotype_store._CHUNK_VARIANTS", 4)
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "many")
    one, many = HaplotypeStore.open(tmp_path / "one"), HaplotypeStore.open(tmp_path / "many")
    assert len(list(many.chunks())) == 8
    assert (one.haplotypes() == many.haplotypes()).all()
    assert (one.missing() == many.missing()).all()
    assert one.variants.equals(many.variants)


@pytest.mark.parametrize("error_at", [2, 29])
def test_ingest_chromosome__failure_leaves_nothing(tmp_path, monkeypatch, error_at):
    monkeypatch.setattr("dpgrs.io.haplotype_store._CHUNK_VARIANTS", 4)
    calls = ["0/1 0|0 0|0" if i == error_at else "0|0 0|1 0|0" for i in range(30)]
    vcf = write_text(tmp_path / "a.vcf", vcf_text(*(record(i + 1, call) for i, call in enumerate(calls))))
    with pytest.raises(DpgrsError, match="heterozygous and unphased"):
        ingest_chromosome(vcf, chromosome="1", store=tmp_path / "1.zarr")
    assert list(tmp_path.iterdir()) == [vcf]


def test_ingest_chromosome__all_filtered_says_how_to_keep_them(tmp_path):
    vcf = write_text(tmp_path / "a.vcf", vcf_text(record(7, "0|0 0|1 0|0", filter_="LowQual")))
    with pytest.raises(DpgrsError, match=r"Set `cohort\.keep_filtered: true`\."):
        ingest_chromosome(vcf, chromosome="1", store=tmp_path / "1.zarr")


def test_ingest_chromosome__raise_on_nothing_usable(tmp_path):
    vcf = write_text(tmp_path / "a.vcf", vcf_text(RECORDS[2], record(7, "0|0 0|0 0|0", alt="<DEL>")))
    with pytest.raises(
        DpgrsError, match=r"no usable variant .* all 2 records .*filtered 1, symbolic_allele 1"
    ):
        ingest_chromosome(vcf, chromosome="1", store=tmp_path / "1.zarr")
    assert list(tmp_path.iterdir()) == [vcf]


def test_ingest_chromosome__progress(tmp_path, capsys):
    vcf = write_text(tmp_path / "a.vcf", TEXT)
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "1.zarr")
    assert capsys.readouterr().err == ""
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "again.zarr", progress=True)
    assert "chromosome 1: 2 variants" in capsys.readouterr().err
