"""Compiled kernels that read dosages from the sample columns of a VCF line. Each is a pure function."""

import numpy as np

from dpgrs.genotypes.bits import WORD_BITS
from dpgrs.genotypes.compiled import compiled
from dpgrs.genotypes.dosages import STEPS_PER_ALLELE, nearest_planes

TAB, COLON, COMMA, DOT, ZERO, NINE, MINUS, PLUS, LOWER_E, UPPER_E = b"\t:,.09-+eE"
PIPE, SLASH = b"|/"
MISSING = -1
ALL_TAKEN = -1
HALF_ALLELE = STEPS_PER_ALLELE // 2
_ONE_ALLELE, _TWO_ALLELES = np.uint64(0b10), np.uint64(0b11)


def once_a_column(
    kernel,  # function of the text, the index of a subfield, and the arrays that it fills
    *axes,  # of the samples in each of these arrays
):
    """Return a function that runs a kernel as plain Python, and on each distinct column of a line once."""

    def plain(text, subfield, *filled):
        distinct = {}
        columns = [distinct.setdefault(column, len(distinct)) for column in text.tobytes().split(b"\t")]
        distinct_arrays = [
            np.empty_like(np.take(array, range(len(distinct)), axis=axis))
            for array, axis in zip(filled, axes, strict=True)
        ]
        bad = kernel(b"\t".join(distinct), subfield, *distinct_arrays)
        for array, distinct_array, axis in zip(filled, distinct_arrays, axes, strict=True):
            array[:] = np.take(distinct_array, columns, axis=axis)
        return bad if bad is None or bad == ALL_TAKEN else columns.index(bad)

    return plain


def plain_pack_dosages(steps, dosages, haplotypes, missing):
    """Do the same as `pack_dosages`, by numpy."""
    dosages[:] = np.maximum(steps, 0)
    haplotypes[:], missing[:] = nearest_planes(dosages, steps == MISSING)


@compiled
def find_subfield(text, at, subfield):
    """Return where a subfield of the sample at `at` begins, or -1 if it is left out."""
    while subfield and at < len(text) and text[at] != TAB:
        subfield -= text[at] == COLON
        at += 1
    return -1 if subfield else at


def _count_alleles(
    text,  # (n_bytes,) uint8, the sample columns of a line
    subfield,  # int, the index of GT among the subfields that FORMAT names
    copies,  # (n_samples,) int8, filled: 0 where a call is left out or a dot
):
    """Count the alleles of every sample's call."""
    at = 0
    for sample in range(len(copies)):
        begin = find_subfield(text, at, subfield)
        copies[sample] = 0
        if begin >= 0:
            at, n_more, is_dot = begin, 0, True
            while at < len(text) and text[at] != TAB and text[at] != COLON:
                n_more += at > begin and (text[at] == PIPE or text[at] == SLASH)
                is_dot &= text[at] == DOT or (at == begin and (text[at] == PIPE or text[at] == SLASH))
                at += 1
            copies[sample] = 0 if is_dot else n_more + 1
        while at < len(text) and text[at] != TAB:
            at += 1
        at += 1


@compiled
def read_number(text, at):
    """Read a decimal, with or without an exponent: its value, NaN for a dot, and the place after it.

    The value is -1 for anything else.
    """
    value, n_digits, n_dots, n_behind = 0.0, 0, 0, 0
    begin = at
    while at < len(text) and (ZERO <= text[at] <= NINE or text[at] == DOT):
        if text[at] == DOT:
            n_dots += 1
        else:
            value = 10 * value + (text[at] - ZERO)
            n_digits += 1
            n_behind += n_dots
        at += 1
    if n_digits == 0:
        return (np.nan if at - begin == 1 else -1.0), at
    tens, is_below = 0, False
    if at < len(text) and (text[at] == LOWER_E or text[at] == UPPER_E):
        at += 1
        if at < len(text) and (text[at] == MINUS or text[at] == PLUS):
            is_below = text[at] == MINUS
            at += 1
        first = at
        while at < len(text) and ZERO <= text[at] <= NINE:
            tens = min(10 * tens + (text[at] - ZERO), 400)
            at += 1
        if at == first:
            return -1.0, at
    # One division by a power of ten, which is exact up to 10^22, as Python's own numbers are read.
    scale, tens = 1.0, n_behind + (tens if is_below else -tens)
    for _ in range(abs(tens)):
        scale *= 10.0
    return (-1.0 if n_dots > 1 else value / scale if tens >= 0 else value * scale), at


def _read_numbers(
    text,  # (n_bytes,) uint8, the sample columns of a line
    subfield,  # int, its index among those that FORMAT names
    numbers,  # (n_samples, n_most) float64, filled, NaN where missing or left out
    counts,  # (n_samples,) int64, filled: how many there are; 0 for a single dot
):
    """Read one subfield of every sample: decimals or dots with commas between them.

    The result is the first sample with more of them or with one of another form, or `ALL_TAKEN`.
    """
    at = 0
    for sample in range(len(counts)):
        begin = find_subfield(text, at, subfield)
        numbers[sample], counts[sample] = np.nan, 0
        if begin >= 0:
            at, n = begin, 0
            while True:
                value, at = read_number(text, at)
                is_last = at == len(text) or text[at] == TAB or text[at] == COLON
                if n == numbers.shape[1] or value < 0 or not (is_last or text[at] == COMMA):
                    return sample
                numbers[sample, n] = value
                n += 1
                if is_last:
                    break
                at += 1
            counts[sample] = 0 if n == 1 and np.isnan(numbers[sample, 0]) else n
        while at < len(text) and text[at] != TAB:
            at += 1
        at += 1
    return ALL_TAKEN


@compiled(plain=plain_pack_dosages)
def pack_dosages(
    steps,  # (n_samples,) int, dosages in whole steps, or `MISSING`
    dosages,  # (n_samples,) uint16, filled, 0 where missing; here and below
    haplotypes,  # (n_words,) uint64
    missing,  # (n_words,) uint64
):
    """Write one row of dosages and of `dpgrs.genotypes.dosages.nearest_planes`."""
    haplotypes[:] = 0
    missing[:] = 0
    for sample in range(len(steps)):
        word, shift = divmod(2 * sample, WORD_BITS)
        step = steps[sample]
        dosages[sample] = max(step, 0)
        if step == MISSING:
            missing[word] |= _TWO_ALLELES << np.uint64(shift)
        elif step >= 3 * HALF_ALLELE:
            haplotypes[word] |= _TWO_ALLELES << np.uint64(shift)
        elif step >= HALF_ALLELE:
            haplotypes[word] |= _ONE_ALLELE << np.uint64(shift)


count_alleles = compiled(_count_alleles, plain=once_a_column(_count_alleles, 0))
read_numbers = compiled(_read_numbers, plain=once_a_column(_read_numbers, 0, 0))
