"""Mechanisms that draw whole fits from rows: of all variants, or of those chosen for each outcome."""

from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.linalg.statistics import column_moments
from dpgrs.methods.chosen_requests import row_norm_of_half
from dpgrs.methods.drawn_choices import READS_OF_CHOICES, asked_of_choices
from dpgrs.methods.registry import METHODS, named
from dpgrs.methods.row_mechanisms import OfChoices, exact_rows
from dpgrs.methods.sum_mechanisms import OwnStatistics
from dpgrs.types import Coding
from dpgrs_papers.methods.boosted_adassp import ROUNDS
from dpgrs_papers.methods.row_fits import boosted_request, fit_rows


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
    takes, reads = ("variant_set",), ("privacy.bounds", "privacy.genotype_clip")

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


def fit_chosen_rows(fitter, data, chosen, *, request, noise, outcome_names, frequency=None, **options):
    """Fit each outcome from the rows of its own variants, or of all.

    Parameters
    ----------
    fitter : as in `fit_rows`.
    data : ScreeningData
    chosen : (n_outcomes, n_choices) int64, released or public.
    request : PrivacyRequest of the chosen variants, with the budget of all outcomes that share one.
    noise : NoiseSource; for the Tukey mechanism of a benchmark.
    outcome_names : n_outcomes str
    frequency : (n_variants,) public frequencies, to centre by them; None keeps to `half` coding.
    **options : n_fits and terms of `fit_rows`.

    Returns
    -------
    fit : LinearFit, as from `fit_chosen`.
    fits : list of RowFit, one for each outcome.

    Privacy
    -------
    As `fit_rows`, for every outcome.
    """
    weights, at_means, fits = np.zeros((len(chosen), len(data.genotypes))), np.empty(len(chosen)), []
    origin, norm = np.zeros(len(data.genotypes)), row_norm_of_half(chosen.shape[1], rows=data.rows)
    if frequency is not None:
        origin, norm = column_moments(frequency, rows=data.rows)[0], request.row_norm
    for number, (own, name) in enumerate(zip(chosen, outcome_names, strict=True)):
        X = data.rows_of(own, data.is_training) - origin[own]
        source = data.source(noise, name, number)
        y = data.Y[number, data.is_training]
        one = fit_rows(fitter, X, y, request=request, noise=source, largest_norm=norm, **options)
        weights[number, own], at_means[number] = one.weights, one.intercept
        fits.append(one)
    return LinearFit(weights, origin, at_means, chosen=np.sort(chosen, axis=1)), fits
