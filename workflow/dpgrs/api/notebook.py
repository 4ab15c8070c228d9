"""Noisy statistics, weights and plans of arrays, by the functions of the rules. Benchmarks only.

Noise is of a public seed: for open or simulated data. A release draws secret noise, which is charged to a
ledger first; that takes the workflow (docs/how-to/release.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.api.results import ArrayFit, Shown, Terms
from dpgrs.api.terms import (
    LARGEST_CALL,
    Units,
    frequency_array,
    genotype_array,
    outcome_arrays,
    require_method,
    settings_of,
)
from dpgrs.errors import UsageError, must
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.mechanisms import fitted_from
from dpgrs.methods.registry import METHODS
from dpgrs.planning.plan import plan_study
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.study.draws import Draw
from dpgrs.study.in_process import draws_of_study, training_data, variants_of_haplotypes
from dpgrs.types import Missing, Rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpgrs.privacy.sensitivity import Sensitivity

REPLICATE = 1  # as of a study of one
DEFAULT = "blup"


@dataclass(frozen=True, eq=False, repr=False)
class NoisyArrays(Shown):
    """Noisy statistics of arrays, as `dpgrs.noisy_statistics` gives them; fits on them cost nothing more.

    X is in copies of the allele, less what public frequencies let expect, with rows clipped at a public norm;
    its intercept is 1/2. With ``privacy.bounds: worst-case`` alleles are less 1/2 instead, and unclipped.

    Attributes
    ----------
    gram : (n_variants + 1, n_variants + 1) float64, X'X with the intercept last; None if not drawn.
    cross : (n_outcomes, n_variants) float64, X'Y of the standardised outcomes.
    n : int, the number of rows: noisy under add-remove, exact under replace-one.
    noise_sd : dict of ``gram`` and ``cross`` to float, standard deviations of the noise of an entry.
    sensitivities : dict of ``gram`` and ``cross`` to Sensitivity.
    terms : Terms
    """

    gram: np.ndarray | None
    cross: np.ndarray
    n: int
    noise_sd: dict[str, float]
    sensitivities: "dict[str, Sensitivity]"
    terms: Terms
    _draw: Draw
    _noisy: Any
    _units: Units

    @property
    def size(self) -> str:
        n_outcomes, n_variants = self.cross.shape
        return f"statistics of {n_outcomes} outcomes x {n_variants} variants, n = {self.n}"

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that can be fitted on these statistics, a tuple of str."""
        draw_of = {"method": None, "protection": self._draw.request.protection}
        served = fitted_from(self._draw.mechanism, list(METHODS), **draw_of)
        return tuple(name for name in served if not METHODS[name].takes_ld)

    def fit(self, method: str = DEFAULT, **changes: Any) -> ArrayFit:
        """Fit weights.

        Parameters
        ----------
        method : str, one of `methods`.
        **changes : keys of ``regression`` that replace the settings: ``lambda_``, ``lambda_from``,
            ``heritability``, ``joint_projection``.

        Returns
        -------
        ArrayFit

        Privacy
        -------
        Post-processing: no further noise, no further cost.

        Raises
        ------
        UsageError
            For another method, or a key that is none or has a value out of its domain.
        """
        require_method(method, self.methods)
        if not changes:
            return _fitted(self._draw, self._noisy, self._units, method)
        request = self._draw.request
        fit_settings = settings_of(
            request.epsilon,
            n_variants=request.n_variants,
            n_outcomes=len(self.cross),
            methods=[method],
            seed=0,
            settings={f"regression.{name.removesuffix('_')}": setting for name, setting in changes.items()},
        )
        changed = {name.removesuffix("_") for name in changes}
        changed_keys = {
            name: setting for name, setting in fit_settings.regression.as_dict().items() if name in changed
        }
        regression = self._draw.settings.regression.as_dict() | changed_keys
        return _fitted(self._draw, self._noisy, self._units, method, regression=regression)


