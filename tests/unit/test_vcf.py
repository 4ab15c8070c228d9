import gzip

import numpy as np
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.genotypes.bits import unpack
from dpgrs.io.vcf.vcf import ContigReader, read_header
from refused import refused
from vcf_files import record, vcf_text, write_bgzf, write_gzip, write_text

WRITERS = {
    "text": write_text,
    "gzip": write_gzip,
    "bgzf": lambda path, text: write_bgzf(path, text, index=None),
    "tbi": write_bgzf,
    "csi": lambda path, text: write_bgzf(path, text, index="csi"),
}


def read(path, contig="1", *, batch=100, **options):
    """Read a contig whole: the reader, the variants as tuples, (n, 6) alleles and (n, 6) missing."""
    header = read_header(path)
    reader = ContigReader(header, contig, **options)
    batches = list(reader.batches(batch))
    variants = [tuple(row) for batch in batches for row in batch.variants.itertuples(index=False)]
    planes = (
        [np.concatenate([getattr(b, name) for b in batches]) for name in ("haplotypes", "missing")]
        if batches
        else []
    )
    return reader, variants, *(unpack(plane, 2 * len(header.samples)).tolist() for plane in planes)


def read_records(tmp_path, *records, **options):
    return read(write_text(tmp_path / "a.vcf", vcf_text(*records)), **options)


def read_fails(tmp_path, *records, **options):
    with pytest.raises(DpgrsError) as caught:
        read_records(tmp_path, *records, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert "a.vcf" in message
    return message


@pytest.mark.parametrize("kind", WRITERS)
def test_read_header__every_kind(tmp_path, kind):
    path = WRITERS[kind](tmp_path / "a.vcf.gz", vcf_text(record(5, "0|0 0|1 1|1"), contigs=("1", "22")))
    header = read_header(path)
    assert header.path == path
    assert header.samples == ("A", "B", "C")
    assert header.contigs == {"1": 1_000_000, "22": 1_000_000}


def test_read_header__contig_without_length(tmp_path):
    text = vcf_text().replace(",length=1000000", "")
    assert read_header(write_text(tmp_path / "a.vcf", text)).contigs == {"1": None}


def test_read_header__stops_after_the_header(tmp_path):
    path = write_gzip(tmp_path / "a.vcf.gz", vcf_text(*(record(i, "0|0 0|1 1|1") for i in range(1, 50_000))))
    path.write_bytes(path.read_bytes()[:-100])
    assert read_header(path).samples == ("A", "B", "C")


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (None, "is not there"),
        (gzip.compress(b"sample\theight\n", mtime=0), "must begin with `##fileformat=VCF`"),
        (gzip.compress(vcf_text().encode(), mtime=0)[:60], "truncated"),
        (vcf_text(samples=("A", "Zoë")).encode("latin-1"), "must have sample ids in UTF-8"),
        (vcf_text(samples=tuple("ABCDEABCD")).encode(), "got the same for samples 1 and 6."),
    ],
)
def test_read_header__raise_on_bad_file(tmp_path, content, cause):
    path = tmp_path / "a.vcf.gz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DpgrsError) as caught:
        read_header(path)
    assert cause in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("batch", [1, 3, 100])
def test_batches__every_kind_gives_the_same(tmp_path, kind, batch):
    text = vcf_text(
        *(record(i, "0|0 0|1 1|1", contig="1") for i in range(1, 6)),
        *(record(i, "1|0 0|0 .|1", contig="2", id_=f"rs{i}") for i in range(7, 14)),
        contigs=("1", "2"),
    )
    path = WRITERS[kind](tmp_path / "a.vcf.gz", text)
    reader, variants, alleles, missing = read(path, "2", batch=batch)
    assert variants == [("2", i, f"rs{i}", "A", "C") for i in range(7, 14)]
    assert alleles == [[1, 0, 0, 0, 0, 1]] * 7
    assert missing == [[0, 0, 0, 0, 1, 0]] * 7
    assert (reader.n_records, reader.missing_alleles) == (7, 7)


