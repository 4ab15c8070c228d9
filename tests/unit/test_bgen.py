import numpy as np
import pytest

from bgen_files import PLAIN, ZLIB, ZSTD, variant, write_bgen, write_index, write_sample
from dosage_files import dosage_text
from dpgrs.errors import DpgrsError
from dpgrs.io.bgen import _kernels as kernels
from dpgrs.io.bgen.blocks import BgenFile, read_bgen_header
from dpgrs.io.genotype_files import genotype_header, with_companions
from dpgrs.io.genotype_forms import BGEN, form_of
from genotype_forms import read_all, read_fails, target_contents
from vcf_files import record, vcf_text, write_text

R, A = 255, 0  # of REF alone: all of 8 bits, or none
MISSING = 2 + 128
# A, B and C; a haplotype that is not certain is missing.
PHASED = (
    variant(4, [[R, R], [R, A], [0, 0]], ploidy=[2, 2, MISSING]),
    variant(6, [[A, R, R, A], [A, A, A, R], [R, A, A, A]], alleles=("A", "C", "G"), id_="rs6"),
    variant(7, [[230, 25], [229, 26], [R, 128]]),
    variant(9, [[R, R], [A, A], [R, A]], contig="2", alleles=("T", "<DEL>")),
)
PHASED_VCF = (
    record(4, "0|0 0|1 .|."),
    record(6, "1|0 2|1 0|2", alt="C,G", id_="rs6"),
    record(7, "0|1 .|. 0|."),
    record(9, "0|0 1|1 0|1", contig="2", ref="T", alt="<DEL>"),
)


@pytest.mark.parametrize("compression", [PLAIN, ZLIB, ZSTD])
@pytest.mark.parametrize("contig", ["1", "chr2"])
def test_reader__phased_as_a_vcf(tmp_path, compression, contig):
    path = write_bgen(tmp_path / "a.bgen", PHASED, compression=compression)
    vcf = write_text(tmp_path / "a.vcf", vcf_text(*PHASED_VCF, contigs=("1", "2")))
    assert read_all(path, contig) == read_all(vcf, contig)
    assert read_all(path, contig, phased="any") == read_all(vcf, contig, phased="any")


def test_reader__unphased_as_a_vcf(tmp_path):
    # Pairs of alleles 00, 01, 11, 02, 12 and 22, the last of which is not stored.
    path = write_bgen(
        tmp_path / "a.bgen",
        [
            variant(4, [[R, 0], [0, R], [0, 0]], is_phased=False),
            variant(6, [[0, 0, 0, R, 0], [0, 0, 0, 0, R], [0] * 5], alleles=("A", "C", "G"), is_phased=False),
            variant(7, [[25, 230], [26, 229], [0, 0]], is_phased=False, ploidy=[2, 2, MISSING]),
        ],
    )
    lines = [record(4, "0/0 0/1 1/1"), record(6, "0/2 1/2 2/2", alt="C,G"), record(7, "0/1 ./. ./.")]
    vcf = write_text(tmp_path / "a.vcf", vcf_text(*lines))
    assert read_all(path, phased="any") == read_all(vcf, phased="any")
    assert read_fails(path).startswith("`a.bgen` has no phase. Use people as rows")


def test_reader__haploid_as_a_vcf(tmp_path):
    ploidy = [1, 2, 1 + 128]
    values = [[A], [R, A], [0]]
    path = write_bgen(tmp_path / "a.bgen", [variant(4, values, ploidy=ploidy, contig="X")] * 2)
    vcf = write_text(tmp_path / "a.vcf", vcf_text(*[record(4, "1 0|1 .", contig="X")] * 2, contigs=("X",)))
    for phased in ("required", "any"):
        assert read_all(path, "X", phased=phased) == read_all(vcf, "X", phased=phased)
    assert read_all(path, "X")[3][3] == 2
    assert "go up to 1 or to 2" in read_fails(path, "X", phased="any", field="DS")


