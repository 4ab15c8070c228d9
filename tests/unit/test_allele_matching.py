"""Which allele an effect is of, against a table of all pairs; and what lies where, against a loop."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgrs.io.allele_matching import Places, is_ambiguous, is_letters, match_alleles, match_pairs

STRAND = {"A": "T", "C": "G", "G": "C", "T": "A"}


@pytest.mark.parametrize(("ref", "alt"), [pair for pair in product("ACGT", repeat=2) if len(set(pair)) == 2])
def test_match_alleles__is_the_table_of_single_letters(ref, alt):
    """By the letters first; on the other strand only where the letters are of no allele."""
    table = {(alt, ref): (1, False), (ref, alt): (-1, False)}
    for (effect, other), (sign, _) in list(table.items()):
        table.setdefault((STRAND[effect], STRAND[other]), (sign, True))
    for effect, other in product("ACGT", repeat=2):
        assert match_alleles(effect, other, ref, alt) == table.get((effect, other), (0, False))
    assert is_ambiguous(ref, alt) == (STRAND[ref] == alt)
    assert is_ambiguous(ref, alt) == (len(table) == 2)


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (("C", ""), (1, False)),
        (("A", ""), (-1, False)),
        (("G", ""), (0, False)),
    ],
)
def test_match_alleles__a_single_allele_tells_no_strand(told, found):
    assert match_alleles(*told, "A", "C") == found


def test_match_alleles__of_many_letters():
    assert match_alleles("AC", "GT", "GT", "AC") == (1, False)
    assert match_alleles("GA", "CC", "GG", "TC") == (1, True)
    # An insertion begins at another base on the other strand.
    assert match_alleles("TG", "T", "A", "CA") == (0, False)
    assert match_alleles("AT", "A", "A", "AT") == (1, False)
    assert is_ambiguous("AC", "GT")
    assert not is_ambiguous("AC", "TG")


def test_match_pairs__of_none_are_none():
    signs, is_flipped = match_pairs([], [], [], [])
    assert (signs.shape, is_flipped.shape) == ((0,), (0,))
    signs, is_flipped = match_pairs(["G", "A"], ["T", "G"], ["A", "A"], ["C", "C"])
    assert (signs.tolist(), is_flipped.tolist()) == ([1, 0], [True, False])


def test_is_letters__takes_four():
    assert [is_letters(text) for text in ("ACGT", "A", "", "N", "a", "<DEL>")] == [True, True] + [False] * 4


_places = st.lists(st.tuples(st.sampled_from(["1", "2", "X"]), st.integers(1, 5)), max_size=30)


@given(_places, _places)
def test_places__pairs_are_those_of_a_loop(there, asked):
    contigs, positions = zip(*there, strict=True) if there else ((), ())
    other, at = zip(*asked, strict=True) if asked else ((), ())
    found = Places(np.array(contigs, object), np.array(positions, np.int64)).pairs(
        np.array(other, object), np.array(at, np.int64)
    )
    wanted = [(i, j) for i, one in enumerate(asked) for j, own in enumerate(there) if one == own]
    assert sorted(zip(*map(list, found), strict=True)) == wanted