def test_batches__multiallelic(tmp_path):
    _, variants, alleles, missing = read_records(tmp_path, record(5, "0|1 2|1 3|.", ref="AT", alt="A,ATT,G"))
    assert variants == [("1", 5, ".", "AT", alt) for alt in ("A", "ATT", "G")]
    assert alleles == [[0, 1, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 0]]
    assert missing == [[0, 0, 0, 0, 0, 1]] * 3


@pytest.mark.parametrize("alt", ["<CN0>", "<*>", "]13:123456]T", "T[1:9[", ".A", "G.", "*"])
def test_batches__symbolic_alt_beside_an_ordinary_one(tmp_path, alt):
    reader, variants, alleles, _ = read_records(tmp_path, record(5, "0|1 2|1 2|2", alt=f"{alt},G"))
    assert variants == [("1", 5, ".", "A", "G")]
    assert alleles == [[0, 0, 1, 0, 1, 1]]
    assert reader.skipped == {"star_allele" if alt == "*" else "symbolic_allele": 1}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"alt": "<CN0>"}, "symbolic_allele"),
        ({"alt": "*"}, "star_allele"),
        ({"alt": "7"}, "no_letters"),
        ({"ref": "-"}, "no_letters"),
        ({"ref": "A1", "alt": "*"}, "no_letters"),
        ({"alt": "."}, "no_alt"),
        ({"format_": "DP"}, "no_gt"),
        ({"filter_": "q10"}, "filtered"),
        ({"filter_": "q10;s50"}, "filtered"),
    ],
)
def test_batches__skipped_and_counted(tmp_path, changes, reason):
    bad = record(5, "0|0 0|0 0|0" if reason != "no_gt" else "3 4 5", **changes)
    reader, variants, *_ = read_records(tmp_path, bad, record(6, "0|1 0|0 0|0"), bad)
    assert [variant[1] for variant in variants] == [6]
    assert reader.skipped == {reason: 2}
    assert reader.n_records == 3


def test_batches__keep_filtered(tmp_path):
    """The first line is read by plain code, the second by compiled code."""
    lines = [record(position, "0|1 0|0 0|0", filter_="q10") for position in (5, 6)]
    reader, variants, *_ = read_records(tmp_path, *lines, keep_filtered=True)
    assert ([position for _, position, *_ in variants], reader.skipped) == ([5, 6], {})


def test_batches__missing_of_every_form(tmp_path):
    reader, _, alleles, missing = read_records(
        tmp_path,
        record(1, ". ./. .|."),
        record(2, "1|. .|1 0|."),
        record(3, "./1 1/. 1|0"),
        record(4, ". . ."),
    )
    assert missing == [[1] * 6, [0, 1, 1, 0, 0, 1], [1, 1, 1, 1, 0, 0], [1] * 6]
    assert alleles == [[0] * 6, [1, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0] * 6]
    assert reader.missing_alleles == 19


def test_batches__phase_not_required(tmp_path):
    reader, _, *planes = read_records(
        tmp_path, record(3, "./1 1/. 1/0"), record(4, "/0/1 /0|1 |1/0"), record(5, "|1 /0 /.|1"), phased="any"
    )
    alleles = [[0, 1, 1, 0, 1, 0], [0, 1, 0, 1, 1, 0], [1, 1, 0, 0, 0, 1]]
    assert planes == [alleles, [[1, 0, 0, 1, 0, 0], [0] * 6, [0, 0, 0, 0, 1, 0]]]
    assert reader.haploid_calls == 2


def test_batches__calls_of_vcf_4_4_that_begin_with_a_phase(tmp_path):
    records = (
        record(3, "|0|1 |1|0 /1/1"),
        record(4, "|1 /1 ."),
        record(5, "|0|1:3 1|0 0|0", format_="GT:DP"),
    )
    _, _, *planes = read_records(tmp_path, *records)
    alleles = [[0, 1, 1, 0, 1, 1], [1, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0]]
    assert planes == [alleles, [[0] * 6, [0, 1, 0, 1, 1, 1], [0] * 6]]