@pytest.mark.parametrize("n_bits", [1, 3, 8, 16, 31, 32])
@pytest.mark.parametrize("is_phased", [True, False])
def test_reader__dosages_of_any_number_of_bits(tmp_path, n_bits, is_phased):
    rng, whole = np.random.default_rng(n_bits), 2**n_bits - 1
    first = rng.integers(0, whole, (50, 3, 1), endpoint=True)
    second = rng.integers(0, whole + 0 * first if is_phased else whole - first, endpoint=True)
    values = np.concatenate([first, second], axis=2)
    path = write_bgen(
        tmp_path / "a.bgen",
        [variant(i + 1, one.tolist(), n_bits=n_bits, is_phased=is_phased) for i, one in enumerate(values)],
    )
    copies = 2 * whole - first - second if is_phased else 2 * whole - 2 * first - second
    expected = np.rint(copies[..., 0] / whole * 2**12)
    assert read_all(path, phased="any", field="DS")[2] == expected.tolist()


def test_reader__dosages_as_a_vcf(tmp_path):
    # In fifths of 255, which are whole in 8 bits and short in text.
    path = write_bgen(
        tmp_path / "a.bgen",
        [
            variant(4, [[51, 102], [204, 51], [0, 0]], is_phased=False, ploidy=[2, 2, MISSING]),
            variant(6, [[51, 102, R, 0], [0, 51, 51, 51], [R, 0, 0, 0]], alleles=("A", "C", "G")),
        ],
    )
    lines = [record(4, "1.2 .2 .", format_="DS"), record(6, "0.4,0.4 0.4,1.4 0,1", alt="C,G", format_="DS")]
    vcf = write_text(tmp_path / "a.vcf", dosage_text(*lines))
    options = {"phased": "any", "field": "DS"}
    assert read_all(path, **options) == read_all(vcf, **options)


def test_reader__leading_zeros_of_chromosomes(tmp_path):
    path = write_bgen(
        tmp_path / "a.bgen", [variant(4, [[R, R]] * 3, contig=name) for name in ("01", "chr02")]
    )
    assert [row[:2] for row in read_all(path, "1")[0]] == [("1", 4)]
    assert [row[:2] for row in read_all(path, "2")[0]] == [("chr2", 4)]
    assert "contig 10 is not in `a.bgen`; there: 1, chr2." in read_fails(path, "10")


def starts(path):
    header, found = read_bgen_header(path), []
    with BgenFile(path) as file:
        at = header.start
        for one in file.variants(header):
            found.append((at, one.contig, one.position))
            at = one.end
    return found


def test_reader__index(tmp_path):
    path = write_bgen(tmp_path / "a.bgen", [*PHASED, variant(3, [[R, R]] * 3, contig="01")])
    expected = read_all(path)
    write_index(path, starts(path))
    assert genotype_header(path).contigs == {"1": None, "2": None}
    assert read_all(path) == expected


def test_reader__raise_on_an_index_of_another_file(tmp_path):
    path = write_bgen(tmp_path / "a.bgen", PHASED)
    write_index(path, starts(path)[1:])
    assert "must list the variants that `a.bgen` has, got others. Index again: bgenix" in read_fails(path)
    write_index(path, [(start, contig, 5) for start, contig, _ in starts(path)])
    assert "must list the variants that `a.bgen` has, got others." in read_fails(path)
    write_index(path, starts(path))
    write_bgen(path, PHASED, samples=("A", "B", "D"))
    assert read_fails(path).startswith("`a.bgen.bgi` belongs to another version of `a.bgen`. Index again:")
    path.with_name("a.bgen.bgi").write_bytes(b"no database")
    assert read_fails(path).startswith("`a.bgen.bgi` cannot be read. Index again:")


