"""VCF Zarr files for tests, made of a VCF as the specification has them, by cyvcf2 and Zarr alone."""

import shutil

import numpy as np
import zarr
from cyvcf2 import VCF
from numcodecs import Blosc
from zarr.codecs import BloscCodec

PAD = -2


def padded(rows, dtype, fill):
    """Return lists of unequal lengths as one array."""
    width = max(map(len, rows))
    return np.array([[*row, *[fill] * (width - len(row))] for row in rows], dtype=dtype)


def arrays_of(vcf):
    """Return the arrays of a VCF, a dict."""
    file = VCF(str(vcf))
    file_samples, contigs = file.samples, list(file.seqnames)
    records = list(file)
    filters = ["PASS", *sorted({name for one in records for name in one.FILTERS} - {"PASS"})]
    calls = [one.genotype.array() for one in records]
    ploidy = max(one.shape[1] - 1 for one in calls)
    genotypes = np.full((len(records), len(file_samples), ploidy), PAD, dtype=np.int8)
    for row, one in zip(genotypes, calls, strict=True):
        row[:, : one.shape[1] - 1] = one[:, :-1]
    found = {
        "call_genotype": genotypes,
        "call_genotype_mask": genotypes < 0,
        "call_genotype_phased": np.array([one[:, -1] == 1 for one in calls]),
        "contig_id": np.array(contigs, dtype=object),
        "filter_id": np.array(filters, dtype=object),
        "sample_id": np.array(file_samples, dtype=object),
        "variant_allele": padded([[one.REF, *one.ALT] for one in records], object, ""),
        "variant_contig": np.array([contigs.index(one.CHROM) for one in records], dtype=np.int8),
        "variant_filter": np.array([[name in one.FILTERS for name in filters] for one in records]),
        "variant_id": np.array([one.ID or "." for one in records], dtype=object),
        "variant_position": np.array([one.POS for one in records], dtype=np.int32),
        "variant_PR": np.array([bool(one.INFO.get("PR")) for one in records]),
    }
    if any("DS" in one.FORMAT for one in records):
        n_alts = max(len(one.ALT) for one in records)
        dosages = np.full((len(records), len(file_samples), n_alts), np.nan, dtype=np.float32)
        for row, one in zip(dosages, records, strict=True):
            if "DS" in one.FORMAT:
                values = one.format("DS")
                row[:, : values.shape[1]] = values
        found["call_DS"] = dosages
    return found


def write_vcf_zarr(path, vcf, *, zarr_format=2, n_chunk=2, is_of_a_vcf=True, **changes):
    """Write a VCF Zarr of a VCF; `changes` are other arrays, None to leave one out. Return the path."""
    folder = path.with_suffix("") if path.suffix == ".zip" else path
    group = zarr.create_group(folder, zarr_format=zarr_format)
    group.attrs.update({"vcf_zarr_version": "0.4"} | ({"vcf_meta_information": []} if is_of_a_vcf else {}))
    for name, values in (arrays_of(vcf) | changes).items():
        if values is None:
            continue
        is_text = values.dtype == object
        chunks = (n_chunk, *values.shape[1:]) if name[:4] in ("call", "vari") else values.shape
        # The compressor of bio2zarr.
        blosc = Blosc(cname="zstd", clevel=7) if zarr_format == 2 else BloscCodec(cname="zstd", clevel=7)
        terms = {"shape": values.shape, "chunks": chunks, "dtype": str if is_text else values.dtype}
        array = group.create_array(name, compressors=blosc, **terms)
        array[:] = values.astype(str) if is_text else values
    if folder != path:
        shutil.make_archive(str(folder), "zip", folder)
        shutil.rmtree(folder)
    return path
