"""The release of `release_data` again, but with three variants chosen in private for each outcome."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpgrs.privacy.accounting.events import ChoiceEvent, LaplaceEvent
from dpgrs.privacy.accounting.exact_numbers import text_above
from dpgrs.privacy.sensitivity import Sensitivity, cross_sensitivity, gram_sensitivity
from dpgrs.selection.dp_kendall import KendallRequest
from dpgrs.statement.content import Total
from dpgrs.statement.draws import Draws, Scope
from dpgrs.statement.methods import METHODS
from release_data import FIT, OUTCOMES, SITES, make_events, make_statement, make_terms
from release_report_data import make_release

# What all choices of an outcome cost, and the variants that they gave: rows of the sites.
EPSILON, N_CHOSEN = 0.25, 3
CHOSEN = np.array([[0, 2, 5], [1, 2, 7], [3, 4, 6]])


def make_choice(**changed):
    """Return the event of an outcome's choice, drawn by nobody."""
    claim = Sensitivity(2.0, "linf", "add-remove", "haplotype", "kendall/1")
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
    claim = Sensitivity(1.0, "l1", "add-remove", "haplotype", "count/1")
    fields = {"statistic": "carriers", "step": 1.0, "entries": 1, "source": "release", "sensitivity": claim}
    return LaplaceEvent(**fields | {"epsilon": 1 / 3, "scale": 3.0} | changed)


def allow_laplace(patch, *statistics):
    """Let `k-blup` draw numbers with Laplace noise, too, as a method of another package might."""
    more = (Draws(name, Scope.ALL, "laplace") for name in statistics)
    row = METHODS["k-blup"]
    patch.setitem(METHODS, "k-blup", replace(row, draws=(*row.draws, *more)))


def chosen_content(*, terms=None, choice=None, n_chosen=N_CHOSEN, more=()):
    """Return terms and further arguments of `make_content` for a release by `k-blup`.

    Parameters
    ----------
    terms : Terms of the Gaussian part; default: those of `make_terms`.
    choice : ChoiceEvent of every outcome; default: `make_choice`.
    n_chosen : int, of the default choice and in the sums.
    more : pairs of a further event and the outcome that it serves.
    """
    terms, choice = terms or make_terms(), choice or make_choice(n_choices=n_chosen)
    relation = {name: getattr(terms, name) for name in ("rows", "neighbours", "unit")}
    claim = KendallRequest(n_choices=n_chosen, epsilon=EPSILON, **relation).claim
    *count, gram, cross = make_events(terms)
    sums = [
        _of_one(gram, gram_sensitivity(n_chosen, **relation), n_chosen * (n_chosen + 1) // 2),
        _of_one(cross, cross_sensitivity(n_chosen, 1, outcome_bound=3.0, **relation), n_chosen),
    ]
    choices = [(replace(choice, sensitivity=claim), name) for name in OUTCOMES]
    own = [(event, name) for name in OUTCOMES for event in sums]
    drawn = [*((event, None) for event in count), *choices, *own, *more]
    owned = {name: [event for event, owner in drawn if owner in (None, name)] for name in OUTCOMES}
    return replace(terms, epsilon=_epsilon(terms, [event for event, _ in drawn])), {
        "method": "k-blup",
        "fit": FIT | {"heritability": 0.5},
        "drawn": drawn,
        "per_outcome": Total(max(_epsilon(terms, own) for own in owned.values()), terms.delta),
    }


def _of_one(event, claim, entries):
    """Return an outcome's own draw; those of all outcomes cost together what the one of all does."""
    mu = event.mu * (1 - 1e-9) / len(OUTCOMES) ** 0.5
    return replace(event, sensitivity=claim, sigma=claim.value / mu, mu=mu, entries=entries)


def _epsilon(terms, events):
    """Return what Gaussian noise and the pure events cost together, rounded up."""
    pure = sum(event.cost.pure_epsilon for event in events)
    return text_above(Fraction(repr(terms.epsilon)) + pure, digits=10)


def make_chosen_statement(folder, **options):
    terms, content = chosen_content(**options)
    return make_statement(folder, terms, **content)


def make_chosen_release(folder, *, errors=False, content=(), **options):
    """Make the files of `make_release` for a release with choices; return the same."""
    terms, drawn = chosen_content(**options)
    weights = np.zeros((len(OUTCOMES), len(SITES)))
    np.put_along_axis(weights, CHOSEN, np.linspace(-1, 1, CHOSEN.size).reshape(CHOSEN.shape) - 0.3, axis=1)
    scores = {"weights": weights, "chosen": CHOSEN}
    if errors:
        scores["standard_errors"] = np.arange(1.0, 1 + weights.size).reshape(weights.shape) / 64
    return make_release(folder, terms=terms, content=drawn | dict(content), **scores)
