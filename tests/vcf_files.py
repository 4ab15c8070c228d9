"""Small VCF files for tests: text first, then plain, gzipped, or BGZF with an index."""

import gzip

import pysam

SAMPLES = ("A", "B", "C")


def record(
    position,
    calls,
    *,
    contig="1",
    id_=".",
    ref="A",
    alt="C",
    filter_="PASS",
    info=".",
    format_="GT",
    n_columns=None,
):
    """Return one record line; `calls` is a string such as ``0|0 0|1 1|1``."""
    fields = [contig, str(position), id_, ref, alt, ".", filter_, info, format_, *calls.split()]
    return "\t".join(fields[:n_columns]) + "\n"


def vcf_text(*records, samples=SAMPLES, contigs=("1",)):
    """Return a VCF as text."""
    columns = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *samples]
    header = ["##fileformat=VCFv4.2"]
    header += [f"##contig=<ID={contig},length=1000000>" for contig in contigs]
    header += ['##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">', "\t".join(columns)]
    return "\n".join(header) + "\n" + "".join(records)


def write_text(path, text):
    path.write_text(text)
    return path


def write_gzip(path, text):
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


def write_bgzf(path, text, *, index="tbi"):
    """Write BGZF with an index, ``tbi`` or ``csi``, or with none."""
    with pysam.BGZFile(str(path), "wb") as file:
        file.write(text.encode())
    if index:
        pysam.tabix_index(str(path), preset="vcf", csi=index == "csi", keep_original=True, force=True)
    return path
