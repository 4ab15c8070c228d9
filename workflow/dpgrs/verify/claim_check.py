"""Work every claim of a privacy statement out anew, in exact fractions and to 50 digits.

It shares no arithmetic with the code that made the claims; it uses only sensitivities, scales and epsilons.
A claim that is larger than its draws need promises nothing false, but the program writes no such claim.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mpmath import mp

from dpgrs.statement.audits import STEERED, audited_function
from dpgrs.statement.draws import ACCURACY, CASES, COUNT, CROSS, GENOME, GRAM, KNOWN, MOMENTS
from dpgrs.statement.methods import stated_method, steers_rows
from dpgrs.statement.words import decimal_text
from dpgrs.verify.covariate_check import stated_inputs
from dpgrs.verify.entry_check import ROW_NORM, STATED
from dpgrs.verify.sensitivity_check import SUM_STEP

if TYPE_CHECKING:
    from mpmath import mpf as MPF

GAUSSIAN, LAPLACE = "gaussian", "laplace"
# Significant digits of losses, of deltas of the profile, of shares and of chances.
LOSS_DIGITS, DELTA_DIGITS, SHARE_DIGITS, CHANCE_DIGITS = 15, 6, 4, 2
# The share that rounding up adds to a root, to guesses, and to deltas and chances.
OF_ROOT, OF_GUESSES, OF_CHANCE = Fraction(1, 10**15), Fraction(1, 10**8), Fraction(1, 10**6)
LARGEST = 10**6
LARGEST_LEFT = 10**12
# How a statement tells the cost of an accuracy that was paid for.
ALONE = "for each outcome alone"
COST = re.compile(rf"epsilon ([0-9.]+) at delta ([0-9.]+), (for all outcomes together|{ALONE})")
# What a loss follows from. Exact sums of many long ones take hours; a release has a few, of 50 digits.
SIZES, MOST_DIGITS = ("sensitivity", "sigma", "scale", "epsilon"), 20_000
# Of an interval that holds a chance: it ends far within two digits.
HALVINGS = 60
# Of the accounting; from `CLOSE_BELOW` on it may bound a chance by up to a third more.
SMALLEST_DELTA, TINY_CHANCE, CLOSE_BELOW = Fraction(1, 10**30), Fraction(1, 10**20), 0.2
# Epsilons of the profile, of the claimed one beyond its pure part.
SHARES = tuple(Fraction(number, 5) for number in range(1, 11))


@dataclass(frozen=True)
class Loss:
    """The loss of mechanisms together."""

    mu_squared: Fraction = Fraction(0)  # of the Gaussian ones
    pure: Fraction = Fraction(0)  # sum of the epsilons of those without a delta

    def __add__(self, other: "Loss") -> "Loss":
        return Loss(self.mu_squared + other.mu_squared, self.pure + other.pure)

    def for_group(self, size: int) -> "Loss":
        return Loss(self.mu_squared * size**2, self.pure * size)


def claim_problems(statement: dict[str, Any]) -> list[str]:
    """Check every number of a statement's accounting."""
    sizes = {mechanism[name] for mechanism in statement["mechanisms"] for name in SIZES if name in mechanism}
    if sum(map(len, sizes)) > MOST_DIGITS:
        return [f"the different sensitivities and scales must have at most {MOST_DIGITS} digits together"]
    losses = [loss_of(mechanism) for mechanism in statement["mechanisms"]]
    total, problems = sum(losses, Loss()), []
    for mechanism, loss in zip(statement["mechanisms"], losses, strict=True):
        problems += _mechanism_problems(mechanism, loss, total, statement["guarantee"])
    problems += _total_problems(statement, losses) + _ledger_problems(statement, total)
    return problems + _profile_problems(statement, total) + _audit_problems(statement)


def smallest_delta(mu_squared: Fraction, epsilon: Fraction) -> "MPF":
    """Return the smallest delta for which Gaussian mechanisms are (epsilon, delta)-DP, to 50 digits.

    delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2), with mu^2 the sum over the mechanisms
    and epsilon >= 0.
    """
    with mp.workdps(80):
        if not mu_squared:
            return mp.mpf(0)
        mu = mp.sqrt(_to_mpf(mu_squared))
        ratio, epsilon = _to_mpf(epsilon) / mu, _to_mpf(epsilon)
        return mp.ncdf(mu / 2 - ratio) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - ratio)


