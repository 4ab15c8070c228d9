import ast
import itertools
import json
import math
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.privacy.noise import _sampler_kernels as kernels
from dpgrs.privacy.noise import _sampler_twins as twins
from dpgrs.privacy.noise import samplers
from dpgrs.privacy.noise.stream import KeyStream
from refused import refused

KEY = bytes(range(32))
# Sampler, twin, arguments, the twin's argument.
LAWS = [
    *(
        (samplers.rounded_normal, twins.rounded_normal, (sigma,), Fraction(sigma))
        for sigma in (Fraction(1, 2**90), Fraction(3, 10), 1, Fraction(10**13, 7), 2**40, 2**48)
    ),
    *(
        (samplers.discrete_laplace, twins.discrete_laplace, (scale,), Fraction(scale))
        for scale in (Fraction(1, 5), Fraction(7, 3), 2**40)
    ),
]
every_law = pytest.mark.parametrize(("sampler", "twin", "arguments", "exact"), LAWS)


class FixedWords(KeyStream):
    """A key stream that begins with chosen words."""

    def __init__(self, words):
        super().__init__(KEY, b"fixed")
        self._waiting = np.array(words, dtype=np.uint32)
        self._waiting.flags.writeable = False


def run_python(program, *options, **environment):
    """Return what a program prints in an interpreter of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment
    command = [sys.executable, *options, "-c", program]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def by_twin(twin, stream, size, exact):
    return [int(twin(twins.Digits(stream), exact)) for _ in range(size)]


@every_law
def test_samplers__equal_their_twins(sampler, twin, arguments, exact):
    stream, same = KeyStream(KEY, b"identity"), KeyStream(KEY, b"identity")
    drawn = sampler(stream, 200, *arguments)
    assert drawn.tolist() == by_twin(twin, same, 200, exact)
    assert drawn.dtype == np.int64
    assert stream.take(1) == same.take(1)


@every_law
@pytest.mark.parametrize("block_words", [1, 50, 1000])
def test_samplers__blocks_do_not_matter(sampler, twin, arguments, exact, block_words, monkeypatch):
    expected = sampler(KeyStream(KEY, b"identity"), 200, *arguments)
    monkeypatch.setattr(samplers, "BLOCK_WORDS", block_words)
    stream = KeyStream(KEY, b"identity")
    parts = [sampler(stream, size, *arguments) for size in (0, 1, 199)]
    assert np.concatenate(parts).tobytes() == expected.tobytes()


# Words at which one digit decides nothing: equal ones, and the ends of intervals.
EDGES = st.sampled_from([0, 1, 2, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1])


@settings(max_examples=200, deadline=None)
@given(st.lists(EDGES, max_size=40), st.sampled_from(LAWS))
def test_samplers__equal_their_twins_at_ties(words, law):
    sampler, twin, arguments, exact = law
    assert sampler(FixedWords(words), 3, *arguments).tolist() == by_twin(twin, FixedWords(words), 3, exact)


def test_fill__abandons_a_tie_with_its_words_unused():
    # 2^31 holds the digit 2^30, which is not below 1/2: whole = 0. Then x = 1/2, and a trial of x^2/2 that
    # begins with the digit of 1/8.
    words = np.array([2**31, 2**31, 2**29, 7], dtype=np.uint32)
    words.flags.writeable = False
    parameters = kernels.scale_parameters(Fraction(1))
    assert kernels.fill(words, np.zeros(1, dtype=np.int64), 0, kernels.ROUNDED_NORMAL, parameters) == (0, 0)


def test_bernoulli_exp__abandons_large_exponents():
    # u1 > u2 <= u3 is a success of exp(-1). After 64 of them only the twin knows how many are missing.
    words = np.array(70 * [2**31, 0, 5], dtype=np.uint32)
    words.flags.writeable = False
    succeeds, position = kernels._bernoulli_exp(words, 0, *kernels.exponent_parameters(Fraction(65)))
    assert not succeeds
    assert position > len(words)


@settings(max_examples=500, deadline=None)
@given(
    st.sampled_from([Fraction(1, 3), Fraction(200, 3), Fraction(2**48), Fraction(2**48 - 1, 7)])
    | st.fractions(Fraction(1, 2**60), 2**48),
    st.sampled_from([1, 60, 63]) | st.integers(0, 63),
    st.booleans(),
    st.data(),
)
def test_scaled_floor__never_wrong_beside_an_integer(scale, whole, rounds, data):
    offset = Fraction(rounds, 2)
    integer = data.draw(st.integers(int(scale * whole), int(scale * (whole + 1))))
    nearest = int(((integer - offset) / scale - whole) * 2**62)
    x = min(max(nearest + data.draw(st.integers(-3, 3)), 0), 2**62 - 1)
    words = np.array([(x % 2**31) << 1], dtype=np.uint32)
    words.flags.writeable = False
    parameters = kernels.scale_parameters(scale)
    value, position = kernels._scaled_floor(words, 0, whole, x >> 31, parameters, int(rounds))
    if position == 1:
        ends = {math.floor(scale * (whole + Fraction(x + end, 2**62)) + offset) for end in (0, 1)}
        assert ends == {value}


def test_indices_below__words_that_do_not_divide_evenly_are_left_out():
    """2^32 = 7 x 613566756 + 4: each index has as many words."""
    first_uneven = 7 * 613566756
    words = [first_uneven, 8, 2**32 - 1, first_uneven + 1, first_uneven - 1, 0]
    stream = FixedWords(words)
    assert samplers.indices_below(stream, 2, 7).tolist() == [1, 6]
    # What is left belongs to the next draw.
    assert samplers.indices_below(stream, 1, 2**32).tolist() == [0]
    alone = samplers.indices_below(stream, 2, 1)
    assert (alone.tolist(), alone.dtype) == ([0, 0], np.int64)


def test_indices_below__take_no_more_words_than_they_need():
    """Nearly half of all words are left out."""
    bound = 2**31 + 1
    stream, same = KeyStream(KEY, b"uneven"), KeyStream(KEY, b"uneven")
    drawn = samplers.indices_below(stream, 1000, bound).tolist()
    assert drawn == [word for word in same.take(3000).tolist() if word < bound][:1000]
    assert samplers.indices_below(stream, 0, bound).tolist() == []


SCORES = np.array([3, -1, 4, 1, -5, 9, 2, 6])
CHOICE = {"epsilon": Fraction(9, 7), "sensitivity": 3}


def choice_by_twin(digits):
    order, rate = np.arange(len(SCORES)), CHOICE["epsilon"] / (2 * CHOICE["sensitivity"])
    visits = (
        twins.flip_next(digits, order, done, lambda candidate: rate * (9 - int(SCORES[candidate])))
        for done in itertools.count()
    )
    return next(candidate for candidate in visits if candidate >= 0)


@pytest.mark.parametrize("block_words", [1, 100])
def test_permute_and_flip__equals_its_twin(block_words, monkeypatch):
    monkeypatch.setattr(samplers, "BLOCK_WORDS", block_words)
    digits, stream = twins.Digits(KeyStream(KEY, b"choice")), KeyStream(KEY, b"choice")
    for _ in range(50):
        assert samplers.permute_and_flip(stream, SCORES, **CHOICE) == choice_by_twin(digits)


@settings(max_examples=200, deadline=None)
@given(st.lists(EDGES, max_size=40))
def test_permute_and_flip__equals_its_twin_at_ties(words):
    expected = choice_by_twin(twins.Digits(FixedWords(words)))
    assert samplers.permute_and_flip(FixedWords(words), SCORES, **CHOICE) == expected


def test_permute_and_flip__of_as_many_as_the_kernel_can_number(monkeypatch):
    monkeypatch.setattr(samplers, "LARGEST_CHOICE", 3)
    options = {"epsilon": 10**6, "sensitivity": 1}
    assert samplers.permute_and_flip(KeyStream(KEY, b"choice"), [0, 1, 2], **options) == 2
    with refused("sampler-scores", "`scores`", error=UsageError):
        samplers.permute_and_flip(KeyStream(KEY, b"choice"), [0, 1, 2, 3], **options)


def test_permute_and_flip__numbers_of_numpy_are_exact():
    scores = np.arange(20) * 2**58

    def draws(epsilon, sensitivity):
        stream, terms = KeyStream(KEY, b"numpy"), {"epsilon": epsilon, "sensitivity": sensitivity}
        return [samplers.permute_and_flip(stream, scores, **terms) for _ in range(20)]

    expected = draws(3, 2**62)
    for epsilon in (np.int64(3), Fraction(21, 7), Fraction(21, np.int64(7))):
        assert draws(epsilon, np.int64(2**62)) == expected


def test_permute_and_flip__gaps_of_twins_at_the_ends_of_int64(monkeypatch):
    scores, gaps = np.array([-(2**63), 2**63 - 1]), []

    def visit(digits, order, done, exponent_of):
        gaps.extend(exponent_of(candidate) for candidate in order)
        return 1

    monkeypatch.setattr(kernels, "permute_and_flip", lambda words, order, done, *terms: (done, 0, -1))
    monkeypatch.setattr(twins, "flip_next", visit)
    samplers.permute_and_flip(KeyStream(KEY, b"twins"), scores, epsilon=2, sensitivity=1)
    assert gaps == [2**64 - 1, 0]


def test_permute_and_flip__scores_at_the_ends_of_int64():
    scores = np.array([-(2**63), 2**63 - 1, 2**63 - 2])
    options = {"epsilon": 10**6, "sensitivity": 1}
    assert samplers.permute_and_flip(KeyStream(KEY, b"choice"), scores, **options) == 1


def test_discrete_laplace__raises_on_overflow():
    # u1 > u2 <= u3 is a success of exp(-1): 40,000 of them, a failure, x = 1/16, kept.
    words = 40_000 * [2**31, 0, 5] + [0, 2**31, 2**28, 2**31, 0]
    with pytest.raises(OverflowError):
        samplers.discrete_laplace(FixedWords(words), 1, 2**48)


# Numba shows no code that it took from a cache, so a process of its own compiles into an empty one.
SHOW_CODE = """
import json
import numba
from dpgrs.privacy.noise import _sampler_kernels, samplers
from dpgrs.privacy.noise.stream import KeyStream

