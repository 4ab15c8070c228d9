"""Compiled kernels that pack calls of listed variants into bits. Each is a pure function of its arrays."""

import numpy as np

from dpgrs.genotypes.bits import EVEN_BITS, PEOPLE_OF_WORD, pack
from dpgrs.genotypes.compiled import compiled
from dpgrs.genotypes.dosages import DTYPE, STEPS_PER_ALLELE, dosage_steps, nearest_planes

NO_ALLELE = -2
_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)
_HALF_ALLELE = STEPS_PER_ALLELE // 2

# The counts of eight people fill a word, of which two bits of each byte are brought together in three steps.
_COUNTS_OF_WORD = PEOPLE_OF_WORD // 8
_BYTES = np.uint64(0x0101_0101_0101_0101)
_SIX, _SEVEN, _TWELVE, _SIXTEEN, _TWENTY_FOUR = (np.uint64(shift) for shift in (6, 7, 12, 16, 24))
_FOUR_BITS, _EIGHT_BITS = np.uint64(0x000F_000F_000F_000F), np.uint64(0x0000_00FF_0000_00FF)
_SIXTEEN_BITS = np.uint64(0xFFFF)


def plain_pack_calls(alleles, is_phased, records, numbers, counted, needs_phase, haplotypes, missing):
    """Do the same as `pack_calls`, by numpy."""
    first, second = alleles[:, ::2], alleles[:, 1::2]
    is_haploid = (first >= 0) & (second == NO_ALLELE)
    rows = np.flatnonzero((records != counted) & np.append(True, records[1:] != records[:-1])[: len(records)])
    n_haploid = int(np.count_nonzero(is_haploid[records[rows]]))
    second = np.where(is_haploid, -1 if needs_phase else first, second)
    if needs_phase:
        is_mixed = (first != second) & ~is_phased & ~is_haploid
        is_bad = is_mixed & (first >= 0) & (second >= 0)
        if is_bad[records].any():
            return *map(int, np.argwhere(is_bad[records])[0]), n_haploid
        first, second = np.where(is_mixed, -1, first), np.where(is_mixed, -1, second)
    settled = np.stack([first, second], axis=2).reshape(len(alleles), -1)[records]
    haplotypes[:], missing[:] = pack(settled == numbers[:, np.newaxis]), pack(settled < 0)
    return -1, -1, n_haploid


@compiled(plain=plain_pack_calls)
def pack_calls(
    alleles,  # (n_records, 2 n_samples) int, below 0 where missing, `NO_ALLELE` second in a haploid call
    is_phased,  # (n_records, n_samples) bool, whether the order of a call's alleles is known
    records,  # (n_rows,) int, the record of each row
    numbers,  # (n_rows,) int, the number of its allele
    counted,  # int, the record whose calls of one allele were counted before, or -1
    needs_phase,
    haplotypes,  # (n_rows, n_words) uint64, filled
    missing,  # (n_rows, n_words) uint64, filled
):
    """Pack the calls of an allele of a record into each row, by the rules of `dpgrs.io.vcf.vcf.ContigReader`.

    The results are `row`, `sample`, the first call that is heterozygous without phase where that is needed,
    or -1 twice; `n_haploid`, calls of one allele.
    """
    n_samples, n_haploid = is_phased.shape[1], 0
    for row in range(len(records)):
        record, number = records[row], numbers[row]
        is_counted = record != counted and (row == 0 or record != records[row - 1])
        for word in range(haplotypes.shape[1]):
            bits, dots = np.uint64(0), np.uint64(0)
            first = word * PEOPLE_OF_WORD
            for sample in range(first, min(first + PEOPLE_OF_WORD, n_samples)):
                first_allele, second_allele = alleles[record, 2 * sample], alleles[record, 2 * sample + 1]
                if first_allele != second_allele:
                    if first_allele >= 0 and second_allele == NO_ALLELE:
                        n_haploid += is_counted
                        second_allele = -1 if needs_phase else first_allele
                    elif needs_phase and not is_phased[record, sample]:
                        if first_allele >= 0 and second_allele >= 0:
                            return row, sample, n_haploid
                        first_allele = second_allele = -1
                shift = np.uint64(2 * (sample - first))
                bits |= (_ONE if first_allele == number else np.uint64(0)) << shift
                bits |= (_TWO if second_allele == number else np.uint64(0)) << shift
                dots |= (_ONE if first_allele < 0 else np.uint64(0)) << shift
                dots |= (_TWO if second_allele < 0 else np.uint64(0)) << shift
            haplotypes[row, word], missing[row, word] = bits, dots
    return -1, -1, n_haploid


def plain_pack_counts(counts, haplotypes, missing):
    """Do the same as `pack_counts`, by numpy."""
    by_person = counts.view(np.int8)
    haplotypes[:] = pack(np.stack([by_person == 2, by_person >= 1], axis=2).reshape(len(counts), -1))
    missing[:] = pack(np.repeat(by_person < 0, 2, axis=1))


