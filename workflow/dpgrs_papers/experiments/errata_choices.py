"""Defects of private choices as published, and what they lose (docs/explanation/screening.md)."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.random import Generator
from scipy.special import expit
from scipy.stats import kendalltau

from dpgrs.genotypes.bits import pack
from dpgrs.privacy.digests import data_digest
from dpgrs.privacy.noise.base import NoiseSource
from dpgrs.selection.dp_kendall import KendallRequest, genotype_pairs, private_kendall
from dpgrs.types import Rows, Unit
from dpgrs_papers.experiments.errata_defect import Defect, loss_of_chances
from dpgrs_papers.selection.dp_sis import (
    SisRequest,
    SisScores,
    paper_sis_scores,
    private_sis,
    table_sis_scores,
)
from dpgrs_papers.selection.peel import private_peel
from dpgrs_papers.selection.sensitivity import votes_sensitivity
from dpgrs_papers.selection.sublasso import count_votes, group_votes

TERMS = {"epsilon": 1.0, "delta": 0.0}
N_GROUPS = 16
# Of one carrier in the middle and one more with the largest outcome, n/2 tau-b goes from 0 to sqrt(n)/2.
N_HAPLOTYPES = 5_000
PAPER_SENSITIVITY = 3 / 2
N_PEOPLE, OUTLIER = 100, 1e6
# Scores of neighbours, each less than the other by one at most, and the set whose chance moves most.
SCORES, CHOSEN = ((0, 2, -2, 0), (1, 1, -1, -1)), 2


def equal_groups(n_rows: int, n_groups: int) -> np.ndarray:
    """Return the group of every row as published: floor(n/m) rows each, and the rest in the last."""
    return np.minimum(np.arange(n_rows) // (n_rows // n_groups), n_groups - 1)


def groups_of_rows() -> Defect:
    """Where n + 1 is a multiple of m the size of equal groups jumps, and every group changes."""
    # Any two rows have a Lasso that keeps the first feature; one row has none, and a fixed vote.
    rows = np.arange(2.0 * N_GROUPS)
    X, keys = np.column_stack([rows, 0 * rows]), [f"person {row:.0f}" for row in rows]
    sizes = len(rows), len(rows) - 1
    voted = [group_votes(X[:n], rows[:n], equal_groups(n, N_GROUPS), n_groups=N_GROUPS, k=1) for n in sizes]
    vote_options = {"k": 1, "n_groups": N_GROUPS, "seed": 0, "rows_per_unit": 1}
    ours = [count_votes(X[:n], rows[:n], keys[:n], **vote_options) for n in sizes]
    sensitivity = votes_sensitivity(neighbours="add-remove", unit=Unit.PERSON)

    def published(rng: Generator, n_draws: int, is_second: bool) -> np.ndarray:
        # In whatever order the rows are, the votes are these.
        noisy = voted[is_second] + rng.gumbel(scale=2 / TERMS["epsilon"], size=(n_draws, 2))
        return noisy[:, 1] > noisy[:, 0]

    def peel(noise: NoiseSource, is_second: bool) -> bool:
        options = {"k": 1, "sensitivity": sensitivity, "epsilon": TERMS["epsilon"], "noise": noise}
        return bool(private_peel(ours[is_second], **options)[0][0])

    return Defect(
        fault="equal groups of shuffled rows vote",
        source="DPKendall (SubLasso) and DP-SIS (two-stage)",
        **TERMS,
        published=published,
        ours=peel,
        exact=(
            loss_of_chances(*(expit((votes[1] - votes[0]) / 2) for votes in voted)),
            loss_of_chances(*(_flip_chance((votes[1] - votes[0]) / 2) for votes in ours)),
        ),
    )


def _flip_chance(lead: float) -> float:
    """Return the chance of one of two candidates by permute-and-flip; it leads by so much, times the rate."""
    return 1 - math.exp(-lead) / 2 if lead > 0 else math.exp(lead) / 2


def published_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return what the public code of DPKendall scores: n/2 times tau-b, which divides by untied pairs."""
    return len(x) / 2 * kendalltau(x, y).statistic


