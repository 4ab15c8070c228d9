import json
from pathlib import Path

import pytest

from dpgrs.io.sites import read_chosen_sites, write_sites
from dpgrs.release.bundle_problems import bundle_problems
from dpgrs.release.bundle_room import is_fitted_by, require_same_release
from dpgrs.study.fit_identity import fit_settings
from dpgrs.study.settings import resolve
from refused import refused
from release_data import FIT
from step_studies import Study

BUNDLE = Path("results/demo/release")


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study in its private folder, which has released once and begun a bundle."""
    (tmp_path / "private").mkdir(mode=0o700)
    study = Study(tmp_path / "private", monkeypatch)
    # Keys and ledgers may not lie below `results`.
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "demo").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    study.config = study.settings("reusecov-gauss")
    study.release(study.config)
    BUNDLE.mkdir()
    write_statement(*study.ledger(study.config).read().requests)
    return study


def write_statement(*requests):
    mechanisms = [{"statistic": "gram", "request": request} for request in requests]
    statement = {"method": "reusecov-gauss", "fit": FIT, "mechanisms": mechanisms}
    (BUNDLE / "privacy_statement.json").write_text(json.dumps(statement))


def changed(config, **sections):
    return resolve(config.changed(**sections).as_dict())


def test_bundle_problems__the_same_requests_are_written_again_and_no_others(study):
    for same in (
        {},
        {"release": {"license": "other"}},
        {"variants": {"maf": 0.2}},
        {"regression": {"heritability": 0.5}},  # of no weight in ridge with a stated lambda
    ):
        assert bundle_problems(changed(study.config, **same)) == []
    for change in (
        {"dataset": {"version": "2"}},
        {"privacy": {"epsilon": [1.0]}},
        {"outcomes": {"count": [2]}},
        {"regression": {"lambda": 0.7}},
        {"regression": {"lambda_from": "evidence"}},
        {"methods": ["blup"]},
    ):
        other = changed(study.config, **change)
        assert bundle_problems(other) == [
            "`study` must be new for another release, got that of `results/demo/release`, which holds a "
            "release on other data or terms, of another ledger, or by another fit. Name another, or move "
            "that folder away."
        ]
        assert bundle_problems(other.changed(study="other")) == []


@pytest.mark.parametrize("name", ["report", "figures"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_bundle_problems__raise_on_a_link_or_a_file_in_place_of_pages(study, name, kind):
    pages = BUNDLE.with_name(name)
    pages.symlink_to(study.root) if kind == "link" else pages.write_text("notes")
    (line,) = bundle_problems(study.config)
    assert line.startswith(f"`study`: `results/demo/{name}` must be a folder of its own, ")
    assert f"got a {kind}. Move the {kind} away" in line


def test_draw__where_the_bundle_is_a_file_is_refused_before_the_charge(study):
    (BUNDLE / "privacy_statement.json").unlink()
    BUNDLE.rmdir()
    BUNDLE.write_text("notes")
    ledger, other = study.ledger(study.config), changed(study.config, dataset={"version": "2"})
    before = ledger.path.read_bytes()
    (line,) = bundle_problems(other)
    assert "got a file. Move the file away" in line
    with refused("bundle-folder-not-its-own"):
        study.release(other)
    assert ledger.path.read_bytes() == before


def test_bundle_problems__raise_on_a_bundle_that_nobody_knows(study):
    write_statement("f" * 64)
    assert "must be new for another release" in bundle_problems(study.config)[0]
    (BUNDLE / "privacy_statement.json").write_text("{}")
    assert "must be new for another release" in bundle_problems(study.config)[0]
    (BUNDLE / "privacy_statement.json").write_text('{"mechanisms": [')
    (line,) = bundle_problems(study.config)
    assert line.startswith("`study`: `results/demo/release/privacy_statement.json` must be JSON")


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_draw__where_the_bundle_is_a_link_is_refused_before_the_charge(study, target):
    (BUNDLE / "privacy_statement.json").rename("statement.json")
    BUNDLE.rename("elsewhere")
    BUNDLE.symlink_to(Path.cwd() / target)
    ledger, other = study.ledger(study.config), changed(study.config, dataset={"version": "2"})
    before = ledger.path.read_bytes()
    assert bundle_problems(other) == [
        "`study`: `results/demo/release` must be a folder of its own, which a run replaces as a whole, got a "
        "link. Move the link away, and copy the folder when it is there."
    ]
    with refused("bundle-folder-not-its-own"):
        study.release(other)
    assert ledger.path.read_bytes() == before
    BUNDLE.unlink()
    study.release(other)
    assert ledger.path.read_bytes() != before


def test_draw__on_other_sites_or_data_beside_a_bundle_is_refused_before_the_charge(study):
    ledger = study.ledger(study.config)
    before = ledger.path.read_bytes()
    study.release(study.config)  # a replay
    for other in ({"dataset": {"version": "2"}}, {"privacy": {"epsilon": [1.0]}}):
        with refused("another-release-in-folder", "`study`"):
            study.release(changed(study.config, **other))
    sites = read_chosen_sites(study.sites)
    write_sites(study.sites, sites.assign(frequency=sites["frequency"] * 0.9))
    with refused("another-release-in-folder", "`study`"):
        study.release(study.config)
    assert ledger.path.read_bytes() == before


def test_draw__within_another_clip_beside_a_bundle_is_refused_before_the_charge(study):
    """Its norm hangs on the sites, so that no check before a run knows it."""
    config = changed(study.config, privacy={"bounds": "tight"})
    (BUNDLE / "privacy_statement.json").unlink()
    ledger = study.ledger(config)
    earlier = set(ledger.read().requests)
    study.release(config)
    write_statement(*(set(ledger.read().requests) - earlier))
    before = ledger.path.read_bytes()
    study.release(config)  # a replay
    other = changed(config, privacy={"genotype_clip": 0.8})
    assert bundle_problems(other) == []
    with refused("another-release-in-folder", "`study`"):
        study.release(other)
    assert ledger.path.read_bytes() == before


def test_measure_release__of_another_fit_beside_a_bundle_is_refused_before_the_charge(study):
    ledger, noisy = study.ledger(study.config), study.root / "noisy.npz"
    charged = changed(study.config, evaluation={"metrics": "charged", "epsilon": 0.5})
    other, before = changed(charged, regression={"lambda": 0.7}), ledger.path.read_bytes()
    with refused("another-release-in-folder", "`study`"):
        study.measure(other, noisy)
    assert ledger.path.read_bytes() == before
    study.measure(charged, noisy)
    assert ledger.path.read_bytes() != before


def testis_fitted_by__which_public_genotypes_a_run_finds_out(study):
    stated = {"method": "blup-ld", "fit": FIT | {"ld": "a" * 64}}
    settings = {"method": "blup-ld"} | FIT
    assert is_fitted_by(stated, settings)
    assert is_fitted_by(stated, settings | {"ld": "a" * 64})
    assert not is_fitted_by(stated, settings | {"ld": "b" * 64})
    assert not is_fitted_by(stated | {"fit": FIT}, settings | {"ld": "b" * 64})
    assert not is_fitted_by(stated, settings | {"method": "blup"})
    assert not is_fitted_by(stated, settings | {"heritability": 0.4})


def test_write_release__leaves_the_bundle_of_other_requests_as_it_is(study):
    noisy = study.root / "noisy.npz"
    first = study.bundle(study.config, noisy)
    assert study.bundle(study.config, noisy) == first
    folder = study.root / "bundle"
    (BUNDLE / "privacy_statement.json").unlink()
    assert study.statement()["fit"] == FIT
    for other in (changed(study.config, regression={"lambda": 0.7}), study.settings("blup")):
        with refused("another-release-in-folder", "`study`"):
            study.bundle(other, noisy)  # the same draws
    other = study.settings("reusecov-gauss", epsilon=1)
    with refused("another-release-in-folder", "`study`"):
        study.bundle(other, study.release(other))
    kept = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert kept == first


def test_require_same_release__more_may_be_drawn_than_before(study):
    requests, fit = set(study.ledger(study.config).read().requests), fit_settings(study.config)
    require_same_release(BUNDLE, requests | {"accuracy"}, fit=fit)
    with refused("another-release-in-folder"):
        require_same_release(BUNDLE, set(list(requests)[1:]), fit=fit)
