"""The one door: all private quantities leave through here, and only here is noise drawn.

A noise source takes an exact integer statistic, the claim about its sensitivity and a share of the budget. It
returns integers on the same grid, or a choice among the entries, and the event that the accountant charges.
`BenchmarkNoise` is seeded and protects nobody; `ReleaseNoise` is exact, secret and charged to a ledger before
it is drawn (`dpgrs.privacy.ledger.charging`).
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.accounting.events import GumbelEvent, LaplaceEvent
from dpgrs.privacy.ledger.hash_chain import canonical
from dpgrs.privacy.noise.base import NoiseSource, data_digest, json_digest, statistic_digest
from dpgrs.privacy.noise.canonical_lipschitz import certified_set, seeded_set
from dpgrs.privacy.noise.depth_sampler import certified_deep_point
from dpgrs.privacy.noise.rounds import in_rounds
from dpgrs.privacy.noise.stream import KeyStream

# Entries whose seeded noise is in memory at a time.
SEEDED_BLOCK = 2**16


class BenchmarkNoise(NoiseSource):
    """Seeded noise for benchmarks: anyone with the seed can take it off again.

    Parameters
    ----------
    seed : int, public.
    *key : str or int, tells replicates and requests apart. The parameters of a mechanism are part of its key,
        so two mechanisms never share noise.
    """

    source = "benchmark"

    def __init__(self, seed, *key):
        self._key = (int(seed), *key)

    def poisson_sample(self, n_units, *, name, probability):
        """Choose units at random; parameters as in `NoiseSource.poisson_sample`."""
        return self._generator(["sample", name, probability]).random(n_units) < probability

    def sample_without_replacement(self, n_units, *, name, n_chosen):
        """Choose units at random; parameters as in `NoiseSource.sample_without_replacement`."""
        generator = self._generator(["sample without replacement", name, n_units, n_chosen])
        return generator.permutation(n_units) < n_chosen

    def generator(self, name, *terms):
        """Return a source of random floats; parameters as in `NoiseSource.generator`."""
        return self._generator(["generator", name, *terms])

    def _draw(self, statistic, event):
        return _seeded(event, statistic, self._generator(event.identity_terms)), event

    def _choose(self, event, digest):
        generator = self._generator(event.identity_terms)
        chosen = yield from in_rounds(event, lambda _, *scored: _seeded_choice(event, *scored, generator))
        return chosen, event

    def _choose_set(self, scores, event):
        return seeded_set(self._generator(event.identity_terms), scores, **_set_terms(event)), event

    def _assign(self, n_units, name, n_groups):
        return _samplers().indices_below(self._stream(["groups", name, n_units, n_groups]), n_units, n_groups)

    def _deep_point(self, models, event, is_safe):
        # The code of a release, fast enough: there is no twin in floats.
        stream = self._stream(event.identity_terms)
        return certified_deep_point(stream, models, rate=event.rate) if is_safe else None, event

    def _generator(self, identity):
        return np.random.Generator(np.random.PCG64(int.from_bytes(self._digest(identity), "little")))

    def _stream(self, identity):
        return KeyStream(self._digest(identity), b"benchmark")

    def _digest(self, identity):
        return json_digest([self._key, self._part, identity])


class Rehearsal(NoiseSource):
    """Learns what a mechanism will draw, without drawing: its answers are zeros, or the first entries.

    Attributes
    ----------
    draws : dict of part to a list of (event, digest of the exact statistic), in order.
    """

    source = "release"

    def __init__(self):
        self.draws = {}

    def _draw(self, statistic, event):
        self._note(event, self._data or statistic_digest(statistic))
        return np.zeros_like(statistic), event

    def _choose(self, event, digest):
        yield from ()  # it asks for no scores
        self._note(event, digest)
        return np.arange(event.n_choices), event

    def _choose_set(self, scores, event):
        self._note(event, self._data or statistic_digest(scores))
        return np.arange(event.n_choices), event

    def _assign(self, n_units, name, n_groups):
        return np.zeros(n_units, dtype=np.int64)

    def _deep_point(self, models, event, is_safe):
        self._note(event, self._data or data_digest(models))
        return None, event

    def _note(self, event, digest):
        if event.exactness is None:
            raise UsageError(
                f"The noise of the {event.statistic} is not drawn exactly, so it is for benchmarks alone. "
                "Use `mode: benchmark`."
            )
        self.draws.setdefault(self._part, []).append((event, digest))


class ReleaseNoise(NoiseSource):
    """Secret noise of exactly the laws that are claimed: reserved draws alone, each in its turn.

    Parameters
    ----------
    study_key : StudyKey
    draws : dict of part to its draws, see `Rehearsal`.
    requests : dict of part to its request: the id in the ledger, which events state, and the digest of the
        public identity, which keys the noise in every copy of the ledger.

    Attributes
    ----------
    outputs : dict of part to a list of the digests of its noisy statistics and choices, in order.
    """

    source = "release"

    def __init__(self, study_key, *, draws, requests):
        self._study_key, self._requests = study_key, requests
        self._waiting = {part: list(enumerate(listed)) for part, listed in draws.items()}
        self._n_draws = {part: len(listed) for part, listed in draws.items()}
        self.outputs = {part: [] for part in draws}

    def require_exhausted(self):
        """Raise DpgrsError if something that was reserved has not been drawn, to its last round."""
        if {part: len(listed) for part, listed in self.outputs.items()} != self._n_draws:
            raise DpgrsError("Not all reserved noise was drawn, so the release is not whole. Start it again.")

    def _draw(self, statistic, event):
        exact = statistic_digest(statistic)
        event, stream = self._reserved(event, self._data or exact)
        noisy = _exact(event, statistic, stream() if self._data is None else stream(exact))
        self.outputs[self._part].append(statistic_digest(noisy))
        return noisy, event

    def _choose(self, event, digest):
        event, stream = self._reserved(event, digest)

        def choose_one(chosen, scores, unit):
            # Equal scores after other choices are another round, whose noise is its own.
            round_stream = stream(chosen.tolist(), statistic_digest(scores), str(unit))
            return _exact_choice(event, scores, unit, round_stream)

        chosen = yield from in_rounds(event, choose_one)
        self.outputs[self._part].append(statistic_digest(chosen))
        return chosen, event

    def _choose_set(self, scores, event):
        exact = statistic_digest(scores)
        event, stream = self._reserved(event, self._data or exact)
        chosen = certified_set(stream(exact), scores, **_set_terms(event))
        self.outputs[self._part].append(statistic_digest(chosen))
        return chosen, event

    def _assign(self, n_units, name, n_groups):
        if self._part not in self._requests:
            raise _not_reserved(name)
        _, identity = self._requests[self._part]
        key = ["groups", identity, self._part, name, n_units, n_groups, self._data]
        return _samplers().indices_below(self._stream(key), n_units, n_groups)

    def _deep_point(self, models, event, is_safe):
        exact = data_digest(models)
        event, stream = self._reserved(event, self._data or exact)
        point = certified_deep_point(stream(exact), models, rate=event.rate) if is_safe else None
        self.outputs[self._part].append(json_digest(point).hex())
        return point, event

    def _reserved(self, event, digest):
        """Take the next reserved draw; return its event and what makes the streams of its parts."""
        reserved = self._waiting.get(self._part)
        if not reserved or reserved[0][1] != (event, digest):
            raise _not_reserved(event.statistic)
        number, _ = reserved.pop(0)
        request, identity = self._requests[self._part]
        # Frozen (docs/development.md). The identity has part, number and terms, too: no two draws share
        # noise, even if a caller gave both one identity.
        key = ["noise", identity, self._part, number, event.identity_terms, digest]
        return replace(event, request=request), lambda *more: self._stream([*key, *more])

    def _stream(self, key):
        return KeyStream(self._study_key.secret, canonical(key))


def _not_reserved(name):
    return DpgrsError(
        f"The noise of the {name} was not reserved in the ledger as it is asked for now. "
        "Nothing was released. Start the release again."
    )


def _set_terms(event):
    """Return what the mechanism takes, as exact numbers, the sensitivity in grid steps."""
    return {
        "epsilon": Fraction(event.epsilon),
        "sensitivity": Fraction(event.sensitivity.value) / Fraction(event.step),
        "n_choices": event.n_choices,
        "gamma": Fraction(event.gamma),
    }


def _exact(event, statistic, stream):
    """Draw by the exact law: integers alone decide."""
    if isinstance(event, LaplaceEvent):
        noise = _samplers().discrete_laplace(stream, statistic.size, _in_steps(event.scale, event.step))
    else:
        noise = _samplers().rounded_normal(stream, statistic.size, _in_steps(event.sigma, event.step))
    return statistic + noise.reshape(statistic.shape)


def _samplers():
    from dpgrs.privacy.noise import samplers  # brings numba, which takes 0.3 s

    return samplers


@lru_cache(typed=True)  # an audit draws by the same few thousands of times
def _in_steps(scale, step):
    return Fraction(scale) / Fraction(step)


def _seeded(event, statistic, generator):
    """Draw by numpy's laws: the same but for float64."""
    noisy = np.array(statistic, dtype=np.int64, order="C")
    blocks = np.split(noisy.reshape(-1), range(SEEDED_BLOCK, noisy.size, SEEDED_BLOCK))
    if isinstance(event, LaplaceEvent):
        # The difference of two geometric numbers is discrete Laplace.
        tails = -math.expm1(-event.step / event.scale)
        for block in blocks:
            block += generator.geometric(tails, size=block.shape)
        for block in blocks:
            block -= generator.geometric(tails, size=block.shape)
        return noisy
    for block in blocks:
        block += np.rint(generator.standard_normal(block.shape) * (event.sigma / event.step)).astype(np.int64)
    return noisy


def _exact_choice(event, scores, unit, stream):
    """Choose one entry by the exact law."""
    moved = Fraction(event.sensitivity.value) / unit
    return _samplers().permute_and_flip(stream, scores, epsilon=event.epsilon_each, sensitivity=moved)


def _seeded_choice(event, scores, unit, generator):
    """Choose one entry: the highest of scores with exponential noise is permute-and-flip's law."""
    scale = 2 * event.sensitivity.value / float(unit * event.epsilon_each)
    draw = generator.gumbel if isinstance(event, GumbelEvent) else generator.exponential
    return np.argmax(scores - scores.max() + draw(scale=scale, size=len(scores)))