@lru_cache(maxsize=256)
def chance_bound(mu_squared: Fraction, epsilon: Fraction) -> "MPF":
    """Bound the chance that the odds of the truth rise by more than e^epsilon, to ten digits.

    It is Phi(mu - c) with Phi(mu - c) = e^epsilon Phi(-c), and no larger whatever readers do with the results
    of Gaussian mechanisms (docs/proofs/odds.md). mu^2 is the sum over the mechanisms, epsilon >= 0 the rest
    beyond the pure loss.
    """
    if not mu_squared:
        return mp.mpf(0)
    if not epsilon:
        return mp.mpf(1)
    with mp.workdps(40):
        mu, epsilon = mp.sqrt(_to_mpf(mu_squared)), _to_mpf(epsilon)
        # The likelihood ratio is e^epsilon at the upper end, so that of all beyond it is larger.
        high = epsilon / mu + mu / 2
        low = high - 1
        while _log_ratio(low, mu) > epsilon:
            low, high = low - 2 * (high - low), low
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if _log_ratio(middle, mu) > epsilon else (middle, high)
        return mp.ncdf(mu - high)


def right_guesses(loss: Loss) -> "MPF":
    """Bound how many of 100 guesses between neighbours at even odds are right.

    Randomised response beside normal noise attains it (docs/proofs/odds.md).
    """
    with mp.workdps(40):
        pure, mu = _to_mpf(loss.pure), mp.sqrt(_to_mpf(loss.mu_squared))
        share = 1 / (1 + mp.exp(-pure))
        if not mu:
            return 100 * share
        return 100 * (share * mp.ncdf(mu / 2 + pure / mu) + (1 - share) * mp.ncdf(mu / 2 - pure / mu))


def _log_ratio(c: "MPF", mu: "MPF") -> "MPF":
    return mp.log(mp.ncdf(mu - c) / mp.ncdf(-c))


def _to_mpf(fraction: Fraction) -> "MPF":
    return mp.mpf(fraction.numerator) / fraction.denominator


def loss_of(mechanism: dict[str, Any]) -> Loss:
    """Return the loss of a mechanism of a statement."""
    if mechanism["mechanism"] == GAUSSIAN:
        return Loss(mu_squared=_ratio(mechanism) ** 2)
    return Loss(
        pure=_ratio(mechanism) if mechanism["mechanism"] == LAPLACE else Fraction(mechanism["epsilon"])
    )


def _ratio(mechanism: dict[str, Any]) -> Fraction:
    return Fraction(mechanism["sensitivity"]) / Fraction(
        mechanism["sigma" if "sigma" in mechanism else "scale"]
    )


def _mechanism_problems(
    mechanism: dict[str, Any], loss: Loss, total: Loss, guarantee: dict[str, Any]
) -> list[str]:
    rules = _family_rules(mechanism, loss, total) | {
        f"a grid whose step is a power of 2, got {mechanism.get('grid')}": _is_power_of_2(
            mechanism.get("grid", "1")
        ),
        f"the unit of the guarantee, got {mechanism['unit']}": mechanism["unit"] == guarantee["unit"],
        f"the neighbours of the guarantee, got {mechanism['neighbours']}": (
            mechanism["neighbours"] == guarantee["neighbours"]
        ),
    }
    return [
        f"the mechanism of {mechanism['statistic']} must have {rule}"
        for rule, holds in rules.items()
        if not holds
    ]


def _family_rules(mechanism: dict[str, Any], loss: Loss, total: Loss) -> dict[str, bool]:
    """Return the rules for a mechanism of its family, and whether they hold."""
    sizes = [name for name in ("sensitivity", "sigma", "scale", "grid") if name in mechanism]
    rules = {
        f"sizes that are floats written out, got {mechanism[name]}": _is_float(mechanism[name])
        for name in sizes
    }
    if mechanism["mechanism"] == GAUSSIAN:
        share = _text(loss.mu_squared / total.mu_squared, SHARE_DIGITS, rounding=ROUND_FLOOR)
        mu = _text(_ratio(mechanism), LOSS_DIGITS)
        return rules | {
            f"mu = sensitivity/sigma, got {mechanism['mu']}": mechanism["mu"] == mu,
            f"share = mu^2 over the sum, got {mechanism['share']}": mechanism["share"] == share,
        }
    share = _text(loss.pure / total.pure, SHARE_DIGITS, rounding=ROUND_FLOOR)
    rules |= {f"share = epsilon over the sum, got {mechanism['share']}": mechanism["share"] == share}
    if mechanism["mechanism"] == LAPLACE:
        is_loss = mechanism["epsilon"] == _text(_ratio(mechanism), LOSS_DIGITS)
        return rules | {f"epsilon = sensitivity/scale, got {mechanism['epsilon']}": is_loss}
    is_possible = mechanism["n_choices"] <= mechanism["entries"]
    return rules | {f"n_choices of at most its entries, got {mechanism['n_choices']}": is_possible}


