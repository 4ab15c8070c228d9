"""A compiled kernel that packs calls of alleles into bits. It is a pure function of its arrays."""

import numpy as np

from dpgrs.genotypes.bits import PEOPLE_OF_WORD, pack
from dpgrs.genotypes.compiled import compiled

NO_ALLELE = -2
_ONE, _TWO = np.uint64(1), np.uint64(2)


def plain_pack_calls(alleles, is_phased, place, numbers, first_new, needs_phase, haplotypes, missing):
    """Do the same as `pack_calls`, by numpy."""
    first, second = alleles[:, ::2], alleles[:, 1::2]
    is_haploid = (first >= 0) & (second == NO_ALLELE)
    rows = np.flatnonzero((place >= first_new) & np.append(True, place[1:] != place[:-1])[: len(place)])
    n_haploid = int(np.count_nonzero(is_haploid[place[rows]]))
    second = np.where(is_haploid, -1 if needs_phase else first, second)
    if needs_phase:
        is_mixed = (first != second) & ~is_phased & ~is_haploid
        is_bad = is_mixed & (first >= 0) & (second >= 0)
        if is_bad[place].any():
            return *map(int, np.argwhere(is_bad[place])[0]), n_haploid
        first, second = np.where(is_mixed, -1, first), np.where(is_mixed, -1, second)
    settled = np.stack([first, second], axis=2).reshape(len(alleles), -1)[place]
    haplotypes[:], missing[:] = pack(settled == numbers[:, np.newaxis]), pack(settled < 0)
    return -1, -1, n_haploid


@compiled(plain=plain_pack_calls)
def pack_calls(alleles, is_phased, place, numbers, first_new, needs_phase, haplotypes, missing):
    """Pack the calls of an allele of a record into each row, by the rules of `dpgrs.io.vcf.vcf.ContigReader`.

    Parameters
    ----------
    alleles : (n_records, 2 n_samples) int, below 0 where missing, `NO_ALLELE` second in a haploid call.
    is_phased : (n_records, n_samples) bool, whether the order of a call's alleles is known.
    place, numbers : (n_rows,) int, the record of each row and the number of its allele.
    first_new : int, the first record whose calls of one allele are to be counted.
    needs_phase : bool
    haplotypes, missing : (n_rows, n_words) uint64, filled.

    Returns
    -------
    row, sample : int, the first call that is heterozygous without phase where that is needed, or -1 twice.
    n_haploid : int, calls of one allele.
    """
    n_samples, n_haploid = is_phased.shape[1], 0
    for row in range(len(place)):
        record, number = place[row], numbers[row]
        is_counted = record >= first_new and (row == 0 or record != place[row - 1])
        for word in range(haplotypes.shape[1]):
            bits, dots = np.uint64(0), np.uint64(0)
            first = word * PEOPLE_OF_WORD
            for sample in range(first, min(first + PEOPLE_OF_WORD, n_samples)):
                one, two = alleles[record, 2 * sample], alleles[record, 2 * sample + 1]
                if one != two:
                    if one >= 0 and two == NO_ALLELE:
                        n_haploid += is_counted
                        two = -1 if needs_phase else one
                    elif needs_phase and not is_phased[record, sample]:
                        if one >= 0 and two >= 0:
                            return row, sample, n_haploid
                        one = two = -1
                shift = np.uint64(2 * (sample - first))
                bits |= (_ONE if one == number else np.uint64(0)) << shift
                bits |= (_TWO if two == number else np.uint64(0)) << shift
                dots |= (_ONE if one < 0 else np.uint64(0)) << shift
                dots |= (_TWO if two < 0 else np.uint64(0)) << shift
            haplotypes[row, word], missing[row, word] = bits, dots
    return -1, -1, n_haploid
