"""The lines of one contig scanned in several threads: what `dpgrs.io.vcf.scan` gives, from blocks of lines.

A block of whole lines can be scanned without the blocks before it. Blocks are cut where lines end, not where
an index says so: a file without an index is read the same way, and a wrong index can do no harm to a cut.
"""

import itertools
import queue
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.vcf.scan import LineScanner
from dpgrs.io.vcf.text import LineSource


class ParallelScanner:
    """Reads the lines of one contig, and counts; see `dpgrs.io.vcf.scan.LineScanner`, also for options.

    The same threads inflate and scan. Rows, counts and errors are those of one thread; before an error there
    may be other batches.
    """

    def __init__(
        self,
        text: LineSource,
        *,
        n_threads: int,
        new_scanner: Callable[..., LineScanner] = LineScanner,
        **options: Any,
    ) -> None:
        self._text = text
        self._n_threads = n_threads
        self._n_samples = options["n_samples"]
        self._scanners = queue.SimpleQueue()
        for _ in range(n_threads):
            self._scanners.put(_BlockScanner(text, new_scanner, **options))
        self._names = {}
        self._n_lines = 0
        self.n_records = 0
        self.skipped = Counter()
        self.haploid_calls = self.calls_as_dosages = 0

    def rows(self, n_rows: int, **options: Any) -> Iterator[tuple[Any, ...]]:
        """Yield (columns, haplotypes, missing), perhaps with dosages, as `LineScanner.rows` does."""
        yield from _of_size(self._batches(n_rows, **options), n_rows)

    def _batches(self, n_rows: int, **options: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the batches of all blocks in file order, each of at most `n_rows`."""
        # Where a thread waits for one block, the others have the next ones.
        n_held = self._n_threads + 1
        pool = ThreadPoolExecutor(self._n_threads)
        blocks = self._text.blocks(n_threads=self._n_threads, n_held=n_held, pool=pool, **options)
        try:
            for block in _in_order(self._scans(pool, blocks, n_rows), n_held):
                self._count(block)
                yield from block.batches
                if block.is_over:
                    break
        finally:
            pool.shutdown(cancel_futures=True)
            blocks.close()
        self._text.require_complete(self._names, self.n_records)

    def _scans(
        self, pool: ThreadPoolExecutor, blocks: Iterable[tuple[np.ndarray, int, int]], n_rows: int
    ) -> Iterator[Future]:
        """Yield the future of each block; damage comes in file order like an error in a line."""
        try:
            for block in blocks:
                yield pool.submit(self._scan, block, n_rows)
        except DpgrsError as error:
            damage = Future()
            damage.set_exception(error)
            yield damage

    def _scan(self, block: tuple[np.ndarray, int, int], n_rows: int) -> "_Block":
        _, start, stop = block
        scanner = self._scanners.get()
        try:
            # Room for as many rows as there can be lines: a call has a byte or more, and one behind it.
            return scanner.scan(block, min(n_rows, (stop - start) // (2 * self._n_samples) + 1))
        finally:
            self._scanners.put(scanner)

    def _count(self, block: "_Block") -> None:
        if block.bad_line:
            number, line, problem = block.bad_line
            raise self._text.record_error(self._n_lines + number, line, problem)
        self._names.update(dict.fromkeys(block.names))
        self._n_lines += block.n_lines
        self.n_records += block.n_records
        self.skipped += block.skipped
        self.haploid_calls += block.haploid_calls
        self.calls_as_dosages += block.calls_as_dosages


class _Block(NamedTuple):
    """The rows and counts of one block of lines; `bad_line`, if there is one, ends it."""

    batches: list
    names: list[bytes]  # of contigs
    n_lines: int
    n_records: int
    skipped: Counter
    haploid_calls: int
    calls_as_dosages: int
    is_over: bool
    bad_line: tuple[int, bytes, object] | None


class _BlockScanner:
    """A scanner for one block after the other, which keeps what it has made ready for the lines."""

    def __init__(self, text: LineSource, new_scanner: Callable[..., LineScanner], **options: Any) -> None:
        self._feed = _Feed(text)
        self._scanner = new_scanner(self._feed, **options)

    def scan(self, block: tuple[np.ndarray, int, int], n_rows: int) -> _Block:
        """Return the `_Block` of a block of whole lines, its batches of at most `n_rows`."""
        scanner, feed = self._scanner, self._feed
        feed.block = block
        batches, bad_line = [], None
        try:
            batches.extend(scanner.rows(n_rows))
        except _BadLineError as error:
            bad_line = error.args
        return _Block(
            batches,
            feed.names,
            scanner.n_lines,
            scanner.n_records,
            scanner.skipped,
            scanner.haploid_calls,
            scanner.calls_as_dosages,
            scanner.is_over,
            bad_line,
        )


class _BadLineError(Exception):
    """The number of a line, counted by one scanner, the line, and what is wrong with it."""


class _Feed:
    """One block as a `LineSource`."""

    def __init__(self, text: LineSource) -> None:
        self.is_indexed = text.is_indexed
        self.has = text.has
        self.block = None
        self.names = []

    def blocks(self) -> Generator[tuple[np.ndarray, int, int], None, None]:
        yield self.block

    def record_error(self, number: int, line: bytes, problem: object) -> _BadLineError:
        return _BadLineError(number, line, problem)

    def require_complete(self, names: Iterable[bytes], n_records: int) -> None:
        self.names = list(names)


def _in_order(futures: Iterable[Future], n_held: int) -> Iterator[_Block]:
    """Yield the results in order, at most `n_held` of them under way."""
    pending = deque()
    for future in futures:
        pending.append(future)
        if len(pending) == n_held:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def _of_size(batches: Iterable[tuple[Any, ...]], n_rows: int) -> Iterator[tuple[Any, ...]]:
    """Cut and join batches of at most `n_rows` to batches of `n_rows` each but the last."""
    waiting, n = [], 0
    for batch in batches:
        waiting.append(batch)
        n += len(batch[1])
        if n >= n_rows:
            n_more = n - n_rows
            last, remainder = _split(waiting.pop(), len(batch[1]) - n_more)
            yield _joined([*waiting, last])
            waiting, n = [remainder] if n_more else [], n_more
    if waiting:
        yield _joined(waiting)


def _split(batch: tuple[Any, ...], row: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return _rows_of(batch, slice(row)), _rows_of(batch, slice(row, None))


def _rows_of(batch: tuple[Any, ...], rows: slice) -> tuple[Any, ...]:
    columns, *planes = batch
    return {name: values[rows] for name, values in columns.items()}, *(plane[rows] for plane in planes)


def _joined(batches: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    columns, *planes = zip(*batches, strict=True)
    values = {name: [batch[name] for batch in columns] for name in columns[0]}
    joined = {
        name: np.concatenate(lists) if name == "position" else list(itertools.chain.from_iterable(lists))
        for name, lists in values.items()
    }
    return joined, *map(np.concatenate, planes)
