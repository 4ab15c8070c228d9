import numpy as np
import pandas as pd
import pysam.bcftools
import pytest
import zarr
from click.testing import CliRunner

from allele_orders import write_cohort
from bgen_files import variant, write_bgen
from dosage_files import dosage_text
from dpgrs.cli.main import main
from dpgrs.errors import DpgrsError
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.store_check import check_store
from dpgrs.io.store_writer import StoreWriter
from plink_sets import PVAR, write_bed, write_pgen
from refused import refused
from vcf_files import record, vcf_text, write_bgzf, write_gzip, write_text

RECORDS = (
    record(4, "0|0 0|1 1|1", id_="rs4"),
    record(5, "0|1 2|1 .|.", alt="C,<DEL>,GG"),
    record(6, "0|1 0|0 0|0", filter_="q10"),
    record(7, "1|1 0|0 0|0", contig="2"),
    record(8, "1 0/. 0|1:7", format_="GT:DP"),
    record(9, "1|1 0|0 0|.", alt="."),
    record(10, "3 4 5", format_="DP"),
    record(11, "0|1 .|1 ."),
)


@pytest.fixture(params=["required", "any"])
def made(request, tmp_path):
    """A VCF and its store."""
    vcf = write_gzip(tmp_path / "a.vcf.gz", vcf_text(*RECORDS, contigs=("1", "2")))
    options = {"phased": request.param, "keep_filtered": request.param == "any"}
    ingest_chromosome(vcf, chromosome="chr1", store=tmp_path / "1.zarr", **options)
    return vcf, tmp_path / "1.zarr"


def verify(store, vcf):
    return CliRunner().invoke(main, ["store", "verify", str(store), str(vcf)])


def test_check_store__the_same(made):
    vcf, store = made
    result = verify(store, vcf)
    n_variants = 6 if HaplotypeStore.open(store).attributes["options"]["keep_filtered"] else 5
    assert result.exit_code == 0
    assert f"{n_variants} variants of 3 people" in result.output


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        (record(4, "0|0 0|0 1|1", id_="rs4"), "at 1:4 A>C: the second allele of sample 2 (column 11)"),
        (record(4, "0|0 0|1 .|1", id_="rs4"), "at 1:4 A>C: the first allele of sample 3 (column 12)"),
        (record(3, "0|0 0|1 1|1", id_="rs4"), "at 1:4 A>C: the file has 1:3 A>C there"),
        (record(4, "0|0 0|1 1|1", id_="rs5"), "or another id"),
        ("", "at 1:4 A>C: the file has 1:5 A>C there"),
        (RECORDS[0] + record(4, "0|0 0|0 0|0", alt="<DEL>"), "in `n_records`"),
    ],
)
def test_check_store__raise_on_difference(made, tmp_path, changed, cause):
    other = write_text(tmp_path / "b.vcf", vcf_text(changed, *RECORDS[1:], contigs=("1", "2")))
    with refused("store-differs") as caught:
        check_store(made[1], other)
    assert cause in str(caught.value)
    assert "\n" not in str(caught.value)
    result = verify(made[1], other)
    assert (result.exit_code, f"dpgrs: {caught.value}" in result.output) == (1, True)


WHOLE = vcf_text(*RECORDS, contigs=("1", "2"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (vcf_text(*RECORDS[:-1], contigs=("1", "2")), ("store-differs",)),
        (WHOLE + record(12, "0|0 0|0 0|0"), ("store-differs", "1:12")),
        (vcf_text(*RECORDS, contigs=("1", "2"), samples=("A", "C", "B")), ("store-differs",)),
        (WHOLE[:-3], ("file-damaged", "b.vcf")),
        (WHOLE[:-9], ("file-damaged", "b.vcf")),
        (vcf_text(record("2e7", "0|0 0|1 1|1")), ("file-damaged", "b.vcf")),
        (vcf_text(*RECORDS, samples=("A", "", "C")), ("header-unreadable", "b.vcf")),
    ],
    ids=["shorter", "longer", "other samples", "cut", "cut within a call", "no position", "no sample id"],
)
def test_check_store__raise_on_another_file(made, tmp_path, text, fault):
    with refused(*fault):
        check_store(made[1], write_text(tmp_path / "b.vcf", text))


