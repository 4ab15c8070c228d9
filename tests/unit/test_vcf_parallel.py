"""Several threads against one: the same rows, counts and errors, wherever blocks and lines are cut."""

import itertools
import threading
from collections import deque

import numpy as np
import pysam
import pysam.bcftools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosage_files import dosage_text
from dpgrs.errors import DpgrsError
from dpgrs.io.vcf.blocks import line_blocks
from dpgrs.io.vcf.dosages import DosageScanner
from dpgrs.io.vcf.parallel import ParallelScanner, _BlockScanner
from dpgrs.io.vcf.scan import LineScanner
from dpgrs.io.vcf.text import ContigText
from vcf_files import record, vcf_text, write_bgzf, write_gzip, write_text

THREADS = (1, 2, 3, 8)
WINDOW = 2**14  # bases, of an index
CONTIGS = ("1", "2", "3")


def read(new, path, *, contig="1", n_rows=4, is_phase_required=True, **options):
    """Return all that reading gives, or the error's message; `new` makes the scanner."""
    try:
        scanner = new(
            ContigText(path, contig),
            n_samples=3,
            is_phase_required=is_phase_required,
            is_filter_kept=False,
            is_compiled=True,
        )
        batches = [
            (
                list(columns),
                {name: list(values) for name, values in columns.items()},
                *map(np.ndarray.tolist, planes),
            )
            for columns, *planes in scanner.rows(n_rows, **options)
        ]
    except DpgrsError as error:
        return str(error)
    return batches, scanner.n_records, scanner.skipped, scanner.haploid_calls


def in_threads(n_threads):
    return lambda text, **options: ParallelScanner(text, n_threads=n_threads, **options)


def assert_same(path, *, sizes=(1, 90, 2**21), threads=THREADS, **options):
    """Compare numbers of threads with one stream in blocks of the same size; return what the last gave."""
    for n_bytes in sizes:
        expected = read(LineScanner, path, n_bytes=n_bytes, **options)
        for n_threads in threads:
            assert read(in_threads(n_threads), path, n_bytes=n_bytes, **options) == expected
    return expected


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


@pytest.mark.parametrize("n_threads", THREADS)
@pytest.mark.parametrize("write", [write_text, write_gzip, write_bgzf])
def test_rows__batches_of_any_size(tmp_path, write, n_threads):
    lines = (record(i, "0|2 1|1 .|0", alt="C,G" if i % 5 else "C,<DEL>") for i in range(1, 400))
    path = write(tmp_path / "a.vcf.gz", vcf_text(*lines))
    for n_rows in (1, 7, 719, 720, 10**6):
        batches, n_records, *_ = assert_same(path, n_rows=n_rows, threads=[n_threads], sizes=(1000,))
        assert (sum(len(bits) for _, _, bits, _ in batches), n_records) == (719, 399)


def test_rows__order_of_columns(tmp_path):
    path = write_bgzf(tmp_path / "a.vcf.gz", vcf_text(record(5, "0|1 1|1 .|0")))
    (batch,), *_ = assert_same(path)
    assert batch[0] == ["contig", "position", "id", "ref", "alt"]


# The line is longer than all blocks in use together, so none of their buffers may be filled too soon.
def test_rows__lines_longer_than_blocks(tmp_path):
    lines = (record(i, "0|1 1|1 .|0", info="x" * (i % 7 * 20_000)) for i in range(1, 30))
    path = write_bgzf(tmp_path / "a.vcf.gz", vcf_text(*lines))
    assert assert_same(path, sizes=(1, 30_000))[1] == 29


@pytest.mark.parametrize("n_held", [1, 2, 5])
def test_line_blocks__held_ones_stay_as_they_are(tmp_path, n_held):
    lines = (record(i, "0|1 1|1 .|0", info="x" * (i % 5 * 40_000)) for i in range(1, 60))
    path = write_bgzf(tmp_path / "a.vcf.gz", vcf_text(*lines))
    held = deque(maxlen=n_held)
    for text, start, stop in line_blocks(path, n_bytes=1000, n_held=n_held):
        held.append((text[start:stop], text[start:stop].tobytes()))
        assert all(block.tobytes() == as_it_was for block, as_it_was in held)
    assert len(held) == n_held


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


