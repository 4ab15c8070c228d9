"""The methods, a row each: all that a study, a statement and its check know of one before its code runs.

A row imports no fit: the check of a bundle reads it, too, and steps that read rows run no code of methods.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpgrs.fit_keys import FIT_KEYS, value_of
from dpgrs.plugins import points
from dpgrs.statement import fit_steps
from dpgrs.statement.draws import KENDALL, OF_GENOME, REUSECOV, SEPARATE, WITH_EIGENVALUE, WITHOUT_GRAM, Draws
from dpgrs.types import Exactness, FittedFrom, Neighbours, Protection, RidgeOf

FULL, FEATURE, LABEL = Protection.FULL, Protection.FEATURE, Protection.LABEL
LARGEST_FACTORED = 2**12  # variants and covariates of a matrix that is factored exactly
LARGEST_DECOMPOSED = 2**14  # variants whose linkage disequilibrium is decomposed

Step = str | Callable[[dict[str, Any]], str]


@dataclass(frozen=True, kw_only=True)
class Method:
    """The facts of a method."""

    label: str  # its name on pages
    look: tuple | None = None  # (colour, marker) in figures; None for methods without privacy
    # Its `dpgrs.methods.fitter.Fitter`, ``module:Class``; None of a method without privacy.
    code: str | None = None
    fitted_from: FittedFrom
    protections: tuple[Protection, ...] = (FULL,)  # those under which it exists
    # How sure its draws are to have their law; None of a method that is only for benchmarks.
    exactness: Exactness | None = None
    # What a statement says of its fit: each a text, or a function of the fit's settings.
    words: tuple[Step, ...] = ()
    draws: tuple[Draws, ...] = REUSECOV  # that a statement of it must list
    # Whether weights of an outcome depend on the draws of others; None says that it depends on the settings.
    pools: bool | None = True
    # The only ones for which what its secret sample hides is accounted; None for all.
    neighbours: Neighbours | None = None
    # The one of `dpgrs.selection.registry.SELECTORS` that chooses the variants of each outcome, or None.
    selector: str | None = None
    reads: tuple[str, ...] = ()  # the keys of ``regression`` on which its fit depends
    takes_covariates: bool = False  # whether columns of X may be covariates
    takes_outcomes: bool = False  # whether its fit uses the outcomes themselves where they are public
    takes_ld: bool = False  # whether its fit takes linkage disequilibrium of a public reference
    takes_effects: bool = False  # whether its fit starts from public effects, where a study has them
    # Whether its fit is plain ridge regression, linear in X'Y, if lambda is stated.
    is_plain_ridge: bool = False
    # Function of the section ``regression``: what pages say of the method, a dict of a label to text.
    facts: Callable[[Mapping[str, Any]], dict[str, str]] | None = None
    reads_count: bool = False  # whether its fit counts units at `screening.count_share`
    has_normal_noise: bool = True  # whether there is any among its draws
    # The most columns of X, the intercept among them, that it can be fitted on.
    most_columns: int | None = None
    most_entries: int | None = None  # the most entries of X'X that it can keep for all outcomes
    ridge: RidgeOf | None = None  # as what an attacker takes its weights; None where they are not attacked
    accounting: str = ""  # what pages say of how its privacy is accounted, where that is special
    bounds: str = ""  # what pages say of its bounds, if it does not use the study's bounds

    @property
    def may_be_released(self) -> bool:
        """Whether its guarantee holds for the draws of a release, and a release offers it."""
        return self.exactness is not None

    @property
    def is_non_private(self) -> bool:
        """Whether it is a reference without privacy, for comparison."""
        return Protection.NONE in self.protections

    @property
    def is_screened(self) -> bool:
        """Whether it is fitted on variants that were chosen for each outcome."""
        return self.selector is not None

    @property
    def is_post_processing(self) -> bool:
        """Whether it is fitted from ReuseCov's statistics: fitting it as well costs nothing."""
        return self.fitted_from == FittedFrom.SHARED_SUMS

    @property
    def reads_rows(self) -> bool:
        """Whether a study fits it from rows, not from sums over them; it then counts no rows."""
        return self.fitted_from == FittedFrom.ROWS

    @property
    def draws_from_rows(self) -> bool:
        """Whether a release draws for it from rows, as sums over all variants do not serve it."""
        return self.fitted_from in (FittedFrom.ROWS, FittedFrom.CHOSEN)

    @property
    def takes_map(self) -> bool:
        """Whether it takes public linkage disequilibrium as a map, along which people are summed."""
        return self.fitted_from == FittedFrom.GENOME

    @property
    def is_steered(self) -> bool:
        """Whether it is fitted from X'Y of steered rows."""
        return self.fitted_from in (FittedFrom.STEERED, FittedFrom.PRODUCTS)

    @property
    def reads_ancestry(self) -> bool:
        """Whether its fit, without X'X of the cohort, takes a reference of stated ancestry to match it."""
        return self.fitted_from in (FittedFrom.PRODUCTS, FittedFrom.GENOME)

    @property
    def takes_loadings(self) -> bool:
        """Whether it can be fitted to components of outcomes, or needs none as nothing is drawn for it."""
        is_exact = self.is_non_private and not self.is_screened
        return is_exact or self.is_post_processing or self.is_steered

    def pools_outcomes(
        self,
        fit: Mapping[str, Any],  # the keys of a fit, as in settings or in a statement
        *,
        protection: Protection | str,  # fits that take public outcomes take those of all
        has_effects: bool,  # whether there are public effects; all outcomes together show how well they fit
    ) -> bool:
        """Tell whether weights of an outcome depend on draws of others, so that only a loss of all holds."""
        if self.pools is not None:
            return self.pools
        joining = {name: FIT_KEYS[name].joining for name in self.reads if name in FIT_KEYS}
        return (
            (self.takes_outcomes and protection == FEATURE)
            or (self.takes_effects and has_effects)
            or any(value_of(name, fit) in values for name, values in joining.items() if values)
        )


