"""Compiled kernels that pack calls into bits. Each is a pure function of its arrays."""

import numpy as np

from dpgrs.genotypes.bits import WORD_BITS, pack
from dpgrs.genotypes.compiled import compiled

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
