"""Several threads that inflate against one: the same rows, counts and errors, wherever lines are cut."""

import itertools
import threading

import numpy as np
import pysam
import pysam.bcftools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import DpgrsError
from dpgrs.io.vcf.scan import LineScanner
from dpgrs.io.vcf.text import ContigText
from vcf_files import record, vcf_text, write_bgzf, write_text

THREADS = (1, 2, 3, 8)
WINDOW = 2**14  # bases, of an index
CONTIGS = ("1", "2", "3")


def read(path, *, contig="1", is_phase_required=True, **options):
    """Return all that reading gives, or the error's message."""
    try:
        scanner = LineScanner(
            ContigText(path, contig),
            n_samples=3,
            is_phase_required=is_phase_required,
            is_filter_kept=False,
            is_compiled=True,
        )
        batches = [
            ({name: list(values) for name, values in columns.items()}, *map(np.ndarray.tolist, planes))
            for columns, *planes in scanner.rows(4, **options)
        ]
    except DpgrsError as error:
        return str(error)
    return batches, scanner.n_records, scanner.skipped, scanner.haploid_calls


def assert_same(path, *, sizes=(1, 90, 2**21), threads=THREADS, **options):
    """Compare sizes of blocks and numbers of threads; return what all give."""
    first, *others = (
        read(path, n_bytes=n_bytes, n_threads=n_threads, **options)
        for n_bytes in sizes
        for n_threads in threads
    )
    assert all(other == first for other in others)
    return first


def write_blocks(path, text, sizes, *, index):
    """Write BGZF whose blocks hold so many bytes of the text in turn, wherever that cuts a line."""
    data, sizes = text.encode(), itertools.cycle(sizes)
    with pysam.BGZFile(str(path), "wb") as file:
        while data:
            size = next(sizes)
            file.write(data[:size])
            file.flush()
            data = data[size:]
    for ending in ("tbi", "csi"):
        path.with_name(f"{path.name}.{ending}").unlink(missing_ok=True)
    if index == "bcftools":
        pysam.bcftools.index("-f", str(path))
    elif index:
        pysam.tabix_index(str(path), preset="vcf", csi=index == "csi", keep_original=True, force=True)
    return path


@st.composite
def records(draw):
    """Draw records that an index takes: sorted, some at one position, some over several of its windows."""
    lines = []
    for contig in draw(st.lists(st.sampled_from(CONTIGS), min_size=1, max_size=3, unique=True).map(sorted)):
        steps = st.sampled_from([0, 0, 1, 7, WINDOW, 9 * WINDOW])
        position = 1
        for step in draw(st.lists(steps, min_size=1, max_size=12)):
            position += step
            form = draw(st.sampled_from(FORMS))
            lines.append(record(position, contig=contig, **form))
    return lines


USUAL = {"calls": "0|0 0|1 1|1"}
FORMS = [
    *[USUAL] * 6,
    {"calls": "0|. 1|1 .|."},
    {"calls": "0|2 1|1 2|2", "alt": "C,G"},
    {"calls": "0|2 1|1 2|2", "alt": "C,<DEL>"},
    {"calls": "0 1 ."},
    {"calls": "0|1:3 1/1:4 .:5", "format_": "GT:DP"},
    {"calls": "0|1 1|1 0|0", "filter_": "q10"},
    {"calls": "0|1 1|1 0|0", "ref": "ACGT" * 200},
    {"calls": "0|1 1|1 0|0", "info": "x" * 400},
    {"calls": "0/1 1|1 0|0"},
]


@pytest.fixture(scope="module")
def vcf(tmp_path_factory):
    return tmp_path_factory.mktemp("parallel") / "a.vcf.gz"


@settings(max_examples=80)
@given(
    lines=records(),
    cuts=st.lists(st.integers(30, 700), min_size=1, max_size=4),
    index=st.sampled_from(["tbi", "csi", "bcftools", None]),
    contig=st.sampled_from(CONTIGS),
    is_phase_required=st.booleans(),
)
def test_rows__any_cuts_and_indexes(vcf, lines, cuts, index, contig, is_phase_required):
    write_blocks(vcf, vcf_text(*lines, contigs=CONTIGS), cuts, index=index)
    assert_same(vcf, contig=contig, is_phase_required=is_phase_required, sizes=(1, 400), threads=(1, 3))


# The line is longer than all blocks in use together, so none of their buffers may be filled too soon.
def test_rows__lines_longer_than_blocks(tmp_path):
    lines = (record(i, "0|1 1|1 .|0", info="x" * (i % 7 * 20_000)) for i in range(1, 30))
    path = write_bgzf(tmp_path / "a.vcf.gz", vcf_text(*lines))
    assert assert_same(path, sizes=(1, 30_000))[1] == 29