@pytest.mark.parametrize("call", ["/0/1", "/0|1", "|0/1"])
@pytest.mark.parametrize("is_compiled", [True, False])
def test_batches__raise_where_a_phase_before_a_call_is_none(tmp_path, call, is_compiled):
    message = read_fails(tmp_path, record(5, f"0|0 {call} 1|1"), is_compiled=is_compiled)
    assert "sample 2 (column 11) is heterozygous and unphased" in message


HAPLOID = (record(3, "0|1 1 0"), record(4, "1 0 1"), record(5, "2 . 1|.", alt="C,G", format_="GT:DP"))


def test_batches__haploid_calls_of_haplotypes_have_no_second(tmp_path):
    reader, _, alleles, missing = read_records(tmp_path, *HAPLOID)
    assert alleles == [[0, 1, 1, 0, 0, 0], [1, 0, 0, 0, 1, 0], [0, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0]]
    assert missing == [[0, 0, 0, 1, 0, 1], [0, 1, 0, 1, 0, 1], *[[0, 1, 1, 1, 0, 1]] * 2]
    assert (reader.haploid_calls, reader.missing_alleles) == (6, 13)


def test_batches__haploid_calls_of_people_count_twice(tmp_path):
    reader, _, alleles, missing = read_records(tmp_path, *HAPLOID, phased="any")
    assert alleles == [[0, 1, 1, 1, 0, 0], [1, 1, 0, 0, 1, 1], [0, 0, 0, 0, 1, 0], [1, 1, 0, 0, 0, 0]]
    assert missing == [[0] * 6, [0] * 6, *[[0, 0, 1, 1, 0, 1]] * 2]
    assert (reader.haploid_calls, reader.missing_alleles) == (6, 6)


def test_batches__undeclared_contig_filter_and_windows_line_ends(tmp_path):
    text = vcf_text(record(3, "0|1 1|1 0|0", filter_="zzz"), contigs=()).replace("\n", "\r\n")
    path = tmp_path / "a.vcf"
    path.write_bytes(text.encode())
    assert read(path, keep_filtered=True)[2] == [[0, 1, 1, 1, 0, 0]]


@pytest.mark.parametrize(("in_file", "asked"), [("1", "chr1"), ("chr1", "1"), ("chr1", "chr1")])
@pytest.mark.parametrize("kind", ["gzip", "tbi"])
def test_batches__chr_prefix(tmp_path, kind, in_file, asked):
    text = vcf_text(record(3, "0|1 0|0 0|0", contig=in_file), contigs=(in_file,))
    assert read(WRITERS[kind](tmp_path / "a.vcf.gz", text), asked)[1] == [(in_file, 3, ".", "A", "C")]


@pytest.mark.parametrize("kind", ["gzip", "tbi"])
@pytest.mark.parametrize(
    ("other", "contig", "fault"),
    [("X", "7", ("contig-missing", "contig 7")), ("chr1", "1", ("contig-named-twice",))],
)
def test_batches__raise_on_contig_that_is_not_there_once(tmp_path, kind, other, contig, fault):
    lines = (record(3, "0|1 0|0 0|0"), record(3, "0|1 0|0 0|0", contig=other))
    with refused(*fault):
        read(WRITERS[kind](tmp_path / "a.vcf.gz", vcf_text(*lines, contigs=("1", other, "7"))), contig)