@pytest.mark.parametrize("plane", ["haplotypes", "missing"])
@pytest.mark.parametrize("bit", range(6))
def test_check_store__raise_on_every_flipped_bit(made, plane, bit):
    vcf, store = made
    array = zarr.open_group(store, mode="r+", zarr_format=2)[plane]
    array[1, 0] = array[1, 0] ^ np.uint64(1 << bit)
    place = f"the {('first', 'second')[bit % 2]} allele of sample {bit // 2 + 1} "
    with refused("store-differs", "1:5", place):
        check_store(store, vcf)


def test_check_store__raise_on_a_store_that_says_nothing(made, tmp_path):
    with StoreWriter.create(tmp_path / "b.zarr", sample_id=np.array(["A", "B", "C"])):
        pass
    with refused("not-a-chromosome-store", "counts, options"):
        check_store(tmp_path / "b.zarr", made[0])


@pytest.mark.realdata
def test_check_store__real_file(real_data, tmp_path):
    vcf = next((real_data / "1kg" / "phase3_chr1_region").glob("*.vcf.gz"))
    counts = ingest_chromosome(vcf, chromosome=1, store=tmp_path / "1.zarr")
    assert check_store(tmp_path / "1.zarr", vcf) == {"n_variants": counts["n_variants"], "n_samples": 2504}


def test_check_store__of_parts(made, tmp_path):
    parts = [
        write_gzip(tmp_path / f"part{number}.vcf.gz", vcf_text(*records, contigs=("1",)))
        for number, records in enumerate([[RECORDS[4], RECORDS[5], RECORDS[6], RECORDS[7]], RECORDS[:3]])
    ]
    assert verify(made[1], parts[0]).exit_code == 1
    result = CliRunner().invoke(main, ["store", "verify", str(made[1]), *map(str, parts)])
    assert result.exit_code == 0, result.output


def test_check_store__of_a_bcf(tmp_path):
    vcf = write_text(tmp_path / "a.vcf", vcf_text(*RECORDS[:2]))
    pysam.bcftools.view("-Ob", "-o", str(tmp_path / "a.bcf"), str(vcf), catch_stdout=False)
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "s")
    assert check_store(tmp_path / "s", tmp_path / "a.bcf") == {"n_variants": 3, "n_samples": 3}


def test_check_store__raise_on_a_vcf_zarr(made):
    with refused("not-a-vcf"):
        check_store(made[1], "x/chr1.vcz")


def test_check_store__raise_on_provisional_ref(tmp_path):
    texts = [vcf_text(record(5, "0|0 0|1 1|1", info=info)) for info in ("PR=1;XPR", "AC=3;PR")]
    vcf, provisional = (write_text(tmp_path / f"{i}.vcf", text) for i, text in enumerate(texts))
    ingest_chromosome(vcf, chromosome=1, store=tmp_path / "1.zarr", known_ref=True)
    check_store(tmp_path / "1.zarr", vcf)
    with refused("reference-allele-unknown", "`INFO/PR`", "1:5"):
        check_store(tmp_path / "1.zarr", provisional)


@pytest.mark.parametrize("index", [None, "tbi"])
def test_check_store__raise_on_a_second_header(tmp_path, index):
    """Of other people, or in another order: htslib skips it."""
    first, second = (vcf_text(record(place, "0|0 0|1 1|1")) for place in (5, 6))
    ingest_chromosome(
        write_text(tmp_path / "a.vcf", first + second.splitlines()[-1]),
        chromosome=1,
        store=tmp_path / "1.zarr",
    )
    joined = write_bgzf(tmp_path / "b.vcf.gz", first + second, index=index)
    with pytest.raises(
        DpgrsError, match=r"b\.vcf\.gz`, line 6: a line that begins with `#` must stand above"
    ):
        check_store(tmp_path / "1.zarr", joined)


