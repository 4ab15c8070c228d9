"""The metrics of a release: withheld, measured on people held out at a charge, or on public people."""

from dataclasses import asdict

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.evaluation.metrics import METRICS, TERMS, mse, r_squared
from dpgrs.evaluation.private_metrics import (
    AccuracyRequest,
    accuracy_sums,
    grid_weights,
    measure,
    private_accuracy,
)
from dpgrs.evaluation.rows import joined_rows, selected_units
from dpgrs.io.covariates import Covariates
from dpgrs.io.files import read_table, write_table, written_digest
from dpgrs.io.panel import Panel, check_same_people
from dpgrs.io.trials import Outcomes, load_labelled, save_labelled, write_events
from dpgrs.linalg.norms import budget_groups
from dpgrs.methods.mechanisms import request_of
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.privacy.ledger.charging import check, complete, release
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.ledger.hash_chain import digest
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.noise.sources import statistic_digest
from dpgrs.privacy.noise.study_key import load_study_key
from dpgrs.privacy.private_folders import require_closed
from dpgrs.steps.release_constants import no_copies, published, reference_sums
from dpgrs.steps.released import claimed_draws, fit_of_release, load_released
from dpgrs.study.request_identity import (
    ACCURACY,
    identify_accuracy,
    identify_part,
    loadings_identity,
    weights_origin,
)
from dpgrs.types import Metrics

SHARED_TERMS = ("rows", "n_outcomes", "outcome_bound", "delta", "neighbours", "unit", "accounting")


def withhold_metrics(noisy, outcomes, weights, seconds, *, output, accuracy, events):
    """Write the metrics of a release: one row an outcome with its terms, and no accuracy.

    Accuracy on private rows is private, and was not paid for.

    Parameters
    ----------
    noisy, outcomes, weights, seconds : paths of what earlier steps wrote.
    output : path of the table.
    accuracy, events : paths of the noisy sums behind it and of what was drawn; none.
    """
    save_labelled(accuracy, [])
    write_events(events, [])
    withheld = dict.fromkeys(["r2", "mse", "mse_nonprivate"], np.nan)
    table = _terms(noisy, Outcomes.load(outcomes).names, weights, seconds)
    write_table(output, table.assign(**withheld, status=Metrics.WITHHELD.value)[METRICS])


def release_metrics(
    noisy,
    outcomes,
    weights,
    seconds,
    *,
    output,
    accuracy,
    events,
    panel,
    sites,
    ledger,
    identity,
    epsilon,
    residual_bound,
    fit,
    covariates=None,
    loadings=None,
):
    """Measure released weights on held-out people, charged to the ledger before the noise is drawn.

    The weights are fitted here, from noisy statistics that are held against the ledger.

    Parameters
    ----------
    noisy, outcomes, weights, seconds : paths of what earlier steps wrote, of one fit; of the weights, their
        terms alone are read.
    output : path of the table. An outcome that noise drowns is withheld, though it was paid for.
    accuracy, events : paths of the noisy sums behind it, and of what was drawn, JSON.
    panel, sites, ledger : paths.
    identity : dict, as in `dpgrs.steps.noise.release_statistics`.
    epsilon : float, of the metrics alone; shared by the outcomes that share a budget for the weights.
    residual_bound : float, public.
    fit : dict, settings of the fit, as in `fit_of_release`; here and below.
    covariates : path of the covariates that the fit has weights of; None where there are none.
    loadings : path of the public loadings of principal components; None without them.
    """
    require_closed(noisy, outcomes, panel, accuracy, events)
    ledger, identity = Ledger(ledger), identity | loadings_identity(loadings)
    released, statistics = load_released(noisy, ledger.read())
    trained = request_of(released)
    fitted = grid_weights(fit_of_release(released, statistics, fit))
    terms = {name: getattr(trained, name) for name in SHARED_TERMS}
    request = AccuracyRequest(epsilon=epsilon, residual_bound=residual_bound, **terms)
    outcomes, names = Outcomes.load(outcomes), tuple(released["outcomes"])
    size = trained.n_variants
    exact = _sum_up(Panel.open(panel), size, outcomes, Covariates.load(covariates), fitted, request)
    (sums, drawn), receipt = release(
        lambda noise: private_accuracy(exact, request=request, noise=noise, outcome_names=names),
        identify=lambda part: identify_accuracy(
            identify_part(
                identity, written_digest(sites), trained, ("outcomes", *part[1:]), mechanism=ACCURACY
            ),
            residual_bound=residual_bound,
            weights=weights_origin(released, part[1:], fit=fit),
        ),
        account=Account(trained.protection, trained.unit, trained.neighbours),
        ledger=ledger,
        study_key=load_study_key(),
    )
    label = {"request": asdict(request), "outcomes": names, "requests": list(receipt.requests.items())}
    label |= {"events": [event.as_dict() for event in drawn]}
    check(receipt, ledger)
    save_labelled(accuracy, [(label, {"sums": sums})])
    write_events(events, [label])
    found = measure(sums, request=request)
    status = np.where(np.isnan(found.r2), Metrics.WITHHELD.value, "ok")
    table = _terms(noisy, names, weights, seconds)
    table = table.assign(r2=found.r2, mse=found.mse, mse_nonprivate=np.nan, status=status)
    write_table(output, table[METRICS])
    complete(receipt, ledger)


