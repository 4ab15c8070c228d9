"""The draws: everything that accounting needs of a draw, and nothing else.

An event says which statistic, with which claim, at which cost. Its law is drawn exactly by
`dpgrs.privacy.noise.samplers` in a release, and by numpy from a seed in a benchmark.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NoReturn

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.charges import Charge, Cost, GaussianCharge, LaplaceCharge, PureCharge
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.privacy.noise.claims import scale_above
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.types import Exactness, Selection

MECHANISM_VERSION = 3


@dataclass(frozen=True, kw_only=True)
class Event:
    """What all draws have in common."""

    family: ClassVar[str]
    norm: ClassVar[str]  # of the sensitivity
    # How sure a draw in a release is to have the law that is claimed; without one a family is for benchmarks.
    exactness: ClassVar[Exactness | None] = None
    statistic: str  # its name
    sensitivity: Sensitivity
    step: float  # width of the grid, in the units of the sensitivity
    entries: int  # numbers that the statistic has
    source: str  # ``benchmark`` for seeded noise, which protects nobody, ``release`` for secret noise
    request: str = ""  # id of the ledger's request; empty in a benchmark
    version: int = MECHANISM_VERSION

    @property
    def charge(self) -> Charge:
        """The charge to a ledger."""
        raise NotImplementedError

    @property
    def cost(self) -> Cost:
        """The exact cost, of a ledger's two counters."""
        return self.charge.cost

    def as_dict(self) -> dict[str, Any]:
        """Return the event as JSON values for files, from which `event_of` makes it again."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"family": self.family} | values | {"sensitivity": dict(vars(self.sensitivity))}

    @property
    def identity_terms(self) -> dict[str, Any]:
        """The JSON values, without floats, that key the noise and stand in the identity of a request.

        Names and texts are frozen, whatever fields are called (docs/development.md). A family adds what its
        law depends on.
        """
        return {
            "family": self.family,
            "statistic": self.statistic,
            "law": self.sensitivity.law,
            "sensitivity": exact_text(self.sensitivity.value),
            "norm": self.sensitivity.norm,
            "neighbours": self.sensitivity.neighbours,
            "unit": self.sensitivity.unit,
            "step": exact_text(self.step),
            "entries": self.entries,
        }

    @property
    def is_of_share(self) -> bool:
        """Whether the scale of the noise is what the share of the budget gives."""
        return True


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(Event):
    """Normal noise, rounded to the grid: exactly mu-GDP in a release (docs/proofs/exact_noise.md).

    Seeded noise is float64 and only resembles it. The sensitivity is in l2 over all entries together.
    """

    family: ClassVar = "gaussian"
    norm: ClassVar = "l2"
    exactness: ClassVar = Exactness.EXACT
    mu: float  # the share of the budget
    sigma: float  # standard deviation, in the units of the sensitivity

    @property
    def identity_terms(self) -> dict[str, Any]:
        return super().identity_terms | {"sigma": exact_text(self.sigma)}

    @property
    def is_of_share(self) -> bool:
        return self.mu > 0 and self.sigma == scale_above(self.sensitivity.value, share=self.mu)

    @cached_property
    def charge(self) -> GaussianCharge:
        """The charge to a ledger."""
        return GaussianCharge(self.statistic, exact_text(self.sensitivity.value), exact_text(self.sigma))


@dataclass(frozen=True, kw_only=True)
class LaplaceEvent(Event):
    """Discrete Laplace noise on the grid: epsilon-DP. The sensitivity is in l1 over all entries together."""

    family: ClassVar = "laplace"
    norm: ClassVar = "l1"
    exactness: ClassVar = Exactness.EXACT
    epsilon: float  # the share of the budget
    scale: float  # in the units of the sensitivity

    @property
    def identity_terms(self) -> dict[str, Any]:
        return super().identity_terms | {"scale": exact_text(self.scale)}

    @property
    def is_of_share(self) -> bool:
        return self.epsilon > 0 and self.scale == scale_above(self.sensitivity.value, share=self.epsilon)

    @cached_property
    def charge(self) -> LaplaceCharge:
        """The charge to a ledger."""
        return LaplaceCharge(self.statistic, exact_text(self.sensitivity.value), exact_text(self.scale))


@dataclass(frozen=True, kw_only=True)
class ChoiceEvent(Event):
    """Choice of entries of high score by permute-and-flip, each among those that are left: epsilon-DP.

    The sensitivity is that of every score, in linf.
    """

    family: ClassVar = "choice"
    norm: ClassVar = "linf"
    exactness: ClassVar[Exactness | None] = Exactness.EXACT
    epsilon: float  # the share of the budget, of all choices together
    n_choices: int  # entries chosen

    @property
    def identity_terms(self) -> dict[str, Any]:
        return super().identity_terms | {"epsilon": exact_text(self.epsilon), "n_choices": self.n_choices}

    @property
    def epsilon_each(self) -> Fraction:
        """The budget of one choice."""
        return Fraction(self.epsilon) / self.n_choices

    @cached_property
    def charge(self) -> PureCharge:
        """The charge to a ledger."""
        return PureCharge(self.statistic, exact_text(self.epsilon))


@dataclass(frozen=True, kw_only=True)
class GumbelEvent(ChoiceEvent):
    """The same by the highest score with Gumbel noise: the exponential mechanism. Only for benchmarks."""

    family: ClassVar = "gumbel choice"
    exactness: ClassVar = None


@dataclass(frozen=True, kw_only=True)
class SubsetEvent(Event):
    """Choice of a set of entries at once by the canonical Lipschitz mechanism: epsilon-DP.

    The sensitivity is that of every score, in linf (docs/proofs/canonical_lipschitz.md).
    """

    family: ClassVar = "subset"
    norm: ClassVar = "linf"
    exactness: ClassVar = Exactness.CERTIFIED
    epsilon: float  # the share of the budget, of the whole set
    n_choices: int  # entries of the set
    gamma: float  # in [0, 1), weight of the worst score inside; the best outside has the rest

    @property
    def identity_terms(self) -> dict[str, Any]:
        law = {"epsilon": exact_text(self.epsilon), "gamma": exact_text(self.gamma)}
        return super().identity_terms | law | {"n_choices": self.n_choices}

    @cached_property
    def charge(self) -> PureCharge:
        """The charge to a ledger."""
        return PureCharge(self.statistic, exact_text(self.epsilon))


CHOICES = {Selection.PERMUTE_AND_FLIP: ChoiceEvent, Selection.GUMBEL: GumbelEvent}


@dataclass(frozen=True, kw_only=True)
class DepthEvent(Event):
    """Draw of a point by its depth among private models, after a noisy check that this is safe.

    (epsilon, delta)-DP, with the delta of the check (docs/proofs/tukey.md). No ledger counts a delta, so it
    cannot be charged. The sensitivity, in linf, bounds how far the depth can move.
    """

    family: ClassVar = "depth"
    norm: ClassVar = "linf"
    exactness: ClassVar = Exactness.CERTIFIED
    epsilon: float  # the share of the budget, without the check's
    delta: float  # of the check and the draw together

    @property
    def identity_terms(self) -> dict[str, Any]:
        return super().identity_terms | {"epsilon": exact_text(self.epsilon), "delta": exact_text(self.delta)}

    @property
    def rate(self) -> Fraction:
        """How much the logarithm of a point's weight rises with every step of depth."""
        return Fraction(self.epsilon) / (2 * Fraction(self.sensitivity.value))

    @property
    def charge(self) -> NoReturn:
        """Raise UsageError: a ledger must count what it is charged."""
        raise UsageError(
            "benchmark-noise-charged",
            f"The {self.statistic} must be drawn in a benchmark: no ledger counts its delta. "
            "Use `mode: benchmark`.",
        )


# What a release can draw and a ledger count.
FAMILIES: dict[str, type[Event]] = {
    event.family: event for event in (GaussianEvent, LaplaceEvent, ChoiceEvent, SubsetEvent)
}


def event_of(record: Mapping[str, Any]) -> Event:
    """Make an event from the values of `Event.as_dict`, or from the same with more keys.

    An unknown family is refused, and so is a draw of another version of the mechanisms.
    """
    name = record.get("family")
    if name not in FAMILIES:
        raise UsageError(
            "event-family-unknown",
            f"The family of an event must be one of {', '.join(FAMILIES)}, got {name}. "
            "Use the dpgrs that drew it.",
        )
    if record["version"] != MECHANISM_VERSION:
        raise UsageError(
            "mechanism-version",
            f"A draw must be of version {MECHANISM_VERSION} of the mechanisms, got one of version "
            f"{record['version']}. Use the dpgrs that drew it.",
        )
    family = FAMILIES[name]
    values = {field.name: record[field.name] for field in fields(family)}
    return family(**values | {"sensitivity": Sensitivity(**record["sensitivity"])})