def many(*bad, n=300, contig="1"):
    """Return records of one contig, those of some positions with another call."""
    bad = dict(bad)
    return [record(i, bad.get(i, "0|0 0|1 1|1"), contig=contig, id_=f"r{i}") for i in range(1, n)]


@pytest.mark.parametrize("index", ["tbi", "csi", None])
def test_rows__first_bad_record_of_the_file_wins(tmp_path, index):
    lines = many((150, "0|0 0/1 1|1"), (151, "0|0 0|1 x"), (290, "0|0 0|1"))
    path = write_blocks(tmp_path / "a.vcf.gz", vcf_text(*lines), [500], index=index)
    place = "record at 1:150" if index else "line 154"
    assert f"{place}: the call of sample 2 (column 11) is heterozygous" in assert_same(path)


@pytest.mark.parametrize("index", ["tbi", None])
@pytest.mark.parametrize(("bad_at", "words"), [(40, "is malformed"), (290, "is truncated or damaged")])
def test_rows__damage_and_a_bad_record_in_file_order(tmp_path, index, bad_at, words):
    path = write_blocks(tmp_path / "a.vcf.gz", vcf_text(*many((bad_at, "0|0 0|1 x"))), [500], index=index)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    assert words in assert_same(path, sizes=(90, 1))


@pytest.mark.parametrize("index", ["tbi", "csi"])
def test_rows__any_byte_damaged(tmp_path, index):
    lines = [*many(n=40), *many(n=40, contig="2")]
    path = write_blocks(tmp_path / "a.vcf.gz", vcf_text(*lines), [400], index=index)
    intact = path.read_bytes()
    for at in range(0, len(intact), 13):
        path.write_bytes(intact[:at] + bytes([intact[at] ^ 0x41]) + intact[at + 1 :])
        assert_same(path, threads=[3], sizes=(600,))


@pytest.mark.parametrize("index", ["tbi", "csi"])
@pytest.mark.parametrize("n", [200, 299, 301, 400])
def test_rows__index_of_another_version(tmp_path, index, n):
    path = write_blocks(tmp_path / "a.vcf.gz", vcf_text(*many(n=n)), [500], index=index)
    write_blocks(tmp_path / "b.vcf.gz", vcf_text(*many()), [500], index=None).replace(path)
    assert "got another number: it belongs to another version of the file" in assert_same(path)


# The index names a place within a line, or one where no block begins.
@pytest.mark.parametrize("head", [["#a line of notes\n"], [record(1, "0|1 0|1 1|1") * 9]])
def test_rows__index_of_a_longer_header(tmp_path, head):
    path = write_bgzf(tmp_path / "a.vcf.gz", vcf_text(*head, *many()))
    write_bgzf(tmp_path / "b.vcf.gz", vcf_text(*many()), index=None).replace(path)
    assert isinstance(assert_same(path), str)


def test_rows__what_follows_the_contig_is_not_read_by_an_index(tmp_path):
    lines = [*many(n=50), *many((1, "0|0 x"), contig="2")]
    path = write_blocks(tmp_path / "a.vcf.gz", vcf_text(*lines, contigs=CONTIGS), [500], index="tbi")
    assert assert_same(path)[1] == 49
    (tmp_path / "a.vcf.gz.tbi").unlink()
    assert "line 56: the record must have as many columns as the header, got fewer" in assert_same(path)


@pytest.mark.parametrize("wanted", ["9", "1"])
def test_rows__names_of_contigs_in_file_order(tmp_path, wanted):
    names = ["7", "1", "5", "chr1", "3"]
    lines = itertools.chain(*(many(contig=name, n=20) for name in names))
    path = write_text(tmp_path / "a.vcf", vcf_text(*lines))
    found = assert_same(path, contig=wanted, sizes=(1, 90, 2000))
    assert ("there: 7, 1, 5, chr1, 3." if wanted == "9" else "names one contig both 1 and chr1") in found


def test_rows__no_thread_left(tmp_path):
    path = write_blocks(tmp_path / "a.vcf.gz", vcf_text(*many()), [500], index="tbi")
    before = set(threading.enumerate())
    options = {"n_samples": 3, "is_phase_required": True, "is_filter_kept": False, "is_compiled": True}
    rows = LineScanner(ContigText(path, "1"), **options).rows(1, n_bytes=100, n_threads=3)
    next(rows)
    rows.close()
    assert set(threading.enumerate()) == before
