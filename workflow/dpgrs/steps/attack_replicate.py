"""Membership inference on all that a replicate would publish. Only for benchmarks, as it knows who is in."""

import math
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

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
from dpgrs.evaluation.roc import advantage, area_under_curve, true_positive_rate
from dpgrs.evaluation.rows import joined_rows
from dpgrs.evaluation.split import per_row
from dpgrs.io.covariates import Covariates
from dpgrs.io.files import write_table
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Statistics, load_labelled
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.linear_fit import LinearFit, centred_gram
from dpgrs.methods.registry import METHODS
from dpgrs.public_random import uniforms
from dpgrs.types import Coding, Protection, RidgeOf, Rows, Unit

TERMS = ["method", "protection", "neighbours", "unit", "accounting", "epsilon", "delta"]
DESIGN = ["n_variants", "n_outcomes"]
ESTIMATES = ["advantage", "tpr", "auc"]
ATTACKS = ["replicate", "attack", *TERMS, *DESIGN, "target", "n_members", "n_others", "n_reference", "fpr"]
ATTACKS += [f"{name}{part}" for name in ESTIMATES for part in ("", "_low", "_high", "_bound")]
NO_PRIVACY = dict.fromkeys(TERMS, "") | {"protection": str(Protection.NONE)}
# Where nobody's data are public.
ATTACKED_UNDER = (Protection.NONE, Protection.FULL)
FPR = 0.01
# Fewer people tell an attacker nothing, and their covariances would be singular.
SMALLEST_REFERENCE = 4


@dataclass(frozen=True)
class Sides:
    """Rows of one variant set in two folds: who is outside and in one fold is the reference for the other.

    Attributes
    ----------
    rows : Rows
    is_member : (n_rows,) bool
    fold : (n_rows,) int, 0 or 1.
    targets : the Targets of each fold.
    variance : float, of genotypes, summed over variants.
    """

    rows: Rows
    is_member: np.ndarray
    fold: np.ndarray
    targets: list
    variance: float

    @classmethod
    def of(cls, X, Y, *, rows, is_member, fold):
        """Deal out X, (n_rows, n_variants), and Y, (n_outcomes, n_rows), clipped as in the statistics."""
        targets = []
        for own in (0, 1):
            known, is_target = (fold != own) & ~is_member, fold == own
            reference = Reference.of(X[known], Y[:, known], rows=rows)
            targets.append(Targets(X[is_target], Y[:, is_target], reference))
        return cls(rows, is_member, fold, targets, X.var(axis=0).sum())

    def scores(self, attack):
        """Return the (n_rows,) scores; `attack` takes Targets."""
        scores = np.empty(len(self.fold))
        for own, targets in enumerate(self.targets):
            scores[self.fold == own] = attack(targets)
        return scores

    @property
    def n_reference(self):
        """Rows of the smaller reference."""
        return min(len(targets.reference.X) for targets in self.targets)


@dataclass(frozen=True)
class Release:
    """Something published: what it is, and how a target's rows are scored from it.

    Attributes
    ----------
    label : dict of attack, `TERMS` and `DESIGN`.
    mu : float, the loss of a row; None without privacy.
    attack : function of Targets that scores them.
    has_covariates : bool, whether the attack takes covariates beside the genotypes.
    """

    label: dict
    mu: float | None
    attack: partial
    has_covariates: bool = False


READS = ("seed", "outcomes.count", "regression.lambda")


