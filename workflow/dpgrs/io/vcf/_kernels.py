"""Compiled kernels that read VCF lines from raw bytes. Each is a pure function of its arrays.

They never read outside ``text[start:stop]``, and leave to the caller every line that they do not take whole.
"""

import numpy as np

from dpgrs.genotypes.bits import WORD_BITS, pack
from dpgrs.genotypes.compiled import compiled

TAB, NEWLINE, RETURN, SEMICOLON = b"\t\n\r;"
COLON, DOT, SLASH, PIPE, ZERO, NINE = b":./|09"
_LOWER_CASE = 32
PASS = np.frombuffer(b"PASS", dtype=np.uint8)
PROVISIONAL = np.frombuffer(b"PR", dtype=np.uint8)  # an allele REF that may not be that of the genome

# Why `scan_lines` stopped.
AT_END, IS_FULL, AT_ODD_LINE = range(3)

N_FIXED_COLUMNS = 9
MAX_POSITION = 2**31 - 1
MAX_DIGITS = 4

CALL_BYTES = 4
# A call `a|b` and its tab are four bytes, two calls a word; 16 such words make one word of 64 alleles.
_WORDS_PER_WORD = 16
_ALL_REFERENCE = np.frombuffer(b"0|0\t0|0\t", dtype="<u8")[0]
_LOW_BITS = np.uint64(0x0001_0001_0001_0001)
_MUST_AGREE = np.uint64(0xFFFE_FFFE_FFFE_FFFE)
_SEPARATORS = np.uint64(0xFF00_FF00_FF00_FF00)
_HIGH_OF_ALLELES = np.uint64(0x00E0_00E0_00E0_00E0)
_MIDDLE_OF_ALLELES = np.uint64(0x000E_000E_000E_000E)
_PAIRS = np.uint64(0x0000_0003_0000_0003)
_NIBBLE = np.uint64(0xF)
_ONE, _FOUR, _FIFTEEN, _THIRTY = (np.uint64(shift) for shift in (1, 4, 15, 30))

# Bytes in which numpy looks for the end of a line.
_BYTES_AT_A_TIME = 2**14


def plain_line_end(text, start, stop):
    """Do the same as `line_end`, by numpy."""
    for at in range(start, stop, _BYTES_AT_A_TIME):
        is_newline = text[at : min(at + _BYTES_AT_A_TIME, stop)] == NEWLINE
        offset = int(is_newline.argmax())
        if is_newline[offset]:
            return at + offset
    return stop


def plain_decode_calls(text, start, stop, n_subfields, n_alts, is_phase_required, alleles):
    """Do the same as `decode_calls`, by numpy: of two alleles of one digit, and -1 for all other calls."""
    text = text[start:stop]
    tabs, colons = np.flatnonzero(text == TAB), np.flatnonzero(text == COLON)
    starts, ends = np.append(0, tabs + 1), np.append(tabs, len(text))
    if len(starts) != len(alleles) // 2 or (ends - starts < CALL_BYTES - 1).any():
        return -1
    if len(colons):
        is_odd = ((text <= 32) & (text != TAB)) | (text >= 127)
        after = np.append(text, TAB)[colons + 1]
        n_colons = np.searchsorted(colons, ends) - np.searchsorted(colons, starts)
        if is_odd.any() or ((after == TAB) | (after == COLON)).any() or (n_colons >= n_subfields).any():
            return -1
    end_of_call = np.append(text, TAB)[starts + CALL_BYTES - 1]
    digits, separator = np.stack([text[starts], text[starts + 2]]), text[starts + 1]
    is_common = ((separator == PIPE) | (separator == SLASH)) & ((end_of_call == TAB) | (end_of_call == COLON))
    is_number = (digits >= ZERO) & (digits <= NINE)
    numbers = np.where(is_number, digits.astype(np.int32) - ZERO, -1)
    if not (is_common.all() and (is_number | (digits == DOT)).all()) or numbers.max() > n_alts:
        return -1
    if is_phase_required:
        is_mixed = (separator == SLASH) & (numbers[0] != numbers[1])
        if (numbers.min(axis=0)[is_mixed] >= 0).any():
            return -1
        numbers[:, is_mixed] = -1
    alleles[:] = numbers.T.ravel()
    return 0


def plain_pack_allele(alleles, number, haplotypes, missing):
    """Do the same as `pack_allele`, by numpy."""
    haplotypes[:], missing[:] = pack(alleles == number), pack(alleles < 0)


