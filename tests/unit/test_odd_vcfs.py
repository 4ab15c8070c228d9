"""Odd and broken VCFs, as they turn up in the wild: each is read right, or refused in one line that helps."""

import gzip
import re
import tempfile
from pathlib import Path

import pysam
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.genotypes.bits import unpack
from dpgrs.io.haplotype_store import HaplotypeStore
from vcf_files import record, vcf_text

GOOD = record(5, "0|0 0|1 1|1")
# Header lines of `vcf_text`, before the first record.
HEADER_LINES = 4
ALLELES = [0, 0, 0, 1, 1, 1]
NONE_MISSING = [0] * 6


def bgzf(text):
    """Compress as bgzip does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.gz"
        with pysam.BGZFile(str(path), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path.read_bytes()


def many(n=3000):
    return vcf_text(*(record(i, "0|0 0|1 1|1", id_=f"rs{i * 7919 % 1000}") for i in range(1, n)))


def flipped(data, place):
    """Return bytes with one of them changed."""
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


def rows(*alleles, missing=None, positions=None):
    """What a readable file must give: positions, alleles and missing alleles of its variants."""
    missing = [NONE_MISSING] * len(alleles) if missing is None else missing
    return positions or [5] * len(alleles), list(alleles), missing


READABLE = {
    "CRLF": (vcf_text(GOOD).replace("\n", "\r\n"), rows(ALLELES)),
    "no newline at the end": (vcf_text(GOOD).rstrip("\n"), rows(ALLELES)),
    "no contig lines": (vcf_text(GOOD, contigs=()), rows(ALLELES)),
    "contig declared twice": (vcf_text(GOOD, contigs=("1", "1")), rows(ALLELES)),
    "contig with chr": (vcf_text(record(5, "0|0 0|1 1|1", contig="chr1"), contigs=("chr1",)), rows(ALLELES)),
    "INFO of a million letters": (vcf_text(record(5, "0|0 0|1 1|1", info="X" * 10**6)), rows(ALLELES)),
    "REF of a hundred thousand letters": (vcf_text(record(5, "0|0 0|1 1|1", ref="A" * 10**5)), rows(ALLELES)),
    "several ALTs of one symbol": (vcf_text(record(5, "0|0 0|1 1|1", alt="C,<DEL>,<DEL>")), rows(ALLELES)),
    "twelve alleles": (
        vcf_text(record(5, "0|11 10|1 2|2", alt="C,G,T,AA,AC,AG,AT,CA,CC,CG,CT")),
        rows(*([int(k == x) for x in (0, 11, 10, 1, 2, 2)] for k in range(1, 12))),
    ),
    "duplicate records": (vcf_text(GOOD, GOOD), rows(ALLELES, ALLELES)),
    "records of a contig apart": (
        vcf_text(GOOD, record(9, "1|1 1|1 1|1", contig="2"), record(7, "0|1 0|0 0|0"), contigs=("1", "2")),
        rows(ALLELES, [0, 1, 0, 0, 0, 0], positions=[5, 7]),
    ),
    "positions that go back": (
        vcf_text(record(9, "0|1 0|0 0|0"), GOOD),
        rows([0, 1, 0, 0, 0, 0], ALLELES, positions=[9, 5]),
    ),
    "position with zeros in front": (vcf_text(record("0005", "0|0 0|1 1|1")), rows(ALLELES)),
    "position with thousands of zeros": (vcf_text(record("0" * 5000 + "5", "0|0 0|1 1|1")), rows(ALLELES)),
    "largest position": (vcf_text(record(2**31 - 1, "0|0 0|1 1|1")), rows(ALLELES, positions=[2**31 - 1])),
    "GT is not the first": (vcf_text(record(5, "9:0|0 8:0|1 7:1|1", format_="DP:GT")), rows(ALLELES)),
    "further fields": (vcf_text(record(5, "0|0:1:a,b 0|1:2 1|1", format_="GT:DP:XX")), rows(ALLELES)),
    "format that is not declared": (
        vcf_text(record(5, "0|0:1 0|1:2 1|1:3", format_="GT:Q_9")),
        rows(ALLELES),
    ),
    "letters in lower case": (vcf_text(record(5, "0|0 0|1 1|1", ref="a", alt="n")), rows(ALLELES)),
    "ids of many kinds": (vcf_text(record(5, "0|0 0|1 1|1", id_="rs1;rs2,ü")), rows(ALLELES)),
    "quality that is no number": (vcf_text(GOOD.replace("\t.\tPASS", "\thigh\tPASS")), rows(ALLELES)),
    "missing calls of all forms": (
        vcf_text(record(5, ". ./. 1|.")),
        rows([0, 0, 0, 0, 1, 0], missing=[[1, 1, 1, 1, 0, 1]]),
    ),
    "half a call without phase": (
        vcf_text(record(5, "0/. ./1 1|1")),
        rows([0, 0, 0, 0, 1, 1], missing=[[1, 1, 1, 1, 0, 0]]),
    ),
    "mixed phasing, homozygous": (vcf_text(record(5, "0/0 0|1 1/1")), rows(ALLELES)),
    "blocks of a gVCF": (
        vcf_text(record(5, "0|0 0|1 1|1", alt="C,<NON_REF>"), record(6, "0/0 0/0 0/0", alt="<NON_REF>")),
        rows(ALLELES),
    ),
    "breakends, spanning deletions and no ALT": (
        vcf_text(GOOD, *(record(5, "0|0 0|1 1|1", alt=alt) for alt in ("]2:9]A", "*", ".", "<DEL>", "A."))),
        rows(ALLELES),
    ),
    "filter left empty": (vcf_text(record(5, "0|0 0|1 1|1", filter_=".")), rows(ALLELES)),
    "gzip with zeros behind it": (gzip.compress(vcf_text(GOOD).encode()) + bytes(512), rows(ALLELES)),
    "gzip in two members": (gzip.compress(vcf_text().encode()) + gzip.compress(GOOD.encode()), rows(ALLELES)),
    "BGZF in two files": (bgzf(vcf_text()) + bgzf(GOOD), rows(ALLELES)),
    "sample ids with blanks": (vcf_text(GOOD, samples=("A 1", "B 1", "Zoë")), rows(ALLELES)),
}


def line(number, words):
    """What is said of the record on that line after the header."""
    return f"line {HEADER_LINES + number}: {words}"


FEWER = "the record must have as many columns as the header, got fewer"
MORE = "the record must have as many columns as the header, got more"
HEADER_AGAIN = "a line that begins with `#` must stand above all records"
ALLELE_TWICE = "REF and ALT must be alleles of"

BROKEN = {
    "nothing": (b"", "is empty"),
    "no header": (GOOD, "must begin with `##fileformat=VCF`"),
    "no line of columns": ("##fileformat=VCFv4.2\n" + GOOD, "has no #CHROM line"),
    "header cut off": (vcf_text()[:-20].rpartition("\n")[0], "has no #CHROM line"),
    "header alone": (vcf_text(), "contig 1 is not in"),
    "no samples": (vcf_text(record(5, ""), samples=()), "has no samples"),
    "sample twice": (vcf_text(GOOD, samples=("A", "B", "A")), "distinct sample ids"),
    "contig that clears the screen": (
        vcf_text(record(5, "0|0 0|1 1|1", contig="2\x1b[2J")),
        r"there: 2\x1b[2J. Mend",
    ),
    "other contigs alone": (vcf_text(record(5, "0|0 0|1 1|1", contig="2")), "contig 1 is not in"),
    "contig of two names": (
        vcf_text(GOOD, record(5, "0|0 0|1 1|1", contig="chr1")),
        "names one contig both 1 and chr1",
    ),
    "mark of byte order": ("\ufeff" + vcf_text(GOOD), "must begin with `##fileformat=VCF`"),
    "UTF-16": (vcf_text(GOOD).encode("utf-16"), "must begin with `##fileformat=VCF`"),
    "zip": (b"PK\3\4" + bytes(100), "must begin with `##fileformat=VCF`"),
    "comment among records": (vcf_text(GOOD, "# seen by somebody\n", GOOD), line(2, HEADER_AGAIN)),
    "second header": (
        vcf_text(GOOD, vcf_text(record(7, "0|0 0|1 1|1"), samples=("C", "B", "A"))),
        line(2, HEADER_AGAIN),
    ),
    "second header without records between": (
        vcf_text(vcf_text(GOOD, samples=("C", "B", "A"))),
        line(1, HEADER_AGAIN),
    ),
    "two BGZF files in one": (
        bgzf(vcf_text(GOOD)) + bgzf(vcf_text(GOOD, samples=("C", "B", "A"))),
        line(2, HEADER_AGAIN),
    ),
    "REF is ALT": (vcf_text(record(5, "0|0 0|1 1|1", alt="A")), line(1, ALLELE_TWICE)),
    "REF is ALT in lower case": (
        vcf_text(GOOD, record(5, "0|0 0|1 1|1", ref="ACG", alt="acg")),
        line(2, ALLELE_TWICE),
    ),
    "ALT twice": (vcf_text(record(5, "0|0 0|1 1|1", alt="C,C")), line(1, ALLELE_TWICE)),
    "no sample id": (vcf_text(GOOD, samples=("A", "", "C")), "got another for sample 2"),
    "NUL in a sample id": (vcf_text(GOOD, samples=("A", "B", "C\0")), "got another for sample 3"),
    "page of a server": ("<html><body>404 Not Found</body></html>", "must begin with `##fileformat=VCF`"),
    "line ends of old": (vcf_text(GOOD).replace("\n", "\r"), "has no #CHROM line"),
    "blanks for tabs": (vcf_text(GOOD.replace("\t", " ")), line(1, FEWER)),
    "column less": (vcf_text(GOOD, record(6, "0|0 0|1")), line(2, FEWER)),
    "column more": (vcf_text(GOOD, record(6, "0|0 0|1 0|0 0|0")), line(2, MORE)),
    "a line of tabs": (vcf_text(GOOD, "\t" * 10**6 + "\n"), line(2, MORE)),
    "a word on a line": (vcf_text(GOOD, "hello\n", GOOD), line(2, FEWER)),
    "empty line between records": (vcf_text(GOOD, "\n", GOOD), line(2, FEWER)),
    "empty lines at the end": (vcf_text(GOOD) + "\n\n", line(2, FEWER)),
    "NUL in a call": (vcf_text(record(5, "0|0 0|\0 1|1")), line(1, "the call of sample 2")),
    "NUL in the position": (vcf_text(record("5\0", "0|0 0|1 1|1")), line(1, "`POS` must be")),
    "NUL in REF": (vcf_text(record(5, "0|0 0|1 1|1", ref="A\0")), line(1, "`REF` must be of printable")),
    "line of NULs": (vcf_text(GOOD, "\0" * 4096 + "\n"), line(2, FEWER)),
    "position that clears the screen": (
        vcf_text(record(5, "0|0 0|1 1|1").replace("\t5\t", "\t5\x1b[2J\t")),
        line(1, r"`POS` must be a whole number from 1 to 2^31 - 1, got 5\x1b[2J. Mend the record."),
    ),
    "no REF": (vcf_text(record(5, "0|0 0|1 1|1", ref="")), line(1, "`REF` must be of printable")),
    "REF of thousands of letters and a gap": (
        vcf_text(record(5, "0|0 0|1 1|1", ref="A" * 5000 + "-")),
        "all records were skipped (no_letters)",
    ),
    "REF is a dot": (vcf_text(record(5, "0|0 0|1 1|1", ref=".")), "all records were skipped (no_letters)"),
    "ALT with a gap": (vcf_text(record(5, "0|0 0|1 1|1", alt="C,,G")), line(1, "`ALT` must be")),
    "ALT with a comma at its end": (vcf_text(record(5, "0|0 0|1 1|1", alt="C,")), line(1, "`ALT` must be")),
    "ALT with a number": (
        vcf_text(record(5, "0|0 0|1 1|1", alt="C2")),
        "all records were skipped (no_letters)",
    ),
    "allele that is not listed": (
        vcf_text(record(5, "0|0 0|2 1|1")),
        line(1, "the call of sample 2 (column 11) has an allele that the record does not list"),
    ),
    "allele of many digits": (vcf_text(record(5, "0|0 0|99999999999 1|1")), line(1, "")),
    "heterozygous without phase": (
        vcf_text(record(5, "0|0 0/1 1|1")),
        line(1, "the call of sample 2 (column 11) is heterozygous and unphased"),
    ),
    "three alleles": (
        vcf_text(record(5, "0|0 0|1|1 1|1")),
        line(1, "the call of sample 2 (column 11) has more"),
    ),
    "damage in gzip": (flipped(gzip.compress(many().encode()), 2000), "is truncated or damaged"),
    "checksum of gzip": (flipped(gzip.compress(vcf_text(GOOD).encode()), -6), "is truncated or damaged"),
    "gzip cut off": (gzip.compress(many().encode())[:3000], "is truncated or damaged"),
    "BGZF cut off": (bgzf(many())[:3000], "is truncated"),
    "BGZF without its end": (bgzf(vcf_text(GOOD))[:-28], "lacks the end mark of a BGZF file"),
    "damage in BGZF": (flipped(bgzf(many()), 2000), "is truncated or damaged"),
    "gzip with more behind it": (gzip.compress(vcf_text(GOOD).encode()) + b"more", "is truncated or damaged"),
    "half an end of BGZF": (bgzf(vcf_text(GOOD))[:-10], "is truncated"),
}
NO_POSITIONS = (-5, 0, 2**31, "9" * 30, "9" * 5000, "٣", "5e6", "5.0", "")
BROKEN |= {
    f"position {str(position)[:9]!r} of length {len(str(position))}": (
        vcf_text(GOOD, record(position, "0|0 0|1 1|1")),
        line(2, "`POS` must be"),
    )
    for position in NO_POSITIONS
}
NO_CALLS = ("a|b", "0|", "||1", " 1|0", "1| 0", "0|1 ", "|", "0||1", "-1|0", "+1|0", "0|1x", "0,1", "0|1.0")
NO_CALLS += ("0|-", "A", "1e0|0")
BROKEN |= {
    f"call {call!r}": (
        vcf_text(record(5, "0|0 CALL 1|1").replace("CALL", call)),
        line(1, "the call of sample 2"),
    )
    for call in NO_CALLS
}


def ingest(tmp_path, content, *, name="a.vcf.gz"):
    """Run the command on a file, in few threads and more; return its exit code, errors and store."""
    vcf = tmp_path / name
    vcf.write_bytes(content)
    few, more = (run(vcf, threads, store=tmp_path / f"{threads}.zarr") for threads in (2, 3))
    assert few[:2] == more[:2]
    assert files_below(few[2]) == files_below(more[2])
    return few


def run(vcf, threads, *, store):
    arguments = ["--quiet", "ingest-chromosome", str(vcf), "--chromosome", "1", "--threads", str(threads)]
    result = CliRunner().invoke(main, [*arguments, "--output", str(store)])
    # Anything but an exit is a traceback.
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stderr, store


def files_below(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def as_forms(content):
    """Return the forms of a file: text in all three, and bytes as they are."""
    if isinstance(content, bytes):
        return {"as it is": content}
    data = content.encode()
    return {"text": data, "gzip": gzip.compress(data), "BGZF": bgzf(data)}


def cases(table):
    return [
        pytest.param(data, expected, id=f"{name}, {form}")
        for name, (content, expected) in table.items()
        for form, data in as_forms(content).items()
    ]


def by_turns(cases, n_forms=3):
    """Leave each content to one of its forms by day, in turn, but for how a file ends."""
    return [
        case
        if number % n_forms == number // n_forms % n_forms or case.id.startswith("no newline at the end")
        else pytest.param(*case.values, id=case.id, marks=pytest.mark.nightly)
        for number, case in enumerate(cases)
    ]


@pytest.mark.parametrize(("content", "expected"), by_turns(cases(READABLE)))
def test_ingest__reads_what_is_odd(tmp_path, content, expected):
    code, errors, store = ingest(tmp_path, content)
    assert code == 0, errors
    store = HaplotypeStore.open(store)
    found = store.missing()
    missing = [NONE_MISSING] * store.n_variants if found is None else unpack(found, 6).tolist()
    assert (store.variants["position"].tolist(), unpack(store.haplotypes(), 6).tolist(), missing) == expected


@pytest.mark.parametrize(("content", "words"), cases(BROKEN))
def test_ingest__refuses_what_is_broken_in_one_line(tmp_path, content, words):
    code, errors, store = ingest(tmp_path, content)
    assert code == 1, errors
    assert re.fullmatch(
        r"dpgrs: (`[^`\n]+a\.vcf\.gz`|contig 1 is not in) .+\n|dpgrs: `[^`\n]+a\.vcf\.gz`, line .+\n", errors
    ), errors
    assert words in errors
    assert errors.removesuffix("\n").isprintable()
    assert not store.exists()
