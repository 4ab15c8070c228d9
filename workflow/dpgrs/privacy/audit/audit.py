"""Audits: how much privacy loss a mechanism really shows at worst-case neighbours, bounded from below.

An attacker who knows two neighbouring inputs and the output guesses which one was the input, and errs with
probability alpha on the first and beta on the second. A guarantee bounds both from below [1]_:

    mu-GDP:       Phi^-1(1 - alpha) - Phi^-1(beta) <= mu
    epsilon-DP:   log((1 - beta)/alpha) <= epsilon  and  log((1 - alpha)/beta) <= epsilon
    range r:      logit(1 - alpha) - logit(beta) <= r

The errors are counted over draws and bounded from above by Clopper and Pearson, each with half of the chance
that `confidence` leaves. Two rates say what an audit is worth:

- False alarm: the observed loss of an honest mechanism exceeds its claim with a probability of at most
  ``1 - confidence``, 1e-6 an audit, whatever the law of its output. The same holds for each part, normal
  noise.
- Power: with `N_DRAWS` draws, noise too small by sqrt(2) is caught with a probability of at least 1 - 1e-6 if
  mu is between 1.3 and 3, epsilon between 1.5 and 2, or a range between 2 and 6.

`alarm_probability` computes both from binomials where alpha and beta are known.

References
----------
.. [1] Dong, Roth, Su (2022). Gaussian differential privacy. J. R. Stat. Soc. B 84(1).
.. [2] Durfee, Rogers (2019). Practical differentially private top-k selection. NeurIPS.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from dpgrs.privacy.audit.losses import GaussianLoss, PureLoss, RangeLoss, rates_above
from dpgrs.privacy.audit.parts import AuditedDraw, PartResult, audit_parts
from dpgrs.privacy.noise.base import NoiseSource
from dpgrs.types import Rows, Unit

Loss = GaussianLoss | PureLoss | RangeLoss

N_DRAWS = 4_000
CONFIDENCE = 1 - 1e-6
# What a row is, and whose data are one unit, in every way that studies have them.
HAPLOTYPE = {"rows": Rows.HAPLOTYPES, "unit": Unit.HAPLOTYPE}
TWO_HAPLOTYPES = {"rows": Rows.HAPLOTYPES, "unit": Unit.PERSON}
PERSON = {"rows": Rows.PEOPLE, "unit": Unit.PERSON}
# A term of cases of dosages or of columns of a table.
FRACTIONAL = {"genotypes": "fractional"}
# Draws of which the guess of an honest mechanism is the same in all with a chance below 1e-15.
ENOUGH_TO_VARY = 1_000
# Counts of errors less likely than this are left out of a probability of an alarm.
NEGLIGIBLE = 1e-17


@dataclass(frozen=True)
class AuditCase:
    """A mechanism under one set of terms, with the neighbours that should move it most."""

    mechanism: str  # name of the ``private_*`` function
    # Such as neighbours, unit, rows and accounting. They tell a mechanism's cases apart.
    terms: dict[str, str]
    pair: tuple[Any, Any]  # the two inputs
    claim: Loss
    # Takes an input and a noise source, with which it calls the mechanism itself; returns an output.
    run: Callable[[Any, NoiseSource], Any]
    # Takes an output; above 0 the guess is the second input. For a `GaussianLoss` it is the logarithm of the
    # second's likelihood over the first's.
    score: Callable[[Any], float]
    is_for_releases: bool = True  # whether a release can draw the noise; if not, seeded noise is audited
    # Each draw of normal noise, in the order of the list that `run` returns. Empty if a mechanism has only
    # one draw, which the whole audits.
    parts: tuple[AuditedDraw, ...] = ()

    @property
    def name(self) -> str:
        """The text that tells cases apart."""
        return ", ".join([self.mechanism, *self.terms.values()])


@dataclass(frozen=True)
class AuditResult:
    """The result of an audit."""

    case: AuditCase
    n_draws: int  # of each input
    confidence: float  # in (0, 1)
    false_guesses: tuple[int, int]  # on the first and on the second input
    observed: float  # lower bound of the loss, in the units of the claim
    parts: tuple[PartResult, ...] = ()  # of each draw by itself
    is_constant: bool = (
        False  # whether a mechanism without parts gave the same guess in all draws of an input
    )

    @property
    def is_within_claim(self) -> bool:
        """Whether there is noise and no more loss than is claimed, of the whole and of every part."""
        is_within = self.observed <= self.case.claim.value and not self.is_constant
        return is_within and all(draw.is_within_claim for draw in self.parts)


def audit(
    case: AuditCase,
    # Takes a function of a noise source and the number of a draw, and calls the function with the noise of
    # that draw. Draws from 0 to 2 n_draws - 1 must be independent. It gets the same function for all draws of
    # one input.
    with_noise: Callable[[Callable[[NoiseSource], Any], int], Any],
    *,
    n_draws: int = N_DRAWS,  # > 0, of each input
    confidence: float = CONFIDENCE,  # in (0, 1), at least which the bound is below the true loss
) -> AuditResult:
    """Run a mechanism many times on both inputs and bound its loss from below."""
    runs = [partial(case.run, data) for data in case.pair]
    outputs = [
        [with_noise(run, draw) for draw in draws]
        for run, draws in zip(runs, [range(n_draws), range(n_draws, 2 * n_draws)], strict=True)
    ]
    guesses = [[case.score(output) > 0 for output in side] for side in outputs]
    false_guesses = int(np.sum(guesses[0])), n_draws - int(np.sum(guesses[1]))
    observed = case.claim.observed(*rates_above(np.array(false_guesses), n_draws, confidence))
    results = audit_parts(case.parts, outputs, delta=case.claim.delta, confidence=confidence)
    # A choice without noise is the same for two inputs between which scores are level.
    can_tell = not case.parts and n_draws >= ENOUGH_TO_VARY
    is_constant = can_tell and any(count in (0, n_draws) for count in false_guesses)
    return AuditResult(case, n_draws, confidence, false_guesses, float(observed), results, is_constant)


def alarm_probability(
    claim: Loss,
    error_rates: Sequence[float],  # alpha and beta, each in (0, 1)
    *,
    n_draws: int = N_DRAWS,
    confidence: float = CONFIDENCE,
) -> float:
    """Return the probability that an audit observes more than the claim, given the true rates of error.

    Of an honest mechanism this is a false alarm, of a broken one the power of the audit. It is exact but for
    counts of errors that together are less likely than 4 `NEGLIGIBLE`.

    Examples
    --------
    >>> claim = GaussianLoss(2.0, delta=1e-3)
    >>> alarm_probability(claim, claim.error_rates()) < 1e-11
    True
    >>> alarm_probability(claim, claim.error_rates(factor=2**0.5)) > 1 - 1e-6
    True
    """
    counts = [_likely_counts(n_draws, rate) for rate in error_rates]
    chances = [stats.binom.pmf(count, n_draws, rate) for count, rate in zip(counts, error_rates, strict=True)]
    alpha, beta = (rates_above(count, n_draws, confidence) for count in counts)
    is_alarm = claim.observed(alpha[:, np.newaxis], beta) > claim.value
    return min(float(chances[0] @ is_alarm @ chances[1]), 1.0)


def _likely_counts(n_draws: int, rate: float) -> np.ndarray:
    # `isf` takes 1 - q, which is 1, and would give all draws.
    most = n_draws - stats.binom.ppf(NEGLIGIBLE, n_draws, 1 - rate)
    return np.arange(stats.binom.ppf(NEGLIGIBLE, n_draws, rate), most + 1)
