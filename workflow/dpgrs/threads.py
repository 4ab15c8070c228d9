"""Work in threads, for kernels that let go of the interpreter."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def map_in_threads(
    function: Callable[[Item], Answer],
    items: Iterable[Item],
    *,
    n_threads: int,  # >= 1
) -> list[Answer]:
    """Call a function with each item, and return the results in the order of the items.

    Examples
    --------
    >>> map_in_threads(abs, [-1, 2], n_threads=2)
    [1, 2]
    """
    if n_threads == 1:
        # To start a thread takes longer than a small item: audits sum up ten people thousands of times.
        return list(map(function, items))
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, items))
