"""Compiled kernels of the pass over a chromosome: numbers of alleles, squared norms and sums of dosages.

All but the squares are integers; squares are added in one order for each person. Neither blocking nor the
number of threads can change a result.
"""

import numba
import numpy as np

from dpgrs.genotypes.dosages import STEPS_PER_ALLELE

PEOPLE_OF_WORD = 32
PEOPLE_OF_BYTE = 4
# Numbers of alleles of the four people of a byte.
ALLELES = np.array(
    [[(byte >> 2 * person & 1) + (byte >> 2 * person + 1 & 1) for person in range(4)] for byte in range(256)],
    dtype=np.float32,
)
OUTCOMES_TOGETHER = 4


@numba.njit(nogil=True, cache=True)
def count_alleles(
    words,  # (n_variants, n_words) uint64
    out,  # (n_variants, 32 n_words) float32 or float64, filled in
):
    """Write how many alleles people have by their bits, whether these are known or not."""
    for j in range(words.shape[0]):
        row = out[j]
        for w in range(words.shape[1]):
            word = words[j, w]
            for byte in range(8):
                alleles = ALLELES[(word >> np.uint64(8 * byte)) & np.uint64(255)]
                first = PEOPLE_OF_WORD * w + PEOPLE_OF_BYTE * byte
                for person in range(PEOPLE_OF_BYTE):
                    row[first + person] = alleles[person]


@numba.njit(nogil=True, cache=True)
def drop_missing(
    words,  # (n_variants, n_words) uint64; a genotype is missing where a bit of either allele is 1
    missing,  # likewise
    centre,  # (n_variants,) int64, in units of `DOSAGE_STEP`
    values,  # (n_variants or n_people, n_values) float64 or int64
    by_person,  # bool, whether sums are of people
    sums,  # (n_people or n_variants, n_values) of the type of the values, in place
):
    """Take off sums what bits say of genotypes that are missing, which are to count as their centre.

    With x the dosage by the bits, a the centre and v the values, -(x - a) v is added: v those of the variant,
    to the sums of the person, or v those of the person, to the sums of the variant.
    """
    for j in range(missing.shape[0]):
        for w in range(missing.shape[1]):
            unknown, word, person = missing[j, w], words[j, w], PEOPLE_OF_WORD * w
            while unknown:
                if unknown & np.uint64(3):
                    alleles = np.int64(word & np.uint64(1)) + np.int64(word >> np.uint64(1) & np.uint64(1))
                    x = alleles * STEPS_PER_ALLELE - centre[j]
                    source, target = (j, person) if by_person else (person, j)
                    for k in range(values.shape[1]):
                        sums[target, k] -= x * values[source, k]
                skipped = np.uint64(2)
                if not unknown & np.uint64(0xFFFC):
                    skipped = np.uint64(16)
                unknown >>= skipped
                word >>= skipped
                person += np.int64(skipped >> np.uint64(1))


@numba.njit(nogil=True, cache=True)
def add_row_squares(
    products,  # (n_directions, at least n_people) float32 or float64
    factors,  # (n_directions,) float64
    offsets,  # (n_directions,) float64
    of_missing,  # (at least n_people, n_directions) float64, or no rows for 0
    of_axes,  # (n_directions, n_people) float64, or no rows for 0
    squares,  # (n_people,) float64, in place
):
    """Add the squares of people's entries z along some directions, one direction after the other.

    z = factors products - offsets + of_missing - of_axes, exactly: all are integers.
    """
    for k in range(len(factors)):
        for i in range(len(squares)):
            z = np.float64(products[k, i]) * factors[k] - offsets[k]
            if len(of_missing):
                z += of_missing[i, k]
            if len(of_axes):
                z -= of_axes[k, i]
            squares[i] += z * z


@numba.njit(nogil=True, cache=True)
def add_dosage_sums(
    dosages,  # (n_variants, n_people) int16
    weights,  # (n_outcomes, n_people) int64
    sums,  # (n_outcomes, n_variants) int64, in place
):
    """Add, for every variant, people's weights times their dosages."""
    n_outcomes, n_people = weights.shape
    n_whole = n_outcomes - n_outcomes % OUTCOMES_TOGETHER
    for j in range(len(dosages)):
        row = dosages[j]
        for first in range(0, n_whole, OUTCOMES_TOGETHER):
            w0, w1, w2, w3 = weights[first], weights[first + 1], weights[first + 2], weights[first + 3]
            s0 = s1 = s2 = s3 = np.int64(0)
            for i in range(n_people):
                x = np.int64(row[i])
                s0 += x * w0[i]
                s1 += x * w1[i]
                s2 += x * w2[i]
                s3 += x * w3[i]
            sums[first, j] += s0
            sums[first + 1, j] += s1
            sums[first + 2, j] += s2
            sums[first + 3, j] += s3
        for outcome in range(n_whole, n_outcomes):
            w = weights[outcome]
            total = np.int64(0)
            for i in range(n_people):
                total += np.int64(row[i]) * w[i]
            sums[outcome, j] += total
