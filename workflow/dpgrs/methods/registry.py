"""The methods of a study, one row each, with every fact that is outside the method's own module.

Nothing heavy is imported: rows name mechanisms and fits, which are imported when they are needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dpgrs.errors import UsageError
from dpgrs.selection import registry as selectors
from dpgrs.types import Exactness, Neighbours, Penalty, Protection, RidgeOf

FULL, FEATURE, LABEL = Protection.FULL, Protection.FEATURE, Protection.LABEL
LARGEST_FACTORED = 2**12  # variants and covariates of a matrix that is factored exactly
LARGEST_DECOMPOSED = 2**14  # variants whose linkage disequilibrium is decomposed

SUMS = ("private_gram", "private_cross_product")
STEERED = ("private_cross_product", "private_steered_statistics")


@dataclass(frozen=True, kw_only=True)
class Method:
    """The facts of a method before it runs."""

    label: str  # its name on pages
    look: tuple | None = None  # (colour, marker) in figures; None for methods without privacy
    protections: tuple = (FULL,)  # those under which it exists
    # A method without one draws noise only for benchmarks, or none.
    exactness: Exactness | None = None
    # The only ones for which what its secret sample hides is accounted; None for all.
    neighbours: Neighbours | None = None
    # The one of `dpgrs.selection.registry.SELECTORS` that chooses the variants of each outcome; the fit uses
    # only these.
    selector: str | None = None
    # The class of the mechanism that draws for it, ``module.Class``; None if there is none.
    mechanism: str | None = "sum_mechanisms.SharedStatistics"
    mechanism_of_benchmark: str | None = None  # the same in a benchmark, where that is another
    # The function that turns ReuseCov's statistics into its weights (`dpgrs.methods.fits`); None if its
    # mechanism has the fit.
    fit: str | None = None
    reads: tuple = ()  # the keys of ``regression`` on which its fit depends
    # Whether the fit is plain ridge regression if lambda is stated.
    fits_ridge: bool = False
    takes_covariates: bool = False  # whether covariates and dosages are in what it is fitted from
    reads_fractions: bool = False  # whether dosages are in what it is fitted from, though not covariates
    takes_outcomes: bool = False  # whether its fit uses the outcomes themselves where they are public
    takes_ld: bool = False  # whether its fit takes linkage disequilibrium of a public reference
    # Whether it takes that as a public map of the genome, along which people are summed by chromosome.
    takes_map: bool = False
    reads_ancestry: bool = False  # whether its fit takes a reference of stated ancestry to match the cohort
    takes_effects: bool = False  # whether its fit starts from public effects, where a study has them
    of_rows: str | None = None  # function that fits it from rows, only in benchmarks; None if it takes sums
    # Whether the weights of an outcome depend only on its own draws. A method of another package that does
    # not set this counts as pooling outcomes.
    fits_each_outcome: bool = False
    # Function of the section ``regression`` of the settings, or None: it returns what pages of a study say of
    # the method, a dict of a label to text.
    facts: Callable | None = None
    reads_count: bool = False  # whether its fit counts units at `screening.count_share`
    has_normal_noise: bool = True  # whether there is any among its draws
    # The most columns of X, the intercept among them, that it can be fitted on.
    most_columns: int | None = None
    most_entries: int | None = None  # the most entries of X'X that it can keep for all outcomes
    ridge: RidgeOf | None = None  # as what an attacker takes its weights; None where they are not attacked
    # The functions that draw for it in a release, beside `private_count` and the functions of its selector. A
    # release audits them.
    audited: tuple = (*SUMS, "private_statistics")
    # The function that returns their `AuditCase`s, or those of what draws for it in a benchmark; None where
    # nothing does.
    audits: str | None = "audits.sums.reusecov_cases"
    accounting: str = ""  # what pages say of how its privacy is accounted, where that is special
    bounds: str = ""  # what pages say of its bounds, if it does not use the study's bounds
    # The tuple of what a statement says of its fit, ``module:NAME``: each a text, or a function of the fit's
    # settings.
    steps: str | None = None

    def __post_init__(self) -> None:
        # A release would miss them after it was charged.
        if self.may_be_released and not (self.look and self.audits and self.steps and self.mechanism):
            raise UsageError(
                "released-method-incomplete",
                f"A method that can be released must have mechanism, look, audits and steps, got {self}. "
                "Add what its row lacks.",
            )
        if self.may_be_released and self.of_rows:
            raise UsageError(
                "released-method-of-rows",
                f"A method that can be released must have no of_rows, got {self}. Leave out its exactness: a "
                "bundle has no form for fits from rows.",
            )

    @property
    def reads_rows(self) -> bool:
        """Whether a study fits it from rows, not from sums over them; it then counts no rows."""
        return self.of_rows is not None

    @property
    def is_non_private(self) -> bool:
        """Whether it is a reference without privacy, for comparison."""
        return Protection.NONE in self.protections

    @property
    def is_screened(self) -> bool:
        """Whether it is fitted on variants that were chosen for each outcome."""
        return self.selector is not None

    @property
    def n_counts(self) -> int:
        """How many times a study counts units at `screening.count_share`: for fit and for choices."""
        is_counted = self.is_screened and selectors.SELECTORS[self.selector].counts_units
        return 0 if self.is_non_private else self.reads_count + is_counted

    def takes_adjusted(self, mode: str) -> bool:
        """Whether it can be fitted on outcomes that a regression on covariates adjusted before."""
        return self.may_be_released or (mode == "benchmark" and self.is_non_private and not self.reads_rows)

    def takes_fractions(self, mode: str) -> bool:
        """Whether it can be fitted on dosages or columns of a table; methods on rows only in a benchmark."""
        is_of_sums = self.takes_covariates or self.reads_fractions
        return is_of_sums or (self.draws_from_rows and mode == "benchmark")

    @property
    def all_audited(self) -> tuple[str, ...]:
        """The functions that draw for it and its selector."""
        return (*(selectors.SELECTORS[self.selector].audited if self.is_screened else ()), *self.audited)

    @property
    def draws_from_rows(self) -> bool:
        """Whether a release draws for it from rows, as sums over all variants do not serve it."""
        return self.reads_rows or self.is_screened

    @property
    def may_be_released(self) -> bool:
        """Whether its guarantee holds for the draws of a release, and a release offers it."""
        return self.exactness is not None

    @property
    def takes_loadings(self) -> bool:
        """Whether it can be fitted to components of outcomes, or needs none as nothing is drawn for it."""
        is_fitted = self.is_post_processing or self.is_steered
        return is_fitted or (self.is_non_private and not self.is_screened)

    @property
    def is_steered(self) -> bool:
        """Whether it is fitted from X'Y of steered rows."""
        return "steered" in (self.mechanism or "")

    def is_ridge(self, lambda_from: Penalty | str) -> bool:
        """Whether its fit is ridge regression with a stated lambda, linear in X'Y."""
        return self.fits_ridge and lambda_from == Penalty.FIXED

    @property
    def is_post_processing(self) -> bool:
        """Whether it is fitted from ReuseCov's statistics: fitting it as well costs nothing."""
        return self.fit is not None


