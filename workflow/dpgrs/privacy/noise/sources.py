"""The one door: all private quantities leave through here, and noise is drawn only here.

A noise source takes an exact integer statistic, the claim about its sensitivity and a share of the budget. It
returns integers on the same grid, or a choice among the entries, and the event that the accountant charges.
`BenchmarkNoise` is seeded and protects nobody; `ReleaseNoise` is exact, secret and charged to a ledger before
it is drawn (`dpgrs.privacy.ledger.charging`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.accounting.events import (
    ChoiceEvent,
    DepthEvent,
    Event,
    GaussianEvent,
    GumbelEvent,
    LaplaceEvent,
    SubsetEvent,
)
from dpgrs.privacy.digests import canonical, data_digest, json_digest, statistic_digest
from dpgrs.privacy.noise.base import Additive, Choice, NoiseSource
from dpgrs.privacy.noise.canonical_lipschitz import certified_set, seeded_set
from dpgrs.privacy.noise.depth_sampler import certified_deep_point
from dpgrs.privacy.noise.rounds import Rounds, in_rounds
from dpgrs.privacy.noise.stream import KeyStream
from dpgrs.privacy.noise.study_key import StudyKey

# Entries whose seeded noise is in memory at a time.
SEEDED_BLOCK = 2**16
# A draw that the ledger reserves: its event, and the digest of the exact statistic or of its data.
Draw = tuple[Event, str]
RequestPart = tuple[str, ...]
AnyEvent = TypeVar("AnyEvent", bound=Event)


class BenchmarkNoise(NoiseSource):
    """Seeded noise for benchmarks: anyone with the seed can take it off again.

    The parameters of a mechanism are part of its key, so two mechanisms never share noise.
    """

    source = "benchmark"

    def __init__(
        self,
        seed: int,  # public
        *key: str | int,  # tells replicates and requests apart
    ) -> None:
        self._key = (int(seed), *key)

    def poisson_sample(self, n_units: int, *, name: str, probability: float) -> np.ndarray:
        """Choose units at random; parameters as in `NoiseSource.poisson_sample`."""
        return self._generator(["sample", name, probability]).random(n_units) < probability

    def sample_without_replacement(self, n_units: int, *, name: str, n_chosen: int) -> np.ndarray:
        """Choose units at random; parameters as in `NoiseSource.sample_without_replacement`."""
        generator = self._generator(["sample without replacement", name, n_units, n_chosen])
        return generator.permutation(n_units) < n_chosen

    def generator(self, name: str, *parameters: str | float) -> np.random.Generator:
        """Return a source of random floats; parameters as in `NoiseSource.generator`."""
        return self._generator(["generator", name, *parameters])

    def _draw(self, statistic: np.ndarray, event: Additive) -> tuple[np.ndarray, Additive]:
        return _seeded(event, statistic, self._generator(event.identity_terms)), event

    def _choose(self, event: ChoiceEvent, digest: str) -> Rounds[Choice]:
        generator = self._generator(event.identity_terms)
        chosen = yield from in_rounds(
            event, lambda _, scores, unit: _seeded_choice(event, scores, unit, generator)
        )
        return chosen, event

    def _choose_set(self, scores: np.ndarray, event: SubsetEvent) -> tuple[np.ndarray, SubsetEvent]:
        return seeded_set(self._generator(event.identity_terms), scores, **_set_terms(event)), event

    def _assign(self, n_units: int, name: str, n_groups: int) -> np.ndarray:
        return _samplers().indices_below(self._stream(["groups", name, n_units, n_groups]), n_units, n_groups)

    def _deep_point(
        self, models: np.ndarray, event: DepthEvent, is_safe: bool
    ) -> tuple[list[int] | None, DepthEvent]:
        # The code of a release, fast enough: there is no twin in floats.
        stream = self._stream(event.identity_terms)
        return certified_deep_point(stream, models, rate=event.rate) if is_safe else None, event

    def _generator(self, identity: Any) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(int.from_bytes(self._digest(identity), "little")))

    def _stream(self, identity: Any) -> KeyStream:
        return KeyStream(self._digest(identity), b"benchmark")

    def _digest(self, identity: Any) -> bytes:
        return json_digest([self._key, self._request_part, identity])


class Rehearsal(NoiseSource):
    """Learns what a mechanism will draw, without drawing: its answers are zeros, or the first entries."""

    source = "release"

    def __init__(self) -> None:
        self.draws: dict[RequestPart, list[Draw]] = {}  # of each part, in order

    def _draw(self, statistic: np.ndarray, event: Additive) -> tuple[np.ndarray, Additive]:
        self._note(event, self._data or statistic_digest(statistic))
        return np.zeros_like(statistic), event

    def _choose(self, event: ChoiceEvent, digest: str) -> Rounds[Choice]:
        yield from ()  # it asks for no scores
        self._note(event, digest)
        return np.arange(event.n_choices), event

    def _choose_set(self, scores: np.ndarray, event: SubsetEvent) -> tuple[np.ndarray, SubsetEvent]:
        self._note(event, self._data or statistic_digest(scores))
        return np.arange(event.n_choices), event

    def _assign(self, n_units: int, name: str, n_groups: int) -> np.ndarray:
        return np.zeros(n_units, dtype=np.int64)

    def _deep_point(
        self, models: np.ndarray, event: DepthEvent, is_safe: bool
    ) -> tuple[list[int] | None, DepthEvent]:
        self._note(event, self._data or data_digest(models))
        return None, event

    def _note(self, event: Event, digest: str) -> None:
        if event.exactness is None:
            raise UsageError(
                "noise-not-exact",
                f"The noise of the {event.statistic} is not drawn exactly, so it is only for benchmarks. "
                "Use `mode: benchmark`.",
            )
        self.draws.setdefault(self._request_part, []).append((event, digest))


class ReleaseNoise(NoiseSource):
    """Secret noise of exactly the claimed laws: only reserved draws, each in its turn."""

    source = "release"

    def __init__(
        self,
        study_key: StudyKey,
        *,
        draws: Mapping[RequestPart, Sequence[Draw]],  # see `Rehearsal`
        # The request of each part: the id in the ledger, which events state, and the digest of the public
        # identity, which keys the noise in every copy of the ledger.
        requests: Mapping[RequestPart, tuple[str, str]],
    ) -> None:
        self._study_key, self._requests = study_key, requests
        self._waiting = {request_part: list(enumerate(listed)) for request_part, listed in draws.items()}
        self._n_draws = {request_part: len(listed) for request_part, listed in draws.items()}
        # Digests of noisy statistics and choices, in order, by part.
        self.outputs: dict[RequestPart, list[str]] = {request_part: [] for request_part in draws}

    def require_exhausted(self) -> None:
        """Raise DpgrsError if something that was reserved has not been drawn, to its last round."""
        if {request_part: len(listed) for request_part, listed in self.outputs.items()} != self._n_draws:
            raise DpgrsError(
                "noise-left-undrawn",
                "Not all reserved noise was drawn, so the release is not whole. Start it again.",
            )

    def _draw(self, statistic: np.ndarray, event: Additive) -> tuple[np.ndarray, Additive]:
        exact = statistic_digest(statistic)
        event, stream = self._reserved(event, self._data or exact)
        noisy = _exact(event, statistic, stream() if self._data is None else stream(exact))
        self.outputs[self._request_part].append(statistic_digest(noisy))
        return noisy, event

    def _choose(self, event: ChoiceEvent, digest: str) -> Rounds[Choice]:
        event, stream = self._reserved(event, digest)

        def choose_one(chosen: np.ndarray, scores: np.ndarray, unit: Fraction) -> int:
            # Equal scores after other choices are another round, whose noise is its own.
            round_stream = stream(chosen.tolist(), statistic_digest(scores), str(unit))
            return _exact_choice(event, scores, unit, round_stream)

        chosen = yield from in_rounds(event, choose_one)
        self.outputs[self._request_part].append(statistic_digest(chosen))
        return chosen, event

    def _choose_set(self, scores: np.ndarray, event: SubsetEvent) -> tuple[np.ndarray, SubsetEvent]:
        exact = statistic_digest(scores)
        event, stream = self._reserved(event, self._data or exact)
        chosen = certified_set(stream(exact), scores, **_set_terms(event))
        self.outputs[self._request_part].append(statistic_digest(chosen))
        return chosen, event

    def _assign(self, n_units: int, name: str, n_groups: int) -> np.ndarray:
        if self._request_part not in self._requests:
            raise _not_reserved(name)
        _, identity = self._requests[self._request_part]
        key = ["groups", identity, self._request_part, name, n_units, n_groups, self._data]
        return _samplers().indices_below(self._stream(key), n_units, n_groups)

    def _deep_point(
        self, models: np.ndarray, event: DepthEvent, is_safe: bool
    ) -> tuple[list[int] | None, DepthEvent]:
        exact = data_digest(models)
        event, stream = self._reserved(event, self._data or exact)
        point = certified_deep_point(stream(exact), models, rate=event.rate) if is_safe else None
        self.outputs[self._request_part].append(json_digest(point).hex())
        return point, event

    def _reserved(self, event: AnyEvent, digest: str) -> tuple[AnyEvent, Callable[..., KeyStream]]:
        """Take the next reserved draw; return its event and the function that makes streams for it."""
        reserved = self._waiting.get(self._request_part)
        if not reserved or reserved[0][1] != (event, digest):
            raise _not_reserved(event.statistic)
        number, _ = reserved.pop(0)
        request, identity = self._requests[self._request_part]
        # Frozen (docs/development.md). The identity has part, number and terms, too: no two draws share
        # noise, even if a caller gave both one identity.
        key = ["noise", identity, self._request_part, number, event.identity_terms, digest]
        return replace(event, request=request), lambda *more: self._stream([*key, *more])

    def _stream(self, key: list[Any]) -> KeyStream:
        return KeyStream(self._study_key.secret, canonical(key))


class ReplayNoise(Rehearsal):
    """The noise of requests that a ledger has, drawn again; the answers of a rehearsal for all others."""

    def __init__(
        self,
        study_key: StudyKey,
        *,
        draws: Mapping[RequestPart, Sequence[Draw]],  # of all requests; as the next in `ReleaseNoise`
        requests: Mapping[RequestPart, tuple[str, str]],  # that the ledger has
    ) -> None:
        super().__init__()
        replayed_draws = {request_part: draws[request_part] for request_part in requests}
        self._replayed = ReleaseNoise(study_key, draws=replayed_draws, requests=requests)
        self._requests = requests

    def of(self, *request_part: str) -> Any:
        """Return the source of one part, as `NoiseSource.of` does."""
        if request_part not in self._requests:
            return super().of(*request_part)
        scoped = self._replayed.of(*request_part)
        scoped._data = self._data
        return scoped

    def _choose(self, event: ChoiceEvent, digest: str) -> Rounds[Choice]:
        # It has the rounds of the choices that are drawn beside it.
        chosen = yield from in_rounds(event, lambda *_: 0)
        return chosen, event


def _not_reserved(name: str) -> DpgrsError:
    return DpgrsError(
        "noise-not-reserved",
        f"The noise of the {name} was not reserved in the ledger as it is asked for now. "
        "Nothing was released. Start the release again.",
    )


def _set_terms(event: SubsetEvent) -> dict[str, Any]:
    """Return the arguments of the mechanism as exact numbers, the sensitivity in grid steps."""
    return {
        "epsilon": Fraction(event.epsilon),
        "sensitivity": Fraction(event.sensitivity.value) / Fraction(event.step),
        "n_choices": event.n_choices,
        "gamma": Fraction(event.gamma),
    }


def _exact(event: GaussianEvent | LaplaceEvent, statistic: np.ndarray, stream: KeyStream) -> np.ndarray:
    """Draw by the exact law: only integers decide."""
    if isinstance(event, LaplaceEvent):
        noise = _samplers().discrete_laplace(stream, statistic.size, _in_steps(event.scale, event.step))
    else:
        noise = _samplers().rounded_normal(stream, statistic.size, _in_steps(event.sigma, event.step))
    return statistic + noise.reshape(statistic.shape)


def _samplers() -> ModuleType:
    from dpgrs.privacy.noise import samplers  # brings numba, which takes 0.3 s

    return samplers


@lru_cache(typed=True)  # an audit draws by the same few thousands of times
def _in_steps(scale: float, step: float) -> Fraction:
    return Fraction(scale) / Fraction(step)


def _seeded(
    event: GaussianEvent | LaplaceEvent, statistic: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
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


def _exact_choice(event: ChoiceEvent, scores: np.ndarray, unit: Fraction, stream: KeyStream) -> int:
    """Choose one entry by the exact law."""
    moved = Fraction(event.sensitivity.value) / unit
    return _samplers().permute_and_flip(stream, scores, epsilon=event.epsilon_each, sensitivity=moved)


def _seeded_choice(
    event: ChoiceEvent, scores: np.ndarray, unit: Fraction, generator: np.random.Generator
) -> np.intp:
    """Choose one entry: the highest of scores with exponential noise is permute-and-flip's law."""
    scale = 2 * event.sensitivity.value / float(unit * event.epsilon_each)
    draw = generator.gumbel if isinstance(event, GumbelEvent) else generator.exponential
    return np.argmax(scores - scores.max() + draw(scale=scale, size=len(scores)))