NOT_PRIVATE = {"protections": (Protection.NONE,), "pools": False}
EXACT = NOT_PRIVATE | {"fitted_from": FittedFrom.EXACT_SUMS, "takes_covariates": True}
SHARED = {"fitted_from": FittedFrom.SHARED_SUMS, "exactness": Exactness.EXACT}
# With covariates, and where lambda, the heritability and public data of the settings decide what is pooled.
REUSECOV_FIT = SHARED | {"pools": None, "takes_covariates": True}
BLUP = {"exactness": Exactness.EXACT, "reads": ("heritability",), "ridge": RidgeOf.HALF}
CHOSEN_BLUP = {
    "code": "dpgrs.methods.row_mechanisms:ChosenBlup",
    "fitted_from": FittedFrom.CHOSEN,
    "words": fit_steps.CHOSEN_BLUP,
    "reads": ("heritability",),
}
RIDGE = ("lambda", "lambda_from")
# The fit without privacy that private ones are compared with: no test row has a part in its penalty.
REFERENCE_METHOD = "gblup"
METHODS = {
    "ols": Method(label="OLS", **EXACT, ridge=RidgeOf.NOTHING),
    "ridge": Method(label="Ridge", **EXACT, reads=("lambda",), ridge=RidgeOf.LAMBDA),
    "gblup": Method(label="GBLUP", **EXACT, reads=("heritability",), ridge=RidgeOf.HALF),
    "reusecov-gauss": Method(
        label="ReuseCovGauss",
        look=("#0072b2", "o"),
        code="dpgrs.methods.sum_fits:ReuseCovGauss",
        **REUSECOV_FIT,
        words=fit_steps.RIDGE,
        protections=(FULL, FEATURE, LABEL),
        reads=RIDGE,
        is_plain_ridge=True,
        ridge=RidgeOf.LAMBDA,
    ),
    "reusecov-proj": Method(
        label="ReuseCovProj",
        look=("#009e73", "s"),
        code="dpgrs.methods.sum_fits:ReuseCovProj",
        **REUSECOV_FIT,
        words=fit_steps.PROJECTED,
        protections=(FEATURE, LABEL),
        reads=(*RIDGE, "joint_projection"),
        takes_outcomes=True,
    ),
    "reusecov-ellipsoid": Method(
        label="ReuseCovEllipsoid",
        look=("#56b4e9", "D"),
        code="dpgrs.methods.sum_fits:ReuseCovEllipsoid",
        **REUSECOV_FIT,
        words=fit_steps.IN_ELLIPSOID,
        reads=(*RIDGE, "joint_projection"),
        ridge=RidgeOf.LAMBDA,
    ),
    "blup": Method(
        label="BLUP",
        look=("#d55e00", "p"),
        code="dpgrs.methods.sum_fits:Blup",
        **REUSECOV_FIT | BLUP,
        words=fit_steps.BLUP,
        protections=(FULL, FEATURE, LABEL),
        takes_outcomes=True,
        takes_effects=True,
    ),
    "blup-shared": Method(
        label="BLUP, shared causes",
        look=("#5c3a1e", "^"),
        code="dpgrs.methods.sum_fits:BlupShared",
        **SHARED | BLUP,
        words=fit_steps.SHARED_BLUP,
        protections=(FULL, LABEL),
        takes_covariates=True,
    ),
    "blup-steered": Method(
        label="BLUP, steered",
        look=("#a8ad00", (3, 1, 90)),
        code="dpgrs.methods.steered_mechanisms:BlupSteered",
        fitted_from=FittedFrom.STEERED,
        **BLUP,
        words=fit_steps.STEERED_BLUP,
    ),
    "blup-ld": Method(
        label="BLUP on public LD",
        look=("#a04000", (6, 1, 0)),
        code="dpgrs.methods.steered_mechanisms:BlupLd",
        fitted_from=FittedFrom.PRODUCTS,
        **BLUP,
        words=fit_steps.PUBLIC_LD_BLUP,
        draws=WITHOUT_GRAM,
        takes_ld=True,
        takes_effects=True,
        most_columns=LARGEST_DECOMPOSED,
    ),
    "blup-hedged": Method(
        label="BLUP, own and public LD",
        look=("#2f4f4f", (5, 1, 0)),
        code="dpgrs.methods.blup_hedged:BlupHedged",
        **SHARED | BLUP,
        words=fit_steps.HEDGED_BLUP,
        takes_ld=True,
        most_columns=LARGEST_DECOMPOSED,
    ),
    "blup-genome": Method(
        label="BLUP of a genome",
        look=("#4b0082", (7, 1, 0)),
        code="dpgrs.methods.genome_mechanism:BlupGenome",
        fitted_from=FittedFrom.GENOME,
        exactness=Exactness.EXACT,
        words=fit_steps.GENOME,
        draws=OF_GENOME,
        reads=("heritability",),
        takes_ld=True,
        takes_effects=True,
    ),
    "adassp": Method(
        label="AdaSSP",
        look=("#cc79a7", "h"),
        code="dpgrs.methods.adassp:AdasspFit",
        fitted_from=FittedFrom.OWN_SUMS,
        exactness=Exactness.GRIDDED,
        words=fit_steps.ADASSP,
        draws=WITH_EIGENVALUE,
        pools=False,
        takes_covariates=True,
        most_columns=LARGEST_FACTORED + 1,
    ),
    "k-ols": Method(label="Kendall + OLS", selector="kendall", fitted_from=FittedFrom.CHOSEN, **NOT_PRIVATE),
    "k-blup": Method(
        label="Kendall + BLUP",
        look=("#9000f0", "d"),
        **CHOSEN_BLUP,
        exactness=Exactness.EXACT,
        draws=(KENDALL, *SEPARATE),
        pools=False,
        selector="kendall",
    ),
}
# Those whose sensitivities have proof pages of dpgrs.
PROVED = frozenset(METHODS)
METHODS |= {point.name: point.load() for point in points("methods") if point.name not in METHODS}


def stated_method(name: str) -> Method | None:
    """Return the row of a method that may be released; None of any other name."""
    row = METHODS.get(name)
    return row if row and row.may_be_released else None


def steers_rows(name: str) -> bool:
    """Tell whether rows are steered before they are summed for a method, as its audits steer them."""
    return name in METHODS and METHODS[name].is_steered
