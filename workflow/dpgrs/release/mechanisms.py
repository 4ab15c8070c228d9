"""What a privacy statement says of every draw by its family: exact terms, and losses rounded up."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.accounting.exact_numbers import exact, exact_text, text_above, text_below
from dpgrs.privacy.sensitivity import PROOFS
from dpgrs.statement.words import NOISE

DIGITS, SHARE_DIGITS = 15, 4
GAUSSIAN, LAPLACE, SUBSET = "gaussian", "laplace", "subset"


def describe_draws(events: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[Cost]]:
    """Say of every draw what it was, what it lost and which share of the release's loss that is.

    Events are as in `StatementContent`. The result is the section ``mechanisms`` of a statement, and the cost
    of each. A UsageError says that a family is none that a statement knows.
    """
    described = [_describe(event) for event in events]
    costs = [_cost(mechanism) for mechanism in described]
    total = sum(costs, Cost())
    shares = [_share(cost, total) for cost in costs]
    return [
        mechanism | {"share": text_below(share, digits=SHARE_DIGITS)}
        for mechanism, share in zip(described, shares, strict=True)
    ], costs


def _describe(event: dict[str, Any]) -> dict[str, Any]:
    """Say of a draw what it was and what it lost, but for its share of the whole."""
    family = event["family"]
    if family not in NOISE:
        raise UsageError(
            "event-family-unknown",
            f"The family of an event in a statement must be one of {', '.join(NOISE)}, got {family}. "
            "Release by one of these.",
        )
    sensitivity = event["sensitivity"]
    return {
        "statistic": event["statistic"],
        "mechanism": family,
        "version": event["version"],
        "outcome": event.get("outcome"),
        "sensitivity": _exact(sensitivity["value"]),
        "norm": sensitivity["norm"],
        "neighbours": str(sensitivity["neighbours"]),
        "unit": str(sensitivity["unit"]),
        "proof": PROOFS[sensitivity["law"]],
        "noise": event.get("noise", NOISE[family]),
        **_scale(family, event),
        "entries": int(event["entries"]),
        "source": event["source"],
        "request": event.get("request"),
        **_loss(family, event),
    }


def _scale(family: str, event: dict[str, Any]) -> dict[str, Any]:
    """Return what sets the size of the noise: its own on a grid, or among how many a choice was made."""
    if family == GAUSSIAN:
        return {"sigma": _exact(event["sigma"]), "grid": _exact(event["step"])}
    if family == LAPLACE:
        return {"scale": _exact(event["scale"]), "grid": _exact(event["step"])}
    choice = {"n_choices": int(event["n_choices"])}
    return choice | {"gamma": _exact(event["gamma"])} if family == SUBSET else choice


def _loss(family: str, event: dict[str, Any]) -> dict[str, str]:
    """Return what a draw lost, rounded up."""
    sensitivity = Fraction(_exact(event["sensitivity"]["value"]))
    if family == GAUSSIAN:
        return {"mu": text_above(sensitivity / Fraction(_exact(event["sigma"])), digits=DIGITS)}
    if family == LAPLACE:
        return {"epsilon": text_above(sensitivity / Fraction(_exact(event["scale"])), digits=DIGITS)}
    return {"epsilon": _exact(event["epsilon"])}


def _cost(mechanism: dict[str, Any]) -> Cost:
    """Return the exact cost of what `_describe` returned."""
    sensitivity = Fraction(mechanism["sensitivity"])
    if mechanism["mechanism"] == GAUSSIAN:
        return Cost(mu_squared=(sensitivity / Fraction(mechanism["sigma"])) ** 2)
    if mechanism["mechanism"] == LAPLACE:
        return Cost(pure_epsilon=sensitivity / Fraction(mechanism["scale"]))
    return Cost(pure_epsilon=Fraction(mechanism["epsilon"]))


def _share(cost: Cost, total: Cost) -> Fraction:
    """Return the share of a draw in its counter: mu^2, or pure epsilon."""
    if cost.pure_epsilon:
        return cost.pure_epsilon / total.pure_epsilon
    return cost.mu_squared / total.mu_squared


def _exact(number: float | str) -> str:
    """Return the exact text of a float; text has to be exact already."""
    return exact_text(exact(number, name="event")) if isinstance(number, str) else exact_text(number)