@pytest.mark.parametrize(
    ("bad", "cause"),
    [
        (record(5, "0|0 0|0 1/2", alt="C,G"), "sample 3 (column 12) is heterozygous and unphased"),
        (record(5, "0|0 0/1/1 1|1"), "sample 2 (column 11) has more than two alleles"),
        (record(5, "0|0 0|0 65537|1"), "sample 3 (column 12) has an allele that the record does not list"),
        (record(5, "7:0|0 7 7:1|1", format_="DP:GT"), "the call of sample 2 (column 11) is malformed"),
        (record(5, "7:0|0 7:x 7:1|1", format_="DP:GT"), "the call of sample 2 (column 11) is malformed"),
        (record(5, "0|0 0|1 1|1", n_columns=4), "as many columns as the header, got fewer"),
        (record(5, "0|0 0|1 1|1").rstrip("\n") + "\t\n", "as many columns as the header, got more"),
        (record(5, "0|0 0|1:3 1|1"), "the FORMAT and sample columns do not agree"),
    ],
)
def test_batches__raise_on_bad_record(tmp_path, bad, cause, capfd):
    """Those that `ingest-chromosome` refuses, too, are in `test_odd_vcfs.py`."""
    message = read_fails(tmp_path, record(4, "0|0 0|0 0|0"), bad, record(6, "0|0 0|0 0|0"))
    assert cause in message
    assert "line 6:" in message
    assert not any(f"`{name}`" in message for name in ("A", "B", "C"))
    assert capfd.readouterr().err == ""


def test_batches__raise_with_position_where_the_index_was_used(tmp_path):
    path = write_bgzf(tmp_path / "a.vcf.gz", vcf_text(record(4, "0|0 0|0 0|0"), record(5, "0|0 0/1 0|0")))
    with pytest.raises(DpgrsError, match=r"record at 1:5: the call of sample 2 \(column 11\)"):
        read(path)


def test_batches__raise_on_unknown_phased(tmp_path):
    with refused("phased-unknown", "`phased`", error=UsageError):
        read_records(tmp_path, record(4, "0|0 0|0 0|0"), phased="maybe")


def long_text():
    """Return a VCF that fills several BGZF blocks."""
    return vcf_text(*(record(i, "0|0 0|1 1|1", info=f"X={i * i * i}") for i in range(1, 9000)))


@pytest.mark.parametrize("kind", ["gzip", "bgzf", "tbi"])
@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_batches__raise_on_truncated_file(tmp_path, kind, kept):
    path = WRITERS[kind](tmp_path / "a.vcf.gz", long_text())
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(DpgrsError, match="truncated"):
        read(path)


def test_batches__raise_on_wrong_checksum(tmp_path):
    path = write_gzip(tmp_path / "a.vcf.gz", vcf_text(record(4, "0|0 0|0 0|0")))
    content = bytearray(path.read_bytes())
    content[-8] ^= 255
    path.write_bytes(content)
    with refused("file-damaged", "line 5"):
        read(path)


@pytest.mark.parametrize("kind", ["bgzf", "tbi"])
def test_batches__raise_on_file_cut_between_blocks(tmp_path, kind):
    path = WRITERS[kind](tmp_path / "a.vcf.gz", long_text())
    path.write_bytes(path.read_bytes()[:-28])
    with refused("bgzf-truncated"):
        read(path)


@pytest.mark.parametrize("kind", ["gzip", "bgzf", "tbi"])
def test_batches__raise_on_damaged_file(tmp_path, kind, capfd):
    path = WRITERS[kind](tmp_path / "a.vcf.gz", long_text())
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    with pytest.raises(DpgrsError, match=r"truncated or damaged|must have 12 columns"):
        read(path)
    assert capfd.readouterr().err == ""


def test_batches__raise_on_stale_index(tmp_path):
    path = write_bgzf(tmp_path / "a.vcf.gz", vcf_text(record(4, "0|0 0|0 0|0")))
    write_bgzf(path, vcf_text(record(4, "0|0 0|0 0|0"), record(5, "0|0 0|0 0|0")), index=None)
    with refused("index-of-another-file", "contig 1"):
        read(path)


def test_batches__unreadable_index_means_a_scan(tmp_path, capfd):
    path = write_bgzf(tmp_path / "a.vcf.gz", vcf_text(record(4, "0|0 0|1 0|0")))
    (tmp_path / "a.vcf.gz.tbi").write_bytes(b"junk")
    assert read(path)[2] == [[0, 0, 0, 1, 0, 0]]
    assert capfd.readouterr().err == ""
