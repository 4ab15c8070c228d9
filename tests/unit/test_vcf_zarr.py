import shutil

import numpy as np
import pytest

from dosage_files import dosage_text
from dpgrs.io.genotype_files import describe_files, genotype_header
from dpgrs.io.genotype_forms import VCF_ZARR, form_of
from dpgrs.io.vcf import vcf_zarr
from genotype_forms import read_all, read_fails, target_contents
from vcf_files import record, vcf_text, write_text
from vcf_zarr_files import arrays_of, write_vcf_zarr

KEPT = {"keep_filtered": True}
PHASED = (
    record(4, "0|0 0|1 .|.", id_="rs4"),
    record(6, "1|0 2|1 0|2", alt="C,G", filter_="."),
    record(7, "0|1 ./1 0|."),
    record(8, "0|0 0|0 0|0", alt="<DEL>,T,*"),
    record(9, "1|1 0|1 0|0", filter_="q10"),
    record(11, "0|0 0|0 0|0"),
    record(12, "0|0 0|0 0|0"),
    record(5, "1 0|1 .", contig="X"),
)
UNPHASED = (record(4, "0/0 0/1 ./."), record(6, "1/0 2/1 ./2", alt="C,G"))


def text(*records):
    found = vcf_text(*records, contigs=("1", "X"))
    return found.replace("#CHROM", '##FILTER=<ID=q10,Description="low">\n#CHROM')


def both(folder, *records, content=text, name="a.vcz", **options):
    """Return the paths of a VCF and of its VCF Zarr."""
    vcf = write_text(folder / "a.vcf", content(*records))
    return vcf, write_vcf_zarr(folder / name, vcf, **options)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("name", ["a.vcz", "a.vcf.zarr.zip"])
@pytest.mark.parametrize("contig", ["1", "chrX"])
def test_reader__as_a_vcf(tmp_path, zarr_format, name, contig):
    vcf, path = both(tmp_path, *PHASED, name=name, zarr_format=zarr_format)
    assert form_of(path) is VCF_ZARR
    assert genotype_header(path).samples == genotype_header(vcf).samples
    for options in ({"phased": "any"}, KEPT):
        for n_rows in (3, 100):
            assert read_all(path, contig, n_rows=n_rows, **options) == read_all(
                vcf, contig, n_rows=n_rows, **options
            )


def test_reader__unphased_as_a_vcf(tmp_path):
    vcf, path = both(tmp_path, *UNPHASED)
    assert read_all(path, phased="any") == read_all(vcf, phased="any")
    assert "record at 1:4: the call of sample 2 is heterozygous and unphased." in read_fails(path)


@pytest.mark.parametrize("held", [0, 2**28])
def test_reader__dosages_as_a_vcf(tmp_path, monkeypatch, held):
    monkeypatch.setattr(vcf_zarr, "HELD_BYTES", held)
    lines = (
        record(4, "0|0:0.127 0|1:1 .|.:.", format_="GT:DS"),
        record(6, "0|1:0.1,1.2003 1|2:. 2|2:0,2", alt="C,G", format_="GT:DS"),
        record(7, "0|1 1|1 0|."),
    )
    vcf, path = both(tmp_path, *lines, content=dosage_text)
    options = {"phased": "any", "field": "DS"}
    assert read_all(path, **options) == read_all(vcf, **options)
    path = write_vcf_zarr(tmp_path / "b.vcz", vcf, call_DS=None)
    assert read_all(path, **options)[2][1] == [4096, 4096, 0]


def test_header__contigs(tmp_path):
    _, path = both(tmp_path, *PHASED, contig_length=np.array([1000, -1]))
    header = genotype_header(path)
    assert header.contigs == {"1": 1000, "X": None}
    assert VCF_ZARR.first_site(path) == ("1", 4)
    assert VCF_ZARR.n_sites(path, 3) == len(PHASED)


def test_provisional_ref(tmp_path):
    vcf, path = both(tmp_path, *PHASED)
    assert not VCF_ZARR.has_provisional_ref(path)
    assert read_all(path, known_ref=True)[0] == read_all(path)[0]
    for number, changes in enumerate(({"variant_PR": np.arange(8) == 7}, {"is_of_a_vcf": False})):
        path = write_vcf_zarr(tmp_path / f"{number}.vcz", vcf, **changes)
        assert VCF_ZARR.has_provisional_ref(path)
        assert "must have REF of the genome, which it does not say." in read_fails(path, known_ref=True)