def public_metrics(
    noisy, outcomes, weights, seconds, *, output, accuracy, events, panel, ledger, fit, covariates=None
):
    """Measure released weights on public people: it costs no privacy.

    Parameters
    ----------
    noisy, weights, seconds : paths of what earlier steps wrote, of one fit; of the weights, their terms alone
        are read.
    outcomes, panel : paths of the outcomes and the panel of the public people, all of whom are measured on.
    output : path of the table. R^2 compares with a prediction of 0, the public mean.
    accuracy, events : paths of the numbers behind it, for the statement, and of what was drawn: nothing.
    ledger : path, against which the statistics are held.
    fit : dict, settings of the fit.
    covariates : path of the covariates of the public people; None where there are none.

    Raises
    ------
    DpgrsError
        If the outcomes are others than the study's.
    """
    released, statistics = load_released(noisy, Ledger(ledger).read())
    outcomes, names = Outcomes.load(outcomes), tuple(released["outcomes"])
    if outcomes.names != names:
        raise DpgrsError(
            "The outcomes of the public people must be the study's, with the same names in the same order. "
            "Name the columns of `evaluation.outcomes` alike."
        )
    panel, n_variants = Panel.open(panel), released["request"]["n_variants"]
    X = joined_rows(panel, n_variants, rows=outcomes.rows, covariates=Covariates.load(covariates))
    Y = outcomes.values[n_variants]
    # What is stated is measured on what is published.
    fitted = published(fit_of_release(released, statistics, fit))
    predicted = fitted.predict(X)
    n_people = np.isfinite(Y).sum(axis=1) * panel.n_samples // Y.shape[1]
    found = {"r2": r_squared(Y, predicted, training_mean=np.zeros(len(names))), "mse": mse(Y, predicted)}
    scores = fitted.weights @ (X - no_copies(X.shape[1], n_variants, rows=outcomes.rows)).T
    behind = found | {"sums": reference_sums(Y, scores)}
    save_labelled(accuracy, [({"outcomes": names, "n_people": n_people.tolist()}, behind)])
    write_events(events, [])
    table = _terms(noisy, names, weights, seconds)
    write_table(output, table.assign(**found, mse_nonprivate=np.nan, status="ok")[METRICS])


def load_accuracy(path, book, released, *, fit):
    """Read what a release measured, and check that the ledger charged for it and whose weights it is about.

    Parameters
    ----------
    path : the noisy sums.
    book : Book of the dataset's ledger.
    released : dict, label of the noisy statistics of the release.
    fit : dict, settings of its fit.

    Returns
    -------
    events : list of dict, one for each budget; empty where accuracy is withheld.
    stated : list of dict, what the statement says of each outcome.

    Raises
    ------
    DpgrsError
        If the sums or their terms are not those of completed requests, or other weights were measured.
    """
    measured = load_labelled(path)
    if not measured:
        return [], []
    ((label, arrays),) = measured
    if "n_people" in label:
        return [], _stated_of_public(label, arrays)
    request, sums = AccuracyRequest(**label["request"]), arrays["sums"]
    requests = {tuple(part): request_id for part, request_id in label["requests"]}
    stored = {part: book.outputs.get(request_id) for part, request_id in requests.items()}
    # A part is one draw; the ledger holds the digest of the list of its draws.
    drawn = {part: digest([one]) for part, one in _digests_by_part(sums, label["outcomes"], request).items()}
    if drawn != stored or not all(_is_charged(label, book, request, own) for own in requests.values()):
        raise DpgrsError(
            f"`{path}` must be what the ledger charged for, got other numbers or an incomplete request. "
            "Remove it and run the study again: that is a replay."
        )
    for part, request_id in requests.items():
        if book.requests[request_id].identity["weights"] == weights_origin(released, part[1:], fit=fit):
            continue
        raise DpgrsError(
            f"`{path}` must be the accuracy of the weights that are released, got that of others. "
            "Run the study again."
        )
    return label["events"], _stated(label["outcomes"], measure(sums, request=request), request)


