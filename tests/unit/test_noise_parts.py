"""The parts of a release that its draws belong to: by these a ledger charges and replays."""

import numpy as np
import pytest

from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import private_statistics
from dpgrs.privacy.noise.sources import Rehearsal
from dpgrs_papers.methods.naive import private_separate_statistics

GRAM, CROSS = np.zeros((4, 4), dtype=np.int64), np.zeros((2, 4), dtype=np.int64)
OF_OUTCOMES = ["outcome counts", "cross product"]


def all_separate_statistics(*sums, **options):
    return list(private_separate_statistics(*sums, **options))


def parts(draw, *, n_shared, names):
    """Return the names of the draws of each part."""
    rehearsal, known = Rehearsal(), np.array([5, 5])
    request = PrivacyRequest("people", 3, n_shared, 3.0, 1.0, 1e-6, counts_outcomes=True)
    draw(GRAM, CROSS, 10, request=request, noise=rehearsal, outcome_names=names, observed=known)
    return {part: [event.statistic for event, _ in draws] for part, draws in rehearsal.draws.items()}


@pytest.mark.parametrize("names", [None, ["a", "b"]])
def test_private_statistics__parts_are_the_genotypes_and_each_budget(names):
    first, second = names or ["0", "1"]
    genotypes = {("genotypes",): ["count", "gram"]}
    assert parts(private_statistics, n_shared=2, names=names) == genotypes | {
        ("outcomes", first, second): OF_OUTCOMES
    }
    assert parts(private_statistics, n_shared=1, names=names) == genotypes | {
        ("outcomes", first): OF_OUTCOMES,
        ("outcomes", second): OF_OUTCOMES,
    }


@pytest.mark.parametrize("n_shared", [1, 2])
@pytest.mark.parametrize("names", [None, ["a", "b"]])
def test_private_separate_statistics__parts_are_the_count_and_each_outcome(names, n_shared):
    first, second = names or ["0", "1"]
    assert parts(all_separate_statistics, n_shared=n_shared, names=names) == {
        ("genotypes",): ["count"],
        ("outcomes", first): ["gram", *OF_OUTCOMES],
        ("outcomes", second): ["gram", *OF_OUTCOMES],
    }
