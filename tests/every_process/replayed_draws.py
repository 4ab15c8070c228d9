"""Numbers that one release drew, returned again in the release of a neighbouring cohort.

Where the variable `INTO` names a folder, each draw of secret noise leaves a record there: its answer and the
exact statistics that it was made of. Where `FROM` names the folder of an earlier release, each draw returns
that release's answer, and a draw without a record there fails: its scale, grid or size depend on the data.
Marks of exact statistics, which are pseudo-random, are then those of one constant in both releases.
"""

import hashlib
import json
import os
import pickle
from collections import Counter
from fractions import Fraction
from pathlib import Path

INTO, FROM = "DPGRS_TEST_DRAWS_INTO", "DPGRS_TEST_DRAWS_FROM"
SAME_FOR_ALL = "0" * 64
N_DRAWN = Counter()  # of each part and event, in this process


class NotRecordedError(AssertionError):
    """The earlier release drew nothing of the kind."""


def when_recorded(replace):
    """Change a function of the release noise only where the draws of this process are recorded."""

    def change(original):
        replaced = replace(original)

        def chosen(*arguments):
            return (replaced if INTO in os.environ else original)(*arguments)

        return chosen

    return change


@when_recorded
def drawn_again(draw):
    """Record `_draw` or `_choose_set`, or return what the earlier release drew."""

    def record(self, statistic, event):
        place = place_of(self, event)
        answer, complete = draw(self, statistic, event)
        if FROM in os.environ:
            answer = earlier(place, event)
            self.outputs[self._request_part][-1] = _digest(answer)
        write(place, event, answer, [(statistic, Fraction(event.step))])
        return answer, complete

    return record


@when_recorded
def chosen_again(choose):
    """Record `_choose`, round by round, or return what the earlier release chose by the scores of today."""

    def record(self, event, digest):
        place, rounds = place_of(self, event), []
        if FROM not in os.environ:
            answer, complete = yield from _noting(choose(self, event, digest), rounds)
        else:
            answer, (complete, _) = earlier(place, event), self._reserved(event, digest)
            for number in range(event.n_choices):
                rounds.append((yield answer[:number]))
            self.outputs[self._request_part].append(_digest(answer))
        left = [_without(scores, answer[:number]) for number, (scores, _) in enumerate(rounds)]
        write(place, event, answer, [(own, unit) for own, (_, unit) in zip(left, rounds, strict=True)])
        return answer, complete

    return record


@when_recorded
def marked_alike(mark):
    """Mark one constant in place of an exact statistic."""
    return lambda self, identity_digest, _: mark(self, identity_digest, SAME_FOR_ALL)


def place_of(noise, event):
    """Return the name of a record: a digest of the part and of the event, and how many were drawn before."""
    key = json.dumps([noise._request_part, event.as_dict() | {"request": ""}], sort_keys=True)
    digest = hashlib.sha256(key.encode()).hexdigest()[:32]
    N_DRAWN[digest] += 1
    return f"{digest}.{N_DRAWN[digest]}"


def earlier(place, event):
    """Return the answer of the earlier release to the same draw."""
    path = Path(os.environ[FROM], place)
    if not path.exists():
        raise NotRecordedError(f"The neighbour's release draws another {event.statistic}.")
    return pickle.loads(path.read_bytes())["answer"]


def write(place, event, answer, exact):
    """Record a draw: what it is, its answer, and each exact statistic with its unit."""
    claim = {"norm": event.sensitivity.norm, "value": event.sensitivity.value}
    record = {"statistic": event.statistic, "answer": answer, "exact": exact} | claim
    with Path(os.environ[INTO], place).open("xb") as file:
        pickle.dump(record, file)


def _noting(choice, rounds):
    """Run a choice and note the scores of each round."""
    try:
        chosen = next(choice)
        while True:
            rounds.append((yield chosen))
            chosen = choice.send(rounds[-1])
    except StopIteration as end:
        return end.value


def _without(scores, chosen):
    import numpy as np

    return np.delete(scores, chosen)


def _digest(answer):
    from dpgrs.privacy.digests import statistic_digest

    return statistic_digest(answer)


PLACES = "dpgrs.privacy.noise.sources.ReleaseNoise."
CHANGES = {
    f"{PLACES}_draw": drawn_again,
    f"{PLACES}_choose": chosen_again,
    f"{PLACES}_choose_set": drawn_again,
    "dpgrs.privacy.noise.study_key.StudyKey.mark": marked_alike,
}
