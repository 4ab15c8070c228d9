"""The accuracy that a release measured, held against the ledger, and what its statement says of it."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.evaluation.private_metrics import AccuracyRequest, measure
from dpgrs.io.replicates import load_labelled
from dpgrs.linalg.norms import budget_groups
from dpgrs.privacy.accounting.exact_numbers import exact_text, text_above
from dpgrs.privacy.digests import digest, statistic_digest
from dpgrs.privacy.noise.claims import scale_above
from dpgrs.statement.words import decimal_text
from dpgrs.study.fit_identity import weights_origin
from dpgrs.study.released import claimed_draws

if TYPE_CHECKING:
    from dpgrs.evaluation.private_metrics import Accuracy
    from dpgrs.privacy.ledger.ledger import Book


def load_accuracy(
    path: Path | str,
    book: "Book",
    released: Mapping[str, Any],
    *,
    fit: Mapping[str, Any],
    constants: pd.DataFrame | None = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Read what a release measured, and check that the ledger charged for it and whose weights it is about.

    The arguments are the noisy sums, the label of the release's noisy statistics, the settings of its fit,
    and the public constants of outcomes, from `dpgrs.study.table_settings.outcome_constants`, if any. The
    first result has the events, one for each budget, empty if accuracy is withheld; the second has what the
    statement says of each outcome. Sums or terms that are not of completed requests, and measures of other
    weights, are refused.
    """
    measured = load_labelled(path)
    if not measured:
        return [], []
    ((label, arrays),) = measured
    if "n_people" in label:
        return [], _stated_of_public(label, arrays)
    request, sums = AccuracyRequest(**label["request"]), arrays["sums"]
    requests = {tuple(release_part): request_id for release_part, request_id in label["requests"]}
    stored = {release_part: book.outputs.get(request_id) for release_part, request_id in requests.items()}
    # A part is one draw; the ledger holds the digest of the list of its draws.
    digests = {
        release_part: digest([sums_digest])
        for release_part, sums_digest in _digests_by_part(sums, label["outcomes"], request).items()
    }
    if digests != stored or not all(
        _is_charged(label, book, request, charged_id) for charged_id in requests.values()
    ):
        raise DpgrsError(
            "accuracy-not-charged",
            f"`{path}` must be what the ledger charged for, got other numbers or an incomplete request. "
            "Remove it and run the study again: what this ledger holds is replayed, and all else is charged.",
        )
    for release_part, request_id in requests.items():
        origin = weights_origin(released, release_part[1:], fit=fit, book=book)
        if book.requests[request_id].identity["weights"] == origin:
            continue
        raise DpgrsError(
            "accuracy-of-other-weights",
            f"`{path}` must be the accuracy of the weights that are released, got that of others. "
            "Run the study again.",
        )
    prevalence = None
    if constants is not None:
        prevalence = constants["centre"].where(constants["is_binary"]).to_numpy()
    accuracy = measure(sums, request=request, prevalence=prevalence)
    return label["events"], _stated(label["outcomes"], accuracy, request)


def load_reference_sums(path: Path | str) -> np.ndarray | None:
    """Return the sums over public people of the metrics of a release; None if it has others or none.

    They are (n_outcomes, 6) float64, from `dpgrs.release.constants.reference_sums`.
    """
    measured = load_labelled(path)
    return measured[0][1]["sums"] if measured and "n_people" in measured[0][0] else None


def load_measures(path: Path | str) -> pd.DataFrame | None:
    """Return the measures on public people of a release: outcome and the fields of a Measure.

    None if accuracy was not measured on public people.
    """
    labels = load_labelled(path).labels
    return pd.DataFrame(labels[0]["measures"]) if labels and "measures" in labels[0] else None


def _is_charged(label: Mapping[str, Any], book: "Book", request: AccuracyRequest, request_id: str) -> bool:
    """Return whether a request of the ledger is about what the label claims of it: its draw and its terms."""
    reserved, claimed = book.requests[request_id], claimed_draws(label, request_id)
    bound = reserved.identity["residual_bound"]
    sigma = scale_above(request.sensitivity.value, share=request.mu)
    return (
        (reserved.account.unit, reserved.account.neighbours) == (request.unit, request.neighbours)
        and reserved.identity["draws"] == claimed
        and (bound, [draw["sigma"] for draw in claimed])
        == (exact_text(request.residual_bound), [exact_text(sigma)])
    )


def _digests_by_part(
    columns: np.ndarray, names: Sequence[str], request: AccuracyRequest
) -> dict[tuple[str, ...], str]:
    """Digest the columns, one an outcome, of every part that `private_accuracy` draws."""
    groups = budget_groups(len(names), n_shared=request.n_outcomes)
    return {("accuracy", *names[group]): statistic_digest(columns[:, group]) for group in groups}


def _stated(names: Sequence[str], accuracy: "Accuracy", request: AccuracyRequest) -> list[dict[str, Any]]:
    """Return the accuracy of each outcome as the statement words it."""
    shared = "for all outcomes together" if request.n_outcomes == len(names) else "for each outcome alone"
    epsilon, delta = (
        decimal_text(text_above(Fraction(repr(parameter)), digits=6))
        for parameter in (request.epsilon, request.delta)
    )
    cost = f"epsilon {epsilon} at delta {delta}, {shared}"
    return [
        {"name": name, "value": _in_words(accuracy, index), "cost": cost} for index, name in enumerate(names)
    ]


def _stated_of_public(label: Mapping[str, Any], accuracy: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return accuracy on public people as the statement words it."""
    values = zip(label["outcomes"], accuracy["r2"], accuracy["mse"], label["n_people"], strict=True)
    return [
        {
            "name": name,
            "value": f"R^2 {r2:.4f}, mean squared error {error:.4f}",
            "cost": f"none, measured on {n_people} people of the public reference",
        }
        for name, r2, error, n_people in values
    ]


def _in_words(accuracy: "Accuracy", index: int) -> str:
    r2, mse, r2_sd, mse_sd = (getattr(accuracy, name)[index] for name in ("r2", "mse", "r2_sd", "mse_sd"))
    if np.isnan(r2):
        return "withheld: the noise drowns it"
    counts = [
        f"{getattr(accuracy, name)[index]:.1f} {noun} with {getattr(accuracy, f'{name}_sd')[index]:.1f}"
        for name, noun in (("n", "rows"), ("cases", "cases"), ("controls", "controls"))
        if np.isfinite(getattr(accuracy, name)[index])
    ]
    return ", ".join(
        [
            f"R^2 {r2:.4f} with noise of standard deviation {r2_sd:.4f}",
            f"mean squared error {mse:.4f} with {mse_sd:.4f}",
            *counts,
        ]
    )
