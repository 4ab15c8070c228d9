"""What a privacy statement says of its guarantee in words, which follow from its terms and draws."""

from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from dpgrs.statement.conditions import DOSAGES_INPUT, FIXED_SITES_INPUT
from dpgrs.statement.words import (
    ASSUMED_OF,
    ASSUMPTIONS,
    BOTH_THEOREM,
    OF_FIXED_DOSAGES,
    OF_FIXED_SITES,
    PURE_THEOREM,
    ROWS_OF_A_PERSON,
    THEOREM,
)
from dpgrs.types import Neighbours, Rows, Unit

GAUSSIAN = "gaussian"


def words_of(
    guarantee: dict[str, Any],
    mechanisms: list[dict[str, Any]],
    public_inputs: list[dict[str, Any]],
    *,
    protected: str,
) -> dict[str, Any]:
    """Say in words what follows from the terms and the draws of a release.

    `guarantee` is the section of a statement, as far as it is numbers and terms, `mechanisms` and
    `public_inputs` are these sections, `protected` is from `Protection.of_unit`. The result has definition,
    contribution and plain_language, of the section guarantee, the assumptions and the theorem.
    """
    rows = ROWS_OF_A_PERSON[Rows(guarantee["rows"])]
    return {
        "definition": _definition(guarantee, protected),
        "contribution": f"Under one sample id at one centre a person gives {rows}.",
        "plain_language": _plain_line(guarantee, protected),
        "assumptions": _assumptions(mechanisms, public_inputs),
        "theorem": _theorem(mechanisms),
    }


def factor(epsilon: str) -> str:
    """Return e^epsilon, rounded up to three digits, the same on every platform."""
    power = Context(prec=30).exp(Decimal(epsilon))
    rounded = Context(prec=3, rounding=ROUND_CEILING).plus(power)
    return f"{rounded:f}" if rounded < 10**6 else f"{rounded:.2E}"


def _definition(guarantee: dict[str, Any], protected: str) -> str:
    """State the definition of the guarantee."""
    unit = guarantee["unit"]
    change = {
        Neighbours.ADD_REMOVE: f"one {unit} is there or not",
        Neighbours.REPLACE_ONE: f"the {protected} of one {unit} are replaced by any others",
    }[Neighbours(guarantee["neighbours"])]
    return (
        f"({guarantee['epsilon']}, {guarantee['delta']})-differential privacy of the {protected} among "
        "data sets that meet the conditions of this release. For any two of these data sets in which "
        f"{change}, and any set of results, the probability of the set under one is at most e^epsilon times "
        "its probability under the other, plus delta. The existence of this release reveals, without noise, "
        "that its data set meets the conditions."
    )


def _plain_line(guarantee: dict[str, Any], protected: str) -> str:
    """Say in plain words what a reader may learn."""
    unit, person = guarantee["unit"], guarantee["person"]
    unknown = {
        Neighbours.ADD_REMOVE: f"whether the data of one {unit} were used",
        Neighbours.REPLACE_ONE: f"which of two possibilities the {protected} of one {unit} are",
    }[Neighbours(guarantee["neighbours"])]
    epsilon = guarantee["epsilon"]
    line = (
        f"Suppose a reader knows everything but {unknown}. This release lets the reader guess it right at "
        f"most {guarantee['right_guesses']} times in 100, if both answers were equally likely before; a "
        "blind guess is right 50 times. The release multiplies the reader's odds of what is true by more "
        f"than e^{epsilon} = {factor(epsilon)} with a chance of at most {guarantee['chance']}, and divides "
        "them by more than that with no greater chance. The chance is over the secret noise, and is not "
        f"delta, {guarantee['delta']}, which bounds what the definition says."
    )
    if unit == Unit.PERSON:
        return line
    return line + (
        f" A person has two haplotypes, of whom guesses are right at most {person['right_guesses']} times in "
        f"100, the factor is e^{person['epsilon']} = "
        f"{factor(person['epsilon'])} and the chance at most {person['chance']}."
    )


def _assumptions(mechanisms: list[dict[str, Any]], public_inputs: list[dict[str, Any]]) -> list[str]:
    """List the assumptions of the guarantee: those of every release, of its draws, and of the files read."""
    names = {mechanism[name] for mechanism in mechanisms for name in ("statistic", "mechanism")}
    of_draws = dict.fromkeys(line for name, line in ASSUMED_OF.items() if name in names)
    inputs = [(public["name"], public["value"]) for public in public_inputs]
    is_fixed = FIXED_SITES_INPUT in inputs
    of_files = {OF_FIXED_SITES: is_fixed, OF_FIXED_DOSAGES: is_fixed and DOSAGES_INPUT in inputs}
    return [*ASSUMPTIONS, *of_draws, *(line for line, holds in of_files.items() if holds)]


def _theorem(mechanisms: list[dict[str, Any]]) -> str:
    """Name the composition theorems that add up the costs of the mechanisms."""
    families = {mechanism["mechanism"] for mechanism in mechanisms}
    gaussian, pure = GAUSSIAN in families, bool(families - {GAUSSIAN})
    holding = {THEOREM: gaussian or not pure, PURE_THEOREM: pure, BOTH_THEOREM: gaussian and pure}
    return " ".join(text for text, holds in holding.items() if holds)
