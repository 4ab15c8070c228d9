"""Membership inference on all that a replicate would publish. Only for benchmarks, as it knows who is in."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.evaluation.attacks import (
    MOST_PEOPLE,
    Reference,
    Targets,
    advantage_bound,
    area_bound,
    gram_scores,
    statistics_scores,
    true_positive_bound,
    weights_scores,
)
from dpgrs.evaluation.intervals import advantage, area_under_curve, true_positive_rate
from dpgrs.evaluation.rows import joined_rows
from dpgrs.evaluation.split import per_row
from dpgrs.io.covariates import Covariates
from dpgrs.io.files import write_table
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Labelled, Statistics, load_labelled
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.linear_fit import LinearFit, centred_gram
from dpgrs.methods.registry import METHODS
from dpgrs.public_random import uniforms
from dpgrs.types import Coding, Protection, RidgeOf, Rows, Unit

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

TERMS = ["method", "protection", "neighbours", "unit", "accounting", "epsilon", "delta"]
DESIGN = ["n_variants", "n_outcomes"]
ESTIMATES = ["advantage", "tpr", "auc"]
ATTACKS = ["replicate", "attack", *TERMS, *DESIGN, "target", "n_members", "n_others", "n_reference", "fpr"]
ATTACKS += [f"{name}{ending}" for name in ESTIMATES for ending in ("", "_low", "_high", "_bound")]
NO_PRIVACY = dict.fromkeys(TERMS, "") | {"protection": str(Protection.NONE)}
# Where nobody's data are public.
ATTACKED_UNDER = (Protection.NONE, Protection.FULL)
FPR = 0.01
# Fewer people tell an attacker nothing, and their covariances would be singular.
SMALLEST_REFERENCE = 4


@dataclass(frozen=True)
class Sides:
    """Rows of one variant set in two folds: people of one fold who are outside are the other's reference."""

    rows: Rows
    is_member: np.ndarray  # (n_rows,) bool
    fold: np.ndarray  # (n_rows,) int, 0 or 1
    targets: list[Targets]  # of each fold
    variance: float  # of genotypes, summed over variants

    @classmethod
    def of(
        cls,
        X: np.ndarray,  # (n_rows, n_variants), as in the statistics
        Y: np.ndarray,  # (n_outcomes, n_rows), clipped as in the statistics
        *,
        rows: Rows,
        is_member: np.ndarray,  # (n_rows,) bool
        fold: np.ndarray,  # (n_rows,) int, 0 or 1
    ) -> Self:
        """Deal out rows; each side is scored with the reference people of the other."""
        targets = []
        for side in (0, 1):
            is_reference, is_target = (fold != side) & ~is_member, fold == side
            reference = Reference.of(X[is_reference], Y[:, is_reference], rows=rows)
            targets.append(Targets(X[is_target], Y[:, is_target], reference))
        return cls(rows, is_member, fold, targets, X.var(axis=0).sum())

    def scores(self, attack: Callable[[Targets], np.ndarray]) -> np.ndarray:
        """Return the (n_rows,) scores of an attack."""
        scores = np.empty(len(self.fold))
        for side, targets in enumerate(self.targets):
            scores[self.fold == side] = attack(targets)
        return scores

    @property
    def n_reference(self) -> int:
        """Rows of the smaller reference."""
        return min(len(targets.reference.X) for targets in self.targets)


@dataclass(frozen=True)
class Release:
    """Published numbers, and how a target's rows are scored from them."""

    label: dict[str, Any]  # attack, `TERMS` and `DESIGN`
    mu: float | None  # the loss of a row; None without privacy
    attack: Callable[[Targets], np.ndarray]  # returns a score for each row
    has_covariates: bool = False  # whether the attack takes covariates beside the genotypes


READS = ("seed", "outcomes.count", "regression.lambda")


