import numpy as np
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.genotypes.bits import pack, unpack
from dpgrs.io.genotype_files import genotype_header, genotype_reader
from dpgrs.io.plink.plink import Reader, has_provisional_ref
from dpgrs.io.plink.tables import read_samples
from plink_sets import ALLELES, BIM, FAM, PSAM, PVAR, write_bed, write_lines, write_pgen
from refused import refused

KEPT = {"phased": "any", "keep_filtered": True}


def read(path, contig="1", *, batch=100, **options):
    """Read a contig whole: the reader, the variants as tuples, (n, 6) alleles and (n, 6) missing."""
    reader = genotype_reader(path, contig, **options)
    batches = list(reader.batches(batch))
    variants = [tuple(row) for part in batches for row in part.variants.itertuples(index=False)]
    planes = [[row for part in batches for row in unpack(part[i], 6).tolist()] for i in (1, 2)]
    return reader, variants, *planes


def fails(path, contig="1", **options):
    with pytest.raises(DpgrsError) as caught:
        read(path, contig, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert not any(f" {name} " in message for name in "ABC")
    return message.replace(f"{path.parent}/", "")


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_reader__pgen(tmp_path, batch):
    reader, variants, haplotypes, missing = read(write_pgen(tmp_path / "a"), batch=batch)
    assert variants == [("1", 4, ".", "A", "C"), ("1", 6, "rs6", "A", "C"), ("1", 6, "rs6", "A", "G")]
    assert haplotypes == [[0, 0, 0, 1, 0, 0], [1, 0, 0, 1, 0, 0], [0, 1, 1, 0, 0, 0]]
    assert missing == [[0, 0, 0, 0, 1, 1], [0] * 6, [0] * 6]
    assert (reader.n_records, reader.missing_alleles, reader.haploid_calls) == (2, 2, 0)


def test_reader__bed_counts_the_first_allele(tmp_path):
    reader, variants, haplotypes, missing = read(write_bed(tmp_path / "a"), phased="any")
    assert variants == [("1", 4, ".", "A", "C")]
    assert haplotypes == [[0, 0, 0, 1, 0, 0]]
    assert missing == [[0, 0, 0, 0, 1, 1]]
    assert reader.skipped == {"no_alt": 1}
    assert read(tmp_path / "a.bed", "chrX", phased="any")[1:3] == (
        [("X", 9, "x", "T", "G")],
        [[1, 1, 0, 1, 0, 0]],
    )


def test_reader__filter_of_a_pvar(tmp_path):
    path = write_pgen(tmp_path / "a")
    assert read(path, "X", phased="any")[0].skipped == {"filtered": 1}
    assert read(path, "X", **KEPT)[2] == [[1, 1, 0, 1, 0, 0]]


def test_reader__phase_of_a_pgen(tmp_path):
    is_phased = [[True, False, False], [True] * 3, [True] * 3]
    path = write_pgen(tmp_path / "a", is_phased=is_phased)
    assert "a.pgen`, record at 1:4: the call of sample 2 is heterozygous and unphased." in fails(path)
    assert len(read(path, phased="any")[1]) == 3


def test_reader__no_phase_for_haplotypes(tmp_path):
    assert fails(write_bed(tmp_path / "a")).startswith("`a.bed` has no phase: PLINK 1 keeps none.")
    message = fails(write_pgen(tmp_path / "a"), "chrX")
    assert "does not say which calls of chromosome chrX are haploid" in message


def test_reader__raise_on_phased(tmp_path):
    with refused("phased-unknown", error=UsageError):
        Reader(genotype_header(write_bed(tmp_path / "a")), "1", phased="no")


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("1 . 0 0 C A", "record at 1:0: `POS` must be a whole number from 1 to 2^31 - 1, got 0."),
        ("1 . 0 4e3 C A", "`POS` must be a whole number from 1 to 2^31 - 1, got 4e3."),
        ("1 . 0 4 Ć A", "record at 1:4: `ALT` must be of printable characters, got Ć."),
        ("1 . 0 4 A A", "record at 1:4: REF and ALT must be alleles of their own"),
        ("2 . 0 4 C A", "contig 1 is not in `a.bed`; there: 2, X."),
    ],
)
def test_reader__raise_on_bad_record(tmp_path, line, cause):
    bim = (line, "2 . 0 6 0 A", BIM[2])
    assert cause in fails(write_bed(tmp_path / "a", bim=bim), **KEPT)


