"""The public terms of every release of statistics that a study requests."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from typing import Any

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import CLIPPED_CROSS_STEP, CLIPPED_GRAM_STEP, CROSS_STEP, GRAM_STEP
from dpgrs.privacy.accounting.accountant import split_budget, split_mu
from dpgrs.privacy.sensitivity import (
    Sensitivity,
    cross_sensitivity,
    gram_sensitivity,
    outcome_counts_sensitivity,
    rows_per_unit,
)
from dpgrs.types import Accounting, Coding, Neighbours, Protection, Rows, Unit

# A common p(1-p) of variant sets, only for the default share: if it is far off, the split is a little
# worse.
TYPICAL_VARIANCE = 0.1
# Shares of the budget that are keys of `privacy` and fields of `PrivacyRequest`.
SHARES = ("gram_share", "count_share", "case_share", "ld_share")


@dataclass(frozen=True)
class PrivacyRequest:
    """All public terms of one release of statistics.

    It raises UsageError for a share that leaves a mechanism without a budget, no protection, a private number
    of rows where one side is public, cases to count where outcomes are public, `frequency` coding without a
    norm, or covariates in another coding.
    """

    rows: Rows
    n_variants: int
    # Outcomes that share (epsilon, delta): all of a study under a joint budget. Under separate budgets 1:
    # each outcome has (epsilon, delta) of its own, and the Gram matrix is drawn once.
    n_outcomes: int
    outcome_bound: float  # the bound at which the outcomes were clipped
    epsilon: float
    delta: float
    # In (0, 1) or None, share of the Gram matrix in what counts leave over; X'Y gets the rest. None takes it
    # from the other terms: see `share_of_gram`. Under label protection X'X is public, and X'Y gets all.
    gram_share: float | None = None
    # In (0, 1), share of the noisy count, used under add-remove only, where n is private; and again of the
    # counts of all outcomes, where they are private. Below 1/2 where both are.
    count_share: float = 0.01
    protection: Protection = Protection.FULL  # other than ``none``
    neighbours: Neighbours = Neighbours.ADD_REMOVE  # replace-one where one side is public
    unit: Unit = Unit.PERSON
    accounting: Accounting = Accounting.GDP
    coding: Coding = Coding.HALF  # of the genotypes
    row_norm: float | None = None  # bound on the norm of a row of genotypes; None is that of `half` coding
    # Bound on the norm of a row of the outcomes of one budget; None derives it from `outcome_bound` only.
    outcome_norm: float | None = None
    n_covariates: int = 0  # >= 0, further columns of X, which count as variants in every claim
    covariate_bound: float | None = None  # the public clip of covariates in standard deviations
    # Whether outcomes may be missing, so that the rows on which each is known are counted; public, never
    # found from the data.
    counts_outcomes: bool = False
    # In (0, 1) or None, share of the noisy numbers of cases of all outcomes of a budget in what X'Y would get
    # without; None counts none.
    case_share: float | None = None
    # In (0, 1) or None, share of the whole mu^2 that a regression on covariates had before; all else has the
    # rest. None where there was none.
    covariate_share: float | None = None
    # In (0, 1) or None, share of second moments of rows within LD blocks in what X'Y would get without; only
    # a `GenomeRequest` draws them.
    ld_share: float | None = None

    # Whether X'X is released or public.
    has_gram = True

    def __post_init__(self) -> None:
        if self.protection == Protection.NONE:
            raise UsageError(
                "protection-missing",
                "`privacy.protection` must be full, feature or label, got none. Change it.",
            )
        if self.protection != Protection.FULL and self.has_private_count:
            raise UsageError(
                "neighbours-not-replace-one",
                f"`privacy.neighbours` must be replace-one under {self.protection} protection, where one "
                f"side of every row is public, got {self.neighbours}. Change it.",
            )
        if (self.coding == Coding.FREQUENCY) != (self.row_norm is not None):
            raise UsageError(
                "row-norm-with-other-coding",
                f"`row_norm` must be given for `frequency` coding alone, got {self.row_norm} for "
                f"{self.coding}. Only there rows are clipped.",
            )
        if self.n_covariates and (self.coding != Coding.FREQUENCY or self.covariate_bound is None):
            raise UsageError(
                "bounds-not-tight",
                "`privacy.bounds` must be tight with `covariates`, which share the norm of a row, got "
                "worst-case. Set it to tight.",
            )
        if self.counts_cases and self.protection == Protection.FEATURE:
            raise UsageError(
                "case-share-under-feature-protection",
                "`privacy.case_share` must be null under feature protection, where outcomes are public, got "
                f"{self.case_share}. Leave it out.",
            )
        for name in (*SHARES, "covariate_share"):
            share = getattr(self, name)
            if share is not None and not 0 < share < 1:
                raise UsageError(
                    "share-out-of-range", f"`privacy.{name}` must be between 0 and 1, got {share}. Change it."
                )
        if sum(self.shares_of_counts) >= 1:
            raise UsageError(
                "count-share-too-large",
                "`privacy.count_share` must be below 0.5 where rows and known outcomes are both counted, got "
                f"{self.count_share}. Lower it.",
            )

    @property
    def has_private_count(self) -> bool:
        """Whether neighbours differ in the number of rows."""
        return Neighbours(self.neighbours) == Neighbours.ADD_REMOVE

    @property
    def has_private_outcome_counts(self) -> bool:
        """Whether the rows on which each outcome is known are counted in private: not where Y is public."""
        return self.counts_outcomes and Protection(self.protection) != Protection.FEATURE

    @property
    def counts_cases(self) -> bool:
        """Whether the cases of each outcome are counted, in private."""
        return self.case_share is not None

    @property
    def has_private_gram(self) -> bool:
        """Whether the release has an X'X that depends on protected data."""
        return self.has_gram and Protection(self.protection) != Protection.LABEL

    @property
    def n_columns(self) -> int:
        """How many columns X has beside the intercept: variants, then covariates."""
        return self.n_variants + self.n_covariates

    @property
    def key(self) -> tuple[str, ...]:
        """The terms as a tuple of text, to tell draws apart, without terms of features that a study lacks."""
        # As a file gives them back, so that a request read again has the same draws.
        fields = json.loads(json.dumps(asdict(self)))
        if not self.n_covariates:
            del fields["n_covariates"], fields["covariate_bound"]
        if self.covariate_share is None:
            del fields["covariate_share"]
        if self.ld_share is None:
            del fields["ld_share"]
        if not self.counts_outcomes:
            del fields["counts_outcomes"]
        if not self.counts_cases:
            del fields["case_share"]
        return tuple(map(str, fields.values()))

    @property
    def rows_per_unit(self) -> int:
        """How many rows one unit owns: a person has two haplotypes."""
        return rows_per_unit(self.rows, self.unit)

    @property
    def relation(self) -> dict[str, Any]:
        """The arguments that every sensitivity takes."""
        return {"rows": self.rows, "neighbours": self.neighbours, "unit": self.unit}

    @cached_property
    def gram_claim(self) -> Sensitivity:
        """The sensitivity of X'X."""
        is_whole = self.coding == Coding.ROW_CENTRED
        return gram_sensitivity(self.n_columns, row_norm=self.row_norm, is_whole=is_whole, **self.relation)

    @cached_property
    def cross_claim(self) -> Sensitivity:
        """The sensitivity of X'Y, of the outcomes of one budget."""
        bounds = {name: getattr(self, name) for name in ("outcome_bound", "row_norm", "outcome_norm")}
        return cross_sensitivity(
            self.n_columns, self.n_outcomes, protection=self.protection, **bounds, **self.relation
        )

    @cached_property
    def observed_claim(self) -> Sensitivity:
        """The sensitivity of the counts of known rows, or of cases, of the outcomes of one budget."""
        return outcome_counts_sensitivity(self.n_outcomes, **self.relation)

    @cached_property
    def noise_sd(self) -> dict[str, float]:
        """The standard deviations of the noise on ``observed``, ``cases``, ``gram`` and ``cross``, a dict.

        Of an entry; 0 where there is none.
        """
        claims = {"observed": self.observed_claim, "gram": self.gram_claim, "cross": self.cross_claim}
        claims |= {"cases": self.observed_claim}
        shares = {name: self.budget.get(name, 0.0) for name in claims}
        return {name: claim.value / shares[name] if shares[name] else 0.0 for name, claim in claims.items()}

    @property
    def shares_of_counts(self) -> tuple[float, ...]:
        """The shares of the number of rows and of the counts of all outcomes; 0 where these are public."""
        return tuple(
            self.count_share if is_private else 0.0
            for is_private in (self.has_private_count, self.has_private_outcome_counts)
        )

    @property
    def share_of_gram(self) -> float:
        """The share of the Gram matrix: `gram_share`, or by default a function of public terms.

        The more outcomes share a budget, the more X'Y needs; the more columns d, the more the noise of X'X
        adds up in its eigenvalues. By default

            share/(1 - share) = min(1, (sqrt(d) D_G/D_V)^(2/3)/3),

        with D_G and D_V the sensitivities of X'X and X'Y for rows of haplotypes of norm sqrt(d)/2 (`half`),
        or of their root mean square at p(1-p) = 0.1 (`frequency`); people are the same on another scale.
        It has two digits, so that a later release of other outcomes can state it, and X'X is replayed. How it
        was found and what it gains: docs/explanation/blup.md.
        """
        if self.gram_share is not None:
            return self.gram_share
        mean_square = TYPICAL_VARIANCE if self.coding == Coding.FREQUENCY else 1 / 4
        norm = self.outcome_norm or self.outcome_bound * math.sqrt(self.n_outcomes)
        # D_G is R^2/sqrt(2) and D_V is R C under add-remove, R^2 and 2 R C under replace-one.
        ratio = math.sqrt(mean_square / 2) * self.n_columns / norm
        if not self.has_private_count:
            ratio /= math.sqrt(2)
        odds = min(1.0, ratio ** (2 / 3) / 3)
        return float(f"{odds / (1 + odds):.2g}")

    @property
    def gram_step(self) -> float:
        """One unit of the integer X'X."""
        return GRAM_STEP if self.coding == Coding.HALF else CLIPPED_GRAM_STEP

    @property
    def cross_step(self) -> float:
        """One unit of the integer X'Y."""
        return CROSS_STEP if self.coding == Coding.HALF else CLIPPED_CROSS_STEP

    @cached_property
    def budget(self) -> dict[str, float]:
        """The split of (epsilon, delta): mu of ``count``, ``observed``, ``gram``, ``cross`` and ``cases``."""
        count, observed = self.shares_of_counts
        remainder = 1 - count - observed
        gram = remainder * self.share_of_gram if self.has_private_gram else 0.0
        shares = (count, observed, gram, remainder - gram)
        mus = split_budget(self.epsilon, self.delta, shares=shares, accounting=self.accounting)
        budget = dict(zip(("count", "observed", "gram", "cross"), mus, strict=True))
        return self.with_cases(self.after_covariates(budget))

    def after_covariates(self, budget: dict[str, float]) -> dict[str, float]:
        """Take the share of a regression on covariates off every mu of a budget that is the whole."""
        if self.covariate_share is None:
            return budget
        return {name: split_mu(mu, share=self.covariate_share)[0] for name, mu in budget.items()}

    def with_cases(self, budget: dict[str, float]) -> dict[str, float]:
        """Give the numbers of cases their share of the mu of X'Y: X'X is the same draw with and without."""
        if not self.counts_cases:
            return budget | {"cases": 0.0}
        cross, cases = split_mu(budget["cross"], share=self.case_share)
        return budget | {"cross": cross, "cases": cases}


