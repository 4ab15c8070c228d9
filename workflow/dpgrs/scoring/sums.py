"""Sums of what copies of effect alleles add over a target, block by block."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.io._call_kernels import HALF_ALT, HALF_REF
from dpgrs.io.target import MISSING_STEPS
from dpgrs.scoring._kernels import count_calls, fill_calls, fill_steps
from dpgrs.scoring.matching import NO_CALLS, is_no_letters

# Of dosages that one thread has at a time, and of rows that are multiplied together. Neither hangs on the
# number of threads, so that this changes no result.
PEOPLE_AT_A_TIME, ROWS_AT_A_TIME, CALLS_AT_A_TIME = 512, 1024, 2**26


class _SecondCopies(NamedTuple):
    """Of a block, the variants whose second copy adds other than the first.

    Attributes
    ----------
    row, sign : (n_pairs,) pairs of such a variant and a row of the block, of one variant after the other.
    start : (n_variants,) the first pair of each.
    weights : (n_variants, n_outcomes) float64, see `SharedSites.second`.
    """

    row: np.ndarray
    sign: np.ndarray
    start: np.ndarray
    weights: np.ndarray

    def copies(self, calls, dosages):
        """Return the expected second copies of effect alleles, (n_variants, n_people) float64."""
        dosages = self.sign[:, np.newaxis] * dosages[self.row]
        copies = np.add.reduceat(dosages, self.start) + 2 * (self.sign[self.start] < 0)[:, np.newaxis]
        is_missing = np.logical_or.reduceat(_is_missing(calls[self.row]), self.start)
        # Of a missing call both alleles are filled by the frequency p: two copies have the chance p^2.
        return np.where(is_missing, (copies / 2) ** 2, np.maximum(copies - 1, 0))


class ScoreSums:
    """Raw sums of all scores of all people, and what they were made of.

    Parameters
    ----------
    matching : Matching, whose variants are those of `shared`; variants without calls are noted there.
    shared : list of SharedSites
    n_people : int
    n_threads : int; it changes no result.

    Attributes
    ----------
    sums : (n_outcomes, n_people) float64, in the order of the outcomes of `shared`.
    own_frequency : (n_variants,) bool, whose missing calls were filled by the target's own frequency.
    n_missing : int, alleles that were filled.
    """

    def __init__(self, matching, shared, *, n_people, n_threads):
        self._matching, self._shared, self._n_threads = matching, shared, n_threads
        ends = np.cumsum([0] + [len(one.outcomes) for one in shared])
        self._columns = [slice(*pair) for pair in pairwise(ends)]
        self._orders = [np.argsort(one.rows, kind="stable") for one in shared]
        self.sums = np.zeros((ends[-1], n_people))
        self.own_frequency = np.zeros(len(matching.sites), dtype=bool)
        self.n_missing = 0
        self._constants = np.zeros(ends[-1])

    def add_all(self, pieces):
        """Match all pieces of a target, and add what matches: the next is read while one is multiplied."""
        slices = range(0, self.sums.shape[1], PEOPLE_AT_A_TIME)
        with ThreadPoolExecutor(self._n_threads) as pool:
            before = []
            for block in self._blocks(pieces):
                for one in before:
                    one.result()
                before = [pool.submit(self._multiply, *block, first) for first in slices]
            for one in before:
                one.result()
        self.sums += self._constants[:, np.newaxis]

    def _blocks(self, pieces):
        n_rows = max(min(ROWS_AT_A_TIME, CALLS_AT_A_TIME // self.sums.shape[1]), 1)
        for piece in pieces:
            found, record = self._matching.match(piece.columns), _records_of(piece.columns)
            order = np.argsort(found.row, kind="stable")
            variant, row, sign = (values[order] for values in (found.variant, found.row, found.sign))
            # No variant of the scores is cut: its pairs lie in rows of one place.
            ends = _whole_ends(row, piece.columns["position"], n_rows)
            for start, stop in pairwise(ends):
                own = slice(start, stop)
                rows, local = np.unique(row[own], return_inverse=True)
                is_symbol = is_no_letters(piece.columns["alt"][rows])
                yield self._block(piece.calls(rows), record[rows], is_symbol, variant[own], local, sign[own])

    def _block(self, calls, record, is_symbol, variant, row, sign):
        """Return calls, ALT frequencies, (n_rows, n_outcomes) weights and second copies; note constants."""
        frequency, known, alleles = self._frequencies(calls, is_symbol, variant, row, sign)
        is_called = (known > 0) | ~np.isnan(frequency)
        lost = np.unique(variant[~is_called[row]])
        if len(lost):
            self._matching.status[lost] = NO_CALLS
            kept = ~np.isin(variant, lost)
            variant, row, sign = variant[kept], row[kept], sign[kept]
        # Of several ALTs of a record, those of one.
        self.n_missing += int((alleles - known)[np.unique(record, return_index=True)[1]].sum())
        W = np.zeros((len(calls), len(self.sums)))
        of_ref = np.unique(variant[sign < 0])
        for one, order, columns in zip(self._shared, self._orders, self._columns, strict=True):
            mine, place = _rows_of(variant, one.rows, order)
            np.add.at(W[:, columns], row[place], sign[place, np.newaxis] * one.weights[mine])
            mine, _ = _rows_of(of_ref, one.rows, order)
            self._constants[columns] += 2 * one.weights[mine].sum(axis=0)
            if one.none is not None:
                mine, _ = _rows_of(np.unique(variant), one.rows, order)
                self._constants[columns] += one.none[mine].sum(axis=0)
        return calls, np.nan_to_num(frequency), W, self._second_copies(variant, row, sign)

    def _second_copies(self, variant, row, sign):
        """Return the `_SecondCopies` of pairs, None if every copy adds the same."""
        if all(one.second is None for one in self._shared) or not len(variant):
            return None
        order = np.argsort(variant, kind="stable")
        variant, row, sign = variant[order], row[order], sign[order]
        unique, start = np.unique(variant, return_index=True)
        weights = np.zeros((len(unique), len(self.sums)))
        for one, order, columns in zip(self._shared, self._orders, self._columns, strict=True):
            if one.second is not None:
                mine, place = _rows_of(unique, one.rows, order)
                np.add.at(weights[:, columns], place, one.second[mine])
        used = weights.any(axis=1)
        if not used.any():
            return None
        n_pairs = np.diff(np.append(start, len(variant)))
        kept = np.repeat(used, n_pairs)
        start = np.cumsum(n_pairs[used]) - n_pairs[used]
        return _SecondCopies(row[kept], sign[kept], start, weights[used])

    def _frequencies(self, calls, is_symbol, variant, row, sign):
        """Return the frequency of ALT that fills a row, known alleles and all alleles, (n_rows,) each."""
        known, copies = np.empty(len(calls), dtype=np.int64), np.empty(len(calls), dtype=np.int64)
        if calls.dtype == np.int8:
            count_calls(calls, known, copies)
        else:
            is_known = calls != MISSING_STEPS
            known = 2 * is_known.sum(axis=1)
            copies = DOSAGE_STEP * np.where(is_known, calls, 0).sum(axis=1)
        frequency = np.full(len(calls), np.nan)
        public = self._matching.sites.frequency[variant]
        # Of a row among several ALTs the frequency of REF tells too little. An ALT that is no letters adds 0:
        # the row of letters has all that REF leaves.
        place = np.unique(variant, return_inverse=True)[1]
        n_rows = np.bincount(place, weights=~is_symbol[row])
        is_told = ~np.isnan(public) & (n_rows[place] == 1)
        of_alt = np.where(sign[is_told] > 0, public[is_told], 1 - public[is_told])
        frequency[row[is_told]] = np.where(is_symbol[row[is_told]], 0, of_alt)
        alleles = np.full(len(calls), 2 * calls.shape[1])
        is_own = np.isnan(frequency) & (known > 0)
        frequency[is_own] = copies[is_own] / known[is_own]
        is_filled = is_own & (known < alleles)
        self.own_frequency[variant[is_filled[row]]] = True
        return frequency, known, alleles

    def _multiply(self, calls, frequency, W, second, first):
        n_some = min(PEOPLE_AT_A_TIME, self.sums.shape[1] - first)
        dosages = np.empty((len(calls), n_some))
        if calls.dtype == np.int8:
            fill_calls(calls, frequency, first, dosages)
        else:
            fill_steps(calls, frequency, first, MISSING_STEPS, DOSAGE_STEP, dosages)
        own = slice(first, first + n_some)
        self.sums[:, own] += W.T @ dosages
        if second is not None:
            self.sums[:, own] += second.weights.T @ second.copies(calls[:, own], dosages)


def expected_sums(shared, frequency, is_used):
    """Return what variants that are not in the sums add on average, and how many have no known frequency.

    Parameters
    ----------
    shared : list of SharedSites
    frequency : (n_variants,) float64, of effect alleles, NaN where it is not known.
    is_used : (n_variants,) bool, which variants are in the sums.

    Returns
    -------
    shift : (n_outcomes,) float64
    n_unknown : (n_outcomes,) int64
    """
    shift, n_unknown = [], []
    for one in shared:
        left_out = np.flatnonzero(~is_used[one.rows])
        public = frequency[one.rows[left_out]]
        none, first, second = (
            np.zeros((len(left_out), len(one.outcomes))) if values is None else values[left_out]
            for values in (one.none, one.weights, one.second)
        )
        is_told, p = ~np.isnan(public), np.nan_to_num(public)
        shift.append(is_told @ none + 2 * p @ first + p**2 @ second)
        weighs = (none != 0) | (first != 0) | (second != 0)
        n_unknown.append((~is_told[:, np.newaxis] & weighs).sum(axis=0))
    return np.concatenate(shift), np.concatenate(n_unknown)


def _is_missing(calls):
    """Tell which calls lack both alleles, of the same shape."""
    if calls.dtype == np.int8:
        return (calls < 0) & (calls != HALF_REF) & (calls != HALF_ALT)
    return calls == MISSING_STEPS


def _records_of(columns):
    """Number the records of a piece by place and REF, (n_rows,) int64."""
    names = ("contig", "position", "ref")
    is_new = np.any([columns[name][1:] != columns[name][:-1] for name in names], axis=0)
    return np.concatenate([[0], np.cumsum(is_new)])


def _rows_of(variant, rows, order):
    """Return the rows of a list that hold variants, and the places of these among the variants."""
    first, last = (np.searchsorted(rows, variant, side=side, sorter=order) for side in ("left", "right"))
    place = np.repeat(np.arange(len(variant)), last - first)
    offset = np.arange(len(place)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    return order[first[place] + offset], place


def _whole_ends(row, position, n_rows):
    """Cut pairs, whose rows ascend, into blocks of about `n_rows`, none within a place; return their ends."""
    if not len(row):
        return [0]
    at = position[row]
    ends = np.append(np.flatnonzero(at[1:] != at[:-1]) + 1, len(row))
    cuts = [0]
    while cuts[-1] < len(row):
        place = np.searchsorted(ends, cuts[-1] + n_rows, side="right") - 1
        cut = (
            ends[place]
            if place >= 0 and ends[place] > cuts[-1]
            else ends[np.searchsorted(ends, cuts[-1], "right")]
        )
        cuts.append(int(cut))
    return cuts
