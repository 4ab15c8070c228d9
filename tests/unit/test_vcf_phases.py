"""Calls of VCF 4.4, which may begin with the phase of their first allele."""

import numpy as np
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import unpack
from dpgrs.io.vcf.vcf import ContigReader, read_header
from vcf_files import record, vcf_text, write_text


def read_records(tmp_path, *records, **options):
    """Return the reader, and the alleles and the missing ones of all rows, (n_rows, 6) each."""
    header = read_header(write_text(tmp_path / "a.vcf", vcf_text(*records)))
    reader = ContigReader(header, "1", **options)
    batches = list(reader.batches(100))
    planes = (np.concatenate([getattr(one, name) for one in batches]) for name in ("haplotypes", "missing"))
    return reader, *(unpack(plane, 6).tolist() for plane in planes)


def test_batches__calls_that_begin_with_a_phase(tmp_path):
    records = (
        record(3, "|0|1 |1|0 /1/1"),
        record(4, "|1 /1 ."),
        record(5, "|0|1:3 1|0 0|0", format_="GT:DP"),
    )
    _, alleles, missing = read_records(tmp_path, *records)
    assert alleles == [[0, 1, 1, 0, 1, 1], [1, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0]]
    assert missing == [[0] * 6, [0, 1, 0, 1, 1, 1], [0] * 6]
    reader, alleles, missing = read_records(
        tmp_path, record(3, "/0/1 /0|1 |1/0"), record(4, "|1 /0 /.|1"), phased="any"
    )
    assert (alleles, missing) == ([[0, 1, 0, 1, 1, 0], [1, 1, 0, 0, 0, 1]], [[0] * 6, [0, 0, 0, 0, 1, 0]])
    assert reader.haploid_calls == 2


@pytest.mark.parametrize("call", ["/0/1", "/0|1", "|0/1"])
@pytest.mark.parametrize("is_compiled", [True, False])
def test_batches__raise_where_a_phase_before_a_call_is_none(tmp_path, call, is_compiled):
    bad = record(5, f"0|0 {call} 1|1")
    with pytest.raises(DpgrsError, match=r"sample 2 \(column 11\) is heterozygous and unphased"):
        read_records(tmp_path, bad, is_compiled=is_compiled)
