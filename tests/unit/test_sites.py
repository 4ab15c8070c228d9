import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.genotypes.linkage import LinkageLimit
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.sites import choose_sites, read_chosen_sites, read_sites, reference_sites, write_sites
from dpgrs.io.variant_filters import VariantFilters
from refused import refused
from vcf_files import record, vcf_text, write_text

TABLE = "CHROM\tPOS\tID\tREF\tALT\tAF\nchr1\t20\trs2\tA\tG\t0.3\n1\t10\trs1\tC\tA\t0.4\n2\t5\t.\tG\tT\t0.05\n"


def write(folder, text=TABLE, name="sites.tsv"):
    path = folder / name
    path.write_text(text)
    return path


def sites(*rows):
    return pd.DataFrame(rows, columns=["contig", "position", "id", "ref", "alt", "frequency"])


def chosen(table, **options):
    return choose_sites(table, **{"chromosomes": ["1", "2"], "size": 1, "maf": 0.01, "seed": 1} | options)[0]


def test_read_sites__understands_names_of_a_vcf(tmp_path):
    table = read_sites(write(tmp_path))
    assert table["contig"].tolist() == ["chr1", "1", "2"]
    assert table["position"].tolist() == [20, 10, 5]
    assert table["id"].tolist() == ["rs2", "rs1", "."]
    assert table["frequency"].tolist() == [0.3, 0.4, 0.05]


def test_read_sites__frequencies_from_another_table(tmp_path):
    listed = write(tmp_path, "contig,position,ref,alt\n1,10,C,A\n1,20,A,G\n")
    frequencies = write(tmp_path, TABLE, "frequencies.tsv")
    assert read_sites(listed, frequencies=frequencies)["frequency"].tolist() == [0.4, 0.3]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "contig\tposition\tref\talt\n1\t1\tA\tC\n",
            ("site-columns-missing", "line 1"),
        ),
        ("contig\tposition\tref\tAF\n1\t1\tA\t0.1\n", ("site-columns-missing",)),
        (TABLE + "3\tx\t.\tA\tC\t0.1\n", ("cell-out-of-domain", "`x`", "line 5")),
        (TABLE + "3\t7\t.\tA\tC\t1.1\n", ("cell-out-of-domain", "`1.1`", "line 5")),
        (TABLE + "3\t7\t.\tA\tC\tnan\n", ("cell-out-of-domain", "line 5")),
        (TABLE + f"3\t{'7' * 5000}\t.\tA\tC\t0.2\n", ("cell-out-of-domain", "7")),
        (TABLE + "3\t7\t.\ta\tA\t0.2\n", ("alleles-equal", "line 5")),
        (TABLE + "2\t5\t.\tG\tT\t0.2\n", ("site-twice", "line 5", "line 4")),
    ],
)
def test_read_sites__raise_on_bad_table(tmp_path, text, fault):
    with refused(*fault):
        read_sites(write(tmp_path, text))


def test_read_sites__raise_on_a_site_without_frequency(tmp_path):
    frequencies = write(tmp_path, TABLE.rpartition("2\t5")[0], "frequencies.tsv")
    with refused("site-frequency-missing", "got none for 1"):
        read_sites(write(tmp_path), frequencies=frequencies)


def test_reference_sites__are_those_of_the_stores_with_their_frequencies(tmp_path):
    records = [record(1, "0|1 1|1"), record(2, ".|. .|."), record(3, "0|0 0|1", alt="G,T")]
    vcf = write_text(tmp_path / "1.vcf", vcf_text(*records, samples=("a", "b")))
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "1.zarr")
    table = reference_sites([HaplotypeStore.open(tmp_path / "1.zarr")])
    # The second has no known allele.
    assert table["position"].tolist() == [1, 3, 3]
    np.testing.assert_array_equal(table["frequency"], [0.75, 0.25, 0.0])


