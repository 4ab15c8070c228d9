import gzip
import re
from collections import Counter
from pathlib import Path

import pysam
import pysam.bcftools
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from dpgrs.errors import DpgrsError
from dpgrs.io.genotype_files import genotype_header, genotype_reader
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.vcf.bcf import is_bcf
from vcf_files import record, vcf_text, write_bgzf, write_text

ALTS = ("C", "c,G", "<DEL>", "*,T", ".", "CT,<INS>,AG")
CALLS = ("0|0", "0|1", "1|0", "1|1", "0/1", "0/0", ".|.", ".|1", "./.", "0/.", "1", ".", "0|1|1")
RECORDS = (
    record(4, "0|0 0|1 1|1"),
    record(5, "0|1 2|1 .|.", alt="C,<DEL>", id_="rs5"),
    record(6, "0|1 0|0 0|0", filter_="."),
    record(7, "1|1 0|0 0|0", contig="2"),
)


def write_bcf(path, text, *, index=False, kind="-Ob"):
    """Convert a VCF, as `bcftools view` does."""
    vcf = write_text(path.with_suffix(".vcf"), text)
    pysam.bcftools.view(kind, "-o", str(path), str(vcf), catch_stdout=False)
    if index:
        pysam.bcftools.index("-f", str(path))
    return path


def read(path, contig="1", **options):
    """Read a contig whole: counters, the variants as tuples and the planes; or the message of the error."""
    try:
        reader = genotype_reader(path, contig, **options)
        batches = list(reader.batches(3))
    except DpgrsError as error:
        # The text names a line, BCF has none.
        return str(error).partition(": ")[2]
    variants = [tuple(row) for batch in batches for row in batch.variants.itertuples(index=False)]
    planes = [(batch.haplotypes.tolist(), batch.missing.tolist()) for batch in batches]
    return reader.n_records, reader.skipped, reader.missing_alleles, variants, planes


records = st.builds(
    lambda position, calls, alt, filter_, format_: record(
        position, " ".join(calls), alt=alt, filter_=filter_, format_=format_
    ),
    st.integers(1, 900_000),
    st.lists(st.sampled_from(CALLS), min_size=3, max_size=3),
    st.sampled_from(ALTS),
    st.sampled_from(("PASS", ".", "q10")),
    st.just("GT"),
)


@given(
    lines=st.lists(records, min_size=1, max_size=6),
    phased=st.sampled_from(("required", "any")),
    keep_filtered=st.booleans(),
)
def test_reader__bcf_equals_the_vcf(tmp_path_factory, lines, phased, keep_filtered):
    folder = tmp_path_factory.mktemp("bcf")
    text = vcf_text(*lines).replace("#CHROM", '##FILTER=<ID=q10,Description="low">\n#CHROM')
    bcf = write_bcf(folder / "a.bcf", text)
    options = {"phased": phased, "keep_filtered": keep_filtered}
    assert read(bcf, **options) == read(folder / "a.vcf", **options)


@pytest.mark.parametrize("contig", ["1", "chr2", "3"])
@pytest.mark.parametrize(("kind", "index"), [("-Ob", False), ("-Ob", True), ("-Ou", False)])
def test_reader__every_kind_of_bcf(tmp_path, kind, index, contig):
    text = vcf_text(*RECORDS, contigs=("1", "2", "3"))
    bcf = write_bcf(tmp_path / "a.bcf", text, index=index, kind=kind)
    assert is_bcf(bcf)
    header = genotype_header(bcf)
    assert (header.path, header.samples) == (bcf, ("A", "B", "C"))
    assert header.contigs == {"1": 1_000_000, "2": 1_000_000, "3": 1_000_000}
    expected = read(tmp_path / "a.vcf", contig)
    assert read(bcf, contig) == (expected if contig != "3" else expected.replace("a.vcf", "a.bcf"))


def as_vcf_4_4(bcf):
    """Say VCF 4.4 in the header of a BCF, and clear the phase of each call's first allele, as of 4.3."""
    content = gzip.decompress(bcf.read_bytes()).replace(b"VCFv4.2", b"VCFv4.4")
    # Two small integers for each of three people: 2 (allele + 1) + phase; 0x81 is none.
    pairs = re.compile(rb"(?<=\x21)([\x00-\x05][\x00-\x05\x81]){3}")
    content = pairs.sub(
        lambda found: bytes(b if i % 2 else b & 0xFE for i, b in enumerate(found[0])), content
    )
    with pysam.BGZFile(str(bcf), "wb") as file:
        file.write(content)
    return bcf


