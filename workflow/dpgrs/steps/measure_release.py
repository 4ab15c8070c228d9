"""The metrics of a release: withheld, measured on people held out at a charge, or on public people."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.evaluation.metrics import RELEASED_METRICS, TERMS, mse, r_squared
from dpgrs.evaluation.private_metrics import (
    AccuracyRequest,
    grid_weights,
    measure,
    private_accuracy,
)
from dpgrs.evaluation.rows import joined_rows
from dpgrs.io.covariates import Covariates
from dpgrs.io.files import write_table, written_digest
from dpgrs.io.json_files import read_json
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled, save_labelled, write_events
from dpgrs.io.variant_set import VariantSet
from dpgrs.methods.mechanisms import request_of
from dpgrs.privacy.ledger.charging import Receipt, complete, release
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.noise.study_key import load_study_key
from dpgrs.privacy.private_folders import require_closed
from dpgrs.release.audits import drawn_statistics, require_audited
from dpgrs.release.bundle_room import require_no_other_bundle
from dpgrs.release.constants import no_copies, published, reference_sums
from dpgrs.study.fit_identity import effects_identity, fit_settings, ld_identity, weights_origin
from dpgrs.study.held_out import held_out_sums
from dpgrs.study.identity import accuracy_identity, loadings_identity, public_identity
from dpgrs.study.made_by import require_public
from dpgrs.study.released import load_released, load_weights
from dpgrs.study.score_measures import MeasuredPeople
from dpgrs.types import Metrics

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.linalg.linear_fit import LinearFit

# Rules give of these `dpgrs.study.requests.READS_OF_METRICS`.
READS = (
    "mode",
    "study",
    "seed",
    "methods",
    "outcomes",
    "privacy.ledger",
    "privacy.ld_share",
    "regression",
    "evaluation",
    "dataset",
    "cohort",
    "covariates",
    "people",
    "public",
)

WRITES = ("output", "accuracy")
RESTS_ON = (
    "drawn",
    "weights",
    "outcomes",
    "variant_set",
    "covariates",
    "sites",
    "loadings",
    "ld",
    "effects",
    "audit",
)


def measure_release(
    settings: "StudyConfig",
    drawn: Path,
    outcomes: Path,
    weights: Path,
    *,
    variant_set: Path | None = None,
    sites: Path | None = None,
    covariates: Path | None = None,
    loadings: Path | None = None,
    ld: Path | None = None,
    effects: Path | None = None,
    audit: Path | None = None,
    output: Path,
    accuracy: Path,
    events: Path,
    # Called when all files are read: raises DpgrsError if one was replaced since its note was compared.
    before_charge: Callable[[], None] | None = None,
) -> None:
    """Measure a release on people held out, at a charge, or on public people, or withhold its metrics.

    Raises DpgrsError if files do not belong together, or not to what the ledger charged for.

    Parameters
    ----------
    drawn : noisy results of the release.
    outcomes : outcomes of the people to measure on.
    weights : weights of one fit.
    variant_set : the variant set of the people to measure on; not needed if metrics are withheld.
    sites : public sites, if metrics are charged.
    covariates : covariates of these people, if the fit has weights of covariates.
    loadings : public loadings of principal components.
    ld : linkage disequilibrium of public genotypes, for fits that use it.
    effects : public effects, for fits that start from them.
    audit : audits of the mechanisms, if metrics are charged: stale ones, and those of other mechanisms, are
        refused before the charge.
    output : the table of metrics to write.
    accuracy : file to write of the sums that the metrics are computed from; they are noisy if they are
        charged.
    events : record of the draws to write, JSON.
    """
    if settings.evaluation.metrics == Metrics.CHARGED:
        require_closed(drawn, weights, outcomes, variant_set, accuracy, events)
    if settings.evaluation.metrics == Metrics.PUBLIC:
        require_public([outcomes, variant_set, covariates])
    ledger = Ledger(settings.privacy.ledger)
    label, noisy = load_released(drawn, ledger.read())
    fit_terms = fit_settings(settings) | ld_identity(ld) | effects_identity(effects)
    fit = load_weights(weights, label, noisy, fit=fit_terms)
    outcomes = Outcomes.load(outcomes)

    def write(
        columns: dict[str, Any],
        numbers: Sequence[tuple[dict[str, Any], Mapping[str, np.ndarray]]],
        drawn_labels: Sequence[dict[str, Any]],
    ) -> None:
        """Write the table, the numbers that it follows from, and the labels of draws for it."""
        save_labelled(accuracy, numbers)
        write_events(events, drawn_labels)
        table = _fit_terms(label, weights)
        write_table(output, table.assign(mse_nonprivate=np.nan, **columns)[RELEASED_METRICS])

    if settings.evaluation.metrics == Metrics.WITHHELD:
        write({"r2": np.nan, "mse": np.nan, "status": Metrics.WITHHELD.value}, [], [])
        return
    people = {
        "variant_set": VariantSet.open(variant_set),
        "outcomes": outcomes,
        "covariates": Covariates.load(covariates),
    }
    if settings.evaluation.metrics == Metrics.PUBLIC:
        accuracies, sum_label = _measure_in_public(label, fit, n_components=settings.covariates.pcs, **people)
        write({**accuracies, "status": "ok"}, [sum_label], [])
        return
    identity = public_identity(settings) | loadings_identity(loadings)
    public = {
        "identity": identity,
        "site_digest": written_digest(sites),
        "fit": fit_terms,
        "audit": audit,
        "before_charge": before_charge,
    }
    # Other public genotypes at the same sites give other weights of the same noisy statistics.
    require_no_other_bundle(accuracy, ledger=ledger, public_terms=identity["dataset"], fit=fit_terms)
    request = AccuracyRequest.of(request_of(label), settings.evaluation)
    (sum_label, sums), receipt = _charge(label, grid_weights(fit), request, ledger, **people, **public)
    # Complete the entry before storing the sums, as `draw` does: nobody has seen sums that it lacks.
    complete(receipt, ledger, study=settings.study)
    accuracies = measure(sums, request=request)
    status = np.where(np.isnan(accuracies.r2), Metrics.WITHHELD.value, "ok")
    write(
        {"r2": accuracies.r2, "mse": accuracies.mse, "status": status},
        [(sum_label, {"sums": sums})],
        [sum_label],
    )


def _charge(
    label: dict[str, Any],
    weights: np.ndarray,  # (n_outcomes, n_columns) int64
    request: AccuracyRequest,
    ledger: Ledger,
    *,
    variant_set: VariantSet,
    outcomes: Outcomes,
    covariates: Covariates | None,
    identity: dict[str, Any],
    site_digest: str | None,
    fit: dict[str, Any],
    audit: Path | None,
    before_charge: Callable[[], None] | None,
) -> tuple[tuple[dict[str, Any], np.ndarray], Receipt]:
    """Charge the ledger, then draw the sums; returns their label and numbers, and the receipt."""
    trained, names = request_of(label), tuple(label["outcomes"])
    exact = held_out_sums(variant_set, trained.n_variants, outcomes, covariates, weights, request)
    book = ledger.read()

    def identify(outcome_part: tuple[str, ...]) -> dict[str, Any]:
        weights = weights_origin(label, outcome_part[1:], fit=fit, book=book)
        measure_terms = {"residual_bound": request.residual_bound, "weights": weights}
        return accuracy_identity(identity, site_digest, trained, outcome_part[1:], **measure_terms)

    def allow(planned_draws: Sequence[dict[str, Any]]) -> None:
        if audit is not None:
            require_audited(read_json(audit, kind=list), statistics=drawn_statistics(planned_draws))
        if before_charge is not None:
            before_charge()

    (sums, drawn_events), receipt = release(
        lambda noise: private_accuracy(exact, request=request, noise=noise, outcome_names=names),
        identify=identify,
        account=Account(trained.protection, trained.unit, trained.neighbours),
        ledger=ledger,
        study_key=load_study_key(),
        allow=allow,
    )
    sum_label = {"request": asdict(request), "outcomes": names, "requests": list(receipt.requests.items())}
    return (sum_label | {"events": [event.as_dict() for event in drawn_events]}, sums), receipt


def _measure_in_public(
    label: dict[str, Any],
    fit: "LinearFit",
    *,
    variant_set: VariantSet,
    outcomes: Outcomes,
    covariates: Covariates | None,
    n_components: int,
) -> tuple[dict[str, np.ndarray], tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Return R^2 and error of all outcomes on public people, and label and arrays of the sums behind them.

    R^2 compares with a prediction of 0, the public mean.
    """
    names = tuple(label["outcomes"])
    if outcomes.names != names:
        raise DpgrsError(
            "public-outcomes-differ",
            "The outcomes of the public people must be the study's, with the same names in the same order. "
            "Name the columns of `evaluation.outcomes` alike.",
        )
    n_variants = label["request"]["n_variants"]
    X = joined_rows(variant_set, n_variants, rows=outcomes.rows, covariates=covariates)
    Y = outcomes.values[n_variants]
    # The stated accuracy is measured on the published fit.
    fit = published(fit)
    predicted = fit.predict(X)
    n_people = np.isfinite(Y).sum(axis=1) * variant_set.n_samples // Y.shape[1]
    accuracies = {"r2": r_squared(Y, predicted, training_mean=np.zeros(len(names))), "mse": mse(Y, predicted)}
    scores = fit.weights @ (X - no_copies(X.shape[1], n_variants, rows=outcomes.rows)).T
    numbers = accuracies | {"sums": reference_sums(Y, scores)}
    options = {"is_measured": np.ones(Y.shape[1], dtype=bool), "n_components": n_components}
    people = MeasuredPeople(variant_set, outcomes, covariates, size=n_variants, **options)
    measured = people.measures([fit], n_outcomes=len(names))
    measures = [
        {"outcome": names[outcome]} | measure._asdict()
        for _, outcome, person_measures in measured
        for measure in person_measures
    ]
    sum_label = {"outcomes": names, "n_people": n_people.tolist(), "measures": measures}
    return accuracies, (sum_label, numbers)


def _fit_terms(released: dict[str, Any], weights: Path) -> pd.DataFrame:
    """Return one row for each outcome: the terms of its fit, and the released number of rows."""
    ((label, _),) = load_labelled(weights)
    columns = {name: label[name] for name in (*TERMS, "n_variants", "n_outcomes")}
    columns |= {"replicate": 1, "outcome": released["outcomes"], "n_rows": released["n"]}
    return pd.DataFrame(columns)
