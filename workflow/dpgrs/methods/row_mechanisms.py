"""Mechanisms that draw from rows: of variants chosen for each outcome, or of all."""

from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.boosted_adassp import ROUNDS
from dpgrs.methods.chosen import ChosenStatistics, fit_chosen, fit_chosen_rows, private_chosen_statistics
from dpgrs.methods.chosen_requests import restored_request
from dpgrs.methods.drawn_choices import READS_OF_CHOICES, asked_of_choices, draw_choices
from dpgrs.methods.registry import METHODS, named
from dpgrs.methods.row_fits import boosted_request
from dpgrs.methods.sum_mechanisms import OwnStatistics, SeparateFits
from dpgrs.types import Coding


class OfChoices:
    """What mechanisms have in common that choose variants for each outcome first."""

    takes, reads = ("panel", "choices"), READS_OF_CHOICES

    def request(self, terms):
        return restored_request(terms)

    def asked(self, request, *, method, data, n_outcomes, settings):
        return asked_of_choices(request, METHODS[method].selector, data=data, settings=settings)

    def exact(self, request, *, data, names, settings):
        return exact_rows(request, data=data, names=names) | {"choices": data.choices(request, len(names))}

    def pure_budget(self, request):
        return (request.choices.epsilon_of_choices,)

    def draw(self, data, *, request, noise, outcome_names, choices=None, **terms):
        """Choose, then draw the rest.

        Parameters
        ----------
        data : ScreeningData
        request : ScreenedRequest
        noise, outcome_names : as in `BoostedFits.draw`; **terms too.
        choices : DrawnChoices of the same request that were drawn before, in a benchmark.
        """
        terms |= {"noise": noise, "outcome_names": outcome_names}
        if choices is None:
            choices = draw_choices(data, request=request, noise=noise, outcome_names=outcome_names)
        drawn = self._draw_rest(data, choices.chosen, request=request, **terms)
        return replace(drawn, events=(*choices.events, *drawn.events), note=choices.note)


class ChosenFits(OfChoices, SeparateFits):
    """The count, and for every outcome by itself the variants chosen for it, their X'X and X'y, and rows."""

    name = "chosen-statistics"
    kind = ChosenStatistics
    draws = MappingProxyType({"genotypes": ("count",), "outcomes": ("gram", "observed", "cross")})

    def remarks(self, drawn):
        return {"note": drawn.note} if drawn.note else {}

    def terms(self, request):
        return request.statistics

    def _draw_rest(self, data, chosen, *, request, **terms):
        return private_chosen_statistics(data, chosen, request=request.statistics, **terms)

    def arrays(self, drawn):
        return super().arrays(drawn) | {"chosen": drawn.chosen}

    def outputs(self, drawn, names, request):
        parts = super().outputs(drawn, names, request.statistics)
        for name, chosen in zip(names, drawn.chosen, strict=True):
            parts["outcomes", name] += (chosen,)
        return parts

    def depends_on(self, part, names, request):
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


def exact_rows(request, *, data, names):
    """Return what mechanisms draw from rows, as keywords; parameters as in `SharedStatistics.exact`."""
    size = request.n_variants
    known = {"request": request, "outcome_names": names, "frequency": data.frequency(size)}
    return {"data": data.rows(size)} | known


@dataclass(frozen=True)
class DrawnFits:
    """Fits that were drawn as a whole, of which nothing is kept but what they predict.

    Attributes
    ----------
    fit : LinearFit
    events : tuple of events
    statuses : tuple of str, how the fit of each outcome ended; empty where all end well.
    note : str, as in `ChosenStatistics`.
    """

    fit: LinearFit
    events: tuple = ()
    statuses: tuple = ()
    note: str = ""
    n = None  # the rows are not counted


class WholeFits(OwnStatistics):
    """Fits that are drawn as a whole."""

    is_fitted = True

    def arrays(self, drawn):
        return drawn.fit.arrays()

    def restore(self, label, arrays):
        return DrawnFits(LinearFit.of(arrays))

    def remarks(self, drawn):
        statuses = {"statuses": drawn.statuses} if set(drawn.statuses) - {"ok"} else {}
        return statuses | ({"note": drawn.note} if drawn.note else {})

    def fit(self, method, drawn, *, request, terms, outcomes=None):
        return drawn.fit


