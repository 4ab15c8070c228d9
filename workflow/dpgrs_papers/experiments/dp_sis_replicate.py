"""Replicates of DP-SIS against two-stage: data sets, the "truth", and which of it each method finds."""

import math
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.public_random import generator
from dpgrs.types import Neighbours, Unit
from dpgrs_papers.selection.dp_sis import (
    SisRequest,
    SisScores,
    choose_by_paper_scores,
    paper_sis_scores,
    private_sis,
    table_sis_scores,
)
from dpgrs_papers.selection.lasso import PENALTY
from dpgrs_papers.selection.peel import private_peel
from dpgrs_papers.selection.sensitivity import votes_sensitivity
from dpgrs_papers.selection.sublasso import Ballot, GroupRule, count_votes, number_of_groups
from dpgrs_papers.selection.top_k import top_k

SYNTHETIC = "synthetic"
N_SYNTHETIC, P_SYNTHETIC, N_CAUSES = 100, 2000, 8
# How X and y are scaled before the Lasso of the truth: centred and divided by the largest entry, as for the
# scores of the paper; as they are; centred and divided by the standard deviation.
SCALINGS = "max", "raw", "sd"
PUBLIC, KNOWN, PAPER = "DP-SIS, public bounds", "DP-SIS, means and spreads known", "DP-SIS, paper scaling"
VOTING = {"two-stage, k largest": Ballot.LARGEST, "two-stage, supports": Ballot.SUPPORT}
# In standard deviations: where known ones are clipped.
WIDTH = 2.0


class Assay(NamedTuple):
    """The public facts about the entries of a set: a transformation, and the range of its values."""

    low: float
    high: float
    is_log: bool = False


# By the kind of measurement: shares of methylation, intensities of Affymetrix chips with the customary floor
# and ceiling, logarithms of ratios, and logarithms about a common mean.
ASSAYS = {
    "christensen": Assay(0.0, 1.0),
    "golub": Assay(100.0, 16_000.0, is_log=True),
    "khan": Assay(-3.0, 3.0),
    "sorlie": Assay(-4.0, 4.0),
    "west": Assay(-2.0, 2.0),
    "alon": Assay(100.0, 16_000.0, is_log=True),
    "gravier": Assay(-3.0, 3.0),
    "shipp": Assay(100.0, 16_000.0, is_log=True),
    "su": Assay(-3.0, 3.0),
    "subramanian": Assay(0.0, 16.0),
    SYNTHETIC: Assay(-2.0, 2.0),
}
LARGEST_SYNTHETIC = 16.0  # of y, of which the model gives a standard deviation of about 7


class Data(NamedTuple):
    """A data set."""

    X: np.ndarray  # (n_rows, n_features) float64
    y: np.ndarray  # (n_rows,) float64, codes of classes in the order of their names, or numbers
    weights: np.ndarray | None = None  # (n_features,) float64, of the model, if it is known


def load(dataset: str, files: list[Path], *, seed: int = 0, replicate: int = 0) -> Data:
    """Read a set, or draw a synthetic one, which is another in every replicate."""
    if dataset == SYNTHETIC:
        return synthetic(generator(seed, SYNTHETIC, replicate))
    with np.load(files[0], allow_pickle=False) as arrays:
        rank = np.argsort(np.argsort(arrays["classes"]))
        return Data(arrays["X"].astype(np.float64), rank[arrays["y"]].astype(np.float64))


def synthetic(rng: Generator) -> Data:
    """Draw a set of Fan and Lv's model: eight features make the outcome."""
    n, p = N_SYNTHETIC, P_SYNTHETIC
    weights, causes = np.zeros(p), rng.choice(p, N_CAUSES, replace=False)
    sizes = 4 * math.log(n) / math.sqrt(n) + np.abs(rng.standard_normal(N_CAUSES))
    weights[causes] = np.where(rng.random(N_CAUSES) < 0.4, -sizes, sizes)
    X = rng.standard_normal((n, p))
    return Data(X, X @ weights + math.sqrt(1.5) * rng.standard_normal(n), weights)


def scaled(values: np.ndarray, scaling: str) -> np.ndarray:
    """Scale columns, or one outcome, for the Lasso of the truth; constant ones are 0."""
    if scaling == "raw":
        return values
    centred = values - values.mean(axis=0)
    size = np.abs(centred).max(axis=0) if scaling == "max" else centred.std(axis=0)
    return centred / np.where(size > 0, size, 1)


