"""The subjects of a ledger: whom an account protects, how much it allows, and a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.accountant import (
    SMALLEST_DELTA,
    gdp_mu,
)
from dpgrs.privacy.accounting.charges import CHARGES, Charge, Cost
from dpgrs.privacy.accounting.exact_numbers import exact, exact_text
from dpgrs.privacy.digests import digest
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.types import Neighbours, Protection, Unit

# Every request names at least its mechanism and its data.
REQUIRED = ("mechanism", "version", "accession", "consent", "dataset_version")
GENOTYPES, OUTCOMES, COUNT = "the genotypes", "the outcomes", "the number of rows"
PROTECTED = {
    Protection.FULL: {GENOTYPES, OUTCOMES},
    Protection.FEATURE: {GENOTYPES},
    Protection.LABEL: {OUTCOMES},
}


@dataclass(frozen=True)
class Account:
    """Whom and what a budget protects."""

    protection: Protection  # other than ``none``
    unit: Unit
    neighbours: Neighbours  # ``replace-one`` if only one side is protected

    def __post_init__(self) -> None:
        for field in fields(self):
            value, words = getattr(self, field.name), cast(type[StrEnum], field.type)
            allowed = [member.value for member in words if member != Protection.NONE]
            if value not in allowed:
                raise UsageError(
                    "account-term-unknown",
                    f"`{field.name}` must be one of {', '.join(allowed)}, got {value}. Choose one.",
                )
            object.__setattr__(self, field.name, words(value))
        if self.protection != Protection.FULL and self.neighbours != Neighbours.REPLACE_ONE:
            raise UsageError(
                "neighbours-not-replace-one",
                f"`neighbours` must be {Neighbours.REPLACE_ONE} under {self.protection} protection, where a "
                f"row keeps its public side, got {self.neighbours}. Change it.",
            )

    def __str__(self) -> str:
        return f"{self.protection}/{self.unit}/{self.neighbours}"

    @property
    def ledger_fields(self) -> dict[str, str]:
        """The JSON values in an entry and an identity, by frozen names."""
        return {"protection": self.protection, "unit": self.unit, "neighbours": self.neighbours}

    def made_public_of(self, other: "Account") -> set[str]:
        """Return the data that this account takes as public while `other` protects them."""
        return other._protected - self._protected

    def steps_between(self, other: "Account") -> int:
        """Return how many steps between neighbours of this account one of `other` is, at most.

        A person has two haplotypes. The other way round, if a row is a person, one haplotype less is another
        row that replaces a person's: a step of replace-one, and under add-remove two, one person less and one
        more.
        """
        if self.unit == other.unit:
            return 1
        is_replaced = self.unit == Unit.PERSON and self.neighbours == Neighbours.REPLACE_ONE
        return 1 if is_replaced else 2

    def cost_to_person(self, cost: Cost) -> Cost:
        """Return the loss of a person, who has two haplotypes, by a `cost` to a unit."""
        return cost.for_group(2 if self.unit == Unit.HAPLOTYPE else 1)

    @property
    def _protected(self) -> set[str]:
        has_private_count = self.neighbours == Neighbours.ADD_REMOVE
        return PROTECTED[self.protection] | ({COUNT} if has_private_count else set())


@dataclass(frozen=True)
class Budget:
    """How much an account allows."""

    mu_squared: str  # exact limit, as the next
    pure_epsilon: str
    delta: str  # exact, at which totals are shown as (epsilon, delta)

    @cached_property
    def limit(self) -> Cost:
        return Cost(exact(self.mu_squared, name="mu_squared"), exact(self.pure_epsilon, name="pure_epsilon"))

    def epsilon(self, cost: Cost) -> Fraction:
        """Return the epsilon of a cost at the account's delta."""
        return cost.epsilon(Fraction(self.delta))