def test_header__what_is_there(tmp_path):
    declared = ("##contig=<ID=1,length=249250621>", "##contig=<ID=2,length=5>", "##contig=<ID=23,length=7>")
    header = genotype_header(write_pgen(tmp_path / "a", pvar=(*declared, *PVAR)))
    assert header.samples == ("A", "B", "C")
    assert header.contigs == {"1": 249250621, "X": 7}
    # A length beyond all numbers that Python reads is none.
    header = genotype_header(write_pgen(tmp_path / "c", pvar=(f"##contig=<ID=1,length={'9' * 5000}>", *PVAR)))
    assert header.contigs["1"] is None
    header = genotype_header(write_bed(tmp_path / "b", bim=[line.replace(" 0 ", " ", 1) for line in BIM]))
    assert header.contigs == {"1": None, "X": None}


@pytest.mark.parametrize("psam", [("#FID IID SEX", "f A 1", "f B 2", "f C 2"), FAM, ("#IID", "A", "B", "C")])
def test_header__every_kind_of_psam(tmp_path, psam):
    assert genotype_header(write_pgen(tmp_path / "a", psam=psam)).samples == ("A", "B", "C")


@pytest.mark.parametrize(
    ("name", "lines", "cause"),
    [
        ("a.fam", FAM[:2], "`a.bed` has calls of more people than `a.fam` has lines"),
        ("a.fam", (*FAM, "f D 0 0 1 -9", "f E 0 0 1 -9"), "must have the size that `a.bim` and `a.fam` give"),
        ("a.fam", ("f A 0 0 1 -9",) * 3, "distinct IIDs, got the same for samples 1 and 2"),
        ("a.fam", ("A 0",) * 3, "`a.fam` must have 6 columns, got 2."),
        ("a.fam", (FAM[0], "f B\x1b[31m 0 0 1 -9", FAM[2]), "control characters, got another for sample 2"),
        ("b.psam", (*PSAM[:3], "C\x00 1"), "`b.psam` must be text in UTF-8"),
        ("a.bim", ("1 . 0 ٢٠ C A", *BIM[1:]), "must be a whole number from 1 to 2^31 - 1, got ٢٠. Mend"),
        ("a.fam", (FAM[0], "f B", FAM[2]), "`a.fam`, line 2: the line is cut short."),
        ("a.fam", ("f\tA\t0\t0\t1\t-9", "f\t\t0\t0\t2\t-9", FAM[2]), "`a.fam`, line 2: the line is cut"),
        ("a.bim", BIM[:2], "must have the size that `a.bim` and `a.fam` give"),
        ("a.bim", (*BIM[:2], "23 x 0"), "`a.bim`, line 3: the line is cut short."),
        ("a.bim", ("1 . 0 4",), "`a.bim` must have 6 columns, got 4."),
        ("b.psam", PSAM[:3], "as many samples as `b.psam` has lines"),
        ("b.psam", PSAM[:1], "`b.psam` has no samples."),
        ("b.psam", (*PSAM[:2], "\t2", PSAM[3]), "`b.psam`, line 3: the line is cut short."),
        ("b.psam", ("#FID SEX", "A 1"), "`b.psam` must have a column IID."),
        ("b.pvar", PVAR[:3], "as many variants as `b.pvar` has lines"),
        ("b.pvar", PVAR[1:], "`b.pvar` must have a line of #CHROM, POS"),
        ("b.pvar", ("##only",), "`b.pvar` is truncated after line 1."),
    ],
)
def test_header__raise_on_bad_table(tmp_path, name, lines, cause):
    path = write_bed(tmp_path / "a") if name.startswith("a") else write_pgen(tmp_path / "b")
    write_lines(tmp_path / name, lines)
    assert cause in fails(path, **KEPT)


