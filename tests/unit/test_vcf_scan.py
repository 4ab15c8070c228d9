"""Every line by compiled code, as plain Python, by numpy, cyvcf2, in threads: the same rows and errors."""

import importlib.util
from unittest import mock

import numba
import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import pack
from dpgrs.io.vcf import _kernels as kernels
from dpgrs.io.vcf import scan as vcf_scan
from dpgrs.io.vcf.scan import LineScanner
from dpgrs.io.vcf.text import ContigText, record_error
from vcf_files import record, vcf_text, write_bgzf, write_text
from without_numba import plain

SAMPLES = ("A", "B", "C")


def plain_kernels():
    """Return the module of kernels as plain Python."""
    specification = importlib.util.find_spec(kernels.__name__)
    module = importlib.util.module_from_spec(specification)
    with mock.patch.object(numba, "njit", return_value=lambda function: function):
        specification.loader.exec_module(module)
    return module


PLAIN = plain_kernels()
BY_NUMPY = plain(kernels)


def outcome(path, *, n_samples=3, n_rows=4, is_compiled=True, terms=None, **options):
    """Return all that reading gives, or the error's message."""
    terms = {"is_phase_required": True, "is_known_ref": False, "is_filter_kept": False} | (terms or {})
    try:
        scanner = LineScanner(ContigText(path, "1"), n_samples=n_samples, is_compiled=is_compiled, **terms)
        batches = [
            ({name: list(values) for name, values in columns.items()}, bits.tolist(), missing.tolist())
            for columns, bits, missing in scanner.rows(n_rows, **options)
        ]
    except DpgrsError as error:
        return str(error)
    return batches, scanner.n_records, scanner.skipped, scanner.haploid_calls


def assert_all_same(path, **options):
    """Compare all ways to read, and blocks of every size; return the outcome."""
    expected = outcome(path, is_compiled=False, **options)
    assert outcome(path, **options) == expected
    assert outcome(path, n_bytes=7, **options) == expected
    assert outcome(path, n_threads=3, n_bytes=70, **options) == expected
    with mock.patch.object(vcf_scan, "kernels", PLAIN):
        assert outcome(path, **options) == expected
        assert outcome(path, n_bytes=50, **options) == expected
    with (
        mock.patch.multiple(vcf_scan, kernels=BY_NUMPY, numba=None),
        mock.patch.object(kernels, "line_end", BY_NUMPY.line_end),
    ):
        assert outcome(path, **options) == expected
    return expected


USUAL = st.sampled_from(["0|0", "0|1", "1|0", "1|1"])
DOTS = st.sampled_from(["0|0", "0|1", "1|1", ".|.", ".|1", "0|."])
FORMS = ["0/0", "0/1", "1/1", "./.", "./1", "0/.", ".", "0", "1", "2", "2|0", "1|2", "10|1", "0|11", "01|1"]
FORMS += ["|0|1", "/0/1", "/0|1", "|0/1", "|1", "/1", "|.", "/.", "/.|1", "|1|.", "|10|1"]
BROKEN = ["0|0|1", "x", "", "0|", "||0", "|0|", "/|0", "|", "0|1 ", "0:1", "0|1:", "0|1:7:8:9", "0\\1"]
BROKEN += ["0|1:é", "-1|0", "99999|0"]
FIXED = {
    "contig": ["1", "2", "12", "chr1", ""],
    "position": [7, "007", 0, 2**31 - 1, 2**31, "x", "", "12345678901"],
    "id_": [".", "rs1", "Zoë", ""],
    "ref": ["A", "ACGT", "N", "a", "-", "", "A1"],
    "alt": [
        *("C", "CAT", "C,G", "A", "a", "aCGT", "<DEL>", "*", ".", "G,<CN0>,T", "C,", "7", "", "A[1:5["),
        ",".join("ACGT" * 3),
    ],
    "filter_": ["PASS", ".", "q10", "PAS", "PASSED", ""],
    "info": [".", "AC=1", "PR=1", "PR", "AC=1;PR", "XPR;PRX;AN=2"],
    "format_": ["GT", "GT:DP", "GT:AD:PL", "DP:GT", "DP", "GT:GT", "GT:", "", "GTX", "GT:D P"],
}


