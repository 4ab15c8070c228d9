"""Work every claim of a privacy statement out anew, in exact fractions and to 50 digits.

It shares no arithmetic with what made the claims: they follow from sensitivities, scales and epsilons alone.
"""

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

from mpmath import mp

from dpgrs.privacy.statement_audit import mechanism_of

GAUSSIAN, LAPLACE = "gaussian", "laplace"
# Text is rounded up at the 15th digit.
ROUNDING = Fraction(1, 10**13)
LARGEST = 10**6
# What a loss follows from. Exact sums of many long ones take hours; a release has a few, of 50 digits.
SIZES, MOST_DIGITS = ("sensitivity", "sigma", "scale", "epsilon"), 20_000


@dataclass(frozen=True)
class Loss:
    """What mechanisms lose together.

    Attributes
    ----------
    mu_squared : Fraction, of the Gaussian ones.
    pure : Fraction, the epsilons of those without a delta.
    """

    mu_squared: Fraction = Fraction(0)
    pure: Fraction = Fraction(0)

    def __add__(self, other):
        return Loss(self.mu_squared + other.mu_squared, self.pure + other.pure)

    def for_group(self, size):
        return Loss(self.mu_squared * size**2, self.pure * size)


def claim_problems(statement):
    """Check every number of a statement's accounting.

    Parameters
    ----------
    statement : dict that fits the schema.

    Returns
    -------
    list of str, what is wrong.
    """
    terms = {part[name] for part in statement["mechanisms"] for name in SIZES if name in part}
    if sum(map(len, terms)) > MOST_DIGITS:
        return [f"the different sensitivities and scales must have at most {MOST_DIGITS} digits together"]
    losses = [_loss(part) for part in statement["mechanisms"]]
    total, problems = sum(losses, Loss()), []
    for part, loss in zip(statement["mechanisms"], losses, strict=True):
        problems += _mechanism_problems(part, loss, total, statement["guarantee"])
    problems += _total_problems(statement, losses) + _ledger_problems(statement, total)
    return problems + _audit_problems(statement)


def smallest_delta(mu_squared, epsilon):
    """Return the smallest delta for which Gaussian mechanisms are (epsilon, delta)-DP, to 50 digits.

    delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)

    Parameters
    ----------
    mu_squared : Fraction, the sum over the mechanisms.
    epsilon : Fraction >= 0

    Returns
    -------
    mpmath.mpf
    """
    with mp.workdps(80):
        if not mu_squared:
            return mp.mpf(0)
        mu = mp.sqrt(_to_mpf(mu_squared))
        ratio, epsilon = _to_mpf(epsilon) / mu, _to_mpf(epsilon)
        return mp.ncdf(mu / 2 - ratio) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - ratio)


def _to_mpf(fraction):
    return mp.mpf(fraction.numerator) / fraction.denominator


def _loss(part):
    if part["mechanism"] == GAUSSIAN:
        return Loss(mu_squared=_ratio(part) ** 2)
    return Loss(pure=_ratio(part) if part["mechanism"] == LAPLACE else Fraction(part["epsilon"]))


def _ratio(part):
    return Fraction(part["sensitivity"]) / Fraction(part["sigma" if "sigma" in part else "scale"])


def _mechanism_problems(part, loss, total, guarantee):
    rules = _family_rules(part, loss, total) | {
        f"the unit of the guarantee, got {part['unit']}": part["unit"] == guarantee["unit"],
        f"the neighbours of the guarantee, got {part['neighbours']}": (
            part["neighbours"] == guarantee["neighbours"]
        ),
    }
    return [
        f"the mechanism of {part['statistic']} must have {rule}" for rule, holds in rules.items() if not holds
    ]


def _family_rules(part, loss, total):
    """Return what a mechanism must have by its family, and whether it does."""
    share = Fraction(part["share"])
    if part["mechanism"] == GAUSSIAN:
        is_share = _is_share(share, loss.mu_squared, total.mu_squared)
        return {
            f"mu = sensitivity/sigma, got {part['mu']}": _is_rounded_up(part["mu"], _ratio(part)),
            f"share = mu^2 over the sum, got {part['share']}": is_share,
        }
    rules = {f"share = epsilon over the sum, got {part['share']}": _is_share(share, loss.pure, total.pure)}
    if part["mechanism"] == LAPLACE:
        is_loss = _is_rounded_up(part["epsilon"], _ratio(part))
        return rules | {f"epsilon = sensitivity/scale, got {part['epsilon']}": is_loss}
    is_possible = part["n_choices"] <= part["entries"]
    return rules | {f"n_choices of at most its entries, got {part['n_choices']}": is_possible}


def _is_rounded_up(text, value):
    return 0 <= Fraction(text) / value - 1 <= ROUNDING


