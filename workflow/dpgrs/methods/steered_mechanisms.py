"""Mechanisms that draw X'Y of steered rows: after a Gram matrix of their own, or on a public one."""

from collections.abc import Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.linalg.outcome_grid import clipped_outcomes
from dpgrs.linalg.public_ld import PublicLd
from dpgrs.linalg.steering import SteerableRows, Steering
from dpgrs.methods.blup_ld import blup_ld, ld_request
from dpgrs.methods.blup_shared import fit_blup_shared
from dpgrs.methods.fits import FitTerms
from dpgrs.methods.fitter import Fitter
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.methods.steered import SteeredRequest, private_steered_statistics, steered_request
from dpgrs.methods.sum_fits import by_model
from dpgrs.methods.sum_mechanisms import SharedStatistics
from dpgrs.types import Coding

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.linalg.linear_fit import LinearFit
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.study.training_data import TrainingData


class SteeredStatistics(SharedStatistics):
    """The count, one X'X, and then for each budget the counts of outcomes and X'Y of steered rows."""

    name = "steered-statistics"
    takes = ("statistics", "variant_set")
    audited = ("private_gram", "private_cross_product", "private_steered_statistics")
    draws = MappingProxyType({"genotypes": ("count", "gram"), "outcomes": ("observed", "cross")})

    def terms(self, request: "PrivacyRequest") -> SteeredRequest:
        return steered_request(request)

    def key(self, method: str | None) -> tuple[str, ...]:
        return (self.name,)

    def exact(
        self,
        request: "PrivacyRequest",
        *,
        data: "TrainingData",
        names: Sequence[str],
        settings: "StudyConfig",
    ) -> dict[str, Any]:
        exact = super().exact(request, data=data, names=names, settings=settings)
        del exact["cross"]
        steered_terms, stored_rows = self.terms(request), data.rows(request.n_variants).in_memory
        values = np.where(stored_rows.is_training, data.drawn_outcomes(request)[: len(names)], np.nan)
        bounds = {"bound": request.outcome_bound, "norm": request.outcome_norm}
        Y = clipped_outcomes(values, n_shared=request.n_outcomes, **bounds)
        is_clipped = request.coding == Coding.FREQUENCY
        rows = SteerableRows(
            stored_rows.genotypes,
            Y,
            stored_rows.n_haplotypes,
            stored_rows.rows,
            stored_rows.is_training,
            steered_terms.row_bound,
            request.outcome_bound,
            data.frequency(request.n_variants) if is_clipped else None,
        )
        return exact | {"rows": rows, "digest": stored_rows.genotype_digest}

    def zeros(self, request: "PrivacyRequest", n_outcomes: int) -> dict[str, Any]:
        zeros = super().zeros(request, n_outcomes)
        steered_terms, cross = self.terms(request), zeros.pop("cross")
        bits = np.zeros((request.n_variants, 1), dtype=np.uint64)
        Y, nobody = np.zeros((len(cross), 0), dtype=np.int64), np.zeros(0, dtype=bool)
        bounds = (steered_terms.row_bound, request.outcome_bound)
        return zeros | {"rows": SteerableRows(bits, Y, 0, request.rows, nobody, *bounds), "digest": ""}

    def draw(
        self,
        gram: np.ndarray,
        rows: SteerableRows,
        n_rows: int,
        *,
        request: "PrivacyRequest",
        origin: np.ndarray | None = None,
        loadings: np.ndarray | None = None,
        **options: Any,
    ) -> NoisyStatistics:
        """Release the statistics.

        `origin` and `loadings`: public, as in `NoisyStatistics`; all others as in
        `private_steered_statistics`.
        """
        statistics = private_steered_statistics(gram, rows, n_rows, request=self.terms(request), **options)
        return replace(statistics, origin=origin, loadings=loadings)

    def arrays(self, drawn: Any) -> dict[str, np.ndarray]:
        return super().arrays(drawn) | vars(drawn.steering)

    def restore(self, label: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        arrays = dict(arrays)
        steering = Steering(**{field.name: arrays.pop(field.name) for field in fields(Steering)})
        return NoisyStatistics(**{"gram": None} | arrays, n=label["n"], steering=steering)

    def outputs(
        self, drawn: Any, names: Sequence[str], request: "PrivacyRequest"
    ) -> dict[tuple[str, ...], tuple]:
        by_part, turned = super().outputs(drawn, names, request), vars(drawn.steering).values()
        return {
            part_name: (*numbers, *turned) if "outcomes" in part_name else numbers
            for part_name, numbers in by_part.items()
        }

    def drawn_before(self, request: "PrivacyRequest") -> dict[str, Any]:
        budget = self.terms(request).budget
        return {"steered_by": {name: budget[name] for name in ("count", "gram")}}


class SteeredProducts(SteeredStatistics):
    """Only the counts and X'Y of steered rows, for fits on public linkage disequilibrium."""

    name = "steered-products"
    takes = ("statistics", "variant_set", "ld")
    audited = ("private_cross_product", "private_steered_statistics")
    draws = MappingProxyType({"genotypes": ("count",), "outcomes": ("observed", "cross")})

    def terms(self, request: "PrivacyRequest") -> SteeredRequest:
        return ld_request(request)

    def exact(
        self,
        request: "PrivacyRequest",
        *,
        data: "TrainingData",
        names: Sequence[str],
        settings: "StudyConfig",
    ) -> dict[str, Any]:
        exact = super().exact(request, data=data, names=names, settings=settings)
        return exact | {"gram": None, "ld": data.ld(request.n_variants)}

    def zeros(self, request: "PrivacyRequest", n_outcomes: int) -> dict[str, Any]:
        d = request.n_variants
        ld = PublicLd(np.arange(d), (np.zeros((1, 1)),) * d, np.zeros((0, d)), 1)
        return super().zeros(request, n_outcomes) | {"gram": None, "ld": ld}

    def outputs(
        self, drawn: Any, names: Sequence[str], request: "PrivacyRequest"
    ) -> dict[tuple[str, ...], tuple]:
        by_part = super().outputs(drawn, names, request)
        del by_part["genotypes",]
        # No request draws a public n, but weights depend on it.
        by_part = {part_name: (drawn.n, *numbers) for part_name, numbers in by_part.items()}
        return ({("genotypes",): (drawn.n,)} if request.has_private_count else {}) | by_part


class BlupSteered(Fitter):
    """Noise-aware BLUP from a noisy Gram matrix and X'Y of steered rows."""

    mechanism = SteeredStatistics

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs.methods.audits.steered import steered_cases

        return steered_cases()

    def fit(
        self, drawn: Any, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None = None
    ) -> "LinearFit":
        fit = by_model(fit_blup_shared, drawn, steered_request(request), terms, steering=drawn.steering)
        return fit.in_half_coding(drawn.origin).of_outcomes(drawn.loadings)


class BlupLd(BlupSteered):
    """Noise-aware BLUP from X'Y of steered rows and public linkage disequilibrium."""

    mechanism = SteeredProducts

    def fit(
        self, drawn: Any, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None = None
    ) -> "LinearFit":
        return blup_ld(drawn, request=ld_request(request), terms=terms)
