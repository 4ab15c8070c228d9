"""Mechanisms that draw X'Y of steered rows: after a Gram matrix of their own, or on a public one."""

from dataclasses import fields, replace
from types import MappingProxyType

import numpy as np

from dpgrs.linalg.norms import clipped_outcomes
from dpgrs.linalg.public_ld import PublicLd
from dpgrs.linalg.steering import SteerableRows, Steering
from dpgrs.methods.blup_ld import blup_ld, ld_request
from dpgrs.methods.fits import blup_steered
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.methods.steered import private_steered_statistics, steered_request
from dpgrs.methods.sum_mechanisms import SharedStatistics
from dpgrs.types import Coding


class SteeredStatistics(SharedStatistics):
    """The count, one X'X, and then for each budget the counts of outcomes and X'Y of steered rows."""

    name = "steered-statistics"
    takes = ("statistics", "variant_set")
    draws = MappingProxyType({"genotypes": ("count", "gram"), "outcomes": ("observed", "cross")})

    def terms(self, request):
        return steered_request(request)

    def key(self, method):
        return (self.name,)

    def exact(self, request, *, data, names, settings):
        exact = super().exact(request, data=data, names=names, settings=settings)
        del exact["cross"]
        terms, own = self.terms(request), data.rows(request.n_variants).in_memory
        values = np.where(own.is_training, data.drawn_outcomes(request)[: len(names)], np.nan)
        bounds = {"bound": request.outcome_bound, "norm": request.outcome_norm}
        Y = clipped_outcomes(values, n_shared=request.n_outcomes, **bounds)
        is_clipped = request.coding == Coding.FREQUENCY
        rows = SteerableRows(
            own.genotypes,
            Y,
            own.n_haplotypes,
            own.rows,
            own.is_training,
            terms.row_bound,
            request.outcome_bound,
            data.frequency(request.n_variants) if is_clipped else None,
        )
        return exact | {"rows": rows, "digest": own.genotype_digest}

    def zeros(self, request, n_outcomes):
        zeros = super().zeros(request, n_outcomes)
        terms, cross = self.terms(request), zeros.pop("cross")
        bits = np.zeros((request.n_variants, 1), dtype=np.uint64)
        Y, nobody = np.zeros((len(cross), 0), dtype=np.int64), np.zeros(0, dtype=bool)
        bounds = (terms.row_bound, request.outcome_bound)
        return zeros | {"rows": SteerableRows(bits, Y, 0, request.rows, nobody, *bounds), "digest": ""}

    def draw(self, gram, rows, n_rows, *, request, origin=None, loadings=None, **options):
        """Release the statistics.

        Parameters
        ----------
        request : PrivacyRequest
        origin, loadings : public, as in `NoisyStatistics`; all others as in `private_steered_statistics`.

        Returns
        -------
        NoisyStatistics
        """
        drawn = private_steered_statistics(gram, rows, n_rows, request=self.terms(request), **options)
        return replace(drawn, origin=origin, loadings=loadings)

    def arrays(self, drawn):
        return super().arrays(drawn) | vars(drawn.steering)

    def restore(self, label, arrays):
        arrays = dict(arrays)
        steering = Steering(**{field.name: arrays.pop(field.name) for field in fields(Steering)})
        return NoisyStatistics(**{"gram": None} | arrays, n=label["n"], steering=steering)

    def outputs(self, drawn, names, request):
        parts, turned = super().outputs(drawn, names, request), vars(drawn.steering).values()
        return {
            part: (*numbers, *turned) if "outcomes" in part else numbers for part, numbers in parts.items()
        }

    def drawn_before(self, request):
        budget = self.terms(request).budget
        return {"steered_by": {name: budget[name] for name in ("count", "gram")}}

    def fit(self, method, drawn, *, request, terms, outcomes=None):
        return blup_steered(drawn, request=self.terms(request), terms=terms)


class SteeredProducts(SteeredStatistics):
    """The counts and X'Y of steered rows alone, for fits on public linkage disequilibrium."""

    name = "steered-products"
    takes = ("statistics", "variant_set", "ld")
    draws = MappingProxyType({"genotypes": ("count",), "outcomes": ("observed", "cross")})

    def terms(self, request):
        return ld_request(request)

    def exact(self, request, *, data, names, settings):
        exact = super().exact(request, data=data, names=names, settings=settings)
        return exact | {"gram": None, "ld": data.ld(request.n_variants)}

    def zeros(self, request, n_outcomes):
        d = request.n_variants
        ld = PublicLd(np.arange(d), (np.zeros((1, 1)),) * d, np.zeros((0, d)), 1)
        return super().zeros(request, n_outcomes) | {"gram": None, "ld": ld}

    def outputs(self, drawn, names, request):
        parts = super().outputs(drawn, names, request)
        del parts["genotypes",]
        # A public n is drawn by no request of its own, but weights hang on it.
        parts = {part: (drawn.n, *numbers) for part, numbers in parts.items()}
        return ({("genotypes",): (drawn.n,)} if request.has_private_count else {}) | parts

    def fit(self, method, drawn, *, request, terms, outcomes=None):
        return blup_ld(drawn, request=self.terms(request), terms=terms)
