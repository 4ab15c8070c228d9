"""Mechanisms of releases that draw from rows: those of variants chosen for each outcome, or of all."""

from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.boosted_adassp import ROUNDS
from dpgrs.methods.chosen import (
    ChosenStatistics,
    fit_chosen,
    fit_chosen_rows,
    private_choices,
    private_chosen_statistics,
)
from dpgrs.methods.chosen_requests import restored_request
from dpgrs.methods.registry import METHODS
from dpgrs.methods.row_fits import boosted_request
from dpgrs.methods.sum_mechanisms import SeparateFits, SharedStatistics
from dpgrs.types import Coding


class ChosenFits(SeparateFits):
    """The count, and for every outcome by itself the variants chosen for it, their X'X and X'y, and rows."""

    name = "chosen-statistics"
    methods = ("k-blup", "s-blup")
    draws = MappingProxyType({"genotypes": ("count",), "outcomes": ("gram", "observed", "cross")})
    reads_rows = True

    def request(self, terms):
        return restored_request(terms)

    def terms(self, request):
        return request.statistics

    def pure_budget(self, request):
        return (request.choices.epsilon_of_choices,)

    def draw(self, data, *, request, noise, outcome_names, frequency):
        """Choose, then release the statistics; parameters as in `private_chosen_statistics`.

        Parameters
        ----------
        data : ScreeningData
        request : ScreenedRequest
        """
        options = {"noise": noise, "outcome_names": outcome_names}
        chosen, events = private_choices(data, **request.choosing, **options)
        drawn = private_chosen_statistics(
            data, chosen, request=request.statistics, frequency=frequency, **options
        )
        return replace(drawn, events=(*events, *drawn.events))

    def arrays(self, drawn):
        return super().arrays(drawn) | {"chosen": drawn.chosen}

    def restore(self, label, arrays):
        return ChosenStatistics(**arrays, n=label["n"])

    def outputs(self, drawn, names, request):
        parts = super().outputs(drawn, names, request.statistics)
        for name, chosen in zip(names, drawn.chosen, strict=True):
            parts["outcomes", name] += (chosen,)
        return parts

    def behind(self, part, names, request):
        return part

    def fit(self, method, drawn, *, request, terms, outcomes=None):
        wanted, selector = METHODS[method].selector, request.screening.selector
        if wanted != selector:
            raise DpgrsError(
                f"The chosen variants must be by {wanted} for `methods: {method}`, got {selector}. "
                "Run the study again."
            )
        options = {"request": request.statistics, "terms": terms, "n_variants": request.n_variants}
        return fit_chosen(drawn, "blup", **options)


@dataclass(frozen=True)
class DrawnFits:
    """Fits that were drawn as a whole, of which nothing is kept but what they predict.

    Attributes
    ----------
    fit : LinearFit
    events : tuple of events
    """

    fit: LinearFit
    events: tuple = ()
    n = None  # the rows are not counted


class BoostedFits(SharedStatistics):
    """Boosted AdaSSP of every outcome by itself, on all variants: smallest eigenvalue, X'X and rounds.

    The noisy numbers end in weights on a grid, which are all that is kept: to work them out again elsewhere
    could change a last digit.
    """

    name = "boosted-fits"
    methods = ("bas",)
    draws = MappingProxyType({"genotypes": (), "outcomes": ("eigenvalue", "gram", *("round",) * ROUNDS)})
    reads_rows = True

    def terms(self, request):
        return boosted_request(request, n_fits=request.n_outcomes)

    def draw(self, data, *, request, noise, outcome_names, frequency):
        """Fit all outcomes.

        Parameters
        ----------
        data : ScreeningData
        request : PrivacyRequest; of chosen variants a ScreenedRequest.
        noise : NoiseSource. All that an outcome needs is drawn in the part ``outcomes`` with its name.
        outcome_names : n_outcomes str
        frequency : (n_variants,) public frequencies, for `frequency` coding.

        Returns
        -------
        DrawnFits
        """
        everything = np.tile(np.arange(request.n_variants), (len(outcome_names), 1))
        options = {"noise": noise, "outcome_names": outcome_names, "frequency": frequency}
        drawn = self._fit(data, everything, request=request, **options)
        return replace(drawn, fit=replace(drawn.fit, chosen=None))

    def arrays(self, drawn):
        return drawn.fit.arrays()

    def restore(self, label, arrays):
        return DrawnFits(LinearFit(**arrays))

    def outputs(self, drawn, names, request):
        fit, parts = drawn.fit, {}
        for number, name in enumerate(names):
            chosen = () if fit.chosen is None else (fit.chosen[number],)
            parts["outcomes", name] = (fit.weights[number], fit.means, fit.intercept[number], *chosen)
        return parts

    def requests_of_outcomes(self, n_outcomes, request):
        return n_outcomes

    def fit(self, method, drawn, *, request, terms, outcomes=None):
        return drawn.fit

    def _fit(self, data, chosen, *, request, frequency, **options):
        fit, fits = fit_chosen_rows(
            "bas",
            data,
            chosen,
            request=request,
            n_fits=request.n_outcomes,
            frequency=frequency if request.coding == Coding.FREQUENCY else None,
            **options,
        )
        return DrawnFits(fit, tuple(event for one in fits for event in one.events))


class ChosenBoostedFits(BoostedFits):
    """The same on the variants that are chosen for each outcome, and their choices."""

    name = "chosen-boosted-fits"
    methods = ("k-bas",)

    def request(self, terms):
        return restored_request(terms)

    def terms(self, request):
        return super().terms(request.rest)

    def pure_budget(self, request):
        return (request.choices.epsilon_of_choices,)

    def draw(self, data, *, request, noise, outcome_names, frequency):
        options = {"noise": noise, "outcome_names": outcome_names}
        chosen, events = private_choices(data, **request.choosing, **options)
        drawn = self._fit(data, chosen, request=request.rest, frequency=frequency, **options)
        return replace(drawn, events=(*events, *drawn.events))
