import threading
import time

import pytest

from dpgrs.threads import map_in_threads


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_map_in_threads__keeps_the_order_and_raises_what_is_raised(n_threads):
    def later_is_faster(seconds):
        time.sleep(seconds)
        return seconds

    waits = [0.02, 0.01, 0.0]
    assert map_in_threads(later_is_faster, iter(waits), n_threads=n_threads) == waits
    with pytest.raises(ZeroDivisionError):
        map_in_threads(lambda item: 1 / item, [1, 0], n_threads=n_threads)


def test_map_in_threads__one_thread_is_the_callers():
    names = [set(map_in_threads(lambda _: threading.get_ident(), range(9), n_threads=n)) for n in (1, 3)]
    assert names[0] == {threading.get_ident()}
    assert threading.get_ident() not in names[1]