@compiled
def pack_words(
    scratch,  # (16 n_words,) uint64, the calls with a tab after each, filled up with ``0|0``
    haplotypes,  # (n_words,) uint64, where the bits go; changed even if the calls are of another form
):
    """Pack calls that are all ``0|0``, ``0|1``, ``1|0`` or ``1|1``.

    The result is whether the calls have that form.
    """
    bad = np.uint64(0)
    for w in range(len(haplotypes)):
        word = np.uint64(0)
        shift = np.uint64(0)
        for i in range(_WORDS_PER_WORD * w, _WORDS_PER_WORD * (w + 1)):
            calls = scratch[i]
            bad |= calls ^ _ALL_REFERENCE
            bits = calls & _LOW_BITS
            bits = (bits | (bits >> _FIFTEEN)) & _PAIRS
            bits = (bits | (bits >> _THIRTY)) & _NIBBLE
            word |= bits << shift
            shift += _FOUR
        haplotypes[w] = word
    return bad & _MUST_AGREE == 0


@compiled
def pack_words_with_dots(scratch, haplotypes, missing):
    """Pack calls of ``0``, ``1`` and ``.``, all phased; see `pack_words`."""
    bad = np.uint64(0)
    for w in range(len(haplotypes)):
        word, dots = np.uint64(0), np.uint64(0)
        shift = np.uint64(0)
        for i in range(_WORDS_PER_WORD * w, _WORDS_PER_WORD * (w + 1)):
            # Against `0`, a `1` differs only in bit 0 and a `.` only in bits 1 to 4.
            calls = scratch[i] ^ _ALL_REFERENCE
            bad |= calls & (_SEPARATORS | _HIGH_OF_ALLELES)
            bad |= (calls ^ (calls >> _ONE)) & _MIDDLE_OF_ALLELES
            bad |= calls & (calls >> _ONE) & _LOW_BITS
            bits = calls & _LOW_BITS
            bits = (bits | (bits >> _FIFTEEN)) & _PAIRS
            bits = (bits | (bits >> _THIRTY)) & _NIBBLE
            word |= bits << shift
            bits = (calls >> _ONE) & _LOW_BITS
            bits = (bits | (bits >> _FIFTEEN)) & _PAIRS
            bits = (bits | (bits >> _THIRTY)) & _NIBBLE
            dots |= bits << shift
            shift += _FOUR
        haplotypes[w] = word
        missing[w] = dots
    return bad == 0


@compiled(plain=plain_pack_allele)
def pack_allele(
    alleles,  # (n_haplotypes,) int32
    number,  # int, at least 1
    haplotypes,  # (n_words,) uint64, where the bits go
    missing,  # likewise
):
    """Pack which alleles are the one of a number, and which are unknown (-1)."""
    for w in range(len(haplotypes)):
        word, dots = np.uint64(0), np.uint64(0)
        bit = _ONE
        for allele in alleles[WORD_BITS * w : WORD_BITS * (w + 1)]:
            if allele == number:
                word |= bit
            elif allele < 0:
                dots |= bit
            bit <<= _ONE
        haplotypes[w] = word
        missing[w] = dots


@compiled(plain=plain_line_end)
def line_end(text, start, stop):
    """Return where the line ends: the place of its newline, or `stop`."""
    at = start
    while at + 64 <= stop:  # a fixed count of bytes without a way out is done with vectors
        n_newlines = 0
        for byte in text[at : at + 64]:
            n_newlines += byte == NEWLINE
        if n_newlines:
            break
        at += 64
    while at < stop and text[at] != NEWLINE:
        at += 1
    return at


@compiled
def is_at(text, start, stop, word):
    """Tell whether ``text[start:stop]`` begins with a word."""
    if stop - start < len(word):
        return False
    for i in range(len(word)):  # noqa: SIM110
        if text[start + i] != word[i]:
            return False
    return True


@compiled
def is_letters(text, start, stop):
    """Tell whether ``text[start:stop]`` is one letter of English or more."""
    for byte in text[start:stop]:
        if not (65 <= byte <= 90 or 97 <= byte <= 122):
            return False
    return stop > start


@compiled
def parse_position(text, start, stop):
    """Return the number in ``text[start:stop]``, or 0 if it is none from 1 to 2^31 - 1."""
    if not 1 <= stop - start <= 10:
        return 0
    position = 0
    for byte in text[start:stop]:
        if not ZERO <= byte <= NINE:
            return 0
        position = 10 * position + (np.int64(byte) - ZERO)
    return position if position <= MAX_POSITION else 0


