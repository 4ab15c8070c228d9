"""Open a bundle: its noisy statistics, and any fit on them, at no cost."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.fit_keys import regression_of
from dpgrs.io.json_files import read_json
from dpgrs.io.loadings import read_loadings
from dpgrs.linalg.attenuation import clip_moments
from dpgrs.linalg.coding import column_moments, grid_frequency
from dpgrs.linalg.components import mapped_loadings
from dpgrs.methods.adassp import AdasspStatistics
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.registry import METHODS
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.release.constants import prediction_constants, published
from dpgrs.types import Coding, Missing
from dpgrs.verify.accuracy_check import read_constants
from dpgrs.verify.bundle import STATEMENT, verify_release
from dpgrs.verify.covariate_check import FILE as COVARIATES
from dpgrs.verify.covariate_check import LOADINGS, is_adjusted
from dpgrs.verify.entry_check import FILE as OUTCOME_LOADINGS
from dpgrs.verify.entry_check import ROW_NORM, columns_of
from dpgrs.verify.folder_check import list_files
from dpgrs.verify.scoring_check import column_numbers, read_scoring_file
from dpgrs.verify.statistics_check import (
    ARRAYS,
    clips_of,
    prevalences,
    read_statistics,
    rows_of,
    shares_budget,
)

if TYPE_CHECKING:
    from dpgrs.linalg.linear_fit import LinearFit

SITE_COLUMNS = ("chromosome", "position", "effect_allele", "other_allele")
# A share of the largest weight, and of slopes: public inputs have six digits, and machines differ.
TOLERANCE = 1e-5


@dataclass(frozen=True, kw_only=True)
class StatedRequest(PrivacyRequest):
    """The terms of a release, and the standard deviations of its noise, as its statement has them."""

    noise_sd: dict[str, Any]  # by name, 0 without noise; used instead of a budget


class _Drawn(NamedTuple):
    """What a fit reads of a draw."""

    statistic: str
    sigma: float


@dataclass(frozen=True)
class Refit:
    """Scores that were fitted on the noisy statistics of a release.

    Weights are per copy of the effect allele, in standard deviations of the outcomes: a row for each site, in
    the order of the scoring files, a column for each outcome. A person's prediction is the constant and the
    sum of weight times copies. Standard errors are None if a method gives none that hold.
    """

    weights: pd.DataFrame
    constants: pd.Series
    standard_errors: pd.DataFrame | None


@dataclass(frozen=True)
class OpenRelease:
    """The result of `dpgrs.open_release`.

    The float64 arrays (docs/how-to/use_release.md) are ``gram`` (n_columns + 1, n_columns + 1), ``cross``
    (n_outcomes, n_columns), ``frequency`` (n_variants,) and others; columns are variants in the order of the
    scoring files, then covariates, then the intercept 1/2.
    """

    statement: dict[str, Any]  # the privacy statement
    arrays: dict[str, np.ndarray]
    noise_sd: dict[str, float]  # of an entry of `gram` and `cross`
    n: int  # the number of rows, as released or public
    sites: pd.MultiIndex  # chromosome, position, effect_allele and other_allele, text
    _files: dict[str, Path]

    def __repr__(self) -> str:
        guarantee, method = self.statement["guarantee"], self.statement["method"]
        size = f"{len(self.outcomes)} outcomes x {len(self.sites)} variants"
        privacy = f"epsilon {guarantee['epsilon']} and delta {guarantee['delta']} for one {guarantee['unit']}"
        return f"<release of {size} by {method}, n = {self.n}, {privacy}>"

    @property
    def outcomes(self) -> tuple[str, ...]:
        return tuple(self.statement["data_domain"]["outcomes"])

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that need nothing but these statistics."""
        own_method, protection = self.statement["method"], self.statement["guarantee"]["protection"]
        if "gram" not in self.arrays:
            return ()
        return tuple(
            name
            for name, row in METHODS.items()
            if protection in row.protections
            and not row.takes_ld
            and (row.is_post_processing or name == own_method == "adassp")
        )

    def fit(self, method: str | None = None, **changes: Any) -> Refit:
        """Fit scores.

        Parameters
        ----------
        method : str, one of `methods`; None takes the release's own.
        **changes : ``lambda_`` (float >= 0, per row), ``lambda_from`` (``fixed``, ``adassp`` or
            ``evidence``), ``heritability`` (float in (0, 1), None estimates it), ``joint_projection`` (bool);
            what is not given is as in the release. Public effects are in no fit.

        Returns
        -------
        Refit

        Privacy
        -------
        Post-processing of what is published: costs nothing.

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
        method = method or self.statement["method"]
        if method not in self.methods:
            reason = "" if self.methods else ": X'X of public genotypes is in no bundle"
            raise UsageError(
                "method-not-served",
                f"`method` must be one that these statistics serve alone, {', '.join(self.methods) or 'none'}"
                f"{reason}, got {method}. Take one of them, or the published scores.",
            )
        changes = {name.removesuffix("_"): value for name, value in changes.items()}
        regression = regression_of(self.statement["fit"])
        if unknown := sorted(changes.keys() - regression.keys()):
            raise UsageError(
                "fit-setting-unknown",
                f"A fit must be changed by {', '.join(regression)}, got {unknown[0]}. Correct it.",
            )
        fit_terms = FitTerms.of(regression | changes)
        fit = fit_released(method, self._noisy, request=self._request, terms=fit_terms)
        return self._refit(published(fit))

    @property
    def _request(self) -> StatedRequest:
        guarantee, clips = self.statement["guarantee"], self._clips
        stated = {public["name"]: public["value"] for public in self.statement["public_inputs"]}
        n_covariates = columns_of(self.statement, self._files) - len(self.sites)
        guarantee_fields = {
            name: guarantee[name] for name in ("rows", "protection", "unit", "neighbours", "accounting")
        }
        return StatedRequest(
            **guarantee_fields,
            n_variants=len(self.sites),
            n_outcomes=clips["n_shared"],
            outcome_bound=clips["bound"],
            epsilon=float(guarantee["epsilon"]),
            delta=float(guarantee["delta"]),
            coding=Coding.FREQUENCY if ROW_NORM in stated else Coding.HALF,
            row_norm=float(stated[ROW_NORM]) if ROW_NORM in stated else None,
            outcome_norm=clips["norm"],
            n_covariates=n_covariates,
            covariate_bound=self._covariates["bound"].iloc[0] if n_covariates else None,
            counts_outcomes=self.statement["data_domain"]["missing_outcomes"] == Missing.COUNTED,
            noise_sd=self.noise_sd,
        )

    @property
    def _clips(self) -> dict[str, Any]:
        """The bounds that the clip of the outcomes depends on, as the arguments of `clip_moments`."""
        bound, norm = clips_of(self.statement)
        n_shared = len(self.arrays["slopes"]) if shares_budget(self.statement) else 1
        limits = {"bound": bound, "norm": None if np.isinf(norm) else norm, "n_shared": n_shared}
        return {"prevalence": prevalences(self.statement, self._files)} | limits

    @property
    def _covariates(self) -> pd.DataFrame:
        return pd.read_csv(self._files[COVARIATES], sep="\t", dtype={"covariate": str})

    @property
    def _noisy(self) -> NoisyStatistics | AdasspStatistics:
        arrays = {name: self.arrays.get(name) for name in ("gram", "cross", "observed")}
        # Slopes are as in the fit: the statement's norms have six digits, and small differences can grow.
        arrays["slopes"] = self.arrays["slopes"]
        request, arrays["origin"] = self._request, None
        if request.coding == Coding.FREQUENCY:
            origin = column_moments(grid_frequency(self.arrays["frequency"]), rows=request.rows)[0]
            arrays["origin"] = np.append(origin, np.zeros(request.n_covariates))
        if OUTCOME_LOADINGS in self._files:
            path, text = self._files[OUTCOME_LOADINGS], {"dtype": {0: str}, "keep_default_na": False}
            table = pd.read_csv(path, sep="\t", index_col=0, **text)
            values = table.loc[list(self.outcomes)].to_numpy(dtype=float)
            arrays["loadings"] = mapped_loadings(values)
        if "smallest_eigenvalue" not in self.arrays:
            return NoisyStatistics(n=self.n, **arrays)
        events = tuple(
            _Drawn(mechanism["statistic"], float(mechanism["sigma"]))
            for mechanism in self.statement["mechanisms"]
        )
        eigenvalue = float(self.arrays["smallest_eigenvalue"])
        return AdasspStatistics(n=self.n, events=events, smallest_eigenvalue=eigenvalue, **arrays)

    def _refit(self, fit: "LinearFit") -> Refit:
        n_variants, n_components = len(self.sites), 0
        if LOADINGS in self._files:
            n_components = len(read_loadings(self._files[LOADINGS]).names)
        rows = self.statement["guarantee"]["rows"]
        constants = prediction_constants(fit, n_variants=n_variants, n_components=n_components, rows=rows)

        def table(numbers: np.ndarray) -> pd.DataFrame:
            return pd.DataFrame(numbers[:, :n_variants].T, index=self.sites, columns=list(self.outcomes))

        errors = None if fit.standard_errors is None else table(fit.standard_errors)
        return Refit(table(fit.weights), pd.Series(constants.of_person, index=list(self.outcomes)), errors)


def open_release(directory: Path | str) -> OpenRelease:
    """Open the bundle of a release, to fit other scores on its noisy statistics.

    It is verified first, as by `dpgrs release verify`: also that its scores follow from its statistics.

    Parameters
    ----------
    directory : the bundle's folder.

    Returns
    -------
    OpenRelease

    Raises
    ------
    DpgrsError
        With all that is wrong with the bundle, or if its scores are not of its statistics.
    UsageError
        If it holds no statistics: the curator left them out, or its method has none.

    Examples
    --------
    >>> import dpgrs
    >>> opened = dpgrs.open_release("release")
    >>> opened.outcomes, opened.methods[0]
    (('a', 'b', 'c'), 'reusecov-gauss')
    >>> opened.fit("blup", heritability=0.4).weights.shape
    (4, 3)
    """
    verify_release(directory)
    opened = _opened(Path(directory))
    if opened is None:
        raise UsageError(
            "statistics-not-published",
            f"`{directory}` must hold {ARRAYS} to fit on, got none: its curator left it out, or its method "
            "has none. Use its scores as they are.",
        )
    _require_own_scores(opened)
    return opened


def refits(directory: Path | str) -> bool:
    """Return whether scores of a verified bundle can be fitted on its statistics; others are refused."""
    opened = _opened(Path(directory))
    return opened is not None and _require_own_scores(opened)


def _opened(folder: Path) -> OpenRelease | None:
    files, _ = list_files(folder)
    if ARRAYS not in files:
        return None
    statement = read_json(files[STATEMENT])
    named = {"gram": "gram", "cross product": "cross", "outcome counts": "observed", "case counts": "cases"}
    sds = dict.fromkeys(named.values(), 0.0)
    for mechanism in statement["mechanisms"]:
        if mechanism["statistic"] in named:
            sds[named[mechanism["statistic"]]] = float(mechanism["sigma"])
    sites = read_scoring_file(files[statement["scores"][0]["file"]]).sites
    cells = zip(*(site.split("\t") for site in sites.splitlines()), strict=True)
    index = pd.MultiIndex.from_arrays([*cells], names=SITE_COLUMNS)
    return OpenRelease(
        statement, read_statistics(statement, files), sds, rows_of(statement), index, _files=files
    )


def _require_own_scores(opened: OpenRelease) -> bool:
    """Compare the statistics with public constants and scores; return whether scores could be fitted."""
    statement, moments = opened.statement, clip_moments(**opened._clips)
    released = [opened.arrays[name] for name in ("slopes", "squares")]
    if not np.allclose(released, moments, rtol=TOLERANCE, atol=0):
        raise DpgrsError(
            "slopes-differ",
            f"The slopes and squares in {ARRAYS} must follow from the bounds of the outcomes, got others. "
            "Get the bundle again.",
        )
    # What a fit from public effects or public linkage disequilibrium took is in no bundle.
    if "effects" in statement["fit"] or statement["method"] not in opened.methods:
        return False
    refit = opened.fit()
    numbers_by_outcome = {
        score["outcome"]: column_numbers(read_scoring_file(opened._files[score["file"]]).numbers)
        for score in statement["scores"]
    }
    constants = [row[0] for row in read_constants(statement, opened._files)[0]]
    if is_adjusted(statement):
        constants = refit.constants  # with the regression's own, which no statistics of a bundle show
    scale = refit.weights.abs().max(axis=None)
    for (name, numbers), constant in zip(numbers_by_outcome.items(), constants, strict=True):
        refitted = np.append(refit.weights[name].to_numpy(), refit.constants[name])
        if np.abs(refitted - np.append(numbers, float(constant))).max() > TOLERANCE * scale:
            raise DpgrsError(
                "weights-differ",
                f"The scores must follow from {ARRAYS} by `{statement['method']}`, got other weights of "
                f"`{name}`. Get the bundle again, or ask its curator.",
            )
    return True