def test_check_store__ids_left_empty(tmp_path):
    vcf = write_text(tmp_path / "a.vcf", vcf_text(record(5, "0|0 0|1 1|1", id_="")))
    ingest_chromosome(vcf, chromosome=1, store=tmp_path / "1.zarr")
    check_store(tmp_path / "1.zarr", vcf)


@pytest.mark.parametrize(
    ("part", "chromosome"),
    [("X", "X"), ("Y", "Y"), ("MT", "MT"), ("PAR1", "X"), ("PAR2", "X"), ("XY", "X"), ("XY", "XY")],
)
def test_check_store__of_plink_beyond_the_autosomes(tmp_path, part, chromosome):
    """plink2 writes PAR1 and PAR2 as X, XY as X or XY by its version, and a haploid call as one allele."""
    pvar = (PVAR[0], f"{part}\t9\t.\tA\tC\tPASS")
    genotypes = write_pgen(tmp_path / "a", alleles=[(1, 1, 0, 1, -9, -9)], pvar=pvar)
    ingest_chromosome(genotypes, chromosome=part, store=tmp_path / "a.zarr", phased="any")
    texts = [
        vcf_text(record(9, calls, contig=chromosome), contigs=(chromosome,))
        for calls in ("1 0|1 .", "0 0|1 .")
    ]
    exported, other = (write_text(tmp_path / f"{i}.vcf", text) for i, text in enumerate(texts))
    check_store(tmp_path / "a.zarr", exported)
    with refused("store-differs", "sample 1") as caught:
        check_store(tmp_path / "a.zarr", other)
    assert str(caught.value).endswith(f"plink2 --chr {part}") == (chromosome in ("X", "XY"))


SITES = pd.DataFrame([("1", 4, "A", "C"), ("1", 6, "C", "A")], columns=["contig", "position", "ref", "alt"])


def test_check_store__of_fixed_sites(tmp_path):
    """Of a .bed with alleles exchanged and one unseen; and where a call of the VCF is another."""
    bim = ("1 . 0 4 A C", "1 rs6 0 6 0 C", "1 x 0 9 G T")
    bed = write_bed(tmp_path / "a", counts=((0, 1, -127), (0, 0, 0), (2, 1, 0)), bim=bim)
    ingest_chromosome(bed, chromosome="1", store=tmp_path / "s", phased="any", sites=SITES)
    others = (
        record(6, "0/0 0/0 0/0", id_="rs6", ref="C", alt="."),
        record(9, "1/1 0/1 0/0", ref="T", alt="G"),
    )
    same, other = (
        write_text(tmp_path / f"{calls[0]}.vcf", vcf_text(record(4, calls, ref="C", alt="A"), *others))
        for calls in ("0/0 0/1 ./.", "1/1 0/1 ./.")
    )
    assert check_store(tmp_path / "s", same) == {"n_variants": 2, "n_samples": 3}
    with refused("store-differs", "sample 1", "column 10", "1:4"):
        check_store(tmp_path / "s", other)


def test_check_store__of_dosages_by_fixed_sites(tmp_path):
    path = write_cohort(
        tmp_path / "a.pgen", np.array([[0.5, 2, np.nan], [2, 2, 1.25]]), positions=(4, 6), ids="ABC"
    )
    sites = SITES.assign(ref="A", alt="C")
    ingest_chromosome(path, chromosome="1", store=tmp_path / "s", phased="any", field="DS", sites=sites)
    lines = [
        record(4, "./.:1.5 ./.:0 ./.:.", ref="C", alt="A", format_="GT:DS"),
        record(6, "./.:2 ./.:2 ./.:1.25", format_="GT:DS"),
    ]
    vcf = write_text(tmp_path / "a.vcf", dosage_text(*lines))
    assert check_store(tmp_path / "s", vcf) == {"n_variants": 2, "n_samples": 3}


