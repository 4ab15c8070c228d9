"""Neighbouring cohorts with the same draws publish the same bytes, by whole releases of all kinds."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from dpgrs.privacy.ledger.caps import LARGEST_EPSILON
from dpgrs.privacy.noise.study_key import VARIABLE
from every_process.planted_leaks import LEAK, LEAKS
from every_process.replayed_draws import FROM, INTO
from kinds_of_releases import KINDS
from neighbouring_cohorts import GENOTYPES, IDS, VALUES, base_cohort, neighbour, one_of
from nightly import at_night, rest_at_night
from replayed_releases import DRAWS, differences, excess, logs_of, make_base, records, whole_release

pytestmark = pytest.mark.release
N_NEIGHBOURS = 4
FIRST = KINDS["people, tight bounds"]
# By day a .bed and a BGEN show what a .pgen could.
BY_DAY = [name for name, kind in KINDS.items() if kind.form != "pgen"]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(VARIABLE, "set again by make_key")


def compare(base, folder, seed):
    """Release a neighbour; return what differs, None where a condition of the release refused it."""
    other, words = base.neighbour(np.random.default_rng(seed), folder)
    return None if other.refusal else [f"{words}: {one}" for one in unlike(base, other)]


def unlike(base, other):
    found = differences(base.run, other)
    is_apart = excess(base.run, other) > base.kind.most_apart**2
    return [*found, "exact statistics lie further apart than their sensitivity"] if is_apart else found


@pytest.mark.parametrize("name", rest_at_night(KINDS, BY_DAY))
def test_neighbours__publish_the_same_bytes(name, tmp_path):
    base = make_base(tmp_path, KINDS[name], seed=1)
    seeds = [[list(KINDS).index(name), number] for number in range(N_NEIGHBOURS)]
    found = [compare(base, tmp_path / f"neighbour{seed[-1]}", seed) for seed in seeds]
    assert [one for pair in found if pair for one in pair] == []
    assert [] in found


def test_neighbours__publish_the_same_bytes_by_snakemake(tmp_path, monkeypatch):
    cohort, rng = base_cohort(1), np.random.default_rng(5)
    monkeypatch.setenv(INTO, str(tmp_path / "base" / DRAWS))
    base = whole_release(tmp_path / "base", FIRST, cohort)
    monkeypatch.setenv(INTO, str(tmp_path / "neighbour" / DRAWS))
    monkeypatch.setenv(FROM, str(tmp_path / "base" / DRAWS))
    other = whole_release(tmp_path / "neighbour", FIRST, neighbour(cohort, rng, **FIRST.relation)[0])
    assert base.status == 0, base.said
    assert base.draws()
    assert differences(base, other) == []
    ours, theirs = records(base.folder), records(other.folder)
    assert ours.keys() == theirs.keys()
    assert {key: (ours[key], theirs[key]) for key in ours if ours[key] != theirs[key]} == {}


def test_neighbours__have_every_form():
    words = " ".join(
        neighbour(base_cohort(1), np.random.default_rng([kind, number]), **one.relation)[1]
        for kind, one in enumerate(KINDS.values())
        for number in range(N_NEIGHBOURS)
    )
    for form in (*GENOTYPES, *VALUES, *IDS, "without", "at 0", "at 60"):
        assert form in words, form


@pytest.fixture(scope="module")
def base(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "set again by make_key")
        kind = replace(FIRST, epsilon=request.param)
        yield make_base(tmp_path_factory.mktemp("base"), kind, seed=1)


@pytest.mark.parametrize("base", [FIRST.epsilon, at_night(LARGEST_EPSILON)], indirect=True)
@pytest.mark.parametrize("leak", LEAKS)
def test_neighbours__show_a_planted_leak(leak, base, tmp_path, monkeypatch):
    monkeypatch.setenv(LEAK, leak)
    leaky = base.with_leak(tmp_path / "base", without="render-release-report")
    assert leaky.run.status == 0, logs_of(leaky.run.folder)
    pairs = (compare(leaky, tmp_path / str(seed), [1, seed]) for seed in range(40))
    assert any(pairs)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(100))
def test_neighbours__publish_the_same_bytes_at_random(number, tmp_path):
    rng = np.random.default_rng([2, number])
    kind = one_of(rng, tuple(KINDS.values())).changed(rng)
    base = make_base(tmp_path, kind, seed=number)
    found = []
    for seed in range(20):
        found.append(compare(base, tmp_path / "neighbour", [2, number, seed]))
        shutil.rmtree(tmp_path / "neighbour")
    print(f"{kind.methods[0]} at {kind.epsilon}: {found.count(None)} of {len(found)} refused")
    assert [one for pair in found if pair for one in pair] == []
