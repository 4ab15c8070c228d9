"""A release opened by who got it: its noisy statistics, and any fit on them, at no cost."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.methods.fits import FitTerms
from dpgrs.methods.registry import METHODS
from dpgrs.release.constants import prediction_constants, published
from dpgrs.release.statistics_files import SITE_COLUMNS, ReleasedStatistics

OF_FIT = ("lambda", "lambda_from", "heritability", "joint_projection")


@dataclass(frozen=True)
class Refit:
    """Scores that were fitted on the noisy statistics of a release.

    Attributes
    ----------
    weights : pandas.DataFrame, per copy of the ALT allele, in standard deviations of the outcomes: a row for
        each site (contig, position, ref, alt), a column for each outcome.
    constants : pandas.Series by outcome: a person's prediction is this and the sum of weight times copies
        (docs/release.md, from score to prediction).
    standard_errors : pandas.DataFrame as `weights`; None where a method gives none that hold.
    """

    weights: pd.DataFrame
    constants: pd.Series
    standard_errors: pd.DataFrame | None


@dataclass(frozen=True)
class OpenRelease:
    """What `dpgrs.open_release` gives.

    Attributes
    ----------
    statement : dict, the privacy statement.
    statistics : ReleasedStatistics: ``sites``, ``noisy`` with ``gram`` (X'X, intercept last), ``cross``
        (X'Y), ``n`` and more, and ``request``, whose ``noise_sd`` are the standard deviations of their noise.
    """

    statement: dict
    statistics: ReleasedStatistics

    @property
    def outcomes(self):
        return tuple(self.statement["data_domain"]["outcomes"])

    @property
    def methods(self):
        """The methods that can be fitted on these statistics alone, a tuple of str."""
        mechanism, request = self.statistics.mechanism, self.statistics.request
        known = (name for name in mechanism.methods if request.protection in METHODS[name].protections)
        return tuple(name for name in known if not METHODS[name].takes_ld)

    def marginal_effects(self):
        """Return the effects of single variants, a MarginalEffects.

        Raises
        ------
        UsageError
            If the rows were turned before they were summed, so that no product is of a single variant.
        """
        if not self.statistics.has_marginal:
            raise UsageError(
                "Marginal effects must come from one X'Y of single variants and all outcomes, got what "
                f"`{self.statement['method']}` has here. Fit scores instead."
            )
        return self.statistics.marginal_effects()

    def fit(self, method=None, **changes):
        """Fit scores again.

        Parameters
        ----------
        method : str, one of `methods`; None takes the release's own.
        **changes : ``lambda_`` (float >= 0, per row), ``lambda_from`` (``fixed``, ``adassp`` or
            ``evidence``), ``heritability`` (float in (0, 1), None estimates it), ``joint_projection`` (bool);
            what is not given is as in the release.

        Returns
        -------
        Refit

        Privacy
        -------
        Post-processing of what is published: it costs nothing.

        Raises
        ------
        UsageError
            If the method or a term is none of these.

        Examples
        --------
        >>> import dpgrs
        >>> opened = dpgrs.open_release("release")  # doctest: +SKIP
        >>> opened.fit("blup", heritability=0.3).weights  # doctest: +SKIP
        """
        return self._refit(self._fit(method or self.statement["method"], changes))

    def _fit(self, method, changes):
        if method not in self.methods:
            raise UsageError(
                f"`method` must be one that these statistics serve, {', '.join(self.methods) or 'none'}, got "
                f"{method}. Take one of them."
            )
        changes = {name.removesuffix("_"): value for name, value in changes.items()}
        unknown = sorted(changes.keys() - set(OF_FIT))
        if unknown:
            raise UsageError(f"A fit must be changed by {', '.join(OF_FIT)}, got {unknown[0]}. Correct it.")
        regression = {name: self.statement["fit"][name] for name in OF_FIT} | changes
        statistics = self.statistics
        return statistics.mechanism.fit(
            method, statistics.noisy, request=statistics.request, terms=FitTerms.of(regression), outcomes=None
        )

    def _refit(self, fit):
        fit, sites, request = published(fit), self.statistics.sites, self.statistics.request
        n_variants = len(sites)
        constants = prediction_constants(
            fit,
            n_variants=n_variants,
            n_components=self.statistics.label.get("n_components", 0),
            rows=request.rows,
        )
        index = pd.MultiIndex.from_frame(sites[list(SITE_COLUMNS)])

        def table(numbers):
            kept = np.asarray(numbers)[:, :n_variants].T
            return pd.DataFrame(kept, index=index, columns=list(self.outcomes))

        errors = None if fit.standard_errors is None else table(fit.standard_errors)
        return Refit(table(fit.weights), pd.Series(constants.of_person, index=list(self.outcomes)), errors)