@pytest.mark.parametrize("index", ["tbi", None])
def test_block_scanner__a_block_hangs_on_none_that_its_thread_scanned_before(tmp_path, index):
    """Which scanner gets a block is for threads to decide: one may have been past the contig already."""
    lines = [*many((3, "0 1 ."), n=40), *many(n=40, contig="2"), *many(n=4, contig="3")]
    path = write_blocks(tmp_path / "a.vcf.gz", vcf_text(*lines, contigs=CONTIGS), [400], index=index)
    text = ContigText(path, "1")
    options = {"n_samples": 3, "is_phase_required": True, "is_filter_kept": False, "is_compiled": True}
    blocks = [(part.copy(), start, stop) for part, start, stop in text.blocks(n_bytes=600)]
    apart = [_BlockScanner(text, LineScanner, **options).scan(block, 4) for block in blocks]
    scanner = _BlockScanner(text, LineScanner, **options)
    together = [scanner.scan(block, 4) for block in reversed(blocks)][::-1]
    assert [apart[0].is_over, apart[-1].is_over] == [False, index == "tbi"]
    for one, other in zip(together, apart, strict=True):
        assert one._replace(batches=len(one.batches)) == other._replace(batches=len(other.batches))
    assert {name for block in apart for name in block.names} == ({b"1"} if index else {b"1", b"2", b"3"})


@pytest.mark.parametrize("wanted", ["9", "1"])
def test_rows__names_of_contigs_in_file_order(tmp_path, wanted):
    names = ["7", "1", "5", "chr1", "3"]
    lines = itertools.chain(*(many(contig=name, n=20) for name in names))
    path = write_text(tmp_path / "a.vcf", vcf_text(*lines))
    found = assert_same(path, contig=wanted, sizes=(1, 90, 2000))
    assert ("there: 7, 1, 5, chr1, 3." if wanted == "9" else "names one contig both 1 and chr1") in found


def test_rows__no_thread_left_and_no_block_too_many(tmp_path):
    path = write_blocks(tmp_path / "a.vcf.gz", vcf_text(*many()), [500], index="tbi")
    before = set(threading.enumerate())
    asked = []

    class Text(ContigText):
        def blocks(self, **options):
            for block in super().blocks(**options):
                asked.append(block)
                yield block

    options = {"is_phase_required": True, "is_filter_kept": False, "is_compiled": True}
    scanner = ParallelScanner(Text(path, "1"), n_threads=3, n_samples=3, **options)
    rows = scanner.rows(1, n_bytes=100)
    next(rows)
    assert len(asked) == 4
    rows.close()
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize("bad", ["", "1|1:2.5 0|0:0 0|0:0"])
def test_rows__of_dosages_are_those_of_one_thread(tmp_path, bad):
    values = np.round(np.random.default_rng(9).uniform(0, 2, (60, 3)), 3)
    rows = [" ".join(f"0/1:{value}" for value in row) for row in values]
    rows = [f"0/1 1/1 {row.split()[2]}" if place % 7 == 0 else row for place, row in enumerate(rows)]
    rows = [*rows, bad] if bad else rows
    lines = [record(10 + place, row, format_="GT:DS", alt="C") for place, row in enumerate(rows)]
    path = write_bgzf(tmp_path / "a.vcf.gz", dosage_text(*lines))
    options = {"is_phase_required": False, "n_bytes": 200}
    expected = read(DosageScanner, path, **options)
    assert ("line" in expected or "record at" in expected) if bad else len(expected[0]) == 15
    for n_threads in THREADS:

        def new(text, n_threads=n_threads, **terms):
            return ParallelScanner(text, n_threads=n_threads, new_scanner=DosageScanner, **terms)

        assert read(new, path, **options) == expected