def noisy_statistics(
    epsilon: float,
    X: "ArrayLike",
    Y: "ArrayLike",
    *,
    frequency: "ArrayLike",
    seed: int,
    rows: str = "haplotypes",
    centre: "float | ArrayLike" = 0.0,
    scale: "float | ArrayLike" = 1.0,
    prevalence: "float | ArrayLike | None" = None,
    delta: float | None = None,
    protection: str = "full",
    neighbours: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> NoisyArrays:
    """Sum X'X and X'Y of arrays, and add seeded Gaussian noise, as a study of one replicate does.

    Parameters
    ----------
    epsilon : float > 0, of all outcomes together.
    X : (n_rows, n_variants), 0 or 1 of haplotypes, the two of a person one after the other; 0, 1 or 2 of
        people. Nothing may be missing.
    Y : (n_rows, n_outcomes) or (n_rows,), in any units. NaN is taken where ``outcomes.missing`` is
        ``counted``.
    frequency : (n_variants,) public allele frequencies, at which rows are centred and which bound them; of
        a reference panel, not of X.
    seed : int, public, of the noise.
    rows : ``haplotypes`` or ``people``, the rows of X.
    centre, scale : float or (n_outcomes,), public mean and standard deviation of the outcomes.
    prevalence : float or (n_outcomes,), public share of 1 of 0/1 outcomes, instead of both.
    delta : float in (0, 1); None takes the schema's.
    protection : ``full``, ``feature`` or ``label``, the private data.
    neighbours : ``add-remove`` or ``replace-one``; None takes the former, or where one side is public the
        latter.
    settings : dict of dotted keys of ``privacy``, ``regression``, ``screening``, ``outcomes.bound`` and
        ``outcomes.missing`` to values (docs/reference/settings.md).

    Returns
    -------
    NoisyArrays

    Privacy
    -------
    None: anyone with the seed can take the noise off. The noise is as large as in a release with these
    terms, whose draws are `private_statistics` (docs/proofs/gram.md, docs/proofs/cross_product.md).

    Raises
    ------
    UsageError
        For arrays of another shape or with other values, and for terms out of their domain.

    Examples
    --------
    >>> import dpgrs, numpy as np
    >>> from dpgrs.public_random import generator
    >>> rng = generator(1, "example")
    >>> frequency = np.full(5, 0.3)
    >>> X = (rng.random((2000, 5)) < frequency).astype(int)
    >>> Y = X @ [[1.0], [0], [0], [0], [-1]] + rng.standard_normal((2000, 1))
    >>> noisy = dpgrs.noisy_statistics(5.0, X, Y, frequency=frequency, scale=1.2, seed=1)
    >>> noisy.gram.shape, noisy.cross.shape, noisy.terms.is_private
    ((6, 6), (1, 5), False)
    >>> noisy.fit("blup").weights.shape
    (1, 5)
    """
    privacy_terms = {"delta": delta, "protection": protection, "neighbours": neighbours, "settings": settings}
    scales = {"centre": centre, "scale": scale, "prevalence": prevalence}
    arrays = {"frequency": frequency, "seed": seed, "rows": rows}
    draw, noisy, units = _draw_once(epsilon, X, Y, method=DEFAULT, **arrays, **scales, **privacy_terms)
    request = draw.request
    return NoisyArrays(
        gram=noisy.gram,
        cross=noisy.cross,
        n=noisy.n,
        noise_sd={name: request.noise_sd[name] for name in ("gram", "cross")},
        sensitivities={"gram": request.gram_claim, "cross": request.cross_claim},
        terms=Terms.of(request, noisy.events, method=DEFAULT),
        _draw=draw,
        _noisy=noisy,
        _units=units,
    )


def regress(
    epsilon: float,
    X: "ArrayLike",
    Y: "ArrayLike",
    method: str = DEFAULT,
    *,
    frequency: "ArrayLike",
    seed: int,
    **arguments: Any,
) -> ArrayFit:
    """Fit arrays by a private method of the registry, with seeded noise, as a study of one replicate does.

    A method that chooses variants first draws its choices itself, where methods of a study share one draw:
    the law is the same, the seeded noise another.

    Parameters
    ----------
    epsilon, X, Y, frequency, seed : as of `noisy_statistics`.
    method : str, any private method but those that need public linkage disequilibrium.
    **arguments : the other arguments of `noisy_statistics`.

    Returns
    -------
    ArrayFit

    Privacy
    -------
    None, as of `noisy_statistics`: the seed is public. What the draws would cost in a release is in
    `terms.totals` of the result, for methods that a release offers.

    Raises
    ------
    UsageError
        As `noisy_statistics`; for another method.

    Examples
    --------
    >>> import dpgrs, numpy as np
    >>> from dpgrs.public_random import generator
    >>> rng = generator(1, "example")
    >>> frequency = np.full(5, 0.3)
    >>> X = rng.binomial(2, frequency, (1000, 5))
    >>> y = X[:, 0] + rng.standard_normal(1000)
    >>> fit = dpgrs.regress(8.0, X, y, "k-blup", rows="people", frequency=frequency, centre=0.6, scale=1.2,
    ...                     seed=1, settings={"screening.size": 1})
    >>> fit.chosen.tolist(), fit.predict(X).shape
    ([[0]], (1000, 1))
    """
    private = [name for name, row in METHODS.items() if not (row.is_non_private or row.takes_ld)]
    require_method(method, private)
    draw, noisy, units = _draw_once(epsilon, X, Y, method=method, frequency=frequency, seed=seed, **arguments)
    return _fitted(draw, noisy, units, method)


def plan(
    epsilon: float,
    *,
    people: int,
    n_variants: int,
    n_outcomes: int = 1,
    methods: Sequence[str] = (DEFAULT,),
    heritabilities: Sequence[float] = (),
    **arguments: Any,
) -> dict[str, Any]:
    """Work out what a study would cost, and the accuracy to expect; no data are read and nothing is drawn.

    A fifth of the people is left out to test on, and allele frequencies are assumed, as the result says. With
    files of public sites use the command `dpgrs plan`.

    Parameters
    ----------
    epsilon : float > 0
    people, n_variants, n_outcomes : int
    methods : sequence of str, for the accuracy to expect.
    heritabilities : sequence of float in (0, 1), assumed shares of variance that the variants explain.
    **arguments : rows, delta, protection, neighbours and settings, as of `noisy_statistics`.

    Returns
    -------
    dict, as from `dpgrs.planning.plan.plan_study`.

    Privacy
    -------
    Reads nothing but public terms.

    Raises
    ------
    UsageError
        For terms out of their domain.

    Examples
    --------
    >>> import dpgrs
    >>> planned = dpgrs.plan(5.0, people=10_000, n_variants=100, n_outcomes=3, heritabilities=[0.2])
    >>> planned["requests"][0]["epsilon"]
    5.0
    """
    sizes = {"n_variants": n_variants, "n_outcomes": n_outcomes}
    config = settings_of(epsilon, **sizes, methods=list(methods), seed=0, **arguments)
    return plan_study(config.as_dict(), people=people, heritabilities=heritabilities)


def _draw_once(
    epsilon: float,
    X: "ArrayLike",
    Y: "ArrayLike",
    *,
    method: str,
    frequency: "ArrayLike",
    seed: int,
    rows: str = "haplotypes",
    centre: "float | ArrayLike" = 0.0,
    scale: "float | ArrayLike" = 1.0,
    prevalence: "float | ArrayLike | None" = None,
    **privacy_terms: Any,
) -> tuple[Draw, Any, Units]:
    """Return the one Draw of a method, its noisy result, and the Units of the outcomes."""
    alleles = genotype_array(X, rows=rows)
    n_variants, n_rows = len(alleles), len(X)
    frequency = frequency_array(frequency, n_variants=n_variants)
    n_outcomes = Y.shape[1] if np.ndim(Y := np.asarray(Y)) == 2 else 1
    sizes = {"n_variants": n_variants, "n_outcomes": n_outcomes, "rows": rows}
    settings = settings_of(epsilon, **sizes, methods=[method], seed=seed, **privacy_terms)
    public = {"centre": centre, "scale": scale, "prevalence": prevalence}
    missing = Missing(settings.outcomes.missing)
    outcomes, units = outcome_arrays(
        Y, n_rows=n_rows, is_row=rows, **public, missing=missing, size=n_variants
    )
    with variants_of_haplotypes(alleles, frequency) as variant_set:
        draws = list(draws_of_study(settings, training_data(settings, variant_set, outcomes)))
        if len(draws) != 1:
            fix = "Give one value of each setting, and a protection that the method has."
            raise UsageError(
                "several-draws", must("settings", f"be of one draw for {method}", str(len(draws)), fix)
            )
        (draw,) = draws
        return draw, draw.draw(BenchmarkNoise(seed, REPLICATE, *draw.key, *draw.request.key)), units


def _fitted(
    draw: Draw,
    noisy: Any,  # the draws of the method's mechanism
    units: Units,
    method: str,
    *,
    regression: Mapping[str, Any] | None = None,
) -> ArrayFit:
    """Return the ArrayFit of a noisy result, in the units of alleles and outcomes."""
    fit_terms = FitTerms.of(draw.settings.regression.as_dict() if regression is None else regression)
    fit_options = {"request": draw.request, "terms": fit_terms, "outcomes": draw.public_outcomes}
    fit, scale = fit_released(method, noisy, **fit_options), units.scale[:, np.newaxis]
    # `half` coding: an allele less 1/2, or two of them less 1.
    without = np.full(draw.request.n_variants, -LARGEST_CALL[Rows(draw.request.rows)] / 2)
    errors = fit.standard_errors
    return ArrayFit(
        weights=fit.weights * scale,
        intercept=units.centre + units.scale * fit.at(without),
        standard_errors=None if errors is None else errors * scale,
        chosen=fit.chosen,
        statuses=tuple(getattr(noisy, "statuses", ())) or ("ok",) * len(fit.weights),
        method=method,
        terms=Terms.of(draw.request, noisy.events, method=method),
    )