@st.composite
def lines(draw):
    """Draw a record: mostly of the common form, else with something odd in any column."""
    n = draw(st.sampled_from([3] * 30 + [0, 2, 4]))
    calls = draw(st.sampled_from([USUAL] * 4 + [DOTS] * 2 + [st.one_of(USUAL, st.sampled_from(FORMS))] * 3))
    fields = draw(st.lists(calls, min_size=n, max_size=n))
    if n and draw(st.integers(0, 15)) == 0:
        fields[draw(st.integers(0, n - 1))] = draw(st.sampled_from(BROKEN))
    fixed = {"position": 5, "contig": "1"}
    for name in draw(st.lists(st.sampled_from(sorted(FIXED)), max_size=2)):
        fixed[name] = draw(st.sampled_from(FIXED[name][:3] * 4 + FIXED[name]))
    if ":" in str(fixed.get("format_")) and draw(st.booleans()):
        fields = [call + ":3" * draw(st.integers(0, fixed["format_"].count(":"))) for call in fields]
    columns = [fixed.get(name, default) for name, default in (("contig", "1"), ("position", 5), ("id_", "."))]
    columns += [fixed.get("ref", "A"), fixed.get("alt", "C"), ".", fixed.get("filter_", "PASS")]
    columns.append(fixed.get("info", "."))
    line = "\t".join([*map(str, columns), fixed.get("format_", "GT"), *fields])
    return line + draw(st.sampled_from(["\n"] * 20 + ["\r\n", "\r\r\n", "\n\n", "\t\n", "\n#note\n"]))


@pytest.fixture(scope="module")
def vcf(tmp_path_factory):
    return tmp_path_factory.mktemp("scan") / "a.vcf"


@settings(max_examples=150)
@given(
    records=st.lists(lines(), min_size=1, max_size=8),
    ends=st.booleans(),
    terms=st.fixed_dictionaries(
        dict.fromkeys(("is_phase_required", "is_known_ref", "is_filter_kept"), st.booleans())
    ),
)
def test_rows__all_ways_to_read_agree(vcf, records, ends, terms):
    text = vcf_text(*records, samples=SAMPLES)
    vcf.write_bytes((text if ends else text.rstrip("\n")).encode())
    assert_all_same(vcf, terms=terms)


@settings(max_examples=150)
@given(data=st.binary(max_size=60), calls=st.lists(st.sampled_from([*FORMS, *BROKEN[:9]]), max_size=5))
def test_scan_lines__never_leaves_its_bytes(data, calls):
    line = b"1\t5\t.\tA\tC\t.\tPASS\t.\tGT\t" + "\t".join(calls).encode() + b"\n"
    whole = line + data + line
    for module in (kernels, PLAIN):
        for stop in range(0, len(whole), 7):
            guarded = [
                np.frombuffer(whole[:stop] + after, np.uint8).copy() for after in (b"\t0|1\n", b"9999\t")
            ]
            seen = [scan(module, text, stop) for text in guarded]
            assert seen[0] == seen[1]


def scan(module, text, stop, *, n_samples=2):
    scratch = np.resize(np.frombuffer(b"0|0\t", dtype=np.uint8), 128)
    planes = [np.zeros((3, 1), dtype=np.uint64) for _ in range(2)]
    sites = np.zeros((3, 3), dtype=np.int64)
    names = (np.frombuffer(name, dtype=np.uint8).copy() for name in (b"1", b"GT"))
    alleles = np.zeros(2 * n_samples, dtype=np.int32)
    rest = module.scan_lines(
        text, 0, stop, *names, 1, True, False, True, True, n_samples, scratch, alleles, *planes, sites
    )
    n = rest[1]
    return tuple(map(int, rest)), *(plane[:n].tolist() for plane in planes), sites[:n].tolist()


@pytest.mark.parametrize("n_samples", [1, 16, 31, 32, 33, 100])
@pytest.mark.parametrize("alphabet", ["01", "01."])
def test_rows__words_of_any_filling(vcf, n_samples, alphabet):
    rng = np.random.default_rng(n_samples)
    alleles = rng.choice(list(alphabet), (5, n_samples, 2))
    records = [record(i, " ".join("|".join(pair) for pair in row)) for i, row in enumerate(alleles, start=1)]
    names = [f"s{i}" for i in range(n_samples)]
    write_text(vcf, vcf_text(*records, samples=names))
    (batch, last), *_ = assert_all_same(vcf, n_samples=n_samples)
    flat = alleles.reshape(5, -1)
    assert batch[1] + last[1] == pack(flat == "1").tolist()
    assert batch[2] + last[2] == pack(flat == ".").tolist()


@pytest.mark.parametrize("n_rows", [1, 2, 3, 100])
def test_rows__batches_of_any_size(vcf, n_rows):
    calls = ["0|1 1|1 0|0", "0|1 2|1 0|0", "0/0 1|1 .|0"]
    write_text(
        vcf, vcf_text(*(record(i, calls[i % 3], alt="C,G" if i % 3 == 1 else "C") for i in range(1, 12)))
    )
    batches, n_records, *_ = assert_all_same(vcf, n_rows=n_rows)
    assert n_records == 11
    assert [len(bits) for _, bits, _ in batches[:-1]] == [n_rows] * (len(batches) - 1)
    assert sum(len(bits) for _, bits, _ in batches) == 15