def test_describe_files__a_digest_of_a_folder(tmp_path):
    _, path = both(tmp_path, *PHASED)
    told = describe_files(path)
    assert told["file"] == "a.vcz"
    shutil.copytree(path, tmp_path / "copy" / "a.vcz")
    assert describe_files(tmp_path / "copy" / "a.vcz") == told
    chunk = path / "variant_position" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"x")
    assert describe_files(path)["sha256"] != told["sha256"]


@pytest.mark.parametrize(
    ("array", "chunk"), [("variant_position", "0"), ("call_genotype", "1.0.0"), ("variant_allele", "1.0")]
)
def test_reader__raise_on_damage(tmp_path, array, chunk):
    _, path = both(tmp_path, *PHASED)
    file = path / array / chunk
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert "a.vcz` is no VCF Zarr that can be read: it is cut short or damaged." in read_fails(path)
    file.unlink()
    assert read_fails(path)


@pytest.mark.parametrize("name", ["call_genotype", "variant_position", "sample_id"])
def test_reader__raise_on_a_lacking_array(tmp_path, name):
    vcf, _ = both(tmp_path, *PHASED)
    path = write_vcf_zarr(tmp_path / "b.vcz", vcf, **{name: None})
    assert read_fails(path).startswith(
        f"`b.vcz` is no VCF Zarr: it has no `{name}`. Make it of a VCF: vcf2zarr"
    )


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"sample_id": np.array(["A", "A", "C"], dtype=object)}, "must have distinct sample ids"),
        ({"sample_id": np.array(["A", "B"], dtype=object)}, "it is cut short or damaged."),
        ({"variant_contig": np.full(8, 7, dtype=np.int8)}, "it is cut short or damaged."),
        (
            {"variant_position": np.zeros(8, dtype=np.int32)},
            "record at 1:0: `POS` must be a whole number",
        ),
        (
            {"call_genotype": np.full((8, 3, 2), 3, dtype=np.int8)},
            "record at 1:4: the call of sample 1 ",
        ),
        ({"call_genotype": np.ones((8, 3, 3), dtype=np.int8)}, "has more than two alleles. Mend the record."),
    ],
)
def test_reader__raise_on_odd_arrays(tmp_path, change, cause):
    vcf, _ = both(tmp_path, *PHASED)
    assert cause in read_fails(write_vcf_zarr(tmp_path / "b.vcz", vcf, **change))


def test_reader__raise_on_a_dosage_beyond_two(tmp_path):
    vcf, _ = both(tmp_path, record(4, "0|0:0.1 0|1:1 1|1:2", format_="GT:DS"), content=dosage_text)
    path = write_vcf_zarr(tmp_path / "b.vcz", vcf, call_DS=np.full((1, 3, 1), 2.5, dtype=np.float32))
    assert "record at 1:4: the dosage of sample 1 (column 10) must be a number" in read_fails(
        path, phased="any", field="DS"
    )


def test_reader__raise_on_no_file(tmp_path):
    assert read_fails(tmp_path / "a.vcz") == "`a.vcz` is not there. Mend the path, or fetch the file."
    (tmp_path / "b.vcz").mkdir()
    assert "`b.vcz` is no VCF Zarr that can be read" in read_fails(tmp_path / "b.vcz")
    (tmp_path / "c.vcz.zip").write_bytes(b"no zip")
    assert "`c.vcz.zip` is no VCF Zarr that can be read" in read_fails(tmp_path / "c.vcz.zip")


@pytest.mark.parametrize("field", ["GT", "DS"])
def test_target__as_a_vcf(tmp_path, field):
    vcf, path = both(tmp_path, *PHASED[:7], record(14, "1 0|1 ."))
    assert target_contents(path, field) == target_contents(vcf, field)


def test_arrays__have_chunks_that_are_not_there(tmp_path):
    """Zarr writes no chunk of zeros alone: the last records of chromosome 1 are in none."""
    vcf, path = both(tmp_path, *PHASED)
    assert not arrays_of(vcf)["call_genotype"][5:7].any()
    assert len(list((path / "call_genotype").glob("*.0.0"))) == 4
