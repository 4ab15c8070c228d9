"""The sections of the pages of a release."""

import numpy as np

from dpgrs.privacy.statement.boosting_rounds import gather_rounds
from dpgrs.reporting.outcome_figures import MAX_BARS, WeightsFigure
from dpgrs.reporting.release_data import AUDITED, STATISTICS, terms_rows
from dpgrs.reporting.rendering import Drawing, Section, outcome_links, same_for_all
from dpgrs.reporting.svg import PALETTE
from dpgrs.reporting.terms import protected_in_words

STRIP_HEIGHT = 140


def _released(data):
    return {
        "terms": terms_rows(data.statement),
        "n_rows": data.n_rows,
        "has_private_count": data.has_private_count,
    }


def _outcomes(data):
    links = outcome_links(len(data.outcomes), "outcomes/")
    rows = []
    for place, (name, score) in enumerate(zip(data.outcomes, data.statement["scores"], strict=True)):
        largest = np.abs(data.weights[place]).argmax()
        rows.append(
            {
                "number": place + 1,
                "name": name,
                "link": links[place + 1],
                "largest": abs(data.weights[place, largest]),
                "site": data.variants.iloc[data.places(place)[largest]],
                "score": score,
                "accuracy": data.accuracy.loc[name],
            }
        )
    return {"outcomes": rows}


def _promise(data):
    protection, has_covariates = data.statement["guarantee"]["protection"], data.covariates is not None
    return {
        "terms": terms_rows(data.statement),
        "protected": protected_in_words(protection, has_covariates=has_covariates),
    }


def _guarantee(data):
    return _promise(data) | {
        "statistics": STATISTICS,
        "audited": AUDITED,
        "mechanisms": gather_rounds(data.statement["mechanisms"]),
    }


def _weights(data):
    drawing = WeightsFigure(
        data.variants, labels=["Released weights"], colors=PALETTE[:1], strip_height=STRIP_HEIGHT
    )
    is_chosen = data.chosen is not None
    label = f"Released weights of {'the chosen' if is_chosen else 'all'} variants along the genome"

    def of_outcome(outcome):
        largest = data.largest_rows(outcome)
        rows = data.chosen_rows(outcome) if is_chosen else largest
        tallest = largest.iloc[0]
        figure = drawing.draw(
            data.weights[outcome][np.newaxis],
            [f"tallest: {tallest.contig}:{tallest.position:,}"],
            places=data.places(outcome),
        )
        return {
            "is_thinned": data.n_weights > MAX_BARS,
            "rows": list(rows.itertuples(index=False)),
            "has_errors": "standard_error" in rows,
            "score": data.statement["scores"][outcome],
            "figures": {"weights": Drawing(figure, label)},
        }

    return of_outcome


def _prediction(data):
    constants = data.constants["constant"]
    return lambda outcome: {
        "constant": constants[data.outcomes[outcome]],
        "covariates": data.covariates_of(outcome),
    }


def _covariates(data):
    if data.covariates is None:
        return None
    return lambda outcome: {"covariates": data.covariates_of(outcome)}


def _accuracy(data):
    return lambda outcome: {"accuracy_in_words": data.accuracy_in_words(outcome)}


RELEASED = Section("What was released", "released.html", _released, anchor="release")
OUTCOMES = Section("Outcomes", "released_outcomes.html", _outcomes, anchor="outcomes")
GUARANTEE = Section("What is promised", "guarantee.html", _guarantee, anchor="privacy", label="Privacy")
BUDGET = Section(
    "The data set’s budget",
    "budget.html",
    lambda data: {"budget": data.budget},
    anchor="budget",
    label="Budget",
)
PUBLIC_INPUTS = Section(
    "What was taken as public", "public_inputs.html", lambda data: {}, anchor="public", label="Public inputs"
)
CHECK = Section("Check it", "check.html", lambda data: {}, anchor="check")
# On the pages of outcomes.
WEIGHTS = Section("Weights along the genome", "released_weights.html", _weights)
PREDICTION = Section("From score to prediction", "prediction.html", _prediction, anchor="prediction")
COVARIATES = Section("Covariates", "released_covariates.html", _covariates, anchor="covariates")
ACCURACY = Section("Accuracy", "released_accuracy.html", _accuracy)
PROMISE = Section("What is promised", "promise.html", same_for_all(_promise))