def _text(value: "Fraction | MPF", digits: int, *, rounding: str = ROUND_CEILING) -> str:
    """Write a number >= 0 as the next decimal of so many significant digits."""
    exact = value if isinstance(value, Fraction) else int(value.man) * Fraction(2) ** int(value.exp)
    ratio = map(Decimal, (exact.numerator, exact.denominator))
    return f"{Context(prec=digits, rounding=rounding).divide(*ratio):f}"


def _texts(value: "Fraction | MPF", digits: int, excess: Fraction) -> set[str]:
    """Return how a number may be written that is above another by a share of it at most."""
    above = value * (1 + excess if isinstance(value, Fraction) else _to_mpf(1 + excess))
    return {_text(value, digits), _text(above, digits)}


def _is_float(text: str) -> bool:
    """Return whether a text is a float64, written out exactly."""
    return f"{Decimal(float(text)):f}" == text


def _is_power_of_2(text: str) -> bool:
    ratio = Fraction(text).as_integer_ratio()
    return min(ratio) == 1 and max(ratio).bit_count() == 1


def _total_problems(statement: dict[str, Any], losses: list[Loss]) -> list[str]:
    """Check that every claim covers the sum of its mechanisms."""
    guarantee, composition, total = statement["guarantee"], statement["composition"], sum(losses, Loss())
    rows_of_person = 1 if guarantee["unit"] == "person" else 2
    problems = [
        *_covering_problems("the guarantee", guarantee, [total]),
        *_covering_problems("the loss of a person", guarantee["person"], [total.for_group(rows_of_person)]),
        *_outcome_problems(statement, losses),
        *_accuracy_problems(statement, losses),
        *_covering_problems("composition.whole_study", composition["whole_study"], [total]),
    ]
    with mp.workdps(50):
        mu = _texts(mp.sqrt(_to_mpf(total.mu_squared)), LOSS_DIGITS, OF_ROOT)
    if guarantee["mu"] not in mu:
        problems.append(
            f"the guarantee must have mu^2 = the sum over the mechanisms, got mu {guarantee['mu']}"
        )
    pure = guarantee.get("pure_epsilon", "0")
    if pure != _text(total.pure, LOSS_DIGITS):
        problems.append(
            f"the guarantee must have pure_epsilon = the sum over its mechanisms without a delta, got {pure}"
        )
    if Fraction(guarantee["delta"]) >= 1:
        problems.append(f"delta must be below 1, got {guarantee['delta']}: it promises nothing")
    return problems


def _outcome_problems(statement: dict[str, Any], losses: list[Loss]) -> list[str]:
    """Check that the most that one outcome costs covers every outcome."""
    by_owner = defaultdict(Loss)
    for mechanism, loss in zip(statement["mechanisms"], losses, strict=True):
        by_owner[mechanism["outcome"]] += loss
    outcomes = statement["data_domain"]["outcomes"]
    unknown = sorted(by_owner.keys() - {None, *outcomes})
    if unknown:
        return [f"a mechanism must serve an outcome of the release or all, got {unknown[0]}"]
    claim, shared = statement["composition"]["per_outcome"], by_owner[None]
    # Most outcomes lose the same; by a fit that takes them together, each what all do.
    distinct = dict.fromkeys(shared + by_owner[outcome] for outcome in outcomes)
    # Weights of outcomes that are mapped back from components mix the draws of all of these.
    if STATED in stated_inputs(statement) or _pools_outcomes(statement):
        distinct = [sum(losses, Loss())]
    return _covering_problems("composition.per_outcome", claim, [*distinct])


def _pools_outcomes(statement: dict[str, Any]) -> bool:
    """Return whether weights of an outcome also depend on draws for other outcomes."""
    method, fit = stated_method(statement["method"]), statement["fit"]
    sides = {"protection": statement["guarantee"]["protection"], "has_effects": "effects" in fit}
    return method is not None and method.pools_outcomes(fit, **sides)


