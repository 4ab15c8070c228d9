"""VCF Zarr files for tests, made of a VCF as the specification has them, by cyvcf2 and Zarr alone."""

import shutil

import numpy as np
import zarr
from cyvcf2 import VCF
from numcodecs import Blosc
from zarr.codecs import BloscCodec

PAD = -2
MISSING, LEFT_OUT = 0x7F800001, 0x7F800002  # two NaNs of float32


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
    no_calls = np.full((len(file_samples), 3), -1)
    calls = [one.genotype.array() if "GT" in one.FORMAT else no_calls for one in records]
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
    for name in ("DS", "HDS", "GP"):
        if any(name in one.FORMAT for one in records):
            found[f"call_{name}"] = _numbers(records, name, len(file_samples))
    if not any("GT" in one.FORMAT for one in records):
        found |= dict.fromkeys(["call_genotype", "call_genotype_mask", "call_genotype_phased"])
    return found


def _numbers(records, name, n_samples):
    """Return a field as float32, with the NaN of the specification for what is missing or left out."""
    values = {place: one.format(name) for place, one in enumerate(records) if name in one.FORMAT}
    width = max(own.shape[1] for own in values.values())
    found = np.full((len(records), n_samples, width), MISSING, dtype=np.uint32)
    for place, own in values.items():
        is_missing = np.isnan(own)
        bits = own.astype(np.float32).view(np.uint32)
        # htslib has what is left out behind the others as another NaN, which cyvcf2 does not tell.
        is_left_out = is_missing & (np.arange(own.shape[1]) > 0) & (np.isnan(own[:, -1:]))
        found[place, :, own.shape[1] :] = LEFT_OUT
        found[place, :, : own.shape[1]] = np.where(is_left_out, LEFT_OUT, np.where(is_missing, MISSING, bits))
    return found.view(np.float32)


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
