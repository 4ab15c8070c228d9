"""What was drawn: everything that accounting needs of a draw, and nothing else.

An event says which statistic, with which claim, at which cost. Its law is drawn exactly by
`dpgrs.privacy.noise.samplers` in a release, and by numpy from a seed in a benchmark.
"""

from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.privacy.ledger.entries import GaussianCharge, LaplaceCharge, PureCharge
from dpgrs.privacy.noise.claims import scale_above
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.types import Exactness, Selection

MECHANISM_VERSION = 3


@dataclass(frozen=True, kw_only=True)
class Event:
    """What all draws have in common.

    Attributes
    ----------
    statistic : str, what was released.
    sensitivity : Sensitivity, in the norm that the family takes.
    step : float, width of the grid, in the units of the sensitivity.
    entries : int, numbers that the statistic has.
    source : str, ``benchmark`` for seeded noise, which protects nobody, ``release`` for secret noise.
    request : str, id of the ledger's request; empty in a benchmark.
    version : int, `MECHANISM_VERSION`.
    """

    # How sure a draw in a release is to have the law that is claimed; without one a family is for benchmarks.
    exactness: ClassVar[Exactness | None] = None
    statistic: str
    sensitivity: Sensitivity
    step: float
    entries: int
    source: str
    request: str = ""
    version: int = MECHANISM_VERSION

    @property
    def cost(self):
        """The exact cost, of a ledger's two counters."""
        return self.charge.cost

    def as_dict(self):
        """Return the event as JSON values for files, from which `event_of` makes it again."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"family": self.family} | values | {"sensitivity": dict(vars(self.sensitivity))}

    @property
    def terms(self):
        """What keys the noise and stands in the identity of a request: a dict of JSON values without floats.

        Its names and texts are frozen, whatever fields are called (docs/development.md). A family adds what
        its law depends on.
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
    def is_of_share(self):
        """Whether the scale of the noise is what the share of the budget gives."""
        return True


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(Event):
    """Normal noise, rounded to the grid: exactly mu-GDP in a release (docs/proofs/exact_noise.md).

    Seeded noise is float64 and only resembles it. The sensitivity is in l2 over all entries together.

    Attributes
    ----------
    mu : float, the share of the budget.
    sigma : float, standard deviation, in the units of the sensitivity.
    """

    family: ClassVar = "gaussian"
    norm: ClassVar = "l2"
    exactness: ClassVar = Exactness.EXACT
    mu: float
    sigma: float

    @property
    def terms(self):
        return super().terms | {"sigma": exact_text(self.sigma)}

    @property
    def is_of_share(self):
        return self.mu > 0 and self.sigma == scale_above(self.sensitivity.value, share=self.mu)

    @cached_property
    def charge(self):
        """What a ledger is charged."""
        return GaussianCharge(self.statistic, exact_text(self.sensitivity.value), exact_text(self.sigma))


@dataclass(frozen=True, kw_only=True)
class LaplaceEvent(Event):
    """Discrete Laplace noise on the grid: epsilon-DP. The sensitivity is in l1 over all entries together.

    Attributes
    ----------
    epsilon : float, the share of the budget.
    scale : float, in the units of the sensitivity.
    """

    family: ClassVar = "laplace"
    norm: ClassVar = "l1"
    exactness: ClassVar = Exactness.EXACT
    epsilon: float
    scale: float

    @property
    def terms(self):
        return super().terms | {"scale": exact_text(self.scale)}

    @property
    def is_of_share(self):
        return self.epsilon > 0 and self.scale == scale_above(self.sensitivity.value, share=self.epsilon)

    @cached_property
    def charge(self):
        """What a ledger is charged."""
        return LaplaceCharge(self.statistic, exact_text(self.sensitivity.value), exact_text(self.scale))