def test_header__raise_on_what_is_no_text(tmp_path):
    path = write_bed(tmp_path / "a")
    (tmp_path / "a.fam").write_bytes("\n".join(FAM).replace("A", "Ä").encode("latin-1"))
    assert "`a.fam` must be text in UTF-8 with the same columns in every line." in fails(path, **KEPT)


@pytest.mark.parametrize("name", ["a.bed", "a.bim", "a.fam", "b.pgen", "b.pvar", "b.psam"])
def test_header__raise_on_missing_and_empty(tmp_path, name):
    path = write_bed(tmp_path / "a") if name.startswith("a") else write_pgen(tmp_path / "b")
    (tmp_path / name).write_bytes(b"")
    assert f"`{name}` is empty." in fails(path, **KEPT)
    (tmp_path / name).rename(tmp_path / f"{name}.zst")
    assert f"`{name}` is not there. Decompress it: zstd -d {name}.zst" in fails(path, **KEPT)
    (tmp_path / f"{name}.zst").unlink()
    assert f"`{name}` is not there. Mend the path" in fails(path, **KEPT)


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"\x6c\x1b\x00abc", "must be stored by variant, not by sample"),
        (b"BCFx", "must begin with 6c 1b"),
        (b"\x6c\x1b\x01ab", "must have the size that `a.bim` and `a.fam` give: it is cut short"),
    ],
)
def test_header__raise_on_bad_bed(tmp_path, content, cause):
    path = write_bed(tmp_path / "a")
    path.write_bytes(content)
    assert cause in fails(path, **KEPT)


def test_pgen__truncated_anywhere(tmp_path):
    path = write_pgen(tmp_path / "a", alleles=[*ALLELES[:2], *ALLELES[2:] * 40], pvar=(*PVAR, *PVAR[3:] * 39))
    whole = path.read_bytes()
    for kept in (1, 5, 11, 12, 20, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:kept])
        assert "`a.pgen` is" in fails(path, "X", **KEPT)


@pytest.mark.parametrize(("kind", "is_provisional"), [(0, True), (1, False), (2, True)])
def test_has_provisional_ref__of_all_variants(tmp_path, kind, is_provisional):
    path = write_pgen(tmp_path / "a")
    content = bytearray(path.read_bytes())
    assert content[11] >> 6 == 1
    content[11] = content[11] & 0b111111 | kind << 6
    path.write_bytes(content)
    assert has_provisional_ref(path) == is_provisional