def attack_replicate(
    settings,
    variant_set: Path,
    outcomes: Path,
    statistics: Path,
    noisy: Path,
    weights: Path,
    *,
    replicate: int,
    covariates: Path | None = None,
    output: Path,
):
    """Infer who was trained on, from exact and noisy statistics and from all weights; for benchmarks alone.

    Members are the people trained on, the others those held out, half of whom serve as the attacker's
    reference for the other half; of either at most `MOST_PEOPLE`, drawn by their names and the seed. Where
    too few people are held out the table is empty. Attacked are fits of sums, without protection and under
    full protection. What is not private does not depend on the number of outcomes.

    Parameters
    ----------
    settings : Settings
    variant_set : store of the study's variants.
    outcomes : outcomes and split of the replicate.
    statistics : exact statistics.
    noisy : noisy statistics.
    weights : weights of all methods.
    replicate : number of the replicate, from 1.
    covariates : covariates, if the fits use any. The attacker of weights knows them; the attacker of
        statistics uses only the rows of X'X and X'Y that belong to variants.
    output : the table of attacks to write (docs/reference/files.md lists its columns).

    Raises
    ------
    UsageError
        If the noise is a release's: who is in the data must then not be used.
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
            known = {"n": statistics.n_rows}
            known["penalties"] = _penalties(in_full, penalty, **known)
            releases = (
                _exact_releases(statistics, size, counts),
                _noisy_releases(noisy, size),
                _weights_releases(fits, noisy.labels, size, counts, **known),
            )
            for release in chain(*releases):
                records += _outcome_of(release, in_full if release.has_covariates else sides)
    table = pd.DataFrame(records, columns=ATTACKS[1:])
    table.insert(0, "replicate", replicate)
    write_table(output, table)


def _require_benchmark(noisy):
    sources = {event["source"] for label in noisy.labels for event in label["events"]}
    if sources - {"benchmark"}:
        raise UsageError(
            "Attacks are for noise of benchmark mode, got a release: they would tell who is in the data. "
            "Set `mode: benchmark`, on open or simulated data."
        )


def _rows_per_person(rows):
    return 2 if rows == Rows.HAPLOTYPES else 1


def _folds(sample_id, is_member, *, seed, key):
    """Deal members and others out into two folds of people, by their names, and -1 for those beyond.

    None where people are too few.
    """
    place = uniforms(seed, sample_id, *key)
    fold = np.full(len(sample_id), -1)
    for side in (is_member, ~is_member):
        order = np.flatnonzero(side)[np.argsort(place[side], kind="stable")][:MOST_PEOPLE]
        if len(order) < 2 * SMALLEST_REFERENCE:
            return None
        fold[order] = np.arange(len(order)) % 2
    return fold


def _sides(variant_set, outcomes, size, fold, *, bound, covariates=None):
    known = {"rows": outcomes.rows, "is_selected": fold >= 0}
    X = joined_rows(variant_set, size, covariates=covariates, **known)
    kept = np.flatnonzero(fold >= 0)
    Y = np.clip(outcomes.values[size][:, kept], -bound, bound)
    return Sides.of(X, Y, rows=outcomes.rows, is_member=outcomes.is_training[kept], fold=fold[kept])


def _exact_releases(statistics, size, counts):
    gram, cross = _exact(statistics, size)
    for count in counts:
        terms = NO_PRIVACY | {"n_variants": size, "n_outcomes": count}
        yield from _statistics_releases(terms, None, gram=gram, cross=cross[:count], n=statistics.n_rows)


def _exact(statistics, size):
    """Return X'X of variants, intercept last, and the centred X'Y, scaled up where outcomes are missing."""
    gram = statistics.gram_of_size(size, has_covariates=False) * statistics.gram_step
    cross = statistics.cross[size][:, [*range(size), -1]] * statistics.cross_step
    _, means = centred_gram(gram, statistics.n_rows)
    scale = statistics.n_rows / np.maximum(statistics.n_observed, 1)
    return gram, (cross[:, :-1] - 2 * np.outer(cross[:, -1], means)) * scale[:, np.newaxis]


def _noisy_releases(noisy, size):
    for label, arrays in noisy.of(lambda label: _is_attacked(label["request"], size)):
        sigma = {event["statistic"]: event["sigma"] for event in label["events"]}
        yield from _statistics_releases(
            {"method": ""} | _terms(label["request"], label["n_outcomes"]),
            _row_loss(label),
            gram=arrays["gram"],
            cross=arrays["cross"],
            n=label["n"],
            gram_sigma=sigma.get("gram", 0.0),
            cross_sigma=sigma.get("cross product", 0.0),
        )


def _is_attacked(request, size):
    is_full = request["protection"] == Protection.FULL and request["coding"] == Coding.HALF
    return is_full and request["n_variants"] == size


def _statistics_releases(terms, mu, *, gram, cross, n, gram_sigma=0.0, cross_sigma=0.0):
    """Yield the attacks on X'X, for which genotypes suffice, and on X'X with X'Y."""
    known = {"gram": gram, "n": n}
    yield Release({"attack": "gram"} | terms, mu, partial(gram_scores, sigma=gram_sigma, **known))
    known |= {"cross": cross, "gram_sigma": gram_sigma, "cross_sigma": cross_sigma}
    yield Release({"attack": "statistics"} | terms, mu, partial(statistics_scores, **known))


def _penalties(sides, penalty, *, n):
    """Return the penalty per row of each RidgeOf: for a heritability of 1/2 the sum of variances over n."""
    of_half = sides.variance / n
    return {RidgeOf.NOTHING: 0.0, RidgeOf.LAMBDA: penalty, RidgeOf.HALF: of_half}


def _weights_releases(fits, drawn, size, counts, *, n, penalties):
    losses = {
        tuple(_terms(label["request"], label["n_outcomes"]).values()): _row_loss(label) for label in drawn
    }

    def ridge(label):
        return METHODS[label["method"]].ridge if label["method"] in METHODS else None

    def is_attacked(label):
        is_known = ridge(label) is not None and label["protection"] in ATTACKED_UNDER
        return is_known and label["reported"] and label["n_variants"] == size

    for label, arrays in fits.of(is_attacked):
        taken = ridge(label)
        is_private = label["protection"] != Protection.NONE
        for count in [len(arrays["weights"])] if is_private else counts:
            fit = LinearFit(arrays["weights"][:count], arrays["means"], arrays["intercept"][:count])
            terms = _terms(label, len(fit.weights))
            known = {"fit": fit, "n": n, "penalty": penalties[taken]}
            yield Release(
                {"attack": "weights", "method": label["method"]} | terms,
                losses[tuple(terms.values())] if is_private else None,
                partial(weights_scores, **known),
                has_covariates=True,
            )


def _terms(label, n_outcomes):
    """Return the terms of a release but for the method."""
    terms = {name: label[name] for name in TERMS if name != "method"}
    return terms | {"n_variants": label["n_variants"], "n_outcomes": n_outcomes}


def _row_loss(label):
    """Return the mu of one row from the events of a release, whose unit may own several rows."""
    request = label["request"]
    is_group = request["unit"] == Unit.PERSON and request["rows"] == Rows.HAPLOTYPES
    whole = math.sqrt(1 - (request.get("covariate_share") or 0))  # a regression on covariates had the rest
    return math.hypot(*(event["mu"] for event in label["events"])) / whole / (2 if is_group else 1)


def _outcome_of(release, sides):
    """Return the records of an attack: on people and, where rows are haplotypes, on these too."""
    scores = sides.scores(release.attack)
    known = release.label | {"n_reference": sides.n_reference}
    n_rows = _rows_per_person(sides.rows)
    units = {Unit.PERSON: n_rows} | ({Unit.HAPLOTYPE: 1} if n_rows > 1 else {})
    return [
        known | {"target": str(unit)} | _success(scores, sides, release.mu, n_rows=rows)
        for unit, rows in units.items()
    ]


def _success(scores, sides, mu, *, n_rows):
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