def test_header__samples_of_a_table(tmp_path):
    path = write_bgen(tmp_path / "a.bgen", PHASED, has_ids=False)
    assert read_fails(path) == "`a.bgen` has no sample ids. Put its table beside it, as a.sample."
    table = write_sample(tmp_path / "a.sample", ["0 A 0", "0 B 0", "0 C 0"])
    assert genotype_header(path).samples == ("A", "B", "C")
    assert with_companions([path]) == [path, table]
    write_sample(table, ["A 0", "B 0", "C 0"], names="ID_1 missing", types="0 0")
    assert genotype_header(path).samples == ("A", "B", "C")
    write_sample(table, ["0 A 0", "0 B 0"])
    assert "`a.sample` must have a line for each sample of its BGEN." in read_fails(path)
    write_sample(table, ["0 A 0", "0 B 0", "0 A 0"])
    assert "`a.sample` must have distinct sample ids, got the same for samples 1 and 3." in read_fails(path)
    write_sample(table, ["0 A", "0 B 0", "0 A 0"])
    assert "as many fields in every line" in read_fails(path)


def test_header__raise_on_a_table_of_other_people(tmp_path):
    path = write_bgen(tmp_path / "a.bgen", PHASED, samples=("f_A", "f_B", "f_C"))
    table = write_sample(tmp_path / "a.sample", ["f A 0", "f B 0", "f C 0"])
    assert genotype_header(path).samples == ("f_A", "f_B", "f_C")
    write_sample(table, ["f A 0", "f C 0", "f B 0"])
    message = read_fails(path)
    assert message.startswith("`a.sample` must have the ids that `a.bgen` has, in the same order.")
    assert "f_B" not in message


def test_reader__raise_on_ref_that_must_be_known(tmp_path):
    path = write_bgen(tmp_path / "a.bgen", PHASED)
    assert form_of(path) is BGEN
    assert BGEN.has_provisional_ref(path)
    assert read_fails(path, known_ref=True).startswith(
        "`a.bgen` must have REF of the genome, which it does not say."
    )


@pytest.mark.parametrize("n_lost", [1, 30, 100])
def test_reader__raise_on_a_cut_file(tmp_path, n_lost):
    path = write_bgen(tmp_path / "a.bgen", PHASED)
    path.write_bytes(path.read_bytes()[:-n_lost])
    assert read_fails(path) == "`a.bgen` is truncated or damaged. Copy or download the file again."


@pytest.mark.parametrize(
    ("terms", "cause"),
    [
        ({"layout": 1}, "must have layout 2, as BGEN 1.2 and 1.3, got layout 1. Convert it: plink2 --bgen"),
        ({"n_variants": 3}, "must end after its 3 variants, as its head has it."),
        ({"n_variants": 5}, "is truncated or damaged."),
        ({"samples": ()}, "has no samples."),
        ({"samples": ("A", "A", "C")}, "must have distinct sample ids, got the same for samples 1 and 2."),
        ({"samples": ("A", "B")}, "record at 1:4: its probabilities are damaged."),
    ],
)
def test_reader__raise_on_another_file(tmp_path, terms, cause):
    assert cause in read_fails(write_bgen(tmp_path / "a.bgen", PHASED, **terms))


@pytest.mark.parametrize(
    ("one", "cause"),
    [
        (
            variant(5, [[200, 56], [0, 0], [0, 0]], is_phased=False),
            "the probabilities of sample 1 add up to more",
        ),
        (variant(5, [[R] * 3] * 3, ploidy=[3, 3, 3]), "calls must have one allele or two, got others."),
        (
            variant(5, [[R, R]] * 3, alleles=("A", "a")),
            "REF and ALT must be alleles of their own, got one twice.",
        ),
        (variant(5, [[R, R]] * 2, ploidy=[2, 2, 2]), "its probabilities are damaged."),
    ],
)
@pytest.mark.parametrize("field", ["GT", "DS"])
def test_reader__raise_on_a_bad_record(tmp_path, one, cause, field):
    message = read_fails(write_bgen(tmp_path / "a.bgen", [PHASED[0], one]), phased="any", field=field)
    assert message.startswith(f"`a.bgen`, record at 1:5: {cause}")