@pytest.mark.parametrize("flag", [None, 0, 2**16 - 1, 2**16, 2**16 + 4])
@pytest.mark.parametrize(("types", "lengths", "counts"), [(0, 1, 0), (4, 3, 2)])
def test_has_provisional_ref__of_some_variants(tmp_path, flag, types, lengths, counts):
    """The header of a .pgen of two blocks: types, lengths and allele counts of records before their flags."""
    n = 2**16 + 5
    control = 3 << 6 | counts << 4 | types | lengths - 1
    content = b"\x6c\x1b\x10" + n.to_bytes(4, "little") + (2).to_bytes(4, "little") + bytes([control])
    content += b"\xff" * 16  # where the blocks begin
    for first, size in ((0, 2**16), (2**16, 5)):
        n_types = size if types else -(-size // 2)
        content += b"\xff" * (n_types + size * (lengths + counts))
        content += np.packbits(np.arange(first, first + size) == flag, bitorder="little").tobytes()
    path = tmp_path / "a.pgen"
    path.write_bytes(content)
    assert has_provisional_ref(path) == (flag is not None)


def test_reader__known_ref(tmp_path):
    path = write_bed(tmp_path / "a")
    assert has_provisional_ref(path)
    with refused("reference-allele-unknown", "a.bed", "genome.fa", "--fa"):
        genotype_reader(path, "1", phased="any", known_ref=True)
    genotype_reader(write_pgen(tmp_path / "b"), "1", phased="any", known_ref=True)


@pytest.mark.parametrize("n_people", [3, 70])
def test_reader__calls_in_small_buffers(tmp_path, monkeypatch, n_people):
    rng, n_variants = np.random.default_rng(n_people), 9
    counts = rng.choice(np.array([0, 1, 2, -127], dtype=np.int8), (n_variants, n_people))
    fam = [f"f P{i} 0 0 1 -9" for i in range(n_people)]
    bim = [f"1 rs{i} 0 {i + 4} {'0' if i in (2, 5) else 'C'} A" for i in range(n_variants)]
    bed = write_bed(tmp_path / "a", counts=counts, bim=bim, fam=fam)
    alleles = np.stack([counts == 2, counts >= 1], axis=2) - 9 * (counts < 0)[:, :, np.newaxis]
    pvar = [PVAR[0], *(f"1\t{i + 4}\trs{i}\tA\t{'.' if i in (2, 5) else 'C'}\t." for i in range(n_variants))]
    is_phased = np.zeros((n_variants, n_people), dtype=bool)
    terms = {"pvar": pvar, "psam": ["#IID", *(f"P{i}" for i in range(n_people))], "is_phased": is_phased}
    pgen = write_pgen(tmp_path / "b", alleles=alleles.reshape(n_variants, -1), **terms)

    def bits(path):
        batches = list(genotype_reader(path, "1", phased="any").batches(4))
        return [np.concatenate([part[i] for part in batches]).tolist() for i in (1, 2)]

    kept = [i for i in range(n_variants) if i not in (2, 5)]
    expected = [
        pack((alleles.reshape(n_variants, -1) == 1)[kept]).tolist(),
        pack(np.repeat(counts < 0, 2, axis=1)[kept]).tolist(),
    ]
    assert bits(bed) == bits(pgen) == expected
    monkeypatch.setattr("dpgrs.io.plink.calls._BUFFER_BYTES", 1)
    assert bits(bed) == bits(pgen) == expected


def test_reader__keeps_the_phase_that_rows_of_people_do_not_need(tmp_path, monkeypatch):
    alleles = np.array([[1, 0, 0, 1, -9, -9], [1, 1, 0, 1, 1, 0], [0, 1, 1, 0, 0, 0]])
    path = write_pgen(
        tmp_path / "a", alleles=alleles, pvar=(*PVAR[:2], "1\t6\t.\tA\tC\t.", "1\t7\t.\tA\tC\t.")
    )
    expected = (alleles == 1).astype(int).tolist()
    assert read(path, **KEPT)[2] == read(path)[2] == expected
    monkeypatch.setattr("dpgrs.io.listed_reader._BLOCK_BYTES", 1)
    assert read(path, **KEPT)[2] == read(path)[2] == expected


def test_reader__bed_cut_short_while_it_is_read(tmp_path):
    reader = genotype_reader(write_bed(tmp_path / "a"), "X", phased="any")
    with (tmp_path / "a.bed").open("r+b") as file:
        file.truncate(5)
    with refused("file-damaged", "a.bed"):
        list(reader.batches(3))


def test_read_samples__of_equal_files_are_read_once_and_of_others_anew(tmp_path):
    names = [tmp_path / name for name in ("one.fam", "two.fam", "other.fam")]
    lines = [f"f {name} 0 0 1 -9\n" for name in "ABC"]
    for path in names[:2]:
        path.write_text("".join(lines))
    names[2].write_text("".join(lines[::-1]))
    first = read_samples(names[0])
    assert read_samples(names[1]) is first
    assert read_samples(names[2]) == ("C", "B", "A")
    assert read_samples(names[0]) == first == ("A", "B", "C")
    names[0].write_text("".join(lines[:2]))
    assert read_samples(names[0]) == ("A", "B")
    names[0].write_text("".join(lines[:1] * 2))
    for _ in range(2):
        with refused("sample-id-twice"):
            read_samples(names[0])