@compiled(plain=plain_pack_counts)
def pack_counts(
    # (n_rows, 4 n_words) uint64, of int8 counts: 0, 1, 2, or below 0 if missing. People who fill up the last
    # word have 0
    counts,
    haplotypes,  # (n_rows, n_words) uint64, filled
    missing,  # (n_rows, n_words) uint64, filled
):
    """Pack counts of ALT, one byte a person; a heterozygote has ALT second."""
    for row in range(haplotypes.shape[0]):
        for word in range(haplotypes.shape[1]):
            bits, dots = np.uint64(0), np.uint64(0)
            for group in range(_COUNTS_OF_WORD):
                eight = counts[row, _COUNTS_OF_WORD * word + group]
                unknown = (eight >> _SEVEN) & _BYTES
                twice = (eight >> _ONE) & _BYTES & ~unknown
                pairs = twice | (((eight & _BYTES & ~unknown) | twice) << _ONE)
                pairs = (pairs | (pairs >> _SIX)) & _FOUR_BITS
                pairs = (pairs | (pairs >> _TWELVE)) & _EIGHT_BITS
                pairs = (pairs | (pairs >> _TWENTY_FOUR)) & _SIXTEEN_BITS
                gaps = unknown | (unknown << _ONE)
                gaps = (gaps | (gaps >> _SIX)) & _FOUR_BITS
                gaps = (gaps | (gaps >> _TWELVE)) & _EIGHT_BITS
                gaps = (gaps | (gaps >> _TWENTY_FOUR)) & _SIXTEEN_BITS
                bits |= pairs << (_SIXTEEN * np.uint64(group))
                dots |= gaps << (_SIXTEEN * np.uint64(group))
            haplotypes[row, word], missing[row, word] = bits, dots


def plain_pack_codes(codes, haplotypes, missing):
    """Do the same as `pack_codes`, by numpy."""
    low, high = codes & EVEN_BITS, (codes >> _ONE) & EVEN_BITS
    haplotypes[:] = (~(low | high) & EVEN_BITS) | ((~low & EVEN_BITS) << _ONE)
    missing[:] = (low & ~high) * _THREE


@compiled(plain=plain_pack_codes)
def pack_codes(
    # (n_rows, n_words) uint64, the two-bit codes of a `.bed`: 00 is two copies of ALT, 10 one, 11 none, and
    # 01 is missing. People who fill up the last word have 11
    codes,
    haplotypes,  # (n_rows, n_words) uint64, filled
    missing,  # (n_rows, n_words) uint64, filled
):
    """Pack the codes of a `.bed`; a heterozygote has ALT second."""
    for row in range(haplotypes.shape[0]):
        for word in range(haplotypes.shape[1]):
            low, high = codes[row, word] & EVEN_BITS, (codes[row, word] >> _ONE) & EVEN_BITS
            haplotypes[row, word] = (~(low | high) & EVEN_BITS) | ((~low & EVEN_BITS) << _ONE)
            missing[row, word] = (low & ~high) * _THREE


def plain_pack_dosages(dosages, steps, haplotypes, missing):
    """Do the same as `pack_dosages`, by numpy."""
    is_missing = dosages < 0
    steps[:] = dosage_steps(np.where(is_missing, 0, dosages))
    haplotypes[:], missing[:] = nearest_planes(steps, is_missing)


@compiled(plain=plain_pack_dosages)
def pack_dosages(
    dosages,  # (n_rows, n_people) float, from 0 to 2, or below 0 if missing
    steps,  # (n_rows, n_people) uint16, filled, 0 where missing
    haplotypes,  # (n_rows, n_words) uint64, filled
    missing,  # (n_rows, n_words) uint64, filled
):
    """Round dosages to the public grid, and pack their `dpgrs.genotypes.dosages.nearest_planes`."""
    n_people = dosages.shape[1]
    for row in range(dosages.shape[0]):
        for word in range(haplotypes.shape[1]):
            bits, dots, shift = np.uint64(0), np.uint64(0), np.uint64(0)
            first = word * PEOPLE_OF_WORD
            for person in range(first, min(first + PEOPLE_OF_WORD, n_people)):
                dosage = np.float64(dosages[row, person])
                is_missing = dosage < 0
                step = np.int64(0 if is_missing else np.rint(dosage * STEPS_PER_ALLELE))
                steps[row, person] = DTYPE(step)
                # The second allele of a person is set from half an allele on, the first from one and a half.
                pair = np.uint64(step >= 3 * _HALF_ALLELE) | (np.uint64(step >= _HALF_ALLELE) << _ONE)
                bits |= pair << shift
                dots |= (_THREE if is_missing else np.uint64(0)) << shift
                shift += _TWO
            haplotypes[row, word], missing[row, word] = bits, dots