def attack_replicate(
    settings: "StudyConfig",
    variant_set: Path,
    outcomes: Path,
    statistics: Path,
    noisy: Path,
    weights: Path,
    *,
    replicate: int,
    covariates: Path | None = None,
    output: Path,
) -> None:
    """Infer who was trained on, from exact and noisy statistics and from all weights; only in benchmarks.

    Members are the people trained on, the others those held out, half of whom serve as the attacker's
    reference for the other half; of either at most `MOST_PEOPLE`, drawn by their names and the seed. Where
    too few people are held out the table is empty. Attacked are fits of sums, without protection and under
    full protection. Fits without privacy do not depend on the number of outcomes.

    Raises UsageError if the noise is a release's: who is in the data must then not be used.

    Parameters
    ----------
    variant_set : store of the study's variants.
    outcomes : outcomes and split of the replicate.
    statistics : exact statistics.
    noisy : noisy statistics.
    weights : weights of all methods.
    replicate : number of the replicate, from 1.
    covariates : covariates, if the fits use any. The attacker of weights knows them; the attacker of
        statistics uses only the rows of X'X and X'Y that belong to variants.
    output : the table of attacks to write (docs/reference/files.md lists its columns).
    """
    noisy = load_labelled(noisy)
    _require_benchmark(noisy)
    variant_set, outcomes, statistics = (
        VariantSet.open(variant_set),
        Outcomes.load(outcomes),
        Statistics.load(statistics),
    )
    covariates = Covariates.load(covariates)
    counts, seed, penalty = settings.outcomes.count, settings.seed, settings.regression.lambda_
    counts = counts or [len(outcomes.names)]
    people = outcomes.is_training[:: _rows_per_person(outcomes.rows)]
    fold = _folds(variant_set.sample_id, people, seed=seed, key=("attack", replicate))
    records = []
    if fold is not None:
        folds = per_row(fold, rows=outcomes.rows)
        fits = load_labelled(weights)
        for size in outcomes.values:
            options = {"bound": statistics.outcome_bound}
            sides = _sides(variant_set, outcomes, size, folds, **options)
            in_full = sides
            if covariates is not None:
                in_full = _sides(variant_set, outcomes, size, folds, covariates=covariates, **options)
            fit_options = {"n": statistics.n_rows}
            fit_options["penalties"] = _penalties(in_full, penalty, **fit_options)
            releases = (
                _exact_releases(statistics, size, counts),
                _noisy_releases(noisy, size),
                _weights_releases(fits, noisy.labels, size, counts, **fit_options),
            )
            for release in chain(*releases):
                records += _outcome_of(release, in_full if release.has_covariates else sides)
    table = pd.DataFrame(records, columns=ATTACKS[1:])
    table.insert(0, "replicate", replicate)
    write_table(output, table)


def _require_benchmark(noisy: Labelled) -> None:
    sources = {event["source"] for label in noisy.labels for event in label["events"]}
    if sources - {"benchmark"}:
        raise UsageError(
            "attack-on-release",
            "Attacks are for noise of benchmark mode, got a release: they would tell who is in the data. "
            "Set `mode: benchmark`, on open or simulated data.",
        )


def _rows_per_person(rows: Rows) -> int:
    return 2 if rows == Rows.HAPLOTYPES else 1


def _folds(
    sample_id: np.ndarray,  # (n_people,) str
    is_member: np.ndarray,  # (n_people,) bool
    *,
    seed: int,
    key: tuple[str | int, ...],
) -> np.ndarray | None:
    """Deal members and others out into two folds of people, by their names, and -1 for those beyond.

    None where people are too few.
    """
    uniform = uniforms(seed, sample_id, *key)
    fold = np.full(len(sample_id), -1)
    for side in (is_member, ~is_member):
        order = np.flatnonzero(side)[np.argsort(uniform[side], kind="stable")][:MOST_PEOPLE]
        if len(order) < 2 * SMALLEST_REFERENCE:
            return None
        fold[order] = np.arange(len(order)) % 2
    return fold


