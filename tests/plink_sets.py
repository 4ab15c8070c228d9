"""Small sets of PLINK files for tests, written without PLINK."""

import numpy as np
from bed_reader import to_bed
from pgenlib import PgenWriter

PVAR = (
    "#CHROM\tPOS\tID\tREF\tALT\tFILTER",
    "1\t4\t.\tA\tC\tPASS",
    "1\t6\trs6\tA\tC,G\t.",
    "X\t9\tx\tT\tG\tlow",
)
PSAM = ("#IID\tSEX", "A\t1", "B\t2", "C\t2")
# A1, which is counted, stands before A2.
BIM = ("1 . 0 4 C A", "1 rs6 0 6 0 A", "23 x 0 9 G T")
FAM = ("f A 0 0 1 -9", "f B 0 0 2 -9", "f C 0 0 2 -9")
# Alleles of A, B and C; below 0 where missing.
ALLELES = ((0, 0, 0, 1, -9, -9), (1, 2, 2, 1, 0, 0), (1, 1, 0, 1, 0, 0))


def write_lines(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def write_pgen(prefix, *, alleles=ALLELES, is_phased=None, pvar=PVAR, psam=PSAM):
    """Write `prefix`.pgen, .pvar and .psam; return the path of the first. All is phased unless said."""
    path, n_samples = prefix.with_suffix(".pgen"), len(alleles[0]) // 2
    is_phased = np.ones((len(alleles), n_samples), dtype=bool) if is_phased is None else np.asarray(is_phased)
    with PgenWriter(
        str(path).encode(),
        n_samples,
        variant_ct=len(alleles),
        nonref_flags=False,
        allele_ct_limit=3,
        hardcall_phase_present=True,
    ) as writer:
        for row, phases in zip(alleles, is_phased, strict=True):
            writer.append_partially_phased(
                np.array(row, dtype=np.int32), phases, allele_ct=3 if 2 in row else 2
            )
    write_lines(prefix.with_suffix(".pvar"), pvar)
    write_lines(prefix.with_suffix(".psam"), psam)
    return path


def write_bed(prefix, *, counts=((0, 1, -127), (0, 0, 0), (2, 1, 0)), bim=BIM, fam=FAM):
    """Write `prefix`.bed, .bim and .fam; return the path of the first. `counts` of A1, -127 if missing."""
    path = prefix.with_suffix(".bed")
    to_bed(path, np.array(counts, dtype=np.int8).T, num_threads=1)
    write_lines(prefix.with_suffix(".bim"), bim)
    write_lines(prefix.with_suffix(".fam"), fam)
    return path