@dataclass(frozen=True, kw_only=True)
class ChoiceEvent(Event):
    """Choice of entries of high score by permute-and-flip, each among those that are left: epsilon-DP.

    The sensitivity is that of every score, in linf.

    Attributes
    ----------
    epsilon : float, the share of the budget, of all choices together.
    n_choices : int, entries chosen.
    """

    family: ClassVar = "choice"
    norm: ClassVar = "linf"
    exactness: ClassVar = Exactness.EXACT
    epsilon: float
    n_choices: int

    @property
    def terms(self):
        return super().terms | {"epsilon": exact_text(self.epsilon), "n_choices": self.n_choices}

    @property
    def epsilon_each(self):
        """The budget of one choice, a Fraction."""
        return Fraction(self.epsilon) / self.n_choices

    @cached_property
    def charge(self):
        """What a ledger is charged."""
        return PureCharge(self.statistic, exact_text(self.epsilon))


@dataclass(frozen=True, kw_only=True)
class GumbelEvent(ChoiceEvent):
    """The same by the highest score with Gumbel noise: the exponential mechanism. For benchmarks alone."""

    family: ClassVar = "gumbel choice"
    exactness: ClassVar = None


@dataclass(frozen=True, kw_only=True)
class SubsetEvent(Event):
    """Choice of a set of entries at once by the canonical Lipschitz mechanism: epsilon-DP.

    The sensitivity is that of every score, in linf (docs/proofs/canonical_lipschitz.md).

    Attributes
    ----------
    epsilon : float, the share of the budget, of the whole set.
    n_choices : int, entries of the set.
    gamma : float in [0, 1), weight of the worst score inside; the best outside has the rest.
    """

    family: ClassVar = "subset"
    norm: ClassVar = "linf"
    exactness: ClassVar = Exactness.CERTIFIED
    epsilon: float
    n_choices: int
    gamma: float

    @property
    def terms(self):
        law = {"epsilon": exact_text(self.epsilon), "gamma": exact_text(self.gamma)}
        return super().terms | law | {"n_choices": self.n_choices}

    @cached_property
    def charge(self):
        """What a ledger is charged."""
        return PureCharge(self.statistic, exact_text(self.epsilon))


CHOICES = {Selection.PERMUTE_AND_FLIP: ChoiceEvent, Selection.GUMBEL: GumbelEvent}


@dataclass(frozen=True, kw_only=True)
class DepthEvent(Event):
    """Draw of a point by its depth among private models, after a noisy check that this is safe.

    (epsilon, delta)-DP, with the delta of the check (docs/proofs/tukey.md). No ledger counts a delta, so it
    cannot be charged. The sensitivity is that of the depth, in linf.

    Attributes
    ----------
    epsilon : float, the share of the budget, without the check's.
    delta : float, of the check and the draw together.
    """

    family: ClassVar = "depth"
    norm: ClassVar = "linf"
    exactness: ClassVar = Exactness.CERTIFIED
    epsilon: float
    delta: float

    @property
    def terms(self):
        return super().terms | {"epsilon": exact_text(self.epsilon), "delta": exact_text(self.delta)}

    @property
    def rate(self):
        """By what a point is likelier for every step of depth, a Fraction."""
        return Fraction(self.epsilon) / (2 * Fraction(self.sensitivity.value))

    @property
    def charge(self):
        """Raise UsageError: what a ledger is charged must be counted by it."""
        raise UsageError(
            f"The {self.statistic} must be drawn in a benchmark: no ledger counts its delta. "
            "Use `mode: benchmark`."
        )


# What a release can draw and a ledger count.
FAMILIES = {event.family: event for event in (GaussianEvent, LaplaceEvent, ChoiceEvent, SubsetEvent)}


def event_of(record):
    """Make an event from what `Event.as_dict` returned, or from the same with more keys.

    Raises
    ------
    UsageError
        If the family is not known, or the draw is of another version of the mechanisms.
    """
    name = record.get("family")
    if name not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise UsageError(f"The family of an event must be one of {known}, got {name}.")
    if record["version"] != MECHANISM_VERSION:
        raise UsageError(
            f"A draw must be of version {MECHANISM_VERSION} of the mechanisms, got one of version "
            f"{record['version']}. Use the dpgrs that drew it."
        )
    family = FAMILIES[name]
    terms = {field.name: record[field.name] for field in fields(family)}
    return family(**terms | {"sensitivity": Sensitivity(**record["sensitivity"])})