def _is_share(share, part, whole):
    return 0 <= 1 - share * whole / part <= Fraction(1, 1000)


def _total_problems(statement, losses):
    """Check that every claim covers what its mechanisms add up to."""
    guarantee, composition, total = statement["guarantee"], statement["composition"], sum(losses, Loss())
    rows_of_person = 1 if guarantee["unit"] == "person" else 2
    problems = [
        *_covering_problems("the guarantee", guarantee, total),
        *_covering_problems("the loss of a person", guarantee["person"], total.for_group(rows_of_person)),
        *_outcome_problems(statement, losses),
        *_covering_problems("composition.whole_study", composition["whole_study"], total),
    ]
    if not total.mu_squared <= Fraction(guarantee["mu"]) ** 2 <= total.mu_squared * (1 + 3 * ROUNDING):
        problems.append(
            f"the guarantee must have mu^2 = the sum over the mechanisms, got mu {guarantee['mu']}"
        )
    pure = guarantee.get("pure_epsilon", "0")
    if not total.pure <= Fraction(pure) <= total.pure * (1 + ROUNDING):
        problems.append(
            f"the guarantee must have pure_epsilon = the sum over its mechanisms without a delta, got {pure}"
        )
    if Fraction(guarantee["delta"]) >= 1:
        problems.append(f"delta must be below 1, got {guarantee['delta']}: it promises nothing")
    return problems


def _outcome_problems(statement, losses):
    """Check that the most that one outcome costs covers every outcome."""
    by_owner = defaultdict(Loss)
    for part, loss in zip(statement["mechanisms"], losses, strict=True):
        by_owner[part["outcome"]] += loss
    outcomes = statement["data_domain"]["outcomes"]
    unknown = sorted(by_owner.keys() - {None, *outcomes})
    if unknown:
        return [f"a mechanism must serve an outcome of the release or all, got {unknown[0]}"]
    claim, shared = statement["composition"]["per_outcome"], by_owner[None]
    # Most outcomes lose the same.
    distinct = dict.fromkeys(shared + by_owner[outcome] for outcome in outcomes)
    found = (_covering_problems("composition.per_outcome", claim, loss) for loss in distinct)
    return next(filter(None, found), [])


def _ledger_problems(statement, total):
    guarantee, ledger = statement["guarantee"], statement["ledger"]
    account = "/".join(guarantee[term] for term in ("protection", "unit", "neighbours"))
    spent = Loss(*(Fraction(ledger["spent"][name]) for name in ("mu_squared", "pure_epsilon")))
    claim = {"epsilon": ledger["spent"]["epsilon"], "delta": ledger["delta"]}
    problems = _covering_problems("ledger.spent", claim, spent)
    if spent.mu_squared < total.mu_squared or spent.pure < total.pure:
        problems.append("ledger.spent must be at least what this release costs")
    if ledger["head"] not in {part["request"] for part in statement["mechanisms"]}:
        problems.append("ledger.head must be the last request of this release")
    if ledger["account"] != account:
        problems.append(f"ledger.account must be {account}, got {ledger['account']}")
    return problems


def _audit_problems(statement):
    """Check that the audits cover every draw, and that none saw more than was claimed."""
    audit = statement["audit"]
    if audit is None:
        return []
    audited = [case["mechanism"] for case in audit["mechanisms"]]
    drawn = {mechanism_of(part["statistic"]) for part in statement["mechanisms"]}
    problems = [f"audit must cover {name}" for name in sorted(drawn - set(audited))]
    if len(set(audited)) < len(audited):
        problems.append("audit must name each mechanism once")
    if Fraction(audit["confidence"]) >= 1:
        problems.append(f"audit.confidence must be below 1, got {audit['confidence']}")
    return problems + [
        f"the audit of {case['mechanism']} must have observed at most what is claimed, got {case['observed']}"
        for case in audit["mechanisms"]
        if Fraction(case["observed"]) > Fraction(case["claimed"])
    ]


def _covering_problems(name, claim, loss):
    """Check that (epsilon, delta) covers a loss: what the pure part leaves of epsilon, the Gaussian part."""
    epsilon, delta = Fraction(claim["epsilon"]), Fraction(claim["delta"])
    if epsilon < loss.pure:
        return [f"{name} must have an epsilon of at least its pure part"]
    if max(epsilon, loss.mu_squared) > LARGEST:
        return [f"{name} must have an epsilon and a mu^2 of at most {LARGEST}: beyond, nothing is promised"]
    needed = smallest_delta(loss.mu_squared, epsilon - loss.pure)
    if needed <= _to_mpf(delta):
        return []
    at_least = mp.nstr(needed, 6)
    return [f"{name} must cover its mechanisms: at its epsilon delta is {at_least}, got {claim['delta']}"]
