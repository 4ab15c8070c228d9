"""Work in threads, for kernels that let go of the interpreter."""

from concurrent.futures import ThreadPoolExecutor


def map_in_threads(function, items, *, n_threads):
    """Call a function with each item.

    Parameters
    ----------
    function : function (item) -> any
    items : iterable
    n_threads : int, at least 1.

    Returns
    -------
    list of what the function returned, in the order of the items.

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