def request_grid(
    *,
    protections: Sequence[Protection],
    accountings: Sequence[Accounting],
    epsilons: Sequence[float],
    sizes: Sequence[int],  # numbers of variants
    counts: Sequence[int],  # numbers of outcomes
    neighbours: Neighbours,  # of full protection; where one side is public it is replace-one
    # ``joint`` if all outcomes share (epsilon, delta), ``separate`` if each has its own.
    outcome_budget: str = "joint",
    **fields: Any,  # the other fields of `PrivacyRequest`, the same for all
) -> list[tuple[PrivacyRequest, int]]:
    """List every combination of the terms that a study compares.

    `protections`, `accountings` and `epsilons`: sequences of what `PrivacyRequest` takes one of. The result
    is a list of (PrivacyRequest, number of outcomes), the last of the lists running fastest. It raises
    UsageError as `PrivacyRequest` does.
    """
    return [
        (
            PrivacyRequest(
                protection=protection,
                accounting=accounting,
                epsilon=epsilon,
                n_variants=size,
                n_outcomes=count if outcome_budget == "joint" else 1,
                neighbours=neighbours if protection == Protection.FULL else Neighbours.REPLACE_ONE,
                **fields,
            ),
            count,
        )
        for protection, accounting, epsilon, size, count in product(
            protections, accountings, epsilons, sizes, counts
        )
    ]
