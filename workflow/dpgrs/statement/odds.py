"""What a privacy statement says of a reader's odds: chances, the profile, the plain-language line.

A delta is no chance. That odds move by more than e^epsilon has a chance that follows from what the mechanisms
cost, and is many times delta (docs/proofs/odds.md).
"""

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from dpgrs.privacy.accounting.exact_numbers import text_above
from dpgrs.types import Neighbours, Unit

CHANCE_DIGITS, PROFILE_DIGITS, COST_DIGITS = 2, 6, 15
# Of the claimed epsilon beyond its pure part: the fifth of ten is the claim.
PROFILE_SHARES = tuple(Fraction(number, 5) for number in range(1, 11))


def with_chance(total, costs):
    """Say of an (epsilon, delta) how often guesses are right and how likely odds rise by more than e^epsilon.

    Parameters
    ----------
    total : dict of epsilon and delta, exact text.
    costs : iterable of Cost, all of which the total covers.

    Returns
    -------
    dict, with ``chance`` and ``right_guesses`` too: rounded up, of the worst cost.
    """
    epsilon, costs = Fraction(total["epsilon"]), set(costs)
    worst = max(cost.odds_chance(epsilon) for cost in costs)
    right = max(cost.right_guesses for cost in costs)
    return total | {"chance": text_above(worst, digits=CHANCE_DIGITS), "right_guesses": str(right)}


def describe_profile(cost, epsilon):
    """List what a release costs, and delta at ten epsilons.

    Parameters
    ----------
    cost : Cost, of all of it.
    epsilon : str, exact, as claimed.

    Returns
    -------
    dict, the section ``profile`` of a statement.
    """
    rest = max(Fraction(epsilon) - cost.pure_epsilon, Fraction(0))
    epsilons = [text_above(cost.pure_epsilon + share * rest, digits=COST_DIGITS) for share in PROFILE_SHARES]
    return {
        "mu_squared": text_above(cost.mu_squared, digits=COST_DIGITS),
        "pure_epsilon": text_above(cost.pure_epsilon, digits=COST_DIGITS),
        "deltas": [
            {"epsilon": text, "delta": text_above(cost.delta(Fraction(text)), digits=PROFILE_DIGITS)}
            for text in epsilons
        ],
    }


def plain_line(terms, guarantee, person, *, protected):
    """Say in plain words what a reader may learn.

    Parameters
    ----------
    terms : dict of text, `Terms.as_text`.
    guarantee, person : dict of epsilon, delta, chance and right_guesses, text; of a unit and of a person.
    protected : str, from `Protection.of_unit`.

    Returns
    -------
    str
    """
    unit = terms["unit"]
    unknown = {
        Neighbours.ADD_REMOVE: f"whether the data of one {unit} were used",
        Neighbours.REPLACE_ONE: f"which of two possibilities the {protected} of one {unit} are",
    }[Neighbours(terms["neighbours"])]
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


def factor(epsilon):
    """Return e^epsilon, rounded up to three digits, the same on every platform."""
    power = Context(prec=30).exp(Decimal(epsilon))
    rounded = Context(prec=3, rounding=ROUND_CEILING).plus(power)
    return f"{rounded:f}" if rounded < 10**6 else f"{rounded:.2E}"