@pytest.mark.parametrize("compression", [PLAIN, ZLIB, ZSTD])
def test_reader__flipped_bits_never_end_in_a_traceback(tmp_path, compression):
    path = write_bgen(tmp_path / "a.bgen", PHASED, compression=compression)
    whole, n_refused = path.read_bytes(), 0
    for at in range(0, 8 * len(whole), 37):
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        path.write_bytes(flipped)
        try:
            read_all(path)
        except DpgrsError as error:
            assert "\n" not in str(error)  # noqa: PT017
            n_refused += 1
    assert n_refused


@pytest.mark.parametrize("field", ["GT", "DS"])
def test_target__as_a_vcf(tmp_path, field):
    path = write_bgen(tmp_path / "a.bgen", PHASED[:2])
    lines = PHASED_VCF[:2]
    if field == "DS":
        lines = [
            record(4, "0 1 .", format_="DS"),
            record(6, "1,0 1,1 0,1", alt="C,G", id_="rs6", format_="DS"),
        ]
    vcf = write_text(tmp_path / "a.vcf", dosage_text(*lines))
    assert target_contents(path, field) == target_contents(vcf, field)


def test_kernels__as_plain_python():
    rng = np.random.default_rng(3)
    raw = rng.integers(0, 256, 40 + kernels.PADDING).astype(np.uint8)
    whole = int.from_bytes(raw.tobytes(), "little")
    for n_bits in (1, 7, 8, 16, 32):
        for at in range(0, 8 * 35, 11):
            assert kernels.read_bits(raw, at, n_bits) == whole >> at & (2**n_bits - 1)


@pytest.mark.parametrize("is_phased", [True, False])
def test_kernels__of_common_variants_do_what_those_of_all_do(is_phased):
    rng, n_samples = np.random.default_rng(5), 2_000
    first = rng.choice([*range(256), *[0, 255, 229, 230, 25, 26] * 40], n_samples)
    second = rng.integers(0, 255 if is_phased else 255 - first, n_samples, endpoint=True)
    second = np.where(rng.random(n_samples) < 0.5, second, 255 if is_phased else 255 - first)
    raw = np.stack([first, second], axis=1).astype(np.uint8).ravel()
    padded = np.concatenate([raw, np.zeros(kernels.PADDING, dtype=np.uint8)])
    ploidy = np.where(rng.random(n_samples) < 0.1, 2 | 128, 2).astype(np.uint8)
    # With a person of one copy more the general kernels decode the others.
    longer, general = np.append(padded, np.uint8(0)), np.append(ploidy, np.uint8(1))
    assert kernels.is_common(ploidy, 2, 8)
    assert not kernels.is_common(general, 2, 8)
    calls, expected = (np.full(2 * n_samples + more, 7, dtype=np.int8) for more in (0, 2))
    assert kernels.decode_calls(padded, ploidy, 2, is_phased, 8, calls) == kernels.ALL_TAKEN
    assert kernels.decode_calls(longer, general, 2, is_phased, 8, expected) == kernels.ALL_TAKEN
    np.testing.assert_array_equal(calls, expected[:-2])
    for allele in (0, 1):
        doses, held = np.empty(n_samples), np.empty(n_samples + 1)
        assert kernels.decode_dosages(padded, ploidy, 2, is_phased, 8, allele, doses) == kernels.ALL_TAKEN
        assert kernels.decode_dosages(longer, general, 2, is_phased, 8, allele, held) == kernels.ALL_TAKEN
        np.testing.assert_array_equal(doses, held[:-1])
    if not is_phased:
        [person, *_] = np.flatnonzero(ploidy == 2)
        padded[2 * person : 2 * person + 2] = 200, 56
        assert kernels.decode_calls(padded, ploidy, 2, is_phased, 8, calls) == person
        assert kernels.decode_dosages(padded, ploidy, 2, is_phased, 8, 1, doses) == person


def test_header__equal_samples_of_chromosomes_are_read_once(tmp_path):
    paths = [write_bgen(tmp_path / f"{name}.bgen", PHASED, samples=("A", "B", "D")) for name in "ab"]
    first, second = (read_bgen_header(path).samples for path in paths)
    assert first is second
    assert first == ("A", "B", "D")