stream = KeyStream(bytes(32), b"compiled")
samplers.rounded_normal(stream, 1, 1)
samplers.permute_and_flip(stream, [0, 1], epsilon=1, sensitivity=1)
control = numba.njit(lambda a, b: int(a / b))
control(3, 2)
functions = {**vars(_sampler_kernels), "control": control}
compiled = {name: value for name, value in functions.items() if hasattr(value, "inspect_llvm")}
print(json.dumps({name: "".join(value.inspect_llvm().values()) for name, value in compiled.items()}))
"""


def test_kernels__compiled_code_has_no_floats(tmp_path):
    code = json.loads(run_python(SHOW_CODE, NUMBA_CACHE_DIR=str(tmp_path), NUMBA_DISABLE_JIT="0"))
    with_floats = [
        name for name in code if re.search(r"\b(half|bfloat|float|double|fp128|x86_fp80)\b", code[name])
    ]
    assert with_floats == ["control"]
    assert {"fill", "permute_and_flip", "_exp_trial", "_scaled_floor"} < code.keys()
    assert all("define" in text for text in code.values())


@pytest.mark.parametrize("module", [kernels, twins], ids=["kernels", "twins"])
def test_sources__have_no_floats(module):
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        assert not isinstance(node, ast.Div)
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float | complex))
        assert not (isinstance(node, ast.Name) and node.id == "float")


UNJITTED = """
from dpgrs.privacy.noise import samplers
from dpgrs.privacy.noise.stream import KeyStream

