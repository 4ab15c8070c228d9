import math

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import UsageError
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.variant_filters import (
    REASONS,
    USABLE,
    VariantFilters,
    count_reasons,
    drop_reasons,
    measured,
    too_few,
    with_records,
    write_counts,
)
from dpgrs.io.variant_set_writer import alternate_frequency
from vcf_files import record, vcf_text, write_text

STRICT = VariantFilters(
    maf=0.1, missing=0.2, hwe=0.01, ambiguous="drop", multiallelic="drop", classes=("snp",)
)


def table(*rows, **columns):
    found = pd.DataFrame(rows, columns=["contig", "position", "ref", "alt", "frequency"])
    return found.assign(**columns)


def names_of(reasons):
    return [[*REASONS, "usable"][reason] for reason in reasons]


def test_drop_reasons__the_first_that_holds():
    variants = table(
        ("1", 1, "A", "C", 0.3),
        ("1", 2, "AT", "A", 0.3),
        ("1", 3, "a", "t", 0.3),
        ("1", 4, "G", "C", 0.01),
        ("1", 5, "A", "C", 0.3),
        ("chr1", 5, "A", "G", 0.3),
        ("2", 5, "A", "G", 0.95),
        ("2", 6, "A", "G", np.nan),
        ("2", 7, "A", "G", 0.9),
        ("2", 8, "A", "G", 0.3),
        ("2", 9, "A", "G", 0.3),
        missing=[0.2] * 9 + [0.3, 0.0],
        hwe=[0.01] * 10 + [0.009],
    )
    expected = "usable class ambiguous ambiguous multiallelic multiallelic maf maf usable missing hwe"
    assert names_of(drop_reasons(variants, filters=STRICT)) == expected.split()


def test_drop_reasons__lenient_filters_drop_nothing_that_is_known():
    variants = table(("1", 1, "A", "T", 0.0), ("1", 1, "A", "ATT", 1.0), ("1", 2, "C", "G", np.nan))
    assert names_of(drop_reasons(variants, filters=VariantFilters())) == ["usable", "usable", "maf"]
    of_indels = drop_reasons(variants, filters=VariantFilters(classes=("indel",)))
    assert names_of(of_indels) == ["class", "usable", "class"]


def test_too_few__names_the_settings_that_leave_variants_out():
    reasons = [REASONS.index(name) for name in ("class", "ambiguous", "missing")] + [USABLE, USABLE]
    is_linked = np.array([False] * 4 + [True])
    counts = count_reasons(["1"] * 5, reasons, is_linked=is_linked, is_kept=~is_linked)
    line = too_few(counts, size=3, what="variants", fix="add chromosomes")
    assert line == (
        "`variants.size` must be at most the number of variants that pass all filters, 1 of 5, got 3. Left "
        "out are 1 by `variants.classes`, 1 by `variants.ambiguous`, 1 by `variants.missing`, 1 by "
        "`variants.ld_r2`. "
        "Lower it, loosen these filters, or add chromosomes."
    )


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"maf": 0.6}, "maf"),
        ({"missing": -0.1}, "missing"),
        ({"hwe": 0.7}, "hwe"),
        ({"ambiguous": "no"}, "ambiguous"),
        ({"multiallelic": True}, "multiallelic"),
        ({"classes": ()}, "classes"),
        ({"classes": ("sv",)}, "classes"),
    ],
)
def test_variant_filters__raise_on_domain(options, name):
    with pytest.raises(UsageError, match=f"`{name}` must be"):
        VariantFilters(**options)


@pytest.fixture
def store(tmp_path):
    """Three records of ten people, one of them with two ALT alleles, and two that are not read."""
    records = [
        record(1, "0|0 " * 5 + "1|1 " * 5),
        record(2, "0|1 " * 8 + ". .|1", alt="C,G"),
        record(3, "0|1 " * 10, alt="*"),
        record(4, "0|1 " * 10, alt="<DEL>"),
        record(5, ". " * 10),
    ]
    samples = tuple(f"p{i}" for i in range(10))
    vcf = write_text(tmp_path / "1.vcf", vcf_text(*records, samples=samples))
    ingest_chromosome(vcf, chromosome="1", store=tmp_path / "1.zarr")
    return HaplotypeStore.open(tmp_path / "1.zarr")


def test_measured__shares_and_tests_of_the_store(store):
    found = measured(store, alternate_frequency(store), filters=VariantFilters(missing=0.5, hwe=0.1))
    assert found["position"].tolist() == [1, 2, 2, 5]
    np.testing.assert_allclose(found["missing"], [0, 0.15, 0.15, 1])
    # Nobody of ten is heterozygous; all eight are whose calls are whole, and for G there is no carrier.
    none_of_ten = math.comb(10, 5) / math.comb(20, 10) / 2
    all_of_eight = (math.comb(8, 4) + 2**8 / 2) / math.comb(16, 8)
    assert found["hwe"].tolist() == pytest.approx([none_of_ten, all_of_eight, 0.5, 0.5])
    assert "hwe" not in measured(store, alternate_frequency(store), filters=VariantFilters(maf=0.1))


def test_counts__add_up_from_records_to_kept(tmp_path, store):
    variants = measured(store, alternate_frequency(store), filters=STRICT)
    reasons = drop_reasons(variants, filters=STRICT)
    nobody = np.zeros(len(variants), dtype=bool)
    counts = with_records(
        count_reasons(variants["contig"], reasons, is_linked=nobody, is_kept=nobody), [store]
    )
    write_counts(tmp_path / "qc.tsv", counts)
    table = pd.read_csv(tmp_path / "qc.tsv", sep="\t")
    own = table.iloc[0].to_dict()
    expected = {"chromosome": "1", "records": 5, "star": 1, "symbolic": 1, "rows": 4, "multiallelic": 2}
    expected |= {"missing": 1, "hwe": 1, "call_rate": 0.675, "half_calls": 0.05}
    assert {name: n for name, n in own.items() if n} == expected
    assert table["chromosome"].tolist() == ["1", "all"]
    assert table.iloc[1, 1:].tolist() == table.iloc[0, 1:].tolist()


def test_count_reasons__tells_linked_thinned_and_kept_apart():
    reasons = np.array([USABLE, USABLE, USABLE, USABLE, REASONS.index("maf")])
    counts = count_reasons(
        ["chr2", "chr2", "1", "1", "1"],
        reasons,
        is_linked=np.array([1, 0, 0, 0, 0], dtype=bool),
        is_kept=np.array([0, 1, 1, 0, 0], dtype=bool),
    )
    assert counts["chromosome"].tolist() == ["2", "1"]
    assert counts[["rows", "maf", "ld", "thinned", "kept"]].to_numpy().tolist() == [
        [2, 0, 1, 0, 1],
        [3, 1, 0, 1, 1],
    ]