def test_choose_sites__keeps_plain_common_biallelic_sites_on_the_chromosomes():
    table = sites(
        ("2", 5, "good2", "A", "G", 0.5),
        ("chr1", 9, "good1", "C", "A", 0.99),
        ("1", 1, "rare", "A", "G", 0.009),
        ("1", 2, "fixed", "A", "G", 0.995),
        ("1", 3, "ambiguous", "A", "T", 0.4),
        ("1", 4, "indel", "A", "AC", 0.4),
        ("1", 6, "many", "A", "G", 0.4),
        ("chr1", 6, "many", "A", "C", 0.4),
        ("3", 7, "elsewhere", "A", "G", 0.4),
        ("1", 8, "unknown", "A", "G", np.nan),
    )
    assert chosen(table, size=2)["id"].tolist() == ["good1", "good2"]
    words = (
        r"`variants\.size` must be at most the number of public sites on these chromosomes that pass all "
        r"filters, {}\. Lower it, {}or give more sites\."
    )
    page = r"\(docs/how-to/qc\.md\)"
    left_out = rf"2 of 9, got 3\. Left out are 3 by `variants\.maf`, 4 that no release takes {page}"
    with pytest.raises(DpgrsError, match=words.format(left_out, "loosen these filters, ")):
        chosen(table, size=3)
    with pytest.raises(DpgrsError, match=words.format("none of 0, got 3", "")):
        chosen(table, size=3, chromosomes=["X"])


def test_choose_sites__are_thinned_by_name_and_nested():
    table = sites(*(("1", position, ".", "A", "G", 0.3) for position in range(1, 101)))
    twenty, ten = chosen(table, size=20), chosen(table, size=10)
    assert sorted(twenty["rank"]) == list(range(20))
    assert twenty["position"].is_monotonic_increasing
    assert set(ten["position"]) == set(twenty[twenty["rank"] < 10]["position"])
    # Without the sites that were not chosen the choice is the same.
    assert chosen(table[table["position"].isin(twenty["position"])], size=20)["position"].equals(
        twenty["position"]
    )
    assert not chosen(table, size=20, seed=2)["position"].equals(twenty["position"])


def test_choose_sites__filters_by_the_genotypes_of_a_reference(tmp_path):
    """Kept: position 5. Dropped: no heterozygotes, linked with 5 or it with them, half unknown, ambiguous."""
    fine, split = "0|1 1|1 0|0 1|0 " * 5, "0|0 " * 10 + "1|1 " * 10
    records = [
        record(1, split),
        record(2, ". " * 10 + "0|1 " * 10),
        record(3, fine, ref="A", alt="T"),
        record(5, fine),
        record(6, fine),
        record(7, "0|1 " * 20, alt="<DEL>"),
    ]
    samples = tuple(f"p{i}" for i in range(20))
    vcf = write_text(tmp_path / "1.vcf", vcf_text(*records, samples=samples))
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "1.zarr")
    stores = [HaplotypeStore.open(tmp_path / "1.zarr")]
    filters = {"missing": 0.1, "hwe": 1e-3}
    table = reference_sites(stores, filters=VariantFilters(**filters))
    linkage = LinkageLimit(0.5, 10, "people")
    sites, counts = choose_sites(
        table, chromosomes=["1"], size=1, maf=0.01, seed=1, stores=stores, linkage=linkage, **filters
    )
    assert sites["position"].tolist() in ([5], [6])
    with refused("too-few-variants", "got 2", "`variants.missing`", "`variants.hwe`"):
        choose_sites(
            table, chromosomes=["1"], size=2, maf=0.01, seed=1, stores=stores, linkage=linkage, **filters
        )
    own = counts.iloc[0]
    assert (own["records"], own["symbolic"], own["rows"], own["kept"]) == (6, 1, 5, 1)
    assert (own["hwe"], own["missing"], own["ambiguous"], own["ld"] + own["thinned"]) == (1, 1, 1, 1)


@pytest.mark.parametrize(
    "filters", [{"missing": 0.1}, {"hwe": 0.1}, {"linkage": LinkageLimit(0.1, 1, "people")}]
)
def test_choose_sites__raise_on_filters_of_genotypes_without_any(filters):
    with refused("filters-need-genotypes", error=UsageError):
        chosen(sites(("1", 1, ".", "A", "G", 0.3)), **filters)


def test_write_sites__reads_back(tmp_path):
    table = chosen(sites(("chr2", 5, "rs1", "A", "G", 1 / 3), ("chr1", 7, ".", "C", "A", 0.2)), size=2)
    write_sites(tmp_path / "chosen.tsv", table)
    again = read_chosen_sites(tmp_path / "chosen.tsv")
    assert again["contig"].tolist() == ["chr1", "chr2"]
    assert again["id"].tolist() == [".", "rs1"]
    np.testing.assert_allclose(again["frequency"], [0.2, 1 / 3], rtol=1e-11)
    assert again["rank"].tolist() == table["rank"].tolist()
