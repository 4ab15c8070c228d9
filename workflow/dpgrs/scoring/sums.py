"""Sums of what copies of effect alleles add over a target, block by block."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.io._call_kernels import HALF_ALT, HALF_REF
from dpgrs.io.target import MISSING_STEPS, Piece
from dpgrs.scoring._kernels import count_calls, fill_calls, fill_steps
from dpgrs.scoring.matching import NO_CALLS, Matching, is_no_letters

if TYPE_CHECKING:
    from dpgrs.scoring.score_files import SharedSites

# People whose dosages one thread holds, and rows that are multiplied together. Neither depends on the
# number of threads, which therefore changes no result.
PEOPLE_AT_A_TIME, ROWS_AT_A_TIME, CALLS_AT_A_TIME = 512, 1024, 2**26


class _SecondCopies(NamedTuple):
    """The variants of a block whose second copy adds other than the first."""

    row: np.ndarray  # (n_pairs,) rows of the block, of one variant after the other
    sign: np.ndarray  # (n_pairs,) of these rows for the variants
    start: np.ndarray  # (n_variants,) the first pair of each
    weights: np.ndarray  # (n_variants, n_outcomes) float64, see `SharedSites.second`

    def copies(self, calls: np.ndarray, dosages: np.ndarray) -> np.ndarray:
        """Return the expected second copies of effect alleles, (n_variants, n_people) float64."""
        dosages = self.sign[:, np.newaxis] * dosages[self.row]
        copies = np.add.reduceat(dosages, self.start) + 2 * (self.sign[self.start] < 0)[:, np.newaxis]
        is_missing = np.logical_or.reduceat(_is_missing(calls[self.row]), self.start)
        # Both alleles of a missing call are filled by the frequency p: two copies have the chance p^2.
        return np.where(is_missing, (copies / 2) ** 2, np.maximum(copies - 1, 0))


class ScoreSums:
    """Raw sums of all scores of all people, and how they were made.

    Variants of the matching are those of `shared`; variants without calls are noted there. The number of
    threads changes no result. After `add_all`, `sums` are (n_outcomes, n_people) float64, in the order of the
    outcomes of `shared`; `own_frequency`, (n_variants,) bool, marks variants whose missing calls were filled
    by the target's own frequency; and `n_missing` is the number of filled alleles.
    """

    def __init__(
        self, matching: Matching, shared: "Sequence[SharedSites]", *, n_people: int, n_threads: int
    ) -> None:
        self._matching, self._shared, self._n_threads = matching, shared, n_threads
        ends = np.cumsum([0] + [len(scores.outcomes) for scores in shared])
        self._columns = [slice(*pair) for pair in pairwise(ends)]
        self._orders = [np.argsort(scores.rows, kind="stable") for scores in shared]
        self.sums = np.zeros((ends[-1], n_people))
        self.own_frequency = np.zeros(len(matching.sites), dtype=bool)
        self.n_missing = 0
        self._constants = np.zeros(ends[-1])

    def add_all(self, pieces: Iterable[Piece]) -> None:
        """Match all pieces of a target, and add their variants: the next is read while one is multiplied."""
        slices = range(0, self.sums.shape[1], PEOPLE_AT_A_TIME)
        with ThreadPoolExecutor(self._n_threads) as pool:
            before = []
            for block in self._blocks(pieces):
                for multiplied in before:
                    multiplied.result()
                before = [pool.submit(self._multiply, *block, first) for first in slices]
            for multiplied in before:
                multiplied.result()
        self.sums += self._constants[:, np.newaxis]

    def _blocks(self, pieces: Iterable[Piece]) -> Iterator[tuple[Any, ...]]:
        n_rows = max(min(ROWS_AT_A_TIME, CALLS_AT_A_TIME // self.sums.shape[1]), 1)
        for piece in pieces:
            pairs, record = self._matching.match(piece.columns), _records_of(piece.columns)
            order = np.argsort(pairs.row, kind="stable")
            variant, row, sign = (values[order] for values in (pairs.variant, pairs.row, pairs.sign))
            # No variant of the scores is cut: its pairs lie in rows of one place.
            ends = _whole_ends(row, piece.columns["position"], n_rows)
            for start, stop in pairwise(ends):
                in_block = slice(start, stop)
                rows, local = np.unique(row[in_block], return_inverse=True)
                is_symbol = is_no_letters(piece.columns["alt"][rows])
                yield self._block(
                    piece.calls(rows), record[rows], is_symbol, variant[in_block], local, sign[in_block]
                )

    def _block(
        self,
        calls: np.ndarray,
        record: np.ndarray,
        is_symbol: np.ndarray,
        variant: np.ndarray,
        row: np.ndarray,
        sign: np.ndarray,
    ) -> tuple[Any, ...]:
        """Return calls, ALT frequencies, (n_rows, n_outcomes) weights and second copies; note constants."""
        frequency, n_known, alleles = self._frequencies(calls, is_symbol, variant, row, sign)
        is_called = (n_known > 0) | ~np.isnan(frequency)
        lost = np.unique(variant[~is_called[row]])
        if len(lost):
            self._matching.status[lost] = NO_CALLS
            is_kept = ~np.isin(variant, lost)
            variant, row, sign = variant[is_kept], row[is_kept], sign[is_kept]
        # Of several ALTs of a record, those of one.
        self.n_missing += int((alleles - n_known)[np.unique(record, return_index=True)[1]].sum())
        W = np.zeros((len(calls), len(self.sums)))
        of_ref = np.unique(variant[sign < 0])
        for scores, order, columns in zip(self._shared, self._orders, self._columns, strict=True):
            list_rows, variant_index = _rows_of(variant, scores.rows, order)
            np.add.at(
                W[:, columns], row[variant_index], sign[variant_index, np.newaxis] * scores.weights[list_rows]
            )
            list_rows, _ = _rows_of(of_ref, scores.rows, order)
            self._constants[columns] += 2 * scores.weights[list_rows].sum(axis=0)
            if scores.none is not None:
                list_rows, _ = _rows_of(np.unique(variant), scores.rows, order)
                self._constants[columns] += scores.none[list_rows].sum(axis=0)
        return calls, np.nan_to_num(frequency), W, self._second_copies(variant, row, sign)

    def _second_copies(self, variant: np.ndarray, row: np.ndarray, sign: np.ndarray) -> _SecondCopies | None:
        """Return the `_SecondCopies` of pairs, None if every copy adds the same."""
        if all(scores.second is None for scores in self._shared) or not len(variant):
            return None
        order = np.argsort(variant, kind="stable")
        variant, row, sign = variant[order], row[order], sign[order]
        unique, start = np.unique(variant, return_index=True)
        weights = np.zeros((len(unique), len(self.sums)))
        for scores, order, columns in zip(self._shared, self._orders, self._columns, strict=True):
            if scores.second is not None:
                list_rows, variant_index = _rows_of(unique, scores.rows, order)
                np.add.at(weights[:, columns], variant_index, scores.second[list_rows])
        used = weights.any(axis=1)
        if not used.any():
            return None
        n_pairs = np.diff(np.append(start, len(variant)))
        is_used = np.repeat(used, n_pairs)
        start = np.cumsum(n_pairs[used]) - n_pairs[used]
        return _SecondCopies(row[is_used], sign[is_used], start, weights[used])

    def _frequencies(
        self, calls: np.ndarray, is_symbol: np.ndarray, variant: np.ndarray, row: np.ndarray, sign: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the frequency of ALT that fills a row, known alleles and all alleles, (n_rows,) each."""
        n_known, copies = np.empty(len(calls), dtype=np.int64), np.empty(len(calls), dtype=np.int64)
        if calls.dtype == np.int8:
            count_calls(calls, n_known, copies)
        else:
            is_known = calls != MISSING_STEPS
            n_known = 2 * is_known.sum(axis=1)
            copies = DOSAGE_STEP * np.where(is_known, calls, 0).sum(axis=1)
        frequency = np.full(len(calls), np.nan)
        public = self._matching.sites.frequency[variant]
        # The frequency of REF says too little about a row among several ALTs. An ALT that is no letters adds
        # 0: the row of letters has all that REF leaves.
        number = np.unique(variant, return_inverse=True)[1]
        n_rows = np.bincount(number, weights=~is_symbol[row])
        is_public = ~np.isnan(public) & (n_rows[number] == 1)
        of_alt = np.where(sign[is_public] > 0, public[is_public], 1 - public[is_public])
        frequency[row[is_public]] = np.where(is_symbol[row[is_public]], 0, of_alt)
        alleles = np.full(len(calls), 2 * calls.shape[1])
        is_own = np.isnan(frequency) & (n_known > 0)
        frequency[is_own] = copies[is_own] / n_known[is_own]
        is_filled = is_own & (n_known < alleles)
        self.own_frequency[variant[is_filled[row]]] = True
        return frequency, n_known, alleles

    def _multiply(
        self,
        calls: np.ndarray,
        frequency: np.ndarray,
        W: np.ndarray,
        second: _SecondCopies | None,
        first: int,
    ) -> None:
        n_some = min(PEOPLE_AT_A_TIME, self.sums.shape[1] - first)
        dosages = np.empty((len(calls), n_some))
        if calls.dtype == np.int8:
            fill_calls(calls, frequency, first, dosages)
        else:
            fill_steps(calls, frequency, first, MISSING_STEPS, DOSAGE_STEP, dosages)
        block_people = slice(first, first + n_some)
        self.sums[:, block_people] += W.T @ dosages
        if second is not None:
            self.sums[:, block_people] += second.weights.T @ second.copies(calls[:, block_people], dosages)


