"""All ids of a large table against all its values, timed by `pytest --benchmark-enable`.

Both sides read the same file in one thread and take turns, so that a busy machine slows both; time is that of
the processor. That the ids are the same is always compared; the ratios are asserted only when benchmarks are
enabled. Values of a sample take as long as those of a small table.
"""

import time

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.tables.phenotypes import outcome_chunks
from dpgrs.io.tables.table_samples import outcome_people

AIM = {"y.tsv": 8, "y.parquet": 3}
N_ROUNDS = 3
PEOPLE, OUTCOMES, FEW = 20_000, 200, 50


def seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


@pytest.mark.parametrize("name", AIM)
def test_ids__faster_than_all_values(request, capsys, tmp_path, name):
    is_timed = request.config.getoption("--benchmark-enable")
    n_people, path = PEOPLE if is_timed else FEW, tmp_path / name
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((n_people, OUTCOMES)).round(5))
    table = table.rename(columns=str).set_axis([f"P{number:07}" for number in range(n_people)])
    if name.endswith(".parquet"):
        table.rename_axis("sample").to_parquet(path)
    else:
        table.to_csv(path, sep="\t", index_label="sample")

    def all_values():
        return [name for part in outcome_chunks(path) for name in part.index]

    assert outcome_people(path) == all_values() == list(table.index)
    if not is_timed:
        return
    timings = [(seconds(all_values), seconds(lambda: outcome_people(path))) for _ in range(N_ROUNDS)]
    slow, fast = np.array(timings).min(axis=0)
    with capsys.disabled():
        print(f"\n{name}: all values {slow:.3f} s, all ids {fast:.4f} s, ratio {slow / fast:.1f}")
    assert slow / fast >= AIM[name]