def _sides(
    variant_set: VariantSet,
    outcomes: Outcomes,
    size: int,
    fold: np.ndarray,  # (n_rows,) int
    *,
    bound: float,
    covariates: Covariates | None = None,
) -> Sides:
    row_options = {"rows": outcomes.rows, "is_selected": fold >= 0}
    X = joined_rows(variant_set, size, covariates=covariates, **row_options)
    chosen = np.flatnonzero(fold >= 0)
    Y = np.clip(outcomes.values[size][:, chosen], -bound, bound)
    return Sides.of(X, Y, rows=outcomes.rows, is_member=outcomes.is_training[chosen], fold=fold[chosen])


def _exact_releases(statistics: Statistics, size: int, counts: Sequence[int]) -> Iterator[Release]:
    gram, cross = _exact(statistics, size)
    for count in counts:
        release_terms = NO_PRIVACY | {"n_variants": size, "n_outcomes": count}
        yield from _statistics_releases(
            release_terms, None, gram=gram, cross=cross[:count], n=statistics.n_rows
        )


def _exact(statistics: Statistics, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X'X of variants, intercept last, and the centred X'Y, scaled up where outcomes are missing."""
    gram = statistics.gram_of_size(size, has_covariates=False) * statistics.gram_step
    cross = statistics.cross[size][:, [*range(size), -1]] * statistics.cross_step
    _, means = centred_gram(gram, statistics.n_rows)
    scale = statistics.n_rows / np.maximum(statistics.n_observed, 1)
    return gram, (cross[:, :-1] - 2 * np.outer(cross[:, -1], means)) * scale[:, np.newaxis]


def _noisy_releases(noisy: Labelled, size: int) -> Iterator[Release]:
    for label, arrays in noisy.of(lambda label: _is_attacked(label["request"], size)):
        sigma = {event["statistic"]: event["sigma"] for event in label["events"]}
        yield from _statistics_releases(
            {"method": ""} | _fit_terms(label["request"], label["n_outcomes"]),
            _row_loss(label),
            gram=arrays["gram"],
            cross=arrays["cross"],
            n=label["n"],
            gram_sigma=sigma.get("gram", 0.0),
            cross_sigma=sigma.get("cross product", 0.0),
        )


def _is_attacked(request: dict[str, Any], size: int) -> bool:
    is_full = request["protection"] == Protection.FULL and request["coding"] == Coding.HALF
    return is_full and request["n_variants"] == size


def _statistics_releases(
    release_terms: dict[str, Any],
    mu: float | None,
    *,
    gram: np.ndarray,  # (n_variants + 1, n_variants + 1) float64
    cross: np.ndarray,  # (n_outcomes, n_variants) float64
    n: int,
    gram_sigma: float = 0.0,
    cross_sigma: float = 0.0,
) -> Iterator[Release]:
    """Yield the attacks on X'X, for which genotypes suffice, and on X'X with X'Y."""
    statistics = {"gram": gram, "n": n}
    yield Release(
        {"attack": "gram"} | release_terms, mu, partial(gram_scores, sigma=gram_sigma, **statistics)
    )
    statistics |= {"cross": cross, "gram_sigma": gram_sigma, "cross_sigma": cross_sigma}
    yield Release({"attack": "statistics"} | release_terms, mu, partial(statistics_scores, **statistics))


def _penalties(sides: Sides, penalty: float, *, n: int) -> dict[RidgeOf, float]:
    """Return the penalty per row of each RidgeOf: for a heritability of 1/2 the sum of variances over n."""
    of_half = sides.variance / n
    return {RidgeOf.NOTHING: 0.0, RidgeOf.LAMBDA: penalty, RidgeOf.HALF: of_half}


def _weights_releases(
    fits: Labelled,
    drawn_labels: Sequence[dict[str, Any]],
    size: int,
    counts: Sequence[int],
    *,
    n: int,
    penalties: Mapping[RidgeOf, float],
) -> Iterator[Release]:
    losses = {
        tuple(_fit_terms(label["request"], label["n_outcomes"]).values()): _row_loss(label)
        for label in drawn_labels
    }

    def ridge(label: dict[str, Any]) -> RidgeOf | None:
        return METHODS[label["method"]].ridge if label["method"] in METHODS else None

    def is_attacked(label: dict[str, Any]) -> bool:
        is_known = ridge(label) is not None and label["protection"] in ATTACKED_UNDER
        return is_known and label["reported"] and label["n_variants"] == size

    for label, arrays in fits.of(is_attacked):
        ridge_of = ridge(label)
        is_private = label["protection"] != Protection.NONE
        for count in [len(arrays["weights"])] if is_private else counts:
            fit = LinearFit(arrays["weights"][:count], arrays["means"], arrays["intercept"][:count])
            release_terms = _fit_terms(label, len(fit.weights))
            attack_options = {"fit": fit, "n": n, "penalty": penalties[ridge_of]}
            yield Release(
                {"attack": "weights", "method": label["method"]} | release_terms,
                losses[tuple(release_terms.values())] if is_private else None,
                partial(weights_scores, **attack_options),
                has_covariates=True,
            )


def _fit_terms(label: dict[str, Any], n_outcomes: int) -> dict[str, Any]:
    """Return the terms of a release but for the method."""
    release_terms = {name: label[name] for name in TERMS if name != "method"}
    return release_terms | {"n_variants": label["n_variants"], "n_outcomes": n_outcomes}


def _row_loss(label: dict[str, Any]) -> float:
    """Return the mu of one row from the events of a release, whose unit may own several rows."""
    request = label["request"]
    is_group = request["unit"] == Unit.PERSON and request["rows"] == Rows.HAPLOTYPES
    # A regression on covariates had the other share of mu^2.
    share_of_mu = math.sqrt(1 - (request.get("covariate_share") or 0))
    return math.hypot(*(event["mu"] for event in label["events"])) / share_of_mu / (2 if is_group else 1)


def _outcome_of(release: Release, sides: Sides) -> list[dict[str, Any]]:
    """Return the records of an attack: on people and, where rows are haplotypes, on these too."""
    scores = sides.scores(release.attack)
    release_label = release.label | {"n_reference": sides.n_reference}
    n_rows = _rows_per_person(sides.rows)
    units = {Unit.PERSON: n_rows} | ({Unit.HAPLOTYPE: 1} if n_rows > 1 else {})
    return [
        release_label | {"target": str(unit)} | _success(scores, sides, release.mu, n_rows=rows)
        for unit, rows in units.items()
    ]


def _success(
    scores: np.ndarray,  # (n_all_rows,) float64
    sides: Sides,
    mu: float | None,
    *,
    n_rows: int,
) -> dict[str, float]:
    """Measure the attack on targets of `n_rows` rows each, beside what mu allows."""
    scores = scores.reshape(-1, n_rows).sum(axis=1)
    is_member, fold = sides.is_member[::n_rows], sides.fold[::n_rows]
    both = scores[is_member], scores[~is_member]
    tpr, fpr = true_positive_rate(*both, fpr=FPR)
    estimates = {
        "advantage": advantage(*both, member_folds=fold[is_member], other_folds=fold[~is_member]),
        "tpr": tpr,
        "auc": area_under_curve(*both),
    }
    record = {"n_members": len(both[0]), "n_others": len(both[1]), "fpr": fpr}
    for name, estimate in estimates.items():
        record |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    if mu is not None:
        loss = mu * n_rows
        record |= {
            "advantage_bound": advantage_bound(loss),
            "tpr_bound": true_positive_bound(loss, fpr),
            "auc_bound": area_bound(loss),
        }
    return record
