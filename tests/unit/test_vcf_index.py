import gzip
import itertools

import pysam
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.vcf import blocks as vcf_blocks
from dpgrs.io.vcf.index import read_index
from dpgrs.io.vcf.text import ContigText
from dpgrs.io.vcf.vcf import ContigReader, read_header
from refused import refused
from vcf_files import record, vcf_text, write_bgzf, write_gzip, write_text

COUNTS = {"1": 3, "2": 4}
# Places: behind magic, lengths and names stands how many bins the first contig has.
N_BINS = {"tbi": 4 + 8 * 4 + 4, "csi": 4 + 3 * 4 + 7 * 4 + 4 + 4}


@pytest.fixture(params=["tbi", "csi"])
def index(request, tmp_path):
    """The path of an index of two contigs."""
    records = [record(i, "0|1 1|1 0|0", contig=name) for name, n in COUNTS.items() for i in range(1, n + 1)]
    path = write_bgzf(tmp_path / "a.vcf.gz", vcf_text(*records, contigs=COUNTS), index=request.param)
    return path.with_name(f"{path.name}.{request.param}")


def rewrite(index, *changes):
    """Put whole numbers of 32 bits at places of an index."""
    data = bytearray(gzip.decompress(index.read_bytes()))
    for at, number in changes:
        data[at : at + 4] = (number % 2**32).to_bytes(4, "little")
    index.write_bytes(gzip.compress(data))


def test_read_index__places_and_counts(index):
    places = read_index(index)
    assert {name: place.n_records for name, place in places.items()} == COUNTS
    assert 0 < places["1"].offset < places["2"].offset


@pytest.mark.parametrize("n_levels", [11, 2**31 - 1, -1])
def test_read_index__csi_of_too_many_levels(tmp_path, n_levels):
    index = tmp_path / "a.csi"
    write_bgzf(tmp_path / "a", vcf_text(record(5, "0|1 1|1 0|0")), index="csi")
    rewrite(index, (8, n_levels))
    assert read_index(index) is None


# Taken with signs, bins of 0 and of -1 chunks lead back to the first of them, two thousand million times.
def test_read_index__bins_that_lead_back(index):
    n_bins = N_BINS[index.suffix[1:]]
    chunks = {".tbi": [(n_bins + 8, 0), (n_bins + 16, -1)], ".csi": [(n_bins + 16, -1)]}
    rewrite(index, (n_bins, 2**31 - 1), *chunks[index.suffix])
    assert read_index(index) is None


def test_read_index__any_number_damaged(index):
    intact = index.read_bytes()
    n_bytes = len(gzip.decompress(intact))
    right = read_index(index)
    n_refused = 0
    for at, number in itertools.product(range(0, n_bytes - 4), (-1, -16, 2**31 - 1)):
        rewrite(index, (at, number))
        found = read_index(index)
        n_refused += found is None
        assert found is None or len(found) <= len(right)
        index.write_bytes(intact)
    assert n_refused > n_bytes


@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("is_packed_again", [True, False])
@pytest.mark.parametrize(
    ("contigs", "asked", "place"),
    [
        ([["1"], ["1"]], "1", "among its records"),
        ([["1"], ["2"]], "2", "among its records"),
        ([["1"], ["2", "3"]], "3", "before contig 3"),
    ],
)
def test_batches__raise_on_second_header_with_index(
    tmp_path, contigs, asked, place, is_packed_again, n_threads
):
    """Two files joined, as by cat: the second may be of other people."""
    position = itertools.count(1)
    texts = [
        vcf_text(*(record(next(position), "0|0 0|1 1|1", contig=contig) for contig in part), contigs=part)
        for part in contigs
    ]
    path = write_bgzf(tmp_path / "a.vcf.gz", "".join(texts), index=None)
    if not is_packed_again:
        parts = (write_bgzf(tmp_path / "b.vcf.gz", text, index=None).read_bytes() for text in texts)
        path.write_bytes(b"".join(parts))
    pysam.tabix_index(str(path), preset="vcf", keep_original=True)
    with pytest.raises(DpgrsError, match=f"{place}: a line that begins with `#` must stand above"):
        list(ContigReader(read_header(path), asked, n_threads=n_threads).batches(10))


def test_batches__raise_on_second_header_amid_another_contig(tmp_path):
    """Only the end mark of the first file tells, where that contig is not read."""
    texts = [
        vcf_text(*(record(position, "0|0 0|1 1|1", contig=contig) for contig, position in sites))
        for sites in ([("1", 1), ("2", 2)], [("2", 3), ("3", 4)])
    ]
    parts = [write_bgzf(tmp_path / "b.vcf.gz", text, index=None).read_bytes() for text in texts]
    (tmp_path / "a.vcf.gz").write_bytes(b"".join(parts))
    pysam.tabix_index(str(tmp_path / "a.vcf.gz"), preset="vcf", keep_original=True)
    with refused("header-repeated", "`#`", "contig 3"):
        list(ContigReader(read_header(tmp_path / "a.vcf.gz"), "3").batches(10))


@pytest.mark.parametrize("write", [write_text, write_gzip, write_bgzf])
def test_long_lines__raise_beyond_the_limit(tmp_path, write, monkeypatch):
    """In a block of text, which a line may fill many times, and in lines that are read one by one."""
    path = write(tmp_path / "a.vcf.gz", vcf_text(record(5, "0|0 0|1 1|1", info="X" * 300_000)))
    text = ContigText(path, "1")
    monkeypatch.setattr(vcf_blocks, "LONGEST_LINE", 300_100)
    assert [stop - start for _, start, stop in text.blocks(n_bytes=50_000)] == [300_033]
    read_header(path)
    monkeypatch.setattr(vcf_blocks, "LONGEST_LINE", 200_000)
    for read in (lambda: list(text.blocks(n_bytes=50_000)), lambda: read_header(path)):
        with refused("line-too-long", "200", "000"):
            read()