def tied_ranks() -> Defect:
    """Kendall's tau-b, scaled by n/2, has no bounded sensitivity where values are tied."""
    n, y = N_HAPLOTYPES, np.arange(float(N_HAPLOTYPES))
    rare, common = np.zeros((2, n), dtype=np.int64)
    rare[[n // 2, n - 1]] = 1
    # Half carry it, of which so many more have large outcomes that it scores half of what the other may.
    common[np.arange(n) % 2 == 0] = 1
    common[: n // 2][::125] = 0
    features, sizes = np.stack([common, rare]), (n - 1, n)
    scores = [[abs(published_correlation(x[:size], y[:size])) for x in features] for size in sizes]
    rate = TERMS["epsilon"] / (2 * PAPER_SENSITIVITY)
    request = KendallRequest(n_choices=1, epsilon=1.0, rows=Rows.HAPLOTYPES, unit=Unit.HAPLOTYPE)
    pairs = [
        genotype_pairs(pack(features[:, :size]), y[np.newaxis, :size], n_haplotypes=size, rows="haplotypes")[
            0
        ]
        for size in sizes
    ]
    digests = [data_digest(features[:, :size], y[:size]) for size in sizes]

    def published(rng: Generator, n_draws: int, is_second: bool) -> np.ndarray:
        noisy = scores[is_second] + rng.gumbel(scale=1 / rate, size=(n_draws, 2))
        return noisy[:, 1] > noisy[:, 0]

    def choose(noise: NoiseSource, is_second: bool) -> bool:
        noise = noise.on(digests[is_second])
        return bool(private_kendall(pairs[is_second], request=request, noise=noise)[0][0])

    leads = [
        np.diff(np.abs(table_pairs.outcome_scores)).item() / (table_pairs.n_rows - 1) for table_pairs in pairs
    ]
    return Defect(
        fault="tau-b of tied values with a sensitivity of 3/2",
        source="DPKendall, public code",
        **TERMS,
        published=published,
        ours=choose,
        exact=(
            loss_of_chances(*(expit(rate * (rare - common)) for common, rare in scores)),
            # Sensitivity 1: half of epsilon for each of a score.
            loss_of_chances(*(_flip_chance(lead / 2) for lead in leads)),
        ),
    )


def scaling() -> Defect:
    """Columns are centred and scaled by their own mean and largest entry, which one record moves."""
    y = np.append(np.tile([1.0, -1.0], N_PEOPLE // 2), 1.0)
    other = y.copy()
    other[: N_PEOPLE // 2 : 2] = -1  # half as good as the outcome itself
    X, rows = np.column_stack([other, y]), (slice(None), slice(-1))
    X[-1, 1] = OUTLIER
    request = SisRequest(epsilon=TERMS["epsilon"], n_choices=1)
    paper = [paper_sis_scores(X[selected], y[selected]) for selected in rows]
    ours = [
        table_sis_scores(
            X[selected], y[np.newaxis, selected], column_bounds=1.0, outcome_bound=1.0
        ).of_outcome(0)
        for selected in rows
    ]

    def published(rng: Generator, n_draws: int, is_second: bool) -> np.ndarray:
        return _drawn_sets(paper[is_second], request, n_draws, rng, guessed_set=(1,))

    def choose(noise: NoiseSource, is_second: bool) -> bool:
        return bool(private_sis(ours[is_second], request=request, noise=noise)[0][0])

    rate = TERMS["epsilon"] * request.gamma / 2
    leads = [np.diff(scores.values).item() * scores.step for scores in ours]
    return Defect(
        fault="scores scaled by the data, with a sensitivity of 1",
        source="DP-SIS",
        **TERMS,
        published=published,
        ours=choose,
        exact=(
            loss_of_chances(*(_flip_chance(rate * np.diff(scores).item()) for scores in paper)),
            loss_of_chances(*(_flip_chance(rate * lead) for lead in leads)),
        ),
    )


def printed_classes(
    scores: Sequence[int], k: int, *, rate: float, gamma: float
) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Return the sets of the classes as the DP-SIS paper prints them, and their utilities, (n_sets,) float64.

    A class holds the best h entries, the t-th and any k - h - 1 of the t - h - 1 between, so that some sets
    are there more than once. The rate is epsilon/(2 sensitivity).
    """
    order = np.argsort(-np.asarray(scores), kind="stable")
    x = np.asarray(scores, dtype=float)[order]
    sets, utilities = [], []
    for head in range(k):
        for tail in [k] * (head == k - 1) + list(range(k + 1, len(x) + 1)):
            for body in combinations(range(head, tail - 1), k - head - 1):
                sets.append(tuple(sorted(order[[*range(head), *body, tail - 1]].tolist())))
                utilities.append(rate * (gamma * x[tail - 1] - (1 - gamma) * x[min(head, k - 1)]))
    return sets, np.array(utilities)


def _drawn_sets(
    scores: Sequence[int],
    request: SisRequest,
    n_draws: int,
    rng: Generator,
    *,
    guessed_set: tuple[int, ...],
) -> np.ndarray:
    """Draw sets by the classes as printed, (n_draws,) bool: whether it is the guessed set."""
    sets, utilities = printed_classes(
        scores, request.n_choices, rate=request.epsilon / 2, gamma=request.gamma
    )
    best = (utilities + rng.exponential(size=(n_draws, len(utilities)))).argmax(axis=1)
    return np.array([candidate == guessed_set for candidate in sets])[best]


def class_sizes() -> Defect:
    """Classes of sets have C(t - h - 1, k - h - 1) members, which counts some sets several times."""
    request = SisRequest(epsilon=TERMS["epsilon"], n_choices=CHOSEN)
    ours = [SisScores(np.array(scores), 1.0, 1.0, 1.0, Rows.PEOPLE) for scores in SCORES]
    guessed_set = (0, 2)

    def published(rng: Generator, n_draws: int, is_second: bool) -> np.ndarray:
        return _drawn_sets(SCORES[is_second], request, n_draws, rng, guessed_set=guessed_set)

    def choose(noise: NoiseSource, is_second: bool) -> bool:
        return tuple(private_sis(ours[is_second], request=request, noise=noise)[0].tolist()) == guessed_set

    return Defect(
        fault="classes of C(t-h-1, k-h-1) sets overlap",
        source="DP-SIS",
        **TERMS,
        published=published,
        ours=choose,
        exact=(math.nan, math.nan),
    )