def _accuracy_problems(statement: dict[str, Any], losses: list[Loss]) -> list[str]:
    """Check that the stated cost of the accuracy of each outcome covers its draws."""
    loss_of_outcome = defaultdict(Loss)
    for mechanism, loss in zip(statement["mechanisms"], losses, strict=True):
        if mechanism["statistic"] == ACCURACY.statistic:
            loss_of_outcome[mechanism["outcome"]] += loss
    measured, total = statement["accuracy"], sum(loss_of_outcome.values(), Loss())
    costs = (
        dict.fromkeys((accuracy["cost"], accuracy["name"]) for accuracy in measured)
        if isinstance(measured, list)
        else {}
    )
    problems = []
    for cost, name in costs if loss_of_outcome else ():
        match = COST.fullmatch(cost)
        if match is None:
            problems.append(f"the cost of the accuracy of {name} must be an epsilon at a delta, got {cost}")
            continue
        claim = {"epsilon": match[1], "delta": match[2]}
        loss = (
            loss_of_outcome[None] + loss_of_outcome[name]
            if match[3] == ALONE and len(loss_of_outcome) > 1
            else total
        )
        problems += _covering_problems(f"the cost of the accuracy of {name}", claim, [loss])
    return problems


def _ledger_problems(statement: dict[str, Any], total: Loss) -> list[str]:
    guarantee, ledger = statement["guarantee"], statement["ledger"]
    account = "/".join(guarantee[field] for field in ("protection", "unit", "neighbours"))
    spent = Loss(*(Fraction(ledger["spent"][name]) for name in ("mu_squared", "pure_epsilon")))
    claim = ledger["spent"] | {"delta": ledger["delta"]}
    problems = _covering_problems("ledger.spent", claim, [spent])
    if max(Fraction(ledger["remaining"][name]) for name in ("mu_squared", "pure_epsilon")) > LARGEST_LEFT:
        problems.append(f"ledger.remaining must be at most {LARGEST_LEFT}: beyond, nothing is promised")
    if spent.mu_squared < total.mu_squared or spent.pure < total.pure:
        problems.append("ledger.spent must be at least what this release costs")
    if ledger["head"] not in {mechanism["request"] for mechanism in statement["mechanisms"]}:
        problems.append("ledger.head must be the last request of this release")
    if ledger["account"] != account:
        problems.append(f"ledger.account must be {account}, got {ledger['account']}")
    return problems


def _profile_problems(statement: dict[str, Any], total: Loss) -> list[str]:
    """Check the profile, which a program would read instead of the other fields."""
    profile = statement["profile"]
    exact = {
        "mu_squared": _text(total.mu_squared, LOSS_DIGITS),
        "pure_epsilon": _text(total.pure, LOSS_DIGITS),
    }
    problems = [
        f"profile.{name} must be the sum over the mechanisms, got {profile[name]}"
        for name, text in exact.items()
        if profile[name] != text
    ]
    gaussian_epsilon = max(Fraction(statement["guarantee"]["epsilon"]) - total.pure, Fraction(0))
    for share, point in zip(SHARES, profile["deltas"], strict=True):
        epsilon = _text(total.pure + share * gaussian_epsilon, LOSS_DIGITS)
        if point["epsilon"] != epsilon or max(Fraction(epsilon), total.mu_squared) > LARGEST:
            problems.append(f"profile.deltas must be at an epsilon of {epsilon}, got {point['epsilon']}")
            continue
        smallest = smallest_delta(total.mu_squared, Fraction(epsilon) - total.pure)
        texts = _texts(smallest, DELTA_DIGITS, OF_CHANCE)
        if smallest < _to_mpf(SMALLEST_DELTA) and total.mu_squared:
            texts = {_text(SMALLEST_DELTA * (1 - OF_GUESSES), DELTA_DIGITS)}
        if point["delta"] not in texts:
            problems.append(
                f"profile.deltas must be delta(epsilon), at {point['epsilon']} {mp.nstr(smallest, 6)}, "
                f"got {point['delta']}"
            )
    return problems


def _audit_problems(statement: dict[str, Any]) -> list[str]:
    """Check that the audits cover every draw, and that none saw more than was claimed."""
    audit = statement["audit"]
    if audit is None:
        return []
    audited = [case["mechanism"] for case in audit["mechanisms"]]
    drawn_mechanisms = {audited_function(mechanism["statistic"]) for mechanism in statement["mechanisms"]}
    drawn_mechanisms |= {audited_function(STEERED)} if steers_rows(statement["method"]) else set()
    problems = [f"audit must cover {name}" for name in sorted(drawn_mechanisms - set(audited))]
    if len(set(audited)) < len(audited):
        problems.append("audit must name each mechanism once")
    if Fraction(audit["confidence"]) >= 1:
        problems.append(f"audit.confidence must be below 1, got {audit['confidence']}")
    return problems + [
        f"the audit of {case['mechanism']} must have observed at most what is claimed, got {case['observed']}"
        for case in audit["mechanisms"]
        if Fraction(case["observed"]) > Fraction(case["claimed"])
    ]


