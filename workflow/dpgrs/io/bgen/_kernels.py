"""Compiled kernels that take calls and dosages from the probabilities of one variant of a BGEN.

Each is a pure function. Probabilities are whole numbers of so many bits, which every machine adds alike.
"""

import numpy as np

from dpgrs.genotypes.compiled import compiled

ALL_TAKEN = -1
# A call, or the allele of a haplotype, is the one that is at least so likely, in tenths.
CERTAIN_TENTHS = 9
HAPLOID, DIPLOID = 1, 2
NO_ALLELE = -2
# Bytes behind the probabilities that a kernel may look at.
PADDING = 8

_MISSING_FLAG, _PLOIDY = 0x80, 0x3F
_CERTAIN = -(-CERTAIN_TENTHS * 255 // 10)  # of 8 bits


def plain_count_values(ploidy, n_alleles, is_phased):
    """Do the same as `count_values`, by numpy."""
    copies = ploidy & _PLOIDY
    if ((copies != HAPLOID) & (copies != DIPLOID)).any():
        return -1
    n_haploid = int(np.count_nonzero(copies == HAPLOID))
    of_two = 2 * (n_alleles - 1) if is_phased else n_alleles * (n_alleles + 1) // 2 - 1
    return n_haploid * (n_alleles - 1) + (len(ploidy) - n_haploid) * of_two


def plain_read_pairs(raw, n_samples, n_bits):
    """Return the two numbers of each sample of two copies of two alleles, (n_samples, 2) int64."""
    at = n_bits * np.arange(2 * n_samples)
    words = np.zeros(len(at), dtype=np.uint64)
    for k in range(1 if n_bits == 8 else 5):  # numbers of 8 bits have no bytes of padding behind them
        words |= raw[(at >> 3) + k].astype(np.uint64) << np.uint64(8 * k)
    numbers = (words >> (at & 7).astype(np.uint64)) & np.uint64(2**n_bits - 1)
    return numbers.astype(np.int64).reshape(-1, 2)


def plain_decode_calls(raw, ploidy, n_alleles, is_phased, n_bits, alleles):
    """Do the same as `decode_calls`, by numpy where all samples have two copies of two alleles."""
    if n_alleles != 2 or (ploidy & _PLOIDY != DIPLOID).any():
        return _decode_calls(raw, ploidy, n_alleles, is_phased, n_bits, alleles)
    numbers, largest = plain_read_pairs(raw, len(ploidy), n_bits), 2**n_bits - 1
    left = largest - numbers if is_phased else largest - numbers.sum(axis=1)
    is_missing = ploidy & _MISSING_FLAG != 0
    is_likely, is_left = 10 * numbers >= CERTAIN_TENTHS * largest, 10 * left >= CERTAIN_TENTHS * largest
    if is_phased:
        calls = np.where(is_left, 1, np.where(is_likely, 0, -1))
    else:
        if (is_bad := (left < 0) & ~is_missing).any():
            return int(is_bad.argmax())
        second = np.where(is_left | is_likely[:, 1], 1, np.where(is_likely[:, 0], 0, -1))
        calls = np.stack([np.where(is_left, 1, np.where(second == 1, 0, second)), second], axis=1)
    alleles[:] = np.where(is_missing[:, np.newaxis], -1, calls).ravel()
    return ALL_TAKEN


def plain_decode_dosages(raw, ploidy, n_alleles, is_phased, n_bits, allele, dosages):
    """Do the same as `decode_dosages`, by numpy where all samples have two copies of two alleles."""
    if n_alleles != 2 or (ploidy & _PLOIDY != DIPLOID).any():
        return _decode_dosages(raw, ploidy, n_alleles, is_phased, n_bits, allele, dosages)
    numbers, largest = plain_read_pairs(raw, len(ploidy), n_bits), 2**n_bits - 1
    is_missing = ploidy & _MISSING_FLAG != 0
    if (is_bad := ~is_missing & (not is_phased) & (numbers.sum(axis=1) > largest)).any():
        return int(is_bad.argmax())
    of_ref = numbers.sum(axis=1) if is_phased else 2 * numbers[:, 0] + numbers[:, 1]
    copies = of_ref if allele == 0 else 2 * largest - of_ref
    dosages[:] = np.where(is_missing, -1, copies / np.float64(largest))
    return ALL_TAKEN


@compiled
def read_bits(raw, at, n_bits):
    """Return the number of `n_bits` (1 to 32) that begins at bit `at`, the least bits first."""
    byte, shift = at >> 3, np.uint64(at & 7)
    if n_bits == 8 and shift == 0:
        return np.int64(raw[byte])
    word = np.uint64(0)
    for k in range(5):
        word |= np.uint64(raw[byte + k]) << np.uint64(8 * k)
    return np.int64((word >> shift) & ((np.uint64(1) << np.uint64(n_bits)) - np.uint64(1)))


@compiled(plain=plain_count_values)
def count_values(ploidy, n_alleles, is_phased):
    """Return how many probabilities all samples have in the file, or -1 where a ploidy is neither 1 nor 2."""
    n_values = 0
    for byte in ploidy:
        copies = byte & _PLOIDY
        if copies != HAPLOID and copies != DIPLOID:
            return -1
        if is_phased or copies == HAPLOID:
            n_values += copies * (n_alleles - 1)
        else:
            n_values += n_alleles * (n_alleles + 1) // 2 - 1
    return n_values


@compiled
def likely_choice(raw, at, n_bits, n_choices):
    """Return which of some choices is certain enough, or -1; the last one has what the others leave.

    -2 where they add up to more than 1.
    """
    largest = (np.int64(1) << n_bits) - 1
    left, certain_choice = largest, -1
    for choice in range(n_choices - 1):
        probability = read_bits(raw, at + choice * n_bits, n_bits)
        left -= probability
        if 10 * probability >= CERTAIN_TENTHS * largest:
            certain_choice = choice
    if left < 0:
        return -2
    return n_choices - 1 if 10 * left >= CERTAIN_TENTHS * largest else certain_choice


@compiled
def is_common(ploidy, n_alleles, n_bits):
    """Tell whether a variant has two alleles, 8 bits, and two copies in everybody, as most have."""
    return n_alleles == 2 and n_bits == 8 and np.all(ploidy & _PLOIDY == DIPLOID)


@compiled
def decode_common_calls(raw, ploidy, is_phased, alleles):
    """Do what `decode_calls` does where `is_common`."""
    for sample in range(len(ploidy)):
        first, second = np.int64(raw[2 * sample]), np.int64(raw[2 * sample + 1])
        left = 255 - first - second
        if ploidy[sample] & _MISSING_FLAG:
            first_allele = second_allele = -1
        elif is_phased:
            first_allele = 0 if first >= _CERTAIN else 1 if first <= 255 - _CERTAIN else -1
            second_allele = 0 if second >= _CERTAIN else 1 if second <= 255 - _CERTAIN else -1
        elif left < 0:
            return sample
        elif first >= _CERTAIN:
            first_allele = second_allele = 0
        elif second >= _CERTAIN:
            first_allele, second_allele = 0, 1
        else:
            first_allele = second_allele = 1 if left >= _CERTAIN else -1
        alleles[2 * sample], alleles[2 * sample + 1] = first_allele, second_allele
    return ALL_TAKEN


@compiled
def decode_common_dosages(raw, ploidy, is_phased, allele, dosages):
    """Do what `decode_dosages` does where `is_common`."""
    for sample in range(len(ploidy)):
        first, second = np.int64(raw[2 * sample]), np.int64(raw[2 * sample + 1])
        is_missing = ploidy[sample] & _MISSING_FLAG
        if not is_phased and first + second > 255 and not is_missing:
            return sample
        of_ref = first + second if is_phased else 2 * first + second
        copies = of_ref if allele == 0 else 510 - of_ref
        dosages[sample] = -1 if is_missing else copies / 255.0
    return ALL_TAKEN


def _decode_calls(
    raw,  # (n_bytes + PADDING,) uint8, the probabilities
    ploidy,  # (n_samples,) uint8, as in the file: copies, and a flag of what is missing
    n_alleles,
    is_phased,
    n_bits,
    alleles,  # (2 n_samples,) int, filled: -1 where missing, `NO_ALLELE` for the second of a call of one
):
    """Take the calls that are certain enough.

    The result is the place of the first sample whose probabilities add up to more than 1, or `ALL_TAKEN`.
    """
    if is_common(ploidy, n_alleles, n_bits):
        return decode_common_calls(raw, ploidy, is_phased, alleles)
    at = 0
    n_pairs = n_alleles * (n_alleles + 1) // 2
    for sample in range(len(ploidy)):
        copies, is_missing = ploidy[sample] & _PLOIDY, ploidy[sample] & _MISSING_FLAG
        column = 2 * sample
        alleles[column] = alleles[column + 1] = -1
        if is_phased or copies == HAPLOID:
            for copy in range(copies):
                choice = likely_choice(raw, at, n_bits, n_alleles)
                at += (n_alleles - 1) * n_bits
                if not is_missing:
                    if choice == -2:
                        return sample
                    alleles[column + copy] = choice
            if copies == HAPLOID and alleles[column] >= 0:
                alleles[column + 1] = NO_ALLELE
        else:
            choice = likely_choice(raw, at, n_bits, n_pairs)
            at += (n_pairs - 1) * n_bits
            if not is_missing:
                if choice == -2:
                    return sample
                if choice >= 0:
                    second = 0
                    while (second + 1) * (second + 2) // 2 <= choice:
                        second += 1
                    alleles[column], alleles[column + 1] = choice - second * (second + 1) // 2, second
    return ALL_TAKEN


@compiled
def expected_copies(raw, at, n_bits, n_alleles, allele, is_paired):
    """Return the sum of an allele's probabilities, times its copies, in units of the largest number.

    Of pairs of alleles, or of one; -1 where the probabilities add up to more than 1.
    """
    left = (np.int64(1) << n_bits) - 1
    copies, choice = np.int64(0), 0
    for second in range(n_alleles):
        for first in range(second + 1 if is_paired else 1):
            n_same = ((first == allele) + (second == allele)) if is_paired else (second == allele)
            is_last = second == n_alleles - 1 and (not is_paired or first == second)
            probability = left if is_last else read_bits(raw, at + choice * n_bits, n_bits)
            left -= 0 if is_last else probability
            copies += n_same * probability
            choice += 1
    return -1 if left < 0 else copies


def _decode_dosages(raw, ploidy, n_alleles, is_phased, n_bits, allele, dosages):
    """Take the expected copies of an allele; of a sample with one copy of the chromosome twice that.

    Parameters
    ----------
    raw, ploidy, n_alleles, is_phased, n_bits : see `decode_calls`.
    allele : int
    dosages : (n_samples,) float64, filled: from 0 to 2, -1 where missing.

    Returns
    -------
    int, see `decode_calls`.
    """
    if is_common(ploidy, n_alleles, n_bits):
        return decode_common_dosages(raw, ploidy, is_phased, allele, dosages)
    at, largest = 0, np.float64((np.int64(1) << n_bits) - 1)
    n_pairs = n_alleles * (n_alleles + 1) // 2
    for sample in range(len(ploidy)):
        copies, is_missing = ploidy[sample] & _PLOIDY, ploidy[sample] & _MISSING_FLAG
        total = np.int64(0)
        if is_phased or copies == HAPLOID:
            for _ in range(copies):
                expected = expected_copies(raw, at, n_bits, n_alleles, allele, False)
                at += (n_alleles - 1) * n_bits
                if expected < 0 and not is_missing:
                    return sample
                total += expected
            if copies == HAPLOID:
                total *= 2
        else:
            total = expected_copies(raw, at, n_bits, n_alleles, allele, True)
            at += (n_pairs - 1) * n_bits
            if total < 0 and not is_missing:
                return sample
        dosages[sample] = -1 if is_missing else total / largest
    return ALL_TAKEN


decode_calls = compiled(_decode_calls, plain=plain_decode_calls)
decode_dosages = compiled(_decode_dosages, plain=plain_decode_dosages)
