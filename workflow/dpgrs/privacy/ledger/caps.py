"""The largest epsilon of a person and the largest delta: beyond them a guarantee is one in name only.

The epsilon covers all parts of a release or of an account, and both haplotypes of a person. A stated reason
allows more. delta has no exception: one over the number of people allows to publish the record of one person.
"""

from dataclasses import replace
from fractions import Fraction

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.accountant import MARGIN
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.accounting.exact_numbers import exact_text, shown_above
from dpgrs.privacy.ledger.entries import Account, Budget

LARGEST_EPSILON, LARGEST_DELTA = 20, Fraction(1, 10_000)
# A delta is small beside one over the number of people if it is at most this part of it.
STRICT = Fraction(1, 100)
DIGITS = 4  # of an epsilon in messages


def exceeds_cap(cost: Cost, delta: Fraction) -> bool:
    """Tell whether a person who loses a Cost loses more than an epsilon of `LARGEST_EPSILON` at a delta."""
    return cost.epsilon(delta) > LARGEST_EPSILON * (1 + Fraction(MARGIN))


def person_in_words(account: Account, cost: Cost, delta: Fraction) -> str:
    """Return the epsilon that a person loses by a Cost to a unit of an account, with the delta, as text."""
    person = account.cost_to_person(cost)
    epsilon = float(shown_above(person.epsilon(delta), digits=DIGITS))
    both = "" if person == cost else " for both haplotypes"
    return f"{epsilon:g}{both} at delta {float(delta):g}"


def delta_problem(
    delta: Fraction,
    people_at_most: int | None,  # public bound on the number of people; None if none is stated
) -> tuple[str, str] | None:
    """Return the domain that a delta must have, and its value, as two texts; None if it is small enough."""
    if people_at_most is not None and delta > Fraction(1, people_at_most):
        bound = f"be at most one over the {people_at_most:,} people that the dataset may have"
        return bound, f"{float(delta):g}: to publish the record of one person at random would be allowed"
    if delta > LARGEST_DELTA:
        return f"be at most {float(LARGEST_DELTA):g}", f"{float(delta):g}: more promises nothing"
    return None


def require_caps(
    account: Account,
    budget: Budget,
    *,
    people_at_most: int | None,  # as in `delta_problem`
    beyond_20: str | None,  # the reason for a limit above `LARGEST_EPSILON`; None for a limit up to it
) -> None:
    """Refuse a limit beyond the caps: too large a delta, or an epsilon above the cap without a reason.

    A reason for a limit below the cap is refused as well.
    """
    delta = Fraction(budget.delta)
    if problem := delta_problem(delta, people_at_most):
        bound, got = problem
        raise UsageError("delta-too-large", f"`delta` must {bound}, got {got}. Lower it.")
    got = person_in_words(account, budget.limit, delta)
    if not exceeds_cap(account.cost_to_person(budget.limit), delta):
        if beyond_20 is not None:
            raise UsageError(
                "beyond-20-not-needed",
                f"`beyond_20` is for a limit above epsilon {LARGEST_EPSILON}, got a reason with epsilon "
                f"{got}. Leave it out.",
            )
    elif not beyond_20:
        raise UsageError(
            "limit-above-20",
            f"The limit of an account must be at most epsilon {LARGEST_EPSILON} for a person, got {got}. "
            "Lower it, or give the reason for more: `--beyond-20 REASON`, which the ledger keeps and shows.",
        )


def strict_budget(budget: Budget, people_at_most: int | None) -> Budget | None:
    """Return a budget with a delta that is small beside one over the number of people.

    None if no bound on that number is stated, or the budget's own delta is no larger.
    """
    if people_at_most is None or Fraction(budget.delta) <= STRICT / people_at_most:
        return None
    return replace(budget, delta=exact_text(STRICT / people_at_most))
