"""Exact samplers for release noise, driven by a key stream. No floating-point operation decides a draw.

Values depend only on the key stream's position and the arguments, not on how many words are read at a time.
Compiled kernels draw nearly everything; the few draws that need more digits go to their plain-Python twins.
docs/proofs/exact_noise.md proves the laws exact and says which accounting fits which.
"""

from collections.abc import Callable
from fractions import Fraction
from numbers import Integral, Rational

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.privacy.noise import _sampler_kernels as kernels
from dpgrs.privacy.noise import _sampler_twins as twins
from dpgrs.privacy.noise._sampler_twins import WordStream
from dpgrs.privacy.noise.claims import LARGEST_SCALE

LARGEST_CHOICE = 2**31
Exact = int | Fraction

# Words read at a time: a speed, never a result.
BLOCK_WORDS = 2**16
WORDS_PER_DRAW, SPARE_WORDS = 32, 96


def rounded_normal(stream: WordStream, size: int, sigma: Exact) -> np.ndarray:
    """Draw round(sigma z) for standard normal z, by Karney's algorithm N [1]_.

    Parameters
    ----------
    size : >= 0
    sigma : in (0, 2^48], standard deviation in grid steps.

    Returns
    -------
    (size,) int64, independent, distributed exactly as the rounded real-valued normal.

    Raises
    ------
    UsageError
        If an argument is not exact or out of its domain, here and in all functions below.
    OverflowError
        If a draw leaves int64, here and in all functions below; nothing is ever truncated. A draw of
        2^15 scales is less likely than exp(-2^14) by any of these laws.

    References
    ----------
    .. [1] Karney, C. F. F. (2016). Sampling exactly from the normal distribution. ACM TOMS 42(1).

    Examples
    --------
    >>> from dpgrs.privacy.noise.stream import KeyStream
    >>> rounded_normal(KeyStream(bytes(32), b"example"), 5, Fraction(7, 2)).tolist()
    [5, -5, -1, 6, 0]
    """
    exact = _scale("sigma", sigma)
    parameters = kernels.scale_parameters(exact)
    return _draw(stream, size, kernels.ROUNDED_NORMAL, parameters, twins.rounded_normal, exact)


def discrete_laplace(stream: WordStream, size: int, scale: Exact) -> np.ndarray:
    """Draw integers y with probability proportional to exp(-|y|/scale).

    Parameters
    ----------
    size : >= 0
    scale : in (0, 2^48], in grid steps.

    Returns
    -------
    (size,) int64, independent.
    """
    exact = _scale("scale", scale)
    parameters = kernels.scale_parameters(exact)
    return _draw(stream, size, kernels.DISCRETE_LAPLACE, parameters, twins.discrete_laplace, exact)


def indices_below(stream: WordStream, size: int, bound: int) -> np.ndarray:
    """Draw integers of 0, ..., bound - 1, all equally likely.

    A word of the stream modulo the bound is the next value; the last few of the 2^32 words, which do not
    divide evenly, are left out.

    Parameters
    ----------
    size : >= 0
    bound : in [1, 2^32]

    Returns
    -------
    (size,) int64, independent.
    """
    size = _integer("size", size, "an int >= 0", lambda size: size >= 0)
    bound = _integer("bound", bound, "an int from 1 to 2^32", lambda bound: 1 <= bound <= 2**32)
    values, n_even = np.empty(size, dtype=np.int64), 2**32 // bound * bound
    done = 0
    while done < size:
        words = stream.take(size - done).astype(np.int64)
        indices = words[words < n_even] % bound
        values[done : done + len(indices)] = indices
        done += len(indices)
    return values


def permute_and_flip(stream: WordStream, scores: np.ndarray, *, epsilon: Exact, sensitivity: Exact) -> int:
    """Choose a candidate of high score by permute-and-flip [1]_; return its index.

    Candidates come in random order, each with a coin of probability exp(-epsilon gap/(2 sensitivity)), where
    gap is the distance to the highest score; the first to show heads is chosen.

    Parameters
    ----------
    scores : (n,) integers on their grid, 1 <= n <= 2^31.
    epsilon : > 0
    sensitivity : > 0, largest change of a score between neighbours, in grid steps.

    References
    ----------
    .. [1] McKenna, R. & Sheldon, D. (2020). Permute-and-flip: a new mechanism for differentially private
       selection. NeurIPS.
    """
    scores = _grid_scores(scores)
    epsilon = _fraction("epsilon", epsilon, "an int or Fraction > 0", lambda epsilon: epsilon > 0)
    sensitivity = _fraction("sensitivity", sensitivity, "an int or Fraction > 0", lambda bound: bound > 0)
    rate = epsilon / (2 * sensitivity)  # coin exponent per step below the highest score
    best = int(scores.max())
    parameters = kernels.gap_parameters(scores, rate)
    order = np.arange(len(scores))
    done, chosen = 0, -1
    # A candidate of the highest score has exponent 0 and always shows heads.
    while chosen < 0:
        words = stream.peek(min(BLOCK_WORDS, WORDS_PER_DRAW * (len(order) - done) + SPARE_WORDS))
        done, used, chosen = kernels.permute_and_flip(words, order, done, *parameters)
        stream.skip(used)
        if chosen < 0:
            digits = twins.Digits(stream)
            chosen = twins.flip_next(
                digits, order, done, lambda candidate: rate * (best - int(scores[candidate]))
            )
            done += 1
    return int(chosen)


def _draw(
    stream: WordStream,
    size: int,
    law: int,
    parameters: tuple[int, int, int, int, int],
    twin: Callable[[twins.Digits, Fraction], int],
    exact_parameter: Fraction,
) -> np.ndarray:
    """Let the kernel draw; where it stops, let the twin draw one value."""
    size = _integer("size", size, "an int >= 0", lambda size: size >= 0)
    values = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        words = stream.peek(min(BLOCK_WORDS, WORDS_PER_DRAW * (size - done) + SPARE_WORDS))
        done, used = kernels.fill(words, values, done, law, parameters)
        stream.skip(used)
        if done < size:
            values[done] = twin(twins.Digits(stream), exact_parameter)
            done += 1
    return values


def _scale(name: str, value: Exact) -> Fraction:
    return _fraction(name, value, "an int or Fraction in (0, 2^48]", lambda value: 0 < value <= LARGEST_SCALE)


def _fraction(name: str, value: Exact, domain: str, is_met: Callable[[Exact], bool]) -> Fraction:
    """Return an exact number in Python's own integers, which never overflow."""
    if not isinstance(value, Rational) or not is_met(value):
        raise UsageError(
            "sampler-fraction", f"`{name}` must be {domain}, got {value!r}. Give the sampler an exact number."
        )
    return Fraction(int(value.numerator), int(value.denominator))


def _integer(name: str, value: int, domain: str, is_met: Callable[[Exact], bool]) -> int:
    if not isinstance(value, Integral):
        raise UsageError(
            "sampler-integer", f"`{name}` must be {domain}, got {value!r}. Give the sampler an exact number."
        )
    return int(_fraction(name, value, domain, is_met))


def _grid_scores(scores: np.ndarray) -> np.ndarray:
    # Scores are private: neither they nor how many there are is quoted.
    scores = np.asarray(scores)
    is_grid = np.issubdtype(scores.dtype, np.integer) and np.can_cast(scores.dtype, np.int64)
    if not is_grid or scores.ndim != 1 or not 1 <= scores.size <= LARGEST_CHOICE:
        raise UsageError(
            "sampler-scores",
            "`scores` must be one row of 1 to 2^31 int64. Round them to a public grid first.",
        )
    return scores.astype(np.int64)