def test_reader__of_vcf_4_4_whose_writer_left_the_first_phase_out(tmp_path):
    """As bcftools 1.16 wrote it: htslib prints `/0|1` for `0|1`."""
    calls = (record(4, "0|1 1|0 1|1"), record(5, "0|1:7 0|0:8 .|.:9", format_="GT:DP"), record(6, "1 0|1 ."))
    text = vcf_text(*calls).replace(
        "#CHROM", '##FORMAT=<ID=DP,Number=1,Type=Integer,Description="d">\n#CHROM'
    )
    bcf = as_vcf_4_4(write_bcf(tmp_path / "a.bcf", text))
    with pysam.VariantFile(str(bcf)) as file:
        prints_first_phase = Version(pysam.version.__htslib_version__) >= Version("1.22")
        assert ("/0|1" in str(next(iter(file)))) == prints_first_phase
    assert read(bcf) == read(tmp_path / "a.vcf")
    assert read(bcf)[3][0][:2] == ("1", 4)


def test_reader__of_vcf_4_4_refuses_calls_without_phase(tmp_path):
    bcf = as_vcf_4_4(write_bcf(tmp_path / "a.bcf", vcf_text(record(4, "0|0 0/1 1|1"))))
    assert "is heterozygous and unphased" in read_error(bcf)


def test_reader__no_gt(tmp_path):
    text = vcf_text(record(4, "1 2 3", format_="DP"), RECORDS[0])
    text = text.replace("#CHROM", '##FORMAT=<ID=DP,Number=1,Type=Integer,Description="d">\n#CHROM')
    assert read(write_bcf(tmp_path / "a.bcf", text))[1] == Counter(no_gt=1)


def test_reader__names_the_record_and_no_sample(tmp_path):
    bcf = write_bcf(tmp_path / "a.bcf", vcf_text(record(4, "0|0 0|1 1|1"), record(9, "0|0 0/1 1|1")))
    words = "record at 1:9: the call of sample 2 (column 11) is heterozygous and unphased. Phase the file, or"
    assert read_error(bcf).startswith(f"`{bcf}`, {words}")


def test_reader__name_that_begins_like_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_bcf(tmp_path / "-x.bcf", vcf_text(*RECORDS[:3]), index=True)
    assert read(Path("-x.bcf")) == read(tmp_path / "-x.bcf")


def test_reader__stale_index(tmp_path):
    write_bcf(tmp_path / "a.bcf", vcf_text(*RECORDS[:3]), index=True)
    index = (tmp_path / "a.bcf.csi").read_bytes()
    bcf = write_bcf(tmp_path / "a.bcf", vcf_text(*RECORDS[:2]))
    (tmp_path / "a.bcf.csi").write_bytes(index)
    assert "belongs to another version of the file" in read_error(bcf)


@pytest.mark.parametrize("kept", [0, 10, 60, -40, -10])
@pytest.mark.parametrize("kind", ["-Ob", "-Ou"])
def test_reader__raise_on_truncated(tmp_path, kept, kind):
    text = vcf_text(*(record(i, "0|0 0|1 1|1") for i in range(1, 30)))
    bcf = write_bcf(tmp_path / "a.bcf", text, kind=kind)
    bcf.write_bytes(bcf.read_bytes()[:kept])
    message = read_error(bcf)
    assert "\n" not in message
    assert "a.bcf" in message


def read_error(path):
    with pytest.raises(DpgrsError) as caught:
        list(genotype_reader(path, "1").batches(10))
    return str(caught.value)


def test_ingest__bcf_gives_the_store_of_the_vcf(tmp_path):
    bcf = write_bcf(tmp_path / "a.bcf", vcf_text(*RECORDS, contigs=("1", "2")))
    vcf = write_bgzf(tmp_path / "a.vcf.gz", (tmp_path / "a.vcf").read_text())
    counts = [
        ingest_chromosome(path, chromosome="1", store=tmp_path / f"{name}.zarr", threads=3)
        for name, path in (("bcf", bcf), ("vcf", vcf))
    ]
    assert counts[0] == counts[1]
    one, other = ((tmp_path / f"{name}.zarr" / "haplotypes" / "0.0").read_bytes() for name in ("bcf", "vcf"))
    assert one == other
