"""Files of a bundle of a million variants, timed by `pytest --benchmark-enable`.

They are written in turn with pyarrow and isal, which write the same table as they would by themselves, with
exponents, and bytes that depend on the processor; and read as by `dpgrs release verify` in turn with how
`dpgrs score` reads them. Both sides use one thread, so that a busy machine slows both. That the numbers are
the same is always compared; ratios are asserted only when benchmarks are enabled.
"""

import gzip
import io
import os
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from isal import igzip

from bundle_tables import many_scores
from dpgrs.release.marginal_effects import marginal_effects
from dpgrs.release.pgs_catalog import write_scoring_file
from dpgrs.release.plain_tables import write_table
from dpgrs.release.statistics_files import ReleasedStatistics, effect_columns
from dpgrs.scoring.score_files import list_scores, read_scores
from dpgrs.verify.scoring_check import column_numbers, read_scoring_file
from measured_processes import run

WRITE_AIM, READ_AIM, MEMORY_AIM = 3, 1.5, 400e6
LARGE, SMALL, N_ROUNDS = 10**6, 300, 3
TEXTS = {"pgs_id": "x", "citation": "x", "license_text": "x"}

READER = """
from dpgrs.verify.scoring_check import read_scoring_file
import pathlib, sys
file = read_scoring_file(pathlib.Path(sys.argv[1]))
assert not file.problems, file.problems
"""


def seconds(work, *arguments):
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


def write_plain(path, table):
    with path.open("wb") as raw, igzip.IGzipFile("", "wb", fileobj=raw, mtime=0) as file:
        pyarrow.csv.write_csv(table, file, pyarrow.csv.WriteOptions(delimiter="\t", quoting_style="none"))


def scoring_file(scores, path):
    """Return what writes a scoring file, and its table."""
    table, rows = scores.rows(0)
    numbers = {"effect_weight": scores.weights[0, rows], "allelefrequency_effect": scores.frequency[rows]}
    return lambda: write_scoring_file(path, scores, 0, **TEXTS), table.assign(**numbers)


def effects_file(scores, path):
    """Return what writes the effects of single variants on an outcome, and their table."""
    rng, sizes = np.random.default_rng(2), np.ones(1)
    frequency = scores.frequency[scores.all_rows["row"]]
    arrays = {"cross": rng.normal(0, 1000, (1, len(frequency))), "frequency": frequency}
    arrays |= {"slopes": 0.99 * sizes, "squares": 0.98 * sizes}
    effects = marginal_effects(arrays, n=500_000, rows="people", cross_sd=1000 * sizes)
    statistics = ReleasedStatistics(arrays, effects, scores.all_rows)

    def write():
        columns = effect_columns(statistics, 0)
        write_table(path, columns, columns.values())

    return write, pd.DataFrame(effect_columns(statistics, 0))


@pytest.mark.parametrize("kind", [scoring_file, effects_file])
def test_writing__at_most_three_times_pyarrow_and_isal(kind, tmp_path, request, capsys):
    is_timed = request.config.getoption("--benchmark-enable")
    ours, theirs = tmp_path / "ours.gz", tmp_path / "theirs.gz"
    write, table = kind(many_scores(LARGE if is_timed else SMALL), ours)
    columns = pa.Table.from_pandas(table, preserve_index=False)
    timings = [
        (seconds(write), seconds(write_plain, theirs, columns)) for _ in range(N_ROUNDS if is_timed else 1)
    ]
    texts = [gzip.decompress(path.read_bytes()).decode() for path in (ours, theirs)]
    held, expected = (pd.read_csv(io.StringIO(text), sep="\t", comment="#", dtype=str) for text in texts)
    for name in expected:
        is_text = table[name].dtype.kind not in "fi"
        values = [column[name] if is_text else column[name].astype(float) for column in (held, expected)]
        assert (values[0] == values[1]).all()
    if not is_timed:
        return
    own, reference = np.array(timings).min(axis=0)
    sizes = [path.stat().st_size for path in (ours, theirs)]
    with capsys.disabled():
        print(
            f"\n{kind.__name__}: {own:.2f} s / {reference:.2f} s = {own / reference:.2f}; "
            f"{sizes[0] / 1e6:.1f} MB / {sizes[1] / 1e6:.1f} MB"
        )
    assert own / reference <= WRITE_AIM


def test_verify__reads_a_scoring_file_about_as_fast_as_score(tmp_path, request, capsys, repository):
    is_timed = request.config.getoption("--benchmark-enable")
    scores, path = many_scores(LARGE if is_timed else SMALL), tmp_path / "x.txt.gz"
    write_scoring_file(path, scores, 0, **TEXTS)
    outcomes, rows = list_scores([path]), scores.all_rows["row"].to_numpy()
    file, (_, (shared,)) = read_scoring_file(path), read_scores(outcomes, build="GRCh38")
    np.testing.assert_array_equal(column_numbers(file.numbers), scores.weights[0, rows])
    np.testing.assert_array_equal(shared.weights[:, 0], scores.weights[0, rows])
    if not is_timed:
        return

    def score():
        read_scores(list_scores([path]), build="GRCh38")

    timings = [(seconds(read_scoring_file, path), seconds(score)) for _ in range(N_ROUNDS)]
    own, reference = np.array(timings).min(axis=0)
    environment = os.environ | {"PYTHONPATH": str(repository / "workflow")}
    memory = run([sys.executable, "-c", READER, path], environment)[2]
    with capsys.disabled():
        print(f"\nread: {own:.2f} s / {reference:.2f} s = {own / reference:.2f}; {memory / 1e6:.0f} MB")
    assert own / reference <= READ_AIM
    assert memory <= MEMORY_AIM
