"""The pages of a release, lists of sections of released and public values: an overview, one per outcome."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dpgrs.reporting.outcome_figures import MAX_BARS, WeightsFigure, shared_places
from dpgrs.reporting.outcome_measures import CARRIED, RELEASED_MEASURES
from dpgrs.reporting.release_data import AUDITED, STATISTICS, ReleaseData, terms_rows
from dpgrs.reporting.rendering import (
    Drawing,
    Section,
    outcome_links,
    outcome_pages,
    same_for_all,
    write_assets,
    write_page,
)
from dpgrs.reporting.svg import PALETTE
from dpgrs.reporting.terms import protected_in_words
from dpgrs.statement.text import rows_of_cases

STRIP_HEIGHT = 140


def _released(data: ReleaseData) -> dict[str, Any]:
    return {
        "terms": terms_rows(data.statement),
        "n_rows": data.n_rows,
        "count_sd": data.count_sd,
        "has_binary": data.scales is not None and bool(data.scales["is_binary"].any()),
        "has_private_count": data.has_private_count,
    }


def _outcomes(data: ReleaseData) -> dict[str, Any]:
    links, possible = outcome_links(len(data.outcomes), "outcomes/"), data.possible_accuracy
    rows = []
    for index, (name, score) in enumerate(zip(data.outcomes, data.statement["scores"], strict=True)):
        largest = np.abs(data.weights[index]).argmax()
        rows.append(
            {
                "number": index + 1,
                "name": name,
                "link": links[index + 1],
                "largest": abs(data.weights[index, largest]),
                "site": data.variants.iloc[data.variant_rows(index)[largest]],
                "score": score,
                "accuracy": possible.loc[name],
                "is_beyond": not possible.loc[name].equals(data.accuracy.loc[name]),
            }
        )
    return {"outcomes": rows, "has_beyond": any(row["is_beyond"] for row in rows)}


def _promise(data: ReleaseData) -> dict[str, Any]:
    protection, has_covariates = data.statement["guarantee"]["protection"], data.covariates is not None
    return {
        "terms": terms_rows(data.statement),
        "protected": protected_in_words(protection, has_covariates=has_covariates),
    }


def _guarantee(data: ReleaseData) -> dict[str, Any]:
    named = {"statistics": STATISTICS, "audited": AUDITED}
    return _promise(data) | named | {"mechanisms": data.statement["mechanisms"]}


def _weights(data: ReleaseData) -> Callable[[int], dict[str, Any]]:
    drawing = WeightsFigure(
        data.variants, labels=["Released weights"], colors=PALETTE[:1], strip_height=STRIP_HEIGHT
    )
    is_chosen = data.chosen is not None
    label = f"Released weights of {'the chosen' if is_chosen else 'all'} variants along the genome"

    def of_outcome(outcome: int) -> dict[str, Any]:
        largest = data.largest_rows(outcome)
        rows = data.chosen_rows(outcome) if is_chosen else largest
        tallest = largest.iloc[0]
        figure = drawing.draw(
            data.weights[outcome][np.newaxis],
            [f"tallest: {tallest.contig}:{tallest.position:,}"],
            variant_rows=data.variant_rows(outcome) if is_chosen else slice(None),
        )
        return {
            "is_thinned": data.n_weights > MAX_BARS,
            "rows": list(rows.itertuples(index=False)),
            "has_errors": "standard_error" in rows,
            "score": data.statement["scores"][outcome],
            "figures": {"weights": Drawing(figure, label)},
        }

    return of_outcome


def _cases(data: ReleaseData) -> Callable[[int], dict[str, Any] | None] | None:
    counts = {count["outcome"]: count for count in data.statement.get("case_counts", ())}
    rows = rows_of_cases(data.statement)

    def of_outcome(outcome: int) -> dict[str, Any] | None:
        case_count = counts.get(data.outcomes[outcome])
        return None if case_count is None else {"counts": case_count, "rows": rows}

    return of_outcome if counts else None


def _prediction(data: ReleaseData) -> Callable[[int], dict[str, Any]]:
    constants = data.constants["constant"]
    return lambda outcome: {
        "constant": constants[data.outcomes[outcome]],
        "covariates": data.covariates_of(outcome),
    }


def _covariates(data: ReleaseData) -> Callable[[int], dict[str, Any]] | None:
    if data.covariates is None:
        return None
    return lambda outcome: {"covariates": data.covariates_of(outcome)}


def _accuracy(data: ReleaseData) -> Callable[[int], dict[str, Any]]:
    return lambda outcome: {
        "accuracy_in_words": data.accuracy_in_words(outcome),
        "is_charged": data.has_charged_accuracy,
        "beyond": data.beyond_possible(outcome),
    }


# The contexts of two sections: the budget, and nothing but what all sections share.
BUDGET, SHARED = (lambda data: {"budget": data.budget}), (lambda data: {})


OVERVIEW = [
    Section("What was released", "released.html", _released, anchor="release"),
    Section("Outcomes", "released_outcomes.html", _outcomes, anchor="outcomes"),
    Section("What is promised", "guarantee.html", _guarantee, anchor="privacy", label="Privacy"),
    Section("The data set’s budget", "budget.html", BUDGET, anchor="budget", label="Budget"),
    Section("What was taken as public", "public_inputs.html", SHARED, anchor="public", label="Public inputs"),
    Section("Check it", "check.html", SHARED, anchor="check"),
]
OF_OUTCOME = [
    Section("Weights along the genome", "released_weights.html", _weights, category="Outcomes"),
    Section("Cases and controls", "released_cases.html", _cases, anchor="cases"),
    Section("From score to prediction", "prediction.html", _prediction, anchor="prediction"),
    Section("Covariates", "released_covariates.html", _covariates, anchor="covariates"),
    CARRIED,
    Section("Accuracy", "released_accuracy.html", _accuracy),
    RELEASED_MEASURES,
    Section("What is promised", "promise.html", same_for_all(_promise)),
]


def write_overview(data: ReleaseData, directory: Path | str, *, figures: Path | None = None) -> None:
    """Write ``index.html`` and the files that all pages share.

    Outcome pages are expected in ``outcomes/<chunk name>/`` beside it, as an `outcome_writer` makes them. The
    folder is made if absent; `figures` is a folder for files of the figures, or None.
    """
    directory = Path(directory)
    write_assets(directory, shared_places(data.variants))
    write_page(
        directory / "index.html",
        "release_index.html",
        OVERVIEW,
        data,
        shared=_shared(data, root=""),
        figures=figures,
        page_links={},
    )


def outcome_writer(data: ReleaseData, *, figures: Path | None = None) -> Callable[..., None]:
    """Return a function of first, last and folder that writes pages of outcomes, from `outcome_pages`."""
    traits = {trait["outcome"]: trait for trait in data.statement["curation"].get("traits", ())}
    return outcome_pages(
        "release_outcome.html",
        OF_OUTCOME,
        data,
        shared=_shared(data, root="../../"),
        head=lambda outcome: {
            "score": data.statement["scores"][outcome],
            "trait": traits.get(data.outcomes[outcome], {}),
            "scale": None if data.scales is None else data.scales.loc[data.outcomes[outcome]],
        },
        figures=figures,
    )


def _shared(data: ReleaseData, *, root: str) -> dict[str, Any]:
    """Return the values that all pages and their sections use; `root` leads from a page to the overview's
    folder."""
    return {
        "mode": "release",
        "root": root,
        "bundle": root + data.bundle,
        "statement": data.statement,
        "title": data.statement["curation"]["title"],
        "n_variants": len(data.variants),
        "n_weights": data.n_weights,
        "has_chosen": data.chosen is not None,
        "n_outcomes": len(data.outcomes),
        "has_accuracy": data.has_accuracy,
    }