def expected_sums(
    shared: "Sequence[SharedSites]", frequency: np.ndarray, is_used: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what variants that are not in the sums add on average, and how many have no known frequency.

    The frequency, (n_variants,) float64, is that of effect alleles, NaN if not known; `is_used`,
    (n_variants,) bool, marks variants in the sums. Results are (n_outcomes,) float64 and int64.
    """
    shift, n_unknown = [], []
    for scores in shared:
        left_out = np.flatnonzero(~is_used[scores.rows])
        public = frequency[scores.rows[left_out]]
        none, first, second = (
            np.zeros((len(left_out), len(scores.outcomes))) if values is None else values[left_out]
            for values in (scores.none, scores.weights, scores.second)
        )
        is_public, p = ~np.isnan(public), np.nan_to_num(public)
        shift.append(is_public @ none + 2 * p @ first + p**2 @ second)
        weighs = (none != 0) | (first != 0) | (second != 0)
        n_unknown.append((~is_public[:, np.newaxis] & weighs).sum(axis=0))
    return np.concatenate(shift), np.concatenate(n_unknown)


def _is_missing(calls: np.ndarray) -> np.ndarray:
    """Return which calls lack both alleles, of the same shape."""
    if calls.dtype == np.int8:
        return (calls < 0) & (calls != HALF_REF) & (calls != HALF_ALT)
    return calls == MISSING_STEPS


def _records_of(columns: dict[str, Any]) -> np.ndarray:
    """Return the numbers of the records of a piece, by position and REF, (n_rows,) int64."""
    names = ("contig", "position", "ref")
    is_new = np.any([columns[name][1:] != columns[name][:-1] for name in names], axis=0)
    return np.concatenate([[0], np.cumsum(is_new)])


def _rows_of(variant: np.ndarray, rows: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a list that hold variants, and the indices of these among the variants."""
    first, last = (np.searchsorted(rows, variant, side=side, sorter=order) for side in ("left", "right"))
    index = np.repeat(np.arange(len(variant)), last - first)
    offset = np.arange(len(index)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    return order[first[index] + offset], index


def _whole_ends(row: np.ndarray, position: np.ndarray, n_rows: int) -> list[int]:
    """Cut pairs, whose rows ascend, into blocks of about `n_rows`, none within a position; return their
    ends."""
    if not len(row):
        return [0]
    at = position[row]
    ends = np.append(np.flatnonzero(at[1:] != at[:-1]) + 1, len(row))
    cuts = [0]
    while cuts[-1] < len(row):
        index = np.searchsorted(ends, cuts[-1] + n_rows, side="right") - 1
        cut = (
            ends[index]
            if index >= 0 and ends[index] > cuts[-1]
            else ends[np.searchsorted(ends, cuts[-1], "right")]
        )
        cuts.append(int(cut))
    return cuts