def fit_lasso(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit a Lasso with an intercept, by scikit-learn; return coefficients and R^2 on the same rows."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = Lasso(alpha=PENALTY).fit(X, y)
    return fit.coef_, fit.score(X, y)


def truths(data: Data) -> dict[str, np.ndarray]:
    """Return, for each name of a truth, the absolute size of each feature in it."""
    sizes = {
        scaling: np.abs(fit_lasso(scaled(data.X, scaling), scaled(data.y, scaling))[0])
        for scaling in SCALINGS
    }
    return sizes if data.weights is None else sizes | {"weights": np.abs(data.weights)}


def public_scores(dataset: str, data: Data) -> SisScores:
    """Score by bounds that depend only on the kind of measurement."""
    assay = ASSAYS[dataset]
    X, ends = np.clip(data.X, assay.low, assay.high), np.array([assay.low, assay.high])
    if assay.is_log:
        X, ends = np.log(X), np.log(ends)
    middle, bound = ends.mean(), np.ptp(ends) / 2
    top = data.y.max()  # the number of classes is public
    centre, largest = (0.0, LARGEST_SYNTHETIC) if dataset == SYNTHETIC else (top / 2, top / 2)
    return _scores(X - middle, data.y - centre, column_bounds=bound, outcome_bound=largest)


def known_scores(data: Data) -> SisScores:
    """Score by the set's own means and standard deviations, as if they were public."""
    (X, spreads), (y, spread) = (
        (columns - columns.mean(axis=0), columns.std(axis=0)) for columns in (data.X, data.y)
    )
    bounds = WIDTH * np.where(spreads > 0, spreads, 1)
    return _scores(X, y, column_bounds=bounds, outcome_bound=WIDTH * spread)


def _scores(X: np.ndarray, y: np.ndarray, **bounds: Any) -> SisScores:
    return table_sis_scores(X, y[np.newaxis], **bounds).of_outcome(0)


def sizes_of(dataset: str, n_features: int) -> tuple[int, int]:
    """Return how many features are chosen: 5, and 8 of the synthetic set or floor(log p) of others."""
    return 5, N_CAUSES if dataset == SYNTHETIC else math.floor(math.log(n_features))


def run_replicate(dataset: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Choose by every method, number of choices and epsilon; infinity is without noise."""
    seed = settings["seed"]
    data = load(dataset, files, seed=seed, replicate=replicate)
    sizes, rows = truths(data), []
    ks = dict.fromkeys([*sizes_of(dataset, data.X.shape[1]), settings["k_of_sets"]])
    scorings = {
        PUBLIC: public_scores(dataset, data),
        KNOWN: known_scores(data),
        PAPER: paper_sis_scores(data.X, data.y),
    }
    for method, scores in scorings.items():
        noise = BenchmarkNoise(seed, "dp_sis", dataset, replicate, method)
        values = scores if method == PAPER else scores.values
        for k in ks:
            for epsilon in [*settings["epsilons"], math.inf]:
                if math.isinf(epsilon):
                    chosen = top_k(values, k)
                else:
                    request = SisRequest(epsilon=epsilon, n_choices=k)
                    chosen = _choose(scores, request, noise)
                labels = {"method": method, "k": k, "epsilon": epsilon}
                rows.append(labels | _shares_found(chosen, sizes, k) | _closeness(chosen, values, k))
    keys = [str(row) for row in range(len(data.y))]
    sensitivity = votes_sensitivity(neighbours=Neighbours.ADD_REMOVE, unit=Unit.PERSON)
    for method, ballot in VOTING.items():
        noise, votes = BenchmarkNoise(seed, "dp_sis", dataset, replicate, method), None
        for k in sizes_of(dataset, data.X.shape[1]):
            n_groups = number_of_groups(len(keys), k, rule=GroupRule.TWO_STAGE)
            vote_options = {
                "k": k,
                "n_groups": n_groups,
                "seed": 10_000 * seed + replicate,
                "rows_per_unit": 1,
            }
            # A support is the same whatever k is.
            if votes is None or ballot == Ballot.LARGEST:
                votes = count_votes(data.X, data.y, keys, ballot=ballot, **vote_options)
            for epsilon in [*settings["epsilons"], math.inf]:
                if math.isinf(epsilon):
                    # Equal votes go to any feature.
                    order = generator(seed, "ties", dataset, replicate, k).permutation(len(votes))
                    chosen = order[top_k(votes[order], k)]
                else:
                    chosen, _ = private_peel(
                        votes, k=k, sensitivity=sensitivity, epsilon=epsilon, noise=noise
                    )
                rows.append({"method": method, "k": k, "epsilon": epsilon} | _shares_found(chosen, sizes, k))
    return rows


def _choose(scores: SisScores | np.ndarray, request: SisRequest, noise: BenchmarkNoise) -> np.ndarray:
    """Choose by DP-SIS, or as the paper does where scores are of its scaling."""
    if isinstance(scores, SisScores):
        return private_sis(scores, request=request, noise=noise)[0]
    return choose_by_paper_scores(scores, request=request, noise=noise).chosen


def _shares_found(chosen: np.ndarray, sizes: dict[str, np.ndarray], k: int) -> dict[str, float]:
    """Return which share of the k largest of each truth is chosen; a coefficient of 0 is not of them."""
    shares = {}
    for name, size in sizes.items():
        largest = top_k(size, k)
        shares[f"found_{name}"] = np.isin(chosen, largest[size[largest] > 0]).sum() / k
    return shares


def _closeness(chosen: np.ndarray, scores: np.ndarray, k: int) -> dict[str, int]:
    """Return TOP, GREAT and GOOD: how near to the k highest scores the chosen ones are."""
    rank = np.empty(len(scores), dtype=np.int64)
    rank[top_k(scores, len(scores))] = np.arange(len(scores))
    ranks = rank[chosen]
    limits = {"top": (k, k), "great": (math.ceil(k / 10), 11 * k // 10)}
    limits["good"] = (math.ceil(k / 100), 3 * k // 2)
    return {
        name: int((ranks < n_best).sum() == n_best and ranks.max() < worst_rank)
        for name, (n_best, worst_rank) in limits.items()
    }
