"""A cohort in the formats whose alleles stand in an order that its people decide, as PLINK 1 writes them."""

import numpy as np
from bed_reader import to_bed
from pgenlib import PgenWriter

from bgen_files import variant, write_bgen
from dosage_files import dosage_text
from plink_sets import write_lines
from vcf_files import record

REF, ALT = "A", "C"
# What stands for an allele that nobody has.
UNSEEN = {"bed": "0", "pgen": ".", "bgen": "."}
LARGEST = 255  # probability of a BGEN of 8 bits


def pairs_of(copies, *, form, is_rarer_first=False):
    """Return the two alleles of each site, and whether the second is ALT.

    Parameters
    ----------
    copies : (n_sites, n_people) float, copies of ALT, NaN where missing.
    form : str, a key of `UNSEEN`.
    is_rarer_first : bool, whether the allele that is rarer among the people comes first, not second.
    """
    n_alt, n_alleles = np.nansum(copies, axis=1), 2 * np.isfinite(copies).sum(axis=1)
    is_alt_second = (2 * n_alt <= n_alleles) != is_rarer_first
    refs, alts = (
        [letter if is_seen else UNSEEN[form] for is_seen in seen]
        for letter, seen in ((REF, n_alt < n_alleles), (ALT, n_alt > 0))
    )
    pairs = zip(refs, alts, is_alt_second, strict=True)
    return [(ref, alt) if is_second else (alt, ref) for ref, alt, is_second in pairs], is_alt_second


def write_cohort(path, copies, *, positions, ids, contig="1", is_rarer_first=False):
    """Write a cohort in the format of the ending of a path (.bed, .pgen, .bgen, .vcf); return the path.

    Parameters
    ----------
    path : Path
    copies, is_rarer_first : as in `pairs_of`; the order of a VCF is fixed.
    positions : sequence of int
    ids : sequence of str
    contig : str
    """
    form = path.suffix[1:]
    if form == "vcf":
        return _write_vcf(path, copies, positions=positions, ids=ids, contig=contig)
    pairs, is_alt_second = pairs_of(copies, form=form, is_rarer_first=is_rarer_first)
    of_second = np.where(is_alt_second[:, np.newaxis], copies, 2 - copies)
    sites = [(position, *pair) for position, pair in zip(positions, pairs, strict=True)]
    if form == "bgen":
        return _write_bgen(path, of_second, sites, ids=ids, contig=contig)
    n_people = len(ids)
    if form == "bed":
        counts = np.where(np.isfinite(of_second), of_second, -127).astype(np.int8)
        to_bed(path, counts.T, num_threads=1)
        # A1, which is counted, stands before A2.
        lines = [f"{contig} . 0 {position} {second} {first}" for position, first, second in sites]
        write_lines(path.with_suffix(".bim"), lines)
        write_lines(path.with_suffix(".fam"), [f"0 {name} 0 0 0 -9" for name in ids])
        return path
    options = {"nonref_flags": True, "hardcall_phase_present": False, "dosage_present": True}
    with PgenWriter(str(path).encode(), n_people, variant_ct=len(sites), **options) as writer:
        for row in of_second:
            writer.append_dosages(np.where(np.isfinite(row), row, -9).astype(np.float32))
    lines = [f"{contig}\t{position}\t.\t{first}\t{second}" for position, first, second in sites]
    write_lines(path.with_suffix(".pvar"), ["#CHROM\tPOS\tID\tREF\tALT", *lines])
    write_lines(path.with_suffix(".psam"), ["#IID", *ids])
    return path


def _write_bgen(path, of_second, sites, *, ids, contig):
    variants = []
    for (position, *pair), row in zip(sites, of_second, strict=True):
        is_missing = ~np.isfinite(row)
        of_both = np.where(is_missing, 0, np.rint(LARGEST * np.abs(1 - row)))
        # Two copies of the first, or one of each; the rest is two of the second.
        first = np.where(is_missing | (row > 1), 0, of_both)
        mixed = np.where(is_missing, 0, LARGEST - of_both)
        values = np.stack([first, mixed], axis=1).astype(np.uint8)
        ploidy = [2 + 128 * bool(missing) for missing in is_missing]
        terms = {"alleles": pair, "contig": contig, "ploidy": ploidy, "is_phased": False}
        variants.append(variant(position, values, **terms))
    return write_bgen(path, variants, samples=list(ids))


def _write_vcf(path, copies, *, positions, ids, contig):
    lines = []
    for position, row in zip(positions, copies, strict=True):
        cells = " ".join("./.:." if np.isnan(one) else f"./.:{one:.9g}" for one in row)
        lines.append(record(position, cells, contig=contig, ref=REF, alt=ALT, format_="GT:DS"))
    path.write_text(dosage_text(*lines, samples=ids, contigs=[contig]))
    return path