@compiled(plain=plain_decode_calls)
def decode_calls(
    text,  # (n,) uint8; ``text[start:stop]`` are the sample columns
    start,
    stop,
    n_subfields,  # int, those that FORMAT names; the first is GT
    n_alts,  # int, ALT alleles of the record
    is_phase_required,  # bool, see `dpgrs.io.vcf.vcf.ContigReader`
    alleles,  # (n_haplotypes,) int32, where the allele numbers go, -1 where unknown
):
    """Decode calls of any number of digits, phased or not, of one allele or two, with or without subfields.

    The result is the number of haploid calls; -1 for calls that another reader must decide on.
    """
    at, n_haploid, n_samples = start, 0, len(alleles) // 2
    for sample in range(n_samples):
        separator = text[at + 1] if at + 2 < stop else TAB
        is_short = separator in (PIPE, SLASH)
        if is_short and (at + 3 == stop or text[at + 3] == TAB or text[at + 3] == COLON):
            first, second = _digit(text[at]), _digit(text[at + 2])
            at += 3
        else:
            prefix = text[at] if at < stop else TAB  # VCF 4.4 may state the phase of the first allele
            first, at = _allele(text, at + 1 if prefix in (PIPE, SLASH) else at, stop)
            separator = text[at] if at < stop else TAB
            if separator in (PIPE, SLASH):
                second, at = _allele(text, at + 1, stop)
                separator = SLASH if prefix == SLASH else separator
            elif first >= 0:
                n_haploid += 1
                separator = PIPE
                second = -1 if is_phase_required else first
            else:
                second = first
        if min(first, second) == -2 or max(first, second) > n_alts:
            return -1
        if is_phase_required and separator == SLASH and first != second:
            if min(first, second) >= 0:
                return -1
            first, second = -1, -1
        if at < stop and text[at] != TAB:
            at = _after_subfields(text, at, stop, n_subfields)
        is_last = sample == n_samples - 1
        if at < 0 or (at == stop) != is_last:
            return -1
        at += 1
        alleles[2 * sample] = first
        alleles[2 * sample + 1] = second
    return n_haploid


@compiled
def _digit(byte):
    """Return an allele number of one digit, -1 for a dot, -2 for anything else."""
    if ZERO <= byte <= NINE:
        return np.int64(byte) - ZERO
    return -1 if byte == DOT else -2


@compiled
def _allele(text, at, stop):
    """Return an allele number (-1 for a dot, -2 for anything else) and where it ends."""
    if at < stop and text[at] == DOT:
        return -1, at + 1
    first, number = at, 0
    while at < stop and at - first < MAX_DIGITS and ZERO <= text[at] <= NINE:
        number = 10 * number + (np.int64(text[at]) - ZERO)
        at += 1
    return number if at > first else -2, at


@compiled
def _after_subfields(text, at, stop, n_subfields):
    """Return where the column ends that has its GT before `at`, or -1 if something is odd about it."""
    n_colons = 0
    while at < stop and text[at] != TAB:
        byte = text[at]
        if byte == COLON:
            n_colons += 1
            if at + 1 == stop or text[at + 1] == COLON or text[at + 1] == TAB:
                return -1
        elif n_colons == 0 or byte <= 32 or byte >= 127:
            return -1
        at += 1
    return at if n_colons < n_subfields else -1