def make_budget(
    *,
    delta: str,  # exact, between 0 and 1
    epsilon: str | None = None,  # exact, for all releases together
    mu_squared: str | None = None,  # exact counters, as the next
    pure_epsilon: str = "0",
) -> Budget:
    """Return what an account allows: counters, a total (epsilon, delta), or the smaller of both.

    The part of epsilon that `pure_epsilon` leaves becomes mu^2. A number out of its domain is refused, and so
    is a budget that allows nothing.
    """
    pure, exact_delta = exact(pure_epsilon, name="pure_epsilon"), exact(delta, name="delta")
    if not SMALLEST_DELTA <= exact_delta < 1:
        raise UsageError(
            "delta-out-of-range",
            f"`delta` must be at least 1e-30 and below 1, got {exact_text(exact_delta)}. Set it.",
        )
    allowances = [] if mu_squared is None else [exact(mu_squared, name="mu_squared")]
    if epsilon is not None:
        gaussian_epsilon = exact(epsilon, name="epsilon") - pure
        if gaussian_epsilon < 0:
            raise UsageError(
                "epsilon-below-pure-epsilon",
                f"`epsilon` must be at least `pure_epsilon`, {pure_epsilon}, got {epsilon}. Raise it.",
            )
        # The very mu that a study shares out: one release of all of the total must fit. It is lowered by far
        # more than these floats may lie above the stated numbers.
        mu = gdp_mu(float(gaussian_epsilon), float(exact_delta)) if gaussian_epsilon else 0
        allowances.append(Fraction(mu) ** 2)
    budget = Budget(exact_text(min(allowances, default=0)), exact_text(pure), exact_text(exact_delta))
    if budget.limit == Cost():
        raise UsageError(
            "account-without-budget",
            "An account must allow something: give `epsilon`, `mu_squared` or `pure_epsilon`.",
        )
    return budget


@dataclass(frozen=True)
class Request:
    """One release: its public identity, and the mark of its exact statistic."""

    account: Account
    charges: tuple[Charge, ...]
    identity: dict[str, Any]  # JSON without floats: mechanism, version, every parameter, dataset version
    statistic_mark: str  # by the study key; secret data enter only by the mark
    key_id: str

    @classmethod
    def of(
        cls,
        identity: dict[str, Any],
        charges: Sequence[Charge],
        account: Account,
        *,
        statistic_digest: str,
        study_key: StudyKey,
    ) -> "Request":
        """Check and mark a request.

        An identity is refused that lacks a required part or holds a float, and so is a request without a
        charge.
        """
        for name in REQUIRED:
            if not identity.get(name):
                raise UsageError(
                    "identity-incomplete",
                    f"The identity of a release must state `{name}`, got {identity.get(name)!r}. Add it.",
                )
        _require_exact(identity)
        if not charges:
            raise UsageError(
                "request-without-charge",
                "A release must be charged, got no charge. Public values need no request.",
            )
        unmarked = cls(account, tuple(charges), identity, "", study_key.id)
        mark = study_key.mark(unmarked.identity_digest, statistic_digest)
        return cls(account, unmarked.charges, identity, mark, study_key.id)

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> "Request":
        charges = tuple(
            CHARGES[charge["kind"]](**{name: value for name, value in charge.items() if name != "kind"})
            for charge in entry["charges"]
        )
        return cls(
            Account(**entry["account"]), charges, entry["identity"], entry["statistic_mark"], entry["key_id"]
        )

    @cached_property
    def cost(self) -> Cost:
        return sum((charge.cost for charge in self.charges), Cost())

    @cached_property
    def identity_digest(self) -> str:
        """SHA-256 of all that is public: any change of the noise or its cost makes another request."""
        return digest(self._public)

    def is_of_another_version(self, request: "Request") -> bool:
        """Tell whether this is a request as another version of the mechanisms made it.

        Versions differ in how they name the terms of draws; the charges name them by their cost.
        """
        mine, other = (
            {name: value for name, value in either.identity.items() if name not in ("version", "draws")}
            for either in (self, request)
        )
        return self.identity["version"] != request.identity["version"] and (
            (self.account, self.charges, mine) == (request.account, request.charges, other)
        )

    def entry(self) -> dict[str, Any]:
        """Return the fields of the entry that reserves this request."""
        return self._public | {
            "kind": "reserved",
            "identity_digest": self.identity_digest,
            "statistic_mark": self.statistic_mark,
            "key_id": self.key_id,
        }

    @property
    def _public(self) -> dict[str, Any]:
        charges = [charge.ledger_fields for charge in self.charges]
        return {"account": self.account.ledger_fields, "charges": charges, "identity": self.identity}


def _require_exact(value: Any, where: str = "identity") -> None:
    """Refuse floats, whose text could differ between platforms, and keys that JSON would turn into text."""
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        for key, inner in value.items():
            _require_exact(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            _require_exact(inner, f"{where}[{i}]")
    elif not isinstance(value, str | int | None):
        raise UsageError(
            "identity-value-type",
            f"`{where}` must be text, a whole number, true, false or null, got {value!r}. "
            "Write a float with `exact_text`.",
        )