def _is_charged(label, book, request, request_id):
    """Tell whether a request of the ledger is about what the label claims of it: its draw and its terms."""
    reserved, claimed = book.requests[request_id], claimed_draws(label, request_id)
    bound = reserved.identity["residual_bound"]
    return (
        (reserved.account.unit, reserved.account.neighbours) == (request.unit, request.neighbours)
        and reserved.identity["draws"] == claimed
        and (bound, [draw["mu"] for draw in claimed])
        == (exact_text(request.residual_bound), [exact_text(request.mu)])
    )


def load_reference_sums(path):
    """Return the sums over public people behind the metrics of a release; None where it has others or none.

    Parameters
    ----------
    path : as in `load_accuracy`.

    Returns
    -------
    (n_outcomes, 6) float64, from `dpgrs.steps.release_constants.reference_sums`, or None.
    """
    measured = load_labelled(path)
    return measured[0][1]["sums"] if measured and "n_people" in measured[0][0] else None


def _digests_by_part(columns, names, request):
    """Digest the columns, one an outcome, of every part that `private_accuracy` draws: a dict."""
    groups = budget_groups(len(names), n_shared=request.n_outcomes)
    return {("accuracy", *names[group]): statistic_digest(columns[:, group]) for group in groups}


def _terms(noisy, names, weights, seconds):
    """Return one row for each fit and outcome: its terms, and the number of rows that was released."""
    elapsed = read_table(seconds, needed=["seconds"])["seconds"]
    tables = []
    for (label, _), (released, _), fit_seconds in zip(
        load_labelled(weights), load_labelled(noisy), elapsed, strict=True
    ):
        known = {name: label[name] for name in (*TERMS, "n_variants", "n_outcomes")}
        known |= {"trial": 1, "outcome": names[: label["n_outcomes"]], "n_rows": released["n"]}
        tables.append(pd.DataFrame(known | {"seconds": fit_seconds}))
    return pd.concat(tables, ignore_index=True)


def _sum_up(panel, size, outcomes, covariates, weights, request):
    """Return the exact sums of the held-out rows, for as many outcomes as there are weights."""
    check_same_people(panel, outcomes, covariates)
    is_test = ~outcomes.is_training
    units = selected_units(covariates, is_test)
    if panel.has_dosages:
        # As whole steps, like covariates: only of calls are predictions exact in float64.
        dosages = panel.genotypes(panel.of_size(size))[:, is_test]
        X, units = np.empty((dosages.shape[1], 0)), np.vstack([dosages, *([] if units is None else [units])])
    else:
        X = joined_rows(panel, size, rows=outcomes.rows, is_selected=is_test)
    return accuracy_sums(
        outcomes.values[size][: len(weights), is_test],
        X,
        weights,
        outcome_bound=request.outcome_bound,
        residual_bound=request.residual_bound,
        covariates=units,
    )


def _stated(names, accuracy, request):
    """Return what the statement says of the accuracy of each outcome."""
    shared = "for all outcomes together" if request.n_outcomes == len(names) else "for each outcome alone"
    cost = f"epsilon {request.epsilon:g} at delta {request.delta:g}, {shared}"
    values = zip(accuracy.r2, accuracy.r2_sd, accuracy.mse, accuracy.mse_sd, strict=True)
    return [
        {"name": name, "value": _in_words(*one), "cost": cost}
        for name, one in zip(names, values, strict=True)
    ]


def _stated_of_public(label, found):
    """Return what the statement says of accuracy on public people."""
    values = zip(label["outcomes"], found["r2"], found["mse"], label["n_people"], strict=True)
    return [
        {
            "name": name,
            "value": f"R^2 {r2:.4f}, mean squared error {error:.4f}",
            "cost": f"none, measured on {n_people} people of the public reference",
        }
        for name, r2, error, n_people in values
    ]


def _in_words(r2, r2_sd, mse, mse_sd):
    if np.isnan(r2):
        return "withheld: the noise drowns it"
    return (
        f"R^2 {r2:.4f} with noise of standard deviation {r2_sd:.4f}, "
        f"mean squared error {mse:.4f} with {mse_sd:.4f}"
    )