class BoostedFits(WholeFits):
    """Boosted AdaSSP of every outcome by itself, on all variants: smallest eigenvalue, X'X and rounds.

    The noisy numbers end in weights on a grid, which are all that is kept: to work them out again elsewhere
    could change a last digit.
    """

    name = "boosted-fits"
    draws = MappingProxyType({"genotypes": (), "outcomes": ("eigenvalue", "gram", *("round",) * ROUNDS)})
    takes, reads = ("panel",), ("privacy.bounds", "privacy.genotype_clip")

    def terms(self, request):
        return boosted_request(request, n_fits=request.n_outcomes)

    def asked(self, request, *, method, data, n_outcomes, settings):
        return asked_of_choices(request, None, data=data, settings=settings)

    def exact(self, request, *, data, names, settings):
        return exact_rows(request, data=data, names=names)

    def draw(self, data, *, request, noise, outcome_names, frequency, **terms):
        """Fit all outcomes.

        Parameters
        ----------
        data : ScreeningData
        request : PrivacyRequest; of chosen variants a ScreenedRequest.
        noise : NoiseSource. All that an outcome needs is drawn in the part ``outcomes`` with its name.
        outcome_names : n_outcomes str
        frequency : (n_variants,) public frequencies, for `frequency` coding.
        **terms : count_share and rows_per_coefficient of the Tukey mechanism, as in `fit_rows`.

        Returns
        -------
        DrawnFits
        """
        everything = np.tile(np.arange(request.n_variants), (len(outcome_names), 1))
        terms |= {"noise": noise, "outcome_names": outcome_names, "frequency": frequency}
        drawn = self._fit(data, everything, request=request, **terms)
        return replace(drawn, fit=replace(drawn.fit, chosen=None))

    def outputs(self, drawn, names, request):
        fit, parts = drawn.fit, {}
        for number, name in enumerate(names):
            chosen = () if fit.chosen is None else (fit.chosen[number],)
            parts["outcomes", name] = (fit.weights[number], fit.means, fit.intercept[number], *chosen)
        return parts

    def requests_of_outcomes(self, n_outcomes, request):
        return n_outcomes

    def _fit(self, data, chosen, *, request, frequency, **terms):
        fit, fits = fit_chosen_rows(
            named(METHODS[self.methods[0]].of_rows),
            data,
            chosen,
            request=request,
            n_fits=request.n_outcomes,
            frequency=frequency if request.coding == Coding.FREQUENCY else None,
            **terms,
        )
        events = tuple(event for one in fits for event in one.events)
        return DrawnFits(fit, events, tuple(one.ending for one in fits))


class ChosenBoostedFits(OfChoices, BoostedFits):
    """The same on the variants that are chosen for each outcome, and their choices."""

    name = "chosen-boosted-fits"

    def terms(self, request):
        return super().terms(request.rest)

    def _draw_rest(self, data, chosen, *, request, **terms):
        return self._fit(data, chosen, request=request.rest, **terms)


OF_TUKEY = ("screening.count_share", "regression.rows_per_coefficient")


class TukeyFits(BoostedFits):
    """The Tukey mechanism on all variants, within worst-case bounds, for benchmarks alone."""

    name = "tukey-fits"
    reads = OF_TUKEY

    def asked(self, request, *, method, data, n_outcomes, settings):
        return request

    def exact(self, request, *, data, names, settings):
        return super().exact(request, data=data, names=names, settings=settings) | _of_tukey(settings)


class ChosenTukeyFits(ChosenBoostedFits):
    """The same on the variants that are chosen for each outcome."""

    name = "chosen-tukey-fits"
    reads = (*READS_OF_CHOICES, *OF_TUKEY)

    def exact(self, request, *, data, names, settings):
        # The count's share is of all of epsilon.
        terms = _of_tukey(settings, rest=1 - request.share_of_choices)
        return super().exact(request, data=data, names=names, settings=settings) | terms


def _of_tukey(settings, *, rest=1.0):
    share, needed = settings.screening.count_share, settings.regression.rows_per_coefficient
    return {"count_share": share / rest, "rows_per_coefficient": needed}
