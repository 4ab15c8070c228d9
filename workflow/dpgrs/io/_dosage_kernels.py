"""Compiled kernels that read dosages from the sample columns of a VCF line. Each is a pure function."""

import numpy as np

from dpgrs.genotypes.bits import WORD_BITS
from dpgrs.genotypes.compiled import compiled
from dpgrs.genotypes.dosages import STEPS_PER_ALLELE, nearest_planes

TAB, COLON, COMMA, DOT, ZERO, ONE, NINE, MINUS, PLUS, LOWER_E, UPPER_E = b"\t:,.019-+eE"
PIPE, SLASH = b"|/"
MISSING, ODD = -1, -2
# Up to nine digits, whatever the exponent, no decimal lies halfway between two steps; down to 10^-9 all
# products stay within int64.
MAX_DIGITS = 9
ALL_TAKEN = -1
HALF_ALLELE = STEPS_PER_ALLELE // 2
_ONE_ALLELE, _TWO_ALLELES = np.uint64(0b10), np.uint64(0b11)


def once_a_column(
    kernel,  # function of the text, the place of a subfield, and the arrays that it fills
    *axes,  # of the samples in each of these arrays
):
    """Return a function that runs a kernel as plain Python, and on each distinct column of a line once."""

    def plain(text, place, *filled):
        distinct = {}
        columns = [distinct.setdefault(column, len(distinct)) for column in text.tobytes().split(b"\t")]
        distinct_arrays = [
            np.empty_like(np.take(array, range(len(distinct)), axis=axis))
            for array, axis in zip(filled, axes, strict=True)
        ]
        bad = kernel(b"\t".join(distinct), place, *distinct_arrays)
        for array, distinct_array, axis in zip(filled, distinct_arrays, axes, strict=True):
            array[:] = np.take(distinct_array, columns, axis=axis)
        return bad if bad is None or bad == ALL_TAKEN else columns.index(bad)

    return plain


def plain_pack_dosages(steps, dosages, haplotypes, missing):
    """Do the same as `pack_dosages`, by numpy."""
    dosages[:] = np.maximum(steps, 0)
    haplotypes[:], missing[:] = nearest_planes(dosages, steps == MISSING)


@compiled
def read_tens(text, at):
    """Read the exponent of a small number, such as ``-05``: the power of ten to divide by, or `ODD`."""
    if at + 1 >= len(text) or text[at] != MINUS:
        return ODD, at
    at += 1
    if text[at] == ZERO and at + 1 < len(text):
        at += 1
    if not ONE <= text[at] <= NINE or (at + 1 < len(text) and ZERO <= text[at + 1] <= NINE):
        return ODD, at
    tens = np.int64(1)
    for _ in range(text[at] - ZERO):
        tens *= 10
    return tens, at + 1


@compiled
def read_decimal(text, at):
    """Read a decimal of at most nine digits from 0 to 2, with or without an exponent from -9 to -1.

    Returns
    -------
    step : int, rounded to whole steps; `MISSING` for a single dot, `ODD` for anything else.
    at : int, the place after it.
    """
    number, scale, n_digits, n_dots = np.int64(0), np.int64(1), 0, 0
    while at < len(text) and (ZERO <= text[at] <= NINE or text[at] == DOT):
        if text[at] == DOT:
            n_dots += 1
        elif n_digits == MAX_DIGITS:
            return ODD, at
        else:
            number = 10 * number + (np.int64(text[at]) - ZERO)
            scale *= 10 if n_dots else 1
            n_digits += 1
        at += 1
    if n_digits == 0 and n_dots == 1:
        return MISSING, at
    if at < len(text) and (text[at] == LOWER_E or text[at] == UPPER_E):
        tens, at = read_tens(text, at + 1)
        if tens == ODD:
            return ODD, at
        scale *= tens
    if n_digits == 0 or n_dots > 1 or number > 2 * scale:
        return ODD, at
    return (2 * STEPS_PER_ALLELE * number + scale) // (2 * scale), at


@compiled
def find_subfield(text, at, place):
    """Return where a subfield of the sample at `at` begins, or -1 if it is left out."""
    while place and at < len(text) and text[at] != TAB:
        place -= text[at] == COLON
        at += 1
    return -1 if place else at


def _decode_dosages(
    text,  # (n_bytes,) uint8, the sample columns of a line
    place,  # int, of the subfield among those that FORMAT names
    steps,  # (n_alts, n_samples) int32, filled: dosages in whole steps, or `MISSING`
    is_pair,  # (n_samples,) bool, filled: whether the first subfield has a call of two digits, as of GT
):
    """Read one subfield of every sample: a decimal for each ALT, or a dot.

    The result is the place of the first sample whose subfield has another form, or `ALL_TAKEN`.
    """
    n_alts, n_samples = steps.shape
    at = 0
    for sample in range(n_samples):
        is_pair[sample] = (
            at + 3 < len(text)
            and text[at + 3] == COLON
            and (text[at + 1] == PIPE or text[at + 1] == SLASH)
            and ZERO <= text[at] <= NINE
            and ZERO <= text[at + 2] <= NINE
        )
        begin = find_subfield(text, at, place)
        steps[:, sample] = MISSING
        if begin >= 0:
            at = begin
            for alt in range(n_alts):
                step, at = read_decimal(text, at)
                is_last = at == len(text) or text[at] == TAB or text[at] == COLON
                if step == ODD or not (is_last or text[at] == COMMA):
                    return sample
                steps[alt, sample] = step
                if is_last:
                    # One dot stands for all.
                    if alt + 1 < n_alts and not (alt == 0 and step == MISSING):
                        return sample
                    break
                if alt + 1 == n_alts:
                    return sample
                at += 1
        while at < len(text) and text[at] != TAB:
            at += 1
        at += 1
    return ALL_TAKEN


def _count_alleles(
    text,  # (n_bytes,) uint8, the sample columns of a line
    place,  # int, of GT among the subfields that FORMAT names
    copies,  # (n_samples,) int8, filled: 0 where a call is left out or a dot
):
    """Count the alleles of every sample's call."""
    at = 0
    for sample in range(len(copies)):
        begin = find_subfield(text, at, place)
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
    text,  # see `decode_dosages`
    place,  # see `decode_dosages`
    numbers,  # (n_samples, n_most) float64, filled, NaN where missing or left out
    counts,  # (n_samples,) int64, filled: how many there are; 0 for a single dot
):
    """Read one subfield of every sample: decimals or dots with commas between them.

    The result is the first sample with more of them or with one of another form, or `ALL_TAKEN`.
    """
    at = 0
    for sample in range(len(counts)):
        begin = find_subfield(text, at, place)
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


decode_dosages = compiled(_decode_dosages, plain=once_a_column(_decode_dosages, 1, 0))
count_alleles = compiled(_count_alleles, plain=once_a_column(_count_alleles, 0))
read_numbers = compiled(_read_numbers, plain=once_a_column(_read_numbers, 0, 0))