@pytest.mark.parametrize(
    ("ending", "field"), [("bed", "GT"), ("pgen", "GT"), ("pgen", "DS"), ("bgen", "GT"), ("bgen", "DS")]
)
@pytest.mark.parametrize("is_by_sites", [False, True])
def test_check_store__of_the_files_themselves(tmp_path, ending, field, is_by_sites):
    rng = np.random.default_rng(1)
    copies = rng.choice([0, 1, 2, np.nan], (4, 7), p=[0.4, 0.3, 0.2, 0.1])
    if (ending, field) == ("pgen", "DS"):
        copies = np.clip(copies + rng.integers(-900, 900, copies.shape) / 2**12, 0, 2)
    copies[3] = 2
    paths = [
        write_cohort(tmp_path / f"{name}.{ending}", values, positions=(4, 6, 7, 9), ids="ABCDEFG")
        for name, values in (
            ("a", copies),
            ("b", np.where(np.arange(28).reshape(4, 7) == 12, 2 - copies, copies)),
        )
    ]
    sites = pd.DataFrame(
        [("1", n, "A", "C") for n in (4, 6, 9)], columns=["contig", "position", "ref", "alt"]
    )
    options = {"phased": "any", "field": field} | ({"sites": sites} if is_by_sites else {})
    people = write_text(tmp_path / "people.txt", "B\nF\nG\n")
    for name, terms in (("all", {}), ("some", {"people": people})):
        ingest_chromosome(paths[0], chromosome="1", store=tmp_path / name, **options, **terms)
        result = verify(tmp_path / name, paths[0])
        assert result.exit_code == 0, result.output
        with refused("store-differs", "1:6"):
            check_store(tmp_path / name, paths[1])


@pytest.mark.parametrize("n_bits", [3, 8, 16])
@pytest.mark.parametrize("is_phased", [False, True])
def test_check_store__of_a_bgen_of_any_kind(tmp_path, n_bits, is_phased):
    whole = 2**n_bits - 1
    two, one, three = ([whole, 0], [0, whole]), [whole], [0, 0, whole, 0, 0]
    terms = {"n_bits": n_bits, "is_phased": is_phased}
    variants = [
        variant(4, [*two, [whole // 2, whole // 3]], **terms),
        variant(5, [one, two[1], [0]], ploidy=[1, 2, 129], **terms),
        variant(
            6, [[0, whole, whole, 0]] * 3 if is_phased else [three] * 3, alleles=("A", "C", "G"), **terms
        ),
    ]
    bgen = write_bgen(tmp_path / "a.bgen", variants)
    for field in ("GT", "DS"):
        ingest_chromosome(bgen, chromosome="1", store=tmp_path / field, phased="any", field=field)
        assert check_store(tmp_path / field, bgen) == {"n_variants": 4, "n_samples": 3}


def test_check_store__of_a_pgen_with_phase_and_parts_of_x(tmp_path):
    pgen = write_pgen(tmp_path / "a")
    ingest_chromosome(pgen, chromosome="1", store=tmp_path / "s")
    assert check_store(tmp_path / "s", pgen) == {"n_variants": 3, "n_samples": 3}
    array = zarr.open_group(tmp_path / "s", mode="r+", zarr_format=2)["haplotypes"]
    array[1, 0] ^= np.uint64(2)
    with refused("store-differs", "sample 1", "column 10", "1:6"):
        check_store(tmp_path / "s", pgen)
    pvar = (PVAR[0], "PAR1\t9\t.\tA\tC\t.", "PAR2\t70\t.\tA\tC\t.", "X\t20\t.\tA\tC\t.")
    parts = write_pgen(
        tmp_path / "x", alleles=[(1, 1, 0, 1, -9, -9), (0, 0, 1, 1, 0, 1), (1, 1, 0, 0, 0, 0)], pvar=pvar
    )
    ingest_chromosome(parts, chromosome="X", store=tmp_path / "x.zarr", phased="any")
    assert HaplotypeStore.open(tmp_path / "x.zarr").variants["position"].tolist() == [9, 20, 70]
    assert check_store(tmp_path / "x.zarr", parts) == {"n_variants": 3, "n_samples": 3}