@pytest.mark.parametrize("index", ["tbi", "csi"])
@pytest.mark.parametrize("contig", ["1", "2", "3"])
def test_rows__one_contig_of_many_by_its_index(tmp_path, index, contig):
    records = [record(i, "0|1 1|1 0|0", contig=name) for name in "123" for i in range(1, 3000)]
    path = write_bgzf(tmp_path / "a.vcf.gz", vcf_text(*records, contigs=("1", "2", "3")), index=index)
    text = ContigText(path, contig)
    assert text.is_indexed
    scanner = LineScanner(text, n_samples=3, is_phase_required=True, is_filter_kept=False, is_compiled=True)
    columns = [columns for columns, *_ in scanner.rows(700, n_bytes=100)]
    assert [position for part in columns for position in part["position"]] == list(range(1, 3000))
    assert {name for part in columns for name in part["contig"]} == {contig}
    assert scanner.n_records == 2999


@pytest.mark.parametrize("write", [write_text, lambda path, text: write_bgzf(path, text, index=None)])
def test_rows__lines_longer_than_a_block(tmp_path, write):
    records = [record(i, "0|1 1|1 0|0", info="x" * (i * 150_000)) for i in range(1, 5)]
    path = write(tmp_path / "a.vcf", vcf_text(*records))
    (batch,), n_records, *_ = outcome(path, n_bytes=100_000)
    assert batch[0]["position"] == [1, 2, 3, 4]
    assert n_records == 4


def test_rows__bgzf_files_joined(tmp_path):
    text = vcf_text(*(record(i, "0|1 1|1 0|0") for i in range(1, 9000)))
    parts = text[:100_001], text[100_001:]
    for number, part in enumerate(parts):
        write_bgzf(tmp_path / f"{number}.gz", part, index=None)
    joined = tmp_path / "a.vcf.gz"
    joined.write_bytes(b"".join((tmp_path / f"{number}.gz").read_bytes() for number in range(2)))
    expected = outcome(write_text(tmp_path / "a.vcf", text))
    assert outcome(joined) == expected
    assert outcome(joined, n_bytes=100) == expected


def write_blocks(path, *parts):
    """Write BGZF with a block for each part of the text."""
    with pysam.BGZFile(str(path), "wb") as file:
        for part in parts:
            file.write(part.encode())
            file.flush()
    return path


# A block that says it is empty would be passed over, one that says it is shorter would lose its last line,
# and one that says it is longer would give the first line after it twice.
@pytest.mark.parametrize("n_lines", [0, 1, 3])
@pytest.mark.parametrize("n_bytes", [100, 2**21])
def test_rows__raise_on_block_of_another_size(tmp_path, n_lines, n_bytes):
    line = record(5, "0|1 1|1 0|0")
    path = write_blocks(tmp_path / "a.vcf.gz", vcf_text(), 2 * line, 3 * line)
    content = path.read_bytes()
    assert outcome(path, n_bytes=n_bytes)[1] == 5
    size = (2 * len(line)).to_bytes(4, "little")
    assert content.count(size) == 1
    path.write_bytes(content.replace(size, (n_lines * len(line)).to_bytes(4, "little")))
    assert "damaged" in outcome(path, n_bytes=n_bytes)


# htslib takes it for BGZF all the same, and gives what is there.
def test_rows__raise_on_bgzf_of_another_flag_cut_between_blocks(tmp_path):
    path = write_blocks(tmp_path / "a.vcf.gz", vcf_text(), record(5, "0|1 1|1 0|0"), record(6, "0|1 1|1 0|0"))
    content = bytearray(path.read_bytes())
    flags = 3
    content[flags] |= 1
    path.write_bytes(content)
    assert outcome(path)[1] == 2
    path.write_bytes(content[: content.rindex(content[4:14], 0, -28) - 4])
    assert "lacks the end mark" in outcome(path)


# Without the index no reader could tell: whole blocks are gone, and what is left is sound gzip.
def test_rows__raise_on_index_beside_a_file_that_is_no_bgzf(tmp_path):
    path = write_blocks(tmp_path / "a.vcf.gz", vcf_text(), record(5, "0|1 1|1 0|0"), record(6, "0|1 1|1 0|0"))
    pysam.tabix_index(str(path), preset="vcf", keep_original=True)
    assert outcome(path)[1] == 2
    content = path.read_bytes()
    _, second, third, _ = (at for at in range(len(content)) if content.startswith(content[:16], at))
    path.write_bytes(content[:14] + b"\0" + content[15:second] + content[third:])
    assert "must be BGZF" in outcome(path)
    path.with_name("a.vcf.gz.tbi").unlink()
    assert outcome(path)[1] == 1


def test_rows__contig_without_a_name(vcf):
    write_text(vcf, vcf_text(*(record(5, "0|1 1|1 0|0", contig=name) for name in ("", "2"))))
    assert "there: , 2." in assert_all_same(vcf)


def test_record_error__of_bytes_that_are_no_text():
    error = record_error("a.vcf.gz", None, b"1\t\xff\t.", "`POS` must be a number.")
    assert str(error) == "`a.vcf.gz`, record at 1:\ufffd: `POS` must be a number."