def _covering_problems(name: str, claim: dict[str, Any], losses: list[Loss]) -> list[str]:
    """Check that (epsilon, delta) covers each loss, and that chance and guesses are those of the largest.

    Epsilon beyond the pure loss is for the Gaussian one.
    """
    epsilon = Fraction(claim["epsilon"])
    if epsilon < max(loss.pure for loss in losses):
        return [f"{name} must have an epsilon of at least its pure part"]
    if max(epsilon, *(loss.mu_squared for loss in losses)) > LARGEST:
        return [f"{name} must have an epsilon and a mu^2 of at most {LARGEST}: beyond, nothing is promised"]
    delta = max(smallest_delta(loss.mu_squared, epsilon - loss.pure) for loss in losses)
    chance = max(chance_bound(loss.mu_squared, epsilon - loss.pure) for loss in losses)
    guesses = max(map(right_guesses, losses))
    stated = claim.get("chance")
    # The accounting bounds larger chances less closely, and ends where its deltas do.
    most = Fraction(1) if chance >= CLOSE_BELOW else TINY_CHANCE
    is_loose = stated is not None and chance <= _to_mpf(Fraction(stated)) <= _to_mpf(most)
    above = (guesses, guesses * _to_mpf(1 + OF_GUESSES))
    rules = {
        "delta": (delta, delta <= _to_mpf(Fraction(claim["delta"]))),
        "chance": (chance, stated in (None, *_texts(chance, CHANCE_DIGITS, OF_CHANCE)) or is_loose),
        "right_guesses": (
            guesses,
            claim.get("right_guesses") in {None, *(f"{int(mp.ceil(n))}" for n in above)},
        ),
    }
    problems = [
        f"{name} must cover its mechanisms: at its epsilon {number} is {mp.nstr(exact, 6)}, "
        f"got {claim[number]}"
        for number, (exact, holds) in rules.items()
        if not holds
    ]
    return problems + [
        f"{name} must be written with the shortest {number}, got {claim[number]}"
        for number in ("epsilon", "delta")
        if claim[number] != decimal_text(claim[number]) and name != "ledger.spent"
    ]


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
FIFTEEN_DIGITS = Fraction(1, 10**13)
# The accounting lowers delta by less than this, and epsilons are rounded up at the sixth digit.
ACCOUNTING = Fraction(1, 10**5)


def number_problems(statement: Mapping) -> list[str]:
    """List numbers of a statement, in which nothing else is wrong, that the program would not write."""
    return [
        *_grid_problems(statement),
        *_repeated_problems(statement),
        *_standing_problems(statement["ledger"]),
        *_seed_problems(statement),
    ]


def _grid_problems(statement: Mapping) -> Iterator[str]:
    steps = STEPS | (OF_CLIPPED if ROW_NORM in stated_inputs(statement) else OF_CALLS)
    for mechanism in statement["mechanisms"]:
        name = mechanism["statistic"]
        # The grid of turned rows follows from earlier draws.
        if name not in steps or (name == CROSS and steers_rows(statement["method"])):
            continue
        if Fraction(mechanism["grid"]) != steps[name]:
            yield f"the grid of {name} must be {float(steps[name]):g}, got {mechanism['grid']}"


def _repeated_problems(statement: Mapping) -> Iterator[str]:
    """Compare the totals that a statement names several times."""
    guarantee, composition = statement["guarantee"], statement["composition"]
    rows_of_person = 1 if guarantee["unit"] == "person" else 2
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
    serves_all = all(mechanism["outcome"] is None for mechanism in statement["mechanisms"])
    if serves_all and outcome["epsilon"] != guarantee["epsilon"]:
        yield "the epsilon of composition.per_outcome must be that of the guarantee: all draws serve all"


def _standing_problems(ledger: Mapping) -> Iterator[str]:
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
    for section in (spent, left, limit):
        for name in {"mu_squared", "pure_epsilon", "epsilon"} & section.keys():
            if not _has_digits(section[name], LOSS_DIGITS):
                yield f"the {name} of the ledger must have at most {LOSS_DIGITS} digits, got {section[name]}"


def _has_digits(text: str, most: int) -> bool:
    """Return whether a decimal has so many significant digits, or fewer without a 0 at the end."""
    n_digits = len(text.replace(".", "").lstrip("0"))
    return n_digits == most or (n_digits < most and text == decimal_text(text))


def _seed_problems(statement: Mapping) -> Iterator[str]:
    stated, audit = stated_inputs(statement), statement["audit"]
    if audit is not None and str(audit["seed"]) != stated["seed"]:
        yield f"audit.seed must be the public seed, {stated['seed']}, got {audit['seed']}"