@compiled
def scan_lines(
    text,  # (n,) uint8; ``text[start:stop]`` begins where a line begins and ends where a line ends
    start,
    stop,
    contig,  # uint8 array, the column CHROM of the line before
    format_,  # uint8 array, its column FORMAT
    n_subfields,  # int, those that `format_` names; the first is GT
    is_wanted,  # bool, whether `contig` is the one to be read
    is_filter_kept,  # bool, whether FILTER does not matter
    is_phase_required,  # bool, see `dpgrs.io.vcf.vcf.ContigReader`
    is_known_ref,  # likewise
    n_samples,
    scratch,  # (128 n_words,) uint8, for use in between, filled with ``0|0`` and tabs
    alleles,  # (2 n_samples,) int32, for use in between
    haplotypes,  # (n_rows, n_words) uint64, where the bits go; missing comes as zeros
    missing,  # likewise
    sites,  # (n_rows, 3) int64, where position, begin of the column ID and end of the column ALT go
):
    """Take lines as long as they have the common form, one row a line.

    The common form: the contig and FORMAT of the line before, one ALT of letters that is not REF, and calls
    that `decode_calls` can decode. Lines of another contig with the right number of columns are passed over.

    The results are `at`, where the first line begins that was not taken; `row`, rows taken; `n_lines`, lines
    taken or passed over; `n_haploid`, haploid calls of the rows; `reason`, `AT_END`, `IS_FULL` or
    `AT_ODD_LINE`.
    """
    at, row, n_lines, n_haploid = start, 0, 0, 0
    tabs = np.empty(N_FIXED_COLUMNS, dtype=np.int64)
    words = scratch.view(np.uint64)
    is_gt_alone = n_subfields == 1
    n_call_bytes = CALL_BYTES * n_samples - 1
    while at < stop:
        if row == len(haplotypes):
            return at, row, n_lines, n_haploid, IS_FULL
        is_same = is_at(text, at, stop, contig) and at + len(contig) < stop
        if not is_same or text[at + len(contig)] != TAB:
            break
        if not is_wanted:
            end = line_end(text, at, stop)
            n_tabs = 0
            for byte in text[at:end]:
                n_tabs += byte == TAB
            if n_tabs != N_FIXED_COLUMNS + n_samples - 1:
                break
            at = end + 1
            n_lines += 1
            continue
        if not _find_tabs(text, at, stop, tabs):
            break
        position = parse_position(text, tabs[0] + 1, tabs[1])
        if position == 0 or not is_letters(text, tabs[2] + 1, tabs[3]):
            break
        if not is_letters(text, tabs[3] + 1, tabs[4]) or _is_same_allele(text, tabs[2] + 1, tabs[3], tabs[4]):
            break
        if is_known_ref and _is_provisional(text, tabs[6] + 1, tabs[7]):
            break
        if not is_filter_kept and not _is_passed(text, tabs[5] + 1, tabs[6]):
            break
        if tabs[8] - tabs[7] - 1 != len(format_) or not is_at(text, tabs[7] + 1, tabs[8], format_):
            break
        first = tabs[8] + 1
        end = first + n_call_bytes
        is_taken = False
        if is_gt_alone and end <= stop and _is_end(text, end, stop):
            _copy(text[first:end], scratch)
            is_taken = pack_words(words, haplotypes[row])
            if not is_taken:
                is_taken = pack_words_with_dots(words, haplotypes[row], missing[row])
                if not is_taken:
                    missing[row] = 0
        if not is_taken:
            end = line_end(text, first, stop)
            last = end
            while last > first and text[last - 1] == RETURN:
                last -= 1
            n = decode_calls(text, first, last, n_subfields, 1, is_phase_required, alleles)
            if n < 0:
                break
            n_haploid += n
            pack_allele(alleles, 1, haplotypes[row], missing[row])
        elif end < stop and text[end] == RETURN:
            end += 1
        sites[row, 0] = position
        sites[row, 1] = tabs[1] + 1
        sites[row, 2] = tabs[4]
        row += 1
        n_lines += 1
        at = end + 1
    return at, row, n_lines, n_haploid, AT_END if at >= stop else AT_ODD_LINE


@compiled
def _copy(source, target):
    """Copy bytes; over a whole array the compiler does it with vectors."""
    for i in range(len(source)):
        target[i] = source[i]


@compiled
def _find_tabs(text, start, stop, tabs):
    """Write where the first tabs of the line are; return whether it has enough of them."""
    n = 0
    for i in range(start, stop):
        if text[i] == TAB:
            tabs[n] = i
            n += 1
            if n == len(tabs):
                return True
        elif text[i] == NEWLINE:
            return False
    return False


@compiled
def _is_same_allele(text, start, tab, stop):
    """Tell whether ``text[start:tab]`` and ``text[tab + 1:stop]`` are the same letters of either case."""
    n = tab - start
    if stop - tab - 1 != n:
        return False
    for i in range(n):  # noqa: SIM110
        if text[start + i] | _LOWER_CASE != text[tab + 1 + i] | _LOWER_CASE:
            return False
    return True


@compiled
def _is_provisional(text, start, stop):
    """Tell whether INFO in ``text[start:stop]`` has the flag `PROVISIONAL`."""
    begin = start
    for at in range(start, stop + 1):
        if at == stop or text[at] == SEMICOLON:
            if at - begin == len(PROVISIONAL) and is_at(text, begin, at, PROVISIONAL):
                return True
            begin = at + 1
    return False


@compiled
def _is_passed(text, start, stop):
    is_dot = stop - start == 1 and text[start] == DOT
    return is_dot or (stop - start == len(PASS) and is_at(text, start, stop, PASS))


@compiled
def _is_end(text, at, stop):
    """Tell whether a line ends here, with a newline, with a return and a newline, or with the text."""
    if at == stop or text[at] == NEWLINE:
        return True
    return text[at] == RETURN and at + 1 < stop and text[at + 1] == NEWLINE
