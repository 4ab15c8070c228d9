"""Mechanisms only of benchmarks: samples that are not secret, or statistics too many to be kept."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.methods.fitter import Fitter
from dpgrs.methods.reusecov import fit_reusecov
from dpgrs.methods.sum_mechanisms import OwnStatistics
from dpgrs.types import Coding
from dpgrs_papers.methods.dp_sgd import SgdRequest, private_sgd
from dpgrs_papers.methods.naive import SeparateFits, fit_separately, private_separate_statistics
from dpgrs_papers.methods.row_mechanisms import DrawnFits, WholeFits, WholeFitter
from dpgrs_papers.methods.sketch import SketchRequest, private_sketch

if TYPE_CHECKING:
    from dpgrs.linalg.linear_fit import LinearFit
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.methods.reusecov import NoisyStatistics
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.privacy.noise.base import NoiseSource

NO_PARTS = MappingProxyType({"genotypes": (), "outcomes": ()})  # no ledger knows them


class FittedSeparately(WholeFits):
    """Naive's fits: a benchmark keeps them instead of an X'X for each outcome, budget and variant set."""

    name = "naive-fits"
    draws, reads = NO_PARTS, ("regression.lambda",)

    def exact(self, request: "PrivacyRequest", *, data: Any, names: Sequence[str], settings: Any) -> dict:
        exact = super().exact(request, data=data, names=names, settings=settings)
        return exact | {"penalty": settings.regression.lambda_}

    def draw(
        self,
        gram: np.ndarray,
        cross: np.ndarray,
        n_rows: int,
        *,
        request: "PrivacyRequest",
        penalty: float,
        origin: np.ndarray | None = None,
        slopes: np.ndarray | None = None,
        **options: Any,
    ) -> DrawnFits:
        options, is_row_centred = options | {"request": request}, request.coding == Coding.ROW_CENTRED
        # One outcome's X'X at a time: all of them may not fit into memory.
        statistics, events = private_separate_statistics(gram, cross, n_rows, **options), []
        fit_options = {"penalty": penalty, "origin": origin, "is_row_centred": is_row_centred}
        fit = fit_separately(_noting(statistics, events), **fit_options)
        # Ridge is linear in X'Y.
        return DrawnFits(fit if slopes is None else fit.times(1 / slopes), tuple(events))


class SgdFits(WholeFits):
    """DP-SGD, whose samples depend on a public seed."""

    name = "sgd-fits"
    draws, takes, reads = NO_PARTS, ("variant_set",), ("regression.sgd",)

    def asked(
        self, request: "PrivacyRequest", *, method: str, data: Any, n_outcomes: int, settings: Any
    ) -> "PrivacyRequest":
        return request

    def exact(self, request: "PrivacyRequest", *, data: Any, names: Sequence[str], settings: Any) -> dict:
        inputs = {"data": data.rows(request.n_variants), "request": request, "outcome_names": names}
        return inputs | {"descent": settings.regression.sgd.as_dict()}

    def draw(
        self,
        data: Any,
        *,
        request: "PrivacyRequest",
        noise: "NoiseSource",
        outcome_names: Sequence[str],
        descent: dict,
    ) -> DrawnFits:
        X, sgd_request = data.training_rows, SgdRequest(**asdict(request), **descent)
        Y = grid_outcomes(data.Y[: len(outcome_names), data.is_training], bound=request.outcome_bound)
        n_units = len(X) // sgd_request.rows_per_unit

        def sample(step: int) -> np.ndarray:
            return noise.poisson_sample(n_units, name=f"step {step}", probability=sgd_request.sampling_rate)

        options = {"request": sgd_request, "noise": noise, "sample": sample, "outcome_names": outcome_names}
        sgd_fit = private_sgd(X, Y, row_step=data.row_step, **options)
        return DrawnFits(sgd_fit.fit, sgd_fit.events)


class SketchedStatistics(OwnStatistics):
    """ReuseCov's statistics, with X'X of a sample whose choice depends on a public seed."""

    name = "sketched-statistics"
    draws = NO_PARTS
    takes, reads = ("statistics", "variant_set"), ("regression.sketch_share",)

    def exact(self, request: "PrivacyRequest", *, data: Any, names: Sequence[str], settings: Any) -> dict:
        exact = super().exact(request, data=data, names=names, settings=settings)
        for name in ("gram", "n_rows", "observed"):
            del exact[name]
        is_clipped = request.coding == Coding.FREQUENCY
        frequency = data.frequency(request.n_variants) if is_clipped else None
        sample_inputs = {
            "data": data.rows(request.n_variants).in_memory,
            "share": settings.regression.sketch_share,
        }
        return exact | sample_inputs | {"frequency": frequency}

    def draw(
        self,
        data: Any,
        cross: np.ndarray,
        *,
        share: float,
        request: "PrivacyRequest",
        origin: np.ndarray | None = None,
        slopes: np.ndarray | None = None,
        noise: "NoiseSource",
        **options: Any,
    ) -> "NoisyStatistics":
        n_units = int(np.count_nonzero(data.is_training)) // request.rows_per_unit
        sketch_request = SketchRequest(
            **asdict(request), n_units=n_units, n_chosen=max(1, round(share * n_units))
        )
        noisy = private_sketch(
            data.genotypes,
            cross,
            noise.sample_without_replacement(n_units, name="the sketch", n_chosen=sketch_request.n_chosen),
            n_haplotypes=data.n_haplotypes,
            request=sketch_request,
            noise=noise,
            is_selected=data.is_training,
            **options,
        )
        return replace(noisy, origin=origin, slopes=slopes)


class Naive(Fitter):
    """Ridge regression of every outcome on an X'X of its own."""

    mechanism, mechanism_of_benchmark = SeparateFits, FittedSeparately

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs_papers.methods.audits.baselines import naive_cases

        return naive_cases()

    def fit(
        self, drawn: Any, *, request: "PrivacyRequest", terms: Any, outcomes: np.ndarray | None = None
    ) -> "LinearFit":
        if isinstance(drawn, DrawnFits):
            return drawn.fit
        return fit_separately(drawn.by_outcome(), penalty=terms.penalty, origin=drawn.origin)


class DpSgd(WholeFitter):
    """Gradient descent with noisy gradients."""

    mechanism = SgdFits

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs_papers.methods.audits.baselines import sgd_cases

        return sgd_cases()


class Sketch(Fitter):
    """Ridge regression on X'X of a sample."""

    mechanism = SketchedStatistics

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs_papers.methods.audits.baselines import sketch_cases

        return sketch_cases()

    def fit(
        self, drawn: Any, *, request: "PrivacyRequest", terms: Any, outcomes: np.ndarray | None = None
    ) -> "LinearFit":
        is_row_centred = request.coding == Coding.ROW_CENTRED
        fit = fit_reusecov(drawn, penalty=terms.penalty, keeps_negative=is_row_centred)
        return fit.of_centred_rows() if is_row_centred else fit.in_half_coding(drawn.origin)


def _noting(statistics: "Iterable[NoisyStatistics]", events: list) -> "Iterator[NoisyStatistics]":
    """Hand on statistics one after the other, and collect their events."""
    for outcome_statistics in statistics:
        events += outcome_statistics.events
        yield outcome_statistics