def draws():
    stream = KeyStream(bytes(32), b"unjitted")
    parts = [samplers.rounded_normal(stream, 100, 2**48), samplers.discrete_laplace(stream, 100, 2**48)]
    choices = [samplers.permute_and_flip(stream, range(100), epsilon=1, sensitivity=9) for _ in range(20)]
    return [part.tolist() for part in parts] + choices
"""


def test_kernels__unjitted_without_overflow():
    # numpy warns where int64 overflows, and a warning is an error here.
    printed = run_python(f"{UNJITTED}\nprint(draws())", "-W", "error::RuntimeWarning", NUMBA_DISABLE_JIT="1")
    names = {}
    exec(UNJITTED, names)
    assert ast.literal_eval(printed) == names["draws"]()


@pytest.mark.parametrize(
    "scale", [Fraction(1, 3), Fraction(7, 3), Fraction(10**14, 3), Fraction(2**48)], ids=str
)
def test_scale_parameters__bracket_the_scale(scale):
    units, fraction, upper, lower, shift = kernels.scale_parameters(scale)
    fixed = (units << shift) + fraction
    assert fixed == (upper << 31) + lower
    assert max(upper, lower) < 2**31
    assert Fraction(fixed, 2**shift) <= scale < Fraction(fixed + 1, 2**shift)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda s: samplers.rounded_normal(s, 1, 1.5), "sigma"),
        (lambda s: samplers.rounded_normal(s, 1, 0), "sigma"),
        (lambda s: samplers.rounded_normal(s, 1, 2**48 + 1), "sigma"),
        (lambda s: samplers.rounded_normal(s, -1, 1), "size"),
        (lambda s: samplers.discrete_laplace(s, 1, Fraction(-1, 2)), "scale"),
        (lambda s: samplers.indices_below(s, 1, 0), "bound"),
        (lambda s: samplers.indices_below(s, 1, 2**32 + 1), "bound"),
        (lambda s: samplers.indices_below(s, -1, 5), "size"),
        (lambda s: samplers.indices_below(s, 1.0, 5), "size"),
        (lambda s: samplers.permute_and_flip(s, [1.0], epsilon=1, sensitivity=1), "scores"),
        (lambda s: samplers.permute_and_flip(s, [True], epsilon=1, sensitivity=1), "scores"),
        (lambda s: samplers.permute_and_flip(s, np.zeros(0, dtype=int), epsilon=1, sensitivity=1), "scores"),
        (lambda s: samplers.permute_and_flip(s, [], epsilon=1, sensitivity=1), "scores"),
        (lambda s: samplers.permute_and_flip(s, [2**63], epsilon=1, sensitivity=1), "scores"),
        (lambda s: samplers.permute_and_flip(s, [[1, 2]], epsilon=1, sensitivity=1), "scores"),
        (lambda s: samplers.permute_and_flip(s, 1, epsilon=1, sensitivity=1), "scores"),
        (lambda s: samplers.permute_and_flip(s, [1], epsilon=0, sensitivity=1), "epsilon"),
        (lambda s: samplers.permute_and_flip(s, [1], epsilon=-1, sensitivity=1), "epsilon"),
        (lambda s: samplers.permute_and_flip(s, [1], epsilon=0.1, sensitivity=1), "epsilon"),
        (lambda s: samplers.permute_and_flip(s, [1], epsilon=1, sensitivity=0), "sensitivity"),
    ],
)
def test_samplers__raise_on_argument_out_of_domain(call, name):
    with pytest.raises(UsageError, match=f"`{name}` must be"):
        call(KeyStream(KEY, b"identity"))


@given(
    scores=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-50, 50), min_size=1, max_size=6),
    rate=st.fractions(Fraction(1, 2**80), 2**70) | st.fractions(Fraction(1, 1000), 10),
)
@example(scores=[-(2**63), 2**63 - 1, 0], rate=Fraction(1, 2**62))
@example(scores=[0, 2**62 + 1, 1], rate=Fraction(64, 2**62))
def test_gap_parameters__hold_the_exponents(scores, rate):
    wholes, lows, highs = kernels.gap_parameters(np.array(scores), rate)
    for score, whole, low, high in zip(scores, *(x.tolist() for x in (wholes, lows, highs)), strict=True):
        exponent = rate * (max(scores) - score)
        if whole == kernels.LARGEST_WHOLE:
            assert exponent >= whole
        else:
            assert 0 <= low <= high <= kernels.ONE
            assert whole + Fraction(low, kernels.ONE) <= exponent <= whole + Fraction(high, kernels.ONE)
            # Rates of 2^-24 and more leave at most a few digits open.
            assert rate < Fraction(1, 2**24) or high - low <= 2 + 2**7


def test_permute_and_flip__far_scores_need_few_twins(monkeypatch):
    flip_next, calls = twins.flip_next, []
    monkeypatch.setattr(twins, "flip_next", lambda *terms: calls.append(1) or flip_next(*terms))
    scores = np.append(np.arange(20_000) * 10**6, 10**12)
    chosen = samplers.permute_and_flip(KeyStream(KEY, b"far"), scores, epsilon=1, sensitivity=10**6)
    assert chosen == 20_000
    # One where a block of words ends.
    assert len(calls) <= 3
