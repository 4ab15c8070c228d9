"""One small cohort in every form of genotype files, for tests that the forms agree."""

from pathlib import Path

import numpy as np
import pysam.bcftools
import pytest
from pgenlib import PgenWriter

from bgen_files import variant, write_bgen
from dpgrs.errors import DpgrsError
from dpgrs.io.genotype_files import genotype_reader
from dpgrs.io.target import MISSING_STEPS, Target
from dpgrs.io.vcf.text import numbered_lines
from plink_sets import write_lines
from vcf_files import record, vcf_text, write_bgzf, write_text
from vcf_zarr_files import write_vcf_zarr

DECLARED = "".join(
    f'##FORMAT=<ID={name},Number={number},Type=Float,Description="{name}">\n'
    for name, number in (("DS", "A"), ("HDS", "."), ("GP", "G"))
)
SCORE = "chr_name\tchr_position\teffect_allele\tother_allele\teffect_weight\n"


def write_vcf(path, records, *, contig="1"):
    """Write records, tuples of position, REF, ALT, FORMAT and columns with blanks between them."""
    lines = [
        record(position, columns, contig=contig, ref=ref, alt=alt, format_=keys)
        for position, ref, alt, keys, columns in records
    ]
    samples = [f"P{number}" for number in range(1, len(records[0][-1].split()) + 1)]
    text = vcf_text(*lines, samples=samples, contigs=[contig]).replace("#CHROM", f"{DECLARED}#CHROM", 1)
    return write_bgzf(path, text, index=None) if path.suffix == ".gz" else write_text(path, text)


def write_forms(folder, records, *, contig="1"):
    """Write a cohort of calls and dosages as VCF, packed VCF, BCF and VCF Zarr; return a dict of paths."""
    vcf = write_vcf(folder / "a.vcf", records, contig=contig)
    paths = {"vcf": vcf, "vcf.gz": write_vcf(folder / "b.vcf.gz", records, contig=contig)}
    paths["bcf"] = folder / "a.bcf"
    pysam.bcftools.view("-Ob", "-o", str(paths["bcf"]), str(vcf), catch_stdout=False)
    paths["vcz"] = write_vcf_zarr(folder / "a.vcz", vcf)
    return paths


def alleles_of(vcf):
    """Return fields of the records of a VCF, and their (n_people, 2) alleles; -1 is missing, -2 is none."""
    found = []
    for _, line in numbered_lines(Path(vcf)):
        if line.startswith(b"#"):
            continue
        fields = line.decode().split("\t")
        calls = (cell.split(":")[0].replace("|", "/").split("/") for cell in fields[9:])
        rows = [[-1 if one == "." else int(one) for one in call] + [-2] * (2 - len(call)) for call in calls]
        found.append((fields, np.array([[-1, -1] if row == [-1, -2] else row for row in rows])))
    return found


def write_called_pgen(folder, vcf):
    """Write the calls of a VCF as a .pgen, where a call of one allele is homozygous; return its path."""
    records, path = alleles_of(vcf), folder / "a.pgen"
    n_people = len(records[0][1])
    options = {"nonref_flags": False, "allele_ct_limit": 4, "hardcall_phase_present": False}
    with PgenWriter(str(path).encode(), n_people, variant_ct=len(records), **options) as writer:
        for fields, calls in records:
            calls = np.where(calls == -2, calls[:, :1], calls)
            calls[(calls < 0).any(axis=1)] = -9
            writer.append_alleles(calls.astype(np.int32).ravel(), False, fields[4].count(",") + 2)
    lines = ["\t".join(fields[:5]) for fields, _ in records]
    write_lines(path.with_suffix(".pvar"), ["#CHROM\tPOS\tID\tREF\tALT", *lines])
    write_lines(path.with_suffix(".psam"), ["#IID", *(f"P{number + 1}" for number in range(n_people))])
    return path


def write_called_bgen(folder, vcf):
    """Write the calls of a VCF as a BGEN with phase, of probabilities that are 0 and 1; return its path."""
    variants = []
    for fields, calls in alleles_of(vcf):
        n_alleles = fields[4].count(",") + 2
        values, ploidy = [], []
        for call in calls:
            copies = [allele for allele in call if allele != -2]
            is_missing = min(copies) < 0
            ploidy.append(len(copies) + 128 * is_missing)
            one_hot = [[255 * (allele == number) for number in range(n_alleles - 1)] for allele in copies]
            values.append([0 if is_missing else value for row in one_hot for value in row])
        terms = {"alleles": (fields[3], *fields[4].split(",")), "contig": fields[0], "ploidy": ploidy}
        variants.append(variant(int(fields[1]), values, **terms))
    return write_bgen(folder / "a.bgen", variants, samples=[f"P{n + 1}" for n in range(len(calls))])


def write_score(path, rows):
    """Write a scoring file of rows (chromosome, position, effect allele, other allele, weight)."""
    path.write_text(SCORE + "".join("\t".join(map(str, row)) + "\n" for row in rows))
    return path


def read_all(path, contig="1", *, n_rows=2, **options):
    """Return what a reader gives: columns, planes of alleles and missing ones, dosages, and its counts."""
    reader = genotype_reader(path, contig, **options)
    batches = list(reader.batches(n_rows))
    columns = [row for batch in batches for row in zip(*batch.columns.values(), strict=True)]
    planes = [np.concatenate([batch[i] for batch in batches]).tolist() for i in (1, 2)] if batches else []
    dosages = [row for batch in batches if batch.dosages is not None for row in batch.dosages.tolist()]
    counts = (reader.n_records, reader.skipped, reader.missing_alleles, reader.haploid_calls)
    return columns, planes, dosages, counts


def read_fails(path, contig="1", **options):
    """Return the message by which a reader refuses a file, in one line and without its folder."""
    with pytest.raises(DpgrsError) as caught:
        read_all(path, contig, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{path.parent}/", "")


def target_contents(path, field):
    """Return columns, calls or dosages (-9 where missing) and counts of a target of scores."""
    target = Target([path], field=field)
    pieces = list(target.pieces({"1"}))
    columns = [row for piece in pieces for row in zip(*piece.columns.values(), strict=True)]
    calls = np.concatenate([piece.calls(np.arange(len(piece.columns["position"]))) for piece in pieces])
    missing = calls == MISSING_STEPS if field == "DS" else calls <= -3
    # Dosages are of autosomes, and nobody counts calls of one allele there.
    counts = (target.n_records, target.n_haploid if field == "GT" else 0)
    return columns, np.where(missing, -9, calls.astype(int)).tolist(), counts
