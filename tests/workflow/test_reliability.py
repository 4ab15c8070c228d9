"""What `make reliability` does to a small release in shards, at some of its points."""

import pytest

from release_studies import shared_site
from reliability import faults
from reliability.broken_runs import PEOPLE, STUDY, VARIABLES, Whole, keep_ledger

pytestmark = pytest.mark.faults
SEED = 1


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in VARIABLES.items():
            patch.setenv(name, value)
        with shared_site(
            tmp_path_factory, STUDY, people=PEOPLE, prepare=keep_ledger, is_measured=True
        ) as site:
            yield Whole(site)


def require_as_whole(seen, n_points):
    seen = list(seen)
    assert [one for one in seen if one.errors] == []
    assert len(seen) == n_points + 1


def test_kill__seeded_points(whole, tmp_path):
    points = faults.kill_points(whole, SEED)[::7]
    assert {kind for kind, *_ in points} == {"all", "job"}
    require_as_whole(faults.kill(whole, tmp_path / "study", points), n_points=3)


@pytest.mark.nightly
def test_limit_files__names_what_the_system_says(whole, tmp_path):
    require_as_whole(faults.limit_files(whole, tmp_path / "study", [0.9]), n_points=1)


def test_damage_shard__is_named_and_made_again(whole, tmp_path):
    points = faults.shard_points(whole, SEED)[:1]
    require_as_whole(faults.damage_shard(whole, tmp_path / "study", points), n_points=1)


@pytest.mark.nightly
def test_run_twice__the_second_is_refused(whole, tmp_path):
    points = faults.pair_points(whole, SEED)[:1]
    require_as_whole(faults.run_twice(whole, tmp_path / "study", points), n_points=1)
