"""Mechanisms that draw whole fits from rows: of all variants, or of those chosen for each outcome."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.linalg.coding import column_moments
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.chosen_requests import row_norm_of_half
from dpgrs.methods.drawn_choices import READS_OF_CHOICES, asked_of_choices
from dpgrs.methods.fitter import Fitter
from dpgrs.methods.row_mechanisms import OfChoices, exact_rows
from dpgrs.methods.sum_mechanisms import OwnStatistics
from dpgrs.types import Coding
from dpgrs_papers.methods.boosted_adassp import ROUNDS
from dpgrs_papers.methods.row_fits import BOOSTED, TUKEY, boosted_request, fit_rows

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs_papers.methods.boosted_adassp import BoostedRequest
    from dpgrs_papers.methods.row_fits import RowFit, RowFitter


@dataclass(frozen=True)
class DrawnFits:
    """Fits that were drawn as a whole, of which nothing is kept but their predictions."""

    fit: LinearFit
    events: tuple = ()
    statuses: tuple = ()  # how the fit of each outcome ended; empty if all end well
    note: str = ""  # as in `ChosenStatistics`
    n = None  # the rows are not counted


class WholeFits(OwnStatistics):
    """Fits that are drawn as a whole."""

    is_fitted = True

    def arrays(self, drawn: Any) -> dict[str, np.ndarray]:
        return drawn.fit.arrays()

    def restore(self, label: dict, arrays: dict[str, np.ndarray]) -> DrawnFits:
        return DrawnFits(LinearFit.of(arrays))

    def remarks(self, drawn: Any) -> dict:
        statuses = {"statuses": drawn.statuses} if set(drawn.statuses) - {"ok"} else {}
        return statuses | ({"note": drawn.note} if drawn.note else {})


class BoostedFits(WholeFits):
    """Boosted AdaSSP of every outcome by itself, on all variants: smallest eigenvalue, X'X and rounds.

    The noisy numbers end in weights on a grid, which are all that is kept: to work them out again elsewhere
    could change a last digit.
    """

    name = "boosted-fits"
    draws = MappingProxyType({"genotypes": (), "outcomes": ("eigenvalue", "gram", *("round",) * ROUNDS)})
    takes, reads = ("variant_set",), ("privacy.bounds", "privacy.genotype_clip")
    row_fitter = BOOSTED

    def terms(self, request: "PrivacyRequest") -> "BoostedRequest":
        return boosted_request(request, n_fits=request.n_outcomes)

    def asked(
        self, request: "PrivacyRequest", *, method: str, data: Any, n_outcomes: int, settings: Any
    ) -> Any:
        return asked_of_choices(request, None, data=data, settings=settings)

    def exact(self, request: "PrivacyRequest", *, data: Any, names: Sequence[str], settings: Any) -> dict:
        return exact_rows(request, data=data, names=names)

    def draw(
        self,
        data: Any,
        *,
        request: "PrivacyRequest",
        noise: "NoiseSource",
        outcome_names: Sequence[str],
        frequency: np.ndarray | None,
        **options: Any,
    ) -> DrawnFits:
        """Fit all outcomes; an outcome's noise is drawn in the part ``outcomes`` with its name.

        `frequency`, (n_variants,) public, is for `frequency` coding; further options are for the Tukey
        mechanism, as in `fit_rows`.
        """
        everything = np.tile(np.arange(request.n_variants), (len(outcome_names), 1))
        options |= {"noise": noise, "outcome_names": outcome_names, "frequency": frequency}
        fits = self._fit(data, everything, request=request, **options)
        return replace(fits, fit=replace(fits.fit, chosen=None))

    def outputs(self, drawn: Any, names: Sequence[str], request: "PrivacyRequest") -> dict[tuple, tuple]:
        fit, outcome_outputs = drawn.fit, {}
        for number, name in enumerate(names):
            chosen = () if fit.chosen is None else (fit.chosen[number],)
            outcome_outputs["outcomes", name] = (
                fit.weights[number],
                fit.means,
                fit.intercept[number],
                *chosen,
            )
        return outcome_outputs

    def requests_of_outcomes(self, n_outcomes: int, request: "PrivacyRequest") -> int:
        return n_outcomes

    def _fit(
        self,
        data: Any,
        chosen: np.ndarray,
        *,
        request: "PrivacyRequest",
        frequency: np.ndarray | None,
        **options: Any,
    ) -> DrawnFits:
        fit, fits = fit_chosen_rows(
            self.row_fitter,
            data,
            chosen,
            request=request,
            n_fits=request.n_outcomes,
            frequency=frequency if request.coding == Coding.FREQUENCY else None,
            **options,
        )
        events = tuple(event for row_fit in fits for event in row_fit.events)
        return DrawnFits(fit, events, tuple(row_fit.ending for row_fit in fits))


class ChosenBoostedFits(OfChoices, BoostedFits):
    """The same on the variants that are chosen for each outcome, and their choices."""

    name = "chosen-boosted-fits"

    def terms(self, request: Any) -> "BoostedRequest":
        return super().terms(request.rest)

    def _draw_rest(self, data: Any, chosen: np.ndarray, *, request: Any, **options: Any) -> DrawnFits:
        return self._fit(data, chosen, request=request.rest, **options)


OF_TUKEY = ("screening.count_share", "regression.rows_per_coefficient")


class TukeyFits(BoostedFits):
    """The Tukey mechanism on all variants, within worst-case bounds, only for benchmarks."""

    name = "tukey-fits"
    reads = OF_TUKEY
    row_fitter = TUKEY

    def asked(
        self, request: "PrivacyRequest", *, method: str, data: Any, n_outcomes: int, settings: Any
    ) -> "PrivacyRequest":
        return request

    def exact(self, request: "PrivacyRequest", *, data: Any, names: Sequence[str], settings: Any) -> dict:
        return super().exact(request, data=data, names=names, settings=settings) | _of_tukey(settings)


class ChosenTukeyFits(ChosenBoostedFits):
    """The same on the variants that are chosen for each outcome."""

    name = "chosen-tukey-fits"
    reads = (*READS_OF_CHOICES, *OF_TUKEY)
    row_fitter = TUKEY

    def exact(self, request: Any, *, data: Any, names: Sequence[str], settings: Any) -> dict:
        # The count's share is of all of epsilon.
        tukey_options = _of_tukey(settings, fit_share=1 - request.share_of_choices)
        return super().exact(request, data=data, names=names, settings=settings) | tukey_options


class WholeFitter(Fitter):
    """A method whose mechanism draws its fits as a whole."""

    def fit(
        self, drawn: DrawnFits, *, request: Any, terms: Any, outcomes: np.ndarray | None = None
    ) -> LinearFit:
        return drawn.fit


class Boosted(WholeFitter):
    """Boosted AdaSSP on all variants."""

    mechanism = BoostedFits

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs_papers.methods.audits.boosted import boosted_cases

        return boosted_cases()


class ChosenBoosted(Boosted):
    """Boosted AdaSSP on the variants that are chosen for each outcome."""

    mechanism = ChosenBoostedFits


class Tukey(WholeFitter):
    """The Tukey mechanism on all variants."""

    mechanism = TukeyFits

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs_papers.methods.audits.tukey import tukey_cases

        return tukey_cases()


class ChosenTukey(Tukey):
    """The Tukey mechanism on the variants that are chosen for each outcome."""

    mechanism = ChosenTukeyFits


def _of_tukey(settings: Any, *, fit_share: float = 1.0) -> dict[str, float]:
    share, rows_per_coefficient = settings.screening.count_share, settings.regression.rows_per_coefficient
    return {"count_share": share / fit_share, "rows_per_coefficient": rows_per_coefficient}


def fit_chosen_rows(
    fitter: "RowFitter",
    data: Any,
    chosen: np.ndarray,
    *,
    request: "PrivacyRequest",
    noise: "NoiseSource",
    outcome_names: Sequence[str],
    frequency: np.ndarray | None = None,
    **options: Any,
) -> "tuple[LinearFit, list[RowFit]]":
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
    for number, (columns, name) in enumerate(zip(chosen, outcome_names, strict=True)):
        X = data.rows_of(columns, data.is_training) - origin[columns]
        source = data.source(noise, name, number)
        y = data.Y[number, data.is_training]
        row_fit = fit_rows(fitter, X, y, request=request, noise=source, largest_norm=norm, **options)
        weights[number, columns], at_means[number] = row_fit.weights, row_fit.intercept
        fits.append(row_fit)
    return LinearFit(weights, origin, at_means, chosen=np.sort(chosen, axis=1)), fits
