"""One split of one table of the Tukey and DPKendall papers: BLUP and other methods by public scales."""

from pathlib import Path

import numpy as np

from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.public_random import generator
from dpgrs.types import Neighbours
from dpgrs_papers.experiments.primo_fits import REPLACED
from dpgrs_papers.experiments.primo_tables import Columns, run_table
from dpgrs_papers.experiments.tukey_data import DELTA, EPSILON, TEST_SHARE, read_dataset
from dpgrs_papers.tabular.compositions import TableRequest
from dpgrs_papers.tabular.splits import fit_split
from dpgrs_papers.tabular.table_methods import table_methods

LARGEST = 4.0  # public, in standard deviations of the earlier study: what lies beyond is clipped
RARE = 0.1  # for the standard deviation of a column that is constant there, such as a rare level
OF_SUMS, OF_ROWS = ("blup", "adassp"), ("bas", "k-tukey")
# By the terms of `primo_fits`.
RELATIONS = {"ours": Neighbours.ADD_REMOVE, REPLACED: Neighbours.REPLACE_ONE}
OLS, EARLIER = "nondp", "earlier study alone"


def run_replicate(dataset: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Fit all methods on nine tenths of the rows without the earlier study's; R^2 on the others."""
    key, seed = ("tables_best", dataset, replicate), settings["seed"]
    rng = generator(seed, *key)
    X, y = read_dataset(dataset, files, rng)
    n_test = round(TEST_SHARE * len(y))
    test, earlier, training = np.split(rng.permutation(len(y)), [n_test, n_test + settings["earlier_rows"]])
    X, y = scaled(X[:, :-1], earlier), scaled(y, earlier)
    rows = []

    def note(method: str, relation: str, r2: float | None) -> None:
        cell = {"n": len(y), "d": X.shape[1] + 1, "method": method, "relation": relation}
        rows.append(cell | {"r2": -np.inf if r2 is None else r2})

    def fitted(name: str, of: np.ndarray, relation: Neighbours = Neighbours.ADD_REMOVE) -> float | None:
        request = TableRequest(epsilon=EPSILON, delta=DELTA, k=settings["k"], neighbours=relation)
        options = {"method": table_methods()[name], "request": request}
        return fit_split(X, y, (test, of), noise=BenchmarkNoise(seed, *key, relation), **options).r2

    note(OLS, "", fitted(OLS, training))
    note(EARLIER, "", fitted(OLS, earlier))
    for relation in RELATIONS.values():
        for name in OF_ROWS:
            note(name, relation, fitted(name, training, relation))
    measured_rows = np.concatenate([test, training])
    ranges = (np.full(X.shape[1], bound) for bound in (-LARGEST, LARGEST, 0.0))
    study_settings = {"seed": seed, "epsilons": [EPSILON], "delta": DELTA}
    study_settings["genotype_clip"] = settings["row_clip"] * root_mean_square(X[earlier])
    study_settings["methods"] = {terms_name: list(OF_SUMS) for terms_name in RELATIONS}
    measured = run_table(
        Columns(X[measured_rows], *ranges),
        lambda variant_set, size: y[np.newaxis, measured_rows],
        sizes=[X.shape[1]],
        counts=[1],
        settings=study_settings,
        key=key,
        is_training=np.arange(len(measured_rows)) >= n_test,
    )
    for row in measured:
        if row["method"] in OF_SUMS:
            note(row["method"], RELATIONS[row["terms"]], row["r2"])
    return rows


def scaled(columns: np.ndarray, earlier: np.ndarray) -> np.ndarray:
    """Return columns less the mean of the rows of an earlier study, and over their standard deviation."""
    centre, spread = columns[earlier].mean(axis=0), columns[earlier].std(axis=0)
    return (columns - centre) / np.where(spread > 0, spread, RARE)


def root_mean_square(X: np.ndarray) -> float:
    """Return the root mean square of the norms of rows, in units of `privacy.genotype_clip`.

    Entries are standard deviations over `LARGEST`. A row of columns whose centre is halfway between low and
    high has a norm of the root of half their number (docs/measurements/tables.md).
    """
    squares = (np.clip(X / LARGEST, -1, 1) ** 2).sum(axis=1)
    return float(np.sqrt(squares.mean() / (X.shape[1] / 2)))