named = partial(selectors.named, package="dpgrs.methods")
RIDGE = ("lambda", "lambda_from")
# Fields that several rows share.
BLUP = {"exactness": Exactness.EXACT, "reads": ("heritability",), "ridge": RidgeOf.HALF}
NOT_PRIVATE = {"protections": (Protection.NONE,), "mechanism": None, "audits": None}
EXACT_SUMS = NOT_PRIVATE | {"takes_covariates": True}
CHOSEN_BLUP = {
    "mechanism": "row_mechanisms.ChosenFits",
    "audits": "audits.chosen.chosen_cases",
    "reads": ("heritability",),
    "audited": (*SUMS, "private_chosen_statistics"),
    "steps": "dpgrs.statement.fit_steps:CHOSEN_BLUP",
}
# The fit without privacy that private ones are compared with: no test row has a part in its penalty.
REFERENCE_METHOD = "gblup"
METHODS = {
    "ols": Method(label="OLS", **EXACT_SUMS, ridge=RidgeOf.NOTHING),
    "ridge": Method(label="Ridge", **EXACT_SUMS, reads=("lambda",), ridge=RidgeOf.LAMBDA),
    "gblup": Method(label="GBLUP", **EXACT_SUMS, reads=("heritability",), ridge=RidgeOf.HALF),
    "reusecov-gauss": Method(
        label="ReuseCovGauss",
        look=("#0072b2", "o"),
        protections=(FULL, FEATURE, LABEL),
        exactness=Exactness.EXACT,
        fit="fits.gauss",
        reads=RIDGE,
        fits_ridge=True,
        takes_covariates=True,
        ridge=RidgeOf.LAMBDA,
        steps="dpgrs.statement.fit_steps:RIDGE",
    ),
    "reusecov-proj": Method(
        label="ReuseCovProj",
        look=("#009e73", "s"),
        protections=(FEATURE, LABEL),
        exactness=Exactness.EXACT,
        fit="fits.projected",
        reads=(*RIDGE, "joint_projection"),
        takes_covariates=True,
        takes_outcomes=True,
        steps="dpgrs.statement.fit_steps:PROJECTED",
    ),
    "reusecov-ellipsoid": Method(
        label="ReuseCovEllipsoid",
        look=("#56b4e9", "D"),
        exactness=Exactness.EXACT,
        fit="fits.in_ellipsoid",
        reads=(*RIDGE, "joint_projection"),
        takes_covariates=True,
        ridge=RidgeOf.LAMBDA,
        steps="dpgrs.statement.fit_steps:IN_ELLIPSOID",
    ),
    "blup": Method(
        label="BLUP",
        look=("#d55e00", "p"),
        protections=(FULL, FEATURE, LABEL),
        **BLUP,
        fit="fits.blup",
        takes_covariates=True,
        takes_outcomes=True,
        takes_effects=True,
        steps="dpgrs.statement.fit_steps:BLUP",
    ),
    "blup-shared": Method(
        label="BLUP, shared causes",
        look=("#5c3a1e", "^"),
        protections=(FULL, LABEL),
        **BLUP,
        fit="fits.blup_shared",
        takes_covariates=True,
        steps="dpgrs.statement.fit_steps:SHARED_BLUP",
    ),
    "blup-steered": Method(
        label="BLUP, steered",
        look=("#a8ad00", (3, 1, 90)),
        **BLUP,
        mechanism="steered_mechanisms.SteeredStatistics",
        reads_fractions=True,
        audited=("private_gram", *STEERED),
        audits="audits.steered.steered_cases",
        steps="dpgrs.statement.fit_steps:STEERED_BLUP",
    ),
    "blup-ld": Method(
        label="BLUP on public LD",
        look=("#a04000", (6, 1, 0)),
        **BLUP,
        mechanism="steered_mechanisms.SteeredProducts",
        reads_fractions=True,
        takes_ld=True,
        reads_ancestry=True,
        takes_effects=True,
        most_columns=LARGEST_DECOMPOSED,
        audited=STEERED,
        audits="audits.steered.steered_cases",
        steps="dpgrs.statement.fit_steps:PUBLIC_LD_BLUP",
    ),
    "blup-hedged": Method(
        label="BLUP, own and public LD",
        look=("#2f4f4f", (5, 1, 0)),
        **BLUP,
        fit="blup_hedged.blup_hedged",
        reads_fractions=True,
        takes_ld=True,
        most_columns=LARGEST_DECOMPOSED,
        steps="dpgrs.statement.fit_steps:HEDGED_BLUP",
    ),
    "blup-genome": Method(
        label="BLUP of a genome",
        look=("#4b0082", (7, 1, 0)),
        exactness=Exactness.EXACT,
        reads=("heritability",),
        mechanism="genome_mechanism.GenomeStatistics",
        reads_fractions=True,
        takes_ld=True,
        takes_map=True,
        reads_ancestry=True,
        takes_effects=True,
        audited=("private_genome_sums",),
        audits="audits.genome.genome_cases",
        steps="dpgrs.statement.fit_steps:GENOME",
    ),
    "adassp": Method(
        label="AdaSSP",
        look=("#cc79a7", "h"),
        exactness=Exactness.GRIDDED,
        mechanism="sum_mechanisms.Adassp",
        audits="audits.adassp.adassp_cases",
        takes_covariates=True,
        most_columns=LARGEST_FACTORED + 1,
        audited=(*SUMS, "private_smallest_eigenvalue", "private_adassp"),
        steps="dpgrs.statement.fit_steps:ADASSP",
    ),
    "k-ols": Method(label="Kendall + OLS", selector="kendall", **NOT_PRIVATE),
    "k-blup": Method(
        label="Kendall + BLUP",
        look=("#9000f0", "d"),
        exactness=Exactness.EXACT,
        selector="kendall",
        **CHOSEN_BLUP,
    ),
}


def methods_that(condition: str) -> tuple[str, ...]:
    """List the names of the methods of which a condition holds, such as ``is_screened``."""
    return tuple(name for name, method in METHODS.items() if getattr(method, condition))


# Last, because such a package imports the names above.
selectors.join(selectors.SELECTORS, "selectors")
selectors.join(METHODS, "methods")
