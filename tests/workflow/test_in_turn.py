"""A release whose genotype files are there in turn: each is removed once its store is made."""

import shutil

import pytest

from release_studies import RELEASE, bundle, copied_site, shared_site
from study_runs import run

SETTINGS = RELEASE | {"study": "in-turn", "cohort": RELEASE["cohort"] | {"in_turn": True}}
PRIVATE = "results/in-turn/private"
STORES = {chromosome: f"{PRIVATE}/store/{chromosome}.zarr" for chromosome in ("21", "22")}
pytestmark = pytest.mark.release


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with shared_site(tmp_path_factory, SETTINGS, people=60) as folder:
        yield folder


def cohort_files(folder, chromosome):
    return sorted(folder.glob(f"cohort/{chromosome}.vcf.gz*"))


@pytest.fixture
def stored(site, tmp_path):
    """Stores of both chromosomes, and no genotype files."""
    copy = copied_site(site, tmp_path / "copy")
    away = tmp_path / "away"
    away.mkdir()
    for chromosome in STORES:
        for path in cohort_files(copy, chromosome):
            shutil.move(path, away)
    for chromosome, store in STORES.items():
        for path in away.glob(f"{chromosome}.*"):
            shutil.move(path, copy / "cohort")
        run(copy, SETTINGS, store)
        for path in cohort_files(copy, chromosome):
            path.unlink()
    return copy


def test_release__is_the_same_as_with_all_files(site, stored):
    before = (site / "ledger.jsonl").read_bytes()
    assert "Replayed: nothing was charged" in run(stored, SETTINGS).stdout
    assert bundle(stored, "in-turn") == bundle(site, "in-turn")
    assert (stored / "ledger.jsonl").read_bytes() == before


def test_release__without_the_setting_asks_for_the_files(stored):
    found = run(stored, RELEASE | {"study": "in-turn"}, check=False)
    assert found.returncode != 0
    assert "cohort/21.vcf.gz" in found.stdout


def test_release__no_store_is_removed_or_charged_for_if_it_was_to_be_made_anew(stored):
    filtered = SETTINGS | {"cohort": SETTINGS["cohort"] | {"field": "DS"}}
    found = run(stored, filtered, check=False)
    assert found.returncode == 1
    assert "must be made by the settings of the release, got others of cohort.field" in found.stdout
    assert "bring genotype files that were removed back first, and remove their stores" in found.stdout
    found = run(stored, SETTINGS, "--forceall", "--until", "make_variants")
    assert "rule ingest_chromosome" not in found.stdout
    assert all((stored / store).is_dir() for store in STORES.values())


def test_release__a_chromosome_that_was_not_stored_needs_its_file(site, tmp_path):
    copy = copied_site(site, tmp_path / "copy")
    cohort_files(copy, "22")[0].unlink()
    found = run(copy, SETTINGS, check=False)
    assert found.returncode == 1
    assert "cohort/22.vcf.gz" in found.stdout
    assert not (copy / PRIVATE / "store").exists()


def test_release__a_file_that_is_back_is_read_where_its_store_is_gone(site, stored):
    for path in cohort_files(site, "21"):
        shutil.copy(path, stored / "cohort")
    shutil.rmtree(stored / STORES["21"])
    found = run(stored, SETTINGS, "--dry-run")
    assert found.stdout.count("rule ingest_chromosome:") == 1


def test_release__a_list_that_changes_needs_the_files_again(site, tmp_path):
    copy = copied_site(site, tmp_path / "copy")
    listed = SETTINGS | {"people": {"remove": "remove.txt"}}
    (copy / "remove.txt").write_text("sim0001\n")
    run(copy, listed, STORES["21"])
    for path in cohort_files(copy, "21"):
        path.unlink()
    (copy / "remove.txt").write_text("sim0001\nsim0002\n")
    for _ in range(2):
        found = run(copy, listed, check=False)
        assert found.returncode == 1
        assert "`remove.txt` must be as it was when the study read it" in found.stdout
        assert "With `cohort.in_turn` genotype files that were removed must be back for that" in found.stdout
    for path in cohort_files(site, "21"):
        shutil.copy(path, copy / "cohort")
    assert run(copy, listed, "--until", "ingest_chromosome").returncode == 0
