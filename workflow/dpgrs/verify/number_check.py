"""Compare numbers of a statement with what they must be, where a check of the claims allows larger ones.

A claim that is larger than its draws need promises nothing false, but the program writes no such claim.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from dpgrs.verify.claim_check import Loss, chance_bound, loss_of, right_guesses, smallest_delta
from dpgrs.verify.draw_check import (
    ACCURACY,
    CASES,
    COUNT,
    CROSS,
    GENOME,
    GRAM,
    KNOWN,
    MOMENTS,
    ON_TURNED_ROWS,
)
from dpgrs.verify.entry_check import ROW_NORM
from dpgrs.verify.sensitivity_check import SUM_STEP

# Steps of the grids of sums: of genotypes as calls, and of rows that are clipped about public frequencies.
COUNT_STEP, SQUARE_STEP = Fraction(1, 2**10), Fraction(1, 2**16)
STEPS = {
    COUNT.statistic: Fraction(1),
    KNOWN: COUNT_STEP,
    CASES: COUNT_STEP,
    ACCURACY.statistic: SQUARE_STEP,
    GENOME: SUM_STEP,
    MOMENTS: Fraction(1, 2**36),
}
OF_CALLS = {GRAM.statistic: Fraction(1, 4), CROSS: Fraction(1, 2**17)}
OF_CLIPPED = {GRAM.statistic: Fraction(1, 2**24), CROSS: Fraction(1, 2**28)}
# A chance is rounded up to two digits, a remainder down to fifteen.
TWO_DIGITS, FIFTEEN_DIGITS = Fraction(111, 100), Fraction(1, 10**13)
ONE_GUESS = 1.001  # guesses are whole numbers, rounded up
# The accounting lowers delta by less than this, and epsilons are rounded up at the sixth digit.
ACCOUNTING = Fraction(1, 10**5)
# Epsilons of the profile, of the claimed one beyond its pure part.
SHARES = tuple(Fraction(number, 5) for number in range(1, 11))


def number_problems(statement: Mapping) -> list[str]:
    """List numbers of a statement, in which nothing else is wrong, that the program would not write."""
    return [
        *_grid_problems(statement),
        *_total_problems(statement),
        *_ledger_problems(statement["ledger"]),
        *_profile_problems(statement),
        *_seed_problems(statement),
    ]


def _grid_problems(statement: Mapping) -> Iterator[str]:
    is_clipped = any(public["name"] == ROW_NORM for public in statement["public_inputs"])
    steps = STEPS | (OF_CLIPPED if is_clipped else OF_CALLS)
    for mechanism in statement["mechanisms"]:
        name = mechanism["statistic"]
        # The grid of turned rows follows from earlier draws.
        if name not in steps or (name == CROSS and statement["method"] in ON_TURNED_ROWS):
            continue
        if Fraction(mechanism["grid"]) != steps[name]:
            yield f"the grid of {name} must be {float(steps[name]):g}, got {mechanism['grid']}"


def _total_problems(statement: Mapping) -> Iterator[str]:
    """Compare the totals that a statement names several times."""
    guarantee, composition = statement["guarantee"], statement["composition"]
    losses = [loss_of(mechanism) for mechanism in statement["mechanisms"]]
    total = sum(losses, Loss())
    rows_of_person = 1 if guarantee["unit"] == "person" else 2
    for name, claim, loss in (
        ("the guarantee", guarantee, total),
        ("the loss of a person", guarantee["person"], total.for_group(rows_of_person)),
        ("composition.whole_study", composition["whole_study"], total),
    ):
        yield from _chance_problems(name, claim, loss)
    same = {"composition.whole_study": composition["whole_study"]}
    if rows_of_person == 1:
        same["the loss of a person"] = guarantee["person"]
    elif Fraction(guarantee["person"]["epsilon"]) != 2 * Fraction(guarantee["epsilon"]):
        yield f"the epsilon of a person must be twice {guarantee['epsilon']}"
    for name, claim in same.items():
        if any(claim[number] != guarantee[number] for number in ("epsilon", "delta")):
            yield f"{name} must be the epsilon and delta of the guarantee"
    outcome = composition["per_outcome"]
    if outcome["delta"] != guarantee["delta"]:
        yield f"the delta of composition.per_outcome must be {guarantee['delta']}"
    if Fraction(outcome["epsilon"]) > Fraction(guarantee["epsilon"]):
        yield "the epsilon of composition.per_outcome must be at most that of the guarantee"
    if all(mechanism["outcome"] is None for mechanism in statement["mechanisms"]):
        if outcome["epsilon"] != guarantee["epsilon"]:
            yield "the epsilon of composition.per_outcome must be that of the guarantee: all draws serve all"
        yield from _chance_problems("composition.per_outcome", outcome, total)


def _chance_problems(name: str, claim: Mapping, loss: Loss) -> Iterator[str]:
    """Check that a chance is no larger than two digits of what the losses give, and guesses than the next."""
    guesses = right_guesses(loss)
    if float(claim["right_guesses"]) > float(guesses) + ONE_GUESS:
        yield f"the right guesses of {name} must be {float(guesses):.4g}, got {claim['right_guesses']}"
    exact = chance_bound(loss.mu_squared, Fraction(claim["epsilon"]) - loss.pure)
    if Fraction(claim["chance"]) > Fraction(str(exact)) * TWO_DIGITS:
        yield f"the chance of {name} must be {float(exact):.2g}, got {claim['chance']}"


def _ledger_problems(ledger: Mapping) -> Iterator[str]:
    """Check that the spent and the remaining budget add up to the limit."""
    spent, left, limit = ledger["spent"], ledger["remaining"], ledger["limit"]
    for name in ("mu_squared", "pure_epsilon"):
        allowed = Fraction(limit[name])
        if abs(Fraction(spent[name]) + Fraction(left[name]) - allowed) > FIFTEEN_DIGITS * max(allowed, 1):
            yield f"ledger.spent and ledger.remaining must add up to ledger.limit, but not {name}"
    loss = Loss(Fraction(spent["mu_squared"]), Fraction(spent["pure_epsilon"]))
    below = Fraction(spent["epsilon"]) * (1 - ACCOUNTING) - loss.pure
    # With a smaller epsilon, the delta of the ledger would not do.
    if below > 0 and smallest_delta(loss.mu_squared, below) <= float(ledger["delta"]):
        yield f"ledger.spent.epsilon must follow from what is spent, got {spent['epsilon']}"
    yield from _chance_problems("ledger.spent", spent, loss)


def _profile_problems(statement: Mapping) -> Iterator[str]:
    guarantee = statement["guarantee"]
    pure = sum((loss_of(mechanism) for mechanism in statement["mechanisms"]), Loss()).pure
    gaussian_epsilon = max(Fraction(guarantee["epsilon"]) - pure, Fraction(0))
    for share, point in zip(SHARES, statement["profile"]["deltas"], strict=True):
        exact = pure + share * gaussian_epsilon
        if not 0 <= Fraction(point["epsilon"]) - exact <= FIFTEEN_DIGITS * max(exact, 1):
            yield f"profile.deltas must be at an epsilon of {float(exact):g}, got {point['epsilon']}"


def _seed_problems(statement: Mapping) -> Iterator[str]:
    stated = {public["name"]: public["value"] for public in statement["public_inputs"]}
    audit = statement["audit"]
    if audit is not None and str(audit["seed"]) != stated["seed"]:
        yield f"audit.seed must be the public seed, {stated['seed']}, got {audit['seed']}"
