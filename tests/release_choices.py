"""The release of `release_data` again, but with three variants chosen in private for each outcome."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpgrs.privacy.accounting.events import ChoiceEvent, LaplaceEvent
from dpgrs.privacy.accounting.exact_numbers import text_above
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.privacy.statement.content import Total
from dpgrs.selection.dp_kendall import KendallRequest
from release_data import OUTCOMES, SITES, make_events, make_statement, make_terms
from release_report_data import make_release

# What all choices of an outcome cost, and the variants that they gave: rows of the sites.
EPSILON, N_CHOSEN = 0.25, 3
CHOSEN = np.array([[0, 2, 5], [1, 2, 7], [3, 4, 6]])


def make_choice(**changed):
    """Return the event of an outcome's choice, drawn by nobody."""
    claim = Sensitivity(2.0, "linf", "add-remove", "haplotype", "docs/proofs/kendall.md")
    fields = {
        "statistic": "Kendall's correlations",
        "sensitivity": claim,
        "step": 1.0,
        "entries": len(SITES),
        "source": "release",
        "epsilon": EPSILON,
        "n_choices": N_CHOSEN,
    }
    return ChoiceEvent(**fields | changed)


def make_laplace(**changed):
    """Return the event of a number with Laplace noise, epsilon 1/3, drawn by nobody."""
    claim = Sensitivity(1.0, "l1", "add-remove", "haplotype", "docs/proofs/count.md")
    fields = {"statistic": "carriers", "step": 1.0, "entries": 1, "source": "release", "sensitivity": claim}
    return LaplaceEvent(**fields | {"epsilon": 1 / 3, "scale": 3.0} | changed)


def chosen_content(*, terms=None, choice=None, more=()):
    """Return terms and further arguments of `make_content` for a release with choices.

    Parameters
    ----------
    terms : Terms of the Gaussian part; default: those of `make_terms`.
    choice : ChoiceEvent of every outcome; default: `make_choice`.
    more : pairs of a further event and the outcome that it serves.
    """
    terms, choice = terms or make_terms(), choice or make_choice()
    relation = {name: getattr(terms, name) for name in ("rows", "neighbours", "unit")}
    claim = KendallRequest(n_choices=N_CHOSEN, epsilon=EPSILON, **relation).claim
    choices = [(replace(choice, sensitivity=claim), name) for name in OUTCOMES]
    drawn = [(event, None) for event in make_events(terms)] + choices + list(more)
    owned = {name: [event for event, owner in drawn if owner in (None, name)] for name in OUTCOMES}
    return replace(terms, epsilon=_epsilon(terms, [event for event, _ in drawn])), {
        "drawn": drawn,
        "per_outcome": Total(max(_epsilon(terms, own) for own in owned.values()), terms.delta),
    }


def _epsilon(terms, events):
    """Return what Gaussian noise and the pure events cost together, rounded up."""
    pure = sum(event.cost.pure_epsilon for event in events)
    return text_above(Fraction(repr(terms.epsilon)) + pure, digits=10)


def make_chosen_statement(folder, **options):
    terms, content = chosen_content(**options)
    return make_statement(folder, terms, **content)


def make_chosen_release(folder, *, errors=True, content=(), **options):
    """Make the files of `make_release` for a release with choices; return the same."""
    terms, drawn = chosen_content(**options)
    weights = np.zeros((len(OUTCOMES), len(SITES)))
    np.put_along_axis(weights, CHOSEN, np.linspace(-1, 1, CHOSEN.size).reshape(CHOSEN.shape) - 0.3, axis=1)
    scores = {"weights": weights, "chosen": CHOSEN}
    if errors:
        scores["standard_errors"] = np.arange(1.0, 1 + weights.size).reshape(weights.shape) / 64
    return make_release(folder, terms=terms, content=drawn | dict(content), **scores)
