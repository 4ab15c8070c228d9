"""Compiled kernels that turn bits into calls of people. Each is a pure function of its arrays."""

import numpy as np

from dpgrs.genotypes.bits import PEOPLE_OF_WORD, unpack
from dpgrs.genotypes.compiled import compiled

HALF_REF, HALF_ALT, MISSING = -1, -2, -9
_ONE, _TWO, _THREE = (np.uint64(number) for number in (1, 2, 3))
# Indexed by two bits of ALT and, above them, two bits for missing alleles.
_CODES = np.array(
    [
        *(0, 1, 1, 2),
        *(HALF_REF, HALF_REF, HALF_ALT, HALF_ALT),
        *(HALF_REF, HALF_ALT, HALF_REF, HALF_ALT),
        *(MISSING, MISSING, MISSING, MISSING),
    ],
    dtype=np.int8,
)


def plain_calls_of_bits(haplotypes, missing, rows, calls):
    """Do the same as `calls_of_bits`, by numpy."""
    bits, dots = (unpack(words[rows], 2 * calls.shape[1]) for words in (haplotypes, missing))
    calls[:] = _CODES[bits[:, ::2] | bits[:, 1::2] << 1 | dots[:, ::2] << 2 | dots[:, 1::2] << 3]


@compiled(plain=plain_calls_of_bits)
def calls_of_bits(
    haplotypes,  # (n_variants, n_words) uint64, see `dpgrs.io.vcf.vcf.VariantBatch`
    missing,  # likewise
    rows,  # (n_rows,) int64, those wanted
    calls,  # (n_rows, n_people) int8, written to, see `dpgrs.io.target.Calls`
):
    """Write the calls of people from bits."""
    n_people = calls.shape[1]
    for i in range(len(rows)):
        row = rows[i]
        for word in range(haplotypes.shape[1]):
            bits, dots = haplotypes[row, word], missing[row, word]
            first = word * PEOPLE_OF_WORD
            for person in range(first, min(first + PEOPLE_OF_WORD, n_people)):
                calls[i, person] = _CODES[(bits & _THREE) | ((dots & _THREE) << _TWO)]
                bits >>= _TWO
                dots >>= _TWO
